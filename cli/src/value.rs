//! The language of `--arg` and of strings in launch files.
//!
//! ```text
//! arg     = [ NAME "=" ] ( buffer | "&" NAME [ "+" BYTES ] | bytes | scalar )
//! scalar  = [ TYPE ":" ] NUMBER | NUMBER "f" | "0f" HEX8 | "0d" HEX16
//! buffer  = [ "buf:" ] TYPE [ "[" N { "," N } "]" ] [ "=" init ] [ ">" output ]
//!         | [ "buf:" ] "@" FILE.npy [ ">" output ]
//! init    = NUMBER { "," NUMBER } | "cycle:" NUMBER { "," NUMBER } | "seq" [ ":" START [ ":" STEP ] ]
//!         | "random" [ ":" SEED ] [ ":" LOW ".." HIGH ] | "randint" [ ":" SEED ] ":" LOW ".." HIGH
//!         | "@" FILE
//! output  = "-" | FILE.npy | FILE
//! bytes   = "hex:" DIGITS | "bytes:@" FILE
//! ```
//!
//! Parsing needs no knowledge of the kernel; [`Scalar::fit`] checks a number against its parameter.

use std::path::PathBuf;

use ptx_frontend::{ScalarType, TypeClass};

use crate::element::{Element, parse_integer};
use crate::exit::closest;

/// One argument of a launch.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Arg {
    /// A number.
    Scalar(Scalar),
    /// A new buffer, whose address is passed.
    Buffer(BufferSpec),
    /// The address of a buffer defined elsewhere, plus an offset in bytes.
    Reference {
        /// Its name, or the position of the argument that defines it.
        name: String,
        /// Bytes added to the address.
        offset: u64,
    },
    /// Raw bytes, for parameters that are structs or arrays.
    Bytes(Vec<u8>),
    /// Raw bytes from a file.
    BytesFile(PathBuf),
    /// Bytes and addresses one after the other, for structures that hold addresses. Launch files only.
    Parts(Vec<Arg>),
}

/// A number whose type may be given.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scalar {
    /// The type in front of it or implied by its form.
    pub(crate) element: Option<Element>,
    /// The number.
    pub(crate) text: String,
}

/// What a buffer holds, how it starts and where it goes.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct BufferSpec {
    /// Element type; `None` takes that of the `.npy` file or of the module's variable.
    pub(crate) element: Option<Element>,
    /// Extents, outermost first; `None` takes that of the file, list or variable.
    pub(crate) shape: Option<Vec<u64>>,
    /// Initial contents; `None` leaves it unwritten.
    pub(crate) init: Option<Init>,
    /// Where it is written after the last launch.
    pub(crate) output: Option<Output>,
}

/// How a buffer is filled.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Init {
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
}

/// Where a buffer goes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Output {
    /// Printed on standard output.
    Print,
    /// A `.npy` file, or raw little-endian bytes under any other name.
    File(PathBuf),
}

/// Parses one argument; the name in front of it, if any, comes first.
pub(crate) fn parse_arg(text: &str) -> Result<(Option<String>, Arg), String> {
    if let Some((name, rest)) = text.split_once('=')
        && is_name(name)
        && Element::from_name(name).is_none()
    {
        return Ok((Some(name.to_string()), parse_unnamed(rest)?));
    }
    Ok((None, parse_unnamed(text)?))
}

fn parse_unnamed(text: &str) -> Result<Arg, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("an argument is empty".into());
    }
    if let Some(rest) = text.strip_prefix('&') {
        let (name, offset) = match rest.split_once('+') {
            Some((name, offset)) => {
                let bytes = parse_integer(offset.trim()).and_then(|v| u64::try_from(v).ok());
                (name, bytes.ok_or_else(|| format!("`{offset}` is not a number of bytes"))?)
            }
            None => (rest, 0),
        };
        return Ok(Arg::Reference { name: name.trim().to_string(), offset });
    }
    if let Some(digits) = text.strip_prefix("hex:") {
        return parse_hex(digits).map(Arg::Bytes);
    }
    if let Some(path) = text.strip_prefix("bytes:@") {
        return Ok(Arg::BytesFile(path.into()));
    }
    if let Some(rest) = text.strip_prefix("buf:") {
        return parse_buffer(rest).map(Arg::Buffer);
    }
    let word = text.find(|c: char| !c.is_ascii_alphanumeric()).map_or(text, |end| &text[..end]);
    let follows = text[word.len()..].chars().next();
    if text.starts_with('@') || matches!(follows, Some('[' | '=' | '>')) {
        return parse_buffer(text).map(Arg::Buffer);
    }
    parse_scalar(text).map(Arg::Scalar)
}

