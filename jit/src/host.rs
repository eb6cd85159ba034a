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
    /// By position: the first one from there on that has code.
    next: Vec<u32>,
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
        let mut next = vec![u32::MAX; code.entries.len()];
        let mut first = u32::MAX;
        for (at, entry) in code.entries.iter().enumerate().rev() {
            first = if entry[0] != 0 { at as u32 } else { first };
            next[at] = first;
        }
        Some(Compiled { memory, entries: code.entries, next, blocks: code.blocks })
    }

    /// Whether code begins at a position that runs for at most so many steps before it can end.
    #[inline(always)]
    pub fn begins(&self, position: u32, most: u64) -> bool {
        let entered = self.entries.get(position as usize).is_some_and(|entry| entry[0] != 0);
        entered && u64::from(self.blocks[position as usize]) <= most
    }

    /// The first position from `position` on at which code begins; `u32::MAX` if there is none.
    #[inline(always)]
    pub fn next(&self, position: u32) -> u32 {
        self.next.get(position as usize).copied().unwrap_or(u32::MAX)
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
