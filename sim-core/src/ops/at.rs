//! What every part of an access needs to know.

use crate::code::Access;
use crate::event::AccessKind;
use crate::machine::fault::Fault;
use crate::machine::frame::FrameId;
use crate::machine::warp::Group;
use semantics::lanes::{LaneMask, WARP_SIZE};

pub(crate) type Addresses = [u64; WARP_SIZE];
pub(crate) type Checked<T = ()> = Result<T, Box<Fault>>;

/// Whether an instruction reads or writes, for checks and messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Load,
    Store,
    Atomic,
    /// The same where nobody is told what was there.
    Reduction,
}

impl Direction {
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Direction::Load => "read",
            Direction::Store => "write",
            Direction::Atomic | Direction::Reduction => "atomic access",
        }
    }

    pub(crate) fn kind(self) -> AccessKind {
        match self {
            Direction::Load => AccessKind::Read,
            Direction::Store => AccessKind::Write,
            Direction::Atomic | Direction::Reduction => AccessKind::Atomic,
        }
    }
}

/// An access, by whom, where.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub access: &'a Access,
    pub direction: Direction,
    pub lanes: LaneMask,
    /// The rank of the block whose shared memory it is, if that is not the block's own.
    pub peer: Option<usize>,
    pub position: u32,
    pub frame: FrameId,
}

impl At<'_> {
    /// The lanes where they stand, to tell of them.
    pub(crate) fn group(&self) -> Group {
        Group::executing(self.position, self.lanes, self.frame)
    }
}
