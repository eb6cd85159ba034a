//! Running, stepping and going back.

use debugger::{Reason, Step};

use super::words::{Done, P, count, location, refuse};
use crate::debug::prompt::Next;

pub(super) fn run(p: P<'_, '_, '_, '_, '_>, _: &str) -> Done {
    p.fresh = false;
    let reason = p.debugger.restart();
    p.tell(&reason);
    Ok(None)
}

pub(super) fn go_on(p: P<'_, '_, '_, '_, '_>, _: &str) -> Done {
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

pub(super) fn step(p: P<'_, '_, '_, '_, '_>, rest: &str, step: Step) -> Done {
    p.fresh = false;
    let reason = p.debugger.step(step, count(rest)?)?;
    p.tell(&reason);
    Ok(None)
}

pub(super) fn back(p: P<'_, '_, '_, '_, '_>, rest: &str, step: Step) -> Done {
    let reason = p.debugger.step_back(step, count(rest)?)?;
    p.tell(&reason);
    Ok(None)
}

pub(super) fn until(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    if rest.is_empty() {
        return step(p, "", Step::Past);
    }
    let place = location(p, rest)?;
    p.fresh = false;
    let reason = p.debugger.advance_to(&place)?;
    p.tell(&reason);
    Ok(None)
}

pub(super) fn reverse_continue(p: P<'_, '_, '_, '_, '_>, _: &str) -> Done {
    let reason = p.debugger.go_back();
    p.tell(&reason);
    Ok(None)
}

pub(super) fn reverse_watch(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
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

pub(super) fn goto(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let time = match rest {
        "start" => 0,
        "end" => u64::MAX,
        _ => match rest.trim_start_matches(['+', '-']).parse::<u64>() {
            Ok(by) if rest.starts_with('+') => p.debugger.time().saturating_add(by),
            Ok(by) if rest.starts_with('-') => p.debugger.time().saturating_sub(by),
            Ok(time) => time,
            Err(_) => match p.debugger.bind(rest).and_then(|(bound, _)| p.debugger.with_value(&bound)) {
                Ok(time) => time,
                Err(_) => {
                    return refuse(
                        "a time is a number of warp instructions, an expression, +N, -N, start or end",
                    );
                }
            },
        },
    };
    p.fresh = false;
    let reason = p.debugger.go_to(time);
    p.tell(&reason);
    Ok(None)
}

pub(super) fn finding(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
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

/// To the first instruction of the kernel.
pub(super) fn start(p: P<'_, '_, '_, '_, '_>, _: &str) -> Done {
    goto(p, "start")
}
