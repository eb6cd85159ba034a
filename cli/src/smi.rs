//! `nvidia-smi` for programs under `exec`, of the devices that they are shown: it asks the management library, as NVIDIA's does.

use clap::Parser;
use device::{Nvml, NvmlDevice};

use crate::exit::{Exit, Failure};
use crate::report::Console;

/// The devices that programs are shown, as NVIDIA's nvidia-smi lists them
#[derive(Parser, Debug)]
#[command(name = "nvidia-smi", disable_version_flag = true)]
struct Smi {
    /// List the devices with their UUIDs
    #[arg(short = 'L', long)]
    list_gpus: bool,
    /// These devices only: numbers, UUIDs or bus addresses
    #[arg(short, long, value_name = "ID", value_delimiter = ',')]
    id: Vec<String>,
    /// Print properties: name, index, uuid, count, pci.bus_id, driver_version, compute_cap, memory.total, memory.used,
    /// memory.free, clocks.max.sm, clocks.max.memory; of others that NVIDIA's knows, that they are not there
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', requires = "format")]
    query_gpu: Vec<String>,
    /// csv, csv,noheader and csv,noheader,nounits
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = ["csv", "noheader", "nounits"])]
    format: Vec<String>,
}

/// What a device says of a property: the value and its unit.
type Cell = (String, &'static str);

/// Properties of boards that a simulated one has not.
const ABSENT: [&str; 9] = [
    "utilization.",
    "temperature.",
    "power.",
    "fan.",
    "ecc.",
    "clocks.current.",
    "pstate",
    "serial",
    "vbios_version",
];

/// Runs `nvidia-smi` with these arguments.
pub(crate) fn smi(arguments: &[String], console: &Console) -> Result<Exit, Failure> {
    let name = ["nvidia-smi".to_string()];
    let args = match Smi::try_parse_from(name.iter().chain(arguments)) {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return Err(Failure::usage(error.to_string().trim_end())),
        Err(help) => {
            console.out(help.to_string());
            return Ok(Exit::Clean);
        }
    };
    let unheard = |error: device::NvmlError| {
        Failure::usage(error.to_string()).help("`warpgrind exec nvidia-smi` shows the simulated devices")
    };
    let library = Nvml::open().map_err(unheard)?;
    let count = library.count().map_err(unheard)?;
    let devices = (0..count).map(|index| library.device(index)).collect::<Result<Vec<_>, _>>();
    let devices = devices.map_err(unheard)?;
    let named = |device: &&NvmlDevice| {
        let is = |id: &String| {
            *id == device.index.to_string() || *id == device.uuid || id.eq_ignore_ascii_case(&device.bus_id)
        };
        args.id.is_empty() || args.id.iter().any(is)
    };
    let shown: Vec<&NvmlDevice> = devices.iter().filter(named).collect();
    if shown.is_empty() {
        return Err(Failure::usage(format!("no device is called {}", args.id.join(", "))));
    }
    let driver = library.driver_version().map_err(unheard)?;
    let text = if args.list_gpus {
        let line =
            |device: &&NvmlDevice| format!("GPU {}: {} (UUID: {})\n", device.index, device.name, device.uuid);
        shown.iter().map(line).collect()
    } else if args.query_gpu.is_empty() {
        table(&shown, &driver, library.cuda_version().map_err(unheard)?)
    } else {
        values(&args, &shown, &driver, count)?
    };
    console.out(text);
    Ok(Exit::Clean)
}

fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}

/// A property of a device; `None` if there is no such property.
fn property(name: &str, device: &NvmlDevice, driver: &str, count: u32) -> Option<Cell> {
    let plain = |text: String| Some((text, ""));
    let memory = |bytes| Some((mebibytes(bytes).to_string(), "MiB"));
    let clock = |megahertz: u32| Some((megahertz.to_string(), "MHz"));
    let (major, minor) = device.compute_capability;
    match name {
        "name" | "gpu_name" => plain(device.name.clone()),
        "index" => plain(device.index.to_string()),
        "uuid" | "gpu_uuid" => plain(device.uuid.clone()),
        "count" => plain(count.to_string()),
        "pci.bus_id" | "gpu_bus_id" => plain(device.bus_id.clone()),
        "driver_version" => plain(driver.into()),
        "compute_cap" => plain(format!("{major}.{minor}")),
        "memory.total" => memory(device.total),
        "memory.used" => memory(device.used),
        "memory.free" => memory(device.total - device.used),
        "clocks.max.sm" | "clocks.max.graphics" | "clocks.max.gr" => clock(device.clocks.0),
        "clocks.max.memory" | "clocks.max.mem" => clock(device.clocks.1),
        _ => ABSENT.iter().any(|absent| name.starts_with(absent)).then(|| ("[N/A]".into(), "")),
    }
}

fn values(args: &Smi, devices: &[&NvmlDevice], driver: &str, count: u32) -> Result<String, Failure> {
    let has = |word: &str| args.format.iter().any(|given| given == word);
    let units = !has("nounits");
    let mut lines = Vec::new();
    for device in devices {
        let mut header = Vec::new();
        let mut row = Vec::new();
        for name in &args.query_gpu {
            let (value, unit) = property(name.trim(), device, driver, count)
                .ok_or_else(|| Failure::usage(format!("Field \"{name}\" is not a valid field to query.")))?;
            header.push(if unit.is_empty() { name.clone() } else { format!("{name} [{unit}]") });
            row.push(if unit.is_empty() || !units { value } else { format!("{value} {unit}") });
        }
        if lines.is_empty() && !has("noheader") {
            lines.push(header.join(", "));
        }
        lines.push(row.join(", "));
    }
    Ok(lines.join("\n") + "\n")
}

/// The widths of the table's columns, which scripts know.
const WIDTHS: [usize; 3] = [41, 24, 22];

/// The table that people know.
fn table(devices: &[&NvmlDevice], driver: &str, (major, minor): (i32, i32)) -> String {
    let rule = |ends: char, dash: &str| {
        let columns = WIDTHS.map(|width| dash.repeat(width));
        format!("{ends}{}{ends}\n", columns.join("+"))
    };
    let row = |[left, middle, right]: [&str; 3]| {
        let [a, b, c] = WIDTHS;
        format!("|{left:<a$}|{middle:>b$} |{right:>c$} |\n", b = b - 1, c = c - 1)
    };
    let cuda = format!("{major}.{minor}");
    let whole: usize = WIDTHS.iter().sum::<usize>() + WIDTHS.len() - 1;
    let versions = format!(" NVIDIA-SMI {driver:<18} Driver Version: {driver:<14} CUDA Version: {cuda}");
    let mut text = format!("+{}+\n|{versions:<whole$}|\n", "-".repeat(whole));
    text += &rule('+', "-").replacen('+', "|", 1);
    text +=
        &row([" GPU  Name                 Persistence-M", "Bus-Id          Disp.A", "Volatile Uncorr. ECC"]);
    text += &row([" Fan  Temp   Perf          Pwr:Usage/Cap", "Memory-Usage", "GPU-Util  Compute M."]);
    text += &row(["", "", "MIG M."]);
    text += &rule('|', "=");
    for device in devices {
        let name = format!(" {:>3}  {:<31}On", device.index, device.name);
        let memory = format!("{}MiB / {}MiB", mebibytes(device.used), mebibytes(device.total));
        text += &row([&name, &format!("{} Off", device.bus_id), "N/A"]);
        text += &row([" N/A   N/A   N/A             N/A /  N/A", &memory, "N/A      Default"]);
        text += &row(["", "", "Disabled"]);
        text += &rule('+', "-");
    }
    text
}
