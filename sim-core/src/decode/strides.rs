//! How the addresses of a warp's lanes lie to each other, as far as a kernel's text tells.
//!
//! A register is *uniform* if all lanes have one value in it, and *affine* if it grows by the same from lane to lane. The
//! former is proved ([`Uniform`]). The latter is a guess: it takes blocks to have one dimension and numbers not to overflow,
//! so whoever uses it has to look, and the guess says only what to look for first.

use isa::Component;
use ptx_frontend::{
    AddressBase, Body, Instruction, Modifier, Modifiers, Module, Op, Opcode, Operand, RegId, SpecialRegister,
};

use super::liveness::Uses;
use super::uniform::Uniform;
use crate::code::Spread;

/// The bits of a lane's number.
const LANES: i64 = 31;

/// What is known of a register: nothing as long as no instruction that writes it was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Unknown,
    /// By how much it grows from lane to lane.
    Constant(i64),
    Any,
}

impl Step {
    /// What holds if either does.
    fn or(self, other: Step) -> Step {
        match (self, other) {
            (Step::Unknown, step) | (step, Step::Unknown) => step,
            (one, other) if one == other => one,
            _ => Step::Any,
        }
    }

    /// What two make together.
    fn with(self, other: Step, together: impl FnOnce(i64, i64) -> Option<i64>) -> Step {
        match (self, other) {
            (Step::Any, _) | (_, Step::Any) => Step::Any,
            (Step::Constant(a), Step::Constant(b)) => together(a, b).map_or(Step::Any, Step::Constant),
            _ => Step::Unknown,
        }
    }
}

/// What is known of all registers of a kernel.
pub(super) struct Strides<'a> {
    module: &'a Module,
    body: &'a Body,
    uniform: Uniform,
    steps: Vec<Step>,
}

impl<'a> Strides<'a> {
    pub(super) fn new(module: &'a Module, body: &'a Body, registers: usize, uniform: Uniform) -> Self {
        let mut strides = Strides { module, body, uniform, steps: vec![Step::Unknown; registers] };
        let mut uses = Uses::default();
        // A register changes twice at most; of long chains that are written backwards the ends stay unknown.
        for _ in 0..8 {
            let mut changed = false;
            for inst in &body.instructions {
                uses.collect(module, body, inst);
                for &register in &uses.writes {
                    let old = strides.steps[register.index()];
                    let new = old.or(match strides.uniform.has(register) {
                        true => Step::Constant(0),
                        false => strides.written(inst),
                    });
                    strides.steps[register.index()] = new;
                    changed |= new != old;
                }
            }
            if !changed {
                break;
            }
        }
        strides
    }

    /// Whether all lanes compute one value with an instruction.
    pub(super) fn is_uniform(&self, instruction: u32) -> bool {
        self.uniform.computes.get(instruction as usize).is_some_and(|computes| *computes)
    }

    /// Whether all lanes have one value in a register that stand at one place.
    pub(super) fn has_one_value(&self, register: RegId) -> bool {
        self.uniform.has(register)
    }

    /// How a base of addresses lies.
    pub(super) fn of(&self, base: AddressBase) -> Spread {
        match base {
            AddressBase::Register(register) if self.uniform.has(register) => Spread::Uniform,
            AddressBase::Register(register) => match self.steps[register.index()] {
                Step::Constant(stride) => i32::try_from(stride).map_or(Spread::Any, Spread::Stride),
                Step::Unknown | Step::Any => Spread::Any,
            },
            AddressBase::Variable(_) | AddressBase::Absolute => Spread::Uniform,
        }
    }

    /// What an instruction writes.
    fn written(&self, inst: &Instruction) -> Step {
        let op = self.module.op(inst);
        let operands = self.body.operands(inst);
        let read = |at: usize| operands.get(at).map_or(Step::Any, |operand| self.read(operand));
        let known = |at: usize| match operands.get(at) {
            Some(&Operand::Integer(value)) => Some(value as i64),
            _ => None,
        };
        let scaled = |step: Step, factor: Option<i64>| match (step, factor) {
            (Step::Constant(step), Some(factor)) => {
                step.checked_mul(factor).map_or(Step::Any, Step::Constant)
            }
            (Step::Unknown, _) => Step::Unknown,
            // By how much is known only at the launch.
            _ => Step::Any,
        };
        let product = || match (known(1), known(2)) {
            _ if [read(1), read(2)] == [Step::Constant(0); 2] => Step::Constant(0),
            (Some(factor), _) => scaled(read(2), Some(factor)),
            (_, factor) => scaled(read(1), factor),
        };
        match op.opcode {
            _ if !self.is_of_integers(op) => Step::Any,
            Opcode::Mov | Opcode::Cvta | Opcode::Cvt => read(1),
            Opcode::Add => read(1).with(read(2), i64::checked_add),
            Opcode::Sub => read(1).with(read(2), i64::checked_sub),
            // Numbers of lanes and of warps; bits that are set beside others; places held inside of something.
            Opcode::And if known(2).is_some_and(|mask| mask & LANES == LANES) => read(1),
            Opcode::Shr if known(2).is_some_and(|bits| 1 << bits.clamp(0, 31) > LANES) => match read(1) {
                Step::Constant(0 | 1) => Step::Constant(0),
                Step::Unknown => Step::Unknown,
                _ => Step::Any,
            },
            Opcode::Or | Opcode::Min | Opcode::Max => {
                read(1).with(read(2), |one, other| (one == 0 || other == 0).then_some(one + other))
            }
            Opcode::Shl => {
                scaled(read(1), known(2).filter(|bits| (0..32).contains(bits)).map(|bits| 1 << bits))
            }
            Opcode::Mul if !op.has(Modifier::Hi) => product(),
            Opcode::Mad if !op.has(Modifier::Hi) => product().with(read(3), i64::checked_add),
            _ => Step::Any,
        }
    }

