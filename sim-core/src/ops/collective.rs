//! Warp-level operations: `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`.
//!
//! The lanes of the member mask that have not exited execute one operation together, wherever they
//! stand: groups wait until the last has come (ISA 9.7.9.6, 9.7.13).

use super::at::Checked;
use super::flow::{Flow, On};
use super::masks::each_lane;
use super::masks::lanes_with;
use crate::code::{Action, AtomicOp, ShuffleMode, WarpOp, WarpOpKind, lanes_text};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::ROOT;
use crate::machine::warp::{Group, Wait};
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::{LaneMask, Registers};

/// What lanes bring to an operation, and what they get.
struct Exchange {
    a: [u64; 32],
    b: [u32; 32],
    c: [u32; 32],
    predicate: LaneMask,
    lanes: LaneMask,
    result: [u32; 32],
    result_predicate: LaneMask,
}

impl Exchange {
    fn new() -> Exchange {
        Exchange {
            a: [0; 32],
            b: [0; 32],
            c: [0; 32],
            predicate: 0,
            lanes: 0,
            result: [0; 32],
            result_predicate: 0,
        }
    }

    fn bring(&mut self, registers: &Registers, op: &WarpOp, lanes: LaneMask) {
        self.lanes |= lanes;
        self.predicate |= registers.predicate(op.pred) & lanes;
        match op.kind {
            WarpOpKind::MatchAny(2) | WarpOpKind::MatchAll(2) => {
                let a = registers.read::<u64>(op.src[0]);
                each_lane(lanes, |lane| self.a[lane] = a[lane]);
            }
            WarpOpKind::Shuffle(_) => {
                let (a, b, c) = (
                    registers.read::<u32>(op.src[0]),
                    registers.read::<u32>(op.src[1]),
                    registers.read::<u32>(op.src[2]),
                );
                each_lane(lanes, |lane| {
                    self.a[lane] = u64::from(a[lane]);
                    self.b[lane] = b[lane];
                    self.c[lane] = c[lane];
                });
            }
            WarpOpKind::MatchAny(_) | WarpOpKind::MatchAll(_) | WarpOpKind::Redux(..) => {
                let a = registers.read::<u32>(op.src[0]);
                each_lane(lanes, |lane| self.a[lane] = u64::from(a[lane]));
            }
            _ => {}
        }
    }

    /// Computes results; the second value has lanes that read a lane which does not take part.
    fn compute(&mut self, kind: WarpOpKind) -> LaneMask {
        let lanes = self.lanes;
        let mut stray = 0;
        match kind {
            WarpOpKind::Sync => {}
            WarpOpKind::Shuffle(mode) => {
                each_lane(lanes, |lane| {
                    let (source, inside) = shuffle_source(mode, lane as u32, self.b[lane], self.c[lane]);
                    let source = if inside { source } else { lane as u32 };
                    if lanes >> source & 1 == 0 {
                        stray |= 1 << lane;
                    }
                    self.result[lane] = self.a[source as usize] as u32;
                    self.result_predicate |= u32::from(inside) << lane;
                });
            }
            WarpOpKind::VoteAll => self.result_predicate = all(self.predicate == lanes),
            WarpOpKind::VoteAny => self.result_predicate = all(self.predicate != 0),
            WarpOpKind::VoteUni => {
                self.result_predicate = all(self.predicate == 0 || self.predicate == lanes);
            }
            WarpOpKind::VoteBallot => self.result = [self.predicate; 32],
            WarpOpKind::MatchAny(_) => each_lane(lanes, |lane| {
                let mut same = 0;
                each_lane(lanes, |other| same |= u32::from(self.a[other] == self.a[lane]) << other);
                self.result[lane] = same;
            }),
            WarpOpKind::MatchAll(_) => {
                let first = self.a[lanes.trailing_zeros() as usize & 31];
                let mut same = true;
                each_lane(lanes, |lane| same &= self.a[lane] == first);
                self.result = [if same { lanes } else { 0 }; 32];
                self.result_predicate = all(same);
            }
            WarpOpKind::Redux(op, signed) => {
                let mut result: Option<u32> = None;
                each_lane(lanes, |lane| {
                    let value = self.a[lane] as u32;
                    result = Some(result.map_or(value, |so_far| reduce(op, signed, so_far, value)));
                });
                self.result = [result.unwrap_or(0); 32];
            }
            WarpOpKind::Elect => {
                let leader = lanes.trailing_zeros();
                self.result = [leader; 32];
                self.result_predicate = 1 << (leader & 31);
            }
        }
        stray
    }
}

