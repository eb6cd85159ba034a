//! Runs the kernels of `warpgroup_forms` on a backend.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use sim_core::{Backend, Dim3, Launch, Outcome, RunOptions};

use crate::forms;
use crate::warpgroup_forms::{CYCLE, Form, HEADER, SHARED, THREADS};

/// The words of D of some tiles.
pub(crate) fn run(
    backend: &dyn Backend,
    index: usize,
    form: &Form,
    tiles: Range<usize>,
) -> Result<Vec<u32>, String> {
    let chunks: Vec<Range<usize>> =
        tiles.clone().step_by(64).map(|from| from..tiles.end.min(from + 64)).collect();
    let chunks: Vec<Vec<Vec<u8>>> = chunks.into_par_iter().map(|tiles| form.buffers(index, tiles)).collect();
    let buffers: Vec<Vec<u8>> =
        (0..5).map(|which| chunks.iter().flat_map(|chunk| &chunk[which]).copied().collect()).collect();
    let text = format!("{HEADER}{}", form.kernel("k"));
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("wgmma.ptx", text.clone().into_bytes()));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let module = parsed.module.ok_or_else(|| format!("{messages:?}\n{text}"))?;
    let error = |error: sim_core::Error| error.to_string();
    let module = backend.load(Arc::new(module)).map_err(error)?;
    let mut result = vec![0; 4 * form.words() * tiles.len()];
    let mut addresses = Vec::new();
    for buffer in &buffers {
        let address = backend.alloc(buffer.len().max(16) as u64, "operand").map_err(error)?;
        addresses.push(address);
        backend.write(address, buffer).map_err(error)?;
    }
    addresses.push(backend.alloc(result.len() as u64, "D").map_err(error)?);
    let launch = Launch {
        kernel: "k".into(),
        grid: Dim3::from(tiles.len() as u32),
        cluster: None,
        block: Dim3::from(THREADS),
        shared_bytes: SHARED,
        params: addresses.iter().flat_map(|address| address.to_le_bytes()).collect(),
        cooperative: false,
    };
    let report = backend.launch(module, &launch, &RunOptions::default()).map_err(error)?;
    let found: Vec<_> = report.findings.iter().map(|f| &f.message).collect();
    if report.outcome != Outcome::Completed || !found.is_empty() {
        return Err(format!("{:?}: {found:?}", report.outcome));
    }
    backend.read(addresses[5], &mut result).map_err(error)?;
    for address in addresses {
        backend.free(address).map_err(error)?;
    }
    backend.unload(module).map_err(error)?;
    Ok(result.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

/// The hashes of all tiles, and of those of the first cycle.
pub(crate) fn hashes(form: &Form, words: &[u32]) -> [u64; 2] {
    let hash = |words: &[u32]| {
        words.chunks_exact(form.words()).enumerate().fold(0u64, |sum, (tile, words)| {
            sum.wrapping_add(forms::hash(tile, words.iter().map(|&word| word.into())))
        })
    };
    [hash(words), hash(&words[..words.len().min(CYCLE * form.words())])]
}
