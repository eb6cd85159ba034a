//! What a device gave for the kernels of seeds, as text.
//!
//! A line holds a seed, a hash of its PTX, and hashes of what the device left with its optimiser off and
//! with it on (`=` where both are the same), in hexadecimal; behind ` # ` why the simulator gives
//! something else than the optimised device. Lines that begin with `#` are comments.

use std::collections::BTreeMap;

/// What was recorded of a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seed {
    /// Of the PTX text: what was recorded for another text says nothing.
    pub ptx: u64,
    /// With the device's optimiser off.
    pub unoptimised: u64,
    /// With the device's optimiser on.
    pub optimised: u64,
    /// What the optimiser does that the simulator does not follow.
    pub reason: Option<String>,
}

/// A recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hashes {
    /// Which device and driver.
    pub device: String,
    /// By seed.
    pub seeds: BTreeMap<u64, Seed>,
}

/// A line that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the recorded random kernels is wrong")]
pub struct HashesError {
    /// From 1.
    pub line: usize,
}

impl Hashes {
    /// Reads a recording.
    pub fn parse(text: &str) -> Result<Self, HashesError> {
        let mut hashes = Hashes::default();
        for (at, line) in text.lines().enumerate() {
            if let Some(comment) = line.strip_prefix('#') {
                if let Some(device) = comment.trim().strip_prefix("device: ") {
                    hashes.device = device.to_owned();
                }
                continue;
            }
            let (words, reason) = match line.split_once(" # ") {
                Some((words, reason)) => (words, Some(reason.trim().to_owned())),
                None => (line, None),
            };
            let hex = |word: &str| u64::from_str_radix(word, 16).ok();
            let read = || match words.split_whitespace().collect::<Vec<_>>()[..] {
                [seed, ptx, off, on] => {
                    let unoptimised = hex(off)?;
                    let optimised = if on == "=" { unoptimised } else { hex(on)? };
                    Some((seed.parse().ok()?, Seed { ptx: hex(ptx)?, unoptimised, optimised, reason }))
                }
                _ => None,
            };
            let (seed, known) = read().ok_or(HashesError { line: at + 1 })?;
            hashes.seeds.insert(seed, known);
        }
        Ok(hashes)
    }
}

impl std::fmt::Display for Hashes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "# Random kernels: seed, PTX, results with the optimiser off and on; `warpgrind conformance random`."
        )?;
        writeln!(f, "# device: {}", self.device)?;
        for (seed, known) in &self.seeds {
            write!(f, "{seed} {:016x} {:016x} ", known.ptx, known.unoptimised)?;
            match known.optimised == known.unoptimised {
                true => write!(f, "=")?,
                false => write!(f, "{:016x}", known.optimised)?,
            }
            match &known.reason {
                Some(reason) => writeln!(f, " # {reason}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let seed = |optimised, reason: Option<&str>| Seed {
            ptx: 1,
            unoptimised: 2,
            optimised,
            reason: reason.map(str::to_owned),
        };
        let hashes = Hashes {
            device: "NVIDIA H200, CUDA 13.0".into(),
            seeds: [(7, seed(2, None)), (9, seed(3, Some("unrolls")))].into(),
        };
        assert_eq!(Hashes::parse(&hashes.to_string()), Ok(hashes));
        assert_eq!(Hashes::parse("# a\n1 2 3\n"), Err(HashesError { line: 2 }));
    }
}
