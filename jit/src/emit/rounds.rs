//! Between stretches: whose turn it is, and which round follows. What code decides here without going back is what
//! [`crate::team`] would decide.

use super::parting::{ASIDES, BEHIND, FAR, NEAR, READS};
use super::*;
use crate::context::{APART, Behind, Round, SHARED, WAITING};

impl Emitter<'_> {
    /// The turn of the runner `esi`, if it is in the round; else another round may follow.
    pub(super) fn begin(&mut self) -> Done {
        let (mut out, mut turn, mut back) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label());
        self.a.set_label(&mut self.begin)?;
        self.a.cmp(esi, dword_ptr(at(offset_of!(Context, last))))?;
        self.a.jae(out)?;
        self.a.set_label(&mut turn)?;
        self.take_turn()?;
        self.a.xor(eax, eax)?;
        self.a.cmp(ebp, -1)?;
        self.a.setne(al)?;
        self.a.jmp(qword_ptr(rbx + rax * 8 + offset_of!(Context, entries)))?;
        self.a.set_label(&mut out)?;
        self.a.nop()?;
        self.next_round(back)?;
        self.a.jmp(turn)?;
        self.a.set_label(&mut back)?;
        self.a.nop()?;
        self.control(self.flushing_between, false)?;
        self.a.vzeroupper()?;
        self.a.add(rsp, 8)?;
        for register in [r15, r14, r13, r12, rbx, rbp] {
            self.a.pop(register)?;
        }
        self.a.ret()
    }

    /// The runner `esi` has its turn.
    fn take_turn(&mut self) -> Done {
        self.a.mov(rdi, qword_ptr(rbx + rsi * 8 + offset_of!(Context, team)))?;
        self.a.inc(esi)?;
        self.a.mov(dword_ptr(at(offset_of!(Context, turn))), esi)?;
        self.a.mov(qword_ptr(at(offset_of!(Context, runner))), rdi)?;
        self.a.mov(r12, qword_ptr(rdi + offset_of!(Runner, rows)))?;
        self.a.mov(r13, qword_ptr(rdi + (offset_of!(Runner, rows) + 8)))?;
        self.a.mov(r15, qword_ptr(rdi + offset_of!(Runner, predicates)))?;
        self.a.mov(ebp, dword_ptr(rdi + offset_of!(Runner, lanes)))?;
        for register in [r8d, r9d, r10d] {
            self.a.xor(register, register)?;
        }
        Ok(())
    }

    /// Those whose lanes parted go on until they have met again, one after the other, in the order in which they came to do
    /// so: that of the team, if all made as many steps.
    fn parted_turns(&mut self, back: CodeLabel, moved: CodeLabel) -> Done {
        let (mut another, mut next, mut same, mut run) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label(), self.a.create_label());
        let field = |offset| dword_ptr(at(offset));
        let (parted, went) = (eax, r8);
        self.a.mov(parted, field(offset_of!(Context, parted)))?;
        self.a.mov(ecx, field(offset_of!(Context, ends)))?;
        self.a.test(parted, parted)?;
        self.a.jne(run)?;
        self.a.cmp(ecx, MOVED as i32)?;
        self.a.je(moved)?;
        self.a.cmp(ecx, PARTED as i32)?;
        self.a.jne(back)?;
        self.a.mov(field(offset_of!(Context, ends)), MOVED as i32)?;
        self.a.mov(esi, field(offset_of!(Context, begin)))?;
        self.a.set_label(&mut another)?;
        self.a.mov(rdi, qword_ptr(rbx + rsi * 8 + offset_of!(Context, team)))?;
        self.a.cmp(dword_ptr(rdi + offset_of!(Runner, end)), PARTED as i32)?;
        self.a.jne(next)?;
        self.a.test(parted, parted)?;
        self.a.cmove(went, qword_ptr(rdi + offset_of!(Runner, went)))?;
        self.a.bts(parted, esi)?;
        self.a.cmp(went, qword_ptr(rdi + offset_of!(Runner, went)))?;
        self.a.je(same)?;
        self.a.mov(field(offset_of!(Context, ends)), PARTED as i32)?;
        self.a.set_label(&mut same)?;
        self.a.mov(ecx, dword_ptr(rbx + rsi * 4 + offset_of!(Context, positions)))?;
        self.round()?;
        self.a.cmp(qword_ptr(rcx + offset_of!(Round, parted)), 0)?;
        self.a.jne(next)?;
        self.a.mov(field(offset_of!(Context, ends)), PARTED as i32)?;
        self.a.set_label(&mut next)?;
        self.a.inc(esi)?;
        self.a.cmp(esi, field(offset_of!(Context, end)))?;
        self.a.jb(another)?;
        self.a.mov(ecx, field(offset_of!(Context, ends)))?;
        self.a.set_label(&mut run)?;
        // The host has more to do first, or all of it.
        self.a.cmp(ecx, MOVED as i32)?;
        self.a.jne(back)?;
        self.a.bsf(esi, parted)?;
        self.a.btr(parted, esi)?;
        self.a.mov(field(offset_of!(Context, parted)), parted)?;
        self.take_turn()?;
        self.a.mov(field(offset_of!(Context, last)), esi)?;
        self.a.mov(ecx, dword_ptr(rbx + rsi * 4 + (offset_of!(Context, positions) - 4)))?;
        self.round()?;
        self.a.mov(eax, dword_ptr(rdi + offset_of!(Runner, taken)))?;
        self.a.jmp(qword_ptr(rcx + offset_of!(Round, parted)))
    }

    /// The round of the position `ecx` to `rcx`.
    fn round(&mut self) -> Done {
        self.a.imul_3(rcx, rcx, size_of::<Round>() as i32)?;
        self.a.add(rcx, qword_ptr(at(offset_of!(Context, rounds))))
    }

    /// Goes on to the next round, with the runner `esi`, if all of the last one moved to one place, from where they go on
    /// by themselves, or together with all others who stand there.
    fn next_round(&mut self, back: CodeLabel) -> Done {
        let (first, last, together) = (esi, r11d, ebp);
        let (place, stop, round) = (ecx, edx, rdi);
        let (left, part, most) = (rax, r10, r8);
        let field = |offset| dword_ptr(at(offset));
        let fields = |offset| qword_ptr(at(offset));
        self.a.cmp(fields(offset_of!(Context, rounds)), 0)?;
        self.a.je(back)?;
        let mut moved = self.a.create_label();
        self.parted_turns(back, moved)?;
        self.a.set_label(&mut moved)?;
        self.a.nop()?;
        self.a.mov(r12, fields(offset_of!(Context, total)))?;
        self.a.test(r12, r12)?;
        self.a.je(back)?;
        // Where all stand: not at an exit, nor waiting.
        self.a.mov(first, field(offset_of!(Context, begin)))?;
        self.a.mov(last, field(offset_of!(Context, end)))?;
        self.a.mov(place, dword_ptr(rbx + rsi * 4 + offset_of!(Context, positions)))?;
        self.a.cmp(place, WAITING)?;
        self.a.jae(back)?;
        let (mut other, mut all) = (self.a.create_label(), self.a.create_label());
        self.a.mov(r9d, first)?;
        self.a.set_label(&mut other)?;
        self.a.inc(r9d)?;
        self.a.cmp(r9d, last)?;
        self.a.jae(all)?;
        self.a.cmp(dword_ptr(rbx + r9 * 4 + offset_of!(Context, positions)), place)?;
        self.a.je(other)?;
        self.a.jmp(back)?;
        self.a.set_label(&mut all)?;
        self.a.mov(left, fields(offset_of!(Context, left)))?;
        self.a.sub(left, r12)?;
        self.a.imul_3(round, rcx, size_of::<Round>() as i32)?;
        self.a.add(round, fields(offset_of!(Context, rounds)))?;
        self.a.mov(stop, field(offset_of!(Context, stop)))?;
        self.a.mov(part, fields(offset_of!(Context, part)))?;
        self.a.mov(together, field(offset_of!(Context, together)))?;
        let mut by_themselves = self.a.create_label();
        self.a.cmp(place, stop)?;
        self.a.ja(back)?;
        self.a.jb(by_themselves)?;
        self.a.mov(part, fields(offset_of!(Context, joined_part)))?;
        self.a.test(part, part)?;
        self.a.je(back)?;
        self.a.xor(first, first)?;
        self.a.mov(last, field(offset_of!(Context, members)))?;
        self.a.mov(stop, -1)?;
        self.a.mov(together, 1)?;
        self.a.set_label(&mut by_themselves)?;
        // Is there code that can end before others stand?
        self.a.mov(r13, qword_ptr(round + offset_of!(Round, entry)))?;
        self.a.test(r13, r13)?;
        self.a.je(back)?;
        self.a.mov(r9d, stop)?;
        self.a.sub(r9d, place)?;
        self.a.cmp(r9d, dword_ptr(round + offset_of!(Round, reach)))?;
        self.a.jb(back)?;
        // Only all pass a barrier, which is a step of each.
        let mut passed = self.a.create_label();
        self.a.mov(r15, qword_ptr(round + offset_of!(Round, barriers)))?;
        self.a.test(r15, r15)?;
        self.a.je(passed)?;
        self.a.mov(r9d, last)?;
        self.a.sub(r9d, first)?;
        self.a.cmp(r9d, field(offset_of!(Context, passing)))?;
        self.a.jne(back)?;
        self.a.sub(left, r9)?;
        self.a.set_label(&mut passed)?;
        // What each gets of the steps that are left: see `share`.
        self.a.test(left, left)?;
        self.a.jle(back)?;
        self.a.mov(r8d, SHARED as i32)?;
        self.a.cmp(left, most)?;
        self.a.cmovb(most, left)?;
        self.a.imul_2(most, part)?;
        self.a.shr(most, 32)?;
        self.a.mov(r9d, dword_ptr(round + offset_of!(Round, steps)))?;
        self.a.cmp(most, r9)?;
        self.a.jb(back)?;
        self.a.mov(fields(offset_of!(Context, most)), most)?;
        self.a.mov(fields(offset_of!(Context, left)), left)?;
        self.a.mov(fields(offset_of!(Context, part)), part)?;
        self.a.mov(fields(offset_of!(Context, entries)), r13)?;
        self.a.mov(field(offset_of!(Context, stop)), stop)?;
        self.a.mov(field(offset_of!(Context, begin)), first)?;
        self.a.mov(field(offset_of!(Context, last)), last)?;
        self.a.mov(field(offset_of!(Context, end)), last)?;
        self.a.mov(field(offset_of!(Context, together)), together)?;
        self.a.add(fields(offset_of!(Context, passed)), r15)?;
        self.a.mov(fields(offset_of!(Context, total)), 0)
    }

    /// The end of a stretch, at the position `ecx`: `eax` says why, `edx` who takes the branch there.
    pub(super) fn epilogue(&mut self) -> Done {
        let moved: Vec<_> = self.moved.iter().map(|(&position, &label)| (position, label)).collect();
        let mut at_position = self.a.create_label();
        for (position, mut label) in moved {
            self.a.set_label(&mut label)?;
            self.a.mov(ecx, self.marked(position))?;
            self.a.jmp(at_position)?;
        }
        self.a.set_label(&mut at_position)?;
        self.a.mov(eax, MOVED)?;
        self.a.set_label(&mut self.done)?;
        self.a.mov(rdi, qword_ptr(at(offset_of!(Context, runner))))?;
        self.a.mov(esi, dword_ptr(at(offset_of!(Context, turn))))?;
        let (mut whole, mut apart) = (self.a.create_label(), self.a.create_label());
        self.a.mov(r11d, dword_ptr(at(ASIDES + 4 * FAR)))?;
        self.a.or(r11d, dword_ptr(at(ASIDES + 4 * NEAR)))?;
        self.a.jne(apart)?;
        self.a.set_label(&mut whole)?;
        self.a.mov(dword_ptr(rbx + rsi * 4 + (offset_of!(Context, positions) - 4)), ecx)?;
        self.a.mov(dword_ptr(rdi + offset_of!(Runner, end)), eax)?;
        self.a.mov(dword_ptr(rdi + offset_of!(Runner, taken)), edx)?;
        self.a.or(dword_ptr(at(offset_of!(Context, ends))), eax)?;
        let ran = |field: usize| qword_ptr(rdi + (offset_of!(Runner, ran) + field));
        self.a.mov(qword_ptr(rdi + offset_of!(Runner, went)), r8)?;
        self.a.add(ran(offset_of!(Ran, steps)), r8)?;
        self.a.add(ran(offset_of!(Ran, branches)), r9)?;
        self.a.add(qword_ptr(at(offset_of!(Context, total))), r8)?;
        self.a.imul_2(r8, qword_ptr(rdi + offset_of!(Runner, width)))?;
        self.a.sub(r8, r10)?;
        self.a.add(ran(offset_of!(Ran, threads)), r8)?;
        self.begin()?;
        self.a.set_label(&mut apart)?;
        self.end_apart()?;
        self.a.jmp(whole)
    }

    /// The stretch ends before all lanes have met that parted in it.
    fn end_apart(&mut self) -> Done {
        for part in (0..size_of::<Behind>()).step_by(8) {
            self.a.mov(r11, qword_ptr(at(BEHIND + part)))?;
            self.a.mov(qword_ptr(rdi + (offset_of!(Runner, behind) + part)), r11)?;
        }
        self.a.mov(r11, qword_ptr(at(offset_of!(Context, reads))))?;
        self.a.sub(r11, qword_ptr(at(READS)))?;
        self.a.mov(qword_ptr(rdi + offset_of!(Runner, reads)), r11)?;
        for which in [FAR, NEAR] {
            self.come_up(which)?;
        }
        self.a.mov(qword_ptr(at(ASIDES)), 0)?;
        self.a.or(eax, APART as i32)
    }
}
