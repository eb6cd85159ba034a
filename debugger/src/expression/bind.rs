//! Names and types of an expression, found once for a place in the code.

use std::sync::Arc;

use isa::{Component, SpecialRegister};
use ptx_frontend::ScalarType;
use sim_core::code::RegisterPlace;

use super::parse::{Ast, TypeName};
use crate::error::{Error, Result};
use crate::types::{Member, Space, Struct, Type};

/// An expression with its type, whose names are bound.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The type of its values.
    pub ty: Type,
    /// How they come about.
    pub node: Node,
}

/// How a value comes about.
#[derive(Clone, Debug)]
pub enum Node {
    /// It is known.
    Constant(u128),
    /// A register of the frame.
    Register(RegisterPlace),
    /// A special register.
    Special(SpecialRegister),
    /// What lies at an address of a space that is known.
    Memory(Space, u64),
    /// What lies so many bytes behind the start of the frame in local memory.
    Frame(i64),
    /// What lies where a pointer points to, and so many bytes further.
    Target(Box<Bound>, u64),
    /// A member of what lies in memory: so many bytes further.
    Within(Box<Bound>, u64),
    /// A bit field: so many bits of a number in memory, from the lowest of them on.
    Bits(Box<Bound>, u8, u8),
    /// An element of an array in memory.
    Element(Box<Bound>, Box<Bound>),
    /// The address of something.
    Address(Box<Bound>),
    /// An operator before a value.
    Unary(&'static str, Box<Bound>),
    /// Between two, of this type when it is computed.
    Binary(&'static str, Type, Box<Bound>, Box<Bound>),
    /// A pointer and so many elements of bytes more or less.
    Step(Box<Bound>, Box<Bound>, i64),
    /// A choice.
    Choice(Box<Bound>, Box<Bound>, Box<Bound>),
    /// A value of another type.
    Convert(Box<Bound>),
    /// It cannot be had here, and why.
    Absent(String),
}

/// Whose names an expression may use.
pub trait Names {
    /// What a name stands for; `None` if it is unknown.
    fn name(&self, name: &str) -> Option<Bound>;
    /// A type of the program.
    fn type_named(&self, name: &str) -> Option<Type>;
}

/// Something of a type at an address.
pub fn load_place(ty: Type, space: Space, address: u64) -> Bound {
    Bound { ty, node: Node::Memory(space, address) }
}

/// Finds names and types.
///
/// # Errors
/// A name is unknown, or an operator does not take such operands.
pub fn bind(ast: &Ast, names: &dyn Names) -> Result<Bound> {
    Binder { names }.expression(ast)
}

/// The type that a name stands for.
///
/// # Errors
/// It is unknown.
pub fn bind_type(name: &TypeName, names: &dyn Names) -> Result<Type> {
    let binder = Binder { names };
    Ok(binder.whole(binder.type_of(name)?))
}

struct Binder<'a> {
    names: &'a dyn Names,
}

/// `threadIdx` and the like, which have components.
fn built_in(name: &str) -> Option<fn(Component) -> SpecialRegister> {
    use SpecialRegister as R;
    Some(match name {
        "threadIdx" => R::Tid,
        "blockIdx" => R::Ctaid,
        "blockDim" => R::Ntid,
        "gridDim" => R::Nctaid,
        "clusterIdx" => R::Clusterid,
        "clusterDim" => R::ClusterNctaid,
        _ => return None,
    })
}

fn component(name: &str) -> Option<Component> {
    Some(match name {
        "x" => Component::X,
        "y" => Component::Y,
        "z" => Component::Z,
        _ => return None,
    })
}

/// A special register by its name in PTX.
fn special(name: &str) -> Option<SpecialRegister> {
    use SpecialRegister as R;
    let all = [Component::X, Component::Y, Component::Z];
    let vectors: [fn(Component) -> R; 8] = [
        R::Tid,
        R::Ntid,
        R::Ctaid,
        R::Nctaid,
        R::Clusterid,
        R::Nclusterid,
        R::ClusterCtaid,
        R::ClusterNctaid,
    ];
    let alone = [
        R::Laneid,
        R::Warpid,
        R::ClusterCtarank,
        R::ClusterNctarank,
        R::LanemaskEq,
        R::LanemaskLt,
        R::LanemaskLe,
        R::LanemaskGt,
        R::LanemaskGe,
    ];
    let of_vectors = vectors.iter().flat_map(|vector| all.map(vector));
    of_vectors.chain(alone).find(|register| register.to_string() == name)
}

impl Bound {
    fn constant(ty: Type, bits: u128) -> Bound {
        Bound { ty, node: Node::Constant(bits) }
    }

