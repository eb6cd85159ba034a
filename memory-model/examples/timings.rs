//! Checks litmus files and prints one line each: file, verdict, seconds, work.
//!
//! `cargo run --release --example timings -- [--model M] [--property P] [--bound N] [--seconds N]
//! [--explain] [--outcomes] FILE…`

use memory_model::cat::{self, CatModel};
use memory_model::{Options, check, parse, parse_nvlitmus};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let mut options = Options::default();
    let mut files = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--model" => match value() {
                file if file.ends_with(".cat") => options.file = Some(model(&file)),
                name => options.model = name.parse().unwrap_or_else(|e: String| fail(&e)),
            },
            "--property" => options.property = value().parse().unwrap_or_else(|e: String| fail(&e)),
            "--bound" => options.bound = value().parse().ok(),
            "--seconds" => {
                options.limits.time = value().parse().ok().map(std::time::Duration::from_secs);
                options.limits.outcomes = usize::MAX;
            }
            "--explain" => options.explain = true,
            "--outcomes" => options.outcomes = true,
            "--count" => {
                options.outcomes = true;
                options.count = true;
            }
            _ => files.push(arg),
        }
    }
    let (mut total, mut slowest) = (0.0, (0.0, String::new()));
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| fail(&format!("{file}: {e}")));
        let start = Instant::now();
        let parsed = match file.ends_with(".test") {
            true => parse_nvlitmus(&text),
            false => parse(&text).map(|litmus| vec![litmus]),
        };
        let tests = parsed.unwrap_or_else(|errors| {
            errors.iter().for_each(|e| println!("{}", e.render(file, &text)));
            Vec::new()
        });
        for litmus in tests {
            let verdict = check(&litmus, &options);
            let seconds = start.elapsed().as_secs_f64();
            total += seconds;
            if seconds > slowest.0 {
                slowest = (seconds, file.clone());
            }
            let holds = verdict.holds.map_or("null", |h| if h { "true" } else { "false" });
            let reason = verdict.reason.as_deref().unwrap_or("");
            println!(
                "{file},{holds},{},{seconds:.6},{},{},{reason}",
                verdict.verdict, verdict.effort.candidates, verdict.effort.lemmas
            );
            if let Some(race) = &verdict.race {
                println!("  {} race: {:?}", race.class.as_str(), race.accesses);
            }
            for outcome in &verdict.outcomes {
                let values: Vec<String> = verdict
                    .observables
                    .iter()
                    .zip(&outcome.values)
                    .map(|(n, v)| format!("{n}={v}"))
                    .collect();
                let mark = if outcome.satisfies { "*" } else { " " };
                let count = outcome.executions.map_or_else(String::new, |n| format!("  ({n})"));
                println!("  {mark} {}{count}", values.join(" "));
            }
            if let Some(witness) = &verdict.witness {
                println!("{}\n{}", witness.table(), witness.dot(&litmus.name));
            }
            verdict.cuts.iter().for_each(|cut| print!("{}", cut.text()));
        }
    }
    eprintln!("{} tests in {total:.4} s, slowest {:.4} s {}", files.len(), slowest.0, slowest.1);
}

/// The model of a file; what it includes lies beside it.
fn model(file: &str) -> Arc<CatModel> {
    let read = |name: &str, from: &str| {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        Ok((path.display().to_string(), text))
    };
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| fail(&format!("{file}: {e}")));
    Arc::new(cat::load(file, &text, &read).unwrap_or_else(|e| fail(&e.to_string())))
}

fn fail<T>(message: &str) -> T {
    eprintln!("{message}");
    std::process::exit(2)
}
