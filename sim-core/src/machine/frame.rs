//! Call frames of a warp.

/// Index of a frame in its warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameId(pub u32);

/// One function activation. Lanes of several groups may share it: each uses its own column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// Index into [`Code::functions`].
    pub function: u32,
    /// Position to return to.
    pub return_to: u32,
    /// Call site in the caller.
    pub site: u32,
    pub parent: FrameId,
    /// First row, counted from the end of the warp's special registers.
    pub rows: u32,
    /// First predicate.
    pub predicates: u32,
    /// Local memory: start of the frame, and the end of what `alloca` took. Byte offsets.
    pub local_start: u32,
    pub local_end: u32,
    pub depth: u32,
    /// Groups in it plus frames above it; 0 when free.
    pub references: u32,
    /// The first of the frames called from it, and the next one called from where it was called itself, or
    /// the next free one.
    pub called: Option<FrameId>,
    pub next: Option<FrameId>,
}

/// The bottom of every call chain.
pub(crate) const ROOT: FrameId = FrameId(0);
