//! The `.npy` format, versions 1 to 3: a header that says type, order and shape, then the elements.
//!
//! Written by hand because the crates that read it bring a parser generator and an assembler step
//! with them; the header of what numpy writes is one flat dictionary.

use super::{Array, Element};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array. `wanted` gives meaning to types that numpy cannot name (`bf16` and fp8, stored
/// as raw or unsigned elements of the same size) and is otherwise required to be the stored one.
pub(super) fn read(bytes: &[u8], wanted: Option<Element>) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("not a .npy file: it does not start with \\x93NUMPY")?;
    let cut = || "the .npy header is cut off".to_string();
    let major = *rest.first().ok_or_else(cut)?;
    let rest = rest.get(2..).ok_or_else(cut)?;
    let (length, rest) = match major {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
            (u16::from_le_bytes(*length) as usize, rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return Err(format!("version {major} of the .npy format is not known")),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = Header::parse(&String::from_utf8_lossy(header))?;
    let (element, big_endian) = header.element(wanted)?;

    let count = header.shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
    let size = count.and_then(|count| count.checked_mul(element.bytes() as u64));
    if size != Some(data.len() as u64) {
        return Err(format!(
            "the .npy file says shape {:?} of {}, but {} bytes follow the header",
            header.shape,
            element.name(),
            data.len()
        ));
    }
    let mut data = data.to_vec();
    if big_endian {
        data.chunks_exact_mut(element.bytes()).for_each(<[u8]>::reverse);
    }
    if header.fortran_order {
        data = transpose(&data, &header.shape, element.bytes());
    }
    Ok(Array { element, shape: header.shape, bytes: data })
}

/// Writes an array in format version 1, C order.
pub(super) fn write(array: &Array) -> Vec<u8> {
    let shape: String = array.shape.iter().map(|extent| format!("{extent},")).collect();
    let shape = if array.shape.len() > 1 { shape.trim_end_matches(',') } else { &shape };
    let mut header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", array.element.npy());
    // Magic, version and length take 10 bytes; data starts at a multiple of 64.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut out = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    out.extend_from_slice(&array.bytes);
    out
}

struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
            Some(text[at + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
        };
        let wrong = |what: &str| format!("the .npy header lacks a readable `{what}`: {}", text.trim_end());
        let descr = value("descr").ok_or_else(|| wrong("descr"))?;
        if descr.starts_with('[') {
            return Err("the .npy file holds records; only arrays of one number type can be read".into());
        }
        let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| wrong("descr"))?;
        let descr = descr[1..].split(quote).next().unwrap_or_default().to_string();
        let fortran_order = match value("fortran_order").ok_or_else(|| wrong("fortran_order"))? {
            v if v.starts_with("True") => true,
            v if v.starts_with("False") => false,
            _ => return Err(wrong("fortran_order")),
        };
        let shape = value("shape").and_then(|v| v.strip_prefix('(')).and_then(|v| v.split_once(')'));
        let shape = shape
            .ok_or_else(|| wrong("shape"))?
            .0
            .split(',')
            .map(str::trim)
            .filter(|extent| !extent.is_empty())
            .map(|extent| extent.trim_end_matches('L').parse().map_err(|_| wrong("shape")))
            .collect::<Result<_, _>>()?;
        Ok(Self { descr, fortran_order, shape })
    }

    /// The element type and whether bytes are in big-endian order.
    fn element(&self, wanted: Option<Element>) -> Result<(Element, bool), String> {
        let unreadable = || format!("elements of type `{}` cannot be read", self.descr);
        let order = self.descr.chars().next().filter(|c| "<>|=".contains(*c));
        let code = &self.descr[order.map_or(0, |_| 1)..];
        let kind = code.chars().next().ok_or_else(unreadable)?;
        let size: usize = code[kind.len_utf8()..].parse().map_err(|_| unreadable())?;
        let stored = match (kind, size) {
            ('b', 1) => Some(Element::U8),
            _ => Element::ALL.iter().copied().find(|e| kind != 'V' && e.npy()[1..] == *code),
        };
        let element = match (stored, wanted) {
            (Some(stored), None) => stored,
            (Some(stored), Some(wanted)) if stored == wanted => stored,
            (stored, Some(wanted))
                if wanted.bytes() == size
                    && (stored.is_none() && kind == 'V'
                        || stored.is_some_and(|s| {
                            !s.is_float() && !s.is_signed() && wanted.npy().contains('V')
                        })) =>
            {
                wanted
            }
            (Some(stored), Some(wanted)) => {
                return Err(format!("the file holds {}, {} is wanted", stored.name(), wanted.name()));
            }
            (None, None) if kind == 'V' => {
                return Err(format!(
                    "elements of type `{}` have no name in numpy; give the type, as in bf16=@FILE",
                    self.descr
                ));
            }
            _ => return Err(unreadable()),
        };
        Ok((element, order == Some('>')))
    }
}