    fn is_of_integers(&self, op: &Op) -> bool {
        op.effects.is_pure() && (0..2).filter_map(|at| op.ty(at)).all(|ty| !ty.is_float())
    }

    fn read(&self, operand: &Operand) -> Step {
        match *operand {
            Operand::Register(register) => self.register(register),
            Operand::Special(SpecialRegister::Tid(Component::X) | SpecialRegister::Laneid) => {
                Step::Constant(1)
            }
            Operand::Integer(_) | Operand::Special(_) | Operand::Variable(..) => Step::Constant(0),
            _ => Step::Any,
        }
    }

    fn register(&self, register: RegId) -> Step {
        if self.uniform.has(register) { Step::Constant(0) } else { self.steps[register.index()] }
    }
}

#[cfg(test)]
mod tests {
    use ptx_frontend::{Address, Source};

    use super::super::flow::Flow;
    use super::super::patience::Endless;
    use super::super::uniform::{Among, Divergence};
    use super::*;

    /// How the addresses of a kernel's accesses lie.
    fn spreads(text: &str) -> Vec<Spread> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 n, .param .u64 a) {{\n\
             .reg .u32 %r<9>; .reg .u64 %a, %rd<9>; .reg .f32 %f; .reg .pred %p; .shared .f32 s[64];\n\
             ld.param.u64 %a, [a]; ld.param.u32 %r8, [n];\n{text}\n ret; }}"
        );
        let parsed = ptx_frontend::parse(Source::new("k.ptx", text.into_bytes()));
        let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let function = &module.functions[0];
        let body = function.body.as_ref().unwrap();
        let Ok(flow) = Flow::new(&module, body, &Endless);
        let Ok(divergence) = Divergence::new(&module, function, body, &flow, &Endless);
        let Ok(uniform) = divergence.among(Among::Warp, &Endless);
        let strides = Strides::new(&module, body, function.registers.len(), uniform);
        let base = |inst: &Instruction| match body.operands(inst) {
            [_, Operand::Address(Address { base, .. })] | [Operand::Address(Address { base, .. }), _] => {
                Some(*base)
            }
            _ => None,
        };
        // The first two are of parameters.
        body.instructions.iter().skip(2).filter_map(base).map(|base| strides.of(base)).collect()
    }

    #[test]
    fn an_index_of_a_grid_grows_by_its_size() {
        let spreads = spreads(
            "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r0, %r1, %r2;
             mul.wide.s32 %rd0, %r3, 12; add.s64 %rd1, %a, %rd0; ld.global.f32 %f, [%rd1+4];
             shl.b32 %r4, %r3, 3; cvt.u64.u32 %rd2, %r4; add.s64 %rd3, %rd2, %a; st.global.f32 [%rd3], %f;
             st.shared.f32 [s+8], %f; ld.global.f32 %f, [%a];",
        );
        assert_eq!(spreads, [Spread::Stride(12), Spread::Stride(8), Spread::Uniform, Spread::Uniform]);
    }

    #[test]
    fn lanes_warps_and_rows_are_guessed() {
        let access = "mul.wide.u32 %rd0, %r1, 4; add.s64 %rd0, %rd0, %a; ld.global.f32 %f, [%rd0];";
        let of = |index: &str| {
            let all = spreads(&format!("mov.u32 %r0, %tid.x; {index} {access}"));
            all[all.len() - 1]
        };
        assert_eq!(of("and.b32 %r1, %r0, 31;"), Spread::Stride(4));
        assert_eq!(of("shr.u32 %r1, %r0, 5;"), Spread::Stride(0));
        assert_eq!(of("mov.u32 %r1, %tid.y; mul.lo.s32 %r1, %r1, %r8;"), Spread::Stride(0));
        assert_eq!(of("sub.s32 %r1, %r8, %r0;"), Spread::Stride(-4));
        assert_eq!(of("add.s32 %r1, %r0, 1; min.u32 %r1, %r1, %r8;"), Spread::Stride(4));
        // A row whose length the launch says, and what was loaded.
        assert_eq!(of("mul.lo.s32 %r1, %r0, %r8;"), Spread::Any);
        assert_eq!(of("mul.wide.u32 %rd1, %r0, 4; ld.global.u32 %r1, [%rd1];"), Spread::Any);
    }

    #[test]
    fn a_loop_that_goes_on_by_one_step_keeps_its_spread() {
        let spreads = spreads(
            "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 8; add.s64 %rd1, %a, %rd0; mov.u32 %r1, 0; mov.u64 %rd2, %a;
             L: ld.global.f32 %f, [%rd1]; ld.global.f32 %f, [%rd2];
             add.s64 %rd1, %rd1, 1024; add.s64 %rd2, %rd2, 4; add.s32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %r8; @%p bra L;",
        );
        assert_eq!(spreads, [Spread::Stride(8), Spread::Uniform]);
    }
}
