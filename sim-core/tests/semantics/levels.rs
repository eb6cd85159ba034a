//! Every register-to-register instruction gives the same at every SIMD level, and under a guard
//! writes the lanes whose guard is true and no others.

use super::harness::{Inputs, Instruction, Operand, THREADS};
use ptx_frontend::{Form, Opcode, OperandKind, OperandRole, ScalarType, forms};
use sim_core::{DeviceConfig, SimdLevel, Simulator};

const GROUPS: [&str; 7] = ["integer", "float", "half", "compare", "logic", "convert", "video"];

/// The harness's operands, if it can make them.
fn operands(kinds: &[OperandKind]) -> Option<Vec<Operand>> {
    let mut operands = Vec::new();
    for kind in kinds {
        operands.push(match kind.role {
            _ if kind.elements > 0 => return None,
            OperandRole::Destination => Operand::Destination(kind.ty),
            OperandRole::Source { .. } => Operand::Source(kind.ty),
            OperandRole::Constant { low, high } => Operand::Constant((low.max(0) + high.min(255)) / 2),
            _ => return None,
        });
        if kind.paired {
            operands.push(Operand::Destination(ScalarType::Pred));
        }
    }
    Some(operands)
}

fn instructions() -> Vec<Instruction> {
    let wanted = |form: &Form| GROUPS.contains(&form.group()) || form.opcode() == Opcode::Mov;
    let mut list = Vec::new();
    for form in forms().filter(wanted) {
        for modifiers in form.samples() {
            let op = modifiers.iter().fold(form.opcode().text().to_owned(), |op, m| op + &m.to_string());
            // Stochastic rounding is not supported.
            if op.contains(".rs") {
                continue;
            }
            let lists = form.operand_kinds(&modifiers);
            list.extend(
                lists
                    .iter()
                    .filter_map(|kinds| Some(Instruction { op: op.clone(), operands: operands(kinds)? })),
            );
        }
    }
    list
}

#[test]
fn levels_and_guards_change_nothing_else() {
    let simulators = [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512]
        .map(|level| Simulator::with_level(DeviceConfig::h200(), level));
    let list = instructions();
    assert!(list.len() > 1000, "{}", list.len());
    for (at, instruction) in testkit::part(8, list.iter().enumerate()) {
        let module = instruction.module();
        let inputs = Inputs::new(instruction, 0x9e37_79b9 + at as u64);
        let [baseline, avx2, avx512] =
            simulators.each_ref().map(|simulator| instruction.run(simulator, module.clone(), &inputs));
        instruction.check_guard(&inputs, &baseline);
        for (level, results) in [("AVX2", avx2), ("AVX-512", avx512)] {
            let differing = (0..THREADS).find(|&t| {
                baseline.plain[t] != results.plain[t] || baseline.guarded[t] != results.guarded[t]
            });
            if let Some(thread) = differing {
                panic!(
                    "{} of {:x?}: {:x?} at the baseline, {:x?} with {level}",
                    instruction.op, inputs.sources[thread], baseline.plain[thread], results.plain[thread]
                );
            }
        }
    }
}
