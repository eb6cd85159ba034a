//! What an expression is in a lane of a launch that stands still.

use half::{bf16, f16};
use isa::{Dim3, SpecialRegister};
use sim_core::{BlockView, Change, FrameView, Launch, Session, WarpId, WarpView, window};

use super::bind::{Bound, Node};
use crate::error::{Error, Result};
use crate::types::{Member, Space, Type};

/// What of a launch that stands still concerns all of its blocks.
pub trait Launched {
    /// Reads global memory; false if it is not there.
    fn read_global(&self, address: u64, bytes: &mut [u8]) -> bool;
    /// What was launched.
    fn launched(&self) -> &Launch;
    /// Blocks a cluster.
    fn cluster_of(&self) -> Dim3;
}

impl Launched for Session<'_, '_> {
    fn read_global(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.read(address, bytes).is_ok()
    }

    fn launched(&self) -> &Launch {
        self.launch()
    }

    fn cluster_of(&self) -> Dim3 {
        self.cluster()
    }
}

/// A thread that stands somewhere.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// The block.
    pub block: BlockView<'a>,
    /// The warp.
    pub warp: WarpView<'a>,
    /// The call frame.
    pub frame: FrameView<'a>,
}

impl Here<'_> {
    fn id(&self) -> WarpId {
        WarpId { block: self.block.index(), warp: self.warp.index() }
    }
}

/// A lane of a launch that stands still.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The launch.
    pub session: &'a dyn Launched,
    /// Where the thread stands; nowhere if it is not there, and then only what concerns all threads can be had.
    pub here: Option<Here<'a>>,
    /// The lane.
    pub lane: u32,
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// A number or a pointer, as bits.
    Scalar(u128),
    /// What lies at an address of a space: a structure or an array.
    In(Space, u64),
}

/// A value with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub stored: Stored,
    /// Where it lies, if it is in memory.
    pub place: Option<(Space, u64)>,
}

fn mask(bits: u128, bytes: u64) -> u128 {
    if bytes >= 16 { bits } else { bits & ((1 << (8 * bytes)) - 1) }
}

/// Bits of an integer, with its sign.
pub(crate) fn signed(ty: &Type, bits: u128) -> i128 {
    let shift = 128 - 8 * ty.bytes().clamp(1, 16) as u32;
    if ty.is_signed() { (bits << shift) as i128 >> shift } else { ((bits << shift) >> shift) as i128 }
}

/// A number as a float.
pub(crate) fn float(ty: &Type, bits: u128) -> f64 {
    match ty {
        Type::Float(4) => f32::from_bits(bits as u32).into(),
        Type::Float(_) => f64::from_bits(bits as u64),
        Type::Half => f16::from_bits(bits as u16).to_f64(),
        Type::Bfloat => bf16::from_bits(bits as u16).to_f64(),
        _ if ty.is_signed() => signed(ty, bits) as f64,
        _ => mask(bits, ty.bytes()) as f64,
    }
}

fn of_float(ty: &Type, value: f64) -> u128 {
    match ty {
        Type::Float(4) => (value as f32).to_bits().into(),
        Type::Float(_) => value.to_bits().into(),
        Type::Half => f16::from_f64(value).to_bits().into(),
        Type::Bfloat => bf16::from_f64(value).to_bits().into(),
        Type::Bool => u128::from(value != 0.0),
        _ if ty.is_signed() => mask((value as i128) as u128, ty.bytes()),
        _ => mask(value as u128, ty.bytes()),
    }
}

/// The bits of a number in another type.
fn convert(from: &Type, to: &Type, bits: u128) -> u128 {
    if from == to {
        return bits;
    }
    if from.is_float() || to.is_float() {
        return of_float(to, float(from, bits));
    }
    match to {
        Type::Bool => u128::from(mask(bits, from.bytes()) != 0),
        _ => mask(signed(from, bits) as u128, to.bytes()),
    }
}

/// What a bit field holds, of what lies there.
fn field(ty: &Type, bits: u128, (first, count): (u8, u8)) -> u128 {
    let bits = bits >> first & ((1 << count) - 1);
    let is_negative = ty.is_signed() && bits >> (count - 1) & 1 != 0;
    if is_negative { bits | u128::MAX << count } else { bits }
}

/// The space that an address is of, and the offset there.
fn resolved(space: Space, address: u64) -> (Space, u64) {
    match (space, window::of(address)) {
        (Space::Generic, window::Window::Shared(offset)) => (Space::Shared, offset),
        (Space::Generic, window::Window::Local(offset)) => (Space::Local, offset),
        (Space::Generic, window::Window::Param(offset)) => (Space::Param, offset),
        _ => (space, address),
    }
}

