//! Descriptions of contents, and the elements that they stand for.

use std::path::PathBuf;

use super::{Array, ArrayError, Element, parse_integer};
use crate::names::closest;

/// How an array is filled. Numbers are texts until the element type is known.
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// One value everywhere.
    Fill(String),
    /// These values, as many as the buffer has elements.
    List(Vec<String>),
    /// These values again and again.
    Cycle(Vec<String>),
    /// `start + i * step`.
    Sequence {
        /// The first value.
        start: String,
        /// The difference of neighbours.
        step: String,
    },
    /// Uniform random values.
    Random {
        /// `None` takes the buffer's position.
        seed: Option<u64>,
        /// Half-open interval; `None`: `0..1` for floats, all values for integers.
        range: Option<(String, String)>,
        /// Integers only, for float types too.
        whole: bool,
    },
    /// A `.npy` file, or raw little-endian bytes under any other name.
    File(PathBuf),
    /// These values.
    Array(Array),
}

fn wrong(message: String) -> ArrayError {
    ArrayError::Contents(message)
}

/// Parses a description of contents, as `--arg` and launch files have them. Numbers are checked when the type is known.
///
/// # Errors
/// [`ArrayError::Contents`]
pub fn parse_init(text: &str) -> Result<Init, ArrayError> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        return match path {
            "" => Err(wrong("`@` needs a file name".into())),
            path => Ok(Init::File(path.into())),
        };
    }
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    match (word, rest) {
        ("seq", None) => Ok(Init::Sequence { start: "0".into(), step: "1".into() }),
        ("seq", Some(rest)) => {
            let (start, step) = rest.split_once(':').unwrap_or((rest, "1"));
            Ok(Init::Sequence { start: start.into(), step: step.into() })
        }
        ("cycle", Some(rest)) => Ok(Init::Cycle(split_list(rest)?)),
        ("random" | "randint", rest) => parse_random(text, word == "randint", rest),
        _ if text.contains(',') => split_list(text).map(Init::List),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
            || matches!(text, "nan" | "inf" | "NaN") =>
        {
            Ok(Init::Fill(text.into()))
        }
        _ => {
            let words = ["seq", "cycle", "random", "randint"];
            let hint = match closest(word, words) {
                Some(close) => format!("did you mean `{close}`?"),
                None => "a buffer starts with a number, a list, seq, cycle, random, randint or @FILE".into(),
            };
            Err(wrong(format!("unknown initial contents `{text}`; {hint}")))
        }
    }
}

fn parse_random(text: &str, whole: bool, rest: Option<&str>) -> Result<Init, ArrayError> {
    let (mut seed, mut range) = (None, None);
    for part in rest.into_iter().flat_map(|rest| rest.split(':')) {
        match part.split_once("..") {
            Some((low, high)) if range.is_none() => range = Some((low.to_string(), high.to_string())),
            None if seed.is_none() && range.is_none() => {
                let value = parse_integer(part).and_then(|v| u64::try_from(v).ok());
                seed = Some(value.ok_or_else(|| wrong(format!("`{part}` in `{text}` is not a seed")))?);
            }
            _ => return Err(wrong(format!("`{text}` is not of the form random[:SEED][:LOW..HIGH]"))),
        }
    }
    if whole && range.is_none() {
        return Err(wrong(format!("`{text}` needs a range, as in randint:-8..8")));
    }
    Ok(Init::Random { seed, range, whole })
}

fn split_list(text: &str) -> Result<Vec<String>, ArrayError> {
    let values: Vec<String> = text.split(',').map(|value| value.trim().to_string()).collect();
    match values.iter().any(String::is_empty) {
        true => Err(wrong(format!("an element of the list `{text}` is empty"))),
        false => Ok(values),
    }
}

