//! The operand tuples of a case: the same in every run, whatever other cases there are.
//!
//! The first quarter goes through all pairs of special values ([`crate::specials`]); the rest mixes
//! random bits, small numbers, neighbours of special values, numbers of similar size, and operands that
//! depend on each other, so that sums cancel and comparisons meet equality.

use ptx_frontend::{Opcode, ScalarType};

use crate::case::{Case, Class, Register, Role};
use crate::numbers::Random;
use crate::specials::{Kind, mask};

/// The values of a source.
struct Column {
    kind: Kind,
    lanes: u32,
    specials: Vec<u64>,
    bytes: Vec<u8>,
    width: usize,
}

impl Column {
    fn new(source: &Register, tuples: usize) -> Column {
        let kind = match source.role {
            Role::Guard | Role::Carry => Kind::Predicate,
            _ => Kind::of(source.ty),
        };
        // Registers that are wider than their value hold something in the rest.
        let element = kind.bits();
        let lanes = match kind {
            Kind::Predicate => 1,
            _ => (8 * source.bytes as u32 / element).max(1),
        };
        Column {
            kind,
            lanes,
            specials: kind.specials(),
            bytes: Vec::with_capacity(source.bytes * tuples),
            width: source.bytes,
        }
    }

    fn push(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_le_bytes()[..self.width]);
    }

    /// A value all of whose elements are made by `element`.
    fn fill(&self, mut element: impl FnMut(u32) -> u64) -> u128 {
        let bits = self.kind.bits();
        let value = |value: u128, lane| value | u128::from(element(lane) & mask(bits)) << (lane * bits);
        (0..self.lanes).fold(0, value)
    }
}

/// The input of a case: its columns one after the other.
pub(crate) fn input(case: &Case) -> Vec<u8> {
    let tuples = case.tuples();
    let mut random = Random::new(case.key());
    if case.exhaustive() {
        return (0..tuples as u32).flat_map(|value| (value as u16).to_le_bytes()).collect();
    }
    let mut columns: Vec<Column> = case.sources.iter().map(|source| Column::new(source, tuples)).collect();
    match case.class {
        Class::Lane => lanes(case, &mut columns, &mut random),
        Class::Warp => warps(case, &mut columns, &mut random),
        Class::Matrix => matrices(case, &mut columns, &mut random),
    }
    columns.into_iter().flat_map(|column| column.bytes).collect()
}

/// How an operand is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Random,
    Small,
    Near,
    Special,
    Close,
}

fn lanes(case: &Case, columns: &mut [Column], random: &mut Random) {
    let tuples = case.tuples();
    let product: usize = columns.iter().take(2).map(|column| column.specials.len()).product();
    let pairs = if columns.is_empty() { 0 } else { product.min(tuples / 4) };
    for tuple in 0..pairs {
        let first = columns[0].specials.len();
        for (at, column) in columns.iter_mut().enumerate() {
            let count = column.specials.len();
            let index = match at {
                0 => tuple % count,
                1 => tuple / first + 17 * tuple,
                _ => tuple / first * 31 + 7 * tuple + (tuple >> 3) + at,
            };
            let value = column.fill(|lane| column.specials[(index + 5 * lane as usize) % count]);
            column.push(value);
        }
    }
    let mut values: Vec<u128> = Vec::new();
    for _ in pairs..tuples {
        values.clear();
        let choice = random.below(12);
        let style = match choice {
            0 => Some(Style::Random),
            1 | 2 => Some(Style::Small),
            3 => Some(Style::Near),
            4 => Some(Style::Special),
            5..=8 => Some(Style::Close),
            _ => None,
        };
        let anchor = random.next();
        for (at, column) in columns.iter().enumerate() {
            let related = choice >= 10 && at > 0 && column.width == columns[0].width;
            let value = if related {
                relate(column, &values, random)
            } else {
                let style = style.unwrap_or_else(|| any_style(random));
                column.fill(|_| element(column, style, anchor, random))
            };
            values.push(value);
        }
        for (column, &value) in columns.iter_mut().zip(&values) {
            column.push(value);
        }
    }
}

fn any_style(random: &mut Random) -> Style {
    match random.below(5) {
        0 => Style::Random,
        1 => Style::Small,
        2 => Style::Near,
        3 => Style::Special,
        _ => Style::Close,
    }
}

