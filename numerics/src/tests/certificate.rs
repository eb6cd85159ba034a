//! A sample of the H200 hash certificate; `warpgrind selftest numerics --exhaustive` runs all of it.

use super::super::certificate::{BLOCKS, OPERATIONS, differing, recorded, sample};

const DATA: &[u8] = include_bytes!("../../../testdata/h200/unary-hashes.u64");
const NAMES: &str = include_str!("../../../testdata/h200/unary-hashes.txt");

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
    let wrong: Vec<String> = OPERATIONS
        .iter()
        .enumerate()
        .flat_map(|(index, operation)| {
            let blocks = differing(DATA, index, &sample(index), || ());
            blocks.into_iter().map(move |block| format!("{} block {block:#05x}", operation.name))
        })
        .collect();
    assert!(wrong.is_empty(), "differ from the H200: {wrong:#?}");
}

#[test]
fn what_differs_is_named() {
    let mut data = DATA.to_vec();
    data[(5 * BLOCKS + 0x3f8) * 8] ^= 1;
    assert_eq!(differing(&data, 5, &[0x3f7, 0x3f8], || ()), [0x3f8]);
    assert_eq!(differing(&data[..8], 1, &[7], || ()), [7]);
    assert_eq!(differing(&data, OPERATIONS.len(), &[7], || ()), [7]);
}