/// Whether the text can name a buffer.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'))
}

/// An element type by name, with a suggestion for names of other languages.
pub(crate) fn parse_element(name: &str) -> Result<Element, String> {
    Element::from_name(name).ok_or_else(|| {
        let c_names = [
            ("char", "i8"),
            ("short", "i16"),
            ("int", "i32"),
            ("unsigned", "u32"),
            ("uint", "u32"),
            ("long", "i64"),
            ("size_t", "u64"),
            ("half", "f16"),
            ("float", "f32"),
            ("double", "f64"),
        ];
        let names = Element::ALL.iter().map(|element| element.name());
        let known = c_names.iter().find(|(c, _)| *c == name).map(|&(_, ours)| ours);
        let hint = match known.or_else(|| closest(name, names.clone())) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("the types are {}", names.collect::<Vec<_>>().join(", ")),
        };
        format!("unknown type `{name}`; {hint}")
    })
}

/// Parses a number with or without a type.
pub(crate) fn parse_scalar(text: &str) -> Result<Scalar, String> {
    if let Some((name, number)) = text.split_once(':') {
        let element = parse_element(name)?;
        element.parse(number)?;
        return Ok(Scalar { element: Some(element), text: number.to_string() });
    }
    let ptx_float = |prefix: [&str; 2], digits: usize| {
        let rest = text.strip_prefix(prefix[0]).or_else(|| text.strip_prefix(prefix[1]))?;
        (rest.len() == digits && rest.bytes().all(|b| b.is_ascii_hexdigit())).then(|| format!("0x{rest}"))
    };
    if let Some(text) = ptx_float(["0f", "0F"], 8) {
        return Ok(Scalar { element: Some(Element::F32), text });
    }
    if let Some(text) = ptx_float(["0d", "0D"], 16) {
        return Ok(Scalar { element: Some(Element::F64), text });
    }
    if parse_integer(text).is_some() {
        return Ok(Scalar { element: None, text: text.to_string() });
    }
    // `inf` ends in an f too, but it is no number without it.
    if let Some(number) = text.strip_suffix('f')
        && Element::F32.parse(number).is_ok()
    {
        return Ok(Scalar { element: Some(Element::F32), text: number.to_string() });
    }
    match Element::F64.parse(text) {
        Ok(_) => Ok(Scalar { element: None, text: text.to_string() }),
        Err(_) => Err(format!(
            "`{text}` is neither a number nor a buffer; examples: 42, -1, 1.5f, u64:0x10, 'f32[1024]=seq', '@x.npy'"
        )),
    }
}

impl Scalar {
    /// The bytes of the number as a parameter of type `ty`.
    ///
    /// Numbers without a type take the parameter's; integers may be given as signed or unsigned,
    /// since nvcc declares `int` parameters as `.u32`.
    pub(crate) fn fit(&self, ty: ScalarType) -> Result<Vec<u8>, String> {
        let size = ty.bytes() as usize;
        let text = &self.text;
        let bits = match self.element {
            Some(element) => {
                if element.bytes() != size {
                    return Err(format!(
                        "`{}:{text}` has {} bytes, the parameter's type {ty} has {size}",
                        element.name(),
                        element.bytes()
                    ));
                }
                let is_bits = matches!(ty.class(), TypeClass::Bits);
                if !is_bits && ty.is_float() != element.is_float() {
                    return Err(format!(
                        "`{}:{text}` is {}, the parameter's type is {ty}; write {}{} to pass these bits",
                        element.name(),
                        if element.is_float() { "a float" } else { "an integer" },
                        if ty.is_float() { format!("{}:", ty.text()) } else { String::new() },
                        element.hex(element.parse(text)?),
                    ));
                }
                element.parse(text)?
            }
            None => untyped_bits(text, ty)?,
        };
        if size > 8 {
            return Err(format!("the parameter's type is {ty}: give its bytes as `hex:…`"));
        }
        Ok(bits.to_le_bytes()[..size].to_vec())
    }
}

