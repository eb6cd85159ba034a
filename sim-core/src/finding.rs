//! Findings: what a checker or a fault has to say, with every place that explains it.

use ptx_frontend::{SourceId, Span};
use std::sync::Arc;

use isa::Dim3;

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident $name:literal,)*) => {
        /// What kind of finding; the names are stable in reports.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum FindingKind {
            $($(#[$about])* $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &'static [FindingKind] = &[$(Self::$kind),*];

            /// The stable name used in reports and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// Access outside every allocation or variable.
    OutOfBounds "out-of-bounds",
    /// Access at an address that is not a multiple of its size.
    Misaligned "misaligned",
    /// Access near address zero.
    NullPointer "null-pointer",
    /// Access to memory that was freed.
    UseAfterFree "use-after-free",
    /// Access to memory of another device that this one may not access.
    PeerAccess "peer-access",
    /// `free` of memory that was freed before.
    DoubleFree "double-free",
    /// `free` of an address that no `malloc` returned.
    InvalidFree "invalid-free",
    /// Write to `.param` or memory that a device may only read.
    WriteToReadOnly "write-to-read-only",
    /// An address in a space that the instruction cannot reach.
    WrongSpace "wrong-space",
    /// A barrier that not all threads can reach, or with counts that cannot be met.
    BarrierMismatch "barrier-mismatch",
    /// A warp-level operation whose mask leaves out a lane that executes it, or names lanes that never come.
    WarpSyncMismatch "warp-sync-mismatch",
    /// Nothing can progress.
    Deadlock "deadlock",
    /// The instruction or time limit was reached.
    LimitReached "limit-reached",
    /// `trap`.
    Trap "trap",
    /// Shared memory of a block that the cluster does not have, or that has exited.
    ClusterAddress "cluster-address",
    /// An operation on an mbarrier object that is none, or that it cannot take.
    WrongMbarrier "wrong-mbarrier",
    /// Operands that a device's unit for the instruction does not take.
    IllegalInstruction "illegal-instruction",
    /// `brkpt` with no debugger attached.
    Breakpoint "breakpoint",
    /// `__assertfail`.
    AssertionFailed "assertion-failed",
    /// Local memory or call depth exhausted.
    StackOverflow "stack-overflow",
    /// An indirect call or branch to nowhere.
    InvalidTarget "invalid-target",
    /// An instruction that is not supported by the simulator.
    Unsupported "unsupported",
    /// The simulator itself failed.
    InternalError "internal-error",
    /// A read of bytes that were never written.
    UninitializedRead "uninitialized-read",
    /// Wrong use of an instruction that the hardware leaves undefined.
    UndefinedBehavior "undefined-behavior",
    /// A value that a function was given and a device does not use.
    IgnoredValue "ignored-value",
    /// Two accesses that nothing orders, at least one of them weak.
    DataRace "data-race",
    /// The same between lanes of one warp.
    WarpRace "warp-race",
    /// Two strong accesses that nothing orders, of which one's scope does not hold the other thread.
    ScopeRace "scope-race",
    /// Accesses of different sizes, or that overlap in part, that nothing orders.
    MixedSizeRace "mixed-size-race",
    /// An asynchronous operation reads what was written through another proxy, without a fence for it.
    MissingProxyFence "missing-proxy-fence",
}

impl FindingKind {
    /// Whether the thread cannot go on.
    pub const fn is_fault(self) -> bool {
        !matches!(self, Self::UninitializedRead | Self::UndefinedBehavior | Self::IgnoredValue)
            && !self.is_race()
    }

    /// Whether it is a data race.
    pub const fn is_race(self) -> bool {
        matches!(
            self,
            Self::DataRace | Self::WarpRace | Self::ScopeRace | Self::MixedSizeRace | Self::MissingProxyFence
        )
    }
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodePlace {
    /// Which PTX text.
    pub source: SourceId,
    /// The instruction in that text.
    pub span: Span,
    /// The function it is in.
    pub function: Arc<str>,
    /// Call chain, innermost caller first: function and call instruction.
    pub callers: Vec<(Arc<str>, SourceId, Span)>,
    /// Position in the CUDA source, innermost inlined frame first: file, line, column.
    pub cuda: Vec<CudaPlace>,
}

/// A position in the source that was compiled to PTX.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CudaPlace {
    /// File name as in `.file`.
    pub file: Arc<str>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, 0 if unknown.
    pub column: u32,
    /// Function that was inlined there, if known.
    pub function: Option<Arc<str>>,
}

/// One thread: block and position in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId {
    /// Block position in the grid.
    pub block: Dim3,
    /// Thread position in the block.
    pub thread: Dim3,
}

/// A grouped finding. The first occurrence (lowest block, then thread) gives the values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// One sentence without a full stop, with the values of the first occurrence.
    pub message: String,
    /// More sentences: nearest allocation, what waits where, what would help.
    pub notes: Vec<String>,
    /// What would repair it, if that is known.
    pub help: Vec<String>,
    /// The kernel.
    pub kernel: Arc<str>,
    /// Where; `None` for the launch as a whole.
    pub place: Option<CodePlace>,
    /// The other place that takes part (earlier access, other side of a barrier).
    pub other_place: Option<CodePlace>,
    /// The threads it happened in, sorted; at most [`Finding::MAX_THREADS`] are kept.
    pub threads: Vec<ThreadId>,
    /// How often it happened over all threads.
    pub count: u64,
}

impl Finding {
    /// One about a launch as a whole: no place, no threads.
    ///
    /// ```
    /// use sim_core::{Finding, FindingKind};
    /// let finding = Finding::of_launch(FindingKind::LimitReached, "k".into(), "it took too long".into());
    /// assert_eq!((finding.place, finding.count), (None, 1));
    /// ```
    pub const fn of_launch(kind: FindingKind, kernel: Arc<str>, message: String) -> Finding {
        Finding {
            kind,
            message,
            notes: Vec::new(),
            help: Vec::new(),
            kernel,
            place: None,
            other_place: None,
            threads: Vec::new(),
            count: 1,
        }
    }

    /// Threads kept a finding.
    pub const MAX_THREADS: usize = 4096;

    /// The threads as compact ranges a block: `(block, "x 0-31, y 2")`-like pairs for messages.
    ///
    /// ```
    /// use sim_core::{Dim3, Finding, ThreadId};
    /// let block = Dim3::new(0, 0, 0);
    /// let threads: Vec<_> =
    ///     (0..4).map(|x| ThreadId { block, thread: Dim3::new(x, 0, 0) }).collect();
    /// assert_eq!(Finding::ranges(&threads), [(block, "(0..3, 0, 0)".to_string())]);
    /// ```
    pub fn ranges(threads: &[ThreadId]) -> Vec<(Dim3, String)> {
        let mut runs: Vec<(Dim3, Dim3, u32)> = Vec::new();
        for id in threads {
            match runs.last_mut() {
                Some((block, first, last))
                    if *block == id.block
                        && first.y == id.thread.y
                        && first.z == id.thread.z
                        && *last + 1 == id.thread.x =>
                {
                    *last += 1;
                }
                _ => runs.push((id.block, id.thread, id.thread.x)),
            }
        }
        runs.into_iter()
            .map(|(block, first, last)| {
                let x = if first.x == last { format!("{last}") } else { format!("{}..{last}", first.x) };
                (block, format!("({x}, {}, {})", first.y, first.z))
            })
            .collect()
    }
}
