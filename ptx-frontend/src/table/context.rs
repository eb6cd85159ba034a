//! What rows and operands are judged against.

use crate::target::{PtxVersion, Target};

/// What the module's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Context {
    /// `.version`
    pub(crate) version: PtxVersion,
    /// `.target`
    pub(crate) target: Target,
    /// `.address_size`: 32 or 64.
    pub(crate) address_size: u32,
}