    /// The same value as a scalar: of an array its address.
    pub(crate) fn decayed(self) -> Bound {
        match self.ty.clone() {
            Type::Array(of, _) => {
                let space = self.space();
                Bound { ty: Type::Pointer(space, of), node: Node::Address(Box::new(self)) }
            }
            _ => self,
        }
    }

    /// The space that it lies in.
    fn space(&self) -> Space {
        match &self.node {
            Node::Memory(space, _) => *space,
            Node::Frame(_) => Space::Local,
            Node::Target(pointer, _) => match pointer.ty {
                Type::Pointer(space, _) => space,
                _ => Space::Generic,
            },
            Node::Within(inner, _) | Node::Element(inner, _) => inner.space(),
            _ => Space::Generic,
        }
    }

    /// A member of it.
    pub fn member(&self, member: &Member) -> Bound {
        self.within(member, member.offset)
    }

    fn within(&self, member: &Member, offset: u64) -> Bound {
        let ty = member.ty.clone();
        let within = Bound { ty: ty.clone(), node: Node::Within(self.clone().into(), offset) };
        match member.bits {
            Some((first, count)) => Bound { ty, node: Node::Bits(within.into(), first, count) },
            None => within,
        }
    }

    /// Whether it lies in memory.
    pub fn is_in_memory(&self) -> bool {
        match &self.node {
            Node::Memory(..) | Node::Frame(_) | Node::Target(..) => true,
            Node::Within(inner, _) | Node::Element(inner, _) => inner.is_in_memory(),
            _ => false,
        }
    }
}

impl Binder<'_> {
    fn type_of(&self, name: &TypeName) -> Result<Type> {
        let known = Type::named(&name.words).or_else(|| self.names.type_named(&name.words));
        let mut ty = known.ok_or_else(|| Error::NoSymbol(name.words.clone()))?;
        let space = match name.space.as_deref() {
            None | Some("generic" | "global" | "const") => Space::Generic,
            Some("shared") => Space::Shared,
            Some("local") => Space::Local,
            Some("parameter" | "param") => Space::Param,
            Some(other) => {
                let message = format!(
                    "unknown address space `@{other}`; there are @global, @shared, @local, @parameter"
                );
                return Err(Error::Expression { message, at: name.at });
            }
        };
        for star in 0..name.stars {
            // The qualifier is of what the outermost pointer points to.
            let space = if star + 1 == name.stars { space } else { Space::Generic };
            ty = Type::Pointer(space, Arc::new(ty));
        }
        Ok(ty)
    }

