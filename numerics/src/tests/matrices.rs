//! The sums of the matrix units against an H200: `testdata/h200/matrices.txt` and the `mma` lines of
//! `probes.txt`, described in the README beside them.

use super::super::mma::{Element, MMA_FRACTION, WGMMA_FP8_FRACTION, dot, dot_f16, dot_f64, dot_wgmma_fp8};
use super::super::{Rounding, f16 as half, f32 as single};
use super::Rng;

const RECORDED: &str = include_str!("../../../testdata/h200/matrices.txt");
const PROBES: &str = include_str!("../../../testdata/h200/probes.txt");

/// Instructions of the first recording; the others were made with the second's operands.
const FIRST_RECORDING: usize = 29;
/// Tiles an instruction.
const TILES: usize = 40;

/// An operand or accumulator type: exponent and fraction bits of what is generated.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
}

impl Type {
    fn named(name: &str) -> Type {
        match name {
            "f16" => Type::F16,
            "bf16" => Type::Bf16,
            "tf32" => Type::Tf32,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "e4m3" => Type::E4m3,
            "e5m2" => Type::E5m2,
            _ => panic!("no type {name}"),
        }
    }

    fn bits(self) -> (u32, u32) {
        match self {
            Type::F16 => (5, 10),
            Type::Bf16 => (8, 7),
            Type::Tf32 | Type::F32 => (8, 23),
            Type::F64 => (11, 52),
            Type::E4m3 => (4, 3),
            Type::E5m2 => (5, 2),
        }
    }

    fn decode(self, bits: u64) -> Element {
        match self {
            Type::F16 => Element::f16(bits as u16),
            Type::Bf16 => Element::bf16(bits as u16),
            Type::Tf32 => Element::tf32(bits as u32),
            Type::E4m3 => Element::e4m3(bits as u8),
            Type::E5m2 => Element::e5m2(bits as u8),
            Type::F32 | Type::F64 => panic!("no operand of the tensor units"),
        }
    }
}

fn join(ty: Type, sign: u64, exponent: i64, fraction: u64) -> u64 {
    let (exponent_bits, fraction_bits) = ty.bits();
    sign << (exponent_bits + fraction_bits) | (exponent as u64) << fraction_bits | fraction
}

/// A random number; `mode` says of what kind: 0 any exponent, 1 and 5 near 1, 2 within 2^28, 3 now and
/// then infinite or NaN, 4 the smallest, 6 the largest, 7 half zeros, 8 and 9 such that products lie
/// near 2^-126.
fn element(rng: &mut Rng, ty: Type, mode: usize) -> u64 {
    let (exponent_bits, fraction_bits) = ty.bits();
    let (v, w) = (rng.next(), rng.next());
    let (sign, fraction) = (v & 1, w & ((1 << fraction_bits) - 1));
    let x = (v >> 40) as i64;
    let (bias, top) = ((1i64 << (exponent_bits - 1)) - 1, (1i64 << exponent_bits) - 1);
    let narrow = (bias - 2 + x % 5).max(0);
    let width = (bias - 1).min(14);
    let wide = bias - width + x % (2 * width + 1);
    let exponent = match mode {
        0 => 1 + x % (top - 1),
        1 | 5 => narrow,
        2 => wide,
        3 if v >> 32 & 63 == 0 => {
            return join(ty, sign, top, if v >> 38 & 1 != 0 { fraction } else { 0 });
        }
        3 => narrow,
        4 => x % 4,
        6 => top - 1 - x % 3,
        7 if v >> 32 & 1 != 0 => return 0,
        7 => wide,
        _ => (bias - 66 + x % 8).max(0),
    };
    join(ty, sign, exponent, fraction)
}

/// A factor of products from 2^-153 on; `second` of B.
fn tiny(rng: &mut Rng, ty: Type, mode: usize, second: bool) -> u64 {
    let (exponent_bits, fraction_bits) = ty.bits();
    let (v, w) = (rng.next(), rng.next());
    let (sign, fraction) = (v & 1, w & ((1 << fraction_bits) - 1));
    let (x, second) = ((v >> 40) as i64, i64::from(second));
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    if mode == 13 && v >> 32 & 1 != 0 {
        return join(ty, sign, 0, 0);
    }
    let exponent = if mode < 13 { bias - 77 + second + x % 4 } else { bias - 74 - second + x % 6 };
    join(ty, sign, exponent, fraction)
}

