//! Numbers that are the same in every execution.

use std::collections::{BTreeMap, BTreeSet};

use ptx_frontend::{
    Address, AddressBase, Component, Modifier, Modifiers, Op, Opcode, Operand, Param, RegId, ScalarType,
    SpecialRegister, StateSpace,
};

use super::column::Column;
use super::known::{Known, State, comparison, ordered, signed, unsigned, written};

impl Column<'_> {
    pub(super) fn known(&self, state: &State, operand: Operand) -> Known {
        match operand {
            Operand::Register(id) => state.get(&id).copied().unwrap_or(Known::Varies),
            Operand::Integer(bits) | Operand::F64(bits) => Known::Number(bits as i64),
            Operand::F32(bits) => Known::Number(i64::from(bits)),
            Operand::Special(special) => self.special(special).map_or(Known::Varies, Known::Number),
            Operand::Variable(variable, offset) => match self.place_of(variable) {
                Some(place) => Known::Address(place, offset),
                None => Known::Varies,
            },
            _ => Known::Varies,
        }
    }

    fn special(&self, special: SpecialRegister) -> Option<i64> {
        use SpecialRegister as R;
        let (block, thread) = self.position;
        let first = |component: Component, value: u32, rest: i64| match component {
            Component::X => i64::from(value),
            _ => rest,
        };
        let cluster = self.header.cluster.unwrap_or(1);
        Some(match special {
            R::Tid(c) => first(c, thread, 0),
            R::Ctaid(c) => first(c, block, 0),
            R::Ntid(c) => first(c, self.header.block_threads(), 1),
            R::Nctaid(c) => first(c, self.header.grid, 1),
            R::Clusterid(c) => first(c, block / cluster, 0),
            R::Nclusterid(c) => first(c, self.header.grid.div_ceil(cluster), 1),
            R::ClusterCtaid(c) => first(c, block % cluster, 0),
            R::ClusterNctaid(c) => first(c, cluster, 1),
            R::ClusterCtarank => i64::from(block % cluster),
            R::ClusterNctarank => i64::from(cluster),
            R::Laneid => i64::from(thread % 32),
            _ => return None,
        })
    }

    fn argument(&self, address: Address) -> Option<Known> {
        let AddressBase::Variable(variable) = address.base else { return None };
        let index = self.kernel.params.iter().position(|p| *p == Param::Variable(variable))?;
        let argument = self.header.arguments.get(index).filter(|_| address.offset == 0)?;
        let number = |text: &str| match text.trim().strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.trim().parse().ok(),
        };
        match argument.strip_prefix('&') {
            Some(place) => {
                let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
                let at = self.places.iter().position(|known| known.name == name.trim())?;
                Some(Known::Address(at, number(offset)?))
            }
            None => number(argument).map(Known::Number),
        }
    }

    /// What an instruction makes of what is known; nothing if its result varies.
    pub(super) fn compute(&self, state: &State, op: &Op, operands: &[Operand]) -> Known {
        let known = |at: usize| operands.get(at).map_or(Known::Varies, |&o| self.known(state, o));
        let ty = op.ty(0);
        let narrow = |value: i64| if op.has(Modifier::Wide) { value } else { unsigned(ty, value) };
        let number = |f: &dyn Fn(i64, i64) -> i64| match (known(1), known(2)) {
            (Known::Number(a), Known::Number(b)) => Known::Number(narrow(f(signed(ty, a), signed(ty, b)))),
            _ => Known::Varies,
        };
        let integers = op.types().all(|ty| !ty.is_float());
        match op.opcode {
            Opcode::Mov | Opcode::Cvta => match known(1) {
                Known::Number(n) => Known::Number(narrow(n)),
                other => other,
            },
            Opcode::Cvt if integers => match known(1) {
                Known::Number(n) => Known::Number(unsigned(ty, signed(op.ty(1), n))),
                other => other,
            },
            Opcode::Ld if op.space() == StateSpace::Param => match operands.get(1) {
                Some(&Operand::Address(address)) => self.argument(address).unwrap_or(Known::Varies),
                _ => Known::Varies,
            },
            _ if !integers || op.has(Modifier::Hi) || op.has(Modifier::Sat) => Known::Varies,
            Opcode::Add => match (known(1), known(2)) {
                (Known::Address(at, offset), Known::Number(n))
                | (Known::Number(n), Known::Address(at, offset)) => {
                    Known::Address(at, offset.wrapping_add(signed(Some(ScalarType::S64), n)))
                }
                _ => number(&i64::wrapping_add),
            },
            Opcode::Sub => number(&i64::wrapping_sub),
            Opcode::Mul => number(&i64::wrapping_mul),
            Opcode::Shl => number(&|a, b| u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0)),
            Opcode::Shr => match (known(1), known(2)) {
                (Known::Number(a), Known::Number(b)) => {
                    let by = u32::try_from(b).unwrap_or(u32::MAX).min(63);
                    let a = signed(ty, a);
                    let whole = ty.is_none_or(|ty| ty.is_signed());
                    Known::Number(narrow(if whole { a >> by } else { ((a as u64) >> by) as i64 }))
                }
                _ => Known::Varies,
            },
            Opcode::And => number(&|a, b| a & b),
            Opcode::Or => number(&|a, b| a | b),
            Opcode::Xor => number(&|a, b| a ^ b),
            Opcode::Mad => match (known(1), known(2), known(3)) {
                (Known::Number(a), Known::Number(b), Known::Number(c)) => {
                    let product = signed(ty, a).wrapping_mul(signed(ty, b));
                    Known::Number(narrow(product.wrapping_add(c)))
                }
                (Known::Number(a), Known::Number(b), Known::Address(at, offset)) => {
                    let product = signed(ty, a).wrapping_mul(signed(ty, b));
                    Known::Address(at, offset.wrapping_add(product))
                }
                _ => Known::Varies,
            },
            Opcode::Setp => match (known(1), known(2), comparison(op)) {
                (Known::Number(a), Known::Number(b), Some(cmp)) => {
                    let (a, b) = (ordered(ty, a), ordered(ty, b));
                    Known::Number(i64::from(cmp.eval(a, b)))
                }
                _ => Known::Varies,
            },
            _ => Known::Varies,
        }
    }

    /// What is known before each instruction that the thread can reach.
    pub(super) fn reach(&self) -> BTreeMap<usize, State> {
        let code = &self.body.instructions;
        let mut before: BTreeMap<usize, State> = BTreeMap::new();
        before.insert(0, State::new());
        let mut work = vec![0];
        while let Some(at) = work.pop() {
            let Some(instruction) = code.get(at) else { continue };
            let mut state = before.get(&at).cloned().unwrap_or_default();
            let op = self.module.op(instruction);
            let operands = self.body.operands(instruction);
            let guard = instruction.guard.map(|g| match state.get(&g.register) {
                Some(&Known::Number(n)) => Some((n != 0) != g.negated),
                _ => None,
            });
            let mut next = Vec::new();
            match op.opcode {
                Opcode::Bra => {
                    if let (Some(&Operand::Label(label)), true) =
                        (operands.first(), guard != Some(Some(false)))
                    {
                        next.push(self.body.labels[label.index()].target as usize);
                    }
                    if !matches!(guard, None | Some(Some(true))) {
                        next.push(at + 1);
                    }
                }
                Opcode::Ret | Opcode::Exit => {
                    if !matches!(guard, None | Some(Some(true))) {
                        next.push(at + 1);
                    }
                }
                _ => {
                    if guard != Some(Some(false)) {
                        let result = self.compute(&state, op, operands);
                        for id in written(self.body, op, operands) {
                            let old = state.get(&id).copied();
                            let certain = !matches!(guard, Some(None)) || old == Some(result);
                            state.insert(id, if certain { result } else { Known::Varies });
                        }
                    }
                    next.push(at + 1);
                }
            }
            for to in next {
                let changed = match before.get_mut(&to) {
                    None => {
                        before.insert(to, state.clone());
                        true
                    }
                    Some(known) => {
                        let mut changed = false;
                        let all: BTreeSet<RegId> = known.keys().chain(state.keys()).copied().collect();
                        for id in all {
                            let merged =
                                if known.get(&id) == state.get(&id) { known[&id] } else { Known::Varies };
                            changed |= known.insert(id, merged) != Some(merged);
                        }
                        changed
                    }
                };
                if changed {
                    work.push(to);
                }
            }
        }
        before
    }
}
