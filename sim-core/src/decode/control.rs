//! Branches and calls.

use ptx_frontend::{BranchTargetsId, FuncId, Op, Opcode, Operand, OperandList, ScalarType, Symbol};

use super::flow::Flow;
use super::{Decoder, Refusal, rows_of};
use crate::code::*;
use semantics::lanes::{Pred, Slot};

/// The device runtime's functions by the names that compilers call.
fn runtime(name: &str) -> Option<RuntimeFunction> {
    Some(match name {
        "vprintf" => RuntimeFunction::Printf,
        "__assertfail" => RuntimeFunction::AssertFail,
        "malloc" => RuntimeFunction::Malloc,
        "free" => RuntimeFunction::Free,
        _ => return LaunchFunction::named(name).map(RuntimeFunction::Launches),
    })
}

/// What is said of a call of a function that nobody defines.
fn undefined(name: &str) -> String {
    let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    if starts(&["cudaLaunchDevice", "cudaGetParameterBuffer"]) {
        return format!(
            "a launch by a kernel in the way of CUDA 11, which sm_90 does not have (call of `{name}`)"
        );
    }
    if starts(&["cudaCGGetSize", "cudaCGGetRank"]) {
        return format!("a group of the grids of several devices, which CUDA 13 no longer has (`{name}`),");
    }
    if name.starts_with("cudaGraphKernelNode") {
        return format!("an update of a graph's node by a kernel (call of `{name}`)");
    }
    format!("a call of `{name}`, which no linked module defines,")
}

impl Decoder<'_> {
    pub(super) fn control(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        match op.opcode {
            Opcode::Bra => {
                let Some(&Operand::Label(label)) = operands.first() else {
                    return Err("`bra` without a label".into());
                };
                // The instruction index for now; positions are known when the function is laid out.
                self.emit(guard, Action::Branch(self.body.labels[label.index()].target));
                Ok(())
            }
            Opcode::Brx => {
                let &[index, Operand::BranchTargets(BranchTargetsId(list)), ..] = operands else {
                    return Err(format!("`{op}` with these operands"));
                };
                let index = self.source(guard, index, ScalarType::U32)?;
                self.emit(guard, Action::BranchIndexed(index, list));
                Ok(())
            }
            Opcode::Ret => {
                self.emit(guard, Action::Return);
                Ok(())
            }
            Opcode::Exit => {
                self.emit(guard, Action::Exit);
                Ok(())
            }
            Opcode::Trap => {
                self.emit(guard, Action::Trap);
                Ok(())
            }
            Opcode::Brkpt => {
                self.emit(guard, Action::Breakpoint);
                Ok(())
            }
            _ => self.call(guard, operands),
        }
    }

    /// Replaces the list numbers of `brx.idx` by tables of positions, once the layout is known.
    pub(super) fn branch_tables(&mut self, flow: &Flow, position_of_block: &[u32]) {
        let first = self.code.branch_tables.len() as u32;
        for list in &self.body.branch_targets {
            let table = list.iter().map(|label| {
                let target = self.body.labels[label.index()].target;
                position_of_block[flow.block_of[target as usize] as usize]
            });
            self.code.branch_tables.push(table.collect());
        }
        let start = self.code.functions.last().map_or(0, |function| function.start);
        for inst in &mut self.code.insts[start as usize..] {
            if let Action::BranchIndexed(_, table) = &mut inst.action {
                *table += first;
            }
        }
    }

    fn call(&mut self, guard: Pred, operands: &[Operand]) -> Result<(), Refusal> {
        let at = operands
            .iter()
            .position(|o| !matches!(o, Operand::Vector(_)))
            .ok_or("`call` without a callee")?;
        let lists = |operand: Option<&Operand>| match operand {
            Some(&Operand::Vector(list)) => list,
            _ => OperandList::default(),
        };
        let results = if at == 0 { OperandList::default() } else { lists(operands.first()) };
        let arguments = lists(operands.get(at + 1));
        let mut site = CallSite::default();
        for &operand in self.body.elements(results) {
            let slot = self.argument(guard, operand)?;
            site.results.push(slot);
        }
        for &operand in self.body.elements(arguments) {
            let slot = self.argument(guard, operand)?;
            site.arguments.push(slot);
        }
        let index = self.code.call_sites.len() as u32;
        self.code.call_sites.push(site);
        match operands[at] {
            Operand::Function(id) => {
                let id = self.definition(id);
                let callee = &self.module.functions[id.index()];
                if let Some(&function) = self.indices.get(&id) {
                    self.emit(guard, Action::Call(Call { function, site: index }));
                } else if let Some(function) = runtime(&callee.name).filter(|_| callee.body.is_none()) {
                    self.emit(guard, Action::CallRuntime(function, Call { function: 0, site: index }));
                } else {
                    return Err(undefined(&callee.name));
                }
            }
            target => {
                let slot = self.source(guard, target, ScalarType::U64)?;
                self.emit(guard, Action::CallIndirect(slot, Call { function: 0, site: index }));
            }
        }
        Ok(())
    }

    /// The definition behind a declaration of the same name.
    fn definition(&self, id: FuncId) -> FuncId {
        match self.module.symbol(&self.module.functions[id.index()].name) {
            Some(Symbol::Function(other)) => other,
            _ => id,
        }
    }

    fn argument(&mut self, guard: Pred, operand: Operand) -> Result<ParamSlot, Refusal> {
        Ok(match operand {
            Operand::Variable(id, 0) if self.locals.contains_key(&id) => ParamSlot::Local {
                offset: self.locals[&id],
                size: self.module.variables[id.index()].size as u32,
            },
            Operand::Register(id) => ParamSlot::Register(self.allocation.slot(id)),
            Operand::Sink => ParamSlot::Register(RegisterSlot { slot: Slot::frame(0), rows: 0 }),
            other => {
                let slot = self.source(guard, other, ScalarType::B64)?;
                ParamSlot::Register(RegisterSlot { slot, rows: rows_of(ScalarType::B64) })
            }
        })
    }
}
