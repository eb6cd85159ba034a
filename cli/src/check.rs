//! `warpgrind check`: whether PTX is valid and can be run, and what its kernels need.

use std::path::Path;
use std::sync::Arc;

use comfy_table::{CellAlignment, Table, presets};
use indexmap::IndexMap;
use ptx_frontend::{Diagnostic, Module, Severity, Source};
use rayon::prelude::*;
use reports::demangle;
use reports::triage::{Found, Issue, Spot, Verdict};
use sim_core::{FindingKind, KernelInfo, Rewrite};
use warpgrind::plan::{dimensions_text, parameters, type_text};

use crate::args::{CheckArgs, Global};
use crate::exit::{Exit, Failure};
use crate::modules::read_source;
use crate::progress::Counted;
use crate::report::{
    CheckReport, Console, DiagnosticJson, FailureJson, FileJson, IssueJson, KernelJson, ParameterJson,
    RewriteJson, SCHEMA, UnsupportedJson, plural, printable,
};
use crate::triage::Triage;

/// Lines named for an unsupported feature.
const LINES: usize = 8;

/// What is known about one file.
struct Checked {
    name: String,
    outcome: Result<Parsed, Failure>,
}

struct Parsed {
    source: Source,
    diagnostics: Vec<Diagnostic>,
    module: Option<Arc<Module>>,
    kernels: Vec<KernelInfo>,
    /// Lines by unsupported feature.
    unsupported: IndexMap<String, Vec<u32>>,
    /// Of each diagnostic and then of each unsupported feature, whether it is expected.
    judged: Vec<(Issue, Verdict)>,
    /// Where NVIDIA's compiler is known to leave the manual: instruction and what it makes of it, with lines.
    rewrites: IndexMap<(String, Rewrite), Vec<u32>>,
}

impl Checked {
    fn exit(&self) -> Exit {
        match &self.outcome {
            Err(failure) => failure.exit,
            Ok(parsed) if parsed.module.is_none() && parsed.errors().new > 0 => Exit::Rejected,
            Ok(parsed) if parsed.unsupported().any(|(_, _, (_, verdict))| verdict.is_new()) => {
                Exit::Unsupported
            }
            Ok(_) => Exit::Clean,
        }
    }

    /// Decides of everything that was found whether it is expected.
    fn judge(&mut self, triage: &Triage<'_>) {
        let Ok(parsed) = &mut self.outcome else { return };
        let line = |diagnostic: &Diagnostic| parsed.source.line_column(diagnostic.span.start).0;
        let diagnostics = parsed.diagnostics.iter();
        let diagnostics = diagnostics.map(|of| Issue::of_line(of.code.0, &parsed.source, line(of)));
        let unsupported = parsed.unsupported.iter().map(|(what, lines)| {
            let spot = |&line: &u32| Spot { file: self.name.clone(), line };
            Issue::new(FindingKind::Unsupported.name(), "", lines.iter().map(spot).collect(), &[(what, 1)])
        });
        let issues = diagnostics.chain(unsupported);
        parsed.judged = issues.map(|issue| (issue.clone(), triage.judge(&issue))).collect();
    }
}

type Judged = (Issue, Verdict);

impl Parsed {
    /// Diagnostics, each with whether it is expected.
    fn diagnostics(&self) -> impl Iterator<Item = (&Diagnostic, &Judged)> {
        self.diagnostics.iter().zip(&self.judged)
    }

    /// Unsupported features with their lines, each with whether it is expected.
    fn unsupported(&self) -> impl Iterator<Item = (&String, &Vec<u32>, &Judged)> {
        let judged = self.judged.iter().skip(self.diagnostics.len());
        self.unsupported.iter().zip(judged).map(|((what, lines), judged)| (what, lines, judged))
    }

    /// How many errors there are.
    fn errors(&self) -> Found {
        let mut found = Found::default();
        let errors = self.diagnostics().filter(|(of, _)| of.severity == Severity::Error);
        errors.for_each(|(_, (_, verdict))| found.add(verdict.status));
        found
    }
}

