//! Arrays of one element type: made from Rust values or from a description, read from and written to files, compared.

mod contents;
mod element;
mod npy;
mod tolerance;

use std::path::Path;

use thiserror::Error;

use crate::files::{FileError, MAX_BYTES, MAX_TEXT, read_file, read_start};

pub use contents::{Init, parse_init, splitmix};
pub use element::{Element, parse_element, parse_integer};
pub use tolerance::{Comparison, Mismatch, Tolerance, compare};

/// Why there is no array, or no value of one. The message is one sentence without a full stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// Its file was not read.
    #[error(transparent)]
    File(#[from] FileError),
    /// What a file holds is no array of the wanted type and shape.
    #[error("{0}")]
    Format(String),
    /// A text that is no number of its type, or no type.
    #[error("{0}")]
    Value(String),
    /// A description of contents that means nothing, or that does not fit type and number of elements.
    #[error("{0}")]
    Contents(String),
    /// More elements than any memory has.
    #[error("{0}")]
    TooLarge(String),
    /// More bytes than this machine has free.
    #[error("no memory for {0} bytes on this machine")]
    NoMemory(u64),
}

/// Values in host memory, little end first, last index fastest.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// Element type.
    pub element: Element,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// The elements.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element.bytes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bits of element `at`, counted from 0 with the last index fastest.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn bits(&self, at: usize) -> u64 {
        self.element.get(&self.bytes, at)
    }

    /// Element `at` as text: the shortest decimal that gives the same bits back.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn show(&self, at: usize) -> String {
        self.element.show(self.bits(at))
    }

    /// The position of element `at`, `[row, column]`-like; empty for one dimension.
    pub fn position(&self, at: usize) -> Vec<u64> {
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

    /// An array of one dimension with these values.
    pub fn of<T: Value>(values: &[T]) -> Self {
        let mut bytes = Vec::with_capacity(values.len() * T::ELEMENT.bytes());
        values.iter().for_each(|&value| T::ELEMENT.push(&mut bytes, value.bits()));
        Self { element: T::ELEMENT, shape: vec![values.len() as u64], bytes }
    }

    /// An array of zeros with these extents, outermost first.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`], [`ArrayError::NoMemory`]
    pub fn zeros(element: Element, shape: &[u64]) -> Result<Self, ArrayError> {
        Self::make(&Init::Fill("0".into()), Some(element), Some(shape), Path::new(""), 0)
    }

    /// The same elements with other extents, outermost first.
    ///
    /// # Errors
    /// [`ArrayError::Contents`]: the number of elements is another.
    pub fn reshape(mut self, shape: &[u64]) -> Result<Self, ArrayError> {
        let wanted = count(shape)?;
        if wanted != self.len() as u64 {
            return Err(ArrayError::Contents(format!(
                "{} elements do not fill the shape {shape:?}",
                self.len()
            )));
        }
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// The values, if they are of this type.
    pub fn values<T: Value>(&self) -> Option<Vec<T>> {
        let all = || (0..self.len()).map(|at| T::from_bits(self.bits(at))).collect();
        (self.element == T::ELEMENT).then(all)
    }

    /// Reads a `.npy` file, or raw bytes as elements of type `element`. Of what has no end of its own,
    /// `wanted` bytes are read.
    ///
    /// # Errors
    /// [`ArrayError::File`], [`ArrayError::Format`]
    pub fn read(path: &Path, element: Option<Element>, wanted: Option<u64>) -> Result<Self, ArrayError> {
        let kind = std::fs::metadata(path).map(|data| data.file_type());
        let bytes = match kind {
            Ok(kind) if kind.is_file() => read_file(path, MAX_BYTES)?,
            Ok(kind) if is_device(kind) => match wanted {
                Some(wanted) => read_start(path, wanted)?,
                None => read_file(path, MAX_TEXT).map_err(|error| {
                    ArrayError::Format(format!("{error}: say how many elements the buffer has"))
                })?,
            },
            _ => read_file(path, MAX_TEXT)?,
        };
        let name = path.display();
        if path.extension().is_some_and(|extension| extension == "npy") {
            return npy::read(&bytes, element)
                .map_err(|error| ArrayError::Format(format!("{name}: {error}")));
        }
        let element = element.ok_or_else(|| ArrayError::Format(format!("{name} does not say its type")))?;
        if bytes.len() % element.bytes() != 0 {
            return Err(ArrayError::Format(format!(
                "{name} has {} bytes, which is no multiple of the {} bytes of {}",
                bytes.len(),
                element.bytes(),
                element.name()
            )));
        }
        Ok(Self { element, shape: vec![(bytes.len() / element.bytes()) as u64], bytes })
    }

    /// The array of a `.npy` file of version 1 to 3. `wanted` gives meaning to elements that numpy cannot name (`bf16` and
    /// fp8, stored as raw or unsigned elements of the same size) and is otherwise required to be the stored type.
    ///
    /// # Errors
    /// [`ArrayError::Format`]
    pub fn from_npy(bytes: &[u8], wanted: Option<Element>) -> Result<Self, ArrayError> {
        npy::read(bytes, wanted).map_err(ArrayError::Format)
    }

    /// What a file of this name holds: a `.npy` file, or under any other name the raw bytes.
    pub fn file_bytes(&self, path: &Path) -> Vec<u8> {
        match path.extension().is_some_and(|extension| extension == "npy") {
            true => npy::write(self),
            false => self.bytes.clone(),
        }
    }

    /// Makes the array that `init` describes.
    ///
    /// What `element` and `shape` leave open is taken from the file or list; what they say is
    /// required of it. `directory` is what paths are relative to, `position` seeds unseeded
    /// random values.
    ///
    /// # Errors
    /// Any [`ArrayError`].
    pub fn make(
        init: &Init,
        element: Option<Element>,
        shape: Option<&[u64]>,
        directory: &Path,
        position: u64,
    ) -> Result<Self, ArrayError> {
        if let Init::Array(array) = init {
            return array.as_wanted(element, shape);
        }
        if let Init::File(path) = init {
            let wanted = match (shape, element) {
                (Some(shape), Some(element)) => count(shape)?.checked_mul(element.bytes() as u64),
                _ => None,
            };
            let mut array = Self::read(&directory.join(path), element, wanted)?;
            if let Some(shape) = shape {
                let wanted = count(shape)?;
                if wanted != array.len() as u64 {
                    return Err(ArrayError::Format(format!(
                        "{} has {} elements, {wanted} are wanted",
                        path.display(),
                        array.len()
                    )));
                }
                array.shape = shape.to_vec();
            }
            return Ok(array);
        }
        let element = element.ok_or_else(|| ArrayError::Contents("the element type is not given".into()))?;
        let shape = match (shape, init) {
            (Some(shape), _) => shape.to_vec(),
            (None, Init::List(values)) => vec![values.len() as u64],
            (None, _) => return Err(ArrayError::Contents("the number of elements is not given".into())),
        };
        let count = count(&shape)?;
        let size = count.checked_mul(element.bytes() as u64).filter(|&size| size <= MAX_BYTES);
        let size = size.ok_or_else(|| {
            ArrayError::TooLarge(format!("{count} elements of {} are too many", element.name()))
        })?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize).map_err(|_| ArrayError::NoMemory(size))?;
        contents::fill(&mut bytes, init, element, count, position)?;
        Ok(Self { element, shape, bytes })
    }

    /// Itself as what is wanted of it.
    fn as_wanted(&self, element: Option<Element>, shape: Option<&[u64]>) -> Result<Self, ArrayError> {
        if let Some(wanted) = element.filter(|&wanted| wanted != self.element) {
            let (wanted, given) = (wanted.name(), self.element.name());
            return Err(ArrayError::Contents(format!("the array holds {given}, {wanted} is wanted")));
        }
        shape.map_or_else(|| Ok(self.clone()), |shape| self.clone().reshape(shape))
    }
}

