//! The conversions of PTX `cvt` and `cvt.pack` (manual 9.7.9.21, 9.7.9.22).
//!
//! A conversion is named `cvt::<destination>_<source>`. Sources and destinations are bit patterns of
//! exactly the type's width (`u8` for `.u8`, `.s8` and fp8); widening into a larger register (with the
//! sign for signed types) is the caller's. Trailing arguments: the rounding where the instruction has
//! one, then `ftz` where the source or the destination is `.f32` and it can matter. `.sat`, `.relu`
//! and `.satfinite` are steps on the result (`f16::sat`, `f16x2::relu`, `bf16::satfinite`), except
//! `.sat` between integers (`cvt::sat_<destination>_<source>`). Rounding to an integral value in the
//! same float type is `cvt::round_<type>`.
//!
//! | PTX | here |
//! |---|---|
//! | `cvt.rzi.s32.f32` | `cvt::s32_f32(a, IntRounding::Rzi, false)` |
//! | `cvt.rn.f32.u64` | `cvt::f32_u64(a, Rounding::Rn)` |
//! | `cvt.rni.ftz.f32.f32` | `cvt::round_f32(a, IntRounding::Rni, true)` |
//! | `cvt.rn.relu.f16x2.f32 d, a, b` | `f16x2::relu(cvt::f16x2_f32(a, b, Rounding::Rn))` |
//! | `cvt.sat.u8.s32` | `cvt::sat_u8_s32(a)` |
//! | `cvt.rn.satfinite.e4m3x2.f32 d, a, b` | `cvt::e4m3x2_f32(a, b, false)` |
//!
//! ```
//! use numerics::{IntRounding, cvt};
//! assert_eq!(cvt::s32_f32(2.5_f32.to_bits(), IntRounding::Rni, false), 2);
//! assert_eq!(cvt::u8_f32((-7.0_f32).to_bits(), IntRounding::Rzi, false), 0);
//! assert_eq!(cvt::s64_f32(0x7fff_ffff, IntRounding::Rzi, false), 1 << 63);
//! ```

mod float;
mod integer;
mod narrow;

pub use float::*;
pub use integer::*;
pub use narrow::*;
