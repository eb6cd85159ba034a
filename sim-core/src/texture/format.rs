//! Formats of texels: what their bytes mean to a read, and what a border's colour becomes in them.

use super::blocks::Blocks;
use super::coordinate::{WEIGHT_BITS, WHOLE};
use super::filter;
use super::half;
use super::srgb;
use numerics::{Rounding, cvt::f16_f32};

/// What a channel is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// Unsigned integers of so many bytes: 1, 2 or 4.
    Unsigned(u8),
    /// Signed integers of so many bytes: 1, 2 or 4.
    Signed(u8),
    /// Floats of so many bytes: 2 or 4.
    Float(u8),
    /// One of four unsigned fractions in 32 bits: three of ten bits, then one of two.
    Packed,
}

/// Bits of a packed texel's channels.
const PACKED_BITS: [u8; 4] = [10, 10, 10, 2];

impl Channel {
    /// All of them, with the names of their types in launch files.
    pub const ALL: [(Channel, &'static str); 9] = [
        (Channel::Unsigned(1), "u8"),
        (Channel::Unsigned(2), "u16"),
        (Channel::Unsigned(4), "u32"),
        (Channel::Signed(1), "i8"),
        (Channel::Signed(2), "i16"),
        (Channel::Signed(4), "i32"),
        (Channel::Float(2), "f16"),
        (Channel::Float(4), "f32"),
        (Channel::Packed, "u10_10_10_2"),
    ];

    /// Bytes of one; of a packed one, a quarter of its texel's.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Float(bytes) => bytes as u32,
            Self::Packed => 1,
        }
    }

    /// Where the bits of channel `number` are: the word of a texel, their place in it, and ones for each.
    pub(super) const fn field(self, number: usize) -> (usize, u32, u32) {
        match (self, self.bytes()) {
            (Self::Packed, _) => (0, 10 * number as u32, (1 << PACKED_BITS[number]) - 1),
            (_, 1) => (0, 8 * number as u32, 0xff),
            (_, 2) => (number / 2, 16 * (number as u32 & 1), 0xffff),
            _ => (number, 0, u32::MAX),
        }
    }

    /// The bits of channel `number` of a texel.
    pub(super) fn of(self, texel: &[u32; 4], number: usize) -> u32 {
        let (word, shift, ones) = self.field(number);
        texel[word] >> shift & ones
    }
}

/// The texels of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// Each channel.
    pub channel: Channel,
    /// 1, 2 or 4; of colours without opacity, which only blocks hold, 3.
    pub channels: u8,
    /// How they are compressed, if they are: what the channels are then is what comes of it.
    pub blocks: Option<Blocks>,
    /// Whether a fourth channel that they lack reads as one, not as zero.
    pub opaque: bool,
    /// Whether formatted stores take floats for its integers: fractions of the largest one.
    pub fractions: bool,
}

impl Format {
    /// So many channels, not compressed.
    pub const fn plain(channel: Channel, channels: u8) -> Format {
        Format {
            channel,
            channels,
            blocks: None,
            opaque: false,
            fractions: matches!(channel, Channel::Packed),
        }
    }

    /// What compressed texels become. One and two channels have 16 bits, which interpolation fills. The fourth channel reads as
    /// one in arrays of blocks, and as zero in views of other arrays as such.
    pub const fn compressed(blocks: Blocks, opaque: bool) -> Format {
        let (channel, channels) = match blocks {
            Blocks::Bc1 | Blocks::Bc2 | Blocks::Bc3 | Blocks::Bc7 => (Channel::Unsigned(1), 4),
            Blocks::Bc6 | Blocks::Bc6Signed => (Channel::Float(2), 3),
            Blocks::Bc4 => (Channel::Unsigned(2), 1),
            Blocks::Bc4Signed => (Channel::Signed(2), 1),
            Blocks::Bc5 => (Channel::Unsigned(2), 2),
            Blocks::Bc5Signed => (Channel::Signed(2), 2),
        };
        Format { channel, channels, blocks: Some(blocks), opaque, fractions: false }
    }

    /// Bytes of a texel, or of a block of them.
    pub const fn bytes(self) -> u32 {
        match self.blocks {
            Some(blocks) => blocks.bytes(),
            None => self.channel.bytes() * self.channels as u32,
        }
    }

    /// How many slices of planes a filter adds at once, as an H200 does with texels of four channels.
    pub(super) const fn slices_at_once(self) -> usize {
        if self.channel.bytes() * self.channels as u32 > 4 { 2 } else { filter::MOST_AT_ONCE }
    }

    /// The channels that launch files say: of blocks, 4 where the fourth one reads as one, or else 1.
    pub const fn said_channels(self) -> u8 {
        match self.blocks {
            None => self.channels,
            Some(_) if self.opaque => 4,
            Some(_) => 1,
        }
    }

    /// What a read gives for channels that there are not.
    pub(super) const fn missing(self) -> [u32; 4] {
        [0, 0, 0, if self.opaque { 1.0f32.to_bits() } else { 0 }]
    }
}

