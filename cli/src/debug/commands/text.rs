//! Texts: source lines and instructions.

use debugger::points::Location;
use debugger::program::Line;
use debugger::{Error, Result};

use super::words::{Done, P, current_line, location, refuse};
use crate::debug::prompt::Prompt;

/// The line that a place of a listing is: one without code has no instruction, and is listed all the same.
fn line(p: &Prompt<'_, '_, '_, '_>, text: &str) -> Result<Line> {
    match location(p, text)? {
        Location::Here(line) => Ok(line),
        Location::Line(file, number) => match p.debugger.program().files(&file).first() {
            Some(Line::Cuda(at, _)) => Ok(Line::Cuda(*at, number)),
            Some(Line::Ptx(at, _)) => Ok(Line::Ptx(*at, number)),
            None => Err(Error::NoCode(format!("no source file named {file}"))),
        },
        other => Ok(other.find(p.debugger.program())?.1),
    }
}

pub(super) fn list(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (rest, beside) = match rest.strip_prefix("/m").or_else(|| rest.strip_prefix("/ptx")) {
        Some(rest) => (rest.trim(), true),
        None => (rest, false),
    };
    match (rest, rest.split_once(',')) {
        ("", _) => p.list(None, beside)?,
        ("-", _) => p.list_before(beside)?,
        (_, Some((first, last))) => {
            let (first, last) = (line(p, first.trim())?, last.trim());
            let until = last.parse::<u32>().or_else(|_| line(p, last).map(number))?;
            p.list_range(first, until, beside)?;
        }
        (_, None) => {
            let line = line(p, rest)?;
            p.list(Some(line), beside)?;
        }
    }
    Ok(None)
}

fn number(line: Line) -> u32 {
    let (Line::Cuda(_, number) | Line::Ptx(_, number)) = line;
    number
}

/// `info line`: where a line is in the code.
pub(in crate::debug) fn info_line(p: &mut Prompt<'_, '_, '_, '_>, rest: &str) -> Result<()> {
    let place = match rest {
        "" => match current_line(p) {
            Some(line) => Location::Here(line),
            None => return refuse("there is no current line"),
        },
        _ => location(p, rest)?,
    };
    let (positions, found) = place.find(p.debugger.program())?;
    let program = p.debugger.program().clone();
    let all = program.positions(found);
    let own = if all.is_empty() { &positions[..] } else { all };
    let shown = |at: u32| {
        let function = program.place(at).map(|place| program.function(place.function).0.clone());
        format!(
            "position {at} of {}",
            function.map_or(String::new(), |name| reports::readable(&name).into_owned())
        )
    };
    p.out(match own {
        [] => format!("{} has no code.\n", program.line_text(found)),
        [one] => format!("{} is at {}.\n", program.line_text(found), shown(*one)),
        [first, .., last] => format!(
            "{} starts at {} and is {} in all, up to position {last}.\n",
            program.line_text(found),
            shown(*first),
            reports::plural(own.len() as u64, "instruction"),
        ),
    });
    Ok(())
}

/// `info symbol`: what lies at an address or at a position of the code.
pub(in crate::debug) fn info_symbol(p: &mut Prompt<'_, '_, '_, '_>, rest: &str) -> Result<()> {
    let (bound, _) = p.debugger.bind(rest)?;
    let address = p.debugger.with_value(&bound)?;
    let look = p.debugger.session().look();
    let found = look.allocations().into_iter().find(|one| address.wrapping_sub(one.address) < one.bytes);
    drop(look);
    p.out(match found {
        Some(found) => format!("{address:#x} is byte {} of {}\n", address - found.address, found.description),
        None => format!("{address:#x} is in no allocation.\n"),
    });
    Ok(())
}

pub(super) fn disassemble(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (positions, _) = location(p, rest)?.find(p.debugger.program())?;
    p.disassemble(positions[0], 16);
    Ok(None)
}
