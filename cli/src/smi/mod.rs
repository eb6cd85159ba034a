//! `nvidia-smi` for programs under `exec`, of the devices that they are shown: it asks the management library, as NVIDIA's does.

mod facts;
mod log;
mod topology;

use std::time::Duration;

use clap::Parser;
use device::{Nvml, NvmlDevice};

use self::facts::Machine;
use crate::exit::{Exit, Failure};
use crate::report::Console;

/// The devices that programs are shown, as NVIDIA's nvidia-smi lists them
#[derive(Parser, Debug)]
#[command(name = "nvidia-smi", disable_version_flag = true, args_conflicts_with_subcommands = true)]
struct Smi {
    #[command(subcommand)]
    command: Option<Sub>,
    /// List the devices with their UUIDs
    #[arg(short = 'L', long)]
    list_gpus: bool,
    /// The versions of the driver and of CUDA
    #[arg(long)]
    version: bool,
    /// These devices only: numbers, UUIDs or bus addresses
    #[arg(short, long, value_name = "ID", value_delimiter = ',')]
    id: Vec<String>,
    /// Print all that is known
    #[arg(short, long)]
    query: bool,
    /// With -q: these parts, such as MEMORY or CLOCK
    #[arg(short, long, value_name = "PART", value_delimiter = ',', requires = "query")]
    display: Vec<String>,
    /// With -q: as XML
    #[arg(short, long, requires = "query")]
    xml_format: bool,
    /// Print properties, separated by commas; what a simulated device does not measure is [N/A]
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',')]
    query_gpu: Vec<String>,
    /// List the properties
    #[arg(long)]
    help_query_gpu: bool,
    /// Print the processes that use devices: none is known
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',')]
    query_compute_apps: Vec<String>,
    /// csv, csv,noheader and csv,noheader,nounits
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = ["csv", "noheader", "nounits"])]
    format: Vec<String>,
    /// Print again after so many seconds, until it is ended
    #[arg(short, long, value_name = "SECONDS", conflicts_with = "loop_ms")]
    r#loop: Option<u64>,
    /// Print again after so many milliseconds, until it is ended
    #[arg(long, value_name = "MILLISECONDS")]
    loop_ms: Option<u64>,
    /// Write to this file instead
    #[arg(short, long, value_name = "FILE")]
    filename: Option<std::path::PathBuf>,
}

#[derive(clap::Subcommand, Debug)]
enum Sub {
    /// How devices reach each other
    Topo {
        /// The matrix of links
        #[arg(short, long, required = true)]
        matrix: bool,
    },
}

/// A line a property: its name, after a stroke another one; its unit; its value with keys of [`facts`].
const PROPERTIES: &str = include_str!("properties.txt");

/// What `nvidia-smi` ends with that finds no such device, and its words.
const NO_DEVICES: &str = "No devices were found\n";

/// What is asked of the library, and how it is told.
enum Asked {
    Text(String),
    /// Also a word of the user's that is not known, as NVIDIA's says it: on standard output.
    Wrong(Exit, String),
}

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
    let again = args.r#loop.map(Duration::from_secs).or(args.loop_ms.map(Duration::from_millis));
    let mut written = String::new();
    loop {
        let text = match answer(&args)? {
            Asked::Text(text) => text,
            Asked::Wrong(exit, text) => {
                console.out(text);
                return Ok(exit);
            }
        };
        match &args.filename {
            Some(file) => {
                written += &text;
                let unwritten = |error| Failure::usage(format!("cannot write {}: {error}", file.display()));
                std::fs::write(file, &written).map_err(unwritten)?;
            }
            None => console.out(text),
        }
        let Some(again) = again else { return Ok(Exit::Clean) };
        std::thread::sleep(again);
    }
}

