//! Breakpoints and watchpoints, and what is done at them.

use debugger::points::{Location, Threads};
use debugger::{Error, Result};

use super::words::{Done, P, location, refuse};
use crate::debug::input::MORE;
use crate::debug::prompt::Prompt;

pub(super) fn set_break(p: P<'_, '_, '_, '_, '_>, rest: &str, temporary: bool) -> Done {
    let (place, condition) =
        match rest.strip_prefix("if ").map(|condition| ("", condition)).or_else(|| rest.split_once(" if ")) {
            Some((place, condition)) => (place.trim(), Some(condition.trim())),
            None => (rest, None),
        };
    let focus = p.debugger.focus();
    let (place, threads) = match (place.strip_suffix(" thread"), place.strip_suffix(" warp")) {
        (Some(place), _) => (place, Some(Threads { warp: focus.warp, lanes: 1 << focus.lane })),
        (_, Some(place)) => (place, Some(Threads { warp: focus.warp, lanes: u32::MAX })),
        _ => (place, None),
    };
    let found = location(p, place.trim())?;
    // A mistake in a place that can never be is better said now than pending.
    if !matches!(found, Location::Function(_) | Location::Line(..)) {
        found.find(p.debugger.program())?;
    }
    let missing = found.find(p.debugger.program()).err();
    let text = if place.trim().is_empty() { "here" } else { place.trim() }.to_owned();
    let program = p.debugger.program().clone();
    let point = p.debugger.add_breakpoint(found, &text, condition, threads, temporary)?.clone();
    let kind = if temporary { "Temporary breakpoint" } else { "Breakpoint" };
    let text = match (point.line, &point.places[..]) {
        (Some(line), [(position, _), rest @ ..]) => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{kind} {} at {}, position {position}{more}\n", point.id, program.line_text(line))
        }
        _ => {
            let why = missing.map(|error| error.to_string()).unwrap_or_default();
            format!("{kind} {} ({text}) pending: {why}\n", point.id)
        }
    };
    p.out(text);
    Ok(None)
}

pub(super) fn watch(p: P<'_, '_, '_, '_, '_>, rest: &str, reads: bool, writes: bool) -> Done {
    if rest.is_empty() {
        return refuse("what is to be watched?");
    }
    let rest = rest.strip_prefix("-l ").or_else(|| rest.strip_prefix("-location ")).unwrap_or(rest);
    let id = p.debugger.add_watchpoint(rest, reads, writes)?;
    let point = p.debugger.points().watchpoints.iter().find(|point| point.id == id).map(|point| point.range);
    let bytes = point.map_or(0, |range| range.bytes);
    p.out(format!("Watchpoint {id}: {rest} ({})\n", reports::plural(bytes, "byte")));
    Ok(None)
}

pub(super) fn numbers(rest: &str) -> Result<Vec<u32>> {
    rest.split_whitespace()
        .map(|word| word.parse().or_else(|_| refuse(format!("\"{word}\" is no number of a breakpoint"))))
        .collect()
}

pub(super) fn delete(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let rest = rest.strip_prefix("breakpoints").unwrap_or(rest);
    if rest.trim().is_empty() {
        let points = p.debugger.points_mut();
        points.breakpoints.clear();
        points.watchpoints.clear();
    }
    for id in numbers(rest)? {
        if !p.debugger.points_mut().delete(id) {
            return refuse(format!("no breakpoint number {id}"));
        }
    }
    Ok(None)
}

pub(super) fn enable(p: P<'_, '_, '_, '_, '_>, rest: &str, enabled: bool) -> Done {
    for id in numbers(rest)? {
        if !p.debugger.points_mut().enable(id, enabled) {
            return refuse(format!("no breakpoint number {id}"));
        }
    }
    Ok(None)
}

pub(super) fn point<'p>(
    p: &'p mut Prompt<'_, '_, '_, '_>,
    id: u32,
) -> Result<&'p mut debugger::points::Breakpoint> {
    let points = p.debugger.points_mut();
    let found = points.breakpoints.iter_mut().find(|point| point.id == id);
    found.ok_or_else(|| Error::Refused(format!("no breakpoint number {id}")))
}

pub(super) fn ignore(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let [id, times] = numbers(rest)?[..] else {
        return refuse("a breakpoint's number and how often to pass it");
    };
    point(p, id)?.ignore = times.into();
    p.out(format!("Breakpoint {id} is passed {} more.\n", reports::plural(times.into(), "time")));
    Ok(None)
}

pub(super) fn condition(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let [id] = numbers(id)?[..] else { return refuse("a breakpoint's number and a condition") };
    let text = text.trim().to_owned();
    let places: Vec<u32> = point(p, id)?.places.iter().map(|(position, _)| *position).collect();
    if !text.is_empty() {
        for position in places {
            p.debugger.bind_at(&text, position)?;
        }
    }
    point(p, id)?.condition = (!text.is_empty()).then_some(text);
    p.debugger.resolve();
    Ok(None)
}

/// Takes away breakpoints at a place.
pub(super) fn clear(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let (wanted, _) = location(p, rest)?.find(p.debugger.program())?;
    let is_there = |point: &&debugger::points::Breakpoint| {
        point.places.iter().any(|(position, _)| wanted.contains(position))
    };
    let ids: Vec<u32> =
        p.debugger.points().breakpoints.iter().filter(is_there).map(|point| point.id).collect();
    if ids.is_empty() {
        return refuse("no breakpoint is there");
    }
    for id in &ids {
        p.debugger.points_mut().delete(*id);
    }
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    p.out(format!("Deleted breakpoint {}\n", ids.join(", ")));
    Ok(None)
}

/// Reads commands up to `end`, which are given to the prompt whenever a breakpoint is reached.
pub(super) fn commands(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let points = p.debugger.points();
    let breakpoints = points.breakpoints.iter().map(|point| point.id);
    let known: Vec<u32> = breakpoints.chain(points.watchpoints.iter().map(|point| point.id)).collect();
    let ids = match rest {
        "" => {
            vec![known.iter().copied().max().ok_or_else(|| Error::Refused("there is no breakpoint".into()))?]
        }
        _ => numbers(rest)?,
    };
    if let Some(id) = ids.iter().find(|id| !known.contains(id)) {
        return refuse(format!("no breakpoint number {id}"));
    }
    let mut lines = Vec::new();
    while let Some(line) = p.kept.input.next(MORE) {
        let text = line.text.trim().to_owned();
        if line.is_given {
            p.out(format!("{MORE}{text}\n"));
        }
        if text == "end" {
            break;
        }
        lines.push(text);
    }
    for id in ids {
        p.kept.commands.insert(id, lines.clone());
    }
    Ok(None)
}
