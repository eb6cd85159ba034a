//! Where the addresses of a test go.
//!
//! The model has numbers of its own for addresses. A whole address is translated wherever it is seen; a value computed
//! from one is another number on a machine, so a test whose outcome may depend on such a value has no kernel.

use crate::program::{Access, Base, BinOp, Cmp, Litmus, Observable, Op, Operand, RmwOp};

/// What a value may hold, besides numbers that have nothing to do with addresses.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    /// A whole address.
    address: bool,
    /// A value computed from an address, or a part of one.
    computed: bool,
}

impl Held {
    fn any(self) -> bool {
        self.address || self.computed
    }

    fn and(self, other: Held) -> Held {
        Held { address: self.address || other.address, computed: self.computed || other.computed }
    }

    /// Adds what else may be held; whether that is new.
    fn take_in(&mut self, other: Held) -> bool {
        let old = std::mem::replace(self, self.and(other));
        old != *self
    }

    /// What arithmetic makes of it.
    fn used(self) -> Held {
        Held { address: false, computed: self.any() }
    }
}

/// What registers and memory may hold at any time, in any execution.
struct Flow {
    registers: Vec<Vec<Held>>,
    locations: Vec<Held>,
    changed: bool,
}

/// Whether an outcome of the test may depend on a value computed from an address.
pub(super) fn matter(litmus: &Litmus) -> bool {
    let program = &litmus.program;
    let mut flow = Flow {
        registers: program.threads.iter().map(|t| vec![Held::default(); t.registers.len()]).collect(),
        locations: vec![Held::default(); program.locations.len()],
        changed: true,
    };
    while std::mem::take(&mut flow.changed) {
        for (at, location) in program.locations.iter().enumerate() {
            flow.store(at, initial(&location.initial));
        }
        for (thread, code) in program.threads.iter().enumerate() {
            for (register, value) in code.initial.iter().enumerate() {
                flow.set(thread, register, initial(value));
            }
            for instruction in &code.code {
                flow.step(thread, &instruction.op);
            }
        }
    }
    let decides = |thread: usize, op: &Op| match op {
        Op::Branch { cmp, a, b, .. } | Op::Assume { cmp, a, b } => {
            let held = flow.operand(thread, a).and(flow.operand(thread, b));
            held.computed || held.address && !matches!(cmp, Cmp::Eq | Cmp::Ne)
        }
        Op::Rmw { access, ops, .. } => ops.iter().any(|op| match op {
            RmwOp::Cas(old, _) => flow.at(access).and(flow.operand(thread, old)).computed,
            RmwOp::Apply(..) => false,
        }),
        _ => false,
    };
    let seen = litmus.observables().into_iter().any(|observable| match observable {
        Observable::Reg(thread, register) => flow.registers[thread][usize::from(register.0)].computed,
        Observable::Mem(location, _) => flow.locations[usize::from(location.0)].computed,
    });
    let mut code = program.threads.iter().enumerate().flat_map(|(at, t)| t.code.iter().map(move |i| (at, i)));
    seen || code.any(|(thread, instruction)| decides(thread, &instruction.op))
}

fn initial(value: &Operand) -> Held {
    Held { address: matches!(value, Operand::Address(_)), computed: false }
}

/// Whether an access is of less than an address.
fn is_narrow(access: &Access) -> bool {
    access.bytes.is_some_and(|bytes| bytes < 8)
}

impl Flow {
    fn operand(&self, thread: usize, operand: &Operand) -> Held {
        match *operand {
            Operand::Reg(register) => self.registers[thread][usize::from(register.0)],
            ref other => initial(other),
        }
    }

    /// What an access reads. A narrow one reads parts.
    fn at(&self, access: &Access) -> Held {
        let held = self.places(access).fold(Held::default(), |held, at| held.and(self.locations[at]));
        if is_narrow(access) { held.used() } else { held }
    }

    /// The locations that an access may touch: any one through a register.
    fn places(&self, access: &Access) -> std::ops::Range<usize> {
        match access.base {
            Base::Loc(location) => usize::from(location.0)..usize::from(location.0) + 1,
            Base::Reg(_) => 0..self.locations.len(),
        }
    }

    fn set(&mut self, thread: usize, register: usize, held: Held) {
        self.changed |= self.registers[thread][register].take_in(held);
    }

