//! Arrivals at barriers that wait for a count of threads.

use super::*;
use crate::context::{BARRIERS, Counted, WAITING};
use crate::program::Arrive;

/// Fields of the barrier at `rdx`.
const EXPECTED: usize = offset_of!(Counted, expected);
const COME: usize = offset_of!(Counted, come);
const ARRIVED: usize = offset_of!(Counted, arrived);
const WAITS: usize = offset_of!(Counted, waiting);

impl Emitter<'_> {
    /// A whole warp arrives. If it waits, its stretch ends, and if the barrier is complete, where others go on; what is not common
    /// is the host's, before it.
    pub(super) fn arrive(&mut self, arrive: &Arrive) -> Done {
        let (position, start, next) = (self.position, self.start, self.position + 1);
        self.set_flushing(self.flushing_between)?;
        self.flush([position, next])?;
        if self.masked() {
            self.count(position)?;
            let moved = self.moved_to(position);
            return self.a.jmp(moved);
        }
        let (leave, complete) = (self.a.create_label(), self.a.create_label());
        let (id, count, member) = (eax, ecx, esi);
        self.first_word(arrive.id, id)?;
        self.a.cmp(id, BARRIERS as i32)?;
        self.a.jae(leave)?;
        self.first_word(arrive.count, count)?;
        self.a.test(count, count)?;
        self.a.je(leave)?;
        self.a.test(count, WARP_SIZE as i32 - 1)?;
        self.a.jne(leave)?;
        self.a.cmp(count, dword_ptr(at(offset_of!(Context, most_counted))))?;
        self.a.ja(leave)?;
        self.a.imul_3(eax, eax, size_of::<Counted>() as i32)?;
        self.a.lea(rdx, rbx + rax + offset_of!(Context, counted))?;
        self.a.mov(member, dword_ptr(at(offset_of!(Context, turn))))?;
        self.a.dec(member)?;
        // The first one says for how many it waits.
        self.a.mov(edi, dword_ptr(rdx + EXPECTED))?;
        self.a.test(edi, edi)?;
        self.a.cmove(edi, count)?;
        self.a.cmp(edi, count)?;
        self.a.jne(leave)?;
        self.a.mov(eax, dword_ptr(rdx + ARRIVED))?;
        self.a.bts(eax, member)?;
        self.a.jc(leave)?;
        self.a.mov(dword_ptr(rdx + ARRIVED), eax)?;
        self.a.mov(dword_ptr(rdx + EXPECTED), count)?;
        self.a.mov(edi, dword_ptr(rdx + COME))?;
        self.a.add(edi, WARP_SIZE as i32)?;
        self.a.cmp(edi, count)?;
        self.a.jae(complete)?;
        self.a.mov(dword_ptr(rdx + COME), edi)?;
        self.cold.push(Cold::Arrived { leave, complete, position, start });
        self.count(next)?;
        if !arrive.waits {
            return self.go(next);
        }
        self.a.mov(eax, dword_ptr(rdx + WAITS))?;
        self.a.bts(eax, member)?;
        self.a.mov(dword_ptr(rdx + WAITS), eax)?;
        self.a.mov(ecx, self.marked(next) | WAITING)?;
        self.a.mov(eax, MOVED)?;
        self.a.jmp(self.done)
    }

    /// All whom the barrier at `rdx` waits for have come: those that wait may go on, and it waits for others.
    pub(super) fn complete(&mut self) -> Done {
        let (mut next, mut over) = (self.a.create_label(), self.a.create_label());
        let (waiting, member) = (edi, esi);
        self.a.mov(waiting, dword_ptr(rdx + WAITS))?;
        self.a.set_label(&mut next)?;
        self.a.test(waiting, waiting)?;
        self.a.je(over)?;
        self.a.bsf(member, waiting)?;
        self.a.btr(waiting, member)?;
        let position = dword_ptr(rbx + rsi * 4 + offset_of!(Context, positions));
        self.a.and(position, !WAITING as i32)?;
        self.a.jmp(next)?;
        self.a.set_label(&mut over)?;
        self.a.xor(eax, eax)?;
        for field in (0..size_of::<Counted>()).step_by(8) {
            self.a.mov(qword_ptr(rdx + field), rax)?;
        }
        // They may stand lower.
        self.a.mov(qword_ptr(at(offset_of!(Context, rounds))), rax)?;
        self.a.inc(qword_ptr(at(offset_of!(Context, completed))))
    }

    /// What the first lane has.
    fn first_word(&mut self, slot: Slot, to: AsmRegister32) -> Done {
        if let Some(value) = self.known(slot) {
            return self.a.mov(to, value as u32);
        }
        let line = self.line(slot, 0);
        match self.file.peek(line) {
            Some(register) => self.a.vmovd(to, X[register]),
            None => self.a.mov(to, dword_ptr(self.place(line))),
        }
    }
}