    fn expression(&self, ast: &Ast) -> Result<Bound> {
        match ast {
            Ast::Integer(value, unsigned, long) => {
                let long = *long || *value > u128::from(u32::MAX) || !unsigned && *value > i32::MAX as u128;
                let ty = Type::Int(
                    if *value > u64::MAX.into() {
                        16
                    } else if long {
                        8
                    } else {
                        4
                    },
                    !unsigned,
                );
                Ok(Bound::constant(ty, *value))
            }
            Ast::Float(value, true) => Ok(Bound::constant(Type::Float(4), (*value as f32).to_bits().into())),
            Ast::Float(value, false) => Ok(Bound::constant(Type::Float(8), value.to_bits().into())),
            Ast::Char(value) => Ok(Bound::constant(Type::Char, (*value).into())),
            Ast::Name(name, _) => self.name(name),
            Ast::SizeOf(name) => {
                let ty = self.type_of(name)?;
                Ok(Bound::constant(Type::Int(8, false), ty.bytes().into()))
            }
            Ast::Cast(name, inner) => {
                let (ty, inner) = (self.type_of(name)?, self.expression(inner)?.decayed());
                if !inner.ty.is_scalar() || !ty.is_scalar() {
                    return Err(Error::refused(format!("invalid cast from {} to {ty}", inner.ty)));
                }
                Ok(Bound { ty, node: Node::Convert(inner.into()) })
            }
            Ast::Unary("*", inner) => {
                let pointer = self.expression(inner)?.decayed();
                match &pointer.ty {
                    Type::Pointer(_, of) if **of == Type::Void => Err(Error::refused(
                        "attempt to take contents of a void pointer; cast it to another one",
                    )),
                    Type::Pointer(_, of) => {
                        let ty = self.whole((**of).clone());
                        Ok(Bound { ty, node: Node::Target(pointer.into(), 0) })
                    }
                    Type::Int(8, _) => Err(Error::refused(
                        "attempt to take contents of a number; cast it, for example *(float *) %rd1",
                    )),
                    other => {
                        Err(Error::refused(format!("attempt to take contents of a value of type {other}")))
                    }
                }
            }
            Ast::Unary("&", inner) => {
                let inner = self.expression(inner)?;
                if let Node::Absent(why) = inner.node {
                    return Err(Error::NoValue(why));
                }
                if !inner.is_in_memory() {
                    return Err(Error::refused("attempt to take address of value not located in memory"));
                }
                let ty = Type::Pointer(inner.space(), Arc::new(inner.ty.clone()));
                Ok(Bound { ty, node: Node::Address(inner.into()) })
            }
            Ast::Unary(sign, inner) => self.unary(sign, self.expression(inner)?.decayed()),
            Ast::Binary(sign, left, right) => {
                self.binary(sign, self.expression(left)?.decayed(), self.expression(right)?.decayed())
            }
            Ast::Choice(condition, one, other) => {
                let (condition, one, other) =
                    (self.scalar(condition)?, self.scalar(one)?, self.scalar(other)?);
                let ty = if one.ty == other.ty { one.ty.clone() } else { common(&one.ty, &other.ty)? };
                let convert =
                    |value: Bound| Box::new(Bound { ty: ty.clone(), node: Node::Convert(value.into()) });
                Ok(Bound {
                    ty: ty.clone(),
                    node: Node::Choice(condition.into(), convert(one), convert(other)),
                })
            }
            Ast::Index(array, index) => {
                let (array, index) = (self.expression(array)?, self.scalar(index)?);
                if index.ty.is_float() {
                    return Err(Error::refused("an index is a whole number"));
                }
                match array.ty.clone() {
                    Type::Array(of, _) => {
                        Ok(Bound { ty: (*of).clone(), node: Node::Element(array.into(), index.into()) })
                    }
                    Type::Pointer(_, of) => {
                        let of = Arc::new(self.whole((*of).clone()));
                        let step = of.bytes() as i64;
                        let ty = array.ty.clone();
                        let pointer = Bound { ty, node: Node::Step(array.into(), index.into(), step) };
                        Ok(Bound { ty: (*of).clone(), node: Node::Target(pointer.into(), 0) })
                    }
                    other => Err(Error::refused(format!("cannot subscript something of type {other}"))),
                }
            }
            Ast::Member(of, name) => self.member(of, name),
            Ast::Repeat(first, count) => {
                let (first, count) = (self.expression(first)?, self.expression(count)?);
                let Node::Constant(count) = count.node else {
                    return Err(Error::refused(
                        "the right side of `@` is a number, or one of all, warp and block at the end",
                    ));
                };
                if !first.is_in_memory() {
                    return Err(Error::refused("only values in memory can be extended with `@`"));
                }
                if count == 0 || count > 1 << 24 {
                    return Err(Error::refused(format!("invalid number {count} of repetitions")));
                }
                let ty = Type::Array(Arc::new(first.ty.clone()), count as u64);
                Ok(Bound { ty, node: first.node })
            }
        }
    }

