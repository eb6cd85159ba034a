//! The command line tool `warpgrind`: runs CUDA kernels from their PTX with no GPU.
//!
//! One file for each verb ([`run`], [`check`], [`litmus`], [`hardware`], [`conformance`], [`selftest`],
//! [`explain`]); [`args`] is the command line, [`value`] the language of arguments, [`report`] everything
//! that is shown, [`exit`] the exit codes.
//!
//! # Invariants
//! * Results go to standard output, everything else to standard error. With `--format json`
//!   standard output holds exactly one document.
//! * Every way to end has its exit code in [`exit::Exit`].
//!
//! # What it must not know
//! How PTX is parsed or executed, and what a memory model allows.

mod args;
mod array;
mod check;
mod compare;
mod conformance;
mod element;
mod exec;
mod exit;
mod explain;
mod hardware;
mod litmus;
mod modules;
mod npy;
mod progress;
mod report;
mod run;
mod selftest;
mod value;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use sim_core::{DeviceConfig, Simulator};

use args::{Cli, Command, SelfTest, Tool};
use exit::{Exit, Failure};
use report::Console;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // The process ends; nobody is left to be told when this fails.
        let _ = writeln!(
            std::io::stderr(),
            "internal error: {panic}\n\nThis is a bug in warpgrind {}, not in your program. Please report it with the\n\
             command line, the PTX file and this message: {}/issues\n\
             RUST_BACKTRACE=1 adds a backtrace that helps.",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_REPOSITORY"),
        );
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            let _ = writeln!(std::io::stderr(), "{}", std::backtrace::Backtrace::force_capture());
        }
    }));
    let cli = Cli::parse();
    let console = Console::new(&cli.global);
    let result = dispatch(&cli, &console);
    let result = result.and_then(|exit| console.finish().map(|()| exit));
    let exit = result.unwrap_or_else(|failure| {
        console.failure(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn dispatch(cli: &Cli, console: &Console) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Run(args) => {
            let track_initialization = args.tool.contains(&Tool::Initcheck);
            let contraction = !args.no_contraction;
            let config = DeviceConfig { track_initialization, contraction, ..DeviceConfig::h200() };
            Ok(run::run(args, &cli.global, console, &Simulator::new(config)))
        }
        Command::Check(args) => check::check(args, &cli.global, console),
        Command::Litmus(args) => litmus::litmus(args, &cli.global, console),
        Command::Devices(args) => hardware::list(args, console),
        Command::Compare(args) => hardware::compare(args, &cli.global, console),
        Command::Record(args) => hardware::record(args, &cli.global, console),
        Command::ServeDevice => hardware::serve(),
        Command::StartProgram(args) => Err(exec::child::start(args)),
        Command::Exec(args) => exec::exec(args, &cli.global, console),
        Command::Explain(args) => explain::explain(args.code.as_deref(), console),
        Command::Selftest { what: SelfTest::Numerics(args) } => {
            selftest::numerics(args, &cli.global, console)
        }
        Command::Conformance { what } => conformance::conformance(what, &cli.global, console),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "warpgrind", &mut script);
            console.out_bytes(&script);
            Ok(Exit::Clean)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|error| Failure::usage(format!("cannot make the manual page: {error}")))?;
            console.out_bytes(&page);
            Ok(Exit::Clean)
        }
    }
}
