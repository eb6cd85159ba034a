//! Values at which instructions go wrong, by type.

use ptx_frontend::{ScalarType, TypeClass};

/// How the bits of an element are made up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// True or false.
    Predicate,
    /// An integer of this many bits.
    Integer(u32),
    /// A float of so many exponent and fraction bits.
    Float(u32, u32),
    /// This many bits that may be either.
    Bits(u32),
}

impl Kind {
    /// The kind of a type's elements.
    pub(crate) fn of(ty: ScalarType) -> Kind {
        use ScalarType as T;
        match ty {
            T::F16 | T::F16x2 => Kind::Float(5, 10),
            T::Bf16 | T::Bf16x2 => Kind::Float(8, 7),
            T::Tf32 | T::F32 | T::F32x2 => Kind::Float(8, 23),
            T::F64 => Kind::Float(11, 52),
            T::E4m3 | T::E4m3x2 | T::E4m3x4 => Kind::Float(4, 3),
            T::E5m2 | T::E5m2x2 | T::E5m2x4 => Kind::Float(5, 2),
            T::Pred => Kind::Predicate,
            _ if ty.class() == TypeClass::Bits => Kind::Bits((ty.bits() / ty.lanes()).min(64)),
            _ => Kind::Integer(ty.bits() / ty.lanes()),
        }
    }

    /// Bits of an element.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Kind::Predicate => 1,
            Kind::Integer(bits) | Kind::Bits(bits) => bits,
            Kind::Float(exponent, fraction) => 1 + exponent + fraction,
        }
    }

    /// What bits are taken for where a float is wanted: exponent and fraction bits.
    pub(crate) fn float(self) -> Option<(u32, u32)> {
        match self {
            Kind::Float(exponent, fraction) => Some((exponent, fraction)),
            Kind::Bits(16) => Some((5, 10)),
            Kind::Bits(32) => Some((8, 23)),
            Kind::Bits(64) => Some((11, 52)),
            _ => None,
        }
    }

    /// The special values.
    pub(crate) fn specials(self) -> Vec<u64> {
        let mask = mask(self.bits());
        let mut values = match self {
            Kind::Predicate => vec![0, 1],
            Kind::Integer(bits) => integers(bits),
            Kind::Float(exponent, fraction) => floats(exponent, fraction),
            Kind::Bits(bits) => {
                let mut values = integers(bits);
                if let Some((exponent, fraction)) = self.float() {
                    values.truncate(32);
                    values.extend(floats(exponent, fraction).into_iter().step_by(2));
                }
                values
            }
        };
        values.iter_mut().for_each(|value| *value &= mask);
        let mut seen = std::collections::HashSet::new();
        values.retain(|&value| seen.insert(value));
        values
    }
}

/// The lowest bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

fn integers(bits: u32) -> Vec<u64> {
    let top = 1u64 << (bits - 1);
    let half = 1u64 << (bits / 2);
    let around = [0, 1, 2, 3, 4, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256];
    let minus = |value: u64| value.wrapping_neg();
    let edges = [
        minus(1),
        minus(2),
        top,
        top - 1,
        top + 1,
        top.wrapping_sub(2),
        half,
        half - 1,
        half + 1,
        half >> 1,
        minus(half),
        minus(3),
        minus(8),
        minus(32),
        minus(128),
        minus(129),
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        0x0f0f_0f0f_0f0f_0f0f,
        0x8080_8080_8080_8080,
        0x7f7f_7f7f_7f7f_7f7f,
        0x0123_4567_89ab_cdef,
        0xff00_ff00_ff00_ff00,
        top >> 1,
        0x7fff,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x00ff_ffff,
        0x0080_0000,
        1000,
    ];
    // The first ones are those that other types share.
    edges[..12].iter().chain(&around).chain(&edges[12..]).copied().collect()
}

/// Magnitudes with both signs.
fn floats(exponent_bits: u32, fraction_bits: u32) -> Vec<u64> {
    let fraction = fraction_bits;
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let infinity = ((1u64 << exponent_bits) - 1) << fraction;
    let power = |exponent: i64| ((exponent + bias).clamp(0, 2 * bias + 1) as u64) << fraction;
    let one = power(0);
    let half_ulp = |value: u64| value + (1 << (fraction - 1));
    let mut values = vec![
        0,
        1,
        2,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        1 << (fraction - 1),
        one,
        one + 1,
        one - 1,
        half_ulp(one),
        power(1),
        power(1) + (1 << (fraction - 2).min(fraction)),
        power(-1),
        power(-1) + 1,
        power(-2),
        infinity - 1,
        infinity,
        infinity + 1,
        half_ulp(infinity),
        infinity + (1 << fraction) - 1,
        half_ulp(infinity) + 1,
        infinity - (1 << fraction),
    ];
    // Limits of narrower formats and of integers, and where they round.
    for exponent in
        [-150, -149, -133, -126, -25, -24, -17, -14, -10, -9, -6, 3, 7, 8, 9, 15, 16, 23, 24, 31, 32]
    {
        values.push(power(exponent));
    }
    for exponent in [7, 8, 15, 16, 31, 32, 63, 64, 127, 128] {
        values.push(power(exponent).saturating_sub(1));
        values.push(power(exponent).min(infinity));
    }
    values.push(power(fraction.into()) + 1);
    values.push(power(i64::from(fraction) - 1) + 1);
    let sign = 1 << (exponent_bits + fraction);
    values.iter().flat_map(|&value| [value, value | sign]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_special_values() {
        for &ty in ScalarType::ALL {
            let kind = Kind::of(ty);
            let values = kind.specials();
            assert!(!values.is_empty() && values.len() <= 128, "{ty}: {}", values.len());
            assert!(values.iter().all(|&value| value <= mask(kind.bits())), "{ty}");
        }
        let single = Kind::of(ScalarType::F32).specials();
        for wanted in
            [0, 1 << 31, 0x7f80_0000, 0xff80_0001, 0x7fff_ffff, 0x4f00_0000, 0x4eff_ffff, 0x007f_ffff]
        {
            assert!(single.contains(&wanted), "{wanted:#x}");
        }
        let word = Kind::of(ScalarType::S32).specials();
        for wanted in [0, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 32, 31, 33] {
            assert!(word.contains(&wanted), "{wanted:#x}");
        }
    }
}
