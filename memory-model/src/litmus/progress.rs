//! The notation of progress tests: a line a test, as `testdata/published.progress` says.
//!
//! A line has a name, the threads separated by `|`, and perhaps what is published of the test, each behind a tab. Instructions are
//! `x=1` (a relaxed store), `x?1>0` (a relaxed load, and a jump to instruction 0 if it gives 1) and `x:0?1>e` (an exchange that
//! writes 0, and a jump to the end if it gives 1). Each thread is a block of its own.

use super::diagnostic::{Code, Diagnostic, Span};
use super::parser::parse;
use crate::program::Litmus;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Reads the tests of a file; lines that begin with `#` are comments.
///
/// # Errors
/// The first mistake of each line that has one.
pub fn parse_progress(text: &str) -> Result<Vec<Litmus>, Vec<Diagnostic>> {
    let (mut out, mut wrong) = (Vec::new(), Vec::new());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let span = Span::new(at, at + line.trim_end().len());
        at += line.len();
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        match written(line.trim_end(), span) {
            // Places in what the line stands for mean nothing to its reader.
            Ok(written) => match parse(&written) {
                Ok(test) => out.push(test),
                Err(errors) => {
                    wrong.extend(errors.into_iter().take(1).map(|error| Diagnostic { span, ..error }))
                }
            },
            Err(error) => wrong.push(error),
        }
    }
    if out.is_empty() && wrong.is_empty() {
        wrong.push(Diagnostic::new(
            Code::Header,
            Span::new(0, 1),
            "there is no test in this file".to_owned(),
        ));
    }
    if wrong.is_empty() { Ok(out) } else { Err(wrong) }
}

/// The test in the language of litmus tests.
fn written(line: &str, span: Span) -> Result<String, Diagnostic> {
    let error = |message: String| {
        Diagnostic::new(Code::Syntax, span, message)
            .with_help("a line is `NAME<tab>x:0?1>0 | x=1`: stores `x=1`, loads `x?1>0`, exchanges `x:0?1>e`")
    };
    let mut cells = line.split('\t');
    let (Some(name), Some(threads)) = (cells.next(), cells.next()) else {
        return Err(error("the line has no tab between the name and the threads".to_owned()));
    };
    let mut locations = BTreeSet::new();
    let mut columns = Vec::new();
    for (number, thread) in threads.split('|').enumerate() {
        let words: Vec<&str> = thread.split_whitespace().collect();
        let mut column = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let lines = instruction(word, number, words.len())
                .ok_or_else(|| error(format!("`{word}` is no instruction of a progress test")))?;
            locations.extend(word.chars().next());
            column.push(format!("LC{number}_{at}:"));
            column.extend(lines);
        }
        column.push(format!("LC{number}_{}:", words.len()));
        columns.push(column);
    }
    let Some(first) = locations.first() else { return Err(error("no thread has an instruction".to_owned())) };
    let mut out = format!("PTX {name}\n{{");
    for location in &locations {
        let _ = write!(out, " {location}=0;");
    }
    let heads: Vec<String> = (0..columns.len()).map(|t| format!("P{t}@cta {t},gpu 0")).collect();
    let _ = writeln!(out, " }}\n{} ;", heads.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> =
            columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(out, "{} ;", cells.join(" | "));
    }
    Ok(format!("{out}exists ({first} == 0)\n"))
}

/// An instruction of a thread with so many.
fn instruction(word: &str, thread: usize, length: usize) -> Option<Vec<String>> {
    let number = |text: &str| text.parse::<u32>().ok();
    let location = word.chars().next().filter(char::is_ascii_lowercase)?;
    let rest = &word[1..];
    let Some((access, target)) = rest.split_once('>') else {
        let value = number(rest.strip_prefix('=')?)?;
        return Some(vec![format!("st.relaxed.gpu {location}, {value}")]);
    };
    let target = if target == "e" { length } else { target.parse().ok().filter(|&at| at < length)? };
    let (new, old) = access.split_once('?')?;
    let read = match new {
        "" => format!("ld.relaxed.gpu r0, {location}"),
        _ => format!("atom.relaxed.gpu.exch r0, {location}, {}", number(new.strip_prefix(':')?)?),
    };
    Some(vec![read, format!("beq r0, {}, LC{thread}_{target}", number(old)?)])
}
