//! BC6H.

use super::partition::{ANCHORS, Bits, HALVES, weight};

/// A colour's part, which end of which subset, and which bits of it stand next, the first one first.
type Field = (usize, usize, u32, u32);

/// How the colours of a block are written down.
struct Mode {
    /// Its lowest bits: two of a number below two, or five.
    number: u32,
    /// Bits of an end.
    bits: u32,
    /// Bits of what the other ends have more than the first, by parts of a colour; or of themselves, if they are as many.
    deltas: [u32; 3],
    fields: &'static [Field],
}

const R: usize = 0;
const G: usize = 1;
const B: usize = 2;
/// Both ends of the first subset and of the second.
const W: usize = 0;
const X: usize = 1;
const Y: usize = 2;
const Z: usize = 3;

#[rustfmt::skip]
const MODES: [Mode; 14] = [
    Mode { number: 0b00000, bits: 10, deltas: [5, 5, 5], fields: &[(G, Y, 4, 4), (B, Y, 4, 4), (B, Z, 4, 4), (R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 4), (G, Z, 4, 4), (G, Y, 0, 3), (G, X, 0, 4), (B, Z, 0, 0), (G, Z, 0, 3), (B, X, 0, 4), (B, Z, 1, 1), (B, Y, 0, 3), (R, Y, 0, 4), (B, Z, 2, 2), (R, Z, 0, 4), (B, Z, 3, 3)] },
    Mode { number: 0b00001, bits: 7, deltas: [6, 6, 6], fields: &[(G, Y, 5, 5), (G, Z, 4, 4), (G, Z, 5, 5), (R, W, 0, 6), (B, Z, 0, 0), (B, Z, 1, 1), (B, Y, 4, 4), (G, W, 0, 6), (B, Y, 5, 5), (B, Z, 2, 2), (G, Y, 4, 4), (B, W, 0, 6), (B, Z, 3, 3), (B, Z, 5, 5), (B, Z, 4, 4), (R, X, 0, 5), (G, Y, 0, 3), (G, X, 0, 5), (G, Z, 0, 3), (B, X, 0, 5), (B, Y, 0, 3), (R, Y, 0, 5), (R, Z, 0, 5)] },
    Mode { number: 0b00010, bits: 11, deltas: [5, 4, 4], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 4), (R, W, 10, 10), (G, Y, 0, 3), (G, X, 0, 3), (G, W, 10, 10), (B, Z, 0, 0), (G, Z, 0, 3), (B, X, 0, 3), (B, W, 10, 10), (B, Z, 1, 1), (B, Y, 0, 3), (R, Y, 0, 4), (B, Z, 2, 2), (R, Z, 0, 4), (B, Z, 3, 3)] },
    Mode { number: 0b00110, bits: 11, deltas: [4, 5, 4], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 3), (R, W, 10, 10), (G, Z, 4, 4), (G, Y, 0, 3), (G, X, 0, 4), (G, W, 10, 10), (G, Z, 0, 3), (B, X, 0, 3), (B, W, 10, 10), (B, Z, 1, 1), (B, Y, 0, 3), (R, Y, 0, 3), (B, Z, 0, 0), (B, Z, 2, 2), (R, Z, 0, 3), (G, Y, 4, 4), (B, Z, 3, 3)] },
    Mode { number: 0b01010, bits: 11, deltas: [4, 4, 5], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 3), (R, W, 10, 10), (B, Y, 4, 4), (G, Y, 0, 3), (G, X, 0, 3), (G, W, 10, 10), (B, Z, 0, 0), (G, Z, 0, 3), (B, X, 0, 4), (B, W, 10, 10), (B, Y, 0, 3), (R, Y, 0, 3), (B, Z, 1, 1), (B, Z, 2, 2), (R, Z, 0, 3), (B, Z, 4, 4), (B, Z, 3, 3)] },
    Mode { number: 0b01110, bits: 9, deltas: [5, 5, 5], fields: &[(R, W, 0, 8), (B, Y, 4, 4), (G, W, 0, 8), (G, Y, 4, 4), (B, W, 0, 8), (B, Z, 4, 4), (R, X, 0, 4), (G, Z, 4, 4), (G, Y, 0, 3), (G, X, 0, 4), (B, Z, 0, 0), (G, Z, 0, 3), (B, X, 0, 4), (B, Z, 1, 1), (B, Y, 0, 3), (R, Y, 0, 4), (B, Z, 2, 2), (R, Z, 0, 4), (B, Z, 3, 3)] },
    Mode { number: 0b10010, bits: 8, deltas: [6, 5, 5], fields: &[(R, W, 0, 7), (G, Z, 4, 4), (B, Y, 4, 4), (G, W, 0, 7), (B, Z, 2, 2), (G, Y, 4, 4), (B, W, 0, 7), (B, Z, 3, 3), (B, Z, 4, 4), (R, X, 0, 5), (G, Y, 0, 3), (G, X, 0, 4), (B, Z, 0, 0), (G, Z, 0, 3), (B, X, 0, 4), (B, Z, 1, 1), (B, Y, 0, 3), (R, Y, 0, 5), (R, Z, 0, 5)] },
    Mode { number: 0b10110, bits: 8, deltas: [5, 6, 5], fields: &[(R, W, 0, 7), (B, Z, 0, 0), (B, Y, 4, 4), (G, W, 0, 7), (G, Y, 5, 5), (G, Y, 4, 4), (B, W, 0, 7), (G, Z, 5, 5), (B, Z, 4, 4), (R, X, 0, 4), (G, Z, 4, 4), (G, Y, 0, 3), (G, X, 0, 5), (G, Z, 0, 3), (B, X, 0, 4), (B, Z, 1, 1), (B, Y, 0, 3), (R, Y, 0, 4), (B, Z, 2, 2), (R, Z, 0, 4), (B, Z, 3, 3)] },
    Mode { number: 0b11010, bits: 8, deltas: [5, 5, 6], fields: &[(R, W, 0, 7), (B, Z, 1, 1), (B, Y, 4, 4), (G, W, 0, 7), (B, Y, 5, 5), (G, Y, 4, 4), (B, W, 0, 7), (B, Z, 5, 5), (B, Z, 4, 4), (R, X, 0, 4), (G, Z, 4, 4), (G, Y, 0, 3), (G, X, 0, 4), (B, Z, 0, 0), (G, Z, 0, 3), (B, X, 0, 5), (B, Y, 0, 3), (R, Y, 0, 4), (B, Z, 2, 2), (R, Z, 0, 4), (B, Z, 3, 3)] },
    Mode { number: 0b11110, bits: 6, deltas: [6, 6, 6], fields: &[(R, W, 0, 5), (G, Z, 4, 4), (B, Z, 0, 0), (B, Z, 1, 1), (B, Y, 4, 4), (G, W, 0, 5), (G, Y, 5, 5), (B, Y, 5, 5), (B, Z, 2, 2), (G, Y, 4, 4), (B, W, 0, 5), (G, Z, 5, 5), (B, Z, 3, 3), (B, Z, 5, 5), (B, Z, 4, 4), (R, X, 0, 5), (G, Y, 0, 3), (G, X, 0, 5), (G, Z, 0, 3), (B, X, 0, 5), (B, Y, 0, 3), (R, Y, 0, 5), (R, Z, 0, 5)] },
    Mode { number: 0b00011, bits: 10, deltas: [10, 10, 10], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 9), (G, X, 0, 9), (B, X, 0, 9)] },
    Mode { number: 0b00111, bits: 11, deltas: [9, 9, 9], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 8), (R, W, 10, 10), (G, X, 0, 8), (G, W, 10, 10), (B, X, 0, 8), (B, W, 10, 10)] },
    Mode { number: 0b01011, bits: 12, deltas: [8, 8, 8], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 7), (R, W, 11, 10), (G, X, 0, 7), (G, W, 11, 10), (B, X, 0, 7), (B, W, 11, 10)] },
    Mode { number: 0b01111, bits: 16, deltas: [4, 4, 4], fields: &[(R, W, 0, 9), (G, W, 0, 9), (B, W, 0, 9), (R, X, 0, 3), (R, W, 15, 10), (G, X, 0, 3), (G, W, 15, 10), (B, X, 0, 3), (B, W, 15, 10)] },
];

