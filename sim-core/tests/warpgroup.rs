//! `wgmma.mma_async` against an H200, and against what the manual says of where elements lie with the sums of
//! [`numerics::mma`], one by one.

#[path = "support/warpgroup_descriptors.rs"]
mod descriptors;
#[path = "support/matrix_forms.rs"]
#[allow(dead_code, reason = "only what makes numbers is used")]
mod forms;
#[path = "support/warpgroup_reference.rs"]
mod reference;
#[path = "support/warpgroup_runner.rs"]
mod runner;
#[path = "support/warpgroup_forms.rs"]
mod warpgroup_forms;

use rayon::prelude::*;
use sim_core::{DeviceConfig, Simulator};
use testkit::part;
use warpgroup_forms::CYCLE;

/// The recording has hashes of all tiles of a form, and of the first ones.
#[test]
fn products_are_the_devices() {
    let forms = warpgroup_forms::forms();
    let recorded: Vec<&str> = include_str!("../../testdata/h200/wgmma.txt").lines().collect();
    assert_eq!(forms.len(), recorded.len());
    let recorded: Vec<_> = part(16, forms.iter().zip(recorded).enumerate()).collect();
    let wrong: Vec<String> = recorded
        .into_par_iter()
        .filter_map(|(index, (form, line))| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!((fields[0], fields[1]), (&*form.title(), &*form.tiles.to_string()));
            let simulator = Simulator::new(DeviceConfig::h200());
            let words = match runner::run(&simulator, index, form, 0..CYCLE) {
                Ok(words) => words,
                Err(error) => return Some(format!("{}: {error}", form.title())),
            };
            let [_, first] = runner::hashes(form, &words);
            (format!("{first:x}") != fields[3]).then(|| form.title())
        })
        .collect();
    assert!(wrong.is_empty(), "{} forms differ from the H200:\n{}", wrong.len(), wrong.join("\n"));
}

/// Descriptors with any start, offsets and base: where the device found each element of a matrix.
#[test]
fn elements_lie_where_the_device_finds_them() {
    for line in include_str!("../../testdata/h200/descriptors.txt").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, rows, elements, hash] = fields[..] else { panic!("{line}") };
        let (rows, elements) = (rows.parse().unwrap(), elements.parse().unwrap());
        assert_eq!(format!("{:x}", descriptors::hash(name, rows, elements)), hash, "{name}");
    }
}

/// All kinds of numbers, layout by layout.
#[test]
fn sums_are_those_of_one_element_after_the_other() {
    let forms = warpgroup_forms::forms();
    let wrong: Vec<String> = forms
        .par_iter()
        .enumerate()
        // A part of them, of all types and kinds.
        .filter(|(index, _)| index % if cfg!(debug_assertions) { 170 } else { 17 } == 0)
        .filter_map(|(index, form)| {
            let simulator = Simulator::new(DeviceConfig::h200());
            let words = match runner::run(&simulator, index, form, 0..CYCLE) {
                Ok(words) => words,
                Err(error) => return Some(format!("{}: {error}", form.title())),
            };
            let buffers = form.buffers(index, 0..CYCLE);
            // Some elements of each tile, others from form to form.
            (0..CYCLE).find_map(|tile| {
                let tile_words = &words[tile * form.words()..][..form.words()];
                reference::difference(form, &buffers, tile, tile_words, index)
                    .map(|text| format!("{} tile {tile}: {text}", form.title()))
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} forms differ:\n{}", wrong.len(), wrong.join("\n"));
}
