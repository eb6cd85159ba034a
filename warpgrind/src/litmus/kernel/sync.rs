//! Fences and barriers.

use ptx_frontend::{Instruction, Modifier, Modifiers, Op, Operand};

use super::Translated;
use super::column::Column;
use super::values::{Known, State, is_read};

impl Column<'_> {
    pub(super) fn fence(&mut self, instruction: &Instruction, op: &Op) -> Translated<()> {
        if op.has(Modifier::MbarrierInit) {
            return self
                .refuse(instruction, "a fence of initialisations only; `fence.acq_rel.cluster` does more");
        }
        let mut text = op.to_string();
        for space in ["cta", "cluster"] {
            let restriction = format!(".sync_restrict::shared::{space}");
            if text.contains(&restriction) {
                // Exact if there is no other memory, which is looked at when all of the test is known.
                self.restricted.get_or_insert(instruction.span);
                text = text.replace(&restriction, "");
            }
        }
        let text = text.replace("membar.proxy", "fence.proxy");
        self.line(instruction.span, text);
        Ok(())
    }

    pub(super) fn barrier(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        if op.has(Modifier::Cluster) {
            self.line(instruction.span, op.to_string());
            return Ok(());
        }
        if op.has(Modifier::Warp) {
            return self.warp_barrier(state, instruction, operands);
        }
        let (mode, rest) = match operands {
            [Operand::Register(result), rest @ .., _] if op.has(Modifier::Red) => {
                if is_read(self.module, self.body, *result) || self.asks_for(*result) {
                    return self.refuse(instruction, "the result of the reduction has no counterpart");
                }
                ("red", rest)
            }
            rest if op.has(Modifier::Arrive) => ("arrive", rest),
            rest => ("sync", rest),
        };
        let text = match *rest {
            [id] => format!("bar.{mode} {}", self.value(state, instruction, id)?),
            [id, count] => {
                let id = self.value(state, instruction, id)?;
                let count = self.arrivals(state, instruction, count)?;
                // A label in the published models, nothing here.
                format!("bar.cta.{mode} 0, {id}, {count}")
            }
            _ => return self.refuse(instruction, "these operands have no counterpart"),
        };
        self.line(instruction.span, text);
        Ok(())
    }

    /// The explored threads among so many threads of whole warps.
    fn arrivals(&self, state: &State, instruction: &Instruction, count: Operand) -> Translated<u32> {
        let Known::Number(count) = self.known(state, count) else {
            return self.refuse(instruction, "its count of threads is not the same everywhere");
        };
        let warps = match u32::try_from(count) {
            Ok(count) if count > 0 && count.is_multiple_of(32) => count / 32,
            _ => return self.refuse(instruction, "a count of threads is a multiple of 32, as warps arrive"),
        };
        let (lanes, block) = (self.header.lanes(), self.header.block);
        if warps == self.header.warps() {
            return Ok(block);
        }
        // Which warps arrive is told apart only if each is one thread.
        if self.header.warps() > 1 && lanes > 1 {
            return self
                .refuse(instruction, "a count of some of the warps; `//@ warp 1` explores one lane of each");
        }
        Ok(warps * lanes.min(block))
    }

    /// `bar.warp.sync`: a barrier of its own for each warp and set of lanes.
    fn warp_barrier(
        &mut self,
        state: &State,
        instruction: &Instruction,
        operands: &[Operand],
    ) -> Translated<()> {
        let &[mask] = operands else {
            return self.refuse(instruction, "these operands have no counterpart");
        };
        let Known::Number(mask) = self.known(state, mask) else {
            return self.refuse(instruction, "its lanes are not the same everywhere");
        };
        let (warp, lane) = (self.position.1 / 32, self.position.1 % 32);
        let explored = (0..self.header.threads())
            .map(|thread| self.header.position(thread))
            .filter(|&(block, thread)| block == self.position.0 && thread / 32 == warp)
            .fold(0u32, |lanes, (_, thread)| lanes | 1 << (thread % 32));
        let lanes = mask as u32 & explored;
        if lanes >> lane & 1 == 0 {
            return self.refuse(instruction, "its lanes leave out the one that executes it");
        }
        // Numbers beyond those of the block's barriers.
        let number = (u64::from(warp) + 1) << 32 | u64::from(lanes);
        self.line(instruction.span, format!("bar.cta.sync 0, {number}, {}", lanes.count_ones()));
        Ok(())
    }

    /// Whether the question names a register.
    fn asks_for(&self, register: ptx_frontend::RegId) -> bool {
        let name = &self.kernel.registers[register.index()].name;
        self.header.question.iter().any(|(text, _)| {
            text.match_indices(&**name).any(|(at, _)| {
                let end = text[at + name.len()..].chars().next();
                end.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            })
        })
    }
}