fn all(value: bool) -> LaneMask {
    if value { LaneMask::MAX } else { 0 }
}

fn reduce(op: AtomicOp, signed: bool, a: u32, b: u32) -> u32 {
    match op {
        AtomicOp::Add => a.wrapping_add(b),
        AtomicOp::Min if signed => (a as i32).min(b as i32) as u32,
        AtomicOp::Max if signed => (a as i32).max(b as i32) as u32,
        AtomicOp::Min => a.min(b),
        AtomicOp::Max => a.max(b),
        AtomicOp::And => a & b,
        AtomicOp::Or => a | b,
        _ => a ^ b,
    }
}

/// A shuffle or a vote of all lanes of a warp, of which none is missing; false if it is something else.
fn shared_by_all(registers: &mut Registers, op: &WarpOp) -> bool {
    let predicate = registers.predicate(op.pred);
    let vote = match op.kind {
        WarpOpKind::Shuffle(mode) => {
            let [a, b, c] = op.src.map(|slot| registers.read::<u32>(slot));
            let (mut result, mut flags) = ([0; 32], [0u32; 32]);
            macro_rules! shuffle {
                ($mode:path) => {
                    for lane in 0..32 {
                        let (source, inside) = shuffle_source($mode, lane as u32, b[lane], c[lane]);
                        result[lane] = a[if inside { source as usize & 31 } else { lane }];
                        flags[lane] = u32::from(inside);
                    }
                };
            }
            match mode {
                ShuffleMode::Up => shuffle!(ShuffleMode::Up),
                ShuffleMode::Down => shuffle!(ShuffleMode::Down),
                ShuffleMode::Bfly => shuffle!(ShuffleMode::Bfly),
                ShuffleMode::Idx => shuffle!(ShuffleMode::Idx),
            }
            if let Some(dst) = op.dst {
                registers.write(dst, LaneMask::MAX, &result);
            }
            if op.pred_dst.index() != 0 {
                let inside = flags.iter().rev().fold(0, |mask, flag| mask << 1 | flag);
                registers.set_predicate(op.pred_dst, LaneMask::MAX, inside);
            }
            return true;
        }
        WarpOpKind::VoteBallot => {
            if let Some(dst) = op.dst {
                registers.write(dst, LaneMask::MAX, &[predicate; 32]);
            }
            return true;
        }
        WarpOpKind::VoteAll => predicate == LaneMask::MAX,
        WarpOpKind::VoteAny => predicate != 0,
        WarpOpKind::VoteUni => predicate == LaneMask::MAX || predicate == 0,
        _ => return false,
    };
    if op.pred_dst.index() != 0 {
        registers.set_predicate(op.pred_dst, LaneMask::MAX, all(vote));
    }
    true
}

fn left_out(lanes: LaneMask, members: LaneMask) -> String {
    let lanes = lanes_text(lanes);
    format!(
        "lanes {lanes} execute a warp-level operation whose member mask {members:#010x} does not name them"
    )
}

