//! A certificate of bit-equality with an H200: hashes of 32 one-operand operations over all 2^32
//! inputs, recorded on the device, recomputed here.
//!
//! `testdata/h200/unary-hashes.u64` holds, for each operation in the order of [`OPERATIONS`], 4,096
//! little-endian 64-bit hashes. Hash `b` covers the inputs `u` with `u >> 20 == b`; how it is formed
//! is [`hash_block`].
//!
//! ```
//! use numerics::certificate::{BLOCKS, OPERATIONS};
//! assert_eq!(OPERATIONS[5].name, "rcp.approx.ftz.f32");
//! let one = (OPERATIONS[5].hash)(0x3f8); // the inputs 0x3f800000 to 0x3f8fffff
//! assert_ne!(one, (OPERATIONS[5].hash)(0x3f9));
//! assert_eq!(BLOCKS, 4096);
//! ```

use rayon::prelude::*;

use super::modes::{IntRounding, Rounding};
use super::{approx, cvt, f32 as single};

/// Number of hashes an operation has.
pub const BLOCKS: usize = 4096;

/// An operation of the certificate.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The PTX form.
    pub name: &'static str,
    /// The hash of one block (`0..4096`).
    pub hash: fn(u32) -> u64,
    /// One result.
    pub apply: fn(u32) -> u32,
}

/// The hash of the results for the 65,536 inputs from `first` on, a multiple of 65,536: the sum of
/// `(r ^ (u * 0x9E3779B9)) * (2 (u & 0xffff) + 1)` modulo 2^64, the inner product modulo 2^32.
pub fn hash_run(first: u32, apply: impl Fn(u32) -> u32) -> u64 {
    (0..0x1_0000u32).fold(0u64, |sum, low| {
        let u = first | low;
        let mixed = u64::from(apply(u) ^ u.wrapping_mul(0x9e37_79b9));
        sum.wrapping_add(mixed.wrapping_mul(u64::from(2 * low + 1)))
    })
}

/// The hash of the 2^20 results for the inputs with `u >> 20 == block`: the hashes of its 16 runs
/// ([`hash_run`]) folded in ascending order by `t * 1099511628211 + hash` from 0.
pub fn hash_block(block: u32, apply: impl Fn(u32) -> u32) -> u64 {
    (0..16u32).fold(0u64, |folded, run| {
        folded.wrapping_mul(1_099_511_628_211).wrapping_add(hash_run(block << 20 | run << 16, &apply))
    })
}

/// The recorded hash of a block, out of the contents of `unary-hashes.u64`; `None` if the data is too
/// short.
pub fn recorded(data: &[u8], operation: usize, block: usize) -> Option<u64> {
    let at = operation.checked_mul(BLOCKS)?.checked_add(block)?.checked_mul(8)?;
    let bytes = data.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Blocks that show most of an operation in little time: zero and subnormals, both sides of one,
/// infinity and NaN with both signs, and a stride that shifts with the operation, so that together the
/// operations visit many exponents. In ascending order.
pub fn sample(operation: usize) -> Vec<usize> {
    const FIXED: [usize; 8] = [0x000, 0x3f7, 0x3f8, 0x7f8, 0x7ff, 0x800, 0xbf8, 0xff8];
    let spread = (0..4).map(|i| (i * 521 + operation % BLOCKS * 131) % BLOCKS);
    let mut blocks: Vec<usize> = FIXED.into_iter().chain(spread).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// Recomputes these blocks of an operation on the threads of the current pool and returns those that
/// are not as in `data` (the contents of `unary-hashes.u64`); calls `done` after each block.
pub fn differing(data: &[u8], operation: usize, blocks: &[usize], done: impl Fn() + Sync) -> Vec<usize> {
    let Some(hash) = OPERATIONS.get(operation).map(|operation| operation.hash) else {
        return blocks.to_vec();
    };
    blocks
        .par_iter()
        .copied()
        .filter(|&block| {
            let equal = recorded(data, operation, block) == Some(hash(block as u32));
            done();
            !equal
        })
        .collect()
}

macro_rules! operations {
    ($($name:literal, $apply:expr;)*) => {
        /// The operations in the order of the recorded data.
        pub const OPERATIONS: [Operation; 32] = [$(
            Operation { name: $name, hash: |block| hash_block(block, $apply), apply: $apply },
        )*];
    };
}

/// The dividend of the three divisions and the bound of the minimum: pi in `.f32`.
const PI: u32 = 0x4049_0fdb;

operations! {
    "ex2.approx.f32", |u| approx::ex2_f32(u, false);
    "ex2.approx.ftz.f32", |u| approx::ex2_f32(u, true);
    "lg2.approx.f32", |u| approx::lg2_f32(u, false);
    "lg2.approx.ftz.f32", |u| approx::lg2_f32(u, true);
    "rcp.approx.f32", |u| approx::rcp_f32(u, false);
    "rcp.approx.ftz.f32", |u| approx::rcp_f32(u, true);
    "rsqrt.approx.f32", |u| approx::rsqrt_f32(u, false);
    "rsqrt.approx.ftz.f32", |u| approx::rsqrt_f32(u, true);
    "sqrt.approx.f32", |u| approx::sqrt_f32(u, false);
    "sqrt.approx.ftz.f32", |u| approx::sqrt_f32(u, true);
    "sin.approx.f32", |u| approx::sin_f32(u, false);
    "sin.approx.ftz.f32", |u| approx::sin_f32(u, true);
    "cos.approx.f32", |u| approx::cos_f32(u, false);
    "cos.approx.ftz.f32", |u| approx::cos_f32(u, true);
    "tanh.approx.f32", approx::tanh_f32;
    "rcp.rn.f32", |u| single::rcp(u, Rounding::Rn, false);
    "sqrt.rn.f32", |u| single::sqrt(u, Rounding::Rn, false);
    "cvt.rn.f16.f32", |u| u32::from(cvt::f16_f32(u, Rounding::Rn));
    "cvt.rn.bf16.f32", |u| u32::from(cvt::bf16_f32(u, Rounding::Rn, false));
    "cvt.rna.tf32.f32", cvt::tf32_f32_rna;
    "cvt.rni.s32.f32", |u| cvt::s32_f32(u, IntRounding::Rni, false);
    "cvt.rn.satfinite.e4m3x2.f32", |u| u32::from(cvt::e4m3x2_f32(u, u, false));
    "cvt.rn.satfinite.e5m2x2.f32", |u| u32::from(cvt::e5m2x2_f32(u, u, false));
    "ex2.approx.ftz.bf16x2", approx::ex2_bf16x2;
    "ex2.approx.f16x2", approx::ex2_f16x2;
    "tanh.approx.f16x2", approx::tanh_f16x2;
    "tanh.approx.bf16x2", approx::tanh_bf16x2;
    "add.f32", |u| single::add(u, u, Rounding::Rn, false);
    "min.f32", |u| single::min(u, PI, false, false);
    "div.approx.f32", |u| approx::div_f32(PI, u, false);
    "div.full.f32", |u| approx::div_full_f32(PI, u, false);
    "div.rn.f32", |u| single::div(PI, u, Rounding::Rn, false);
}
