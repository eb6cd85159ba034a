//! `.loc` directives and the strings they refer to.

use rustc_hash::FxHashMap;
use std::fmt::Write as _;

use super::put;
use crate::module::{Body, LocationId};

/// Names of inlined functions, by their number in the section that holds them.
#[derive(Default)]
pub(super) struct DebugStrings<'m> {
    numbers: FxHashMap<&'m str, usize>,
    list: Vec<&'m str>,
}

impl<'m> DebugStrings<'m> {
    fn number(&mut self, text: &'m str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() - 1
        })
    }

    /// `.loc` for a location, after those that it was inlined at.
    pub(super) fn location(&mut self, out: &mut String, body: &'m Body, id: LocationId) {
        // A place is inlined at one that stands before it, so that this ends.
        let mut chain = vec![id];
        while let Some(outer) = chain.last().and_then(|id| body.locations[id.index()].inlined_at)
            && chain.last().is_some_and(|inner| outer < *inner)
        {
            chain.push(outer);
        }
        for id in chain.into_iter().rev() {
            let location = &body.locations[id.index()];
            let place = |id: LocationId| {
                let location = &body.locations[id.index()];
                (location.file.map_or(0, |file| file + 1), location.line, location.column)
            };
            let (file, line, column) = place(id);
            put!(out, "\t.loc {file} {line} {column}");
            if let Some(name) = &location.function {
                put!(out, ", function_name $info_string{}", self.number(name));
            }
            if let Some(outer) = location.inlined_at {
                let (file, line, column) = place(outer);
                put!(out, ", inlined_at {file} {line} {column}");
            }
            out.push('\n');
        }
    }

    /// The section with the names.
    pub(super) fn print(&self, out: &mut String) {
        if self.list.is_empty() {
            return;
        }
        out.push_str(".section .debug_str\n{\n");
        for (number, text) in self.list.iter().enumerate() {
            put!(out, "$info_string{number}:\n");
            for chunk in text.as_bytes().chunks(32) {
                let bytes: Vec<String> = chunk.iter().map(u8::to_string).collect();
                put!(out, ".b8 {}\n", bytes.join(", "));
            }
            out.push_str(".b8 0\n");
        }
        out.push_str("}\n");
    }
}
