//! `warpgrind occupancy`: how many blocks of a kernel are resident on a multiprocessor, and what limits them.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use sim_core::DeviceConfig;
use warpgrind::occupancy::{BlockUse, Occupancy, by_block_size};

use crate::args::OccupancyArgs;
use crate::exit::{Exit, Failure};
use crate::modules;
use crate::report::{Console, SCHEMA};

/// What a kernel takes of a multiprocessor, as far as the PTX says.
struct Kernel {
    name: String,
    registers: u32,
    shared: u64,
}

#[derive(Serialize, Debug)]
struct Report {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    kernel: Option<String>,
    registers_estimated: bool,
    occupancy: OccupancyJson,
    by_block_size: Vec<OccupancyJson>,
}

/// Names are Nsight Compute's where it has one.
#[allow(non_snake_case, reason = "names of metrics")]
#[derive(Serialize, Debug)]
struct OccupancyJson {
    launch__block_size: u32,
    launch__registers_per_thread: u32,
    shared_bytes: u32,
    blocks: u32,
    warps: u32,
    sm__maximum_warps_per_active_cycle_pct: f64,
    launch__occupancy_limit_blocks: u32,
    launch__occupancy_limit_warps: u32,
    launch__occupancy_limit_registers: u32,
    launch__occupancy_limit_shared_mem: u32,
    limited_by: Vec<&'static str>,
}

impl From<&Occupancy> for OccupancyJson {
    fn from(of: &Occupancy) -> Self {
        Self {
            launch__block_size: of.block.threads,
            launch__registers_per_thread: of.block.registers,
            shared_bytes: of.block.shared,
            blocks: of.blocks,
            warps: of.warps,
            sm__maximum_warps_per_active_cycle_pct: 100.0 * of.share(),
            launch__occupancy_limit_blocks: of.limits.blocks,
            launch__occupancy_limit_warps: of.limits.warps,
            launch__occupancy_limit_registers: of.limits.registers,
            launch__occupancy_limit_shared_mem: of.configured,
            limited_by: of.limiting(),
        }
    }
}

pub(crate) fn occupancy(args: &OccupancyArgs, console: &Console) -> Result<Exit, Failure> {
    let kernel = kernel(args, console)?;
    let own = kernel.as_ref().map_or(0, |kernel| kernel.shared);
    let shared = u32::try_from(own.saturating_add(args.shared.into())).unwrap_or(u32::MAX);
    let estimated = args.registers.is_none();
    let registers = match (args.registers, &kernel) {
        (Some(registers), _) => registers,
        (None, Some(kernel)) => kernel.registers,
        (None, None) => {
            let failure = Failure::usage("how many registers a thread has is not known");
            return Err(failure.help("name a PTX file, or give --registers, as `ptxas -v` says it"));
        }
    };
    let device = DeviceConfig::h200();
    let block = BlockUse { threads: args.threads, registers: registers.min(255), shared };
    let asked = Occupancy::of(&device, block);
    let curve = by_block_size(&device, block.registers, shared);
    let name = kernel.map(|kernel| kernel.name);
    if !console.is_human() {
        console.json(&Report {
            schema: SCHEMA,
            command: "occupancy",
            exit_code: Exit::Clean.code(),
            kernel: name,
            registers_estimated: estimated,
            occupancy: (&asked).into(),
            by_block_size: curve.iter().map(Into::into).collect(),
        });
        return Ok(Exit::Clean);
    }
    console.out(text(name.as_deref(), estimated, &asked, &curve));
    Ok(Exit::Clean)
}

/// The kernel that is meant, if PTX is given.
fn kernel(args: &OccupancyArgs, console: &Console) -> Result<Option<Kernel>, Failure> {
    if args.files.is_empty() {
        return Ok(None);
    }
    let sources =
        args.files.iter().map(|path| modules::read_source(path)).collect::<Result<Vec<_>, Failure>>()?;
    let module = modules::load(sources, &mut |diagnostic, source, elsewhere| {
        console.diagnostic(diagnostic, source, elsewhere);
    })?;
    let function = module.kernel(args.entry.as_deref())?;
    let known = sim_core::inspect(module.checked());
    let info = known.into_iter().find(|info| *info.name == *function.name);
    Ok(info.map(|info| Kernel {
        name: reports::readable(&info.name).into_owned(),
        registers: info.registers,
        shared: info.shared_bytes,
    }))
}

fn percent(of: &Occupancy) -> String {
    format!("{:.0} %", 100.0 * of.share())
}

fn text(name: Option<&str>, estimated: bool, asked: &Occupancy, curve: &[Occupancy]) -> String {
    let BlockUse { threads, registers, shared } = asked.block;
    let mut text = String::new();
    if let Some(name) = name {
        text += &format!("{name}\n");
    }
    let guess = if estimated { " (an estimate; `ptxas -v` knows)" } else { "" };
    text += &format!(
        "blocks of {threads} threads, {registers} registers a thread{guess}, {shared} bytes of shared memory\n"
    );
    let limits = asked.limits;
    text += &format!(
        "  {} resident on a multiprocessor: {} of {} warps, {}\n",
        reports::plural(asked.blocks.into(), "block"),
        asked.warps,
        asked.most_warps,
        percent(asked),
    );
    text += &format!(
        "  as many would fit: {} by the number of blocks, {} by warps, {} by registers, {} by shared memory\n\n",
        limits.blocks, limits.warps, limits.registers, limits.shared
    );
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.add_row(["  threads", "blocks", "warps", "occupancy", "limited by"]);
    for at in curve {
        let mark = if at.block.threads == threads { "> " } else { "  " };
        table.add_row([
            format!("{mark}{}", at.block.threads),
            at.blocks.to_string(),
            at.warps.to_string(),
            percent(at),
            at.limiting().join(", "),
        ]);
    }
    for column in 1..4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().for_each(|line| text += &format!("{}\n", line.trim_end()));
    text
}