/// An instruction of the recording: what its name says.
struct Instruction {
    wgmma: bool,
    sparse: bool,
    rounding: Rounding,
    m: usize,
    n: usize,
    k: usize,
    a: Type,
    b: Type,
    c: Type,
}

impl Instruction {
    fn parse(name: &str) -> Instruction {
        let parts: Vec<&str> = name.split('.').collect();
        let shape = parts.iter().find(|p| p.starts_with('m') && p.contains('k')).expect("a shape");
        let numbers: Vec<usize> = shape.split(['m', 'n', 'k']).filter_map(|n| n.parse().ok()).collect();
        let wgmma = name.starts_with("wgmma");
        // Accumulator and operands are the last types; `mma` repeats the accumulator at the end.
        let types = &parts[parts.len() - if wgmma { 3 } else { 4 }..];
        Instruction {
            wgmma,
            sparse: name.contains(".sp"),
            rounding: if parts.contains(&"rp") { Rounding::Rp } else { Rounding::Rn },
            m: numbers[0],
            n: numbers[1],
            k: numbers[2],
            a: Type::named(types[1]),
            b: Type::named(types[2]),
            c: Type::named(types[0]),
        }
    }

    /// Elements of a row of A that are stored.
    fn stored(&self) -> usize {
        if self.sparse { self.k / 2 } else { self.k }
    }

    /// The row of B that meets stored element `j` of A: with the metadata of the recording, the first
    /// two of four, or the first of two `.tf32`.
    fn selected(&self, j: usize) -> usize {
        match (self.sparse, self.a) {
            (false, _) => j,
            (true, Type::Tf32) => 2 * j,
            (true, _) => j / 2 * 4 + j % 2,
        }
    }

    fn element(&self, row: &[u64], column: &[u64], c: u64) -> u64 {
        if self.a == Type::F64 {
            return dot_f64(row, column, c, self.rounding);
        }
        let decode = |ty: Type, x: u64| match ty {
            Type::E4m3 if !self.wgmma => Element::e4m3_as_f16(x as u8),
            _ => ty.decode(x),
        };
        let a: Vec<Element> = row.iter().map(|&x| decode(self.a, x)).collect();
        let b: Vec<Element> = column.iter().map(|&x| decode(self.b, x)).collect();
        let fp8 = matches!(self.a, Type::E4m3 | Type::E5m2);
        match (fp8, self.wgmma, self.c == Type::F16) {
            (false, _, false) => dot(&a, &b, c as u32, MMA_FRACTION).into(),
            (false, _, true) => dot_f16(&a, &b, c as u16, MMA_FRACTION).into(),
            (true, true, false) => dot_wgmma_fp8(&a, &b, c as u32).into(),
            (true, true, true) => dot_f16(&a, &b, c as u16, WGMMA_FP8_FRACTION).into(),
            (true, false, false) => {
                let [first, second] = fp8_steps(&a, &b);
                let both = dot(&second.0, &second.1, dot(&first.0, &first.1, 0, MMA_FRACTION), MMA_FRACTION);
                single::add(both, c as u32, Rounding::Rn, false).into()
            }
            (true, false, true) => {
                let [first, second] = fp8_steps(&a, &b);
                let first = dot_f16(&first.0, &first.1, 0, MMA_FRACTION);
                half::add(dot_f16(&second.0, &second.1, first, MMA_FRACTION), c as u16, false).into()
            }
        }
    }
}

/// The elements of K that `mma` on fp8 takes in its two steps: `4i` and `4i + 1` first.
fn fp8_steps(a: &[Element], b: &[Element]) -> [(Vec<Element>, Vec<Element>); 2] {
    [0, 2].map(|low| {
        let part = |v: &[Element]| v.chunks(4).flat_map(|q| q[low..low + 2].to_vec()).collect();
        (part(a), part(b))
    })
}

/// Row-major matrices.
type Matrix = Vec<Vec<u64>>;

fn fill(rows: usize, columns: usize, mut one: impl FnMut() -> u64) -> Matrix {
    (0..rows).map(|_| (0..columns).map(|_| one()).collect()).collect()
}

