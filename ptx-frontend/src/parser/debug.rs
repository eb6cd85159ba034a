//! `.file`, `.loc`, `.section` (ISA 11.5): where instructions come from.

use nom::combinator::opt;
use nom::sequence::{pair, preceded};
use nom::{Err, Parser as _};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::constant::{Constant, integer, literal};
use super::tokens::{Name, Step, SyntaxError, Tokens, directive, keyword, name, string, token};
use super::{Done, Parser, SOURCE};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{DebugFile, FuncId, LocationId, SourceLocation};
use crate::span::Span;

/// What sections and `.loc` say, joined when the text has been read.
#[derive(Default)]
pub(super) struct DebugData<'a> {
    /// The bytes of `.debug_str`.
    strings: Vec<u8>,
    /// Labels in `.debug_str`: their offsets.
    string_labels: FxHashMap<&'a str, u64>,
    /// `.file` index to position in [`crate::Module::files`], and declaration.
    files: FxHashMap<u32, (u32, Span)>,
    /// `function_name` attributes by the label and offset they name.
    names: Vec<(FuncId, LocationId, &'a str, u64)>,
    /// Locations of the current function by file, line and column, for `inlined_at`.
    seen: FxHashMap<(u32, u32, u32), LocationId>,
    /// The last `.loc`, if any, and the locations of the current function.
    pub(super) current: Option<LocationId>,
    pub(super) locations: Vec<SourceLocation>,
}

struct Loc<'a> {
    place: (u32, u32, u32),
    function: Option<(Name<'a>, u64)>,
    inlined_at: Option<(u32, u32, u32)>,
}

