//! Coordinates of all lanes along one axis of a level.

use super::super::coordinate::{AddressMode, Axis, WHOLE};
use super::{BORDER, Row, mask};
use semantics::lanes::{LaneMask, WARP_SIZE};

/// The texels of one axis: those around a coordinate, and the weight of the second.
#[derive(Clone, Copy)]
pub(super) struct Along {
    pub texels: [Row<i32>; 2],
    pub fractions: Row<u32>,
}

/// Texels beyond all images, that a float still holds exactly with what is added to it.
const BEYOND: f64 = (1u64 << 30) as f64;
/// The same of normalised coordinates.
const BEYOND_ONE: f64 = (1u64 << 13) as f64;

/// The first of the two texels around a position, and what of the way to the second lies behind it.
#[inline(always)]
fn around(position: f64) -> (f64, f64) {
    let whole = f64::from(WHOLE);
    let from_centre = (position * whole + 0.5).floor() - whole / 2.0;
    let first = (from_centre * (1.0 / whole)).floor();
    (first, from_centre - first * whole)
}

impl Axis {
    /// Where coordinates lie, in texels: as [`Axis::position`] has them. Lanes whose fraction is not told are taken from `done`.
    #[inline(always)]
    pub(super) fn positions(self, x: &Row<u32>, offset: Option<&Row<i32>>, done: &mut LaneMask) -> Row<f64> {
        let bits = self.bits();
        let (one, unit) = ((1u64 << bits) as f64, 1.0 / (1u64 << bits) as f64);
        let mut at = [0.0; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            let x = f32::from_bits(x[lane]);
            // Neither NaN nor what is too small for a normal float.
            let x = if x.abs() >= f32::MIN_POSITIVE { f64::from(x) } else { 0.0 };
            at[lane] = (x * one).floor() * unit;
        }
        if self.normalized {
            match self.mode {
                AddressMode::Wrap | AddressMode::Mirror => {
                    let period = if self.mode == AddressMode::Wrap { 1.0 } else { 2.0 };
                    for at in &mut at {
                        let inside = *at - (*at / period).floor() * period;
                        *at = if at.is_finite() { inside } else { 0.0 };
                    }
                }
                AddressMode::Clamp => {
                    for at in &mut at {
                        *at = at.max(-BEYOND_ONE).min(BEYOND_ONE);
                    }
                }
                AddressMode::Border => {
                    *done &= mask(|lane| at[lane].abs() < BEYOND_ONE);
                    for at in &mut at {
                        *at = at.max(-BEYOND_ONE).min(BEYOND_ONE);
                    }
                }
            }
            for at in &mut at {
                *at *= f64::from(self.size);
            }
        } else {
            for at in &mut at {
                *at = at.max(-BEYOND).min(BEYOND);
            }
        }
        if let Some(offset) = offset {
            for lane in 0..WARP_SIZE {
                at[lane] += f64::from(offset[lane]);
            }
        }
        at
    }

    /// The texels that the mode makes of whole ones: as [`Axis::inside`].
    #[inline(always)]
    fn all_inside(self, texels: &Row<f64>) -> Row<i32> {
        let size = f64::from(self.size);
        let mut inside = [0; WARP_SIZE];
        match self.mode {
            AddressMode::Border => {
                for lane in 0..WARP_SIZE {
                    let texel = texels[lane];
                    let there = texel >= 0.0 && texel < size;
                    inside[lane] = if there { texel as i32 } else { BORDER };
                }
            }
            AddressMode::Wrap if self.normalized => {
                for lane in 0..WARP_SIZE {
                    let texel = texels[lane];
                    inside[lane] = (texel - (texel / size).floor() * size) as i32;
                }
            }
            AddressMode::Mirror if self.normalized => {
                for lane in 0..WARP_SIZE {
                    let texel = texels[lane];
                    let texel = texel - (texel / (2.0 * size)).floor() * (2.0 * size);
                    inside[lane] = (if texel < size { texel } else { 2.0 * size - 1.0 - texel }) as i32;
                }
            }
            _ => {
                for lane in 0..WARP_SIZE {
                    inside[lane] = texels[lane].max(0.0).min(size - 1.0) as i32;
                }
            }
        }
        inside
    }

    /// The nearest texels.
    #[inline(always)]
    pub(super) fn all_nearest(self, positions: &Row<f64>) -> Row<i32> {
        let mut texels = *positions;
        for texel in &mut texels {
            *texel = texel.floor();
        }
        self.all_inside(&texels)
    }

    /// The texels around and the weights of the second ones: as [`Axis::around`].
    #[inline(always)]
    pub(super) fn all_around(self, positions: &Row<f64>) -> Along {
        let mut texels = [[0.0; WARP_SIZE]; 2];
        let mut fractions = [0; WARP_SIZE];
        let clamps = !matches!(self.mode, AddressMode::Border) && !self.repeats();
        let last = f64::from(self.size) - 1.0;
        for lane in 0..WARP_SIZE {
            let (first, fraction) = around(positions[lane]);
            let beyond = clamps && (first < 0.0 || first >= last);
            let fraction = if beyond { 0.0 } else { fraction };
            fractions[lane] = fraction as u32;
            texels[0][lane] = first;
            texels[1][lane] = first + 1.0;
        }
        Along { texels: [self.all_inside(&texels[0]), self.all_inside(&texels[1])], fractions }
    }

    /// Lanes around whose coordinates both texels lie inside the image, whatever the mode.
    #[inline(always)]
    pub(super) fn holds_both(self, positions: &Row<f64>) -> LaneMask {
        let last = f64::from(self.size) - 1.0;
        mask(|lane| (0.0..last).contains(&around(positions[lane]).0))
    }
}
