//! The memory of a load or store: whether it may be used, and whether accesses are inside.

use super::*;
use crate::context::{SHAPES, Window};
use crate::program::{Access, Space};
use semantics::lanes::WARP_SIZE;

/// The window of an access: its base, size, words.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub base: AsmMemoryOperand,
    pub size: AsmMemoryOperand,
    pub words: AsmMemoryOperand,
}

/// What code has found out of the addresses in a register, which are looked at once in a block.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    address: Slot,
    rows: u32,
    /// The bytes of a lane that it is about.
    stride: u32,
    /// Where the context has it.
    place: usize,
}

/// How the addresses of a half are known to follow each other: from element to element, or all one.
const CONSECUTIVE: u32 = 1;
const EQUAL: u32 = 2;

/// Whether an access is the first one of a block with a register, whose shape has this place then.
#[derive(Clone, Copy)]
pub(super) enum Look {
    First(Option<usize>),
    Known(usize),
}

/// Turns of a loop that memory is asked for ahead; bytes of a line of the host's cache, and how many of them.
const TURNS: u32 = 4;
const LINE: u32 = 64;
const MOST_LINES: u32 = 4;

impl Emitter<'_> {
    /// What is known of the addresses of an access.
    pub(super) fn look(&mut self, access: &Access, stride: u32, guarded: bool) -> Done<Look> {
        if self.masked() {
            return Ok(Look::First(None));
        }
        let known = |shape: &&Shape| shape.address == access.address && shape.stride == stride;
        if let Some(shape) = self.shapes.iter().find(known) {
            return Ok(Look::Known(shape.place));
        }
        // Some lanes may tell nothing.
        if guarded {
            return Ok(Look::First(None));
        }
        let free = |place: &usize| self.shapes.iter().all(|shape| shape.place != *place);
        let place = (0..SHAPES).find(free);
        if let Some(place) = place {
            let (address, rows) = (access.address, access.address_width.rows());
            self.shapes.push(Shape { address, rows, stride, place });
            self.a.mov(dword_ptr(at(SHAPE + 4 * place)), 0)?;
        }
        Ok(Look::First(place))
    }

    /// A register has a new value.
    pub(super) fn forget_shape(&mut self, slot: Slot, rows: u32) {
        self.shapes.retain(|shape| {
            let (first, other) = (shape.address.row(), slot.row());
            !slot.is_frame()
                || !shape.address.is_frame()
                || first + shape.rows <= other
                || other + rows <= first
        });
    }

    /// The same as looking at the addresses of both halves, of which the context knows: the first ones to `rax` and `rcx`.
    pub(super) fn recall(&mut self, place: usize, step: u32, other: CodeLabel) -> Done {
        let shape = if step > 0 { CONSECUTIVE } else { EQUAL };
        self.a.mov(rax, qword_ptr(at(FIRSTS + 16 * place)))?;
        self.a.mov(rcx, qword_ptr(at(FIRSTS + 16 * place + 8)))?;
        self.a.cmp(dword_ptr(at(SHAPE + 4 * place)), shape as i32)?;
        self.a.jne(other)
    }

    /// Whether code asks for the memory of turns to come: of loads that are looked at in each turn of a loop.
    fn prefetches(&self, access: &Access, look: Look) -> Option<usize> {
        match look {
            Look::First(Some(place)) if self.repeated && !access.store && access.space == Space::Hinted => {
                Some(place)
            }
            _ => None,
        }
    }

    /// How far the address in `rax` is from the last turn's to `r11`.
    pub(super) fn step_from_last_turn(&mut self, access: &Access, look: Look) -> Done {
        let Some(place) = self.prefetches(access, look) else { return Ok(()) };
        self.a.mov(r11, rax)?;
        self.a.sub(r11, qword_ptr(at(FIRSTS + 16 * place)))
    }

    /// Asks for memory that is loaded in a few turns if addresses go on like this, from the place `rax` behind `rdi` of a window.
    pub(super) fn prefetch(&mut self, access: &Access, place: Place, step: u32, look: Look) -> Done {
        if self.prefetches(access, look).is_none() {
            return Ok(());
        }
        let mut beyond = self.a.create_label();
        // To look beyond the end of memory costs as much as a turn.
        self.a.lea(rax, rax + r11 * TURNS)?;
        self.a.cmp(rax, place.size)?;
        self.a.jae(beyond)?;
        for line in 0..(WARP_SIZE as u32 * step / LINE).min(MOST_LINES) {
            self.a.prefetcht0(byte_ptr(rdi + rax + LINE * line))?;
        }
        self.a.set_label(&mut beyond)?;
        self.a.nop()
    }

    /// Keeps what was found out of addresses.
    pub(super) fn keep(&mut self, place: Option<usize>, step: u32) -> Done {
        let Some(place) = place else { return Ok(()) };
        let shape = if step > 0 { CONSECUTIVE } else { EQUAL };
        self.a.mov(qword_ptr(at(FIRSTS + 16 * place)), rax)?;
        self.a.mov(qword_ptr(at(FIRSTS + 16 * place + 8)), rcx)?;
        self.a.mov(dword_ptr(at(SHAPE + 4 * place)), shape as i32)
    }

    /// The window of an access; to the host where it holds no longer.
    pub(super) fn window(&mut self, access: &Access, host: CodeLabel) -> Done<Place> {
        let window = match access.space {
            Space::Shared => at(offset_of!(Context, shared)),
            Space::Local | Space::Frame => {
                self.a.mov(rsi, qword_ptr(at(offset_of!(Context, runner))))?;
                rsi + offset_of!(Runner, local) as i32
            }
            Space::Hinted => {
                self.a.mov(rdi, qword_ptr(at(offset_of!(Context, generation))))?;
                self.a.mov(rsi, qword_ptr(at(offset_of!(Context, fresh))))?;
                self.a.cmp(qword_ptr(rdi), rsi)?;
                self.a.jne(host)?;
                self.a.mov(rsi, qword_ptr(at(offset_of!(Context, windows))))?;
                let window = rsi + size_of::<Window>() as i32 * self.position as i32;
                if access.store {
                    self.a.cmp(byte_ptr(window + offset_of!(Window, writable) as i32), 0)?;
                    self.a.je(host)?;
                }
                window
            }
        };
        Ok(Place {
            base: qword_ptr(window + offset_of!(Window, base) as i32),
            size: qword_ptr(window + offset_of!(Window, size) as i32),
            words: qword_ptr(window + offset_of!(Window, words) as i32),
        })
    }

    /// A half of which no lane runs is taken for the other one, in `rax` and `rcx`.
    pub(super) fn same_half(&mut self) -> Done {
        self.a.test(ebp, 0xffff)?;
        self.a.cmove(rax, rcx)?;
        self.a.test(ebp, 0xffff_0000_u32)?;
        self.a.cmove(rcx, rax)
    }

    /// From addresses in `rax` and `rcx` to places in `rax` and `rcx` behind `rdi`, of so many bytes; to the host if
    /// one is not inside.
    pub(super) fn judge(&mut self, access: &Access, place: Place, span: u32, host: CodeLabel) -> Done {
        self.judge_each(access, place, span, &[(rax, eax), (rcx, ecx)], host)
    }

    /// The same of one address in `rax`, of all elements of a lane.
    pub(super) fn judge_one(&mut self, access: &Access, place: Place, host: CodeLabel) -> Done {
        self.judge_each(access, place, access.stride(), &[(rax, eax)], host)
    }

    fn judge_each(
        &mut self,
        access: &Access,
        place: Place,
        span: u32,
        addresses: &[(AsmRegister64, AsmRegister32)],
        host: CodeLabel,
    ) -> Done {
        let size = access.stride();
        self.a.mov(rdx, place.size)?;
        self.a.sub(rdx, span as i32)?;
        self.a.jb(host)?;
        self.a.mov(rdi, place.words)?;
        for &(wide, narrow) in addresses {
            if access.address_width == Width::Word {
                self.a.add(narrow, access.offset as i32)?;
            } else if access.offset != 0 {
                self.a.add(wide, access.offset as i32)?;
            }
            self.a.test(narrow, size as i32 - 1)?;
            self.a.jne(host)?;
            self.a.sub(wide, place.base)?;
            self.a.cmp(wide, rdx)?;
            self.a.ja(host)?;
        }
        Ok(())
    }
}

const FIRSTS: usize = offset_of!(Context, tables) + offset_of!(Tables, firsts);
const SHAPE: usize = offset_of!(Context, tables) + offset_of!(Tables, shapes);
