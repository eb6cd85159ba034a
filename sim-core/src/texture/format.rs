//! Formats of texels: what their bytes mean to a read, and what a border's colour becomes in them.

use super::coordinate::{WEIGHT_BITS, WHOLE};
use super::filter;
use super::half;
use super::srgb;

/// What a channel is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// Unsigned integers of so many bytes: 1, 2 or 4.
    Unsigned(u8),
    /// Signed integers of so many bytes: 1, 2 or 4.
    Signed(u8),
    /// Floats of so many bytes: 2 or 4.
    Float(u8),
}

impl Channel {
    /// All of them, with the names of their types in launch files.
    pub const ALL: [(Channel, &'static str); 8] = [
        (Channel::Unsigned(1), "u8"),
        (Channel::Unsigned(2), "u16"),
        (Channel::Unsigned(4), "u32"),
        (Channel::Signed(1), "i8"),
        (Channel::Signed(2), "i16"),
        (Channel::Signed(4), "i32"),
        (Channel::Float(2), "f16"),
        (Channel::Float(4), "f32"),
    ];

    /// Bytes of one.
    pub const fn bytes(self) -> u32 {
        let (Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Float(bytes)) = self;
        bytes as u32
    }
}

/// The texels of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// Each channel.
    pub channel: Channel,
    /// 1, 2 or 4.
    pub channels: u8,
}

impl Format {
    /// Bytes of a texel.
    pub const fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels as u32
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
            channel if integers => Self::Integer(channel),
            Channel::Unsigned(1) if srgb && (number == 0 || number < 3 && format.channels == 4) => Self::Srgb,
            Channel::Unsigned(bytes @ (1 | 2)) => Self::Unsigned(bytes),
            Channel::Signed(bytes @ (1 | 2)) => Self::Signed(bytes),
            channel => Self::Integer(channel),
        }
    }

    /// The value of a channel's bits, which stand in the low bits of a word.
    pub(super) fn decode(self, bits: u32) -> u32 {
        match self {
            Self::Single => bits,
            Self::Half => half::to_single(bits as u16),
            Self::Signed(1) | Self::Integer(Channel::Signed(1)) => i32::from(bits as i8) as u32,
            Self::Signed(_) | Self::Integer(Channel::Signed(2)) => i32::from(bits as i16) as u32,
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
            Self::Unsigned(bytes) => {
                let most = if bytes == 1 { 255.0 } else { 65535.0 };
                self.decode(steps(colour.max(0.0), most) as u32)
            }
            Self::Signed(bytes) => {
                let most = if bytes == 1 { 127.0 } else { 32767.0 };
                self.decode(steps(colour, most) as u32)
            }
            Self::Srgb => srgb::nearest(colour.clamp(0.0, 1.0)).into(),
            Self::Integer(channel) => match channel.bytes() {
                1 => self.decode(bits & 0xff),
                2 => self.decode(bits & 0xffff),
                _ => bits,
            },
        }
    }

    /// What a read gives for a value alone.
    pub(super) fn result(self, value: u32) -> u32 {
        match self {
            Self::Unsigned(1) => ratio(value as i32, 255),
            Self::Unsigned(_) => ratio(value as i32, 65535),
            Self::Signed(1) => ratio((value as i32).max(-127), 127),
            Self::Signed(_) => ratio((value as i32).max(-32767), 32767),
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
            // Bytes become 16 bits with the sum.
            Self::Unsigned(1) => ratio(terms.nearest(257 * terms.sum()), 65535),
            Self::Unsigned(_) => ratio(terms.nearest(terms.sum()), 65535),
            Self::Signed(1) => {
                let sum = terms.sum();
                ratio(
                    terms.nearest(258 * sum + ((sum >> (terms.bits + 4)) << (terms.bits - 3))).max(-32767),
                    32767,
                )
            }
            Self::Signed(_) => ratio(terms.nearest(terms.sum()).max(-32767), 32767),
            // Words are cut.
            Self::Integer(Channel::Unsigned(4)) => (terms.unsigned_sum() >> terms.bits) as u32,
            Self::Integer(channel) if channel.bytes() == 4 => (terms.sum() >> terms.bits) as u32,
            Self::Integer(_) => terms.nearest(terms.sum()) as u32,
        }
    }

    /// What a gather gives for a value: a signed byte passes the filter's 16 bits.
    pub(super) fn gathered(self, value: u32) -> u32 {
        if self != Self::Signed(1) {
            return self.result(value);
        }
        let none = (0, 0);
        self.filtered(filter::Terms { slices: &[[(WHOLE, value), none, none, none]], bits: WEIGHT_BITS })
    }
}

/// The integer of a border's colour: up from nine sixteenths on, as on an H200.
fn steps(colour: f32, most: f64) -> i32 {
    let steps = (f64::from(colour.abs().min(1.0)) * most + 7.0 / 16.0).floor() as i32;
    if colour < 0.0 { -steps } else { steps }
}

/// A fraction of `most`, as the nearest float.
fn ratio(value: i32, most: i32) -> u32 {
    (if value == 0 { 0.0 } else { (f64::from(value) / f64::from(most)) as f32 }).to_bits()
}
