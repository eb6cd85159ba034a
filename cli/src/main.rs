//! The command line tool `warpgrind`: runs CUDA kernels from their PTX with no GPU.
//!
//! One file for each verb ([`run`], [`check`], [`litmus`], [`hardware`], [`conformance`], [`selftest`], [`occupancy`], [`profile`],
//! [`explain`]); [`args`] is the command line, [`report`] everything that is shown, [`exit`] the exit codes.
//! What is computed for them is the crate `warpgrind`'s.
//!
//! # Invariants
//! * Results go to standard output, everything else to standard error. With `--format json`
//!   standard output holds exactly one document.
//! * Every way to end has its exit code in [`exit::Exit`].
//!
//! # What it must not know
//! How PTX is parsed or executed, and what a memory model allows.

mod args;
mod check;
mod command_line;
mod conformance;
mod dap;
mod debug;
mod exec;
mod exit;
mod explain;
mod files;
mod folder;
mod hardware;
mod interrupt;
mod litmus;
mod modules;
mod occupancy;
mod profile;
mod progress;
mod random;
mod report;
mod run;
mod selftest;
mod smi;
mod triage;

use std::io::Write;
use std::process::ExitCode;

use args::{Cli, Command, Format, SelfTest};
use exit::{Exit, Failure};
use report::{Console, FailureReport, printable};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // The process ends; nobody is left to be told when this fails.
        let _ = writeln!(
            std::io::stderr(),
            "internal error: {panic}\n\nThis is a bug in warpgrind {}, not in your program. To report it, run the same \
             command again with\n  RUST_BACKTRACE=1 {} … 2> report.txt\nand keep report.txt with the command line and \
             the files that it names (PTX, launch file, data).\nWhoever gave you warpgrind can find the cause with \
             these; CONTRIBUTING.md says more.",
            env!("CARGO_PKG_VERSION"),
            std::env::args_os().take(2).map(|part| printable(&part)).collect::<Vec<_>>().join(" "),
        );
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            let _ = writeln!(std::io::stderr(), "{}", std::backtrace::Backtrace::force_capture());
        }
    }));
    let cli = match command_line::read() {
        Ok(cli) => cli,
        Err(exit) => return ExitCode::from(exit.code()),
    };
    let console = Console::new(&cli.global);
    let exit = dispatch(&cli, &console).unwrap_or_else(|failure| {
        if !console.is_human() {
            console.json(&FailureReport::new(Some(cli.command.name().into()), &failure));
        }
        // Who reads the other formats does not look for it there.
        if console.format != Format::Json {
            console.failure(&failure);
        }
        failure.exit
    });
    let exit = console.finish().map(|()| exit).unwrap_or_else(|failure| {
        console.failure(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

/// Formats of findings are of commands that have findings.
fn has_format(cli: &Cli) -> Result<(), Failure> {
    let finds = matches!(cli.command, Command::Run(_) | Command::Check(_) | Command::Litmus(_));
    if finds || matches!(cli.global.format, Format::Human | Format::Json) {
        return Ok(());
    }
    let failure =
        Failure::usage(format!("`warpgrind {}` has no findings to write in this format", cli.command.name()));
    Err(match cli.command {
        Command::Exec(_) => failure.help(
            "`--report FILE.sarif`, `.xml`, `.github` or `.html` writes those of the program's kernels",
        ),
        _ => failure,
    })
}

fn dispatch(cli: &Cli, console: &Console) -> Result<Exit, Failure> {
    has_format(cli)?;
    match &cli.command {
        Command::Run(args) => run::run(args, &cli.global, console),
        Command::Debug(args) => debug::debug(args, &cli.global, console),
        Command::Dap(args) => dap::dap(args, console),
        Command::Check(args) => check::check(args, &cli.global, console),
        Command::Litmus(args) => litmus::litmus(args, &cli.global, console),
        Command::Devices(args) => hardware::list(args, console),
        Command::Compare(args) => hardware::compare(args, &cli.global, console),
        Command::Record(args) => hardware::record(args, &cli.global, console),
        Command::ServeDevice => hardware::serve(),
        Command::NvidiaSmi { arguments } => smi::smi(arguments, console),
        Command::StartProgram(args) => Err(exec::child::start(args)),
        #[cfg(target_os = "linux")]
        Command::KeepProgram(args) => Err(exec::child::keep(args)),
        Command::Exec(args) => exec::exec(args, &cli.global, console),
        Command::Profile(args) => profile::profile(args, &cli.global, console),
        Command::Occupancy(args) => occupancy::occupancy(args, console),
        Command::Explain(args) => explain::explain(args.code.as_deref(), console),
        Command::Selftest { what: SelfTest::Numerics(args) } => {
            selftest::numerics(args, &cli.global, console)
        }
        Command::Conformance { what } => conformance::conformance(what, &cli.global, console),
        Command::Completions { shell } => {
            console.out_bytes(&command_line::completions(*shell));
            Ok(Exit::Clean)
        }
        Command::Man { verbs, output: None } => {
            console.out_bytes(&command_line::page(verbs)?);
            Ok(Exit::Clean)
        }
        Command::Man { output: Some(folder), .. } => {
            let count = command_line::pages(folder)?;
            console.err(format!("{count} pages written to {}\n", folder.display()));
            Ok(Exit::Clean)
        }
    }
}
