//! The version of CUDA that the driver says it is.

/// 1000 times the major number and 10 times the minor one.
pub(crate) const VERSION: i32 = 13_000;