/// An element; `anchor` is the same for all operands of a tuple.
fn element(column: &Column, style: Style, anchor: u64, random: &mut Random) -> u64 {
    let float = match column.kind {
        Kind::Float(exponent, fraction) => Some((exponent, fraction)),
        Kind::Bits(_) if anchor & 1 != 0 => column.kind.float(),
        Kind::Predicate => return random.next() >> 40,
        _ => None,
    };
    let special = |random: &mut Random| column.specials[random.below(column.specials.len() as u64) as usize];
    match (style, float) {
        (Style::Random, _) => random.next(),
        (Style::Special, _) => special(random),
        (Style::Near, _) => special(random).wrapping_add(random.below(7)).wrapping_sub(3),
        (Style::Small, None) => match random.below(4) {
            0 => random.below(300).wrapping_sub(20),
            1 => random.below(40),
            _ => random.below(64).wrapping_sub(16),
        },
        (Style::Small, Some((exponent, fraction))) => {
            let number = random.below(130) as i64 - 65;
            small(number, random.below(4) as u32, exponent, fraction)
        }
        (Style::Close, None) => {
            let bits = random.below(u64::from(column.kind.bits())) as u32 + 1;
            let value = random.next() & mask(bits);
            if random.below(3) == 0 { value.wrapping_neg() } else { value }
        }
        (Style::Close, Some((exponent, fraction))) => close(exponent, fraction, anchor, random),
    }
}

/// A number divided by a power of two, in a float format; zero where it does not fit.
fn small(number: i64, shift: u32, exponent_bits: u32, fraction_bits: u32) -> u64 {
    let sign = u64::from(number < 0) << (exponent_bits + fraction_bits);
    let magnitude = number.unsigned_abs();
    if magnitude == 0 {
        return sign;
    }
    let top = 63 - magnitude.leading_zeros();
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let exponent = (bias + i64::from(top) - i64::from(shift)).clamp(0, 2 * bias) as u64;
    let fraction = magnitude << 32 << (63 - top - 32);
    let fraction = fraction << 1 >> (64 - fraction_bits);
    sign | exponent << fraction_bits | fraction
}

/// A float near a size that the operands of a tuple share, often with few significant bits.
fn close(exponent_bits: u32, fraction_bits: u32, anchor: u64, random: &mut Random) -> u64 {
    let top = mask(exponent_bits);
    let bias = top >> 1;
    let spread = u64::from(fraction_bits) + 3;
    // Half of the tuples near one, the others anywhere.
    let center = if anchor >> 8 & 1 != 0 { bias + (anchor >> 16 & 7) } else { anchor >> 16 & top };
    let exponent = (center + random.below(2 * spread)).saturating_sub(spread).min(top);
    let ones = mask(fraction_bits);
    let at = random.below(u64::from(fraction_bits));
    let fraction = match random.below(6) {
        0 => 1 << at,
        1 => ones ^ 1 << at,
        2 => ones << at & ones,
        _ => random.next() & ones,
    };
    random.below(2) << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction
}

/// A value that depends on the first operand: the same, a neighbour, the negative, or (for a third) about
/// minus the product of the first two.
fn relate(column: &Column, values: &[u128], random: &mut Random) -> u128 {
    let bits = column.kind.bits();
    if let (Kind::Float(exponent, _), &[a, b]) = (column.kind, values)
        && column.lanes == 1
        && random.below(2) == 0
    {
        let product = if exponent == 11 {
            let product = -(f64::from_bits(a as u64) * f64::from_bits(b as u64));
            // The bits of a host's NaN are not the same everywhere.
            (!product.is_nan()).then_some(product.to_bits())
        } else if bits == 32 {
            let product = -(f32::from_bits(a as u32) * f32::from_bits(b as u32));
            (!product.is_nan()).then_some(product.to_bits().into())
        } else {
            None
        };
        if let Some(product) = product {
            return u128::from(product.wrapping_add(random.below(5)).wrapping_sub(2) & mask(bits));
        }
    }
    let change = random.next();
    column.fill(|lane| {
        let first = (values[0] >> (lane * bits)) as u64;
        match change >> (4 * lane) & 7 {
            0 | 1 => first,
            2 => first.wrapping_add(1),
            3 => first.wrapping_sub(1),
            4 => first ^ 1 << (bits - 1),
            5 => first.wrapping_neg(),
            6 => !first,
            _ => (first ^ 1 << (bits - 1)).wrapping_add(change >> 60),
        }
    })
}

