//! The arguments of `selftest`.

use clap::{Args, Subcommand};

/// `warpgrind selftest`
#[derive(Subcommand, Debug)]
pub(crate) enum SelfTest {
    /// Approximate functions and conversions: hashes over one-operand operations
    ///
    /// Recomputes hashes of 32 operations and compares them with those of an H200. Without --exhaustive
    /// a sample of about 12 million inputs each, in seconds.
    Numerics(NumericsArgs),
}

/// `warpgrind selftest numerics`
#[derive(Args, Debug)]
pub(crate) struct NumericsArgs {
    /// All 2^32 inputs of every operation
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Only this operation, such as sin.approx.f32; may be given several times
    #[arg(long, value_name = "OP")]
    pub(crate) only: Vec<String>,
    /// With --exhaustive, only part I of N equal parts of the inputs
    #[arg(long, value_name = "I/N", requires = "exhaustive", value_parser = parse_shard)]
    pub(crate) shard: Option<(usize, usize)>,
}

/// Part and number of parts, the part from 1.
fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((part, of)) if 1 <= part && part <= of && of <= 4096 => Ok((part, of)),
        _ => Err(format!("`{text}` is not a part such as 1/4 (of at most 4096)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_parsed() {
        assert_eq!(parse_shard("1/4"), Ok((1, 4)));
        for wrong in ["0/4", "5/4", "1", "a/b", "1/5000", "1/-1"] {
            assert!(parse_shard(wrong).is_err(), "{wrong}");
        }
    }
}