fn untyped_bits(text: &str, ty: ScalarType) -> Result<u64, String> {
    let of_size = |floats: bool| {
        Element::ALL
            .iter()
            .copied()
            .find(|e| e.bytes() as u32 == ty.bytes() && e.is_float() == floats && *e != Element::E4m3)
    };
    let named = Element::from_name(ty.text());
    if ty.is_float() {
        return match named {
            Some(element) => element.parse(text),
            None => Err(format!("the parameter's type is {ty}: give its bits, as in u{}:0x…", ty.bits())),
        };
    }
    let Some(value) = parse_integer(text) else {
        let number = Element::F64.parse(text).map(|_| "a float").unwrap_or("no number");
        return match (ty.class(), ty.bytes()) {
            // Newer compilers declare every parameter as bits.
            (TypeClass::Bits, 4) => Element::F32.parse(text),
            (TypeClass::Bits, 8) => Element::F64.parse(text),
            (TypeClass::Bits, 2) => Err(format!("write `f16:{text}` or `bf16:{text}`")),
            _ => Err(format!("`{text}` is {number}, the parameter's type is {ty}")),
        };
    };
    let Some(unsigned) = of_size(false) else {
        return Err(format!("the parameter's type is {ty}: give its bytes as `hex:…`"));
    };
    let (low, high) = (-(unsigned.range().1 / 2) - 1, unsigned.range().1);
    if value < low || value > high {
        return Err(format!("`{text}` does not fit the parameter's type {ty}, which holds {low} to {high}"));
    }
    Ok(value as u64 & unsigned.mask())
}

/// Pairs of hex digits, with `_` and blanks between them.
fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !matches!(c, '_' | ' '))
        .map(|c| c.to_digit(16).map(|d| d as u8).ok_or_else(|| format!("`{c}` is not a hex digit")))
        .collect::<Result<_, _>>()?;
    match digits.len() % 2 {
        0 => Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err(format!("`hex:{text}` has an odd number of digits")),
    }
}

/// Parses what follows `buf:`.
pub(crate) fn parse_buffer(text: &str) -> Result<BufferSpec, String> {
    let (text, output) = match text.split_once('>') {
        Some((before, after)) => (before.trim(), Some(parse_output(after.trim())?)),
        None => (text, None),
    };
    if let Some(path) = text.strip_prefix('@') {
        if !path.ends_with(".npy") {
            return Err(format!("`@{path}` does not say its type; write for example `f32=@{path}`"));
        }
        let init = Some(Init::File(path.into()));
        return Ok(BufferSpec { init, output, ..BufferSpec::default() });
    }
    let (head, init) = match text.split_once('=') {
        Some((head, init)) => (head, Some(parse_init(init)?)),
        None => (text, None),
    };
    let (name, shape) = match head.split_once('[') {
        Some((name, rest)) => {
            let inside = rest.strip_suffix(']').ok_or_else(|| format!("`{head}` lacks a closing `]`"))?;
            (name, if inside.trim().is_empty() { None } else { Some(parse_shape(inside)?) })
        }
        None => (head, None),
    };
    let element = parse_element(name.trim())?;
    // A single number without a shape is a list of one.
    let init = match (init, &shape) {
        (Some(Init::Fill(value)), None) => Some(Init::List(vec![value])),
        (init, _) => init,
    };
    if shape.is_none() && !matches!(init, Some(Init::File(_) | Init::List(_))) {
        return Err(format!("`{text}` does not say how many elements; write for example `{name}[1024]`"));
    }
    Ok(BufferSpec { element: Some(element), shape, init, output })
}