/// Checks all files; the exit code is the gravest: unreadable, then invalid, then unsupported.
pub(crate) fn check(args: &CheckArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    let gravity = |exit: Exit| match exit {
        Exit::Clean => 0,
        Exit::Unsupported => 1,
        Exit::Rejected => 2,
        _ => 3,
    };
    let triage = Triage::open(&args.findings, console)?;
    let mut exit = Exit::Clean;
    let mut documents = Vec::new();
    let progress = Counted::new(console.is_human(), args.files.len(), "files");
    // Batches keep the order and bound the memory when there are thousands of files.
    for batch in args.files.chunks(8 * pool.current_num_threads()) {
        let checked: Vec<Checked> = pool.install(|| batch.par_iter().map(|path| check_file(path)).collect());
        for mut file in checked {
            file.judge(&triage);
            exit = if gravity(file.exit()) > gravity(exit) { file.exit() } else { exit };
            progress.step(|| {
                if console.is_human() {
                    show(&file, args, &triage, console);
                }
            });
            if triage.collects() {
                documents.push(document(&file));
            }
        }
    }
    drop(progress);
    let (exit, expected) = triage.finish(exit)?;
    if triage.collects() {
        triage.publish(&CheckReport {
            schema: SCHEMA,
            command: "check",
            exit_code: exit.code(),
            files: documents,
            triage: expected,
        })?;
    }
    Ok(exit)
}

fn check_file(path: &Path) -> Checked {
    let name = printable(path);
    let source = match read_source(path) {
        Ok(source) => source,
        Err(failure) => return Checked { name, outcome: Err(failure) },
    };
    let parsed = ptx_frontend::parse(source);
    let module = parsed.module.map(Arc::new);
    let kernels = module.as_ref().map(sim_core::inspect).unwrap_or_default();
    let mut unsupported: IndexMap<String, Vec<u32>> = IndexMap::new();
    for found in kernels.iter().flat_map(|kernel| &kernel.unsupported) {
        let lines = unsupported.entry(found.what.clone()).or_default();
        lines.push(parsed.source.line_column(found.span.start).0);
    }
    let mut rewrites: IndexMap<(String, Rewrite), Vec<u32>> = IndexMap::new();
    for function in module.iter().flat_map(|module| &module.functions) {
        let (Some(module), Some(body)) = (&module, &function.body) else { continue };
        for (at, rewrite) in sim_core::rewrites(module, function) {
            let inst = &body.instructions[at as usize];
            let lines = rewrites.entry((module.op(inst).to_string(), rewrite)).or_default();
            lines.push(parsed.source.line_column(inst.span.start).0);
        }
    }
    for lines in unsupported.values_mut() {
        // Device functions that several kernels call are seen once a kernel.
        lines.sort_unstable();
        lines.dedup();
    }
    Checked {
        name,
        outcome: Ok(Parsed {
            source: parsed.source,
            diagnostics: parsed.diagnostics,
            module,
            kernels,
            unsupported,
            judged: Vec::new(),
            rewrites,
        }),
    }
}

fn show(file: &Checked, args: &CheckArgs, triage: &Triage<'_>, console: &Console) {
    let parsed = match &file.outcome {
        Ok(parsed) => parsed,
        Err(failure) => return console.failure(failure),
    };
    if args.quiet {
        return;
    }
    let suppression = |issue: &Issue| {
        if let Some(text) = triage.suppression(issue) {
            console.err(text);
        }
    };
    for (diagnostic, (issue, _)) in parsed.diagnostics().filter(|(_, (_, verdict))| verdict.is_new()) {
        console.diagnostic(diagnostic, &parsed.source, &[]);
        suppression(issue);
    }
    let Some(module) = &parsed.module else {
        let errors = parsed.errors();
        let words = match errors.new {
            0 => errors.words().unwrap_or_default(),
            new => plural(new, "error"),
        };
        console.out(format!("{}: rejected, {words}\n", file.name));
        return;
    };
    let count = plural(parsed.kernels.len() as u64, "kernel");
    let header = format!("PTX {}, {}, {count}", module.version, module.target);
    match parsed.unsupported.is_empty() {
        true => console.out(format!("{}: runs ({header})\n", file.name)),
        false => {
            console.out(format!("{}: holds something unsupported ({header})\n", file.name));
            for (what, lines, (issue, _)) in parsed.unsupported().filter(|(.., (_, of))| of.is_new()) {
                console.out(format!("  {what}: {}\n", lines_text(lines)));
                suppression(issue);
            }
        }
    }
    for ((op, rewrite), lines) in &parsed.rewrites {
        console.out(format!(
            "  warning: `{op}`: {}: {}; {}\n",
            lines_text(lines),
            rewrite.text(),
            rewrite.help()
        ));
    }
    if args.list {
        list(parsed, module, console);
    }
}