/// Warps with all threads active, some, or one.
fn warps(case: &Case, columns: &mut [Column], random: &mut Random) {
    let shuffles = case.form.opcode() == Opcode::Shfl;
    for warp in 0..case.tuples() / 32 {
        // Threads of a shuffle read those of their part of the warp only: others are undefined.
        let (part, lanes) = if warp % 2 == 0 { (0x1000, 16) } else { (0x1800, 8) };
        let whole = !shuffles || warp % 8 < 4;
        let active = match warp % 8 {
            4.. if shuffles => (mask(lanes) as u32) << (lanes * random.below(32 / u64::from(lanes)) as u32),
            4 | 5 => random.next() as u32 | 1 << random.below(32),
            6 => 1 << random.below(32),
            7 => (0xffff_ffffu64 << random.below(32)) as u32,
            _ => u32::MAX,
        };
        // Few distinct values, so that threads agree.
        let distinct = [1, 2, 4, 0][random.below(4) as usize];
        let style = any_style(random);
        let anchor = random.next();
        for (at, column) in columns.iter_mut().enumerate() {
            let source = &case.sources[at];
            let pool: Vec<u128> =
                (0..distinct).map(|_| column.fill(|_| element(column, style, anchor, random))).collect();
            let uniform = shuffle_bound(random);
            for lane in 0..32 {
                let value = match (shuffles, at) {
                    _ if source.role == Role::Guard => u128::from(active >> lane & 1),
                    // Source lane or distance, and bound with segment mask.
                    (true, 2) if !whole && case.text.contains(".bfly") => {
                        u128::from(random.below(u64::from(lanes)))
                    }
                    (true, 2) if warp % 4 < 3 => u128::from(random.below(34)),
                    (true, 3) if !whole => u128::from(part | uniform & mask(lanes.ilog2())),
                    (true, 3) if warp % 4 < 2 => u128::from(uniform),
                    (true, 3) => u128::from(shuffle_bound(random)),
                    _ if pool.is_empty() => column.fill(|_| element(column, style, anchor, random)),
                    _ => pool[random.below(pool.len() as u64) as usize],
                };
                column.push(value);
            }
        }
    }
}

/// The third operand of a shuffle: usual ones and any.
fn shuffle_bound(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => 0x1f,
        1 => 0,
        2 => [0x181f, 0x1c1f, 0x1e1f, 0x101f, 0x1c00, 0x1807][random.below(6) as usize],
        _ => random.next() & 0x1f1f,
    }
}

/// Tiles of matrices, eight kinds of them in turn.
fn matrices(case: &Case, columns: &mut [Column], random: &mut Random) {
    for tile in 0..case.tuples() / 32 {
        let anchor = random.next();
        for (at, column) in columns.iter_mut().enumerate() {
            let source = &case.sources[at];
            for _ in 0..32 {
                let value = if source.role == Role::Metadata {
                    metadata(case, random)
                } else {
                    column.fill(|_| matrix_element(column, tile % 8, anchor, random))
                };
                column.push(value);
            }
        }
    }
}

/// Which two of four elements, or one of two, a sparse matrix has, for eight groups.
fn metadata(case: &Case, random: &mut Random) -> u128 {
    let one_of_two = case.sources.iter().any(|source| source.ty == ScalarType::Tf32);
    let choices: &[u128] = if one_of_two { &[0x4, 0xe] } else { &[0x4, 0x8, 0x9, 0xc, 0xd, 0xe] };
    (0..8).fold(0, |word, _| word << 4 | choices[random.below(choices.len() as u64) as usize])
}

fn matrix_element(column: &Column, kind: usize, anchor: u64, random: &mut Random) -> u64 {
    let bits = column.kind.bits();
    let Kind::Float(exponent_bits, fraction_bits) = column.kind else {
        return match kind {
            3 => random.below(7).wrapping_sub(3),
            6 => column.specials[random.below(column.specials.len() as u64) as usize],
            7 => [0, u64::MAX, mask(bits) >> 1, 1 << (bits - 1)][random.below(4) as usize],
            _ => random.next(),
        };
    };
    let top = mask(exponent_bits);
    let bias = top >> 1;
    match kind {
        2 => {
            let value = random.next();
            // Few infinities and NaN, or they would be all that is seen.
            let finite = value >> fraction_bits & top != top;
            if finite || random.below(512) == 0 { value } else { value ^ 1 << (bits - 2) }
        }
        3 => small(random.below(33) as i64 - 16, random.below(2) as u32, exponent_bits, fraction_bits),
        4 => close(exponent_bits, fraction_bits, anchor | 1 << 8, random),
        5 => {
            let exponent = random.below(3);
            random.below(2) << (bits - 1) | exponent << fraction_bits | random.next() & mask(fraction_bits)
        }
        6 if random.below(64) == 0 => column.specials[random.below(column.specials.len() as u64) as usize],
        7 => {
            let exponent = top - 1 - random.below(3);
            random.below(2) << (bits - 1) | exponent << fraction_bits | random.next() & mask(fraction_bits)
        }
        _ => {
            let exponent = bias + random.below(9) - 4;
            random.below(2) << (bits - 1) | exponent << fraction_bits | random.next() & mask(fraction_bits)
        }
    }
}
