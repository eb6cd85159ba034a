//! Where accesses through surfaces go.

use super::{Image, Shape};

/// The address of an access of `bytes` bytes; `x` counts bytes. `None` outside, where the access does not clamp.
pub(crate) fn place(image: &Image, [x, y, z]: [i32; 3], layer: u32, bytes: u32, clamps: bool) -> Option<u64> {
    let level = image.levels.first()?;
    let [width, height, depth] = level.extent.map(i64::from);
    let row = width * i64::from(image.format.bytes());
    let y = if matches!(image.shape, Shape::OneD | Shape::OneDLayered) { 0 } else { y };
    let z = match image.shape {
        Shape::ThreeD => i64::from(z),
        shape if shape.is_layered() => i64::from(layer),
        _ => 0,
    };
    let last = [row - i64::from(bytes), height - 1, depth - 1];
    let mut at = [i64::from(x), i64::from(y), z];
    for (at, last) in at.iter_mut().zip(last) {
        if !(0..=last).contains(at) {
            if !clamps || last < 0 {
                return None;
            }
            *at = (*at).clamp(0, last);
        }
    }
    let offset = at[2] as u64 * level.slice + at[1] as u64 * level.pitch + at[0] as u64;
    Some(level.base.wrapping_add(offset))
}
