//! Parses PTX files and says how long it took: `cargo run --release --example parse -- FILE…`.
//!
//! With `--repeat N` each file is parsed N times and the best time counts; with `--print` the modules are
//! printed as PTX again, to standard output.

use ptx_frontend::{Source, parse};
use std::time::Instant;

fn main() {
    let mut repeat = 1;
    let mut print = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--repeat" {
            repeat = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1);
            continue;
        }
        if argument == "--print" {
            print = true;
            continue;
        }
        let text = match std::fs::read(&argument) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{argument}: {error}");
                continue;
            }
        };
        let mut best = f64::INFINITY;
        let source = Source::new(argument.as_str(), text);
        let mut parsed = parse(source.clone());
        for _ in 0..repeat {
            let start = Instant::now();
            parsed = parse(source.clone());
            best = best.min(start.elapsed().as_secs_f64());
        }
        if print {
            parsed.module.iter().for_each(|module| println!("{}", module.to_ptx()));
        }
        for diagnostic in &parsed.diagnostics {
            let (line, column) = parsed.source.line_column(diagnostic.span.start);
            let place = parsed.source.slice(diagnostic.span);
            eprintln!(
                "{argument}:{line}:{column}: {} {} `{place}` {} {:?}",
                diagnostic.code, diagnostic.message, diagnostic.caption, diagnostic.help
            );
        }
        let megabytes = source.text.len() as f64 / 1e6;
        let count: usize = parsed
            .module
            .iter()
            .flat_map(|module| &module.functions)
            .filter_map(|function| function.body.as_ref())
            .map(|body| body.instructions.len())
            .sum();
        eprintln!(
            "{argument}: {megabytes:.2} MB, {count} instructions, {:.1} MB/s{}",
            megabytes / best,
            if parsed.module.is_some() { "" } else { ", rejected" }
        );
    }
}