fn parse_shape(text: &str) -> Result<Vec<u64>, String> {
    text.split([',', 'x'])
        .map(|extent| {
            let extent = extent.trim();
            parse_integer(extent)
                .and_then(|v| u64::try_from(v).ok())
                .ok_or_else(|| format!("`{extent}` is not a number of elements"))
        })
        .collect()
}

fn parse_output(text: &str) -> Result<Output, String> {
    match text {
        "" => Err("`>` needs a file name, or `-` to print".into()),
        "-" => Ok(Output::Print),
        path => Ok(Output::File(path.into())),
    }
}

/// Parses the initial contents of a buffer. Numbers are checked when the type is known.
pub(crate) fn parse_init(text: &str) -> Result<Init, String> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        return match path {
            "" => Err("`@` needs a file name".into()),
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
            Err(format!("unknown initial contents `{text}`; {hint}"))
        }
    }
}

fn parse_random(text: &str, whole: bool, rest: Option<&str>) -> Result<Init, String> {
    let (mut seed, mut range) = (None, None);
    for part in rest.into_iter().flat_map(|rest| rest.split(':')) {
        match part.split_once("..") {
            Some((low, high)) if range.is_none() => range = Some((low.to_string(), high.to_string())),
            None if seed.is_none() && range.is_none() => {
                let value = parse_integer(part).and_then(|v| u64::try_from(v).ok());
                seed = Some(value.ok_or_else(|| format!("`{part}` in `{text}` is not a seed"))?);
            }
            _ => return Err(format!("`{text}` is not of the form random[:SEED][:LOW..HIGH]")),
        }
    }
    if whole && range.is_none() {
        return Err(format!("`{text}` needs a range, as in randint:-8..8"));
    }
    Ok(Init::Random { seed, range, whole })
}

