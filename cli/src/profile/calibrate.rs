//! `warpgrind profile --calibrate`: the file of a chip, measured on this machine's device.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use device::{Device, Options};
use serde_json::json;
use warpgrind::profile::calibrate::calibrate as measure;
use warpgrind::profile::number;
use warpgrind::profile::time::Chip;

use crate::args::ProfileArgs;
use crate::exit::{Exit, Failure};
use crate::files::{can_replace, replace};
use crate::progress;
use crate::report::{Console, SCHEMA};

pub(super) fn calibrate(file: &Path, args: &ProfileArgs, console: &Console) -> Result<Exit, Failure> {
    can_replace(file)?;
    let known = super::chip_text(&args.chip)?;
    Chip::from_toml(&known)
        .map_err(|problem| Failure::usage(format!("{}: {problem}", args.chip.display())))?;
    let device = Device::open(&Options::default())?;
    let properties = device.properties().clone();
    let mut numbers: Vec<(String, f64, f64)> = Vec::new();
    let text = progress::during(console.is_human(), format!("measuring {}", properties.name), || {
        measure(&device, properties.multiprocessors, &known, |name, old, new| {
            numbers.push((name.to_owned(), old, new));
        })
    });
    let text = text.map_err(|error| Failure::new(Exit::NoDevice, error.to_string()))?;
    replace(file, text.as_bytes())?;
    if !console.is_human() {
        let numbers =
            numbers.iter().map(|(name, old, new)| json!({ "name": name, "before": old, "measured": new }));
        console.json(&json!({
            "schema": SCHEMA,
            "command": "profile",
            "exit_code": Exit::Clean.code(),
            "device": properties.name,
            "chip": file,
            "numbers": numbers.collect::<Vec<_>>(),
        }));
        return Ok(Exit::Clean);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, old, new) in &numbers {
        table.add_row([format!("  {name}"), number(*old), number(*new)]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let mut said =
        format!("{}: numbers of {}, and what was measured\n", properties.name, args.chip.display());
    table.lines().for_each(|line| said += &format!("{}\n", line.trim_end()));
    said += &format!("{} has them; the others are those of {}\n", file.display(), args.chip.display());
    console.out(said);
    Ok(Exit::Clean)
}