    fn store(&mut self, location: usize, held: Held) {
        self.changed |= self.locations[location].take_in(held);
    }

    fn write(&mut self, access: &Access, held: Held) {
        for at in self.places(access) {
            // A narrow one leaves a part of what was there.
            let held = if is_narrow(access) { held.and(self.locations[at]).used() } else { held };
            self.store(at, held);
        }
    }

    fn step(&mut self, thread: usize, op: &Op) {
        match op {
            Op::Mov { dst, src } => self.set(thread, usize::from(dst.0), self.operand(thread, src)),
            Op::Bin { op, dst, a, b } => {
                let (left, right) = (self.operand(thread, a), self.operand(thread, b));
                self.set(thread, usize::from(dst.0), combined(*op, left, right, a == b));
            }
            Op::Load { dst, access } => {
                let held = self.at(access);
                dst.iter().for_each(|dst| self.set(thread, usize::from(dst.0), held));
            }
            Op::Store { access, src } => {
                for src in src {
                    self.write(access, self.operand(thread, src));
                }
            }
            Op::Rmw { dst, access, ops } => {
                let old = self.at(access);
                dst.iter().for_each(|dst| self.set(thread, usize::from(dst.0), old));
                for op in ops {
                    let new = match op {
                        RmwOp::Apply(op, operand) => combined(*op, old, self.operand(thread, operand), false),
                        RmwOp::Cas(_, new) => self.operand(thread, new),
                    };
                    self.write(access, new);
                }
            }
            Op::MbarrierTest { dst, access, .. } => {
                let held = self.at(access).used();
                self.set(thread, usize::from(dst.0), held);
            }
            Op::Fence { .. }
            | Op::ProxyFence(_)
            | Op::Bar { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::Branch { .. }
            | Op::Goto { .. }
            | Op::Assume { .. } => {}
        }
    }
}

/// What an operation gives. A value less itself is zero: tests make dependencies that way.
fn combined(op: BinOp, left: Held, right: Held, same: bool) -> Held {
    match op {
        BinOp::Second => right,
        BinOp::Sub | BinOp::Xor if same => Held::default(),
        _ => left.and(right).used(),
    }
}

#[cfg(test)]
mod tests {
    use super::matter;

    /// Whether a value computed from an address matters, for one thread's code and a condition.
    fn matters(code: &str, condition: &str) -> bool {
        let lines: Vec<String> = code.split(';').map(|line| format!(" {} ;", line.trim())).collect();
        let text = format!(
            "PTX Addresses\n{{ x=0; y=&x; P0:r0=&x; }}\n P0 ;\n{}\nexists ({condition})\n",
            lines.join("\n")
        );
        matter(&crate::litmus::parse(&text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}")))
    }

    #[test]
    fn whole_addresses_are_translated_and_results_of_arithmetic_are_not() {
        for (code, condition, expected) in [
            ("ld.relaxed.gpu.u64 r1, [y]", "P0:r1=x", false),
            ("ld.relaxed.gpu.u32 r1, [y]", "P0:r1=1", true),
            ("ld.relaxed.gpu.u64 r1, [y]; add.u64 r2, r1, 1", "P0:r2=1", true),
            ("ld.relaxed.gpu.u64 r1, [y]; add.u64 r2, r1, 1", "P0:r1=x", false),
            // A dependency.
            ("ld.relaxed.gpu.u64 r1, [y]; xor.b64 r2, r1, r1", "P0:r2=0", false),
            ("atom.exch.relaxed.gpu.b64 r1, [x], r0; atom.xor.relaxed.gpu.b64 r2, [x], 1", "P0:r2=1", true),
            ("atom.exch.relaxed.gpu.b64 r1, [x], r0; atom.xor.relaxed.gpu.b64 r2, [x], 1", "P0:r1=0", true),
            ("atom.exch.relaxed.gpu.b64 r1, [x], r0; atom.exch.relaxed.gpu.b64 r2, [x], 1", "P0:r2=x", false),
            ("atom.cas.relaxed.gpu.b64 r1, [y], r0, 1", "P0:r1=x", false),
        ] {
            assert_eq!(matters(code, condition), expected, "{code}: {condition}");
        }
    }
}
