//! Values as text, in the manner of gdb.

use crate::error::Result;
use crate::expression::{At, Stored, Value, float, signed};
use crate::types::{Space, Type};

/// How numbers are shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Format {
    /// As their type says.
    #[default]
    Natural,
    /// `x`
    Hexadecimal,
    /// `d`
    Signed,
    /// `u`
    Unsigned,
    /// `o`
    Octal,
    /// `t`
    Binary,
    /// `c`
    Char,
    /// `f`
    Float,
    /// `a`
    Address,
    /// `s`
    Text,
    /// `i`: instructions.
    Instruction,
}

impl Format {
    /// That of a letter.
    pub fn letter(letter: char) -> Option<Format> {
        Some(match letter {
            'x' => Format::Hexadecimal,
            'd' => Format::Signed,
            'u' => Format::Unsigned,
            'o' => Format::Octal,
            't' => Format::Binary,
            'c' => Format::Char,
            'f' => Format::Float,
            'a' => Format::Address,
            's' => Format::Text,
            'i' => Format::Instruction,
            _ => return None,
        })
    }
}

/// How much is shown of a value, and in how many lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Elements shown of arrays, and members of structures, in all; 0 for so many as there are.
    pub elements: usize,
    /// Members of structures have lines of their own.
    pub pretty: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { elements: 200, pretty: false }
    }
}

/// Most elements that are shown.
const ELEMENTS: usize = 1 << 20;
/// Equal elements in a row from which on they are counted.
const REPEATS: usize = 10;
/// How deep structures are shown.
const DEPTH: usize = 20;

fn float_text(value: f64, single: bool) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.into();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.into();
    }
    let size = value.abs();
    let scientific = size != 0.0 && !(1e-5..1e16).contains(&size);
    match (single, scientific) {
        (true, true) => format!("{:e}", value as f32),
        (true, false) => format!("{}", value as f32),
        (false, true) => format!("{value:e}"),
        (false, false) => format!("{value}"),
    }
}

fn char_text(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("'\\{}'", char::from(byte)),
        0x20..0x7f => format!("'{}'", char::from(byte)),
        b'\n' => "'\\n'".into(),
        b'\t' => "'\\t'".into(),
        other => format!("'\\{other:03o}'"),
    }
}

/// A number or pointer as text.
pub fn scalar(ty: &Type, bits: u128, format: Format) -> String {
    let unsigned = match ty.bytes() {
        bytes @ 1..16 => bits & ((1 << (8 * bytes)) - 1),
        _ => bits,
    };
    match format {
        Format::Hexadecimal | Format::Address => format!("{unsigned:#x}"),
        Format::Octal if unsigned == 0 => "0".into(),
        Format::Octal => format!("0{unsigned:o}"),
        Format::Binary => format!("{unsigned:b}"),
        Format::Unsigned => unsigned.to_string(),
        Format::Signed => {
            let shift = 128 - 8 * ty.bytes().clamp(1, 16) as u32;
            ((bits << shift) as i128 >> shift).to_string()
        }
        Format::Char => {
            let byte = unsigned as u8;
            format!("{} {}", byte as i8, char_text(byte))
        }
        Format::Float => match ty {
            _ if ty.is_float() => float_text(float(ty, bits), !matches!(ty, Type::Float(8))),
            Type::Int(4, _) => float_text(f32::from_bits(bits as u32).into(), true),
            Type::Int(8, _) => float_text(f64::from_bits(bits as u64), false),
            _ => scalar(ty, bits, Format::Natural),
        },
        Format::Natural | Format::Text | Format::Instruction => match ty {
            Type::Float(bytes) => float_text(float(ty, bits), *bytes == 4),
            Type::Half | Type::Bfloat => float_text(float(ty, bits), true),
            Type::Bool => if unsigned == 0 { "false" } else { "true" }.into(),
            Type::Char => format!("{} {}", unsigned as u8 as i8, char_text(unsigned as u8)),
            Type::Pointer(space, of) => {
                let space = match space {
                    Space::Generic => "",
                    Space::Shared => "@shared ",
                    Space::Local => "@local ",
                    Space::Param => "@param ",
                };
                format!("({space}{of} *) {unsigned:#x}")
            }
            Type::Enum(_, of, names) => {
                let value = signed(of, bits) as i64;
                match names.iter().find(|(_, known)| *known == value) {
                    Some((name, _)) => name.to_string(),
                    None => value.to_string(),
                }
            }
            _ => signed(ty, bits).to_string(),
        },
    }
}

