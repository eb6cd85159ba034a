//! The commands of the prompt.

mod place;
mod points;
mod running;
pub(super) mod settings;
pub(super) mod text;
mod values;
mod words;

use debugger::{Result, Step};

use super::prompt::{Next, Prompt};
use place::{backtrace, down, focus, frame, select};
use points::{clear, commands, condition, delete, enable, ignore, set_break, watch};
use running::{back, finding, go_on, goto, reverse_continue, reverse_watch, run, start, step, until};
use settings::{set, show, source};
use text::{disassemble, list};
use values::{display, echo, examine, output, print, printf, ptype, undisplay, whatis};
use words::P;

type Run = fn(&mut Prompt<'_, '_, '_, '_>, &str) -> Result<Option<Next>>;

/// A command.
pub(in crate::debug) struct Command {
    pub(in crate::debug) name: &'static str,
    pub(in crate::debug) aliases: &'static [&'static str],
    usage: &'static str,
    about: &'static str,
    pub(in crate::debug) run: Run,
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
pub(in crate::debug) const COMMANDS: &[Command] = &[
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
    command("clear", &["cl"], "[PLACE]", "take breakpoints at a place away", clear),
    command(
        "commands",
        &[],
        "[N]…",
        "the lines up to `end` are done whenever a breakpoint is reached",
        commands,
    ),
    command("run", &["r"], "", "from the beginning of the launch on", run),
    command("start", &[], "", "to the first instruction of the launch", start),
    command("continue", &["c", "fg"], "", "on to the next stop; from the end, to the next launch", go_on),
    command("step", &["s"], "[N]", "to another line of the source", |p, rest| step(p, rest, Step::Line)),
    command("next", &["n"], "[N]", "the same, over calls", |p, rest| step(p, rest, Step::LineOver)),
    command("stepi", &["si"], "[N]", "one instruction of PTX", |p, rest| step(p, rest, Step::Instruction)),
    command("nexti", &["ni"], "[N]", "the same, over calls", |p, rest| step(p, rest, Step::InstructionOver)),
    command("finish", &["fin"], "", "out of the function", |p, _| step(p, "", Step::Out)),
    command(
        "until",
        &["u", "advance"],
        "[PLACE]",
        "until the thread in focus is there; to a line further down",
        until,
    ),
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
        "[N]",
        "the call frames; `where are the others`: who waits for whom",
        backtrace,
    ),
    command("others", &[], "", "where the other threads are, and who waits for whom", |p, _| {
        p.others().map(|()| None)
    }),
    command(
        "print",
        &["p", "inspect", "call"],
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
    command("list", &["l"], "[/m] [PLACE | A,B | -]", "lines of the source; /m with their PTX", list),
    command("disassemble", &["disas"], "[PLACE]", "instructions of PTX", disassemble),
    command("display", &[], "[/FMT] [EXPR]", "print it whenever the launch stands still", display),
    command("undisplay", &[], "[N]…", "no longer", undisplay),
    command(
        "set",
        &[],
        "var PLACE = VALUE",
        "change memory, a register, or a $variable; settings: `show`",
        set,
    ),
    command("show", &[], "[SETTING]", "what is set", show),
    command("ptype", &[], "EXPR | TYPE", "a type with its parts", ptype),
    command("whatis", &[], "EXPR | TYPE", "the name of a type", whatis),
    command("printf", &[], "\"TEXT\", EXPR…", "values in a text, as C's printf has it", printf),
    command("output", &[], "[/FMT] EXPR", "the value alone", output),
    command("echo", &[], "TEXT", "the text; \\n ends a line", echo),
    command("source", &[], "FILE", "commands from a file", source),
    command("help", &["h"], "[COMMAND]", "this", help),
    command("detach", &[], "", "let this launch and all later ones run", |_, _| Ok(Some(Next::Detach))),
    command("quit", &["q", "exit", "kill"], "", "end", |_, _| Ok(Some(Next::Quit))),
];

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
