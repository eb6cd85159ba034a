//! The commands of the prompt.

use debugger::format::Format;
use debugger::points::{Location, Threads};
use debugger::program::Line;
use debugger::types::Space;
use debugger::{Error, Focus, Reason, Result, Step};
use sim_core::{Dim3, WarpId};

use super::prompt::{Next, Prompt, dim};

type P<'a, 'p, 'k, 's, 'g> = &'a mut Prompt<'p, 'k, 's, 'g>;
type Run = fn(&mut Prompt<'_, '_, '_, '_>, &str) -> Result<Option<Next>>;

/// A command.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    usage: &'static str,
    about: &'static str,
    pub(super) run: Run,
}

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    usage: &'static str,
    about: &'static str,
    run: Run,
) -> Command {
    Command { name, aliases, usage, about, run }
}

/// All of them, as `help` lists them.
pub(super) const COMMANDS: &[Command] = &[
    command(
        "break",
        &["b", "br", "brea"],
        "PLACE [thread | warp] [if EXPR]",
        "stop at FILE:LINE, LINE, a kernel or function, or *POSITION",
        |p, rest| set_break(p, rest, false),
    ),
    command("tbreak", &["tb"], "PLACE [if EXPR]", "the same, once", |p, rest| set_break(p, rest, true)),
    command("watch", &[], "EXPR", "stop when memory is written; rwatch: read, awatch: either", |p, rest| {
        watch(p, rest, false, true)
    }),
    command("rwatch", &[], "EXPR", "stop when memory is read", |p, rest| watch(p, rest, true, false)),
    command("awatch", &[], "EXPR", "stop when memory is accessed", |p, rest| watch(p, rest, true, true)),
    command("delete", &["d"], "[N]…", "take breakpoints and watchpoints away, all if none is named", delete),
    command("enable", &[], "N…", "have them count", |p, rest| enable(p, rest, true)),
    command("disable", &[], "N…", "have them not count", |p, rest| enable(p, rest, false)),
    command("ignore", &[], "N COUNT", "pass a breakpoint so many times", ignore),
    command("condition", &[], "N [EXPR]", "give a breakpoint another condition, or none", condition),
    command("run", &["r"], "", "from the beginning of the launch on", run),
    command("continue", &["c", "fg"], "", "on to the next stop; from the end, to the next launch", go_on),
    command("step", &["s"], "[N]", "to another line of the source", |p, rest| step(p, rest, Step::Line)),
    command("next", &["n"], "[N]", "the same, over calls", |p, rest| step(p, rest, Step::LineOver)),
    command("stepi", &["si"], "[N]", "one instruction of PTX", |p, rest| step(p, rest, Step::Instruction)),
    command("nexti", &["ni"], "[N]", "the same, over calls", |p, rest| step(p, rest, Step::InstructionOver)),
    command("finish", &["fin"], "", "out of the function", |p, _| step(p, "", Step::Out)),
    command("until", &["u", "advance"], "PLACE", "until the thread in focus is there", until),
    command("reverse-continue", &["rc"], "", "back to the last stop", reverse_continue),
    command("reverse-step", &["rs"], "[N]", "back to the line before", |p, rest| back(p, rest, Step::Line)),
    command("reverse-next", &["rn"], "[N]", "the same, over calls", |p, rest| back(p, rest, Step::LineOver)),
    command("reverse-stepi", &["rsi"], "[N]", "one instruction back", |p, rest| {
        back(p, rest, Step::Instruction)
    }),
    command("reverse-nexti", &["rni"], "[N]", "the same, over calls", |p, rest| {
        back(p, rest, Step::InstructionOver)
    }),
    command("reverse-finish", &[], "", "back to the call of the function", |p, _| back(p, "", Step::Out)),
    command(
        "reverse-watch",
        &["rw", "who-wrote"],
        "EXPR",
        "who wrote this last, and from where?",
        reverse_watch,
    ),
    command(
        "goto",
        &["g"],
        "TIME",
        "to the time when so many warp instructions have run; `start`, `end`",
        goto,
    ),
    command("finding", &[], "N [other]", "to a finding, or to the earlier of its two accesses", finding),
    command(
        "focus",
        &["cuda"],
        "[block (X,Y,Z)] [thread (X,Y,Z)] [warp N] [lane N]",
        "say which thread is in focus, or change it",
        focus,
    ),
    command("thread", &["t"], "[(X,Y,Z)]", "the same for a thread of the block", |p, rest| {
        focus(p, &if rest.is_empty() { String::new() } else { format!("thread {rest}") })
    }),
    command("frame", &["f"], "[N]", "say where the focus is, or select a call frame", frame),
    command("up", &[], "", "to the caller's frame", |p, _| select(p, p.debugger.frame() + 1)),
    command("down", &[], "", "back again", down),
    command(
        "backtrace",
        &["bt", "where"],
        "",
        "the call frames; `where are the others`: who waits for whom",
        backtrace,
    ),
    command("others", &[], "", "where the other threads are, and who waits for whom", |p, _| {
        p.others().map(|()| None)
    }),
    command(
        "print",
        &["p", "inspect"],
        "[/FMT] EXPR [@warp|@block]",
        "the value of an expression, in all lanes too",
        print,
    ),
    command(
        "x",
        &[],
        "[/COUNT FORMAT SIZE] ADDRESS",
        "memory: formats x d u o t c f a i, sizes b h w g",
        examine,
    ),
    command(
        "info",
        &["i"],
        "WHAT",
        "allocations, barriers, blocks, breakpoints, findings, kernels, lanes, locals, registers, shared, threads, time, warps, …",
        |p, rest| p.info(rest).map(|()| None),
    ),
    command("list", &["l"], "[/m] [PLACE]", "lines of the source; /m with their PTX", list),
    command("disassemble", &["disas"], "[PLACE]", "instructions of PTX", disassemble),
    command("ptype", &["whatis"], "EXPR", "the type of an expression", ptype),
    command("help", &["h"], "[COMMAND]", "this", help),
    command("quit", &["q", "exit", "kill"], "", "end", |_, _| Ok(Some(Next::Quit))),
];

