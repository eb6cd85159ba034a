//! Runs the kernels of `matrix_forms` on the simulator.

use std::ops::Range;
use std::sync::Arc;

use ptx_frontend::Source;
use sim_core::{Backend, DeviceConfig, Launch, Outcome, RunOptions, Simulator};

use crate::forms::{self, Form, HEADER, RUN, WARPS};

/// Runs a kernel on buffers that follow each other in its parameters; returns what the last one then
/// holds.
pub(crate) fn launch(text: &str, buffers: &[Vec<u8>], grid: u32, block: u32) -> Vec<u8> {
    let text = format!("{HEADER}{text}");
    let parsed = ptx_frontend::parse(Source::new("matrix.ptx", text.clone().into_bytes()));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let module = parsed.module.unwrap_or_else(|| panic!("{messages:?}\n{text}"));
    let simulator = Simulator::new(DeviceConfig::h200());
    let module = simulator.load(Arc::new(module)).unwrap();
    let mut params = Vec::new();
    let mut last = 0;
    for buffer in buffers {
        last = simulator.alloc(buffer.len() as u64, "buffer").unwrap();
        simulator.write(last, buffer).unwrap();
        params.extend(last.to_le_bytes());
    }
    let launch = Launch::new("k", grid, block, params);
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let report = simulator.launch(module, &launch, &options).unwrap();
    let found: Vec<_> = report.findings.iter().map(|f| &f.message).collect();
    assert!(report.outcome == Outcome::Completed && found.is_empty(), "{found:?}\n{text}");
    let mut bytes = vec![0; buffers.last().map_or(0, Vec::len)];
    simulator.read(last, &mut bytes).unwrap();
    bytes
}

/// The registers of D of some tiles: `registers * 32` a tile.
pub(crate) fn results(index: usize, form: &Form, tiles: Range<usize>) -> Vec<u64> {
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    for (which, operand) in form.operands.iter().enumerate() {
        let mut bytes = Vec::new();
        for tile in tiles.clone() {
            for register in 0..operand.registers {
                for lane in 0..32 {
                    let word = forms::register(index, *operand, which, tile, register, lane);
                    bytes.extend(&word.to_le_bytes()[..operand.width()]);
                }
            }
        }
        buffers.push(bytes);
    }
    let metadata = form.sparse.map_or(vec![0], |sparse| {
        let words = tiles.clone().flat_map(|tile| (0..32).map(move |lane| (tile, lane)));
        words.map(|(tile, lane)| forms::metadata(index, sparse, tile, lane)).collect()
    });
    buffers.push(metadata.into_iter().flat_map(u32::to_le_bytes).collect());
    let width = form.result.width();
    buffers.push(vec![0; tiles.len() * form.result.registers * 32 * width]);
    let bytes = launch(&form.kernel("k"), &buffers, (tiles.len() / WARPS) as u32, 32 * WARPS as u32);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks_exact(width).map(word).collect()
}

/// The hashes of some runs of tiles.
pub(crate) fn hashes(index: usize, form: &Form, runs: Range<usize>) -> Vec<u64> {
    let tiles = runs.start * RUN..runs.end * RUN;
    let words = results(index, form, tiles.clone());
    let per_tile = form.result.registers * 32;
    words
        .chunks_exact(per_tile * RUN)
        .zip(runs)
        .map(|(words, run)| {
            words
                .chunks_exact(per_tile)
                .zip(run * RUN..)
                .fold(0u64, |sum, (words, tile)| sum.wrapping_add(forms::hash(tile, words.iter().copied())))
        })
        .collect()
}
