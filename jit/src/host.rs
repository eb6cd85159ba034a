//! Executable memory: the only place that calls host code made at run time.

use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

use crate::context::{Context, Exit};
use crate::emit;
use crate::program::Program;

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    memory: Arc<Mmap>,
    /// By position: where its code begins, for whole warps and for any lanes; 0 where none does.
    entries: Vec<[u32; 2]>,
    /// By position, for a warp alone and for one of several: the first one from there on at which code begins.
    next: Vec<[u32; 2]>,
    /// By position: steps from there to the end of the block.
    blocks: Vec<u32>,
}

impl Compiled {
    /// Compiles a program; nothing if the host cannot run it, or nothing of it is compiled.
    pub fn new(program: &Program) -> Option<Compiled> {
        let fits = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("popcnt");
        if !fits {
            return None;
        }
        let code = emit::emit(program)?;
        let mut memory = MmapMut::map_anon(code.bytes.len()).ok()?;
        memory.copy_from_slice(&code.bytes);
        let memory = Arc::new(memory.make_exec().ok()?);
        let mut first = [u32::MAX; 2];
        let mut next = vec![first; code.worth.len()];
        for (at, worth) in code.worth.iter().enumerate().rev() {
            for (first, worth) in first.iter_mut().zip(worth) {
                *first = if *worth { at as u32 } else { *first };
            }
            next[at] = first;
        }
        Some(Compiled { memory, entries: code.entries, next, blocks: code.blocks })
    }

    /// Whether code begins at a position, for a warp alone or one of several that run together, which can end before it
    /// passes `stop` and after at most so many steps.
    #[inline(always)]
    pub fn begins(&self, position: u32, stop: u32, most: u64, together: bool) -> bool {
        self.next(position, together) == position && {
            let steps = self.blocks[position as usize];
            u64::from(steps) <= most && steps <= stop.saturating_sub(position)
        }
    }

    /// The first position from `position` on at which code begins; `u32::MAX` if there is none.
    #[inline(always)]
    pub fn next(&self, position: u32, together: bool) -> u32 {
        self.next.get(position as usize).map_or(u32::MAX, |next| next[usize::from(together)])
    }

    /// Bytes of code.
    pub fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// Runs from a position on at which code begins, and before which the context is to stop. What came of it stands in
    /// the context.
    ///
    /// # Safety
    /// The context's rows and predicates must be valid for all slots of the program, rows of the frame for writes; its
    /// windows for all positions, and each for its bytes as long as the generation is fresh; `call` must be sound for `host`.
    #[inline(always)]
    pub unsafe fn run(&self, context: &mut Context, position: u32) -> Exit {
        let entry = self.entries[position as usize][usize::from(context.lanes != u32::MAX)];
        context.width = u64::from(context.lanes.count_ones());
        type Start = unsafe extern "sysv64" fn(*mut Context, *const u8) -> u32;
        // SAFETY: the memory holds what `emit` made: at its start a function of this type, at `entry` code for it to jump to.
        let end = unsafe {
            let start = std::mem::transmute::<*const u8, Start>(self.memory.as_ptr());
            start(context, self.memory.as_ptr().add(entry as usize))
        };
        match end {
            0 => Exit::Moved,
            1 => Exit::Parted,
            _ => Exit::Called,
        }
    }
}
