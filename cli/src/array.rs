//! Arrays of one element type: made from their description, read from and written to files.

use std::io::Read;
use std::path::Path;

use crate::element::{Element, parse_integer};
use crate::exit::Failure;
use crate::files;
use crate::npy;
use crate::value::Init;

/// Bytes that more than any device has, which only a mistake asks for.
const MAX_BYTES: u64 = 1 << 40;
/// Bytes of a text, of a recording, or of what says neither its size nor is told one.
pub(crate) const MAX_TEXT: u64 = 1 << 30;

/// Values in host memory, little end first, last index fastest.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Array {
    /// Element type.
    pub(crate) element: Element,
    /// Extents, outermost first.
    pub(crate) shape: Vec<u64>,
    /// The elements.
    pub(crate) bytes: Vec<u8>,
}

impl Array {
    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.element.bytes()
    }

    /// The bits of element `at`.
    pub(crate) fn bits(&self, at: usize) -> u64 {
        self.element.get(&self.bytes, at)
    }

    /// Element `at` as text.
    pub(crate) fn show(&self, at: usize) -> String {
        self.element.show(self.bits(at))
    }

    /// The position of element `at`, `[row, column]`-like; empty for one dimension.
    pub(crate) fn position(&self, at: usize) -> Vec<u64> {
        if self.shape.len() < 2 {
            return Vec::new();
        }
        let mut rest = at as u64;
        let mut position: Vec<u64> = self
            .shape
            .iter()
            .rev()
            .map(|&extent| {
                let here = rest % extent.max(1);
                rest /= extent.max(1);
                here
            })
            .collect();
        position.reverse();
        position
    }

    /// Reads a `.npy` file, or raw bytes as elements of type `element`. Of what has no end of its own,
    /// `wanted` bytes are read.
    pub(crate) fn read(path: &Path, element: Option<Element>, wanted: Option<u64>) -> Result<Self, String> {
        let kind = std::fs::metadata(path).map(|data| data.file_type());
        let bytes = match kind {
            Ok(kind) if kind.is_file() => read_file(path, MAX_BYTES)?,
            Ok(kind) if is_device(kind) => match wanted {
                Some(wanted) => read_start(path, wanted)?,
                None => read_file(path, MAX_TEXT)
                    .map_err(|error| format!("{error}: say how many elements the buffer has"))?,
            },
            _ => read_file(path, MAX_TEXT)?,
        };
        let name = path.display();
        if path.extension().is_some_and(|extension| extension == "npy") {
            return npy::read(&bytes, element).map_err(|error| format!("{name}: {error}"));
        }
        let element = element.ok_or_else(|| format!("{name} does not say its type"))?;
        if bytes.len() % element.bytes() != 0 {
            return Err(format!(
                "{name} has {} bytes, which is no multiple of the {} bytes of {}",
                bytes.len(),
                element.bytes(),
                element.name()
            ));
        }
        Ok(Self { element, shape: vec![(bytes.len() / element.bytes()) as u64], bytes })
    }

    /// Writes a `.npy` file, or raw bytes under any other name.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        match path.extension().is_some_and(|extension| extension == "npy") {
            true => files::replace(path, &npy::write(self)),
            false => files::replace(path, &self.bytes),
        }
    }

    /// Makes the array that `init` describes.
    ///
    /// What `element` and `shape` leave open is taken from the file or list; what they say is
    /// required of it. `directory` is what paths are relative to, `position` seeds unseeded
    /// random values.
    pub(crate) fn make(
        init: &Init,
        element: Option<Element>,
        shape: Option<&[u64]>,
        directory: &Path,
        position: u64,
    ) -> Result<Self, String> {
        if let Init::File(path) = init {
            let wanted = match (shape, element) {
                (Some(shape), Some(element)) => count(shape)?.checked_mul(element.bytes() as u64),
                _ => None,
            };
            let mut array = Self::read(&directory.join(path), element, wanted)?;
            if let Some(shape) = shape {
                let wanted = count(shape)?;
                if wanted != array.len() as u64 {
                    return Err(format!(
                        "{} has {} elements, {wanted} are wanted",
                        path.display(),
                        array.len()
                    ));
                }
                array.shape = shape.to_vec();
            }
            return Ok(array);
        }
        let element = element.ok_or("the element type is not given")?;
        let shape = match (shape, init) {
            (Some(shape), _) => shape.to_vec(),
            (None, Init::List(values)) => vec![values.len() as u64],
            (None, _) => return Err("the number of elements is not given".into()),
        };
        let count = count(&shape)?;
        let size = count.checked_mul(element.bytes() as u64).filter(|&size| size <= MAX_BYTES);
        let size = size.ok_or_else(|| format!("{count} elements of {} are too many", element.name()))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(size as usize)
            .map_err(|_| format!("no memory for {size} bytes on this machine"))?;
        fill(&mut bytes, init, element, count, position)?;
        Ok(Self { element, shape, bytes })
    }
}

