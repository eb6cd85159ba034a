//! What launches leave for later ones, so that a small launch costs little: blocks with their memory, and for each
//! kernel what it accessed and how its warps begin. Nothing of it decides what a launch does.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::cta::{Cta, warp_rows};
use crate::code::Code;
use crate::launch::Dim3;
use crate::memory::{Hint, Snapshot};
use jit::Compiled;
use semantics::lanes::Row;

/// Blocks of finished launches.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Mutex<Empty>);

/// Blocks, each with the bytes that its buffers take, and their sum.
#[derive(Debug, Default)]
struct Empty {
    blocks: Vec<(u64, Box<Cta>)>,
    bytes: u64,
}

/// Bytes of all that are kept: many small ones, as blocks that wait for each other are there at once.
const MOST: u64 = 16 << 20;
/// Bytes of the largest that is.
const LARGEST: u64 = 1 << 20;
/// Bytes of one beside its buffers.
const SMALL: u64 = 4 << 10;

impl Blocks {
    pub(crate) fn take(&self) -> Option<Box<Cta>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, cta) = kept.blocks.pop()?;
        kept.bytes -= bytes;
        Some(cta)
    }

    /// Keeps a finished block's buffers, empty: what a kernel leaves in registers is no other's to see.
    pub(crate) fn give(&self, mut cta: Box<Cta>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = cta.held() + SMALL;
        if bytes <= LARGEST && kept.bytes + bytes <= MOST {
            cta.empty();
            kept.bytes += bytes;
            kept.blocks.push((bytes, cta));
        }
    }
}

/// A decoded kernel, and what its launches leave.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub code: Arc<Code>,
    /// See [`warp_rows`], of the last shape of blocks.
    rows: Mutex<Option<(Dim3, Arc<[Row]>)>>,
    accessed: Mutex<Option<Accessed>>,
    /// Host code for each of its functions, once it is compiled; nothing if that cannot be.
    pub compiled: Box<[OnceLock<Option<CompiledFunction>>]>,
    /// Warp instructions of its launches so far.
    pub heat: AtomicU64,
}

/// Code of a kernel, or of a function that it calls.
#[derive(Debug)]
pub(crate) struct CompiledFunction {
    pub code: Compiled,
    /// The position of its first instruction, from which code counts.
    pub start: u32,
    /// The part of its frame's local memory that code has a window of, if it has variables.
    pub local: [u32; 2],
    /// Whether warps come to barriers that wait for a count of threads.
    pub counts: bool,
}

/// By instruction, the allocation that it accessed last, if that may be a [`Hint`]; in the table of a generation.
#[derive(Debug)]
struct Accessed {
    generation: u64,
    indices: Vec<u32>,
}

/// No allocation.
const NONE: u32 = u32::MAX;

impl Kernel {
    pub(crate) fn new(code: Code) -> Kernel {
        Kernel {
            compiled: code.functions.iter().map(|_| OnceLock::new()).collect(),
            code: Arc::new(code),
            rows: Mutex::default(),
            accessed: Mutex::default(),
            heat: AtomicU64::new(0),
        }
    }

    /// Special registers that depend on the warp's place in its block only.
    pub(crate) fn warp_rows(&self, block: Dim3) -> Arc<[Row]> {
        let mut last = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((shape, rows)) if *shape == block => rows.clone(),
            _ => {
                let rows: Arc<[Row]> = warp_rows(&self.code, block).into();
                *last = Some((block, rows.clone()));
                rows
            }
        }
    }

    /// Where instructions will access memory, as far as they did and it is there still: indices in the table of a
    /// snapshot, and hints.
    pub(crate) fn accessed(&self, snapshot: &Snapshot) -> (Vec<u32>, Vec<Hint>) {
        let mut hints = vec![Hint::NONE; self.code.insts.len()];
        let accessed = self.accessed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Accessed { generation, mut indices }) = accessed else {
            return (vec![0; hints.len()], hints);
        };
        let same = generation == snapshot.generation;
        for (hint, index) in hints.iter_mut().zip(&mut indices) {
            match snapshot.table.list.get(*index as usize).filter(|_| same) {
                Some(allocation) => *hint = Hint::of(allocation),
                None => *index = 0,
            }
        }
        (indices, hints)
    }

    /// Keeps them for the next launch.
    pub(crate) fn keep(&self, snapshot: &Snapshot, mut indices: Vec<u32>, hints: &[Hint]) {
        for (index, hint) in indices.iter_mut().zip(hints) {
            *index = if hint.size == 0 { NONE } else { *index };
        }
        let accessed = Accessed { generation: snapshot.generation, indices };
        *self.accessed.lock().unwrap_or_else(PoisonError::into_inner) = Some(accessed);
    }
}