/// `2 times, lines 3, 8`
fn lines_text(lines: &[u32]) -> String {
    let shown: Vec<String> = lines.iter().take(LINES).map(u32::to_string).collect();
    let more = if lines.len() > LINES { ", …" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{}, {noun} {}{more}", plural(lines.len() as u64, "time"), shown.join(", "))
}

fn list(parsed: &Parsed, module: &Module, console: &Console) {
    for kernel in &parsed.kernels {
        let cpp = demangle(&kernel.name).map_or(String::new(), |full| format!(" = {full}"));
        console.out(format!("  {}{cpp}\n", kernel.name));
        console.out(format!(
            "    registers {}, shared {} bytes, local {} bytes\n",
            kernel.registers, kernel.shared_bytes, kernel.local_bytes
        ));
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for (at, parameter) in of_kernel(module, &kernel.name).into_iter().enumerate() {
            table.add_row(vec![
                format!("    {at}"),
                parameter.ty,
                parameter.name,
                format!("offset {}", parameter.offset),
                plural(parameter.size, "byte"),
            ]);
        }
        for column in [3, 4] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            console.out(format!("{}\n", line.trim_end()));
        }
    }
}

fn of_kernel(module: &Module, kernel: &str) -> Vec<ParameterJson> {
    let Some(id) = module.kernel(kernel) else { return Vec::new() };
    parameters(module, &module.functions[id.index()])
        .into_iter()
        .map(|parameter| ParameterJson {
            name: parameter.name.to_string(),
            ty: type_text(parameter) + &dimensions_text(parameter),
            offset: parameter.offset,
            size: parameter.size,
            align: parameter.align,
        })
        .collect()
}

fn document(file: &Checked) -> FileJson {
    let mut document = FileJson {
        file: file.name.clone(),
        exit_code: file.exit().code(),
        error: None,
        version: None,
        target: None,
        diagnostics: Vec::new(),
        kernels: Vec::new(),
        unsupported: Vec::new(),
        rewrites: Vec::new(),
    };
    let parsed = match &file.outcome {
        Ok(parsed) => parsed,
        Err(failure) => return FileJson { error: Some(FailureJson::from(failure)), ..document },
    };
    document.diagnostics = parsed
        .diagnostics()
        .map(|(diagnostic, (issue, verdict))| {
            DiagnosticJson::new(diagnostic, &parsed.source, &[]).judged(IssueJson::new(issue, verdict))
        })
        .collect();
    document.unsupported = parsed
        .unsupported()
        .map(|(what, lines, (issue, verdict))| UnsupportedJson {
            what: what.clone(),
            count: lines.len(),
            lines: lines.clone(),
            issue: IssueJson::new(issue, verdict),
        })
        .collect();
    document.rewrites = parsed
        .rewrites
        .iter()
        .map(|((op, rewrite), lines)| RewriteJson {
            instruction: op.clone(),
            what: rewrite.text(),
            help: rewrite.help(),
            lines: lines.clone(),
        })
        .collect();
    if let Some(module) = &parsed.module {
        document.version = Some(module.version.to_string());
        document.target = Some(module.target.to_string());
        document.kernels = parsed
            .kernels
            .iter()
            .map(|kernel| KernelJson {
                name: kernel.name.to_string(),
                demangled: demangle(&kernel.name),
                parameters: of_kernel(module, &kernel.name),
                registers: kernel.registers,
                shared_bytes: kernel.shared_bytes,
                local_bytes: kernel.local_bytes,
            })
            .collect();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn lines_are_cut_short() {
        assert_eq!(lines_text(&[7]), "1 time, line 7");
        assert_eq!(lines_text(&(1..=9).collect::<Vec<_>>()), "9 times, lines 1, 2, 3, 4, 5, 6, 7, 8, …");
    }

    #[test]
    fn files_are_judged() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let good = write("good.ptx", ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }");
        let bad = write("bad.ptx", ".version 9.0\n.target sm_90\n.address_size 64\n.entry k( { ret; }");
        let cli = crate::args::Cli::try_parse_from(["warpgrind", "check", "x"]).unwrap();
        let crate::args::Command::Check(args) = &cli.command else { unreachable!() };
        let console = Console::new(&cli.global);
        let triage = Triage::open(&args.findings, &console).unwrap();
        let exit = |path: &Path| {
            let mut file = check_file(path);
            file.judge(&triage);
            file.exit()
        };
        assert_eq!(exit(&good), Exit::Clean);
        assert_eq!(exit(&bad), Exit::Rejected);
        assert_eq!(exit(&directory.path().join("none.ptx")), Exit::Usage);
    }
}