/// Whether it may give bytes for ever.
#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

/// Reads a file of at most so many bytes, with its name in the error.
pub(crate) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let bytes = read_start(path, most.saturating_add(1))?;
    if bytes.len() as u64 > most {
        return Err(format!("{} has more than {most} bytes, or no end", path.display()));
    }
    Ok(bytes)
}

/// Reads at most so many bytes from the start of a file.
fn read_start(path: &Path, bytes: u64) -> Result<Vec<u8>, String> {
    let mut start = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(bytes).read_to_end(&mut start))
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(start)
}

/// The number of elements of a shape.
pub(crate) fn count(shape: &[u64]) -> Result<u64, String> {
    shape
        .iter()
        .try_fold(1u64, |product, &extent| product.checked_mul(extent))
        .filter(|&count| count <= MAX_BYTES)
        .ok_or_else(|| format!("the shape {shape:?} has too many elements"))
}

fn fill(bytes: &mut Vec<u8>, init: &Init, element: Element, count: u64, position: u64) -> Result<(), String> {
    let parse_all = |values: &[String]| -> Result<Vec<u64>, String> {
        values.iter().map(|value| element.parse(value)).collect()
    };
    match init {
        Init::Fill(value) => {
            let value = element.parse(value)?;
            (0..count).for_each(|_| element.push(bytes, value));
        }
        Init::List(values) => {
            if values.len() as u64 != count {
                return Err(format!("the list has {} values, the buffer {count} elements", values.len()));
            }
            parse_all(values)?.into_iter().for_each(|value| element.push(bytes, value));
        }
        Init::Cycle(values) => {
            let values = parse_all(values)?;
            values.iter().cycle().take(count as usize).for_each(|&value| element.push(bytes, value));
        }
        Init::Sequence { start, step } => match (parse_integer(start), parse_integer(step)) {
            (Some(start), Some(step)) => {
                let small = |value: i128| i64::try_from(value).map_err(|_| format!("`{value}` is too large"));
                let (start, step) = (i128::from(small(start)?), i128::from(small(step)?));
                (0..count)
                    .for_each(|i| element.push(bytes, element.encode_integer(start + i as i128 * step)));
            }
            _ => {
                if !element.is_float() {
                    return Err(format!("seq:{start}:{step} is not a sequence of {}", element.name()));
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
        Init::File(_) => return Err("a file is read, not filled".into()),
    }
    Ok(())
}

/// Output number `at` (from 0) of the SplitMix64 generator seeded with `seed`.
pub(crate) fn splitmix(seed: u64, at: u64) -> u64 {
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
    fn new(element: Element, range: Option<&(String, String)>, whole: bool) -> Result<Self, String> {
        let integer = |text: &str| {
            parse_integer(text)
                .filter(|v| (-(1i128 << 63)..=1 << 64).contains(v))
                .ok_or_else(|| format!("`{text}` is not an integer, or too large"))
        };
        match range {
            None if element.is_float() => Ok(Self::Float { low: 0.0, high: 1.0 }),
            None => Ok(Self::Bits),
            Some((low, high)) if whole || !element.is_float() => {
                let (low, high) = (integer(low)?, integer(high)?);
                let (least, greatest) =
                    if element.is_float() { (i128::MIN, i128::MAX) } else { element.range() };
                if low >= high {
                    return Err(format!("the range {low}..{high} is empty"));
                }
                if low < least || high - 1 > greatest || high - low > 1 << 64 {
                    return Err(format!("the range {low}..{high} does not fit {}", element.name()));
                }
                Ok(Self::Integer { low, span: (high - low) as u128 })
            }
            Some((low, high)) => {
                let number = |text: &str| Element::F64.parse(text).map(f64::from_bits);
                let (low, high) = (number(low)?, number(high)?);
                match low < high && (high - low).is_finite() {
                    true => Ok(Self::Float { low, high }),
                    false => Err(format!("the range {low}..{high} is empty or not finite")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::parse_init;

    fn make(init: &str, element: Element, count: u64) -> Result<Vec<String>, String> {
        let array = Array::make(&parse_init(init)?, Some(element), Some(&[count]), Path::new(""), 0)?;
        Ok((0..array.len()).map(|i| array.show(i)).collect())
    }

    #[test]
    fn contents_are_as_described() {
        assert_eq!(make("1.5", Element::F32, 2).unwrap(), ["1.5", "1.5"]);
        assert_eq!(make("seq", Element::I32, 3).unwrap(), ["0", "1", "2"]);
        assert_eq!(make("seq:5:-2", Element::I8, 4).unwrap(), ["5", "3", "1", "-1"]);
        assert_eq!(make("seq:0:0.5", Element::F64, 3).unwrap(), ["0.0", "0.5", "1.0"]);
        assert_eq!(make("seq:254", Element::U8, 3).unwrap(), ["254", "255", "0"]);
        assert_eq!(make("1,2,3", Element::U16, 3).unwrap(), ["1", "2", "3"]);
        assert_eq!(make("cycle:1,2", Element::F32, 3).unwrap(), ["1.0", "2.0", "1.0"]);
    }

    #[test]
    fn random_values_are_reproducible_and_in_range() {
        // First outputs of the published SplitMix64 for seed 0.
        assert_eq!(splitmix(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix(0, 1), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(make("random:3", Element::F32, 8), make("random:3", Element::F32, 8));
        assert_ne!(make("random:3", Element::U32, 8), make("random:4", Element::U32, 8));
        for value in make("random:1:-2..3", Element::I16, 1000).unwrap() {
            assert!((-2..3).contains(&value.parse::<i32>().unwrap()));
        }
        for value in make("randint:1:-2..3", Element::F32, 1000).unwrap() {
            assert!(["-2.0", "-1.0", "0.0", "1.0", "2.0"].contains(&value.as_str()), "{value}");
        }
        for value in make("random:1:2..4", Element::F64, 1000).unwrap() {
            assert!((2.0..4.0).contains(&value.parse::<f64>().unwrap()));
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (init, element, part) in [
            ("1,2", Element::F32, "2 values, the buffer 3 elements"),
            ("300", Element::U8, "does not fit u8"),
            ("random:-1..256", Element::U8, "does not fit u8"),
            ("random:4..4", Element::F32, "empty"),
            ("seq:0.5", Element::I32, "not a sequence of i32"),
            ("@no/such.npy", Element::I32, "cannot read no/such.npy"),
        ] {
            let error = make(init, element, 3).unwrap_err();
            assert!(error.contains(part), "{init}: {error}");
        }
        let huge =
            Array::make(&Init::Fill("0".into()), Some(Element::F64), Some(&[1 << 38]), Path::new(""), 0);
        assert!(huge.is_err());
        assert!(count(&[u64::MAX, 2]).is_err());
    }

    #[test]
    fn positions_count_the_last_index_fastest() {
        let array = Array { element: Element::U8, shape: vec![2, 3], bytes: vec![0; 6] };
        assert_eq!(array.position(4), [1, 1]);
    }
}
