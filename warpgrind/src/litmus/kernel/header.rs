//! The header of a PTX litmus test: its lines that begin with `//@`.

use ptx_frontend::{Source, Span};

use super::{Translated, error, helped};

/// What the header says.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) kernel: Option<String>,
    pub(super) grid: u32,
    pub(super) block: u32,
    pub(super) cluster: Option<u32>,
    /// Lanes of each warp that are explored, where not all are.
    pub(super) warp: Option<u32>,
    /// Declarations such as `x = 0`, and the names they declare.
    pub(super) locations: Vec<(String, String)>,
    pub(super) arguments: Vec<String>,
    /// Filter, locations list and assertion as they are written.
    pub(super) question: Vec<(String, Span)>,
}

/// Keys of header lines.
const KEYS: &str =
    "litmus, kernel, grid, block, warp, cluster, location, arg, filter, locations, exists, ~exists, forall";

impl Header {
    pub(super) fn read(source: &Source) -> Translated<Self> {
        let mut header = Header { grid: 1, block: 1, ..Self::default() };
        let mut at = 0;
        for line in source.text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let span = Span::new((at + indent) as u32, (at + line.trim_end().len()) as u32);
            at += line.len();
            let Some(rest) = line.trim_start().strip_prefix("//@") else { continue };
            let (key, value) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let value = value.trim();
            let number =
                || {
                    value.parse::<u32>().ok().filter(|&n| n > 0).ok_or_else(|| {
                        error(span, format!("`{key}` takes a number above zero, not `{value}`"))
                    })
                };
            match key {
                "litmus" => header.name = value.to_owned(),
                "kernel" => header.kernel = Some(value.to_owned()),
                "grid" => header.grid = number()?,
                "block" => header.block = number()?,
                "cluster" => header.cluster = Some(number()?),
                "warp" => header.warp = Some(number()?),
                "location" => {
                    let name = value.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
                    header.locations.push((name.to_owned(), value.to_owned()));
                }
                "arg" => header.arguments.push(value.to_owned()),
                "exists" | "~exists" | "forall" | "filter" | "locations" => {
                    header.question.push((rest.trim().to_owned(), span));
                }
                _ => return Err(helped(span, format!("`{key}` is not a line of the header"), KEYS)),
            }
        }
        Ok(header)
    }

    /// Threads of the grid that are explored.
    pub(super) fn threads(&self) -> u32 {
        self.grid.saturating_mul(self.block)
    }

    /// Lanes of a warp that are explored.
    pub(super) fn lanes(&self) -> u32 {
        self.warp.unwrap_or(32).min(32)
    }

    /// Warps of a block.
    pub(super) fn warps(&self) -> u32 {
        self.block.div_ceil(self.lanes())
    }

    /// `%ntid.x`: whole warps if only some lanes of each are explored.
    pub(super) fn block_threads(&self) -> u32 {
        if self.warp.is_some() { self.warps() * 32 } else { self.block }
    }

    /// Block and `%tid.x` of an explored thread.
    pub(super) fn position(&self, thread: u32) -> (u32, u32) {
        let (block, index) = (thread / self.block, thread % self.block);
        (block, index / self.lanes() * 32 + index % self.lanes())
    }
}
