//! Matrix multiplications compiled for the SIMD levels.

use super::Multiply;
use super::panel::{Accumulators, Fragments, Panel, Product};
use super::tile::Tile;
use crate::lanes::{Registers, SimdLevel};

/// `Tile::multiply` compiled for one SIMD level.
#[derive(Clone, Copy)]
pub struct TileFn(unsafe fn(&mut Tile, &Multiply));

impl std::fmt::Debug for TileFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TileFn")
    }
}

// SAFETY (of the function pointers): no requirement beyond the level's features.
unsafe fn baseline(tile: &mut Tile, op: &Multiply) {
    tile.multiply(op);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2(tile: &mut Tile, op: &Multiply) {
    tile.multiply(op);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx512(tile: &mut Tile, op: &Multiply) {
    tile.multiply(op);
}

impl TileFn {
    /// The version for `level`.
    pub fn at(level: SimdLevel) -> TileFn {
        match level {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => TileFn(avx2),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => TileFn(avx512),
            _ => TileFn(baseline),
        }
    }

    /// Computes D.
    ///
    /// # Safety
    /// The CPU must support the level it was compiled for.
    pub unsafe fn run(self, tile: &mut Tile, op: &Multiply) {
        // SAFETY: the caller's promise.
        unsafe { (self.0)(tile, op) }
    }
}

/// The methods of [`Panel`] compiled for one SIMD level.
#[derive(Clone, Copy)]
pub struct PanelFns {
    take_rows: unsafe fn(&mut Panel, &Product),
    multiply: unsafe fn(&mut Panel, &Product, &mut Registers, Accumulators<'_>) -> bool,
    product: unsafe fn(&mut Panel, &Product, &mut Registers, &Fragments<'_>) -> bool,
    unusual: unsafe fn(&mut Panel, &Product, &mut Registers, Accumulators<'_>),
}

impl std::fmt::Debug for PanelFns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PanelFns")
    }
}

/// A method of [`Panel`] for each SIMD level, as of [`PanelFns::at`].
macro_rules! panel_levels {
    ($method:ident($($argument:ident: $ty:ty),*) -> $result:ty) => {
        mod $method {
            use super::*;
            use crate::lanes::Baseline;
            #[cfg(target_arch = "x86_64")]
            use crate::lanes::{Avx2, Avx512};

            // SAFETY (of the function pointers): no requirement beyond the level's features.
            pub(super) unsafe fn baseline(panel: &mut Panel, product: &Product $(, $argument: $ty)*) -> $result {
                panel.$method::<Baseline>(product $(, $argument)*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            pub(super) unsafe fn avx2(panel: &mut Panel, product: &Product $(, $argument: $ty)*) -> $result {
                panel.$method::<Avx2>(product $(, $argument)*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
            )]
            pub(super) unsafe fn avx512(panel: &mut Panel, product: &Product $(, $argument: $ty)*) -> $result {
                panel.$method::<Avx512>(product $(, $argument)*)
            }
        }
    };
}

panel_levels!(take_rows() -> ());
panel_levels!(multiply(registers: &mut Registers, accumulators: Accumulators<'_>) -> bool);
panel_levels!(product(registers: &mut Registers, fragments: &Fragments<'_>) -> bool);
// Apart, so that it is there once.
panel_levels!(unusual(registers: &mut Registers, accumulators: Accumulators<'_>) -> ());

/// The versions for one level.
macro_rules! panel_fns {
    ($level:ident) => {
        PanelFns {
            take_rows: take_rows::$level,
            multiply: multiply::$level,
            product: product::$level,
            unusual: unusual::$level,
        }
    };
}

impl PanelFns {
    /// The versions for `level`.
    pub fn at(level: SimdLevel) -> PanelFns {
        match level {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => panel_fns!(avx2),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => panel_fns!(avx512),
            _ => panel_fns!(baseline),
        }
    }

    /// `Panel::take_rows`
    ///
    /// # Safety
    /// The CPU must support the level it was compiled for.
    #[inline]
    pub unsafe fn take_rows(&self, panel: &mut Panel, product: &Product) {
        // SAFETY: the caller's promise.
        unsafe { (self.take_rows)(panel, product) }
    }

    /// `Panel::multiply`, whatever the elements are.
    ///
    /// # Safety
    /// The CPU must support the level it was compiled for.
    #[inline]
    pub unsafe fn multiply(
        &self,
        panel: &mut Panel,
        product: &Product,
        registers: &mut Registers,
        accumulators: Accumulators<'_>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if !(self.multiply)(panel, product, registers, accumulators) {
                (self.unusual)(panel, product, registers, accumulators);
            }
        }
    }

    /// `Panel::product`, whatever the elements are.
    ///
    /// # Safety
    /// The CPU must support the level it was compiled for.
    #[inline]
    pub unsafe fn product(
        &self,
        panel: &mut Panel,
        product: &Product,
        registers: &mut Registers,
        fragments: &Fragments<'_>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if !(self.product)(panel, product, registers, fragments) {
                (self.unusual)(panel, product, registers, fragments.accumulators);
            }
        }
    }
}
