//! A sample of the H200 hash certificate; the example `numerics_certificate` runs all of it.

use rayon::prelude::*;

use super::super::certificate::{BLOCKS, OPERATIONS, recorded};

const DATA: &[u8] = include_bytes!("../../../../testdata/h200/unary-hashes.u64");
const NAMES: &str = include_str!("../../../../testdata/h200/unary-hashes.txt");

#[test]
fn the_data_covers_the_operations_in_order() {
    assert_eq!(DATA.len(), OPERATIONS.len() * BLOCKS * 8);
    let names: Vec<&str> = OPERATIONS.iter().map(|o| o.name).collect();
    assert_eq!(names, NAMES.lines().collect::<Vec<_>>());
    assert_eq!(recorded(DATA, OPERATIONS.len(), 0), None);
    assert_eq!(recorded(DATA, usize::MAX, usize::MAX), None);
}

#[test]
fn operations_equal_the_device_on_a_sample_of_blocks() {
    // Zero and subnormals, around 1 on both sides, infinity and NaN, then a stride that shifts with
    // the operation so that together they visit many exponents.
    let fixed = [0x000, 0x3f7, 0x3f8, 0x7f8, 0x7ff, 0x800, 0xbf8, 0xff8];
    let wrong: Vec<String> = OPERATIONS
        .par_iter()
        .enumerate()
        .flat_map_iter(|(index, operation)| {
            let spread = (0..4).map(move |i| (i * 521 + index * 131) % BLOCKS);
            fixed.into_iter().chain(spread).map(move |block| (index, operation, block))
        })
        .filter(|&(index, operation, block)| {
            recorded(DATA, index, block) != Some((operation.hash)(block as u32))
        })
        .map(|(_, operation, block)| format!("{} block {block:#05x}", operation.name))
        .collect();
    assert!(wrong.is_empty(), "differ from the H200: {wrong:#?}");
}
