//! BC7.

use super::partition::{ANCHORS, Bits, HALVES, THIRDS, weight};

/// What a mode is made of: subsets; bits of the partition, of the rotation, of the choice of indices, of a colour, of
/// opacity; lowest bits of endpoints, one each or one for both; bits of both kinds of indices.
struct Mode {
    subsets: u32,
    partition: u32,
    rotation: u32,
    choice: u32,
    colour: u32,
    opacity: u32,
    lowest: u32,
    shared: u32,
    indices: [u32; 2],
}

#[rustfmt::skip]
const MODES: [Mode; 8] = [
    mode([3, 4, 0, 0, 4, 0, 1, 0, 3, 0]),
    mode([2, 6, 0, 0, 6, 0, 0, 1, 3, 0]),
    mode([3, 6, 0, 0, 5, 0, 0, 0, 2, 0]),
    mode([2, 6, 0, 0, 7, 0, 1, 0, 2, 0]),
    mode([1, 0, 2, 1, 5, 6, 0, 0, 2, 3]),
    mode([1, 0, 2, 0, 7, 8, 0, 0, 2, 2]),
    mode([1, 0, 0, 0, 7, 7, 1, 0, 4, 0]),
    mode([2, 6, 0, 0, 5, 5, 1, 0, 2, 0]),
];

const fn mode(bits: [u32; 10]) -> Mode {
    Mode {
        subsets: bits[0],
        partition: bits[1],
        rotation: bits[2],
        choice: bits[3],
        colour: bits[4],
        opacity: bits[5],
        lowest: bits[6],
        shared: bits[7],
        indices: [bits[8], bits[9]],
    }
}

pub(super) fn texel(block: u128, number: u32) -> [u8; 4] {
    let which = block.trailing_zeros();
    let Some(mode) = MODES.get(which as usize) else { return [0; 4] };
    let mut bits = Bits(block >> (which + 1));
    let partition = bits.take(mode.partition) as usize;
    let rotation = bits.take(mode.rotation);
    let choice = bits.take(mode.choice) as usize;
    let subset = |texel: u32| match mode.subsets {
        1 => 0,
        2 => u32::from(HALVES[partition]) >> texel & 1,
        _ => THIRDS[partition] >> (2 * texel) & 3,
    };
    let own = subset(number) as usize;
    let mut ends = [[0u32; 4]; 6];
    let count = 2 * mode.subsets as usize;
    for channel in 0..4 {
        let width = if channel == 3 { mode.opacity } else { mode.colour };
        for end in &mut ends[..count] {
            end[channel] = bits.take(width);
        }
    }
    for end in 0..count {
        // One for both ends of a subset stands once.
        if mode.lowest == 0 && (mode.shared == 0 || end % 2 != 0) {
            continue;
        }
        let lowest = bits.take(1);
        for end in &mut ends[end..][..1 + mode.shared as usize] {
            end.iter_mut().for_each(|value| *value = *value << 1 | lowest);
        }
    }
    let more = mode.lowest | mode.shared;
    for end in &mut ends[..count] {
        for (channel, value) in end.iter_mut().enumerate() {
            let width = more + if channel == 3 { mode.opacity } else { mode.colour };
            if channel == 3 && mode.opacity == 0 {
                *value = 255;
            } else {
                *value <<= 8 - width;
                *value |= *value >> width;
            }
        }
    }
    let anchors = |texel: u32| {
        let own = subset(texel) as usize;
        let anchor = match (mode.subsets, own) {
            (_, 0) => 0,
            (2, _) => ANCHORS[0][partition],
            (_, own) => ANCHORS[own][partition],
        };
        u32::from(anchor) == texel
    };
    let mut indices = [0; 2];
    for (kind, index) in indices.iter_mut().enumerate() {
        let width = mode.indices[kind];
        for texel in 0..16 {
            let taken = if width == 0 { 0 } else { bits.take(width - u32::from(anchors(texel))) };
            if texel == number {
                *index = taken;
            }
        }
    }
    // Opacity may have indices of its own.
    let colour = if mode.indices[1] == 0 { 0 } else { choice };
    let opacity = if mode.indices[1] == 0 { 0 } else { 1 - choice };
    let mut texel = [0; 4];
    for (channel, value) in texel.iter_mut().enumerate() {
        let kind = if channel == 3 { opacity } else { colour };
        let weight = weight(mode.indices[kind], indices[kind]);
        let (from, to) = (ends[2 * own][channel], ends[2 * own + 1][channel]);
        *value = (((64 - weight) * from + weight * to + 32) >> 6) as u8;
    }
    match rotation {
        0 => {}
        channel => texel.swap(3, channel as usize - 1),
    }
    texel
}
