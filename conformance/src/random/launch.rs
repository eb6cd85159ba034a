//! Runs a random kernel on a backend.

use std::sync::Arc;
use std::time::Duration;

use ptx_frontend::{ScalarType, Source, parse};
use sim_core::{Backend, Dim3, Launch, Outcome, RunOptions};

use super::{BLOCK, CELLS, GRID, Kernel, OWN, REGISTERS, STRIDE};
use crate::numbers::Random;
use crate::run::{Buffer, Refusal};
use crate::specials::{Kind, mask};

/// What a launch may take.
const LIMIT: Duration = Duration::from_secs(20);

/// What the kernel leaves in memory.
pub fn run(backend: &dyn Backend, kernel: &Kernel) -> Result<Vec<u8>, Refusal> {
    let parsed = parse(Source::new("random.ptx", kernel.ptx().into_bytes()));
    let wrong = || parsed.diagnostics.first().map_or_else(String::new, |error| error.message.clone());
    let module = parsed.module.ok_or_else(|| Refusal::Failed(format!("the PTX is wrong: {}", wrong())))?;
    let module = backend.load(Arc::new(module))?;
    let result = launch(backend, module, kernel.seed);
    // What cannot be unloaded is lost; the results are there.
    let _ = backend.unload(module);
    result
}

fn launch(backend: &dyn Backend, module: sim_core::ModuleId, seed: u64) -> Result<Vec<u8>, Refusal> {
    let input = input(seed);
    let threads = (GRID * BLOCK) as usize;
    let mut output = vec![0; threads * STRIDE as usize];
    let mut own = vec![0; threads * OWN as usize + 8 * CELLS as usize];
    let from = Buffer::new(backend, input.len(), "in")?;
    let to = Buffer::new(backend, output.len(), "out")?;
    let scratch = Buffer::new(backend, own.len(), "own")?;
    backend.write(from.address, &input)?;
    backend.write(to.address, &output)?;
    backend.write(scratch.address, &own)?;
    let launch = Launch {
        kernel: "k".into(),
        grid: Dim3::new(GRID, 1, 1),
        cluster: None,
        block: Dim3::new(BLOCK, 1, 1),
        shared_bytes: 0,
        params: [from.address, to.address, scratch.address].iter().flat_map(|a| a.to_le_bytes()).collect(),
        cooperative: false,
    };
    let options = RunOptions { jobs: 1, timeout: Some(LIMIT), ..RunOptions::default() };
    let report = backend.launch(module, &launch, &options)?;
    let finding = || report.findings.first().map_or_else(String::new, |finding| finding.message.clone());
    match report.outcome {
        Outcome::Completed if report.findings.is_empty() => {}
        Outcome::Completed => return Err(Refusal::Failed(finding())),
        Outcome::Unsupported => return Err(Refusal::Unsupported(finding())),
        other => return Err(Refusal::Failed(format!("did not complete ({other:?}): {}", finding()))),
    }
    backend.read(to.address, &mut output)?;
    backend.read(scratch.address, &mut own)?;
    output.extend(own);
    Ok(output)
}

/// FNV-1a over bytes, to tell results apart.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The threads' first values.
fn input(seed: u64) -> Vec<u8> {
    let mut random = Random::new(!seed);
    let mut bytes = Vec::new();
    for _ in 0..GRID * BLOCK {
        let start = bytes.len();
        for (letter, _, count) in REGISTERS {
            let (kind, size) = match letter {
                'r' => (Kind::of(ScalarType::S32), 4),
                'f' => (Kind::of(ScalarType::F32), 4),
                'd' => (Kind::of(ScalarType::S64), 8),
                'g' => (Kind::of(ScalarType::F64), 8),
                'h' => (Kind::of(ScalarType::F16), 2),
                _ => continue,
            };
            for _ in 0..count {
                let value = value(kind, &mut random);
                bytes.extend_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        bytes.resize(start + STRIDE as usize, 0x5a);
    }
    bytes
}

/// Often something ordinary, so that values stay alive in long computations.
fn value(kind: Kind, random: &mut Random) -> u64 {
    let bits = random.next();
    match (kind, random.below(8)) {
        (_, 0) => {
            let specials = kind.specials();
            specials[random.below(specials.len() as u64) as usize]
        }
        (_, 1) => bits & mask(kind.bits()),
        (Kind::Float(exponent, fraction), _) => {
            let bias = mask(exponent) >> 1;
            let exponent_bits = bias - 8 + random.below(16);
            (bits >> 63) << (exponent + fraction) | exponent_bits << fraction | bits & mask(fraction)
        }
        (_, 2) => bits & mask(kind.bits()) >> random.below(31),
        _ => (bits % 4096).wrapping_sub(1024) & mask(kind.bits()),
    }
}
