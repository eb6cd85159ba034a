//! Byte positions in PTX text.

use std::sync::Arc;

/// A half-open range of byte offsets into one [`Source`].
///
/// Offsets are 32-bit: a source of 4 GiB or more is refused when it is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// The span as a range for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Which of a module's sources a span belongs to (index into [`crate::Module::sources`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SourceId(pub u32);

/// One PTX text with its name.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name used in messages, usually a path.
    pub name: Arc<str>,
    /// The text. Bytes that are not UTF-8 were replaced when it was read.
    pub text: Arc<str>,
    line_starts: Arc<[u32]>,
}

impl Source {
    /// Wraps `text` under `name`.
    ///
    /// Invalid UTF-8 becomes U+FFFD, which the lexer reports.
    ///
    /// ```
    /// let source = ptx_frontend::Source::new("a.ptx", b"x\ny".to_vec());
    /// assert_eq!(source.line_column(2), (2, 1));
    /// ```
    pub fn new(name: impl Into<Arc<str>>, text: Vec<u8>) -> Self {
        let text: Arc<str> = match String::from_utf8(text) {
            Ok(text) => text.into(),
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
        };
        let mut line_starts = vec![0];
        line_starts
            .extend(text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1));
        Self { name: name.into(), text, line_starts: line_starts.into() }
    }

    /// The 1-based line and column (in bytes) of an offset.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|&start| start <= offset).max(1);
        (line as u32, offset.saturating_sub(self.line_starts[line - 1]) + 1)
    }

    /// The text of 1-based `line` without its line end, empty when there is no such line.
    pub fn line(&self, line: u32) -> &str {
        let at = (line as usize).wrapping_sub(1);
        let Some(&start) = self.line_starts.get(at) else { return "" };
        let end = self.line_starts.get(at + 1).map_or(self.text.len(), |&next| next as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }

    /// The text under a span, empty when the span is outside the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }
}
