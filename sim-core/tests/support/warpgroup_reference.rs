//! Elements of D, computed from the buffers of `warpgroup_forms` as the manual describes them, one by one.

use numerics::mma::{Element, MMA_FRACTION, WGMMA_FP8_FRACTION, dot, dot_f16, dot_wgmma_fp8};

use crate::forms::Ty;
use crate::warpgroup_forms::Form;

fn word(buffer: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(buffer[4 * at..][..4].try_into().unwrap())
}

fn double(buffer: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(buffer[8 * at..][..8].try_into().unwrap())
}

/// Byte of an image where an element lies whose numbers along the contiguous dimension and the other one are given
/// (manual 9.7.15.5.1.2.1.3: T elements are 16 bytes), in bits.
fn place(descriptor: u64, across: bool, mn: usize, k: usize, bits: usize) -> usize {
    let t = 128 / bits;
    let field = |at: u32| (descriptor >> at) as usize % (1 << 14) * 16;
    let (start, leading, stride) = (field(0), field(16), field(32));
    let swizzle = [0, 3, 2, 1][(descriptor >> 62) as usize];
    let pitch = 16 << swizzle;
    let linear = match (across, swizzle) {
        (false, 0) => mn % 8 * 16 + mn / 8 * stride + k / t * leading + k % t * bits / 8,
        (false, _) => mn % 8 * pitch + mn / 8 * stride + k * bits / 8,
        (true, 0) => mn % t * bits / 8 + mn / t * stride + k % 8 * 16 + k / 8 * leading,
        (true, _) => {
            let atom = t << swizzle;
            mn % atom * bits / 8 + mn / atom * leading + k % 8 * pitch + k / 8 * stride
        }
    };
    let at = start + linear;
    // The rows of a pattern are 128 bytes, and exchange chunks of 16.
    at ^ ((at / 128 % (1 << swizzle)) * 16)
}

/// The bits of an element of A or B.
fn element(form: &Form, buffers: &[Vec<u8>], tile: usize, which: usize, mn: usize, k: usize) -> u64 {
    let bits = form.element_bits(which);
    let (at, shift) = if which == 0 && !form.is_shared() {
        // Row g + 8h of a warp, word t + 4q of K: register h + 2q, lane 4g + t.
        let (warp, row, word) = (mn / 16, mn % 16, k * bits / 32);
        let (register, lane) = (row / 8 + word / 4 * 2, row % 8 * 4 + word % 4);
        (tile * 512 + warp * 128 + register * 32 + lane, k * bits % 32)
    } else {
        let descriptor = double(&buffers[4], 2 * tile + which);
        // Single bits lie in bytes.
        let (k, bit) = if bits == 1 { (k / 8, k % 8) } else { (k, 0) };
        let byte = place(descriptor, form.is_across(which), mn, k, bits.max(8));
        (tile * form.filled(which) / 4 + byte / 4, byte % 4 * 8 + bit)
    };
    u64::from(word(&buffers[which], at) >> shift) & ((1 << bits) - 1)
}

/// Where the stored element `k` of a row of a sparse A belongs (manual 9.7.15.6.2).
fn kept(form: &Form, buffers: &[Vec<u8>], tile: usize, row: usize, k: usize, selector: u32) -> usize {
    let (warp, row) = (row / 16, row % 16);
    let bits = form.element_bits(0);
    let metadata = |lane: usize| word(&buffers[3], tile * 128 + warp * 32 + lane);
    // Four bits a chunk of four elements, or of two of 32 bits.
    let (chunk, inside) = if bits == 32 { (k, 0) } else { (k / 2, k % 2) };
    let (thread, nibble) = if bits == 8 {
        (row / 8 + chunk / 8 * 2, chunk % 8)
    } else {
        (chunk / 4 + 2 * selector as usize, chunk % 4 + row / 8 * 4)
    };
    let four = metadata(row % 8 * 4 + thread) >> (4 * nibble) & 15;
    match bits {
        32 => 2 * chunk + usize::from(four == 14),
        _ => 4 * chunk + (four >> (2 * inside) & 3) as usize,
    }
}

/// An element of D that is another one than it should be; `seed` says which are looked at.
pub(crate) fn difference(
    form: &Form,
    buffers: &[Vec<u8>],
    tile: usize,
    words: &[u32],
    seed: usize,
) -> Option<String> {
    let [d, a, b] = form.element_types();
    let (n, results) = (form.columns(), form.results());
    let stored = 256 / form.element_bits(0);
    for sample in 0..24 {
        let pick = (seed * 7919 + tile * 104_729 + sample * 15_485_863) >> 3;
        let (row, column) = (pick % 64, pick / 64 % n);
        // Rows g and g + 8 of a warp, columns 2t and 2t + 1 of eight.
        let (warp, lane, half) = (row / 16, row % 8 * 4 + column % 8 / 2, row % 16 / 8);
        let (register, shift) = match d {
            Ty::F16 => (column / 8 * 2 + half, column % 2 * 16),
            _ => (column / 8 * 4 + half * 2 + column % 2, 0),
        };
        let at = (warp * results + register) * 32 + lane;
        let mask = if d == Ty::F16 { 0xffff } else { u32::MAX };
        let given = words[at] >> shift & mask;
        let c = word(&buffers[2], tile * form.words() + at) >> shift & mask;
        let c = if form.is_kept() { c } else { 0 };
        let rows = (0..stored).map(|k| element(form, buffers, tile, 0, row, k));
        let columns = (0..stored).map(|k| {
            let k = form.selector().map_or(k, |selector| kept(form, buffers, tile, row, k, selector));
            element(form, buffers, tile, 1, column, k)
        });
        let want = if d == Ty::S32 {
            let signed = |ty: usize, bits: u64| match form.is_signed(ty) {
                true => i64::from(bits as i8),
                false => bits as i64,
            };
            let sum = if a == Ty::Int(1) {
                rows.zip(columns).map(|(a, b)| (a & b) as i64).sum::<i64>()
            } else {
                rows.zip(columns).map(|(a, b)| signed(0, a) * signed(1, b)).sum()
            };
            let sum = i64::from(c as i32) + sum;
            if form.title().contains("satfinite") {
                sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32
            } else {
                sum as u32
            }
        } else {
            let decode = |ty: Ty, bits: u64, negative: bool| {
                let bits = bits ^ if negative { 1 << (ty.bits() - 1) } else { 0 };
                match ty {
                    Ty::F16 => Element::f16(bits as u16),
                    Ty::Bf16 => Element::bf16(bits as u16),
                    Ty::E4m3 => Element::e4m3(bits as u8),
                    Ty::E5m2 => Element::e5m2(bits as u8),
                    _ => Element::tf32(bits as u32),
                }
            };
            let [negative_a, negative_b] = form.negations();
            let rows: Vec<Element> = rows.map(|bits| decode(a, bits, negative_a)).collect();
            let columns: Vec<Element> = columns.map(|bits| decode(b, bits, negative_b)).collect();
            match (a.bits(), d) {
                (8, Ty::F16) => dot_f16(&rows, &columns, c as u16, WGMMA_FP8_FRACTION).into(),
                (8, _) => dot_wgmma_fp8(&rows, &columns, c),
                (_, Ty::F16) => dot_f16(&rows, &columns, c as u16, MMA_FRACTION).into(),
                _ => dot(&rows, &columns, c, MMA_FRACTION),
            }
        };
        if given != want {
            return Some(format!("row {row} column {column}: {given:08x}, not {want:08x}; C {c:08x}"));
        }
    }
    None
}
