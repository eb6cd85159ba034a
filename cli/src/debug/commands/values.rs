//! Values: shown, watched over, and changed.

use debugger::format::Format;
use debugger::types::Space;
use debugger::{Error, Focus, Result};
use sim_core::WarpId;

use super::words::{Done, P, location, refuse};
use crate::debug::prompt::Display;

/// What stands behind the letters, and count, format and size as they say.
type Letters<'a> = (&'a str, Option<usize>, Option<Format>, Option<u8>);

/// `/16xw`, or `/x`.
pub(super) fn letters(rest: &str) -> Result<Letters<'_>> {
    let Some(letters) = rest.strip_prefix('/') else { return Ok((rest, None, None, None)) };
    let end = letters.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(letters.len());
    let (letters, rest) = letters.split_at(end);
    let digits = letters.find(|c: char| !c.is_ascii_digit()).unwrap_or(letters.len());
    let count = match &letters[..digits] {
        "" => None,
        digits => match digits.parse() {
            Ok(count @ 1..=65_536) => Some(count),
            _ => return refuse(format!("\"{digits}\" is no number of units; there are at most 65536")),
        },
    };
    let (mut format, mut size) = (None, None);
    for letter in letters[digits..].chars() {
        match (letter, Format::letter(letter)) {
            ('b', _) => size = Some(1),
            ('h', _) => size = Some(2),
            ('w', _) => size = Some(4),
            ('g', _) => size = Some(8),
            (_, Some(found)) => format = Some(found),
            (other, None) => return refuse(format!("invalid format letter '{other}'")),
        }
    }
    Ok((rest.trim(), count, format, size))
}

/// What stands before an `=` that changes something.
fn assigned(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let at = (1..bytes.len()).find(|&at| {
        let before = bytes[at - 1];
        bytes[at] == b'=' && !b"=<>!".contains(&before) && bytes.get(at + 1) != Some(&b'=')
    })?;
    Some(text[..at].trim())
}

fn print_one(p: P<'_, '_, '_, '_, '_>, text: &str, format: Format) -> Done {
    let (bound, _) = p.debugger.bind(text)?;
    let shown = p.debugger.show_bound(&bound, format)?;
    let number = p.debugger.keep(&bound)?;
    p.out(format!("${number} = {shown}\n"));
    Ok(None)
}

/// `print`, with nothing around the value.
pub(super) fn output(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (text, _, format, _) = letters(rest)?;
    let shown = p.debugger.show(text, format.unwrap_or_default())?;
    p.out(shown);
    Ok(None)
}

/// Text with `\\n` and the like, as `echo` and `printf` take it.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

pub(super) fn echo(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    p.out(unescaped(rest));
    Ok(None)
}

/// `printf "i is %d\n", i`
pub(super) fn printf(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let wrong = || Error::Refused("a text in quotes, then values: printf \"i is %d\\n\", i".into());
    let inner = rest.strip_prefix('"').ok_or_else(wrong)?;
    let mut escaped = false;
    let end = inner.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let (text, values) = inner.split_at(end.ok_or_else(wrong)?);
    let values = values[1..].trim();
    let mut values = values.strip_prefix(',').map(arguments).unwrap_or_default().into_iter();
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out += &unescaped(before);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let letter =
            after.find(|c: char| c.is_ascii_alphabetic() && !"hlzjt".contains(c)).ok_or_else(wrong)?;
        let (spec, after) = after.split_at(letter + 1);
        let format = match spec.as_bytes()[letter] {
            b'x' | b'X' | b'p' => Format::Hexadecimal,
            b'd' | b'i' => Format::Signed,
            b'u' => Format::Unsigned,
            b'o' => Format::Octal,
            b'f' | b'g' | b'e' => Format::Float,
            b'c' | b's' => Format::Natural,
            other => return refuse(format!("`%{}` is no conversion", char::from(other))),
        };
        let value =
            values.next().ok_or_else(|| Error::Refused("there are fewer values than conversions".into()))?;
        let shown = p.debugger.show(value, format)?;
        let width: usize =
            spec[..letter].trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        out += &format!("{shown:>width$}", width = width.min(1000));
        rest = after;
    }
    out += &unescaped(rest);
    if values.next().is_some() {
        return refuse("there are more values than conversions");
    }
    p.out(out);
    Ok(None)
}

/// What stands between commas, those in brackets not counted.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0i32, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found
}

