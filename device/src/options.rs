//! Which device is used, and how.

use std::path::PathBuf;

/// Which device, and how to use it.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// The driver's library; `None` takes `WARPGRIND_LIBCUDA` or looks in the usual places.
    pub library: Option<PathBuf>,
    /// The device's number, from 0.
    pub index: u32,
    /// Where buffers lie.
    pub placement: Placement,
    /// Whether the device's compiler may fuse products and sums where the PTX leaves that open.
    pub contraction: Contraction,
    /// How much the device's compiler optimises.
    pub level: OptLevel,
}

/// How much the driver's compiler optimises: 0, not at all, to 4, which it does if nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct OptLevel(u8);

impl OptLevel {
    /// No optimisation.
    pub const OFF: Self = Self(0);
    /// All of it, the driver's default.
    pub const FULL: Self = Self(4);

    /// The number, 0 to 4.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl Default for OptLevel {
    fn default() -> Self {
        Self::FULL
    }
}

impl TryFrom<u8> for OptLevel {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            0..=4 => Ok(Self(number)),
            _ => Err(format!("{number} is no level of optimisation: they are 0 to 4")),
        }
    }
}

impl From<OptLevel> for u8 {
    fn from(level: OptLevel) -> Self {
        level.0
    }
}

/// What becomes of multiplications and additions without rounding modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum Contraction {
    /// The driver's compiler contracts what it likes to `fma`.
    #[default]
    Allowed,
    /// Each rounds its own result, as on the simulator; see [`crate::without_contraction`].
    Forbidden,
}

/// Where buffers lie in the device's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum Placement {
    /// Side by side, as `cuMemAlloc` places them, aligned to 256 bytes. An access behind the end of a buffer goes
    /// unnoticed if there is another one.
    #[default]
    Packed,
    /// Each ends where nothing is mapped, so that an access behind its end faults: exactly if its size is a
    /// multiple of 16 bytes, else up to 15 bytes are between. Aligned to 16 bytes; takes 2 MiB at the least.
    Guarded,
}
