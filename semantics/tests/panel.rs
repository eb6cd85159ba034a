//! The panel of matrix instructions computes what the element arithmetic of `numerics` says, one element after the other,
//! for all types and SIMD levels, on operands that are hard to add up.

use numerics::mma::{self, Element};
use ptx_frontend::ScalarType as T;
use semantics::lanes::{RegisterSlot, Registers, Row, SimdLevel, Slot};
use semantics::matrix::panel::{Accumulators, COLUMNS, Fragments, Panel, Product, Sums};
use semantics::matrix::{PanelFns, Selection, per_register};

const ROWS: usize = 16;

/// Random numbers; the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32 ^ self.0 as u32 >> 7
    }

    fn below(&mut self, end: u32) -> u32 {
        (u64::from(self.next()) * u64::from(end)).wrapping_shr(32) as u32
    }
}

/// Where floats come from.
#[derive(Clone, Copy, Debug)]
enum Set {
    /// All bits: infinities and NaN among them.
    Any,
    /// Near one.
    Near,
    /// All exponents of finite numbers.
    Far,
    /// Few fraction bits, so that sums cancel, with one large number now and then.
    Cancelling,
    /// Zeros with both signs, subnormal numbers, and few others.
    Small,
    /// Nothing but zeros and subnormal numbers.
    Nothing,
    /// The largest finite numbers, with one sign.
    Large,
    /// Products near the smallest results, or below.
    Low,
    /// Products near the largest results, or above.
    High,
    /// Finite ones near one, and now and then an infinity or a NaN.
    Special,
    /// The same, with zeros.
    Holes,
    /// All exponents of finite numbers, and now and then an infinity or a NaN.
    FarSpecial,
}

const SETS: [Set; 12] = [
    Set::Any,
    Set::Near,
    Set::Far,
    Set::Cancelling,
    Set::Small,
    Set::Nothing,
    Set::Large,
    Set::Low,
    Set::High,
    Set::Special,
    Set::Holes,
    Set::FarSpecial,
];
/// How often each set is tried with each product.
const TURNS: usize = 2;

/// Exponent and fraction bits of a float.
fn format(ty: T) -> (u32, u32) {
    match ty {
        T::F16 => (5, 10),
        T::Bf16 => (8, 7),
        T::E4m3 => (4, 3),
        T::E5m2 => (5, 2),
        // .tf32 has bits below that do not count.
        _ => (8, 23),
    }
}

/// A float of a set.
fn float(random: &mut Random, set: Set, (exponent_bits, fraction_bits): (u32, u32)) -> u32 {
    let end = 1u32 << exponent_bits;
    let bias = end / 2 - 1;
    let any = random.next() & ((1 << fraction_bits) - 1);
    let sign = random.next() & 1;
    let few = any & !0u32 << (fraction_bits - 2);
    let (sign, exponent, fraction) = match set {
        Set::Any => (sign, random.below(end), any),
        Set::Near => (sign, bias - 1 + random.below(3), any),
        Set::Far => (sign, random.below(end - 1), any),
        Set::Cancelling if random.below(9) == 0 => (sign, bias + random.below(bias), few),
        Set::Cancelling => (sign, bias + random.below(2), few),
        Set::Small if random.below(4) == 0 => (sign, bias - random.below(bias), any),
        Set::Small | Set::Nothing => (sign, 0, if random.below(2) == 0 { 0 } else { any }),
        Set::Large => (0, end - 2, any | 1 << (fraction_bits - 1)),
        Set::Low => (sign, (bias / 2 + random.below(12)).saturating_sub(8), any),
        Set::High => (sign, (bias + bias / 2 + random.below(8)).saturating_sub(4).min(end - 2), any),
        Set::Special | Set::Holes | Set::FarSpecial if random.below(40) == 0 => {
            (sign, end - 1, if random.below(2) == 0 { 0 } else { any })
        }
        Set::Holes if random.below(3) == 0 => (sign, 0, 0),
        Set::Special | Set::Holes => (sign, bias, any),
        Set::FarSpecial => (sign, random.below(end - 1), any),
    };
    sign << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction
}

