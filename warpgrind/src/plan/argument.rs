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

use super::PlanError;
use crate::array::{Element, Init, Value, parse_element, parse_init, parse_integer};

/// One argument of a launch.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
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
pub struct Scalar {
    /// The type in front of it or implied by its form.
    pub element: Option<Element>,
    /// The number.
    pub text: String,
}

/// What a buffer holds, how it starts and where it goes.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct BufferSpec {
    /// Element type; `None` takes that of the `.npy` file or of the module's variable.
    pub element: Option<Element>,
    /// Extents, outermost first; `None` takes that of the file, list or variable.
    pub shape: Option<Vec<u64>>,
    /// Initial contents; `None` leaves it unwritten.
    pub init: Option<Init>,
    /// Where it is written after the last launch.
    pub output: Option<Output>,
}

/// Where a buffer goes.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// Printed on standard output.
    Print,
    /// A `.npy` file, or raw little-endian bytes under any other name.
    File(PathBuf),
}

fn wrong(message: impl Into<String>) -> PlanError {
    PlanError::new(message)
}

/// Parses one argument; the name in front of it, if any, comes first.
///
/// # Errors
/// It is not of the language, or a number does not fit its type.
pub fn parse_arg(text: &str) -> Result<(Option<String>, Arg), PlanError> {
    if let Some((name, rest)) = text.split_once('=')
        && is_name(name)
        && Element::from_name(name).is_none()
    {
        return Ok((Some(name.to_string()), parse_unnamed(rest)?));
    }
    Ok((None, parse_unnamed(text)?))
}

fn parse_unnamed(text: &str) -> Result<Arg, PlanError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(wrong("an argument is empty"));
    }
    if let Some(rest) = text.strip_prefix('&') {
        let (name, offset) = match rest.split_once('+') {
            Some((name, offset)) => {
                let bytes = parse_integer(offset.trim()).and_then(|v| u64::try_from(v).ok());
                (name, bytes.ok_or_else(|| wrong(format!("`{offset}` is not a number of bytes")))?)
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
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'))
}

/// Parses a number with or without a type.
///
/// # Errors
/// It is none, or does not fit the type.
pub fn parse_scalar(text: &str) -> Result<Scalar, PlanError> {
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
        Err(_) => Err(wrong(format!(
            "`{text}` is neither a number nor a buffer; examples: 42, -1, 1.5f, u64:0x10, 'f32[1024]=seq', '@x.npy'"
        ))),
    }
}

impl<T: Value> From<T> for Scalar {
    /// The number with its type; floats keep their bits.
    fn from(value: T) -> Self {
        let element = T::ELEMENT;
        let text = match element.is_float() {
            true => element.hex(value.bits()),
            false => element.show(value.bits()),
        };
        Self { element: Some(element), text }
    }
}

impl Scalar {
    /// The bytes of the number as a parameter of type `ty`.
    ///
    /// Numbers without a type take the parameter's; integers may be given as signed or unsigned,
    /// since nvcc declares `int` parameters as `.u32`.
    ///
    /// # Errors
    /// It has another size or kind, or does not fit.
    pub fn fit(&self, ty: ScalarType) -> Result<Vec<u8>, PlanError> {
        let size = ty.bytes() as usize;
        let text = &self.text;
        let bits = match self.element {
            Some(element) => {
                if element.bytes() != size {
                    return Err(wrong(format!(
                        "`{}:{text}` has {} bytes, the parameter's type {ty} has {size}",
                        element.name(),
                        element.bytes()
                    )));
                }
                let is_bits = matches!(ty.class(), TypeClass::Bits);
                if !is_bits && ty.is_float() != element.is_float() {
                    return Err(wrong(format!(
                        "`{}:{text}` is {}, the parameter's type is {ty}; write {}{} to pass these bits",
                        element.name(),
                        if element.is_float() { "a float" } else { "an integer" },
                        if ty.is_float() { format!("{}:", ty.text()) } else { String::new() },
                        element.hex(element.parse(text)?),
                    )));
                }
                element.parse(text)?
            }
            None => untyped_bits(text, ty)?,
        };
        if size > 8 {
            return Err(wrong(format!("the parameter's type is {ty}: give its bytes as `hex:…`")));
        }
        Ok(bits.to_le_bytes()[..size].to_vec())
    }
}

fn untyped_bits(text: &str, ty: ScalarType) -> Result<u64, PlanError> {
    let of_size = |floats: bool| {
        Element::ALL
            .iter()
            .copied()
            .find(|e| e.bytes() as u32 == ty.bytes() && e.is_float() == floats && *e != Element::E4m3)
    };
    let named = Element::from_name(ty.text());
    if ty.is_float() {
        return match named {
            Some(element) => Ok(element.parse(text)?),
            None => {
                Err(wrong(format!("the parameter's type is {ty}: give its bits, as in u{}:0x…", ty.bits())))
            }
        };
    }
    let Some(value) = parse_integer(text) else {
        let number = Element::F64.parse(text).map(|_| "a float").unwrap_or("no number");
        return match (ty.class(), ty.bytes()) {
            // Newer compilers declare every parameter as bits.
            (TypeClass::Bits, 4) => Ok(Element::F32.parse(text)?),
            (TypeClass::Bits, 8) => Ok(Element::F64.parse(text)?),
            (TypeClass::Bits, 2) => Err(wrong(format!("write `f16:{text}` or `bf16:{text}`"))),
            _ => Err(wrong(format!("`{text}` is {number}, the parameter's type is {ty}"))),
        };
    };
    let Some(unsigned) = of_size(false) else {
        return Err(wrong(format!("the parameter's type is {ty}: give its bytes as `hex:…`")));
    };
    let (low, high) = (-(unsigned.range().1 / 2) - 1, unsigned.range().1);
    if value < low || value > high {
        return Err(wrong(format!(
            "`{text}` does not fit the parameter's type {ty}, which holds {low} to {high}"
        )));
    }
    Ok(value as u64 & unsigned.mask())
}

/// Pairs of hex digits, with `_` and blanks between them.
fn parse_hex(text: &str) -> Result<Vec<u8>, PlanError> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !matches!(c, '_' | ' '))
        .map(|c| c.to_digit(16).map(|d| d as u8).ok_or_else(|| wrong(format!("`{c}` is not a hex digit"))))
        .collect::<Result<_, _>>()?;
    match digits.len() % 2 {
        0 => Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err(wrong(format!("`hex:{text}` has an odd number of digits"))),
    }
}

