//! Checks the operands of one instruction against a list of expectations.

use crate::module::{AddressBase, Operand, OperandList};
use isa::SpecialRegister;
use isa::{ScalarType, StateSpace, TypeClass};

use super::OperandView;
use super::context::Context;
use super::expect::{Constant, Counting, Expect, Kind, constant_fits, register_fits};
use super::special;

/// Why an operand does not fit.
#[derive(Clone, Debug)]
pub(super) enum Misfit {
    /// A register of this type where `Expect::ty` is wanted.
    Register(ScalarType),
    /// A constant of the wrong kind.
    Constant(Constant),
    /// A constant outside the allowed ones.
    Value(i64),
    /// A vector of this many elements.
    Elements(u32),
    /// Registers of different sizes in one vector.
    Mixed,
    /// A scalar where a vector is wanted.
    NotVector,
    /// A variable of this space.
    Space(StateSpace),
    /// A register of this type as the base of an address.
    Base(ScalarType),
    /// An absolute address outside `.local`.
    Absolute,
    /// A special register that needs more than the module says.
    Special(SpecialRegister),
    /// A sum where something is written.
    Sum,
    /// Something else altogether.
    Form,
}

/// Whether all operands fit; the first that does not, and why.
pub(super) fn fits(
    context: &Context,
    expectations: &[Expect],
    view: &OperandView<'_>,
) -> Result<(), (usize, Misfit)> {
    let checker = Checker { context, view };
    for (at, (expect, operand)) in expectations.iter().zip(view.operands).enumerate() {
        if expect.flags.destination && view.computed.iter().any(|(sum, _)| *sum as usize == at) {
            return Err((at, Misfit::Sum));
        }
        checker.operand(expect, operand).map_err(|misfit| (at, misfit))?;
    }
    Ok(())
}

struct Checker<'a> {
    context: &'a Context,
    view: &'a OperandView<'a>,
}