/// A word of elements.
fn word(random: &mut Random, set: Set, ty: T) -> u32 {
    match ty {
        T::F16 | T::Bf16 => (0..2).fold(0, |word, _| word << 16 | float(random, set, format(ty))),
        T::E4m3 | T::E5m2 => (0..4).fold(0, |word, _| word << 8 | float(random, set, format(ty))),
        T::Tf32 | T::F32 => float(random, set, format(ty)),
        _ => random.next(),
    }
}

/// The element of a word at a place.
fn element(ty: T, word: u32, at: usize, negated: bool) -> Element {
    let bits = word >> (at as u32 * 32 / u32::from(per_register(ty)));
    let sign = |bit: u32| if negated { bits ^ bit } else { bits };
    match ty {
        T::F16 => Element::f16(sign(0x8000) as u16),
        T::Bf16 => Element::bf16(sign(0x8000) as u16),
        T::Tf32 => Element::tf32(sign(0x8000_0000)),
        T::E4m3 => Element::e4m3(sign(0x80) as u8),
        T::E5m2 => Element::e5m2(sign(0x80) as u8),
        T::S8 => Element::integer(bits as i8 as i32),
        T::U8 => Element::integer(bits as u8 as i32),
        _ => Element::integer(bits as i32),
    }
}

/// Registers of a warp: four of A, of B, of the accumulators, and the metadata.
#[derive(Clone, Copy)]
struct Warp {
    a: [Row; 4],
    b: [Row; 4],
    c: [Row; 4],
    metadata: [u32; 32],
}

/// Word `at` of a row of A: register `h + 2q` in lane `4g + t` holds bytes `4t + 16q` of row `g + 8h`.
fn word_of_a(warp: &Warp, row: usize, at: usize) -> u32 {
    warp.a[row / 8 + at / 4 * 2].0[row % 8 * 4 + at % 4]
}

/// Word `at` of a column of B.
fn word_of_b(warp: &Warp, at: usize, column: usize) -> u32 {
    warp.b[at / 4].0[4 * column + at % 4]
}

/// An accumulator.
fn accumulator(registers: &[Row; 4], ty: T, row: usize, column: usize) -> u32 {
    let lane = row % 8 * 4 + column / 2;
    if ty == T::F16 {
        registers[row / 8].0[lane] >> (column % 2 * 16) & 0xffff
    } else {
        registers[row / 8 * 2 + column % 2].0[lane]
    }
}

/// The accumulators that a product by the panel gives: at once, or A first.
fn product(warp: &Warp, product: &Product, level: SimdLevel, at_once: bool) -> [Row; 4] {
    let mut rows = [warp.a, warp.b, warp.c].concat();
    let slots: Vec<RegisterSlot> =
        (0..12).map(|row| RegisterSlot { slot: Slot::frame(row), rows: 1 }).collect();
    let (a, b, c) = (&slots[..4], &slots[4..8], &slots[8..]);
    let accumulators = Accumulators { from: Some(c), to: c };
    let mut panel = Panel::new();
    panel.metadata = warp.metadata;
    let fns = PanelFns::at(level);
    // SAFETY: the rows are those of the slots, and nobody else has them; levels above that of this CPU were left out.
    unsafe {
        let none = std::ptr::null_mut::<Row>();
        let mut registers = Registers::new(rows.as_mut_ptr(), none, none, std::ptr::null_mut());
        if at_once {
            fns.product(&mut panel, product, &mut registers, &Fragments { a, b, accumulators });
        } else {
            panel.a = warp.a.map(|row| row.0);
            panel.fragment = warp.b.map(|row| row.0);
            fns.take_rows(&mut panel, product);
            fns.multiply(&mut panel, product, &mut registers, accumulators);
        }
    }
    [rows[8], rows[9], rows[10], rows[11]]
}

