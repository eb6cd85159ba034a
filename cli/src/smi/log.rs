//! All that is said of devices, as text or as XML, in the sections that NVIDIA's nvidia-smi has.

use std::time::SystemTime;

use device::NvmlDevice;

use super::facts::{Machine, spoken};

/// A line an entry: what the text calls it, what XML calls it, and its value unless it is a section; two spaces more than its section.
/// A dash is where one of them has none, `>` what the text indents once more; behind `#` the XML has the value alone.
const ENTRIES: &str = include_str!("log.txt");

/// The sections of what `--display` takes.
const DISPLAYED: [(&str, &[&str]); 10] = [
    ("MEMORY", &["FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"]),
    ("UTILIZATION", &["Utilization"]),
    ("ECC", &["ECC Mode", "ECC Errors"]),
    ("TEMPERATURE", &["Temperature"]),
    ("POWER", &["GPU Power Readings", "GPU Memory Power Readings", "Module Power Readings"]),
    (
        "CLOCK",
        &[
            "Clocks",
            "Applications Clocks",
            "Default Applications Clocks",
            "Deferred Clocks",
            "Max Clocks",
            "Max Customer Boost Clocks",
            "Clock Policy",
        ],
    ),
    ("COMPUTE", &["Compute Mode"]),
    ("PIDS", &["Processes"]),
    ("PERFORMANCE", &["Performance State", "Clocks Event Reasons", "Sparse Operation Mode"]),
    ("ROW_REMAPPER", &["Remapped Rows"]),
];

/// The names of sections by what `--display` was given, none if it has no such word.
pub(super) fn displayed(words: &[String]) -> Option<Vec<&'static str>> {
    let sections = words.iter().map(|word| {
        let known = DISPLAYED.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
        Some(known.1.iter().copied())
    });
    Some(sections.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

struct Entry {
    depth: usize,
    indented: bool,
    name: &'static str,
    tag: &'static str,
    value: Option<&'static str>,
}

fn entries() -> impl Iterator<Item = Entry> {
    ENTRIES.lines().map(|line| {
        let rest = line.trim_start();
        let mut parts = rest.split(" | ");
        let name = parts.next().unwrap_or_default();
        let indented = name.starts_with("> ");
        Entry {
            depth: (line.len() - rest.len()) / 2,
            indented,
            name: name.trim_start_matches("> "),
            tag: parts.next().unwrap_or_default(),
            value: parts.next(),
        }
    })
}

/// A line of the text: its value stands at the same column everywhere.
fn line(depth: usize, name: &str, value: &str) -> String {
    let name = format!("{}{name}", "    ".repeat(depth));
    format!("{name:<55}: {value}\n")
}

/// The text, of some sections or of all.
pub(super) fn text(machine: &Machine, all: &[&NvmlDevice], sections: Option<&[&str]>) -> String {
    let mut text = String::from("\n==============NVSMI LOG==============\n\n");
    text += &line(0, "Timestamp", &spoken(SystemTime::now().into()));
    text += &line(0, "Driver Version", &machine.driver);
    text += &line(0, "CUDA Version", &format!("{}.{}", machine.cuda.0, machine.cuda.1));
    text += "\n";
    text += &line(0, "Attached GPUs", &machine.count.to_string());
    for device in all {
        text += &format!("GPU {}\n", device.bus_id);
        let mut shown = true;
        for entry in entries().filter(|entry| entry.name != "-") {
            if entry.depth == 0 {
                shown = sections.is_none_or(|wanted| wanted.contains(&entry.name));
            }
            let depth = entry.depth + 1 + usize::from(entry.indented);
            match entry.value {
                _ if !shown => {}
                Some(value) => text += &line(depth, entry.name, &machine.fill(value, device)),
                None => text += &format!("{}{}\n", "    ".repeat(depth), entry.name),
            }
        }
        text += "\n";
    }
    text
}

/// The XML, of all sections.
pub(super) fn xml(machine: &Machine, all: &[&NvmlDevice]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>\n",
    );
    let (major, minor) = machine.cuda;
    for (tag, value) in [
        ("timestamp", spoken(SystemTime::now().into())),
        ("driver_version", machine.driver.clone()),
        ("cuda_version", format!("{major}.{minor}")),
        ("attached_gpus", machine.count.to_string()),
    ] {
        xml += &format!("\t<{tag}>{value}</{tag}>\n");
    }
    for device in all {
        xml += &format!("\t<gpu id=\"{}\">\n", device.bus_id);
        let mut open: Vec<&str> = Vec::new();
        let close = |open: &mut Vec<&str>, depth: usize, xml: &mut String| {
            while open.len() > depth {
                let tag = open.pop().unwrap_or_default();
                *xml += &format!("{}</{tag}>\n", "\t".repeat(open.len() + 2));
            }
        };
        for entry in entries().filter(|entry| entry.tag != "-") {
            close(&mut open, entry.depth, &mut xml);
            let (tag, indent) = (entry.tag, "\t".repeat(entry.depth + 2));
            match entry.value.map(|value| machine.fill(value, device)) {
                Some(value) if tag == "#" => xml += &format!("{indent}{value}\n"),
                Some(value) => {
                    // A bus is said in digits alone here.
                    let digits =
                        if tag.starts_with("pci_") { value.trim_start_matches("0x") } else { &value };
                    let digits = digits.replace('&', "&amp;").replace('<', "&lt;");
                    xml += &format!("{indent}<{tag}>{digits}</{tag}>\n");
                }
                None => {
                    xml += &format!("{indent}<{tag}>\n");
                    open.push(tag);
                }
            }
        }
        close(&mut open, 0, &mut xml);
        xml += "\t</gpu>\n\n";
    }
    xml + "</nvidia_smi_log>\n"
}