fn small(tokens: Tokens<'_>) -> Step<'_, u32> {
    let (rest, value) = integer(tokens)?;
    match u32::try_from(value) {
        Ok(value) => Ok((rest, value)),
        Result::Err(_) => {
            let finding = Diagnostic::error(
                codes::INVALID_NUMBER,
                tokens.consumed(rest),
                "this number must fit 32 bits",
            );
            Err(Err::Failure(SyntaxError::finding(tokens, finding)))
        }
    }
}

fn place(tokens: Tokens<'_>) -> Step<'_, (u32, u32, u32)> {
    (small, small, small).parse(tokens)
}

/// A label, or the name of a section.
fn section_label(tokens: Tokens<'_>) -> Step<'_, Name<'_>> {
    if tokens.kind() == TokenKind::Directive {
        return Ok((tokens.skip(1), Name { text: tokens.word(), span: tokens.first().span }));
    }
    name(tokens)
}

fn loc(tokens: Tokens<'_>) -> Step<'_, Loc<'_>> {
    let comma = || token(TokenKind::Comma);
    let (rest, place) = preceded(directive(".loc", "`.loc`"), place).parse(tokens)?;
    if rest.kind() != TokenKind::Comma {
        return Ok((rest, Loc { place, function: None, inlined_at: None }));
    }
    let offset = preceded(token(TokenKind::Plus), integer);
    let named = preceded(keyword("function_name", "`function_name`"), pair(section_label, opt(offset)));
    let inlined = preceded(keyword("inlined_at", "`inlined_at`"), self::place);
    let (rest, (function, inlined_at)) =
        pair(opt(preceded(comma(), named)), opt(preceded(comma(), inlined))).parse(rest)?;
    let function = function.map(|(label, offset)| (label, offset.unwrap_or(0)));
    Ok((rest, Loc { place, function, inlined_at }))
}

impl<'a> Parser<'a> {
    /// `.file index "name" {, time, size}`
    pub(super) fn file(&mut self) -> Done {
        let extra =
            preceded(token(TokenKind::Comma), pair(integer, preceded(token(TokenKind::Comma), integer)));
        let start = self.span();
        let (_, index, file, _) = self.rule((directive(".file", "`.file`"), small, string, opt(extra)))?;
        let span = self.since(start.start);
        let position = self.module.files.len() as u32;
        if let Some((_, earlier)) = self.debug.files.get(&index) {
            let earlier = *earlier;
            self.error(
                Diagnostic::error(codes::REDECLARED, span, format!("file {index} is declared twice"))
                    .label(earlier, "first declared here"),
            );
            return Ok(());
        }
        self.debug.files.insert(index, (position, span));
        self.module.files.push(DebugFile { index, source: SOURCE, name: file.text.into() });
        Ok(())
    }

    /// `.loc`
    pub(super) fn location(&mut self) -> Done {
        let start = self.span();
        let Loc { place, function, inlined_at } = self.rule(loc)?;
        if inlined_at.is_some() {
            self.require("inlined_at", start);
        }
        let inlined_at = inlined_at.map(|outer| self.location_at(outer));
        let (file, line, column) = place;
        let id = LocationId(self.debug.locations.len() as u32);
        self.debug.locations.push(SourceLocation {
            file: Some(file),
            line,
            column,
            inlined_at,
            function: None,
        });
        self.debug.seen.insert(place, id);
        if let Some((label, offset)) = function {
            self.debug.names.push((self.function, id, label.text, offset));
        }
        self.debug.current = Some(id);
        Ok(())
    }

    fn location_at(&mut self, place: (u32, u32, u32)) -> LocationId {
        let debug = &mut self.debug;
        let (file, line, column) = place;
        *debug.seen.entry(place).or_insert_with(|| {
            debug.locations.push(SourceLocation {
                file: Some(file),
                line,
                column,
                inlined_at: None,
                function: None,
            });
            LocationId(debug.locations.len() as u32 - 1)
        })
    }

    /// Forgets the `.loc`s of the last function.
    pub(super) fn begin_locations(&mut self) {
        self.debug.current = None;
        self.debug.seen.clear();
        self.debug.locations.clear();
    }

    /// `.loc_intermediate file line column`: a place in code between source and PTX, not kept.
    pub(super) fn location_intermediate(&mut self) -> Done {
        self.bump();
        self.rule(place)?;
        Ok(())
    }

    /// `.section name { dwarf-lines }`: checked, and the strings kept.
    pub(super) fn section(&mut self) -> Done {
        let start = self.bump().span;
        if self.kind() != TokenKind::Directive {
            return self.expected("the name of a section, such as `.debug_info`");
        }
        let strings = self.word() == ".debug_str";
        self.bump();
        self.expect(TokenKind::OpenBrace)?;
        loop {
            match self.kind() {
                TokenKind::CloseBrace => {
                    self.bump();
                    return Ok(());
                }
                TokenKind::End => return self.unclosed_section(start),
                TokenKind::Word if self.kind_at(1) == TokenKind::Colon => {
                    if strings {
                        let offset = self.debug.strings.len() as u64;
                        self.debug.string_labels.insert(self.word(), offset);
                    }
                    self.at += 2;
                }
                TokenKind::Directive => self.dwarf_line(strings)?,
                _ => return self.expected("`.b8`, `.b16`, `.b32`, `.b64`, a label or `}`"),
            }
        }
    }

    fn unclosed_section(&mut self, start: Span) -> Done {
        self.error(
            Diagnostic::error(codes::UNBALANCED, start, "this section is never closed")
                .caption("begins here and reaches the end of the text"),
        );
        Ok(())
    }

    /// `.b8 1, 2, 3` or one label, perhaps plus a constant or minus another label.
    fn dwarf_line(&mut self, strings: bool) -> Done {
        let width = match self.word() {
            ".b8" => 8,
            ".b16" => 16,
            ".b32" => 32,
            ".b64" => 64,
            _ => return self.expected("`.b8`, `.b16`, `.b32` or `.b64`"),
        };
        self.bump();
        if matches!(self.kind(), TokenKind::Word | TokenKind::Directive) {
            self.bump();
            if self.eat(TokenKind::Plus) {
                self.rule(integer)?;
            } else if self.eat(TokenKind::Minus) {
                self.rule(section_label)?;
            }
            return Ok(());
        }
        loop {
            let start = self.span();
            let negative = self.eat(TokenKind::Minus);
            if self.kind() != TokenKind::Number {
                return self.expected("a number");
            }
            let value = literal(self.word()).ok().and_then(Constant::integer);
            let span = start.to(self.bump().span);
            let limit = if negative { 1u64 << (width - 1) } else { u64::MAX >> (64 - width) };
            match value.filter(|&value| value <= limit) {
                Some(value) if strings => self.debug.strings.push(value as u8),
                Some(_) => {}
                None => {
                    let message = format!("this number does not fit {width} bits");
                    self.error(Diagnostic::error(codes::INVALID_NUMBER, span, message));
                }
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// `.nv_intermediate_source_section { … }`: the text of code between source and PTX, not kept.
    pub(super) fn intermediate_section(&mut self) -> Done {
        let start = self.bump().span;
        self.expect(TokenKind::OpenBrace)?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.bump().kind {
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace => depth -= 1,
                TokenKind::End => return self.unclosed_section(start),
                _ => {}
            }
        }
        Ok(())
    }

    /// Joins locations with the files and strings, which stand at the end of the text.
    pub(super) fn finish_debug(&mut self) {
        let debug = &self.debug;
        for function in &mut self.module.functions {
            let Some(body) = &mut function.body else { continue };
            for location in &mut body.locations {
                let position = location.file.and_then(|index| debug.files.get(&index));
                location.file = position.map(|&(position, _)| position);
            }
        }
        let mut texts = FxHashMap::<usize, Arc<str>>::default();
        let mut budget = 16 * debug.strings.len();
        for &(function, location, label, offset) in &debug.names {
            let base = if label == ".debug_str" { Some(0) } else { debug.string_labels.get(label).copied() };
            let start = base.and_then(|base| usize::try_from(base.checked_add(offset)?).ok());
            let Some(start) = start.filter(|&start| start < debug.strings.len() && budget > 0) else {
                continue;
            };
            let text = texts.entry(start).or_insert_with(|| {
                let bytes = &debug.strings[start..];
                let length =
                    bytes.iter().take(budget).position(|&b| b == 0).unwrap_or(bytes.len().min(budget));
                budget -= length;
                String::from_utf8_lossy(&bytes[..length]).into()
            });
            let body = self.module.functions.get_mut(function.index()).and_then(|f| f.body.as_mut());
            if let Some(entry) = body.and_then(|body| body.locations.get_mut(location.index())) {
                entry.function = Some(text.clone());
            }
        }
    }
}
