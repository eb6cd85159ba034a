//! Values that options take.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sim_core::{AsyncPolicy, Dim3, Engine};
use tools::Tool;
use warpgrind::array::parse_integer;

pub(super) fn parse_dim3(text: &str) -> Result<Dim3, String> {
    let extents = text.split([',', 'x']).map(|part| parse_u32(part.trim())).collect::<Result<Vec<_>, _>>()?;
    match extents[..] {
        [x] => Ok(x.into()),
        [x, y] => Ok((x, y).into()),
        [x, y, z] => Ok((x, y, z).into()),
        _ => Err("at most three extents".into()),
    }
}

pub(super) fn parse_u64(text: &str) -> Result<u64, String> {
    let value = parse_integer(text).ok_or_else(|| format!("`{text}` is not a whole number"))?;
    u64::try_from(value).map_err(|_| format!("{text} is not between 0 and {}", u64::MAX))
}

pub(super) fn parse_u32(text: &str) -> Result<u32, String> {
    parse_u64(text)?.try_into().map_err(|_| format!("{text} is more than {}", u32::MAX))
}

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is not a unit of time: ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a time such as 30s"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

/// A count of bytes: a whole number, or one with `K`, `M`, `G`, `T` (also `KiB` and so on) for powers of 1024, or `KB` and so on
/// for powers of 1000.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).filter(|_| !text.starts_with("0x"));
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let power = |letter: &str| ["", "k", "m", "g", "t"].iter().position(|known| *known == letter);
    let lower = unit.to_ascii_lowercase();
    let (base, letter) = match lower.strip_suffix("ib").or(lower.strip_suffix('b')) {
        Some(letter) if !lower.ends_with("ib") => (1000u64, letter),
        Some(letter) => (1024, letter),
        None => (1024, &*lower),
    };
    let power =
        power(letter).ok_or_else(|| format!("`{unit}` is not a unit of bytes: KiB, MiB, GiB or TiB"))?;
    let number = parse_u64(number)?;
    let bytes = base.checked_pow(power as u32).and_then(|unit| number.checked_mul(unit));
    bytes.ok_or_else(|| format!("{text} is more than there can be"))
}

/// A parser of one of these names.
pub(super) fn names<T: Clone + Send + Sync + 'static, const N: usize>(
    names: [&'static str; N],
    parse: fn(&str) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| parse(&name))
}

/// Names of policies.
pub(super) fn async_parser() -> impl TypedValueParser<Value = AsyncPolicy> {
    let named = AsyncPolicy::ALL.map(AsyncPolicy::name);
    PossibleValuesParser::new(named).try_map(|name| AsyncPolicy::named(&name).ok_or("no such policy"))
}

/// Says that kernels are interpreted, though it was to be otherwise.
pub(crate) fn note_engine(engine: Engine) {
    if !engine.is_available() {
        eprintln!("note: kernels are interpreted: compiled code needs a processor with AVX2 or AVX-512");
    }
}

/// Names of engines.
pub(super) fn engine_parser() -> impl TypedValueParser<Value = Engine> {
    let named = Engine::ALL.map(Engine::name);
    PossibleValuesParser::new(named).try_map(|name| Engine::named(&name).ok_or("no such engine"))
}

/// Names of tools, as the registry has them.
pub(super) fn tool_parser() -> impl TypedValueParser<Value = Tool> {
    let named = Tool::ALL.iter().map(|tool| PossibleValue::new(tool.name()).help(tool.about()));
    PossibleValuesParser::new(named).try_map(|name| Tool::named(&name).ok_or("no such tool"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        let sizes = [
            ("0", 0),
            ("4096", 4096),
            ("0x10", 16),
            ("1k", 1 << 10),
            ("512MiB", 512 << 20),
            ("4G", 4 << 30),
            ("2TiB", 2 << 40),
            ("3MB", 3_000_000),
            ("7b", 7),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for (text, why) in [
            ("4X", "`X` is not a unit of bytes: KiB, MiB, GiB or TiB"),
            ("4PiB", "`PiB` is not a unit of bytes: KiB, MiB, GiB or TiB"),
            ("G", "`` is not a whole number"),
            ("", "`` is not a whole number"),
            ("-1G", "-1 is not between 0 and 18446744073709551615"),
            ("18000000000GiB", "18000000000GiB is more than there can be"),
        ] {
            assert_eq!(parse_bytes(text), Err(why.into()), "{text}");
        }
    }

    #[test]
    fn extents_and_times_are_parsed() {
        assert_eq!(parse_dim3("4"), Ok(Dim3::new(4, 1, 1)));
        assert_eq!(parse_dim3("4,5x6"), Ok(Dim3::new(4, 5, 6)));
        assert!(parse_dim3("1,2,3,4").is_err());
        assert!(parse_dim3("-1").is_err());
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(parse_duration("5 years").is_err());
        assert_eq!(parse_u64("1_000"), Ok(1000));
    }
}