/// A, B and C of a tile of the first recording, and of the sparse instructions of the second.
fn ordinary(
    rng: &mut Rng,
    it: &Instruction,
    tile: usize,
    mode_of_c: [usize; 10],
    pairs: bool,
) -> [Matrix; 3] {
    let mode = tile % 10;
    let mut a = fill(it.m, it.stored(), || element(rng, it.a, mode));
    let mut b = fill(it.k, it.n, || element(rng, it.b, mode));
    let c = match mode_of_c[mode] {
        9 => fill(it.m, it.n, || 0),
        mode => fill(it.m, it.n, || element(rng, it.c, mode)),
    };
    if mode == 5 && pairs {
        // Products that cancel in pairs.
        let (exponent_bits, fraction_bits) = it.a.bits();
        for j in (1..it.k).step_by(2) {
            a.iter_mut().for_each(|row| row[j] = row[j - 1] ^ 1 << (exponent_bits + fraction_bits));
            b[j] = b[j - 1].clone();
        }
    }
    [a, b, c]
}

/// A, B and C of a dense tile of the second recording.
fn small(rng: &mut Rng, it: &Instruction, tile: usize) -> [Matrix; 3] {
    let mode = 10 + tile % 4;
    let a = fill(it.m, it.k, || tiny(rng, it.a, mode, false));
    let b = fill(it.k, it.n, || tiny(rng, it.b, mode, true));
    let c = fill(it.m, it.n, || match mode {
        11 => 0x8000_0000,
        12 => rng.next() & 0x8000_000f,
        _ => 0,
    });
    [a, b, c]
}

fn tile_of(instruction: usize, it: &Instruction, tile: usize) -> [Matrix; 3] {
    let seed = |base: usize, each: usize, index: usize| Rng((base + each * index + tile) as u64);
    match instruction.checked_sub(FIRST_RECORDING) {
        None => {
            let mut rng = seed(0, 1000, instruction);
            ordinary(&mut rng, it, tile, [0, 1, 2, 3, 4, 2, 6, 7, 4, 9], true)
        }
        Some(index) if it.sparse => {
            let mut rng = seed(5000, 100, index);
            ordinary(&mut rng, it, tile, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], false)
        }
        Some(index) => small(&mut seed(9000, 100, index), it, tile),
    }
}

#[test]
fn tiles_hash_as_the_devices() {
    let mut wrong = Vec::new();
    for (index, line) in RECORDED.lines().enumerate() {
        let (name, hashes) = line.split_once('\t').expect("a name and hashes");
        let it = Instruction::parse(name);
        let hashes: Vec<u64> = hashes.split(' ').map(|h| u64::from_str_radix(h, 16).unwrap()).collect();
        assert_eq!(hashes.len(), TILES);
        for (tile, want) in hashes.into_iter().enumerate() {
            let [a, b, c] = tile_of(index, &it, tile);
            let mut hash = 0u64;
            for (row, c) in a.iter().zip(&c) {
                for (n, &c) in c.iter().enumerate() {
                    let column: Vec<u64> = (0..row.len()).map(|j| b[it.selected(j)][n]).collect();
                    let result = it.element(row, &column, c);
                    hash = hash.wrapping_mul(1_099_511_628_211).wrapping_add(result);
                }
            }
            if hash != want {
                wrong.push(format!("{name} tile {tile}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ from the H200:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn single_sums_are_the_devices() {
    let (mut kind, mut compared) = ("", 0);
    for line in PROBES.lines() {
        let Some(row) = line.strip_prefix("  ") else {
            kind = line.strip_prefix("mma ").unwrap_or("");
            continue;
        };
        if kind.is_empty() {
            continue;
        }
        let (operands, want) = row.split_once(" = ").unwrap();
        let words: Vec<u64> = operands.split(' ').map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
        let want = u64::from_str_radix(want, 16).unwrap();
        // Two words of A, two of B, C; the rest of K is zero.
        let ty = if kind == "bf16" { Type::Bf16 } else { Type::F16 };
        let decode = |words: &[u64]| -> Vec<Element> {
            words.iter().flat_map(|w| [w & 0xffff, w >> 16]).map(|x| ty.decode(x)).collect()
        };
        let (a, b, c) = (decode(&words[..2]), decode(&words[2..4]), words[4]);
        let got = match kind {
            "f16f16" => u64::from(dot_f16(&a, &b, c as u16, MMA_FRACTION)),
            _ => u64::from(dot(&a, &b, c as u32, MMA_FRACTION)),
        };
        assert_eq!(got, want, "mma {kind} of {operands}");
        compared += 1;
    }
    assert_eq!(compared, 81);
}