/// `set var PLACE = VALUE`
pub(super) fn set_var(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let before = p.debugger.changes();
    if p.debugger.assign(rest)? && before == 0 {
        p.out(match p.kept.of_program {
            true => "[From here on the launch goes another way; going back behind this takes it back. The program's own run does not have it]\n",
            false => "[From here on the launch goes another way; going back behind this takes it back]\n",
        });
    }
    Ok(None)
}

/// Shows an expression whenever the launch stands still.
pub(super) fn display(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (text, _, format, _) = letters(rest)?;
    if text.is_empty() {
        p.show_displays();
        return Ok(None);
    }
    p.debugger.bind(text)?;
    let id = p.kept.displays.last().map_or(1, |last| last.id + 1);
    p.kept.displays.push(Display { id, text: text.to_owned(), format: format.unwrap_or_default() });
    p.show_display(p.kept.displays.len() - 1);
    Ok(None)
}

pub(super) fn undisplay(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    if rest.is_empty() {
        p.kept.displays.clear();
    }
    for word in rest.split_whitespace() {
        let number = word.parse::<u32>().ok();
        let at = p.kept.displays.iter().position(|display| Some(display.id) == number);
        match at {
            Some(at) => drop(p.kept.displays.remove(at)),
            None => return refuse(format!("no display number {word}")),
        }
    }
    Ok(None)
}

/// The type of an expression, or one that is named, in one word.
pub(super) fn whatis(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let ty = p.debugger.type_of(rest)?;
    p.out(format!("type = {ty}\n"));
    Ok(None)
}

pub(super) fn print(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (text, _, format, _) = letters(rest)?;
    let format = format.unwrap_or_default();
    let text = if text.is_empty() { "$" } else { text };
    if let Some(place) = assigned(text) {
        set_var(p, text)?;
        return print_one(p, place, format);
    }
    let (bound, parsed) = p.debugger.bind(text)?;
    let warps = match parsed.across.as_deref() {
        None => return print_one(p, text, format),
        Some("all" | "warp") => Some(p.debugger.focus().warp.warp),
        Some("block") => None,
        Some(other) => return refuse(format!("values are shown across @warp or @block, not @{other}")),
    };
    let rows = p.debugger.across(&bound, format, warps)?;
    let focus = p.debugger.focus();
    // As many columns as fit: lanes below each other where values are long.
    let cells: Vec<(Focus, String)> =
        rows.into_iter().map(|(at, shown)| (at, shown.unwrap_or_else(|error| error.to_string()))).collect();
    let widest = cells.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    let columns = match widest {
        0..=6 => 8,
        7..=14 => 4,
        15..=30 => 2,
        _ => 1,
    };
    let mut warp: Option<WarpId> = None;
    let mut line = String::new();
    let mut in_line = 0;
    for (at, text) in cells {
        if warp != Some(at.warp) || in_line == columns {
            if !line.is_empty() {
                p.out(line.trim_end().to_owned() + "\n");
            }
            if warp != Some(at.warp) {
                p.out(format!("warp {}:\n", at.warp.warp));
            }
            (warp, in_line) = (Some(at.warp), 0);
            line.clear();
        }
        let mark = if at == focus { "*" } else { " " };
        line += &format!("{mark}{:>3}: {text:<widest$} ", at.lane);
        in_line += 1;
    }
    p.out(line.trim_end().to_owned() + "\n");
    Ok(None)
}

pub(super) fn examine(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (text, count, format, size) = letters(rest)?;
    let last = p.examined;
    let format = format.or(last.map(|last| last.3)).unwrap_or(Format::Hexadecimal);
    let (space, address, own) = match text.is_empty() {
        true => match last {
            Some((space, address, count, _, size)) => (space, address + count as u64 * u64::from(size), size),
            None => return refuse("which address?"),
        },
        false if format == Format::Instruction => {
            match p.debugger.bind(text).and_then(|(bound, _)| p.debugger.with_value(&bound)) {
                Ok(address) => (Space::Generic, address, 4),
                Err(_) => {
                    let (positions, _) = location(p, text)?.find(p.debugger.program())?;
                    (Space::Generic, positions[0].into(), 4)
                }
            }
        }
        false => p.debugger.address(text)?,
    };
    let size = size.or(last.map(|last| last.4).filter(|_| text.is_empty())).unwrap_or(own);
    let count = count.unwrap_or(1);
    p.examine(space, address, count, format, size)?;
    p.examined = Some((space, address, count, format, size));
    Ok(None)
}

/// The same with its parts.
pub(super) fn ptype(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let ty = p.debugger.type_of(rest)?;
    p.out(format!("type = {}\n", ty.describe()));
    Ok(None)
}
