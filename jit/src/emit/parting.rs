//! Lanes that part at a branch and go on within code: both ways, one after the other, where those are short and straight;
//! else the lower one, while the others stay behind. The order is that of [`crate::team`], which learns who stayed behind where
//! a stretch ends before all have met.

use super::*;
use crate::context::Behind;
use crate::program::Step;

/// Steps that lanes do within code that part at a branch, at most.
const MOST_ASIDE: usize = 64;
/// Lanes that stay behind, and the numbers of two kinds: for as long as others are in a loop, or up to where the ways of a branch
/// meet.
pub(super) const BEHIND: usize = offset_of!(Context, behind);
pub(super) const ASIDES: usize = BEHIND + offset_of!(Behind, lanes);
const MEETINGS: usize = BEHIND + offset_of!(Behind, meetings);
pub(super) const READS: usize = BEHIND + offset_of!(Behind, reads);
const PATIENCE: usize = BEHIND + offset_of!(Behind, patience);
const LEFT_AFTER: usize = BEHIND + offset_of!(Behind, left_after);
pub(super) const FAR: usize = 0;
pub(super) const NEAR: usize = 1;

/// A stretch of what lanes do that parted at a branch, up to where the others stand, or a branch of all of them.
struct Side {
    /// Whether those do it that took the branch.
    taken: bool,
    steps: Range<u32>,
    /// Where they stand then.
    stand: u32,
}

/// Steps of all.
fn steps_of(sides: &[Side]) -> usize {
    sides.iter().map(|side| side.steps.len()).sum()
}