/// Parses what follows `buf:`.
///
/// # Errors
/// It is not of the language.
pub fn parse_buffer(text: &str) -> Result<BufferSpec, PlanError> {
    let (text, output) = match text.split_once('>') {
        Some((before, after)) => (before.trim(), Some(parse_output(after.trim())?)),
        None => (text, None),
    };
    if let Some(path) = text.strip_prefix('@') {
        if !path.ends_with(".npy") {
            return Err(wrong(format!("`@{path}` does not say its type; write for example `f32=@{path}`")));
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
            let inside =
                rest.strip_suffix(']').ok_or_else(|| wrong(format!("`{head}` lacks a closing `]`")))?;
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
        return Err(wrong(format!(
            "`{text}` does not say how many elements; write for example `{name}[1024]`"
        )));
    }
    Ok(BufferSpec { element: Some(element), shape, init, output })
}

fn parse_shape(text: &str) -> Result<Vec<u64>, PlanError> {
    text.split([',', 'x'])
        .map(|extent| {
            let extent = extent.trim();
            parse_integer(extent)
                .and_then(|v| u64::try_from(v).ok())
                .ok_or_else(|| wrong(format!("`{extent}` is not a number of elements")))
        })
        .collect()
}

fn parse_output(text: &str) -> Result<Output, PlanError> {
    match text {
        "" => Err(wrong("`>` needs a file name, or `-` to print")),
        "-" => Ok(Output::Print),
        path => Ok(Output::File(path.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit(text: &str, ty: ScalarType) -> Result<Vec<u8>, PlanError> {
        parse_scalar(text)?.fit(ty)
    }

    #[test]
    fn scalars_take_the_type_of_the_parameter() {
        assert_eq!(fit("42", ScalarType::U32).unwrap(), 42u32.to_le_bytes());
        assert_eq!(fit("-1", ScalarType::U32).unwrap(), vec![0xff; 4]);
        assert_eq!(fit("42", ScalarType::F32).unwrap(), 42f32.to_le_bytes());
        assert_eq!(fit("1.5f", ScalarType::B32).unwrap(), 1.5f32.to_le_bytes());
        assert_eq!(fit("1.5", ScalarType::B32).unwrap(), 1.5f32.to_le_bytes());
        assert_eq!(fit("1.5", ScalarType::F64).unwrap(), 1.5f64.to_le_bytes());
        assert_eq!(fit("0f3F800000", ScalarType::F32).unwrap(), 1f32.to_le_bytes());
        assert_eq!(fit("u64:0x10", ScalarType::B64).unwrap(), 16u64.to_le_bytes());
        assert_eq!(fit("i8:-1", ScalarType::S8).unwrap(), vec![0xff]);
        assert_eq!(fit("bf16:1", ScalarType::B16).unwrap(), vec![0x80, 0x3f]);
        assert_eq!(fit("inf", ScalarType::F32).unwrap(), f32::INFINITY.to_le_bytes());
        assert_eq!(fit("0x10", ScalarType::U8).unwrap(), vec![16]);
        assert_eq!(fit("1e3f", ScalarType::F32).unwrap(), 1000f32.to_le_bytes());
        assert_eq!(fit("0xf", ScalarType::U8).unwrap(), vec![15]);
    }

    #[test]
    fn numbers_of_rust_are_scalars_with_their_bits() {
        let nan = f32::from_bits(0xffc0_1234);
        assert_eq!(Scalar::from(nan).fit(ScalarType::F32).unwrap(), nan.to_le_bytes());
        assert_eq!(Scalar::from(-2i64).fit(ScalarType::U64).unwrap(), (-2i64).to_le_bytes());
        assert_eq!(Scalar::from(7u32).fit(ScalarType::B32).unwrap(), [7, 0, 0, 0]);
        assert!(Scalar::from(7u32).fit(ScalarType::U64).is_err());
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
        let message = fit("f32:1", ScalarType::U32).unwrap_err().message;
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
            let error = parse_arg(text).map(|_| ()).unwrap_err().message;
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
            prop_assert_eq!(fit(&value.to_string(), ScalarType::U32).unwrap(), value.to_le_bytes());
            let signed = value as i32;
            prop_assert_eq!(fit(&signed.to_string(), ScalarType::U32).unwrap(), value.to_le_bytes());
        }

        #[test]
        fn floats_keep_their_bits(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(!value.is_nan());
            let expected: Vec<u8> = value.to_le_bytes().into();
            prop_assert_eq!(fit(&format!("{value:?}"), ScalarType::F32).unwrap(), expected);
        }
    }
}