/// A number of Rust that arrays and parameters hold.
pub trait Value: Copy {
    /// Its type.
    const ELEMENT: Element;
    /// Its bits.
    fn bits(self) -> u64;
    /// From its bits.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! values {
    ($($type:ty: $element:ident $(as $unsigned:ty)?;)*) => {$(
        impl Value for $type {
            const ELEMENT: Element = Element::$element;
            fn bits(self) -> u64 {
                (self $(as $unsigned)?).into()
            }
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
    (float $($type:ty: $element:ident $bits:ty;)*) => {$(
        impl Value for $type {
            const ELEMENT: Element = Element::$element;
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }
        }
    )*};
}

values! { u8: U8; u16: U16; u32: U32; u64: U64; i8: I8 as u8; i16: I16 as u16; i32: I32 as u32; i64: I64 as u64; }
values! { float half::f16: F16 u16; half::bf16: Bf16 u16; f32: F32 u32; f64: F64 u64; }

/// Whether it may give bytes for ever.
#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

/// The number of elements of a shape.
///
/// # Errors
/// [`ArrayError::TooLarge`]
pub fn count(shape: &[u64]) -> Result<u64, ArrayError> {
    shape
        .iter()
        .try_fold(1u64, |product, &extent| product.checked_mul(extent))
        .filter(|&count| count <= MAX_BYTES)
        .ok_or_else(|| ArrayError::TooLarge(format!("the shape {shape:?} has too many elements")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(init: &str, element: Element, count: u64) -> Result<Vec<String>, ArrayError> {
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
        let draw = |init, element| make(init, element, 8).unwrap();
        assert_eq!(draw("random:3", Element::F32), draw("random:3", Element::F32));
        assert_ne!(draw("random:3", Element::U32), draw("random:4", Element::U32));
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
            let error = make(init, element, 3).unwrap_err().to_string();
            assert!(error.contains(part), "{init}: {error}");
        }
        let huge =
            Array::make(&Init::Fill("0".into()), Some(Element::F64), Some(&[1 << 38]), Path::new(""), 0);
        assert!(huge.is_err());
        assert!(count(&[u64::MAX, 2]).is_err());
    }

    #[test]
    fn values_of_rust_keep_their_bits() {
        let nan = f32::from_bits(0x7fc0_1234);
        assert_eq!(Array::of(&[1.0, nan]).values::<f32>().unwrap()[1].to_bits(), nan.to_bits());
        let numbers = Array::of(&[-1i16, 7]);
        assert_eq!((numbers.bytes.as_slice(), numbers.show(0).as_str()), (&[255, 255, 7, 0][..], "-1"));
        assert_eq!(numbers.values::<i16>(), Some(vec![-1, 7]));
        assert_eq!(numbers.values::<u16>(), None);
        assert_eq!(numbers.clone().reshape(&[2, 1]).unwrap().shape, [2, 1]);
        assert!(numbers.reshape(&[3]).is_err());
        assert_eq!(Array::zeros(Element::F64, &[2, 3]).unwrap().len(), 6);
    }

    #[test]
    fn positions_count_the_last_index_fastest() {
        let array = Array { element: Element::U8, shape: vec![2, 3], bytes: vec![0; 6] };
        assert_eq!(array.position(4), [1, 1]);
    }
}