impl Mode {
    /// Whether the texels are of two subsets.
    fn is_split(&self) -> bool {
        self.number & 3 != 3
    }

    /// Whether all but the first end are differences.
    fn is_relative(&self) -> bool {
        self.deltas[0] != self.bits || self.deltas[1] != self.bits
    }

    /// An end as a number of 16 bits, or of 15 with a sign.
    fn widen(&self, end: i32, signed: bool) -> i32 {
        let own = self.bits - u32::from(signed);
        let most = (1 << own) - 1;
        let (size, whole) = if signed { (end.abs(), 0x7fff) } else { (end, 0xffff) };
        let wide = match size {
            _ if self.bits >= 16 - u32::from(!signed) => return end,
            0 => 0,
            size if size >= most => whole,
            size => ((size << 15) + 0x4000) >> (self.bits - 1),
        };
        if signed && end < 0 { -wide } else { wide }
    }
}

/// The number that some bits are with a sign.
fn signed_bits(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}

/// A texel as three halves.
pub(super) fn texel(block: u128, number: u32, signed: bool) -> [u16; 3] {
    let low = block as u32;
    let (which, skip) = if low & 2 == 0 { (low & 3, 2) } else { (low & 31, 5) };
    let Some(mode) = MODES.iter().find(|mode| mode.number == which) else { return [0; 3] };
    let mut bits = Bits(block >> skip);
    let mut raw = [[0u32; 4]; 3];
    for &(part, end, first, last) in mode.fields {
        let place = &mut raw[part][end];
        if first <= last {
            *place |= bits.take(last - first + 1) << first;
        } else {
            (last..=first).rev().for_each(|bit| *place |= bits.take(1) << bit);
        }
    }
    let partition = if mode.is_split() { bits.take(5) as usize } else { 0 };
    let ends: [[i32; 4]; 3] = std::array::from_fn(|part| {
        let as_number = |value: u32| {
            if signed { signed_bits(value, mode.bits) } else { (value & ((1 << mode.bits) - 1)) as i32 }
        };
        let first = as_number(raw[part][W]);
        std::array::from_fn(|end| match end {
            W => first,
            _ if mode.is_relative() => {
                as_number(first.wrapping_add(signed_bits(raw[part][end], mode.deltas[part])) as u32)
            }
            _ => as_number(raw[part][end]),
        })
    });
    let subset = |texel: u32| if mode.is_split() { usize::from(HALVES[partition] >> texel & 1) } else { 0 };
    let is_anchor = |texel: u32| match subset(texel) {
        0 => texel == 0,
        _ => u32::from(ANCHORS[0][partition]) == texel,
    };
    let width = if mode.is_split() { 3 } else { 4 };
    let skipped: u32 = (0..number).map(|texel| width - u32::from(is_anchor(texel))).sum();
    bits.0 >>= skipped;
    let weight = weight(width, bits.take(width - u32::from(is_anchor(number)))) as i32;
    let own = 2 * subset(number);
    let half = |part: usize| {
        let [from, to] = [own, own + 1].map(|end| mode.widen(ends[part][end], signed));
        let mixed = (from * (64 - weight) + to * weight + 32) >> 6;
        match (signed, mixed < 0) {
            (false, _) => ((mixed * 31) >> 6) as u16,
            (true, false) => ((mixed * 31) >> 5) as u16,
            (true, true) => ((-mixed * 31) >> 5) as u16 | 0x8000,
        }
    };
    [half(R), half(G), half(B)]
}