/// A value as text.
///
/// # Errors
/// Memory of it is not there.
pub fn value(at: &At<'_>, value: &Value, format: Format, style: Style) -> Result<String> {
    let left = if style.elements == 0 { ELEMENTS } else { style.elements.min(ELEMENTS) };
    Renderer { at, format, pretty: style.pretty, most: left, left }.render(value, 0)
}

struct Renderer<'r, 'a> {
    at: &'r At<'a>,
    format: Format,
    pretty: bool,
    most: usize,
    left: usize,
}

impl Renderer<'_, '_> {
    fn render(&mut self, shown: &Value, depth: usize) -> Result<String> {
        let (at, format) = (self.at, self.format);
        self.left = self.left.saturating_sub(1);
        let (space, address) = match shown.stored {
            Stored::Scalar(bits) => return Ok(scalar(&shown.ty, bits, format)),
            Stored::In(space, address) => (space, address),
        };
        if depth > DEPTH {
            return Ok("...".into());
        }
        match &shown.ty {
            Type::Array(of, count) => {
                if **of == Type::Char && matches!(format, Format::Natural | Format::Text) {
                    let mut bytes = vec![0; (*count).min(self.most as u64) as usize];
                    at.read(space, address, &mut bytes)?;
                    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                    return Ok(format!("{:?}", String::from_utf8_lossy(&bytes[..end])));
                }
                let mut parts: Vec<(String, usize)> = Vec::new();
                let mut cut = false;
                for element in 0..*count {
                    // Equal ones take no room.
                    let repeats = parts.last().is_some_and(|(_, count)| *count > REPEATS);
                    if self.left == 0 && !repeats || element >= ELEMENTS as u64 {
                        cut = true;
                        break;
                    }
                    let place = address.wrapping_add(element.wrapping_mul(of.bytes()));
                    let text = self.render(&at.value_at(of, space, place)?, depth + 1)?;
                    match parts.last_mut() {
                        Some((last, count)) if *last == text => {
                            *count += 1;
                            if *count > REPEATS {
                                self.left += 1;
                            }
                        }
                        _ if self.left == 0 => {
                            cut = true;
                            break;
                        }
                        _ => parts.push((text, 1)),
                    }
                }
                let mut shown: Vec<String> = Vec::new();
                for (text, count) in parts {
                    match count >= REPEATS {
                        true => shown.push(format!("{text} <repeats {count} times>")),
                        false => shown.extend(std::iter::repeat_n(text, count)),
                    }
                }
                Ok(format!("{{{}{}}}", shown.join(", "), if cut { "..." } else { "" }))
            }
            Type::Struct(found) => {
                let mut parts = Vec::new();
                for member in &found.members {
                    if self.left == 0 {
                        parts.push("...".to_owned());
                        break;
                    }
                    let part = at.member_at(member, space, address)?;
                    let text = self.render(&part, depth + 1)?;
                    let name = match &member.ty {
                        _ if !member.name.is_empty() => format!("{} = ", member.name),
                        Type::Struct(inner) if inner.name.is_empty() => String::new(),
                        base => format!("<{base}> = "),
                    };
                    parts.push(name + &text);
                }
                if self.pretty && !parts.is_empty() {
                    let indent = "  ".repeat(depth);
                    return Ok(format!(
                        "{{\n{indent}  {}\n{indent}}}",
                        parts.join(&format!(",\n{indent}  "))
                    ));
                }
                Ok(format!("{{{}}}", parts.join(", ")))
            }
            _ => Ok("void".into()),
        }
    }
}
