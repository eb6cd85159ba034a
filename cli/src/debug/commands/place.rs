//! Which thread and which call frame is looked at.

use debugger::Result;
use sim_core::Dim3;

use super::words::{Done, P, refuse};
use crate::debug::prompt::{Prompt, dim};

/// `(1,2,3)`, `1,2` or `1`.
pub(super) fn position(text: &str) -> Result<Dim3> {
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

/// What a thread is named by.
const COORDINATES: &[&str] = &["kernel", "grid", "device", "sm", "block", "thread", "warp", "lane"];

pub(super) fn focus(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let old = p.debugger.focus();
    let launch = p.debugger.session().launch();
    let (block_of, warps) = (launch.block, (launch.block.count() as u64).div_ceil(32));
    let mut block = p.debugger.block(old.warp.block);
    let mut thread = p.debugger.thread(old);
    let mut rest = rest.trim();
    let (mut warp, mut lane) = (None, None);
    // Words without values ask.
    let asked: Vec<&str> = rest.split_whitespace().collect();
    if !asked.is_empty() && asked.iter().all(|word| COORDINATES.contains(word)) {
        let one = |word: &&str| match *word {
            "block" => format!("block {}", dim(block)),
            "thread" => format!("thread {}", dim(thread)),
            "warp" => format!("warp {}", old.warp.warp),
            "lane" => format!("lane {}", old.lane),
            word => format!("{word} 0"),
        };
        let said: Vec<String> = asked.iter().map(one).collect();
        p.out(format!("{}\n", said.join(", ")));
        return Ok(None);
    }
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

pub(super) fn select(p: &mut Prompt<'_, '_, '_, '_>, number: usize) -> Done {
    p.debugger.set_frame(number)?;
    p.listed = None;
    p.out(format!("#{number}  "));
    p.tell_place(true);
    Ok(None)
}

pub(super) fn frame(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let number = match rest {
        "" => p.debugger.frame(),
        _ => rest.parse().or_else(|_| refuse(format!("\"{rest}\" is no number of a frame")))?,
    };
    select(p, number)
}

pub(super) fn down(p: P<'_, '_, '_, '_, '_>, _: &str) -> Done {
    match p.debugger.frame().checked_sub(1) {
        Some(number) => select(p, number),
        None => refuse("bottom (innermost) frame selected; you cannot go down"),
    }
}

pub(super) fn backtrace(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    if rest.contains("others") {
        return p.others().map(|()| None);
    }
    let frames = p.debugger.frames()?;
    let most = match rest.trim() {
        "" => frames.len(),
        text => text.parse().or_else(|_| refuse(format!("\"{text}\" is no number of frames")))?,
    };
    let selected = p.debugger.frame();
    for (at, frame) in frames.iter().enumerate().take(most) {
        let place = frame.line.map(|line| p.debugger.program().line_text(line)).unwrap_or_default();
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        let mark = if at == selected { "*" } else { " " };
        p.out(format!("{mark}#{at}  {}{inlined} at {place}\n", frame.function));
    }
    if most < frames.len() {
        p.out(format!("(… and {} more)\n", frames.len() - most));
    }
    Ok(None)
}