    /// A structure with its members: one that leads to itself knows only its name there.
    fn whole(&self, ty: Type) -> Type {
        match &ty {
            Type::Struct(found) if found.members.is_empty() => self
                .names
                .type_named(&found.name)
                .filter(|whole| matches!(whole, Type::Struct(_)))
                .unwrap_or(ty),
            _ => ty,
        }
    }

    fn scalar(&self, ast: &Ast) -> Result<Bound> {
        let value = self.expression(ast)?.decayed();
        match value.ty.is_scalar() {
            true => Ok(value),
            false => Err(Error::refused(format!("a value of type {} is no number", value.ty))),
        }
    }

    fn name(&self, name: &str) -> Result<Bound> {
        if let Some(found) = self.names.name(name) {
            return Ok(found);
        }
        if let Some(register) = special(name) {
            return Ok(Bound { ty: Type::UNSIGNED, node: Node::Special(register) });
        }
        match name {
            "warpSize" => Ok(Bound::constant(Type::INT, 32)),
            "true" => Ok(Bound::constant(Type::Bool, 1)),
            "false" => Ok(Bound::constant(Type::Bool, 0)),
            // A member function names members of its object.
            _ if let Some(found) = self.own_member(name) => Ok(found),
            _ if built_in(name).is_some() => {
                Err(Error::refused(format!("`{name}` has the components {name}.x, {name}.y and {name}.z")))
            }
            _ => Err(Error::NoSymbol(name.to_owned())),
        }
    }

    /// A member of what `this` points to.
    fn own_member(&self, name: &str) -> Option<Bound> {
        let this = self.names.name("this")?;
        let Type::Pointer(_, of) = this.ty.clone() else { return None };
        let object = Bound { ty: (*of).clone(), node: Node::Target(this.into(), 0) };
        self.member_of(object, name).ok()
    }

    fn member(&self, of: &Ast, name: &str) -> Result<Bound> {
        if let Ast::Name(vector, _) = of
            && self.names.name(vector).is_none()
            && let Some(register) = built_in(vector)
        {
            let component =
                component(name).ok_or_else(|| Error::refused(format!("there is no member named {name}")))?;
            return Ok(Bound { ty: Type::UNSIGNED, node: Node::Special(register(component)) });
        }
        self.member_of(self.expression(of)?, name)
    }

    fn member_of(&self, of: Bound, name: &str) -> Result<Bound> {
        let of = match of.ty.clone() {
            // As debuggers do, `.` for `->`.
            Type::Pointer(_, inner) if matches!(*inner, Type::Struct(_)) => {
                Bound { ty: (*inner).clone(), node: Node::Target(of.into(), 0) }
            }
            _ => of,
        };
        let Type::Struct(found) = self.whole(of.ty.clone()) else {
            return Err(Error::refused(format!("a value of type {} has no members", of.ty)));
        };
        match find_member(&found, name, 0) {
            Some((member, offset)) => Ok(of.within(member, offset)),
            None => Err(Error::refused(format!("there is no member named {name}"))),
        }
    }

    fn unary(&self, sign: &'static str, inner: Bound) -> Result<Bound> {
        if !inner.ty.is_scalar() {
            return Err(Error::refused(format!("`{sign}` does not take a value of type {}", inner.ty)));
        }
        if sign == "!" {
            return Ok(Bound { ty: Type::Bool, node: Node::Unary("!", inner.into()) });
        }
        let ty = common(&inner.ty, &Type::INT)?;
        if sign == "~" && ty.is_float() {
            return Err(Error::refused("`~` does not take a float"));
        }
        let inner = Bound { ty: ty.clone(), node: Node::Convert(inner.into()) };
        Ok(if sign == "+" { inner } else { Bound { ty, node: Node::Unary(sign, inner.into()) } })
    }