fn refuse<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Refused(text.into()))
}

fn count(text: &str) -> Result<u64> {
    match text {
        "" => Ok(1),
        _ => text.parse().or_else(|_| refuse(format!("\"{text}\" is no number of times"))),
    }
}

fn help(p: P<'_, '_, '_, '_, '_>, word: &str) -> Result<Option<Next>> {
    for command in COMMANDS {
        if !word.is_empty() && command.name != word && !command.aliases.contains(&word) {
            continue;
        }
        let usage = format!("{} {}", command.name, command.usage);
        p.out(format!("{:<34} {}\n", usage.trim(), command.about));
    }
    Ok(None)
}

fn current_line(p: &Prompt<'_, '_, '_, '_>) -> Option<Line> {
    let frames = p.debugger.frames().ok();
    let line = frames.and_then(|frames| frames.get(p.debugger.frame())?.line);
    line.or_else(|| p.debugger.program().place(0).map(|place| place.line()))
}

fn location(p: &Prompt<'_, '_, '_, '_>, text: &str) -> Result<Location> {
    if text.is_empty() {
        let frames = p.debugger.frames()?;
        return Ok(Location::Position(frames[p.debugger.frame()].position));
    }
    Location::read(text, current_line(p))
}

fn set_break(p: P<'_, '_, '_, '_, '_>, rest: &str, temporary: bool) -> Result<Option<Next>> {
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

fn watch(p: P<'_, '_, '_, '_, '_>, rest: &str, reads: bool, writes: bool) -> Result<Option<Next>> {
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

fn numbers(rest: &str) -> Result<Vec<u32>> {
    rest.split_whitespace()
        .map(|word| word.parse().or_else(|_| refuse(format!("\"{word}\" is no number of a breakpoint"))))
        .collect()
}

fn delete(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
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

fn enable(p: P<'_, '_, '_, '_, '_>, rest: &str, enabled: bool) -> Result<Option<Next>> {
    for id in numbers(rest)? {
        if !p.debugger.points_mut().enable(id, enabled) {
            return refuse(format!("no breakpoint number {id}"));
        }
    }
    Ok(None)
}

fn point<'p>(p: &'p mut Prompt<'_, '_, '_, '_>, id: u32) -> Result<&'p mut debugger::points::Breakpoint> {
    let points = p.debugger.points_mut();
    let found = points.breakpoints.iter_mut().find(|point| point.id == id);
    found.ok_or_else(|| Error::Refused(format!("no breakpoint number {id}")))
}

fn ignore(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let [id, times] = numbers(rest)?[..] else {
        return refuse("a breakpoint's number and how often to pass it");
    };
    point(p, id)?.ignore = times.into();
    p.out(format!("Breakpoint {id} is passed {} more.\n", reports::plural(times.into(), "time")));
    Ok(None)
}

fn condition(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
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

fn run(p: P<'_, '_, '_, '_, '_>, _: &str) -> Result<Option<Next>> {
    p.fresh = false;
    let reason = p.debugger.restart();
    p.tell(&reason);
    Ok(None)
}

fn go_on(p: P<'_, '_, '_, '_, '_>, _: &str) -> Result<Option<Next>> {
    if p.debugger.session().is_over() {
        return Ok(Some(Next::Continue));
    }
    if p.fresh {
        return run(p, "");
    }
    let reason = p.debugger.go_on();
    p.tell(&reason);
    Ok(None)
}

fn step(p: P<'_, '_, '_, '_, '_>, rest: &str, step: Step) -> Result<Option<Next>> {
    p.fresh = false;
    let reason = p.debugger.step(step, count(rest)?)?;
    p.tell(&reason);
    Ok(None)
}

fn back(p: P<'_, '_, '_, '_, '_>, rest: &str, step: Step) -> Result<Option<Next>> {
    let reason = p.debugger.step_back(step, count(rest)?)?;
    p.tell(&reason);
    Ok(None)
}

fn until(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    if rest.is_empty() {
        return step(p, "", Step::LineOver);
    }
    let place = location(p, rest)?;
    p.fresh = false;
    let reason = p.debugger.advance_to(&place)?;
    p.tell(&reason);
    Ok(None)
}

fn reverse_continue(p: P<'_, '_, '_, '_, '_>, _: &str) -> Result<Option<Next>> {
    let reason = p.debugger.go_back();
    p.tell(&reason);
    Ok(None)
}

fn reverse_watch(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    if rest.is_empty() {
        return refuse("who wrote what?");
    }
    let reason = p.debugger.last_write(rest, false)?;
    match reason {
        Reason::Beginning => p.out("Nobody wrote it before in this launch.\n"),
        reason => p.tell(&reason),
    }
    Ok(None)
}

fn goto(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let time = match rest {
        "start" => 0,
        "end" => u64::MAX,
        _ => match rest.trim_start_matches(['+', '-']).parse::<u64>() {
            Ok(by) if rest.starts_with('+') => p.debugger.time().saturating_add(by),
            Ok(by) if rest.starts_with('-') => p.debugger.time().saturating_sub(by),
            Ok(time) => time,
            Err(_) => return refuse("a time is a number of warp instructions, +N, -N, start or end"),
        },
    };
    p.fresh = false;
    let reason = p.debugger.go_to(time);
    p.tell(&reason);
    Ok(None)
}

fn finding(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let mut words = rest.split_whitespace();
    let number: usize = match words.next().map(str::parse) {
        Some(Ok(number @ 1..)) => number,
        None => return p.info("findings").map(|()| None),
        _ => return refuse("the number of a finding, as `info findings` lists them"),
    };
    p.fresh = false;
    let reason = match words.next() {
        None => p.debugger.open(number - 1)?,
        Some("other" | "first") => p.debugger.open_other(number - 1)?,
        Some(word) => return refuse(format!("\"{word}\" is no part of a finding; `other` is")),
    };
    p.tell(&reason);
    Ok(None)
}

/// `(1,2,3)`, `1,2` or `1`.
fn position(text: &str) -> Result<Dim3> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    let parts: Vec<u32> = inner
        .split(',')
        .map(|part| {
            part.trim()
                .parse()
                .or_else(|_| refuse(format!("\"{text}\" is no position; it is X, X,Y or (X,Y,Z)")))
        })
        .collect::<Result<_>>()?;
    match parts[..] {
        [x] => Ok(Dim3::new(x, 0, 0)),
        [x, y] => Ok(Dim3::new(x, y, 0)),
        [x, y, z] => Ok(Dim3::new(x, y, z)),
        _ => refuse(format!("\"{text}\" has too many components")),
    }
}

fn focus(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let old = p.debugger.focus();
    let launch = p.debugger.session().launch();
    let (block_of, warps) = (launch.block, (launch.block.count() as u64).div_ceil(32));
    let mut block = p.debugger.block(old.warp.block);
    let mut thread = p.debugger.thread(old);
    let mut rest = rest.trim();
    let (mut warp, mut lane) = (None, None);
    while !rest.is_empty() {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if matches!(word, "kernel" | "grid" | "device" | "sm") {
            // There is one at a time.
            let (_, after) = after.trim().split_once(char::is_whitespace).unwrap_or((after, ""));
            rest = after.trim();
            continue;
        }
        let after = after.trim();
        // A position in parentheses may have blanks in it.
        let end = match after.starts_with('(') {
            true => after.find(')').map_or(after.len(), |end| end + 1),
            false => after.find(char::is_whitespace).unwrap_or(after.len()),
        };
        let (value, after) = after.split_at(end);
        let small =
            || value.parse::<u64>().or_else(|_| refuse(format!("\"{value}\" is no number of a {word}")));
        match word {
            "block" => {
                block = match value.starts_with('(') || value.contains(',') {
                    true => position(value)?,
                    false => p.debugger.block(small()?),
                };
            }
            "thread" => thread = position(value)?,
            "warp" => warp = Some(small()?),
            "lane" => lane = Some(small()?),
            _ => return refuse(format!("\"{word}\" is none of kernel, block, thread, warp and lane")),
        }
        rest = after.trim();
    }
    if warp.is_some() || lane.is_some() {
        let linear = block_of.index(thread);
        let warp = warp.unwrap_or(linear / 32);
        let lane = lane.unwrap_or(if warp == linear / 32 { linear % 32 } else { 0 });
        if warp >= warps || lane >= 32 || u128::from(warp * 32 + lane) >= block_of.count() {
            return refuse(format!("there is no warp {warp}, lane {lane} in a block of {}", dim(block_of)));
        }
        thread = block_of.position(warp * 32 + lane);
    }
    p.debugger.set_focus(block, thread)?;
    p.focus_is_told();
    let focus = p.debugger.focus();
    let text = match focus == old {
        true => format!("[Focus is on {}]\n", p.thread_text(focus)),
        false => format!("[Switching focus to {}]\n", p.thread_text(focus)),
    };
    p.out(text);
    p.listed = None;
    p.tell_place(true);
    Ok(None)
}

fn select(p: &mut Prompt<'_, '_, '_, '_>, number: usize) -> Result<Option<Next>> {
    p.debugger.set_frame(number)?;
    p.listed = None;
    p.out(format!("#{number}  "));
    p.tell_place(true);
    Ok(None)
}

fn frame(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let number = match rest {
        "" => p.debugger.frame(),
        _ => rest.parse().or_else(|_| refuse(format!("\"{rest}\" is no number of a frame")))?,
    };
    select(p, number)
}

fn down(p: P<'_, '_, '_, '_, '_>, _: &str) -> Result<Option<Next>> {
    match p.debugger.frame().checked_sub(1) {
        Some(number) => select(p, number),
        None => refuse("bottom (innermost) frame selected; you cannot go down"),
    }
}

fn backtrace(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    if rest.contains("others") {
        return p.others().map(|()| None);
    }
    let frames = p.debugger.frames()?;
    let selected = p.debugger.frame();
    for (at, frame) in frames.iter().enumerate() {
        let place = frame.line.map(|line| p.debugger.program().line_text(line)).unwrap_or_default();
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        let mark = if at == selected { "*" } else { " " };
        p.out(format!("{mark}#{at}  {}{inlined} at {place}\n", frame.function));
    }
    Ok(None)
}

/// What stands behind the letters, and count, format and size as they say.
type Letters<'a> = (&'a str, Option<usize>, Option<Format>, Option<u8>);