/// How a channel is read: what its values are while they are weighted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Bits of an f32.
    Single,
    /// An f16, as bits of an f32.
    Half,
    /// A fraction of the largest integer of so many bytes.
    Unsigned(u8),
    /// The same with a sign; the smallest integer counts as the next one.
    Signed(u8),
    /// A fraction of the largest integer of so many bits, 2 or 10: filters have 16, which repeat them.
    Packed(u8),
    /// An sRGB byte.
    Srgb,
    /// An integer as it is, sign-extended.
    Integer(Channel),
}

impl Kind {
    /// How channel `number` of a format is read.
    pub(super) fn of(format: Format, number: usize, integers: bool, srgb: bool) -> Self {
        match format.channel {
            Channel::Float(4) => Self::Single,
            Channel::Float(_) => Self::Half,
            Channel::Packed => Self::Packed(PACKED_BITS[number]),
            channel if integers && format.blocks.is_none() => Self::Integer(channel),
            Channel::Unsigned(1) if srgb && (number == 0 || number < 3 && format.channels == 4) => Self::Srgb,
            Channel::Unsigned(bytes @ (1 | 2)) => Self::Unsigned(bytes),
            Channel::Signed(bytes @ (1 | 2)) => Self::Signed(bytes),
            channel => Self::Integer(channel),
        }
    }

    /// The value of a channel's bits, which stand in the low bits of a word.
    #[inline(always)]
    pub(super) fn decode(self, bits: u32) -> u32 {
        match self {
            Self::Single => bits,
            Self::Half => half::to_single(bits as u16),
            Self::Signed(1) | Self::Integer(Channel::Signed(1)) => i32::from(bits as i8) as u32,
            Self::Signed(_) | Self::Integer(Channel::Signed(2)) => i32::from(bits as i16) as u32,
            Self::Packed(2) => bits * 0x5555,
            Self::Packed(_) => bits << 6 | bits >> 4,
            Self::Unsigned(_) | Self::Srgb | Self::Integer(_) => bits,
        }
    }

    /// The value of the border's colour.
    pub(super) fn border(self, bits: u32) -> u32 {
        let colour = f32::from_bits(bits);
        let colour = if colour.is_nan() { 0.0 } else { colour };
        match self {
            Self::Single => bits,
            Self::Half => {
                // Cut, and no infinity.
                let cut = (colour.clamp(-65504.0, 65504.0)).to_bits() & !0x1fff;
                if f32::from_bits(cut).abs() < 2f32.powi(-14) {
                    let steps = (colour * 2f32.powi(24)).trunc();
                    (steps * 2f32.powi(-24)).to_bits()
                } else {
                    cut
                }
            }
            Self::Unsigned(bytes) => self.decode(steps(colour.max(0.0), 8 * u32::from(bytes)) as u32),
            Self::Signed(bytes) => self.decode(steps(colour, 8 * u32::from(bytes) - 1) as u32),
            // With the filter's 16 bits.
            Self::Packed(_) => steps(colour.max(0.0), 16) as u32,
            Self::Srgb => srgb::encoded(colour.clamp(0.0, 1.0)).into(),
            Self::Integer(channel) => match channel.bytes() {
                1 => self.decode(bits & 0xff),
                2 => self.decode(bits & 0xffff),
                _ => bits,
            },
        }
    }

    /// What a read gives for a value alone.
    #[inline(always)]
    pub(super) fn result(self, value: u32) -> u32 {
        match self {
            Self::Unsigned(1) => ratio(value as i32, 255),
            Self::Unsigned(_) => ratio(value as i32, 65535),
            Self::Signed(1) => ratio((value as i32).max(-127), 127),
            Self::Signed(_) => ratio((value as i32).max(-32767), 32767),
            Self::Packed(digits) => ratio((value >> (16 - digits)) as i32, (1 << digits) - 1),
            Self::Srgb => srgb::linear(value as u8),
            Self::Single | Self::Half | Self::Integer(_) => value,
        }
    }

    /// What a read gives for weighted values. Integers that are read as such are not filtered.
    pub(super) fn filtered(self, terms: filter::Terms<'_>) -> u32 {
        match self {
            Self::Single => filter::single(terms),
            Self::Half => filter::half(terms),
            Self::Srgb => filter::srgb(terms),
            Self::Unsigned(_) | Self::Signed(_) | Self::Packed(_) => self.fraction(terms.sum(), terms.bits),
            // Words are cut.
            Self::Integer(Channel::Unsigned(4)) => (terms.unsigned_sum() >> terms.bits) as u32,
            Self::Integer(channel) if channel.bytes() == 4 => (terms.sum() >> terms.bits) as u32,
            Self::Integer(_) => filter::nearest(terms.sum(), terms.bits) as u32,
        }
    }

    /// Whether weighted values are fractions of an integer, or floats, and not of some other kind.
    pub(super) const fn is_plain(self) -> bool {
        !matches!(self, Self::Srgb | Self::Integer(_))
    }

