//! Runs cases on a backend.

use std::sync::Arc;

use rayon::prelude::*;
use sim_core::{Backend, Dim3, Error, Launch, Outcome, RunOptions};

use crate::case::Case;
use crate::catalog::{Batch, Catalog, reason};
use crate::kernel::{self, BLOCK};
use crate::operands;
use crate::recording::{Device, Entry, Recording};

/// Why a case gave no results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The backend does not support the instruction.
    Unsupported(String),
    /// The backend refused or did not finish it.
    Failed(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Refusal::Unsupported(text) | Refusal::Failed(text)) = self;
        f.write_str(text)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Unsupported(text) => Refusal::Unsupported(text),
            other => Refusal::Failed(other.to_string()),
        }
    }
}

/// Memory on a backend that is freed when it is no longer needed.
pub(crate) struct Buffer<'a> {
    backend: &'a dyn Backend,
    pub(crate) address: u64,
}

impl<'a> Buffer<'a> {
    pub(crate) fn new(backend: &'a dyn Backend, bytes: usize, label: &str) -> Result<Self, Error> {
        // A case without operands still has a buffer.
        Ok(Buffer { backend, address: backend.alloc(bytes.max(16) as u64, label)? })
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // What cannot be freed is lost; the results are there.
        let _ = self.backend.free(self.address);
    }
}

/// Input and results of each case of a batch, in order.
pub(crate) fn run(
    backend: &dyn Backend,
    batch: &Batch,
    mut done: impl FnMut(&Case, Result<(Vec<u8>, Vec<u8>), Refusal>),
) {
    let module = match backend.load(batch.module.clone()) {
        Ok(module) => module,
        // One that a device refuses takes all others with it: halves, until it stands alone.
        Err(_) if batch.cases.len() > 1 => {
            let (left, right) = batch.cases.split_at(batch.cases.len() / 2);
            for cases in [left, right] {
                if let Some(half) = reparsed(cases) {
                    run(backend, &half, &mut done as &mut dyn FnMut(&Case, _));
                }
            }
            return;
        }
        Err(error) => {
            for case in &batch.cases {
                done(case, Err(error.clone().into()));
            }
            return;
        }
    };
    for (at, case) in batch.cases.iter().enumerate() {
        done(case, execute(backend, module, at, case));
    }
    // What cannot be unloaded is lost; the results are there.
    let _ = backend.unload(module);
}

/// A part of a batch as a module of its own.
fn reparsed(cases: &[Case]) -> Option<Batch> {
    let (text, _) = kernel::module(cases);
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("conformance.ptx", text.into_bytes()));
    Some(Batch { cases: cases.to_vec(), module: Arc::new(parsed.module?) })
}

fn execute(
    backend: &dyn Backend,
    module: sim_core::ModuleId,
    at: usize,
    case: &Case,
) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
    let input = operands::input(case);
    let mut output = vec![0; kernel::bytes(&case.results, case.tuples())];
    let from = Buffer::new(backend, input.len(), "operands")?;
    let to = Buffer::new(backend, output.len(), "results")?;
    backend.write(from.address, &input)?;
    let launch = Launch {
        kernel: format!("k{at}").into(),
        grid: Dim3::new(case.tuples() as u32 / BLOCK, 1, 1),
        cluster: None,
        block: Dim3::new(BLOCK, 1, 1),
        shared_bytes: 0,
        params: [from.address, to.address].iter().flat_map(|address| address.to_le_bytes()).collect(),
        cooperative: false,
    };
    let report = backend.launch(module, &launch, &RunOptions { jobs: 1, ..RunOptions::default() })?;
    let finding = || report.findings.first().map_or_else(String::new, |finding| finding.message.clone());
    match report.outcome {
        Outcome::Completed => {}
        Outcome::Unsupported => return Err(Refusal::Unsupported(reason(&finding()))),
        other => return Err(Refusal::Failed(format!("did not complete ({other:?}): {}", finding()))),
    }
    backend.read(to.address, &mut output)?;
    Ok((input, output))
}

/// Runs all cases on a device and records what comes of them; also what it refused. `progress` is
/// called with the number of cases that were run.
///
/// Runs on the threads of the current rayon pool.
pub fn record(
    catalog: &Catalog,
    backend: &dyn Backend,
    device: Device,
    progress: &(dyn Fn(usize) + Sync),
) -> (Recording, Vec<(Case, Refusal)>) {
    let batches: Vec<_> = catalog
        .batches
        .par_iter()
        .map(|batch| {
            let (mut entries, mut refused) = (Vec::new(), Vec::new());
            run(backend, batch, |case, result| {
                match result {
                    Ok((_, output)) => entries.push(Entry::new(case, &output)),
                    Err(refusal) => refused.push((case.clone(), refusal)),
                }
                progress(1);
            });
            (entries, refused)
        })
        .collect();
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for (some, others) in batches {
        entries.extend(some);
        refused.extend(others);
    }
    (Recording::new(device, entries), refused)
}
