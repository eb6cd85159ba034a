//! In which loops threads do nothing but wait for what another thread is to write.

use isa::MemOrder;
use ptx_frontend::{AddressBase, Body, Instruction, Modifiers, Module, Opcode, Operand, StateSpace};

use super::liveness::Uses;

/// Instructions of such a loop, at most.
const MOST: usize = 64;

/// By instruction of a function: whether it is a strong load of a loop that writes no memory, waits for nobody and looks at
/// the same place in each turn. Nothing changes there until another thread has run.
pub(super) fn spinning(module: &Module, body: &Body) -> Vec<bool> {
    let mut spinning = vec![false; body.instructions.len()];
    for (at, inst) in body.instructions.iter().enumerate() {
        let start = match (module.op(inst).opcode, body.operands(inst)) {
            (Opcode::Bra, &[Operand::Label(label)]) => body.labels[label.index()].target as usize,
            _ => continue,
        };
        if start <= at && at - start < MOST && only_looks(module, &body.instructions[start..=at]) {
            mark(module, body, start..at, &mut spinning);
        }
    }
    spinning
}

/// Whether instructions do nothing that another thread could notice.
fn only_looks(module: &Module, insts: &[Instruction]) -> bool {
    insts.iter().all(|inst| {
        let op = module.op(inst);
        match op.opcode {
            Opcode::Bra | Opcode::Fence | Opcode::Membar | Opcode::Nanosleep => true,
            Opcode::Ld => !op.effects.is_asynchronous(),
            _ => op.effects.is_pure(),
        }
    })
}

/// Marks the strong loads of a loop whose addresses stay the same.
fn mark(module: &Module, body: &Body, range: std::ops::Range<usize>, spinning: &mut [bool]) {
    let (mut uses, mut written) = (Uses::default(), Vec::new());
    for inst in &body.instructions[range.clone()] {
        uses.collect(module, body, inst);
        written.extend_from_slice(&uses.writes);
    }
    for at in range {
        let inst = &body.instructions[at];
        let op = module.op(inst);
        let strong = op.order().is_some_and(|order| order != MemOrder::Weak);
        let elsewhere = matches!(op.space(), StateSpace::Global | StateSpace::Generic);
        let stays = body.operands(inst).iter().all(|operand| match operand {
            Operand::Address(address) => match address.base {
                AddressBase::Register(register) => !written.contains(&register),
                _ => true,
            },
            _ => true,
        });
        spinning[at] |= op.opcode == Opcode::Ld && strong && elsewhere && stays;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_frontend::Source;

    /// The numbers of the marked instructions of a kernel.
    fn marked(body: &str) -> Vec<usize> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{
            .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n{body}\nret;\n}}\n"
        );
        let parsed = ptx_frontend::parse(Source::new("k.ptx", text.into_bytes()));
        let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let body = module.functions[0].body.as_ref().unwrap();
        let marks = spinning(&module, body);
        (0..marks.len()).filter(|&at| marks[at]).collect()
    }

    #[test]
    fn a_loop_that_looks_at_one_place_waits() {
        let poll = |load: &str, rest: &str| {
            marked(&format!(
                "ld.param.u64 %rd1, [p];\nL: {load}\nsetp.eq.s32 %p1, %r1, 0;\n{rest}\n@%p1 bra L;"
            ))
        };
        let volatile = "ld.volatile.global.u32 %r1, [%rd1];";
        assert_eq!(poll(volatile, ""), [1]);
        assert_eq!(poll("ld.acquire.gpu.u32 %r1, [%rd1+4];", "nanosleep.u32 32; membar.gl;"), [1]);
        // Weak loads may be hoisted, shared memory is the block's own.
        assert_eq!(poll("ld.global.u32 %r1, [%rd1];", ""), []);
        assert_eq!(poll("ld.volatile.shared.u32 %r1, [%rd1];", ""), []);
    }

    #[test]
    fn a_loop_that_does_something_does_not() {
        let poll = |rest: &str| {
            marked(&format!(
                "ld.param.u64 %rd1, [p];\nL: ld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;
                {rest}\n@%p1 bra L;"
            ))
        };
        assert_eq!(poll("add.u32 %r2, %r2, 1;"), [1]);
        // The next element, a store, an atomic, a barrier.
        assert_eq!(poll("add.u64 %rd1, %rd1, 4;"), []);
        assert_eq!(poll("st.global.u32 [%rd1+8], %r2;"), []);
        assert_eq!(poll("red.global.add.u32 [%rd1+8], 1;"), []);
        assert_eq!(poll("bar.warp.sync -1;"), []);
    }
}
