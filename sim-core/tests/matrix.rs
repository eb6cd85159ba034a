//! Matrix instructions against an H200: a part of what `examples/mma_certificate` compares, and every
//! fragment and row that moves between registers and memory.

#[path = "support/matrix_forms.rs"]
mod forms;
#[path = "support/matrix_recorded.rs"]
#[allow(dead_code, reason = "the test and the example use different parts")]
mod recorded;
#[path = "support/matrix_runner.rs"]
#[allow(dead_code, reason = "the test and the example use different parts")]
mod runner;
#[path = "support/matrix_transfers.rs"]
mod transfers;

use rayon::prelude::*;

/// Every form runs on the operands of its first tiles; the recording has hashes of whole runs.
#[test]
fn multiplications_are_the_devices() {
    let (forms, recordings) = (forms::forms(), recorded::forms());
    assert_eq!(forms.len(), recordings.len());
    let wrong: Vec<String> = forms
        .par_iter()
        .zip(&recordings)
        .enumerate()
        .filter_map(|(index, (form, recording))| {
            assert_eq!(form.title(), recording.name);
            assert_eq!(form.tiles, recording.runs * forms::RUN);
            let words = runner::results(index, form, 0..recorded::TILES);
            (forms::hash_all(&words, form.result.registers * 32) != recording.tiles)
                .then(|| recording.name.to_string())
        })
        .collect();
    assert!(wrong.is_empty(), "{} forms differ from the H200: {wrong:#?}", wrong.len());
}

#[test]
fn fragments_move_as_on_the_device() {
    let (transfers, recordings) = (transfers::transfers(), recorded::transfers());
    assert_eq!(transfers.len(), recordings.len());
    let input = transfers::input();
    let wrong: Vec<&str> = transfers
        .par_iter()
        .zip(&recordings)
        .filter_map(|(transfer, (name, want))| {
            assert_eq!(transfer.name, *name);
            let buffers = [input.clone(), vec![0xa5; transfers::BYTES]];
            let bytes = runner::launch(&transfer.kernel("k"), &buffers, 1, 32);
            (transfers::hash(&bytes) != *want).then_some(*name)
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ from the H200: {wrong:#?}", wrong.len());
}
