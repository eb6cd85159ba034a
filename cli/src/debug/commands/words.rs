//! What commands are made of: how they end, and the words that many of them take.

use debugger::points::Location;
use debugger::program::Line;
use debugger::{Error, Result};

use crate::debug::prompt::{Next, Prompt};

/// The prompt that a command is given to.
pub(super) type P<'a, 'p, 'k, 's, 'g> = &'a mut Prompt<'p, 'k, 's, 'g>;
/// How it ends: it leaves the launch or does not.
pub(super) type Done = Result<Option<Next>>;

pub(super) fn refuse<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Refused(text.into()))
}

pub(super) fn count(text: &str) -> Result<u64> {
    match text {
        "" => Ok(1),
        _ => text.parse().or_else(|_| refuse(format!("\"{text}\" is no number of times"))),
    }
}

pub(super) fn current_line(p: &Prompt<'_, '_, '_, '_>) -> Option<Line> {
    let frames = p.debugger.frames().ok();
    let line = frames.and_then(|frames| frames.get(p.debugger.frame())?.line);
    line.or_else(|| p.debugger.program().place(0).map(|place| place.line()))
}

pub(super) fn location(p: &Prompt<'_, '_, '_, '_>, text: &str) -> Result<Location> {
    if text.is_empty() {
        let frames = p.debugger.frames()?;
        return Ok(Location::Position(frames[p.debugger.frame()].position));
    }
    Location::read(text, current_line(p))
}
