//! Fences and barriers.

use memory_model::program::{self as test, BarMode, Proxy, ProxyFence, Region};
use ptx_frontend::{Instruction, MemOrder, Modifier, Modifiers, Op, Opcode, Operand};

use super::Translated;
use super::column::{Column, Value};
use super::known::{Known, State, is_read};

impl Column<'_> {
    pub(super) fn fence(&mut self, instruction: &Instruction, op: &Op) -> Translated<()> {
        if op.has(Modifier::MbarrierInit) {
            return self
                .refuse(instruction, "a fence of initialisations only; `fence.acq_rel.cluster` does more");
        }
        let restrictions = [Modifier::SyncRestrictSharedCta, Modifier::SyncRestrictSharedCluster];
        if restrictions.iter().any(|&modifier| op.has(modifier)) {
            // Exact if there is no other memory, which is looked at when all of the test is known.
            self.restricted.get_or_insert(instruction.span);
        }
        let fence = match op.has(Modifier::Proxy) {
            true => proxy_fence(op).map(test::Op::ProxyFence),
            false => op.scope().map(|scope| {
                // Since sm_70 `membar` is the strongest fence (ISA 9.7.13.4).
                let default = if op.opcode == Opcode::Membar { MemOrder::Sc } else { MemOrder::AcqRel };
                test::Op::Fence {
                    order: op.order().unwrap_or(default),
                    scope: Some(scope),
                    region: Region::All,
                }
            }),
        };
        match fence {
            Some(fence) => self.push(instruction.span, fence),
            None => return self.refuse(instruction, "it has no counterpart"),
        }
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
            let barrier = match op.has(Modifier::Arrive) {
                true => test::Op::ClusterArrive { relaxed: op.has(Modifier::Relaxed) },
                false => test::Op::ClusterWait,
            };
            self.push(instruction.span, barrier);
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
                (BarMode::Red, rest)
            }
            rest if op.has(Modifier::Arrive) => (BarMode::Arrive, rest),
            rest => (BarMode::Sync, rest),
        };
        let (id, count) = match *rest {
            [id] => (self.value(state, instruction, id)?, None),
            [id, count] => {
                let id = self.value(state, instruction, id)?;
                (id, Some(self.arrivals(state, instruction, count)?))
            }
            _ => return self.refuse(instruction, "these operands have no counterpart"),
        };
        // The number of a barrier of all threads is its label in the published models.
        let (instance, id) = match (id, count) {
            (Value::Number(number), None) => (number, None),
            (id, _) => (0, Some(self.source(id))),
        };
        let count = count.map(|count| test::Operand::Const(count.into()));
        self.push(instruction.span, test::Op::Bar { mode, instance, id, count, region: Region::All });
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
        let number = (i64::from(warp) + 1) << 32 | i64::from(lanes);
        let (id, count) = (test::Operand::Const(number), test::Operand::Const(lanes.count_ones().into()));
        let bar = test::Op::Bar {
            mode: BarMode::Sync,
            instance: 0,
            id: Some(id),
            count: Some(count),
            region: Region::All,
        };
        self.push(instruction.span, bar);
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

/// The fence between proxies, both ways or (from the generic one) one way.
fn proxy_fence(op: &Op) -> Option<ProxyFence> {
    let proxies = [
        (Modifier::Async, Proxy::Async),
        (Modifier::AsyncGeneric, Proxy::Async),
        (Modifier::TensormapGeneric, Proxy::TensorMap),
    ];
    if op.has(Modifier::Alias) {
        return Some(ProxyFence::Alias);
    }
    let &(_, proxy) = proxies.iter().find(|(modifier, _)| op.has(*modifier))?;
    Some(match (op.order(), op.scope()) {
        (Some(MemOrder::Release), Some(scope)) => ProxyFence::Release(proxy, scope),
        (Some(MemOrder::Acquire), Some(scope)) => ProxyFence::Acquire(proxy, scope),
        _ => ProxyFence::To(proxy),
    })
}