/// Appends the elements that a description stands for.
pub(super) fn fill(
    bytes: &mut Vec<u8>,
    init: &Init,
    element: Element,
    count: u64,
    position: u64,
) -> Result<(), ArrayError> {
    let parse_all = |values: &[String]| -> Result<Vec<u64>, ArrayError> {
        values.iter().map(|value| element.parse(value)).collect()
    };
    match init {
        Init::Fill(value) => {
            let value = element.parse(value)?;
            (0..count).for_each(|_| element.push(bytes, value));
        }
        Init::List(values) => {
            if values.len() as u64 != count {
                return Err(wrong(format!(
                    "the list has {} values, the buffer {count} elements",
                    values.len()
                )));
            }
            parse_all(values)?.into_iter().for_each(|value| element.push(bytes, value));
        }
        Init::Cycle(values) => {
            let values = parse_all(values)?;
            values.iter().cycle().take(count as usize).for_each(|&value| element.push(bytes, value));
        }
        Init::Sequence { start, step } => match (parse_integer(start), parse_integer(step)) {
            (Some(start), Some(step)) => {
                let small =
                    |value: i128| i64::try_from(value).map_err(|_| wrong(format!("`{value}` is too large")));
                let (start, step) = (i128::from(small(start)?), i128::from(small(step)?));
                (0..count)
                    .for_each(|i| element.push(bytes, element.encode_integer(start + i as i128 * step)));
            }
            _ => {
                if !element.is_float() {
                    return Err(wrong(format!("seq:{start}:{step} is not a sequence of {}", element.name())));
                }
                let (start, step) =
                    (f64::from_bits(Element::F64.parse(start)?), f64::from_bits(Element::F64.parse(step)?));
                (0..count).for_each(|i| element.push(bytes, element.encode_f64(start + i as f64 * step)));
            }
        },
        Init::Random { seed, range, whole } => {
            let seed = seed.unwrap_or(position);
            let draw = Draw::new(element, range.as_ref(), *whole)?;
            (0..count).for_each(|i| element.push(bytes, draw.value(element, splitmix(seed, i))));
        }
        Init::File(_) | Init::Array(_) => return Err(wrong("a file is read, not filled".into())),
    }
    Ok(())
}

/// Output number `at` (from 0) of the SplitMix64 generator seeded with `seed`.
pub fn splitmix(seed: u64, at: u64) -> u64 {
    let mut z = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How 64 random bits become a value.
enum Draw {
    Bits,
    Integer { low: i128, span: u128 },
    Float { low: f64, high: f64 },
}

impl Draw {
    fn new(element: Element, range: Option<&(String, String)>, whole: bool) -> Result<Self, ArrayError> {
        let integer = |text: &str| {
            parse_integer(text)
                .filter(|v| (-(1i128 << 63)..=1 << 64).contains(v))
                .ok_or_else(|| wrong(format!("`{text}` is not an integer, or too large")))
        };
        match range {
            None if element.is_float() => Ok(Self::Float { low: 0.0, high: 1.0 }),
            None => Ok(Self::Bits),
            Some((low, high)) if whole || !element.is_float() => {
                let (low, high) = (integer(low)?, integer(high)?);
                let (least, greatest) =
                    if element.is_float() { (i128::MIN, i128::MAX) } else { element.range() };
                if low >= high {
                    return Err(wrong(format!("the range {low}..{high} is empty")));
                }
                if low < least || high - 1 > greatest || high - low > 1 << 64 {
                    return Err(wrong(format!("the range {low}..{high} does not fit {}", element.name())));
                }
                Ok(Self::Integer { low, span: (high - low) as u128 })
            }
            Some((low, high)) => {
                let number = |text: &str| Element::F64.parse(text).map(f64::from_bits);
                let (low, high) = (number(low)?, number(high)?);
                match low < high && (high - low).is_finite() {
                    true => Ok(Self::Float { low, high }),
                    false => Err(wrong(format!("the range {low}..{high} is empty or not finite"))),
                }
            }
        }
    }

    fn value(&self, element: Element, random: u64) -> u64 {
        match *self {
            Self::Bits => random & element.mask(),
            // The span is at most 2^64, so the product fits.
            Self::Integer { low, span } => {
                element.encode_integer(low + ((random as u128 * span) >> 64) as i128)
            }
            Self::Float { low, high } => {
                let unit = (random >> 11) as f64 * 2f64.powi(-53);
                element.encode_f64(low + unit * (high - low))
            }
        }
    }
}
