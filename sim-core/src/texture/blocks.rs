//! Block compression: four times four texels in 8 or 16 bytes (Khronos Data Format Specification 1.3, 19 and 20), with the
//! roundings of an H100.

mod bc6;
mod bc7;
mod partition;

/// How texels are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Blocks {
    /// Colours, and one bit of opacity.
    Bc1,
    /// Colours and four bits of opacity.
    Bc2,
    /// Colours and interpolated opacity.
    Bc3,
    /// One channel.
    Bc4,
    /// One channel with a sign.
    Bc4Signed,
    /// Two channels.
    Bc5,
    /// Two channels with signs.
    Bc5Signed,
    /// Colours of halves.
    Bc6,
    /// Colours of halves with signs.
    Bc6Signed,
    /// Colours and opacity in eight modes.
    Bc7,
}

/// Texels of a block's side.
pub const SIDE: u32 = 4;

impl Blocks {
    /// All of them, with their names in launch files.
    pub const ALL: [(Blocks, &'static str); 10] = [
        (Blocks::Bc1, "bc1"),
        (Blocks::Bc2, "bc2"),
        (Blocks::Bc3, "bc3"),
        (Blocks::Bc4, "bc4"),
        (Blocks::Bc4Signed, "bc4_signed"),
        (Blocks::Bc5, "bc5"),
        (Blocks::Bc5Signed, "bc5_signed"),
        (Blocks::Bc6, "bc6h"),
        (Blocks::Bc6Signed, "bc6h_signed"),
        (Blocks::Bc7, "bc7"),
    ];

    /// Whether its texels are floats, not fractions.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Bc6 | Self::Bc6Signed)
    }

    /// Bytes of a block.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Bc1 | Self::Bc4 | Self::Bc4Signed => 8,
            _ => 16,
        }
    }

    /// A texel of a block, by its number along rows, as it would stand in memory alone.
    pub(super) fn texel(self, words: [u32; 4], number: u32) -> [u32; 4] {
        let half = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
        let whole = || u128::from(half(0)) | u128::from(half(2)) << 64;
        let bytes = |bytes: [u8; 4]| [u32::from_le_bytes(bytes), 0, 0, 0];
        match self {
            Self::Bc1 => bytes(colour(half(0), number, true)),
            Self::Bc2 => {
                let [r, g, b, _] = colour(half(2), number, false);
                let opacity = (half(0) >> (4 * number) & 15) as u8;
                bytes([r, g, b, opacity * 17])
            }
            Self::Bc3 => {
                let [r, g, b, _] = colour(half(2), number, false);
                bytes([r, g, b, byte(half(0), number)])
            }
            Self::Bc4 | Self::Bc4Signed => [word(half(0), number, self == Self::Bc4Signed), 0, 0, 0],
            Self::Bc5 | Self::Bc5Signed => {
                let [x, y] = [0, 2].map(|at| word(half(at), number, self == Self::Bc5Signed));
                [x | y << 16, 0, 0, 0]
            }
            Self::Bc6 | Self::Bc6Signed => {
                let [r, g, b] = bc6::texel(whole(), number, self == Self::Bc6Signed).map(u32::from);
                [r | g << 16, b, 0, 0]
            }
            Self::Bc7 => bytes(bc7::texel(whole(), number)),
        }
    }
}

/// The colour of a texel: one of two of five, six and five bits, or one of those between them. Where the first is not the larger
/// one and `cut_out` allows it, there is one between them, and one that is not opaque.
fn colour(block: u64, number: u32, cut_out: bool) -> [u8; 4] {
    let ends = [block as u32 & 0xffff, block as u32 >> 16 & 0xffff];
    let index = (block >> (32 + 2 * number) & 3) as usize;
    let is_split = cut_out && ends[0] <= ends[1];
    if is_split && index == 3 {
        return [0; 4];
    }
    // Parts of the first and the second end, in sixths.
    let [first, second] = [[6, 0], [0, 6], if is_split { [3, 3] } else { [4, 2] }, [2, 4]][index];
    // Five bits are not expanded first: an end is x * 33 / 4.
    let five = |shift: u32| {
        let [from, to] = ends.map(|end| end >> shift & 31);
        ((first * from + second * to) * 11 / 8) as u8
    };
    let [from, to] = ends.map(|end| end >> 5 & 63).map(|green| (green << 2 | green >> 4) as i32);
    // From the nearer end, by a half or five sixteenths of the way, and a 1024th.
    let (near, way) = if first >= second { (from, to - from) } else { (to, from - to) };
    let way = match index {
        0 | 1 => 0,
        _ if is_split => way * 128 + way / 4,
        _ => way * 80 + way / 4,
    };
    [five(11), (near + ((way + 128) >> 8)) as u8, five(0), 255]
}

/// Where a channel of a texel lies between two ends.
enum Step {
    /// At the least and the greatest value.
    Least,
    Most,
    /// So many steps behind an end on the way to the other, which has so many 256ths to a step.
    From {
        end: usize,
        steps: i32,
        size: i32,
    },
}

/// Where the channel of a texel lies: eight values, or six and both extremes, `as_eight`.
fn step(block: u64, number: u32, as_eight: bool) -> Step {
    // Steps are counted from the nearer end, as powers of two.
    let (end, steps) = match (block >> (16 + 3 * number) & 7, as_eight) {
        (0, _) => (0, 0),
        (1, _) => (1, 0),
        (6, false) => return Step::Least,
        (7, false) => return Step::Most,
        (2, _) => (0, 1),
        (3, _) => (0, 2),
        (4, true) => (1, 4),
        (5, true) => (0, 4),
        (6, _) | (4, _) => (1, 2),
        (_, _) => (1, 1),
    };
    Step::From { end, steps, size: if as_eight { 36 } else { 48 } }
}

/// A channel of a texel as a byte.
fn byte(block: u64, number: u32) -> u8 {
    let ends = [block as i32 & 0xff, (block >> 8) as i32 & 0xff];
    match step(block, number, ends[0] > ends[1]) {
        Step::Least => 0,
        Step::Most => 255,
        Step::From { end, steps, size } => {
            let way = (ends[1 - end] - ends[end]) * steps;
            (ends[end] + ((way * size + way / 8 + 128) >> 8)) as u8
        }
    }
}

/// A channel of a texel as 16 bits, or 15 and a sign.
fn word(block: u64, number: u32, signed: bool) -> u32 {
    let bytes = [block as u8, (block >> 8) as u8];
    let most = if signed { 0x7fff } else { 0xffff };
    let ends = bytes.map(|byte| if signed { i32::from(byte as i8) } else { i32::from(byte) });
    let value = match step(block, number, ends[0] > ends[1]) {
        Step::Least if signed => -most,
        Step::Least => 0,
        Step::Most => most,
        Step::From { end, steps, size } => {
            let ends = ends.map(|end| end.max(-127));
            let near = ends[end];
            // All bits set stay so.
            let wide = if signed { 258 * near + (near.abs() >> 6) * near.signum() } else { 257 * near };
            wide + (ends[1 - end] - near) * steps * size
        }
    };
    value as u32 & 0xffff
}