fn split_list(text: &str) -> Result<Vec<String>, String> {
    let values: Vec<String> = text.split(',').map(|value| value.trim().to_string()).collect();
    match values.iter().any(String::is_empty) {
        true => Err(format!("an element of the list `{text}` is empty")),
        false => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit(text: &str, ty: ScalarType) -> Result<Vec<u8>, String> {
        parse_scalar(text)?.fit(ty)
    }

    #[test]
    fn scalars_take_the_type_of_the_parameter() {
        assert_eq!(fit("42", ScalarType::U32), Ok(42u32.to_le_bytes().into()));
        assert_eq!(fit("-1", ScalarType::U32), Ok(vec![0xff; 4]));
        assert_eq!(fit("42", ScalarType::F32), Ok(42f32.to_le_bytes().into()));
        assert_eq!(fit("1.5f", ScalarType::B32), Ok(1.5f32.to_le_bytes().into()));
        assert_eq!(fit("1.5", ScalarType::B32), Ok(1.5f32.to_le_bytes().into()));
        assert_eq!(fit("1.5", ScalarType::F64), Ok(1.5f64.to_le_bytes().into()));
        assert_eq!(fit("0f3F800000", ScalarType::F32), Ok(1f32.to_le_bytes().into()));
        assert_eq!(fit("u64:0x10", ScalarType::B64), Ok(16u64.to_le_bytes().into()));
        assert_eq!(fit("i8:-1", ScalarType::S8), Ok(vec![0xff]));
        assert_eq!(fit("bf16:1", ScalarType::B16), Ok(vec![0x80, 0x3f]));
        assert_eq!(fit("inf", ScalarType::F32), Ok(f32::INFINITY.to_le_bytes().into()));
        assert_eq!(fit("0x10", ScalarType::U8), Ok(vec![16]));
        assert_eq!(fit("1e3f", ScalarType::F32), Ok(1000f32.to_le_bytes().into()));
        assert_eq!(fit("0xf", ScalarType::U8), Ok(vec![15]));
    }

    #[test]
    fn scalars_that_do_not_fit_are_refused() {
        for (text, ty) in [
            ("300", ScalarType::U8),
            ("1.5", ScalarType::U32),
            ("1.5f", ScalarType::F64),
            ("f32:1", ScalarType::U32),
            ("u32:1", ScalarType::F32),
            ("1.5", ScalarType::B16),
            ("1", ScalarType::B128),
        ] {
            assert!(fit(text, ty).is_err(), "{text} for {ty}");
        }
        let message = fit("f32:1", ScalarType::U32).unwrap_err();
        assert!(message.contains("0x3f800000"), "{message}");
    }

    #[test]
    fn buffers_say_type_shape_contents_and_output() {
        let (name, arg) = parse_arg("y=buf:f32[64x32]=random:7:-1..1>out.npy").unwrap();
        assert_eq!(name.as_deref(), Some("y"));
        let range = Some(("-1".to_string(), "1".to_string()));
        assert_eq!(
            arg,
            Arg::Buffer(BufferSpec {
                element: Some(Element::F32),
                shape: Some(vec![64, 32]),
                init: Some(Init::Random { seed: Some(7), range, whole: false }),
                output: Some(Output::File("out.npy".into())),
            })
        );
        assert!(matches!(parse_arg("@x.npy>-"), Ok((None, Arg::Buffer(_)))));
        assert!(matches!(parse_arg("f32=@x.raw"), Ok((None, Arg::Buffer(_)))));
        assert!(matches!(parse_arg("i32=1,2,3"), Ok((None, Arg::Buffer(_)))));
        for one in ["f32=1", "f32[]=1", "x=f32=1", "buf:f32=1"] {
            let Ok((_, Arg::Buffer(buffer))) = parse_arg(one) else { panic!("{one}") };
            assert_eq!(buffer.init, Some(Init::List(vec!["1".into()])), "{one}");
        }
        assert!(matches!(parse_arg("n=42"), Ok((Some(_), Arg::Scalar(_)))));
        assert_eq!(parse_arg("&x+16").unwrap().1, Arg::Reference { name: "x".into(), offset: 16 });
        assert_eq!(parse_arg("hex:01_ff").unwrap().1, Arg::Bytes(vec![1, 0xff]));
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, part) in [
            ("float[4]", "did you mean `f32`?"),
            ("f32", "neither a number nor a buffer"),
            ("f32[4", "closing `]`"),
            ("f32=seq", "how many elements"),
            ("f32[]=seq", "how many elements"),
            ("f32[4]=sequence", "did you mean `seq`?"),
            ("@x.raw", "does not say its type"),
            ("f32[4]=random:x", "not a seed"),
            ("i8:200", "does not fit i8"),
            ("hex:123", "odd number"),
            ("f32[4]>", "needs a file name"),
            ("", "empty"),
        ] {
            let error = parse_arg(text).map(|_| ()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, ty in proptest::sample::select(ScalarType::ALL)) {
            if let Ok((_, Arg::Scalar(scalar))) = parse_arg(&text) {
                let _ = scalar.fit(ty);
            }
        }

        #[test]
        fn texts_of_the_language_do_not_panic(
            text in "(x=)?(buf:)?(f32|u8|@|&)?[\\[\\]0-9,x]{0,6}(=|>|:|seq|random|cycle|\\.\\.|-|@a){0,6}"
        ) {
            let _ = parse_arg(&text);
        }

        #[test]
        fn every_u32_and_i32_fits_a_u32_parameter(value: u32) {
            prop_assert_eq!(fit(&value.to_string(), ScalarType::U32), Ok(value.to_le_bytes().into()));
            let signed = value as i32;
            prop_assert_eq!(fit(&signed.to_string(), ScalarType::U32), Ok(value.to_le_bytes().into()));
        }

        #[test]
        fn floats_keep_their_bits(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(!value.is_nan());
            let expected: Vec<u8> = value.to_le_bytes().into();
            prop_assert_eq!(fit(&format!("{value:?}"), ScalarType::F32), Ok(expected));
        }
    }
}