impl Emitter<'_> {
    /// Where a branch leads.
    fn target(&self, branch: u32) -> Option<u32> {
        match self.program.steps[branch as usize].kind {
            Kind::Branch(target) => Some(target),
            _ => None,
        }
    }

    /// What lanes that part at a branch do until they meet again, those at the lower position first, if they can do it within
    /// code.
    fn sides(&self, branch: u32) -> Option<Vec<Side>> {
        let steps = &self.program.steps;
        let target = self.target(branch).filter(|target| *target > branch)?;
        let is_done_here = |step: &Step| match &step.kind {
            Kind::Compute(..) | Kind::Lanes(..) | Kind::Atomic(_) | Kind::Fence | Kind::Nothing => true,
            // Some of several elements are always the host's.
            Kind::Access(access) => access.count == 1 && access.bytes >= 4,
            _ => false,
        };
        let mut sides = Vec::new();
        let mut stand = [branch + 1, target];
        while stand[0] != stand[1] {
            let lower = usize::from(stand[1] < stand[0]);
            let (start, other) = (stand[lower], stand[1 - lower]);
            let (mut end, mut branches) = (start, None);
            while end != other && branches.is_none() {
                let step = steps.get(end as usize)?;
                match step.kind {
                    Kind::Branch(to) if step.guard == Pred::TRUE && to > end => branches = Some(to),
                    _ if is_done_here(step) => {}
                    _ => return None,
                }
                end += 1;
            }
            stand[lower] = branches.unwrap_or(end);
            sides.push(Side { taken: lower == 1, steps: start..end, stand: stand[lower] });
            if steps_of(&sides) > MOST_ASIDE {
                return None;
            }
        }
        (!sides.is_empty()).then_some(sides)
    }

    /// Lanes part at a branch, which those of `eax` take. They do what lies between at once if nobody waits for them
    /// meanwhile; else the warp's turn is over, and they do it when the others have come so far.
    pub(super) fn part(&mut self, branch: u32, back: Option<(Turn, Box<File>)>) -> Done {
        let mut leave = self.a.create_label();
        self.a.cmp(dword_ptr(at(offset_of!(Context, together))), 0)?;
        self.a.jne(leave)?;
        if let Some(sides) = self.sides(branch) {
            let mut parted = self.a.create_label();
            let meeting = sides.last().map_or(branch, |side| side.stand);
            self.a.cmp(dword_ptr(at(offset_of!(Context, stop))), meeting as i32)?;
            self.a.jb(leave)?;
            self.a.lea(rcx, r8 + steps_of(&sides) as i32)?;
            self.a.cmp(rcx, qword_ptr(at(offset_of!(Context, most))))?;
            self.a.ja(leave)?;
            self.a.set_label(&mut parted)?;
            self.parted.push((branch, parted));
            self.meet(branch, &sides, meeting)?;
        } else if self.partial {
            self.leave_behind(branch, leave, back)?;
        }
        self.a.set_label(&mut leave)?;
        self.a.mov(edx, eax)?;
        self.a.mov(ecx, branch)?;
        self.a.mov(eax, PARTED)?;
        self.a.jmp(self.done)
    }

    /// Those of `edx` stay behind where a branch is that those of `eax` take, to meet the others at a position; the others of
    /// `ebp` go on.
    fn stay_behind(&mut self, which: usize, meeting: u32) -> Done {
        self.a.mov(rdi, qword_ptr(at(offset_of!(Context, runner))))?;
        self.a.inc(qword_ptr(rdi + (offset_of!(Runner, ran) + offset_of!(Ran, parted))))?;
        // The branch is a step of those that take it.
        self.a.mov(ecx, ebp)?;
        self.a.xor(ecx, eax)?;
        self.a.popcnt(ecx, ecx)?;
        self.a.add(r10, rcx)?;
        self.stay(edx)?;
        self.a.or(dword_ptr(at(ASIDES + 4 * which)), edx)?;
        self.a.mov(dword_ptr(at(MEETINGS + 4 * which)), meeting)?;
        self.a.xor(ebp, edx)?;
        self.only_lanes()
    }

    /// Those that go the higher way at a branch stay behind; the others go on, if no lanes have stayed elsewhere.
    fn leave_behind(&mut self, branch: u32, leave: CodeLabel, back: Option<(Turn, Box<File>)>) -> Done {
        let (program, next) = (self.program, branch + 1);
        let target = self.target(branch).filter(|target| *target != next);
        let Some(target) = target else { return Ok(()) };
        let patience = match order::awaits_aside(program, branch as usize, target as usize) {
            true => offset_of!(Context, wary),
            false => offset_of!(Context, patience),
        };
        let (low, high) = (target.min(next), target.max(next));
        let (mut first, mut stays, mut stops, mut lasts) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label(), self.a.create_label());
        let field = |offset| dword_ptr(at(offset));
        let fields = |offset| qword_ptr(at(offset));
        self.a.cmp(field(ASIDES + 4 * FAR), 0)?;
        self.a.je(first)?;
        self.a.cmp(field(MEETINGS + 4 * FAR), high as i32)?;
        self.a.jne(leave)?;
        self.a.jmp(stays)?;
        self.a.set_label(&mut first)?;
        self.a.mov(fields(LEFT_AFTER + 8 * FAR), r8)?;
        for (from, to) in [(offset_of!(Context, reads), READS), (patience, PATIENCE)] {
            self.a.mov(rcx, fields(from))?;
            self.a.mov(fields(to), rcx)?;
        }
        self.a.set_label(&mut stays)?;
        self.a.mov(edx, eax)?;
        if low == target {
            self.a.xor(edx, ebp)?;
        }
        self.stay_behind(FAR, high)?;
        // Nobody passes them, nor lets them wait for too long.
        self.a.cmp(field(offset_of!(Context, stop)), high as i32)?;
        self.a.jbe(stops)?;
        self.a.mov(field(offset_of!(Context, stop)), high)?;
        self.a.set_label(&mut stops)?;
        self.a.mov(rcx, fields(LEFT_AFTER + 8 * FAR))?;
        self.a.add(rcx, fields(PATIENCE))?;
        self.a.jc(lasts)?;
        self.a.cmp(fields(offset_of!(Context, most)), rcx)?;
        self.a.jbe(lasts)?;
        self.a.mov(fields(offset_of!(Context, most)), rcx)?;
        self.a.set_label(&mut lasts)?;
        self.a.nop()?;
        self.lanes()?;
        self.position = branch;
        if let Some((turn, file)) = back {
            // What lies in registers is in memory as well, for those that stay behind.
            let full = self.moved_to(low);
            self.unless_block_fits(low, full)?;
            self.file = *file;
            self.file.held.iter_mut().flatten().for_each(|held| held.dirty = false);
            return self.next_turn(&turn);
        }
        self.go(low)?;
        if low == next && !self.leaves(next) {
            self.a.jmp(self.labels[next as usize])?;
        }
        Ok(())
    }

    /// What lanes do that part at a branch, which those of `eax` take, until they meet again.
    fn meet(&mut self, branch: u32, sides: &[Side], meeting: u32) -> Done {
        self.a.mov(qword_ptr(at(LEFT_AFTER + 8 * NEAR)), r8)?;
        self.a.mov(edx, eax)?;
        self.stay_behind(NEAR, self.target(branch).unwrap_or(meeting))?;
        for (at, side) in sides.iter().enumerate() {
            if let Some(before) = at.checked_sub(1).map(|before| &sides[before])
                && before.taken != side.taken
            {
                self.change_sides(before.stand)?;
            }
            self.side(side)?;
        }
        self.come_up(NEAR)?;
        self.a.or(ebp, dword_ptr(at(ASIDES + 4 * NEAR)))?;
        self.a.mov(dword_ptr(at(ASIDES + 4 * NEAR)), 0)?;
        self.only_lanes()?;
        (self.apart, self.file) = (false, self.empty());
        self.lanes()?;
        self.position = branch;
        let moved = self.moved_to(meeting);
        self.a.cmp(dword_ptr(at(offset_of!(Context, together))), 0)?;
        self.a.jne(moved)?;
        self.go(meeting)
    }

    /// What the lanes `ebp` do of those that have parted.
    fn side(&mut self, Side { steps, stand, .. }: &Side) -> Done {
        (self.apart, self.predicate) = (true, None);
        (self.start, self.file) = (steps.start, self.empty());
        self.shapes.clear();
        self.lanes()?;
        for position in steps.clone() {
            if let Kind::Branch(_) = self.program.steps[position as usize].kind {
                self.a.inc(r9)?;
            } else {
                self.step(position)?;
            }
        }
        self.set_flushing(self.flushing_between)?;
        self.flush([*stand; 2])?;
        self.count(steps.end)
    }

    /// Those that ran stay at a position, and those that stayed run.
    fn change_sides(&mut self, position: u32) -> Done {
        self.come_up(NEAR)?;
        self.stay(ebp)?;
        self.a.mov(ecx, dword_ptr(at(ASIDES + 4 * NEAR)))?;
        self.a.mov(dword_ptr(at(ASIDES + 4 * NEAR)), ebp)?;
        self.a.mov(dword_ptr(at(MEETINGS + 4 * NEAR)), position)?;
        self.a.mov(qword_ptr(at(LEFT_AFTER + 8 * NEAR)), r8)?;
        self.a.mov(ebp, ecx)?;
        self.only_lanes()
    }

    /// Further steps are none of the lanes that stay: those before are no longer counted for them, until they come up.
    fn stay(&mut self, lanes: AsmRegister32) -> Done {
        self.a.popcnt(r11d, lanes)?;
        self.a.imul_2(r11, r8)?;
        self.a.sub(r10, r11)
    }

    /// Those that have stayed sat out the steps since then.
    pub(super) fn come_up(&mut self, which: usize) -> Done {
        self.a.popcnt(r11d, dword_ptr(at(ASIDES + 4 * which)))?;
        self.a.imul_2(r11, r8)?;
        self.a.add(r10, r11)
    }

    /// The lanes `ebp` of the runner run from here on.
    fn only_lanes(&mut self) -> Done {
        self.a.mov(rdi, qword_ptr(at(offset_of!(Context, runner))))?;
        self.a.mov(dword_ptr(rdi + offset_of!(Runner, lanes)), ebp)?;
        self.a.mov(dword_ptr(at(offset_of!(Context, lanes))), ebp)?;
        self.a.popcnt(ecx, ebp)?;
        self.a.mov(qword_ptr(at(offset_of!(Context, width))), rcx)
    }
}
