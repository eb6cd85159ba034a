//! Tensor maps: what describes a tensor in global memory to a copy (ISA 5.5.8).
//!
//! To a program the 128 bytes are opaque, so their format here is our own: [`TensorMap::to_bytes`]. What may be in a map
//! is [`TensorMap::check`]'s; where the elements of a copy lie, [`TensorMap::runs`]'.
//!
//! ```
//! use sim_core::{ElementType, TensorMap};
//! let map = TensorMap::tiled(ElementType::F32, 0x1000, &[64, 32], &[256], &[16, 8]);
//! assert_eq!(map.check(), Ok(()));
//! assert_eq!(map.box_bytes(), 16 * 8 * 4);
//! assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
//! ```

mod bytes;
mod check;
mod layout;
mod map;
mod runs;

pub use bytes::TENSOR_MAP_BYTES;
pub use check::TensorMapError;
pub use map::{ElementType, Interleave, Mode, Swizzle, TensorMap};
pub(crate) use map::{RANK, round_to_tf32};
pub(crate) use runs::{Run, Start};