/// One element of the result.
fn expected(warp: &Warp, product: &Product, row: usize, column: usize) -> u32 {
    let (per_a, per_b) = (usize::from(per_register(product.a)), usize::from(per_register(product.b)));
    let count = usize::from(product.words) * per_a;
    let mut chosen = [0u16; 32];
    if let Some(selector) = product.selector {
        let selection = Selection { per: per_register(product.a), kept: count, selector };
        selection.of_row(&warp.metadata, row, &mut chosen);
    }
    let a: Vec<Element> = (0..count)
        .map(|k| element(product.a, word_of_a(warp, row, k / per_a), k % per_a, product.negated))
        .collect();
    let b: Vec<Element> = (0..count)
        .map(|k| if product.selector.is_some() { usize::from(chosen[k]) } else { k })
        .map(|k| element(product.b, word_of_b(warp, k / per_b, column), k % per_b, false))
        .collect();
    let c = accumulator(&warp.c, product.d, row, column);
    let whole = || {
        a.iter().zip(&b).map(|(x, y)| x.significand.wrapping_mul(y.significand)).fold(0, i32::wrapping_add)
    };
    match product.sums {
        Sums::Fused { fraction } if product.d == T::F16 => mma::dot_f16(&a, &b, c as u16, fraction).into(),
        Sums::Fused { fraction: mma::MMA_FRACTION } => mma::dot(&a, &b, c, mma::MMA_FRACTION),
        Sums::Fused { .. } => mma::dot_wgmma_fp8(&a, &b, c),
        Sums::Integer(true) => (c as i32).saturating_add(whole()) as u32,
        Sums::Integer(false) => c.wrapping_add(whole() as u32),
        Sums::Bits => {
            let ones = a.iter().zip(&b).map(|(x, y)| (x.significand & y.significand).count_ones());
            ones.fold(c, u32::wrapping_add)
        }
    }
}

/// What is multiplied, in all forms that the panel knows.
fn products() -> Vec<Product> {
    let mut products = Vec::new();
    for (a, b, d) in [
        (T::F16, T::F16, T::F32),
        (T::F16, T::F16, T::F16),
        (T::Bf16, T::Bf16, T::F32),
        (T::Tf32, T::Tf32, T::F32),
        (T::E4m3, T::E4m3, T::F32),
        (T::E4m3, T::E5m2, T::F16),
        (T::E5m2, T::E4m3, T::F32),
        (T::E5m2, T::E5m2, T::F16),
        (T::S8, T::S8, T::S32),
        (T::S8, T::U8, T::S32),
        (T::U8, T::S8, T::S32),
        (T::U8, T::U8, T::S32),
        (T::B1, T::B1, T::S32),
    ] {
        for words in [4, 8] {
            let plain = Product::of(a, b, d, words).expect("the panel takes these");
            products.push(plain);
            match plain.sums {
                Sums::Fused { .. } => products.push(Product { negated: true, ..plain }),
                Sums::Integer(_) => products.push(Product { sums: Sums::Integer(true), ..plain }),
                Sums::Bits => continue,
            }
            for selector in 0..2 {
                products.push(Product { selector: Some(selector), ..plain });
            }
        }
    }
    products
}

/// Metadata whose indices rise in each chunk.
fn metadata(random: &mut Random) -> u32 {
    (0..8).fold(0, |word, _| word << 4 | [0x4, 0x8, 0xc, 0x9, 0xd, 0xe][random.below(6) as usize])
}

#[test]
fn a_panel_is_what_its_elements_are() {
    let levels = [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512];
    let levels: Vec<SimdLevel> = levels.into_iter().filter(|&level| level <= SimdLevel::detect()).collect();
    let mut random = Random(1);
    for product in products() {
        for at in 0..SETS.len() * TURNS {
            // In the second turn, B and the accumulators are of others.
            let set = SETS[at % SETS.len()];
            let mut other = |turn| {
                if at < SETS.len() * turn { set } else { SETS[random.below(SETS.len() as u32) as usize] }
            };
            let (of_c, of_b) = (other(1), other(1));
            let mut registers =
                |set, ty| std::array::from_fn(|_| Row(std::array::from_fn(|_| word(&mut random, set, ty))));
            let (a, b, c) =
                (registers(set, product.a), registers(of_b, product.b), registers(of_c, product.d));
            let warp = Warp { a, b, c, metadata: std::array::from_fn(|_| metadata(&mut random)) };
            let right: Vec<u32> =
                (0..ROWS * COLUMNS).map(|at| expected(&warp, &product, at / COLUMNS, at % COLUMNS)).collect();
            for &level in &levels {
                for at_once in [true, false] {
                    let result = self::product(&warp, &product, level, at_once);
                    let got = (0..ROWS * COLUMNS)
                        .map(|at| accumulator(&result, product.d, at / COLUMNS, at % COLUMNS))
                        .collect::<Vec<u32>>();
                    assert!(
                        got == right,
                        "{product:?} {set:?} {of_b:?} {of_c:?} {level:?}:\n{got:x?}\n{right:x?}"
                    );
                }
            }
        }
    }
}
