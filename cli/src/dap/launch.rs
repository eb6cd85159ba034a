//! What is debugged, as the request `launch` says it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use debugger::Debugger;
use debugger::points::Points;
use debugger::watch::Watcher;
use serde_json::{Value, json};
use sim_core::{Dim3, RunOptions};
use tools::Tool;
use warpgrind::Options;
use warpgrind::run::Placed;

use super::adapter::{Adapter, Kept, capabilities};
use super::client::{Client, Request};
use crate::args::LaunchArgs;
use crate::debug::{find, symbols};
use crate::exit::Failure;
use crate::run::prepare;

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

fn launch(client: &mut Client, request: &Request) -> Result<(), Failure> {
    let given = &request.arguments;
    let text = |name: &str| given[name].as_str().map(str::to_owned);
    let files = match texts(&given["files"]) {
        files if files.is_empty() => texts(&given["program"]),
        files => files,
    };
    if files.is_empty() {
        return Err(Failure::usage("\"files\" names PTX files or a launch file"));
    }
    if let Some(folder) = text("cwd") {
        let moved = std::env::set_current_dir(&folder);
        moved.map_err(|error| Failure::usage(format!("cannot use {folder}: {error}")))?;
    }
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
    let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
    let mut remarks = Vec::new();
    let prepared = prepare(&files, &args, &mut |diagnostic, source, elsewhere| {
        remarks.push(ptx_frontend::render::render(diagnostic, source, elsewhere, false));
    });
    for remark in remarks {
        client.event("output", json!({"category": "console", "output": remark + "\n"}));
    }
    let (plan, module) = prepared?;
    let simulator = options.inspectable_simulator();
    let placed = Placed::new(&plan, &module, &simulator)?;
    let symbols = symbols(&placed, &module);
    let mut points = Points::default();
    let mut kept = Kept::new(
        options.source_root.clone(),
        given["stopOnEntry"].as_bool().unwrap_or(false),
        given["stopAtEnd"].as_bool().unwrap_or(false),
    );
    client.answer(request, Ok(Value::Null));
    client.event("initialized", json!({}));
    for at in 0..placed.launches().len() {
        let known = find(&placed, &module, &simulator, at, &options.run_options())?;
        let watcher = Watcher::default();
        let end = Arc::new(AtomicBool::new(false));
        let tools = vec![watcher.factory()];
        let run = RunOptions { interrupt: Some(end.clone()), tools, ..options.run_options() };
        placed.launch_stepwise(at, &simulator, &run, &mut |session| {
            if kept.over {
                return;
            }
            let kernel = session.launch().kernel.clone();
            let interrupt = client.interrupt.clone();
            let mut debugger =
                Debugger::new(session, &mut points, symbols.clone(), watcher.clone(), interrupt);
            debugger.expect(known.iter().filter(|finding| finding.kernel == kernel).cloned());
            Adapter { debugger, client, kept: &mut kept }.run();
            if kept.over {
                end.store(true, Ordering::Relaxed);
            }
        })?;
        if kept.over {
            break;
        }
    }
    if !kept.over {
        client.event("exited", json!({"exitCode": 0}));
    }
    client.event("terminated", json!({}));
    Ok(())
}