impl<'a> At<'a> {
    /// Reads memory.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub fn read(&self, space: Space, address: u64, bytes: &mut [u8]) -> Result<()> {
        let missing = || Error::NoMemory(address);
        let (space, offset) = resolved(space, address);
        let part = |all: &[u8], bytes: &mut [u8]| {
            let start = usize::try_from(offset).ok()?;
            bytes.copy_from_slice(all.get(start..start.checked_add(bytes.len())?)?);
            Some(())
        };
        match space {
            Space::Generic => self.session.read_global(address, bytes).then_some(()).ok_or_else(missing),
            Space::Shared => {
                // The address of another block of the cluster, or of its own by its rank.
                let rank = offset >> window::SHARED_RANK_SHIFT;
                let within = offset & ((1 << window::SHARED_RANK_SHIFT) - 1);
                let shared = match rank {
                    0 => self.here()?.block.shared(),
                    _ => return Err(missing()),
                };
                let start = within as usize;
                let found = shared.get(start..start.saturating_add(bytes.len())).ok_or_else(missing)?;
                bytes.copy_from_slice(found);
                Ok(())
            }
            Space::Local => self.here()?.warp.local(self.lane, offset, bytes).ok_or_else(missing),
            Space::Param => part(&self.session.launched().params, bytes).ok_or_else(missing),
        }
    }

    fn load(&self, ty: &Type, space: Space, address: u64) -> Result<u128> {
        let mut bytes = [0; 16];
        let count = ty.bytes().min(16) as usize;
        self.read(space, address, &mut bytes[..count])?;
        Ok(u128::from_le_bytes(bytes))
    }

    fn here(&self) -> Result<&Here<'a>> {
        self.here.as_ref().ok_or_else(|| {
            Error::NoThread(
                "the thread in focus is not there: it has exited, or its block is not running".into(),
            )
        })
    }

    fn special(&self, register: SpecialRegister) -> Result<u128> {
        use SpecialRegister as R;
        let launch = self.session.launched();
        let cluster = self.session.cluster_of();
        let here = self.here()?;
        let block = here.block.position();
        let thread = launch.block.position(u64::from(here.warp.index()) * 32 + u64::from(self.lane));
        let over = |one: Dim3, other: Dim3| Dim3::new(one.x / other.x, one.y / other.y, one.z / other.z);
        let within = Dim3::new(block.x % cluster.x, block.y % cluster.y, block.z % cluster.z);
        let lane = self.lane;
        Ok(match register {
            R::Tid(c) => thread.component(c),
            R::Ntid(c) => launch.block.component(c),
            R::Ctaid(c) => block.component(c),
            R::Nctaid(c) => launch.grid.component(c),
            R::Clusterid(c) => over(block, cluster).component(c),
            R::Nclusterid(c) => over(launch.grid, cluster).component(c),
            R::ClusterCtaid(c) => within.component(c),
            R::ClusterNctaid(c) => cluster.component(c),
            R::ClusterCtarank => cluster.index(within) as u32,
            R::ClusterNctarank => cluster.count() as u32,
            R::Laneid => lane,
            R::Warpid => here.warp.index(),
            R::LanemaskEq => 1 << lane,
            R::LanemaskLt => (1 << lane) - 1,
            R::LanemaskLe => ((2u64 << lane) - 1) as u32,
            R::LanemaskGt => !(((2u64 << lane) - 1) as u32),
            R::LanemaskGe => !((1 << lane) - 1),
            other => {
                return Err(Error::NoValue(format!("the value of {other} is known while it is read only")));
            }
        }
        .into())
    }

    /// The address of something in memory.
    pub fn address(&self, bound: &Bound) -> Result<(Space, u64)> {
        match &bound.node {
            Node::Memory(space, address) => Ok((*space, *address)),
            Node::Frame(offset) => {
                Ok((Space::Local, u64::from(self.here()?.frame.local_start()).wrapping_add(*offset as u64)))
            }
            Node::Target(pointer, offset) => {
                let space = match pointer.ty {
                    Type::Pointer(space, _) => space,
                    _ => Space::Generic,
                };
                Ok((space, (self.scalar(pointer)? as u64).wrapping_add(*offset)))
            }
            Node::Within(inner, offset) => {
                let (space, address) = self.address(inner)?;
                Ok((space, address.wrapping_add(*offset)))
            }
            Node::Element(array, index) => {
                let (space, address) = self.address(array)?;
                let index = signed(&index.ty, self.scalar(index)?) as u64;
                let element = match &array.ty {
                    Type::Array(of, _) => of.bytes(),
                    other => other.bytes(),
                };
                Ok((space, address.wrapping_add(index.wrapping_mul(element))))
            }
            Node::Absent(why) => Err(Error::NoValue(why.clone())),
            _ => Err(Error::refused("the value is not in memory")),
        }
    }

    /// The bits of a number or a pointer.
    pub fn scalar(&self, bound: &Bound) -> Result<u128> {
        let bits = match &bound.node {
            Node::Constant(bits) => *bits,
            Node::Register(place) => {
                let bits = self.here()?.frame.at(*place, self.lane);
                bits.ok_or_else(|| Error::NoValue("<no such register>".into()))?
            }
            Node::Special(register) => self.special(*register)?,
            Node::Absent(why) => return Err(Error::NoValue(why.clone())),
            Node::Address(inner) => {
                let (space, address) = self.address(inner)?;
                // What an address of a window is to all spaces.
                match space {
                    Space::Generic | Space::Param | Space::Shared | Space::Local => address.into(),
                }
            }
            Node::Unary(sign, inner) => {
                let bits = self.scalar(inner)?;
                match *sign {
                    "!" if inner.ty.is_float() => u128::from(float(&inner.ty, bits) == 0.0),
                    "!" => u128::from(mask(bits, inner.ty.bytes()) == 0),
                    "~" => !bits,
                    _ if inner.ty.is_float() => of_float(&inner.ty, -float(&inner.ty, bits)),
                    _ => bits.wrapping_neg(),
                }
            }
            Node::Binary(sign, ty, left, right) => self.binary(sign, ty, left, right)?,
            Node::Step(pointer, index, step) => {
                let (start, index) =
                    (self.scalar(pointer)? as u64, signed(&index.ty, self.scalar(index)?) as i64);
                start.wrapping_add(index.wrapping_mul(*step) as u64).into()
            }
            Node::Choice(condition, one, other) => {
                self.scalar(if self.is_true(condition)? { one } else { other })?
            }
            Node::Bits(inner, first, count) => field(&bound.ty, self.scalar(inner)?, (*first, *count)),
            Node::Convert(inner) => convert(&inner.ty, &bound.ty, self.scalar(inner)?),
            Node::Memory(..) | Node::Frame(_) | Node::Target(..) | Node::Within(..) | Node::Element(..) => {
                let (space, address) = self.address(bound)?;
                self.load(&bound.ty, space, address)?
            }
        };
        Ok(mask(bits, bound.ty.bytes()))
    }

    /// Whether a condition holds.
    pub fn is_true(&self, bound: &Bound) -> Result<bool> {
        let bits = self.scalar(bound)?;
        Ok(if bound.ty.is_float() { float(&bound.ty, bits) != 0.0 } else { bits != 0 })
    }

    fn binary(&self, sign: &str, ty: &Type, left: &Bound, right: &Bound) -> Result<u128> {
        match sign {
            "&&" => return Ok(u128::from(self.is_true(left)? && self.is_true(right)?)),
            "||" => return Ok(u128::from(self.is_true(left)? || self.is_true(right)?)),
            _ => {}
        }
        let (a, b) = (self.scalar(left)?, self.scalar(right)?);
        if ty.is_float() {
            let (a, b) = (float(&left.ty, a), float(&right.ty, b));
            let truth = |holds: bool| Ok(u128::from(holds));
            return match sign {
                "==" => truth(a == b),
                "!=" => truth(a != b),
                "<" => truth(a < b),
                ">" => truth(a > b),
                "<=" => truth(a <= b),
                ">=" => truth(a >= b),
                "+" => Ok(of_float(ty, a + b)),
                "-" => Ok(of_float(ty, a - b)),
                "*" => Ok(of_float(ty, a * b)),
                _ => Ok(of_float(ty, a / b)),
            };
        }
        let amount = signed(&right.ty, b);
        let (x, y) = (signed(ty, convert(&left.ty, ty, a)), signed(ty, convert(&right.ty, ty, b)));
        let bits = 8 * ty.bytes() as i128;
        let shift = (0..bits).contains(&amount).then_some(amount as u32);
        Ok(match sign {
            "==" => (x == y).into(),
            "!=" => (x != y).into(),
            "<" => (x < y).into(),
            ">" => (x > y).into(),
            "<=" => (x <= y).into(),
            ">=" => (x >= y).into(),
            "+" => x.wrapping_add(y) as u128,
            "-" => x.wrapping_sub(y) as u128,
            "*" => x.wrapping_mul(y) as u128,
            "/" | "%" if y == 0 => return Err(Error::refused("division by zero")),
            "/" => x.wrapping_div(y) as u128,
            "%" => x.wrapping_rem(y) as u128,
            "&" => (x & y) as u128,
            "|" => (x | y) as u128,
            "^" => (x ^ y) as u128,
            "<<" => shift.map_or(0, |by| (x << by) as u128),
            _ => shift.map_or(0, |by| (x >> by) as u128),
        })
    }

    /// What changes something to bits of its type; `frame` is the number of the lane's frame in its chain of calls.
    ///
    /// # Errors
    /// It is nothing that can be changed.
    pub fn change(&self, bound: &Bound, bits: u128, frame: usize) -> Result<Change> {
        let bits = mask(bits, bound.ty.bytes());
        match &bound.node {
            Node::Register(place) => {
                let (warp, lane, place) = (self.here()?.id(), self.lane, *place);
                Ok(Change::Register { warp, lane, frame, place, bits })
            }
            Node::Bits(inner, first, count) => {
                let own = ((1 << count) - 1) << first;
                self.change(inner, self.scalar(inner)? & !own | bits << first & own, frame)
            }
            Node::Special(register) => Err(Error::refused(format!("{register} does not change"))),
            Node::Absent(why) => Err(Error::NoValue(why.clone())),
            _ if bound.is_in_memory() => {
                let (space, address) = self.address(bound)?;
                let count = bound.ty.bytes().min(16) as usize;
                self.change_memory(space, address, bits.to_le_bytes()[..count].to_vec())
            }
            _ => Err(Error::refused("left operand of assignment is not an lvalue")),
        }
    }

    /// What changes memory.
    ///
    /// # Errors
    /// The thread is not there, or the memory does not change.
    pub fn change_memory(&self, space: Space, address: u64, bytes: Vec<u8>) -> Result<Change> {
        // Where nothing can be read nothing can be written.
        self.read(space, address, &mut vec![0; bytes.len()])?;
        let (space, offset) = resolved(space, address);
        Ok(match space {
            Space::Generic => Change::Global { address, bytes },
            Space::Shared => Change::Shared { block: self.here()?.id().block, offset, bytes },
            Space::Local => Change::Local { warp: self.here()?.id(), lane: self.lane, offset, bytes },
            Space::Param => return Err(Error::refused("parameters of a kernel do not change")),
        })
    }

    /// The value.
    ///
    /// # Errors
    /// It cannot be had here, or memory is not there.
    pub fn value(&self, bound: &Bound) -> Result<Value> {
        let place = match bound.is_in_memory() {
            true => Some(self.address(bound)?),
            false => None,
        };
        let stored = match (bound.ty.is_scalar(), place) {
            (true, _) => Stored::Scalar(self.scalar(bound)?),
            (false, Some((space, address))) => Stored::In(space, address),
            (false, None) => match &bound.node {
                Node::Absent(why) => return Err(Error::NoValue(why.clone())),
                _ => {
                    return Err(Error::NoValue(
                        "<the value is in registers, of which the parts are not known>".into(),
                    ));
                }
            },
        };
        Ok(Value { ty: bound.ty.clone(), stored, place })
    }

    /// A member of a structure at an address, as a value.
    ///
    /// # Errors
    /// Memory is not there.
    pub fn member_at(&self, member: &Member, space: Space, address: u64) -> Result<Value> {
        let mut value = self.value_at(&member.ty, space, address.wrapping_add(member.offset))?;
        if let (Some(part), Stored::Scalar(bits)) = (member.bits, value.stored) {
            value.stored = Stored::Scalar(mask(field(&member.ty, bits, part), member.ty.bytes()));
        }
        Ok(value)
    }

    /// Something of a type at an address, as a value.
    ///
    /// # Errors
    /// Memory is not there.
    pub fn value_at(&self, ty: &Type, space: Space, address: u64) -> Result<Value> {
        let stored = match ty.is_scalar() {
            true => Stored::Scalar(self.load(ty, space, address)?),
            false => Stored::In(space, address),
        };
        Ok(Value { ty: ty.clone(), stored, place: Some((space, address)) })
    }
}
