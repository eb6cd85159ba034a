//! Matrix descriptors of all kinds, and where the elements lie that they describe: `testdata/h200/descriptors.txt`.

use semantics::matrix::warpgroup::Descriptor;
use testkit::random::Random;

/// 192 descriptors: every second four with the offsets of a matrix without gaps, the first ones with a start of zero,
/// half of them without a base offset.
fn descriptors(name: &str, elements: u32) -> impl Iterator<Item = u64> {
    let mut random = Random(name.len() as u64 * 77 + u64::from(elements));
    (0..192).map(move |at| {
        let mode = at % 4;
        let swizzle = [0, 3, 2, 1][mode as usize];
        let start = random.next() % 512;
        let start = if at < 64 { 0 } else { start };
        let (mut leading, mut stride) = (random.next() % 160, random.next() % 160);
        if at % 8 < 4 {
            (leading, stride) = (8, 8 << swizzle);
        }
        let base = if at % 16 < 8 { 0 } else { random.next() % 8 };
        start | leading << 16 | stride << 32 | base << 49 | mode << 62
    })
}

/// FNV-1a over each descriptor and the addresses of its elements, by row (or column) and K, from the start of a window
/// of 64 KiB on. What lies across has elements of two bytes, the rest of one.
pub(crate) fn hash(name: &str, rows: u32, elements: u32) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for bits in descriptors(name, elements) {
        add(&bits.to_le_bytes());
        let descriptor = Descriptor::new(bits);
        for row in 0..rows {
            for k in 0..elements {
                let address = match name.ends_with("across") {
                    true => descriptor.across(row / 8, k) + row % 8 * 2,
                    false => descriptor.along(row, k / 16) + k % 16,
                };
                add(&(address as u16).to_le_bytes());
            }
        }
    }
    hash
}
