//! The instruction table.

/// A row of the instruction table (index).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Form(pub u16);
