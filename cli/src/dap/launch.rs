//! What is debugged, as the request `launch` says it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use debugger::Debugger;
use debugger::points::Points;
use serde_json::{Value, json};
use sim_core::Dim3;
use tools::Tool;
use warpgrind::run::Placed;
use warpgrind::{Module, Options, Plan, debug};

use super::adapter::{Adapter, Kept, capabilities};
use super::client::{Client, Request};
use crate::args::LaunchArgs;
use crate::debug::program::{Event, Input, PATIENCE, Program, Wanted};
use crate::exec;
use crate::exit::Failure;
use crate::run::{prepare, read_launch_file};

/// Answers requests until the client has gone.
pub(super) fn serve(mut client: Client) -> Result<(), Failure> {
    while let Some(request) = client.next() {
        match &*request.command {
            "initialize" => client.answer(&request, Ok(capabilities())),
            "launch" => {
                if let Err(failure) = launch(&mut client, &request) {
                    let help = failure.help.first().map(|help| format!(" ({help})")).unwrap_or_default();
                    client.answer(&request, Err(format!("{}{help}", failure.message)));
                }
            }
            "attach" => client.answer(&request, Err("there is nothing to attach to; use `launch`".into())),
            "disconnect" | "terminate" => {
                client.answer(&request, Ok(Value::Null));
                return Ok(());
            }
            "setExceptionBreakpoints" | "configurationDone" => client.answer(&request, Ok(Value::Null)),
            "threads" => client.answer(&request, Ok(json!({"threads": []}))),
            _ => client.answer(&request, Err("nothing is being debugged".into())),
        }
    }
    Ok(())
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Null => Vec::new(),
        Value::Array(list) => list.iter().map(text).collect(),
        other => vec![text(other)],
    }
}

/// `16`, `[16, 16]` or `"16,16"`.
fn extent(value: &Value, name: &str) -> Result<Option<Dim3>, Failure> {
    let parts = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.split(',').map(str::to_owned).collect(),
        other => texts(other),
    };
    let parts: Option<Vec<u32>> = parts.iter().map(|part| part.trim().parse().ok()).collect();
    match parts.as_deref() {
        Some([x]) => Ok(Some(Dim3::new(*x, 1, 1))),
        Some([x, y]) => Ok(Some(Dim3::new(*x, *y, 1))),
        Some([x, y, z]) => Ok(Some(Dim3::new(*x, *y, *z))),
        _ => Err(Failure::usage(format!(
            "\"{name}\" is no extent: a number, a list or a text such as \"16,16\""
        ))),
    }
}

/// `{"NAME": "value", "OTHER": null}`, as editors write an environment.
fn variables(value: &Value) -> Result<Vec<(OsString, Option<OsString>)>, Failure> {
    let problem = || Failure::usage("\"env\" is an object with texts, or null for what is not to be set");
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Object(list) => list,
        _ => return Err(problem()),
    };
    let one = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Null => None,
            Value::String(text) => Some(text.into()),
            _ => return Err(problem()),
        };
        Ok((name.into(), value))
    };
    list.iter().map(one).collect()
}

/// Whether a name is that of something that `run` takes, and not of a program.
fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "ptx" || extension == "toml")
}

fn launch(client: &mut Client, request: &Request) -> Result<(), Failure> {
    let given = &request.arguments;
    let text = |name: &str| given[name].as_str().map(str::to_owned);
    let program = text("program");
    let files = match (texts(&given["files"]), &program) {
        (files, Some(program)) if files.is_empty() && is_file(program) => vec![program.clone()],
        (files, _) => files,
    };
    if files.is_empty() && program.is_none() {
        return Err(Failure::usage("\"files\" names PTX files or a launch file, or \"program\" a program"));
    }
    if let Some(folder) = text("cwd") {
        let moved = std::env::set_current_dir(&folder);
        moved.map_err(|error| Failure::usage(format!("cannot use {folder}: {error}")))?;
    }
    let named = texts(&given["tools"])
        .into_iter()
        .map(|name| Tool::named(&name).ok_or_else(|| Failure::usage(format!("there is no tool `{name}`"))));
    let options = Options {
        tools: named.collect::<Result<_, _>>()?,
        jobs: 1,
        seed: given["seed"].as_u64().unwrap_or(0),
        source_root: text("sourceRoot").map(PathBuf::from),
        ..Options::default()
    };
    let mut kept = Kept::new(
        options.source_root.clone(),
        given["stopOnEntry"].as_bool().unwrap_or(false),
        given["stopAtEnd"].as_bool().unwrap_or(false),
    );
    let code = match program.filter(|_| files.is_empty()) {
        Some(program) => {
            let command = std::iter::once(program).chain(texts(&given["args"])).map(OsString::from);
            let wanted = Wanted {
                command: command.collect(),
                variables: variables(&given["env"])?,
                kernel: text("kernel"),
                launch_skip: given["launchSkip"].as_u64(),
                launch_count: given["launchCount"].as_u64(),
                seed: options.seed,
                captured: true,
                input: text("input").map_or(Input::Nothing, |path| Input::File(path.into())),
                ..Wanted::default()
            };
            kept.at_each = true;
            let program = Program::start(&wanted)?;
            client.answer(request, Ok(Value::Null));
            debug_program(client, program, &options, &mut kept)
        }
        None => {
            let read = read_files(client, given, files)?;
            debug_launches(client, &mut kept, &mut Points::default(), &options, &read, |client| {
                client.answer(request, Ok(Value::Null));
                client.event("initialized", json!({}));
            })?;
            0
        }
    };
    if !kept.over {
        client.event("exited", json!({"exitCode": code}));
    }
    client.event("terminated", json!({}));
    Ok(())
}