/// From first index fastest to last index fastest.
fn transpose(data: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0u64; shape.len()];
    for _ in 0..data.len() / size {
        let at = index.iter().zip(shape).rev().fold(0, |at, (&i, &extent)| at * extent + i) as usize;
        out.extend_from_slice(&data[at * size..][..size]);
        for (i, &extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < extent {
                break;
            }
            *i = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn reads_what_numpy_writes() {
        let bytes = file(
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }   \n",
            &[1, 0, 2, 0, 3, 0, 255, 255],
        );
        let array = read(&bytes, None).unwrap();
        assert_eq!((array.element, &array.shape[..]), (Element::I16, &[2, 2][..]));
        assert_eq!((0..4).map(|i| array.show(i)).collect::<Vec<_>>(), ["1", "2", "3", "-1"]);
    }

    #[test]
    fn fortran_order_and_big_endian_are_turned() {
        let bytes = file(
            "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n",
            &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6],
        );
        let array = read(&bytes, None).unwrap();
        assert_eq!((0..6).map(|i| array.bits(i)).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_scalar_and_an_empty_array_have_their_shapes() {
        let scalar =
            read(&file("{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", &[7]), None).unwrap();
        assert!(scalar.shape.is_empty());
        let empty =
            read(&file("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }\n", &[]), None).unwrap();
        assert_eq!(empty.len(), 0);
    }

    #[test]
    fn wrong_files_are_explained() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
        for (bytes, wanted, part) in [
            (b"PK".to_vec(), None, "not a .npy file"),
            (file(header, &[0; 4]), None, "4 bytes follow"),
            (file(header, &[0; 8]), Some(Element::I32), "holds f32, i32 is wanted"),
            (file(&header.replace("<f4", "<c8"), &[0; 16]), None, "`<c8` cannot be read"),
            (file(&header.replace("<f4", "<V2"), &[0; 4]), None, "give the type"),
            (file(&header.replace("'<f4'", "[('a', '<f4')]"), &[0; 8]), None, "records"),
        ] {
            let error = read(&bytes, wanted).map(|_| ()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    proptest! {
        #[test]
        fn written_arrays_read_back(
            element in proptest::sample::select(Element::ALL),
            shape in proptest::collection::vec(0u64..5, 0..4),
            seed: u8,
        ) {
            let count = shape.iter().product::<u64>() as usize;
            let bytes: Vec<u8> = (0..count * element.bytes()).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
            let array = Array { element, shape, bytes };
            let written = write(&array);
            prop_assert_eq!((written.len() - array.bytes.len()) % 64, 0);
            prop_assert_eq!(read(&written, Some(element)), Ok(array));
        }

        #[test]
        fn no_bytes_panic(version in 0u8..5, bytes: Vec<u8>, text in "\\{('descr'|'shape'|'fortran_order'|: |'<f4'|\\(2,\\)|True|,){0,9}\\}") {
            let _ = read(&bytes, None);
            let _ = read(&file(&text, &bytes), None);
            let _ = read(&[MAGIC, &[version], &bytes].concat(), Some(Element::F32));
        }
    }
}