    /// The fraction that a sum of weighted integers is, whose weights have so many bits.
    #[inline(always)]
    pub(super) fn fraction(self, sum: i64, bits: u32) -> u32 {
        match self {
            // Bytes become 16 bits with the sum.
            Self::Unsigned(1) => ratio(filter::nearest(257 * sum, bits), 65535),
            Self::Signed(1) => {
                let sum = 258 * sum + ((sum >> (bits + 4)) << (bits - 3));
                ratio(filter::nearest(sum, bits).max(-32767), 32767)
            }
            Self::Signed(_) => ratio(filter::nearest(sum, bits).max(-32767), 32767),
            _ => ratio(filter::nearest(sum, bits), 65535),
        }
    }

    /// What a gather gives for a value: signed bytes and packed channels pass the filter's 16 bits, and of a half that is no
    /// number the filter keeps nothing else.
    pub(super) fn gathered(self, value: u32) -> u32 {
        if !matches!(self, Self::Signed(1) | Self::Packed(_) | Self::Half) {
            return self.result(value);
        }
        let none = (0, 0);
        let slices = &[[(WHOLE, value), none, none, none]];
        self.filtered(filter::Terms { slices, ends: 0, bits: WEIGHT_BITS })
    }
}

/// A float as a fraction of the largest integer of so many bits, as an H200 stores it and takes a border's colour: it is cut to
/// four bits more before it is rounded, and ties go toward zero.
fn steps(x: f32, bits: u32) -> i32 {
    rounded_steps(x, bits, (1 << (bits + 3)) - 1)
}

fn rounded_steps(x: f32, bits: u32, half: u64) -> i32 {
    let cut = (f64::from(x.abs().min(1.0)) * f64::from(1u32 << (bits + 4))).floor() as u64;
    let steps = ((cut * ((1 << bits) - 1) + half) >> (bits + 4)) as i32;
    if x < 0.0 { -steps } else { steps }
}

/// A float as a fraction of three, by the first four of its ten bits. Ties of those go up.
fn quarters(x: f32) -> u32 {
    (3 * (rounded_steps(x, 10, 1 << 13) as u32 >> 6) + 9) >> 4
}

/// The bits of channel `number` that a formatted store makes of a float, where a format takes those for integers. NaN is zero.
pub(crate) fn stored_fraction(channel: Channel, number: usize, bits: u32) -> u32 {
    let x = f32::from_bits(bits);
    let x = if x.is_nan() { 0.0 } else { x };
    match channel {
        Channel::Packed if PACKED_BITS[number] == 2 => quarters(x.max(0.0)),
        Channel::Packed => steps(x.max(0.0), PACKED_BITS[number].into()) as u32,
        Channel::Signed(bytes) => {
            let bits = 8 * u32::from(bytes);
            steps(x, bits - 1) as u32 & ((1 << bits) - 1)
        }
        channel => steps(x.max(0.0), 8 * channel.bytes()) as u32,
    }
}

/// The bits of an f16 that a formatted store makes of a float: cut, and of a NaN the upper bits, of which one is left.
pub(crate) fn stored_half(bits: u32) -> u32 {
    if f32::from_bits(bits).is_nan() {
        let payload = bits >> 13 & 0x3ff;
        return bits >> 31 << 15 | 0x7c00 | payload.max(1);
    }
    u32::from(f16_f32(bits, Rounding::Rz))
}

/// A fraction of `most`, as the nearest float.
#[inline(always)]
fn ratio(value: i32, most: i32) -> u32 {
    (if value == 0 { 0.0 } else { (f64::from(value) / f64::from(most)) as f32 }).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_halves_are_those_of_an_h200() {
        for (bits, half) in [
            (0x7f80_0001, 0x7c01),
            (0x7fc5_a9d7, 0x7e2d),
            (0x7fff_ffff, 0x7fff),
            (0xff80_2000, 0xfc01),
            (0xff80_4000, 0xfc02),
            (0x7f80_0000, 0x7c00),
            (0x477f_ffff, 0x7bff),
            (0xc7ff_ffff, 0xfbff),
        ] {
            assert_eq!(stored_half(bits), half, "{bits:#x}");
        }
    }

    #[test]
    fn borders_are_rounded_as_on_an_h200() {
        let border = |kind: Kind, colour: f32| kind.border(colour.to_bits()) as i32;
        for (kind, of_half) in [
            (Kind::Unsigned(1), 127),
            (Kind::Unsigned(2), 32767),
            (Kind::Signed(1), 63),
            (Kind::Signed(2), 16383),
            (Kind::Packed(10), 32767),
        ] {
            assert_eq!(border(kind, 0.5), of_half, "{kind:?}");
        }
        assert_eq!([0.2, 0.75, 0.5517867].map(|x| border(Kind::Unsigned(1), x)), [51, 191, 141]);
        assert_eq!([-0.5, -3.0].map(|x| border(Kind::Signed(1), x)), [-63, -127]);
    }
}