/// Source lane and whether it is inside the segment (ISA 9.7.9.6).
pub(crate) fn shuffle_source(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let most = lane & segment | clamp & !segment;
    let least = lane & segment;
    match mode {
        ShuffleMode::Up => {
            let source = lane as i32 - b as i32;
            (source as u32 & 31, source >= most as i32)
        }
        ShuffleMode::Down => ((lane + b) & 31, lane + b <= most),
        ShuffleMode::Bfly => (lane ^ b, lane ^ b <= most),
        ShuffleMode::Idx => {
            let source = least | b & !segment;
            (source, source <= most)
        }
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    /// An operation of the lanes that a mask names.
    pub(crate) fn warp_operation(
        &mut self,
        registers: &Registers,
        group: &mut Group,
        active: LaneMask,
        op: &WarpOp,
    ) -> Flow {
        let all = group.lanes;
        self.leave_rest(group, active);
        let (mut first, others) = match op.members {
            None => (active, 0),
            Some(slot) if slot.is_constant() => (registers.lane::<u32>(slot, 0), 0),
            Some(slot) => {
                let members = registers.read::<u32>(slot);
                let first = members[active.trailing_zeros() as usize & 31];
                (first, active & !lanes_with(&members, first))
            }
        };
        let strangers = active & !first;
        if strangers != 0 && others == 0 && !self.unoptimised() {
            self.note_strangers(group, strangers, first);
            first = active;
        }
        if others != 0 {
            // Lanes with another mask are another operation, as in tiles of a warp.
            let position = group.position;
            self.warp_mut().fork(group, position, others);
            group.lanes &= !others;
        }
        match self.collective(group, group.lanes, first, op) {
            Ok(true) if group.lanes == all => Flow::Next,
            // The rest stands right behind and joins at once.
            Ok(true) => {
                group.position += 1;
                Flow::Jump
            }
            Ok(false) => Flow::Wait(On::Members(first)),
            Err(fault) => Flow::Fault(fault),
        }
    }

    /// A group whose lanes have the same member mask reaches a warp-level operation; true when it
    /// may go on itself.
    pub(crate) fn collective(
        &mut self,
        group: &Group,
        active: LaneMask,
        members: LaneMask,
        op: &WarpOp,
    ) -> Checked<bool> {
        let mut registers = self.registers(group.frame);
        if active & !members != 0 {
            let text = left_out(active & !members, members);
            return Err(Box::new(Fault::new(FindingKind::WarpSyncMismatch, active & !members, text)));
        }
        if members & !self.warp().exited & !active == 0 {
            if active == LaneMask::MAX && shared_by_all(&mut registers, op) {
                return Ok(true);
            }
            let mut exchange = Exchange::new();
            exchange.bring(&registers, op, active);
            if op.kind == WarpOpKind::Sync && self.weak().is_some() {
                self.weak_warp_sync(active);
            }
            let stray = exchange.compute(op.kind);
            Self::deliver(&mut registers, op, &exchange, active);
            self.note_stray(group, stray);
            self.met(op.kind, active);
            return Ok(true);
        }
        Ok(false)
    }

    /// Tells tools that lanes have met.
    fn met(&mut self, kind: WarpOpKind, lanes: LaneMask) {
        if kind == WarpOpKind::Sync {
            let event = Event::WarpSynchronized { warp: self.warp_id(), lanes };
            self.tell(Wants::WARPS, ROOT, &event);
        }
    }

    fn deliver(registers: &mut Registers, op: &WarpOp, exchange: &Exchange, lanes: LaneMask) {
        if let Some(dst) = op.dst {
            registers.write(dst, lanes, &exchange.result);
        }
        if op.pred_dst.index() != 0 {
            registers.set_predicate(op.pred_dst, lanes, exchange.result_predicate);
        }
    }

    /// Code that ptxas was told not to optimise: there an operation waits for the lanes of its mask by an instruction of its
    /// own, which a lane that is not one of them must not execute.
    fn unoptimised(&self) -> bool {
        self.worker.grid.code.module.target_options.iter().any(|option| &**option == "debug")
    }

    /// A mask that is the same for all lanes here leaves some of them out. Optimised code takes it for granted that they have
    /// met, and the mask is gone: all take part (read off an H200; only where masks differ does it end the launch).
    #[cold]
    fn note_strangers(&mut self, group: &Group, strangers: LaneMask, members: LaneMask) {
        let fault = Fault::new(FindingKind::UndefinedBehavior, strangers, left_out(strangers, members)).note(
            "they take part all the same, as in optimised code; compiled with `-G`, this is an illegal instruction",
        );
        self.note(group, fault);
    }

    fn note_stray(&mut self, group: &Group, stray: LaneMask) {
        let stray = stray & group.lanes;
        if stray != 0 && !self.cta.faulted {
            let text = format!(
                "lanes {} read a lane that does not take part: the value is undefined",
                lanes_text(stray)
            );
            self.note(group, Fault::new(FindingKind::UndefinedBehavior, stray, text));
        }
    }

    /// Runs warp-level operations whose lanes have all come, in groups that wait.
    pub(crate) fn complete_collectives(&mut self) {
        let code = self.worker.grid.code;
        let mut at = 0;
        while at < self.warp().groups.len() {
            let Wait::Members(members) = self.warp().groups[at].wait else {
                at += 1;
                continue;
            };
            let kind = |position: u32| match &code.insts[position as usize].action {
                Action::Warp(op) => Some(op),
                _ => None,
            };
            let position = self.warp().groups[at].position;
            if matches!(code.insts[position as usize].action, Action::Matrix(_) | Action::Warpgroup(_)) {
                at = if self.gather(at) { 0 } else { at + 1 };
                continue;
            }
            let Some(op) = kind(position) else { return };
            let partners: smallvec::SmallVec<[usize; 8]> = (0..self.warp().groups.len())
                .filter(|&other| {
                    let group = &self.warp().groups[other];
                    group.wait == Wait::Members(members)
                        && kind(group.position).is_some_and(|other| other.kind == op.kind)
                })
                .collect();
            let come = partners.iter().fold(0, |lanes, &other| lanes | self.warp().groups[other].lanes);
            if members & !self.warp().exited & !come != 0 {
                at += 1;
                continue;
            }
            let mut exchange = Exchange::new();
            for &other in &partners {
                let group = self.warp().groups[other];
                if let Some(op) = kind(group.position) {
                    exchange.bring(&self.registers(group.frame), op, group.lanes);
                }
            }
            if op.kind == WarpOpKind::Sync && self.weak().is_some() {
                self.weak_warp_sync(come);
            }
            let stray = exchange.compute(op.kind);
            self.met(op.kind, come);
            let mut released: smallvec::SmallVec<[Group; 8]> = smallvec::SmallVec::new();
            for &other in partners.iter().rev() {
                released.push(self.warp_mut().groups.swap_remove(other));
            }
            for mut group in released {
                if let Some(op) = kind(group.position) {
                    let mut registers = self.registers(group.frame);
                    Self::deliver(&mut registers, op, &exchange, group.lanes);
                }
                self.note_stray(&group, stray);
                group.wait = Wait::Ready;
                group.position += 1;
                self.warp_mut().put(group);
            }
            at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffle_sources_follow_the_segments() {
        assert_eq!(shuffle_source(ShuffleMode::Up, 5, 2, 0), (3, true));
        assert!(!shuffle_source(ShuffleMode::Up, 1, 2, 0).1);
        assert_eq!(shuffle_source(ShuffleMode::Down, 5, 2, 31), (7, true));
        assert!(!shuffle_source(ShuffleMode::Down, 30, 2, 31).1);
        // Segments of eight lanes: mask 0b11000 in the upper half of c.
        let c = 0x1800 | 31;
        assert!(!shuffle_source(ShuffleMode::Down, 6, 2, c).1);
        assert_eq!(shuffle_source(ShuffleMode::Idx, 13, 2, c), (10, true));
        assert_eq!(shuffle_source(ShuffleMode::Bfly, 13, 1, 31), (12, true));
    }
}