    fn binary(&self, sign: &'static str, left: Bound, right: Bound) -> Result<Bound> {
        let refuse =
            || Error::refused(format!("`{sign}` does not take values of type {} and {}", left.ty, right.ty));
        if !left.ty.is_scalar() || !right.ty.is_scalar() {
            return Err(refuse());
        }
        if matches!(sign, "&&" | "||") {
            return Ok(Bound {
                ty: Type::Bool,
                node: Node::Binary(sign, Type::Bool, left.into(), right.into()),
            });
        }
        let is_int = |bound: &Bound| !bound.ty.is_float() && !matches!(bound.ty, Type::Pointer(..));
        let compares = matches!(sign, "==" | "!=" | "<" | ">" | "<=" | ">=");
        match (&left.ty, &right.ty, sign) {
            (Type::Pointer(_, of), _, "+" | "-") if is_int(&right) => {
                let step = of.bytes().max(1) as i64;
                let step = if sign == "-" { -step } else { step };
                return Ok(Bound { ty: left.ty.clone(), node: Node::Step(left.into(), right.into(), step) });
            }
            (_, Type::Pointer(_, of), "+") if is_int(&left) => {
                let step = of.bytes().max(1) as i64;
                return Ok(Bound { ty: right.ty.clone(), node: Node::Step(right.into(), left.into(), step) });
            }
            (Type::Pointer(..), _, _) | (_, Type::Pointer(..), _) => {
                if left.ty.is_float() || right.ty.is_float() || !(compares || sign == "-") {
                    return Err(refuse());
                }
                let of = match &left.ty {
                    Type::Pointer(_, of) if sign == "-" => of.bytes().max(1),
                    _ => 1,
                };
                let word = Type::Int(8, sign == "-");
                let ty = if compares { Type::Bool } else { Type::Int(8, true) };
                let difference =
                    Bound { ty, node: Node::Binary(sign, word.clone(), left.into(), right.into()) };
                if of == 1 {
                    return Ok(difference);
                }
                let size = Bound::constant(word.clone(), of.into());
                return Ok(Bound {
                    ty: word.clone(),
                    node: Node::Binary("/", word, difference.into(), size.into()),
                });
            }
            _ => {}
        }
        let ty = match sign {
            "<<" | ">>" => common(&left.ty, &Type::INT)?,
            _ => common(&left.ty, &right.ty)?,
        };
        if ty.is_float() && matches!(sign, "<<" | ">>" | "&" | "|" | "^" | "%") {
            return Err(refuse());
        }
        let result = if compares { Type::Bool } else { ty.clone() };
        Ok(Bound { ty: result, node: Node::Binary(sign, ty, left.into(), right.into()) })
    }
}

/// A member by its name, those of members and bases without one included, and its offset.
fn find_member<'s>(of: &'s Struct, name: &str, offset: u64) -> Option<(&'s Member, u64)> {
    let own = of.members.iter().find(|member| member.name == name);
    if let Some(member) = own {
        return Some((member, offset.wrapping_add(member.offset)));
    }
    of.members.iter().filter(|member| member.name.is_empty()).find_map(|member| match &member.ty {
        Type::Struct(inner) => find_member(inner, name, offset.wrapping_add(member.offset)),
        _ => None,
    })
}

/// The type that two numbers are computed in: C's usual conversions.
fn common(left: &Type, right: &Type) -> Result<Type> {
    let wide = |ty: &Type| match ty {
        Type::Float(bytes) => Some(*bytes),
        Type::Half | Type::Bfloat => Some(4),
        _ => None,
    };
    if let Some(bytes) = wide(left).max(wide(right)) {
        return Ok(Type::Float(bytes));
    }
    let integer = |ty: &Type| match ty {
        Type::Int(bytes, signed) if *bytes >= 4 => (*bytes, *signed),
        Type::Pointer(..) => (8, false),
        Type::Enum(_, of, _) if of.bytes() >= 4 => (of.bytes() as u8, of.is_signed()),
        _ => (4, true),
    };
    let (left, right) = (integer(left), integer(right));
    let bytes = left.0.max(right.0);
    let signed = [left, right].iter().filter(|ty| ty.0 == bytes).all(|ty| ty.1);
    Ok(Type::Int(bytes, signed))
}

/// A register of PTX.
pub(crate) fn register(place: RegisterPlace, ty: ScalarType) -> Node {
    match place {
        RegisterPlace::Nowhere => {
            Node::Absent(format!("<no instruction uses this register of type .{}>", ty.text()))
        }
        place => Node::Register(place),
    }
}