/// `/16xw`, or `/x`.
fn letters(rest: &str) -> Result<Letters<'_>> {
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

fn print(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let (text, _, format, _) = letters(rest)?;
    let format = format.unwrap_or_default();
    if text.is_empty() {
        return refuse("what is to be printed?");
    }
    let (bound, parsed) = p.debugger.bind(text)?;
    let warps = match parsed.across.as_deref() {
        None => {
            let shown = p.debugger.show_bound(&bound, format)?;
            p.kept.values += 1;
            p.out(format!("${} = {shown}\n", p.kept.values));
            return Ok(None);
        }
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

fn examine(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
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

fn list(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let (rest, beside) = match rest.strip_prefix("/m").or_else(|| rest.strip_prefix("/ptx")) {
        Some(rest) => (rest.trim(), true),
        None => (rest, false),
    };
    let line = match rest {
        "" => None,
        _ => {
            let place = location(p, rest)?;
            Some(match place {
                Location::Here(line) => line,
                other => other.find(p.debugger.program())?.1,
            })
        }
    };
    p.list(line, beside)?;
    Ok(None)
}

fn disassemble(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let (positions, _) = location(p, rest)?.find(p.debugger.program())?;
    p.disassemble(positions[0], 16);
    Ok(None)
}

fn ptype(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Result<Option<Next>> {
    let (bound, _) = p.debugger.bind(rest)?;
    p.out(format!("type = {}\n", bound.ty));
    Ok(None)
}
