//! Scalar semantics of PTX arithmetic, bit-equal to an H200 (`sm_90`).
//!
//! Every function is pure: bit patterns in, bit pattern out; no state, no allocation, no panic on
//! any input. Lane loops call them once a lane.
//!
//! # Conventions
//!
//! * **One module a PTX type, one function an operation.** `add.rn.ftz.f32` is
//!   [`f32::add`]`(a, b, Rounding::Rn, true)`, `mul.hi.s32` is [`s32::mul_hi`]`(a, b)`,
//!   `min.NaN.xorsign.abs.f16x2` is [`f16x2::min_xorsign_abs`]`(a, b, true, false)`, `shf.l.wrap.b32`
//!   is [`b32::shf_l`]`(a, b, c, Bound::Wrap)`.
//! * **Operands and results are unsigned integers that hold the register's bits**, whatever the
//!   PTX type: `u16` for 16-bit types, `u32` for 32-bit types and packed pairs, `u64` for 64-bit
//!   types; 8-bit types appear only in [`cvt`]. Predicates are `bool`.
//! * **Modifiers are trailing arguments, always in this order:** `Rounding`, `nan` (`.NaN`), `abs`,
//!   `ftz`. A function has only those that its instruction has. Passed as literals they fold away,
//!   since all functions on the hot path are `#[inline(always)]` and branch-free there.
//! * **`.sat`, `.relu` and `.oob` are separate steps** on the result, in the type's module:
//!   `f32::sat(f32::fma(a, b, c, Rounding::Rn, false))`.
//! * **NaN.** Arithmetic in `.f32`, `.f16` and `.bf16` gives `0x7fffffff` or `0x7fff`; `.f64` keeps a
//!   payload ([`f64::propagate`]). Moves, selections and integer views of floats keep bits: they need
//!   no function here. Nothing relies on the host's NaN bits.
//! * **`.ftz`** replaces subnormal operands by zeros of their sign, and results that are tiny (below
//!   the smallest normal after rounding with an unbounded exponent) likewise.
//! * Carries: `*_cc` functions return `(result, carry)`. The flag is the adder's carry, also for
//!   subtraction (1 means no borrow), as ptxas builds it: opaque to the caller, right in mixed chains.
//!
//! # Speed classes
//!
//! `.rn` arithmetic, comparisons, minima and maxima, conversions, integer operations and the directed
//! roundings of `.f32` are branch-free and vectorise in a lane loop: 0.04 to 0.6 ns a lane with
//! AVX-512, about three times that with AVX2; approximate functions take 1 to 3 ns. `f32::fma` with
//! `.rn` needs the loop to be compiled for a processor with FMA; use [`f32::fma_portable`] where it is
//! not. Directed roundings of `.f64`, integer division and `rsqrt.approx.f64` are scalar (1 to 30 ns).
//!
//! # What is certified
//!
//! All recordings are of one H200 (driver 580.159) and lie in `testdata/h200` and `testdata/conformance`, with
//! their description.
//! [`certificate`] recomputes hashes over all 2^32 inputs of 32 operations: every one agrees on every
//! input. Tests compare, and find equal: some 1,500 single results at the edges of the formats; 88
//! operations of up to three operands on samples of 2^32 pseudo-random rows; all types, modifiers and
//! kinds of selectors of the scalar video instructions; random and adversarial tiles of `mma`, `mma.sp`
//! and `wgmma`, NaN payloads of `.f64` included.
//!
//! `warpgrind conformance verify` compares every register-to-register, warp and matrix instruction of `sm_90` on at
//! least 32,768 tuples of operands.
//!
//! Not compared, because `sm_90` does not have it: formats below 8 bits, `.f32x2`, scale factors of
//! block formats.

#![forbid(unsafe_code)]

pub mod approx;
pub mod bf16;
mod bits;
pub mod certificate;
pub mod cvt;
pub mod f16;
pub mod f32;
pub mod f64;
mod half;
mod int;
pub mod mbarrier;
pub mod mma;
mod modes;
mod packed;
mod soft;
pub mod video;
mod wide;

#[cfg(test)]
mod tests;

pub use bits::{Prmt, b16, b32, b64};
pub use int::{s16, s32, s64, u16, u32, u64};
pub use modes::{Bound, FloatCmp, IntCmp, IntRounding, Rounding, TestP};
pub use packed::{bf16x2, f16x2, f32x2, s8x4, s16x2, u8x4, u16x2};

/// The 16-bit NaN that marks an out-of-bounds element of a tensor copy and that `fma.oob` turns into
/// zero, in `.f16` and `.bf16` alike.
pub const OOB_NAN: ::core::primitive::u16 = 0x7ff7;