/// What is said now.
fn answer(args: &Smi) -> Result<Asked, Failure> {
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
        return Ok(Asked::Wrong(Exit::NoDevice, NO_DEVICES.into()));
    }
    let machine = Machine {
        driver: library.driver_version().map_err(unheard)?,
        cuda: library.cuda_version().map_err(unheard)?,
        count,
    };
    let text = if let Some(Sub::Topo { .. }) = args.command {
        topology::matrix(&shown)
    } else if args.list_gpus {
        let line =
            |device: &&NvmlDevice| format!("GPU {}: {} (UUID: {})\n", device.index, device.name, device.uuid);
        shown.iter().map(line).collect()
    } else if args.version {
        let Machine { driver, cuda: (major, minor), .. } = &machine;
        let rows = [("NVIDIA-SMI version", driver), ("NVML version", driver), ("DRIVER version", driver)];
        let rows: String = rows.iter().map(|(name, version)| format!("{name:<20}: {version}\n")).collect();
        format!("{rows}{:<20}: {major}.{minor}\n", "CUDA Version")
    } else if args.help_query_gpu {
        let line = |(names, _, _): (&str, &str, &str)| format!("\"{}\"\n", names.replace('/', "\" or \""));
        properties().map(line).collect()
    } else if args.query && args.xml_format {
        log::xml(&machine, &shown)
    } else if args.query {
        let Some(sections) = log::displayed(&args.display) else {
            return Err(Failure::usage(format!("no part is called {}", args.display.join(", "))));
        };
        log::text(&machine, &shown, (!sections.is_empty()).then_some(&sections[..]))
    } else if !args.query_compute_apps.is_empty() {
        let header = args.query_compute_apps.join(", ").replace("name", "process_name");
        if args.format.iter().any(|word| word == "noheader") { String::new() } else { header + "\n" }
    } else if args.query_gpu.is_empty() {
        table(&shown, &machine)
    } else {
        return Ok(values(args, &shown, &machine));
    };
    Ok(Asked::Text(text))
}

fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}

/// Names, unit and value of the properties.
fn properties() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    PROPERTIES.lines().filter_map(|line| {
        let (names, rest) = line.split_once(" | ")?;
        let (unit, value) = rest.split_once(" | ")?;
        Some((names, unit, value))
    })
}

/// The properties that were asked for, a line a device.
fn values(args: &Smi, devices: &[&NvmlDevice], machine: &Machine) -> Asked {
    let has = |word: &str| args.format.iter().any(|given| given == word);
    let (mut header, mut columns) = (Vec::new(), Vec::new());
    for name in args.query_gpu.iter().map(|name| name.trim()) {
        let known = properties().find(|(names, _, _)| names.split('/').any(|known| known == name));
        let Some((_, unit, value)) = known else {
            return Asked::Wrong(Exit::Usage, format!("Field \"{name}\" is not a valid field to query.\n"));
        };
        let unit = if unit == "-" { String::new() } else { format!(" [{unit}]") };
        header.push(format!("{name}{unit}"));
        columns.push((unit, value));
    }
    let mut text = String::new();
    if !has("noheader") {
        text += &(header.join(", ") + "\n");
    }
    for device in devices {
        let cell = |(unit, value): &(String, &str)| {
            let value = machine.fill(value, device);
            match value.rsplit_once(' ') {
                Some((number, _)) if has("nounits") && !unit.is_empty() => number.to_owned(),
                _ => value,
            }
        };
        text += &(columns.iter().map(cell).collect::<Vec<_>>().join(", ") + "\n");
    }
    Asked::Text(text)
}

/// The widths of the table's columns, which scripts know.
const WIDTHS: [usize; 3] = [41, 24, 22];

/// The table that people know.
fn table(devices: &[&NvmlDevice], machine: &Machine) -> String {
    let Machine { driver, cuda: (major, minor), .. } = machine;
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
        text += &row([
            &name,
            &format!("{} Off", device.bus_id),
            if device.ecc == Some(true) { "0" } else { "N/A" },
        ]);
        text += &row([" N/A   N/A   N/A             N/A /  N/A", &memory, "N/A      Default"]);
        text += &row(["", "", "Disabled"]);
        text += &rule('+', "-");
    }
    text
}