impl Checker<'_> {
    fn elements(&self, list: OperandList) -> &[Operand] {
        let range = list.start as usize..list.start as usize + list.len as usize;
        self.view.pool.get(range).unwrap_or(&[])
    }

    fn operand(&self, expect: &Expect, operand: &Operand) -> Result<(), Misfit> {
        match &expect.kind {
            Kind::Value => self.value(expect, operand),
            Kind::Pack => self.pack(expect, operand),
            Kind::Pair { optional, sink } => match operand {
                Operand::Pair(list) => match self.elements(*list) {
                    [first, second] => {
                        self.value(expect, first)?;
                        self.predicate(second, *sink)
                    }
                    _ => Err(Misfit::Form),
                },
                _ if *optional => self.value(expect, operand),
                _ => Err(Misfit::Form),
            },
            Kind::Constant { low, high, list } => match operand {
                Operand::Integer(value) => {
                    let value = *value as i64;
                    let listed = list.is_empty() || list.contains(&value);
                    if (*low..=*high).contains(&value) && listed { Ok(()) } else { Err(Misfit::Value(value)) }
                }
                Operand::Register(id) => Err(Misfit::Register((self.view.register_type)(*id))),
                _ => Err(Misfit::Form),
            },
            Kind::Address { space, sized } => match operand {
                Operand::Address(_) => self.address(*space, *sized, operand),
                _ => Err(Misfit::Form),
            },
            Kind::TensorAddress => match operand {
                Operand::Address(address) => match address.base {
                    AddressBase::Register(id) => {
                        let ty = (self.view.register_type)(id);
                        if register_fits(ty, ScalarType::B32, false, false) && !ty.is_float() {
                            Ok(())
                        } else {
                            Err(Misfit::Base(ty))
                        }
                    }
                    _ => Err(Misfit::Form),
                },
                _ => Err(Misfit::Form),
            },
            Kind::List(inner) => self.list(inner, operand),
            Kind::Handle => self.handle(expect.ty, operand),
            Kind::Label => form(matches!(operand, Operand::Label(_))),
            Kind::Targets => form(matches!(operand, Operand::BranchTargets(_))),
            Kind::Callee => form(matches!(operand, Operand::Function(_) | Operand::Register(_))),
            Kind::Arguments => form(matches!(operand, Operand::Vector(_))),
            Kind::Prototype => form(matches!(operand, Operand::Prototype(_) | Operand::Variable(..))),
            Kind::Sink => form(matches!(operand, Operand::Sink)),
        }
    }

    fn predicate(&self, operand: &Operand, sink: bool) -> Result<(), Misfit> {
        match operand {
            Operand::Register(id) => match (self.view.register_type)(*id) {
                ScalarType::Pred => Ok(()),
                other => Err(Misfit::Register(other)),
            },
            Operand::Sink if sink => Ok(()),
            _ => Err(Misfit::Form),
        }
    }

    fn value(&self, expect: &Expect, operand: &Operand) -> Result<(), Misfit> {
        if let Operand::Vector(list) = operand {
            return self.vector(expect, self.elements(*list));
        }
        match (expect.counting, expect.count) {
            (_, 0) | (Counting::AtLeast, 1) => self.scalar(expect, operand),
            _ => Err(Misfit::NotVector),
        }
    }

    fn scalar(&self, expect: &Expect, operand: &Operand) -> Result<(), Misfit> {
        let flags = expect.flags;
        let source = !flags.destination;
        match *operand {
            Operand::Register(id) => self.register((self.view.register_type)(id), expect),
            Operand::Negated(id) if flags.negatable => self.register((self.view.register_type)(id), expect),
            Operand::NegatedPart(id, _) if flags.part && flags.negatable => {
                self.register((self.view.register_type)(id), expect)
            }
            Operand::Part(id, _) if flags.part => self.register((self.view.register_type)(id), expect),
            Operand::Integer(value) if source && !flags.register_only => {
                constant(Constant::Integer, expect.ty)?;
                let value = value as i64;
                if expect.limit.admits(value) { Ok(()) } else { Err(Misfit::Value(value)) }
            }
            Operand::F32(_) if source && !flags.register_only => constant(Constant::Single, expect.ty),
            Operand::F64(_) if source && !flags.register_only => constant(Constant::Double, expect.ty),
            Operand::Special(register) if flags.special => self.special(register, expect.ty, flags.wider),
            Operand::Variable(id, _) if flags.symbol => {
                let (space, _) = (self.view.variable)(id);
                match expect.symbol_space {
                    Some(wanted) if wanted != space => Err(Misfit::Space(space)),
                    _ => symbol(expect.ty),
                }
            }
            Operand::Function(_) if flags.symbol && !flags.own_space => symbol(expect.ty),
            Operand::Sink if flags.sink => Ok(()),
            _ => Err(Misfit::Form),
        }
    }

    fn register(&self, actual: ScalarType, expect: &Expect) -> Result<(), Misfit> {
        if register_fits(actual, expect.ty, expect.by_instruction, expect.flags.wider) {
            Ok(())
        } else {
            Err(Misfit::Register(actual))
        }
    }

    fn special(&self, register: SpecialRegister, want: ScalarType, wider: bool) -> Result<(), Misfit> {
        let about = special::about(register);
        if self.context.version < about.version || self.context.target.sm < about.sm {
            return Err(Misfit::Special(register));
        }
        form(special::fits(register, want) || (wider && want.is_integer() && about.ty.bits() >= want.bits()))
    }

    fn vector(&self, expect: &Expect, elements: &[Operand]) -> Result<(), Misfit> {
        let len = elements.len() as u32;
        let right = match (expect.counting, expect.count) {
            (Counting::Access, 0) => len == 1,
            (Counting::AtLeast, least) => len >= least && matches!(len, 1 | 2 | 4),
            (_, count) => len == count && count > 0,
        };
        if !right {
            return Err(if expect.count == 0 { Misfit::Form } else { Misfit::Elements(len) });
        }
        if expect.flags.special && elements.iter().all(|e| matches!(e, Operand::Special(_))) {
            return form(expect.ty.is_integer() || expect.ty.class() == TypeClass::Bits);
        }
        let mut sizes = elements.iter().filter_map(|element| match element {
            Operand::Register(id) => Some((self.view.register_type)(*id).bits()),
            _ => None,
        });
        let first = sizes.next();
        if sizes.any(|size| Some(size) != first) {
            return Err(Misfit::Mixed);
        }
        // ptxas types the whole vector by its elements: untyped ones make it untyped.
        let untyped = elements.iter().any(|element| {
            matches!(element, Operand::Register(id)
                if (self.view.register_type)(*id).class() == TypeClass::Bits)
        });
        elements.iter().try_for_each(|element| self.element(expect, untyped, element))
    }

    fn element(&self, expect: &Expect, untyped: bool, element: &Operand) -> Result<(), Misfit> {
        let flags = expect.flags;
        match *element {
            Operand::Register(id) => {
                let actual = (self.view.register_type)(id);
                let same = actual.bits() == expect.ty.bits().max(8) && actual != ScalarType::Pred;
                if register_fits(actual, expect.ty, expect.by_instruction, flags.wider) || (untyped && same) {
                    Ok(())
                } else {
                    Err(Misfit::Register(actual))
                }
            }
            Operand::Sink if flags.destination || flags.sink => Ok(()),
            Operand::Integer(_) | Operand::F32(_) | Operand::F64(_)
                if !flags.destination && !flags.register_only =>
            {
                Ok(())
            }
            Operand::Special(register) if !flags.destination => {
                let about = special::about(register);
                form(about.ty.bits() == expect.ty.bits())
            }
            _ => Err(Misfit::Form),
        }
    }

    /// A register of the type, or 2, 4 or 8 equal parts of it.
    fn pack(&self, expect: &Expect, operand: &Operand) -> Result<(), Misfit> {
        let Operand::Vector(list) = operand else { return Err(Misfit::NotVector) };
        let elements = self.elements(*list);
        let len = elements.len() as u32;
        if !matches!(len, 2 | 4 | 8) || expect.ty.bits() / len < 8 {
            return Err(Misfit::Elements(len));
        }
        let bits = expect.ty.bits() / len;
        let mut named = false;
        for element in elements {
            match *element {
                Operand::Register(id) => {
                    let actual = (self.view.register_type)(id);
                    if actual.bits() != bits || actual == ScalarType::Pred {
                        return Err(Misfit::Register(actual));
                    }
                    named = true;
                }
                Operand::Sink => {}
                Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) if !expect.flags.destination => {}
                Operand::Special(register) if !expect.flags.destination => {
                    form(special::about(register).ty.bits() == bits)?;
                    named = true;
                }
                _ => return Err(Misfit::Form),
            }
        }
        form(named)
    }

    fn address(&self, space: StateSpace, sized: bool, operand: &Operand) -> Result<(), Misfit> {
        let base = match *operand {
            Operand::Address(address) => address.base,
            // Inside brackets with coordinates.
            Operand::Register(id) => AddressBase::Register(id),
            Operand::Variable(id, 0) => AddressBase::Variable(id),
            _ => return Err(Misfit::Form),
        };
        match base {
            AddressBase::Register(id) => {
                let ty = (self.view.register_type)(id);
                let integer = ty.lanes() == 1
                    && matches!(ty.class(), TypeClass::Bits | TypeClass::Signed | TypeClass::Unsigned);
                let size = if sized { ty.bits() == self.context.address_size } else { ty.bits() <= 64 };
                if integer && size { Ok(()) } else { Err(Misfit::Base(ty)) }
            }
            AddressBase::Variable(id) => {
                let (actual, ty) = (self.view.variable)(id);
                if ty.class() == TypeClass::Opaque {
                    return Err(Misfit::Form);
                }
                let fits = match space {
                    StateSpace::Generic => {
                        matches!(actual, StateSpace::Global | StateSpace::Shared | StateSpace::Local)
                    }
                    StateSpace::SharedCluster => actual == StateSpace::Shared,
                    space => actual == space,
                };
                if fits { Ok(()) } else { Err(Misfit::Space(actual)) }
            }
            AddressBase::Absolute if space == StateSpace::Local => Ok(()),
            AddressBase::Absolute => Err(Misfit::Absolute),
        }
    }

    fn list(&self, inner: &[Expect], operand: &Operand) -> Result<(), Misfit> {
        let elements = match operand {
            Operand::AddressList(list) => self.elements(*list),
            // `[a]` with nothing else.
            Operand::Address(_) => std::slice::from_ref(operand),
            _ => return Err(Misfit::Form),
        };
        let matches = |elements: &[&Operand]| -> Result<(), Misfit> {
            inner.iter().zip(elements).try_for_each(|(expect, element)| match expect.kind {
                Kind::Address { space, sized } => self.address(space, sized, element),
                _ => self.operand(expect, element),
            })
        };
        match (inner, elements) {
            // A sampler may stand between the texture and its coordinates.
            ([first, last], [handle, sampler, coordinates]) if matches!(first.kind, Kind::Handle) => {
                self.handle(first.ty, handle)?;
                self.handle(ScalarType::Samplerref, sampler)?;
                self.operand(last, coordinates)
            }
            ([_], [one]) => matches(&[one]),
            ([_, _], [one, two]) => matches(&[one, two]),
            _ => Err(Misfit::Form),
        }
    }

    fn handle(&self, ty: ScalarType, operand: &Operand) -> Result<(), Misfit> {
        let register = |id| {
            let actual = (self.view.register_type)(id);
            let fits = register_fits(actual, ScalarType::U64, false, false);
            if fits { Ok(()) } else { Err(Misfit::Register(actual)) }
        };
        let variable = |id| {
            let (space, actual) = (self.view.variable)(id);
            let parameter = space == StateSpace::Param && actual.bits() == 64;
            if actual == ty || parameter { Ok(()) } else { Err(Misfit::Form) }
        };
        match *operand {
            Operand::Register(id) => register(id),
            Operand::Variable(id, 0) => variable(id),
            Operand::Address(address) if address.offset == 0 => match address.base {
                AddressBase::Register(id) => register(id),
                AddressBase::Variable(id) => variable(id),
                AddressBase::Absolute => Err(Misfit::Absolute),
            },
            _ => Err(Misfit::Form),
        }
    }
}

fn form(fits: bool) -> Result<(), Misfit> {
    if fits { Ok(()) } else { Err(Misfit::Form) }
}

fn constant(kind: Constant, want: ScalarType) -> Result<(), Misfit> {
    if constant_fits(kind, want) { Ok(()) } else { Err(Misfit::Constant(kind)) }
}

/// The address of a variable or function as a value: an integer of the size of a pointer.
fn symbol(want: ScalarType) -> Result<(), Misfit> {
    let integer = want.is_integer() || want.class() == TypeClass::Bits;
    form(integer && want.lanes() == 1 && matches!(want.bits(), 32 | 64))
}
