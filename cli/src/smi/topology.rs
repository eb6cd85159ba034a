//! How devices reach each other, and which processors are near to them.

use device::NvmlDevice;

/// The matrix of links: all devices hang on one bridge of the bus, and on the same processors.
pub(super) fn matrix(all: &[&NvmlDevice]) -> String {
    let names: Vec<String> = all.iter().map(|device| format!("GPU{}", device.index)).collect();
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    let processors = if last == 0 { "0".to_owned() } else { format!("0-{last}") };
    let mut text = format!("\t{}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n", names.join("\t"));
    for own in &names {
        let cells = names.iter().map(|name| if name == own { " X " } else { "PHB" });
        text += &format!("{own}\t{}\t{processors}\t0\t\tN/A\n", cells.collect::<Vec<_>>().join("\t"));
    }
    text + "\nLegend:\n\n  X    = Self\n  PHB  = over a bridge of the host and PCIe\n"
}
