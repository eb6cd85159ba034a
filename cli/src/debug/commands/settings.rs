//! What is set, and commands from files.

use debugger::points::Stepping;
use debugger::{Error, Result};

use super::values::set_var;
use super::words::{Done, P, refuse};
use crate::debug::prompt::Prompt;

/// Something that can be set: its name, what it is for, how it is read and written.
pub(in crate::debug) struct Setting {
    pub(in crate::debug) name: &'static str,
    about: &'static str,
    get: fn(&Prompt<'_, '_, '_, '_>) -> String,
    set: fn(&mut Prompt<'_, '_, '_, '_>, &str) -> Result<()>,
}

pub(in crate::debug) const SETTINGS: &[Setting] = &[
    Setting {
        name: "step-mode",
        about: "`lane`: steps are those of the thread in focus; `warp`: of all lanes of its warp, as cuda-gdb has it",
        get: |p| match p.debugger.points().settings.stepping {
            Stepping::Lane => "lane".into(),
            Stepping::Warp => "warp".into(),
        },
        set: |p, text| {
            p.debugger.points_mut().settings.stepping = match text {
                "lane" | "thread" => Stepping::Lane,
                "warp" => Stepping::Warp,
                _ => return refuse("steps are those of a `lane` or of a `warp`"),
            };
            Ok(())
        },
    },
    Setting {
        name: "print elements",
        about: "most elements that are shown of an array; 0 for all",
        get: |p| p.debugger.points().settings.style.elements.to_string(),
        set: |p, text| {
            p.debugger.points_mut().settings.style.elements = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "print pretty",
        about: "`on`: each member of a structure in a line of its own",
        get: |p| if p.debugger.points().settings.style.pretty { "on" } else { "off" }.into(),
        set: |p, text| {
            p.debugger.points_mut().settings.style.pretty = switch(text)?;
            Ok(())
        },
    },
    Setting {
        name: "listsize",
        about: "lines that `list` shows",
        get: |p| p.kept.lines.to_string(),
        set: |p, text| {
            p.kept.lines = match number(text)? {
                0 => u32::MAX,
                lines => lines.try_into().unwrap_or(u32::MAX),
            };
            Ok(())
        },
    },
    Setting {
        name: "findings",
        about: "`on`: a launch stands still where something is found",
        get: |p| if p.kept.stops_at_findings { "on" } else { "off" }.into(),
        set: |p, text| {
            p.kept.stops_at_findings = switch(text)?;
            p.debugger.stop_at_findings(p.kept.stops_at_findings);
            Ok(())
        },
    },
];

/// Settings of gdb's that change nothing here: nothing is asked, and nothing is cut into pages.
const WITHOUT_EFFECT: &[&str] = &["confirm", "pagination", "height", "width"];

fn number(text: &str) -> Result<usize> {
    match text {
        "unlimited" => Ok(0),
        _ => text.parse().or_else(|_| refuse(format!("\"{text}\" is no number"))),
    }
}

fn switch(text: &str) -> Result<bool> {
    match text {
        "" | "on" | "1" | "yes" => Ok(true),
        "off" | "0" | "no" => Ok(false),
        _ => refuse(format!("\"{text}\" is neither on nor off")),
    }
}

/// The setting whose name a text begins with, and what is behind.
fn find(text: &str) -> Option<(&'static Setting, &str)> {
    SETTINGS.iter().find_map(|setting| {
        let rest = text.strip_prefix(setting.name)?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| (setting, rest.trim()))
    })
}

pub(super) fn set(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    if let Some(text) = rest.strip_prefix("variable ").or_else(|| rest.strip_prefix("var ")) {
        return set_var(p, text.trim());
    }
    if let Some((setting, text)) = find(rest) {
        (setting.set)(p, text)?;
        return Ok(None);
    }
    if WITHOUT_EFFECT.contains(&rest.split_whitespace().next().unwrap_or_default()) {
        return Ok(None);
    }
    if rest.contains('=') {
        return set_var(p, rest);
    }
    let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    refuse(format!("`set var PLACE = VALUE`, or one of {}", names.join(", ")))
}

pub(super) fn show(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let all: Vec<&Setting> = match rest {
        "" => SETTINGS.iter().collect(),
        _ => match find(rest) {
            Some((setting, _)) => vec![setting],
            None if rest == "convenience" || rest == "conv" => return convenience(p),
            None => {
                let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
                return refuse(format!(
                    "there is nothing to set called \"{rest}\"; there are {}",
                    names.join(", ")
                ));
            }
        },
    };
    for setting in all {
        let value = (setting.get)(p);
        p.out(format!("{} is {value} ({})\n", setting.name, setting.about));
    }
    Ok(None)
}

/// The debugger's own variables.
fn convenience(p: P<'_, '_, '_, '_, '_>) -> Done {
    let names: Vec<String> = p.debugger.points().values.named().map(str::to_owned).collect();
    if names.is_empty() {
        p.out("There are none; `set $name = VALUE` makes one.\n");
    }
    for name in names {
        let shown = p.debugger.show(&name, debugger::format::Format::Natural)?;
        p.out(format!("{name} = {shown}\n"));
    }
    Ok(None)
}

/// Commands from a file, as if they were typed.
pub(super) fn source(p: P<'_, '_, '_, '_, '_>, rest: &str) -> Done {
    let problem = |error: std::io::Error| Error::Refused(format!("cannot read {rest}: {error}"));
    let text = std::fs::read_to_string(rest).map_err(problem)?;
    p.kept.input.give(text.lines().map(str::to_owned)).map_err(Error::Refused)?;
    Ok(None)
}