/// The launch of PTX files, or those of a launch file.
fn read_files(client: &mut Client, given: &Value, files: Vec<String>) -> Result<(Plan, Module), Failure> {
    let text = |name: &str| given[name].as_str().map(str::to_owned);
    let args = LaunchArgs {
        entry: text("entry"),
        grid: extent(&given["grid"], "grid")?,
        block: extent(&given["block"], "block")?,
        cluster: extent(&given["cluster"], "cluster")?,
        shared: given["shared"].as_u64().and_then(|bytes| bytes.try_into().ok()),
        args: texts(&given["args"]),
        buffer: texts(&given["buffers"]),
        ..LaunchArgs::default()
    };
    let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
    let mut remarks = Vec::new();
    let prepared = prepare(&files, &args, &mut |diagnostic, source, elsewhere| {
        remarks.push(ptx_frontend::render::render(diagnostic, source, elsewhere, false));
    });
    for remark in remarks {
        tell(client, remark);
    }
    prepared
}

/// A line for the client's console.
fn tell(client: &mut Client, text: impl Into<String>) {
    client.event("output", json!({"category": "console", "output": text.into() + "\n"}));
}

/// Debugs a program's launches as they come; what the program ended with.
fn debug_program(client: &mut Client, mut program: Program, options: &Options, kept: &mut Kept) -> i32 {
    let mut points = Points::default();
    let (mut launches, mut initialized) = (0, false);
    loop {
        match program.next(PATIENCE) {
            Some(Event::Launch(held)) => {
                let read = read_launch_file(&held.file(), &mut |_, _, _| {});
                let done = read.and_then(|read| {
                    debug_launches(client, kept, &mut points, options, &read, |client| {
                        // Breakpoints mean something once there is code.
                        if !initialized {
                            client.event("initialized", json!({}));
                        }
                    })
                });
                initialized |= done.is_ok();
                if done.is_ok() && !kept.over {
                    held.was_printed();
                }
                if let Err(failure) = done {
                    let message = &failure.message;
                    tell(client, format!("launch {launches} cannot be debugged, and runs: {message}"));
                }
                launches += 1;
                if kept.over {
                    program.end(Some(held));
                    return 0;
                }
            }
            Some(Event::Output(category, bytes)) => {
                let output = String::from_utf8_lossy(&bytes);
                client.event("output", json!({"category": category, "output": output}));
            }
            Some(Event::Ended(status)) => {
                if let Some(failure) = program.none_launched().filter(|_| launches == 0) {
                    tell(client, failure.message);
                }
                return exec::child::code(status);
            }
            None => {}
        }
        while let Some(request) = client.waiting() {
            let leaves = matches!(&*request.command, "disconnect" | "terminate");
            client.answer(
                &request,
                match &*request.command {
                    "threads" => Ok(json!({"threads": []})),
                    "pause" | "disconnect" | "terminate" | "configurationDone" => Ok(Value::Null),
                    _ => Err("the program stands at no launch".into()),
                },
            );
            client.interrupt.store(false, Ordering::Relaxed);
            client.gone |= leaves;
        }
        if client.gone {
            kept.over = true;
            program.end(None);
            return 0;
        }
    }
}

/// Debugs the launches of a plan, one after the other; `ready` is called when the first one can begin.
fn debug_launches(
    client: &mut Client,
    kept: &mut Kept,
    points: &mut Points,
    options: &Options,
    (plan, module): &(Plan, Module),
    ready: impl FnOnce(&mut Client),
) -> Result<(), Failure> {
    let simulator = options.inspectable_simulator();
    let placed = Placed::new(plan, module, &simulator)?;
    ready(client);
    let interrupt = client.interrupt.clone();
    let mut direct = |debugger: Debugger<'_, '_, '_>, _: usize| {
        Adapter { debugger, client, kept }.run();
        !kept.over
    };
    debug::launches(&placed, module, &simulator, options, &interrupt, points, &mut direct)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What stands between two texts, wherever that is.
    fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
        text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
    }

    #[test]
    fn the_extension_offers_what_a_launch_takes() {
        let manifest: Value =
            serde_json::from_str(include_str!("../../../editors/vscode/package.json")).unwrap();
        let debugger = &manifest["contributes"]["debuggers"][0];
        let offered = &debugger["configurationAttributes"]["launch"]["properties"];
        let names: BTreeSet<&str> = offered.as_object().unwrap().keys().map(String::as_str).collect();
        let own = include_str!("launch.rs").split("#[cfg(test)]").next().unwrap();
        let read: BTreeSet<&str> =
            between(own, "given[\"", "\"").chain(between(own, " text(\"", "\"")).collect();
        assert_eq!(names, read);
        let tools = texts(&offered["tools"]["items"]["enum"]);
        assert!(!tools.is_empty() && tools.iter().all(|name| Tool::named(name).is_some()), "{tools:?}");
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
        for examples in ["initialConfigurations", "configurationSnippets"] {
            for example in debugger[examples].as_array().unwrap() {
                let body = example.get("body").unwrap_or(example).as_object().unwrap();
                let known = |name: &str| names.contains(name) || ["type", "request", "name"].contains(&name);
                assert!(body.keys().all(|name| known(name)), "{body:?}");
            }
        }
    }
}
