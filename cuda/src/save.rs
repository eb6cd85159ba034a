//! Launches as launch files: the way from a program to a kernel that can be run again.
//!
//! A launch is written before it runs, with the texts of its module, the buffers that its parameters lead to,
//! and the variables of the module. Addresses inside buffers are not followed.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use ptx_frontend::StateSpace;
use runtime::{Allocation, Kind, Launching};
use sim_core::{Backend, Dim3};

/// Largest buffer that is written.
const MOST: u64 = 4 << 30;

fn read(launching: &Launching<'_>, base: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size as usize];
    launching.device.simulator.read(base, &mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

fn extents(dim: Dim3) -> String {
    format!("[{}, {}, {}]", dim.x, dim.y, dim.z)
}

/// Writes a launch into a folder of its own under `folder`.
pub(crate) fn save(folder: &Path, launching: &Launching<'_>) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let launch = launching.launch;
    let readable: String =
        launch.kernel.chars().take(60).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // Processes of one program number their launches on their own.
    let mut number = NUMBER.fetch_add(1, SeqCst);
    let mut place = folder.join(format!("{number:04}-{readable}"));
    while let Err(error) = fs::create_dir(&place) {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        number = NUMBER.fetch_add(1, SeqCst);
        place = folder.join(format!("{number:04}-{readable}"));
    }

    let module = &launching.function.module.linked;
    let mut modules = Vec::new();
    for (at, source) in module.sources.iter().enumerate() {
        let name = format!("module{at}.ptx");
        fs::write(place.join(&name), source.text.as_bytes())?;
        modules.push(format!("{name:?}"));
    }
    let mut text =
        format!("# A launch of {}, as it was about to run.\n", crate::driver::module::program_name());
    writeln!(text, "modules = [{}]", modules.join(", ")).map_err(io::Error::other)?;

    let mut buffers: Vec<Allocation> = Vec::new();
    let mut arguments = Vec::new();
    for &(offset, size) in &launching.function.params {
        let bytes = &launch.params[offset..offset + size];
        let pointer = <[u8; 8]>::try_from(bytes).ok().map(u64::from_le_bytes);
        let found = pointer.and_then(|at| Some((at, launching.device.memory.find(at)?)));
        match found.filter(|(_, a)| a.kind != Kind::Variable && a.size <= MOST) {
            Some((at, allocation)) => {
                let known = buffers.iter().position(|other| other.base == allocation.base);
                let index = known.unwrap_or_else(|| {
                    buffers.push(allocation);
                    buffers.len() - 1
                });
                arguments.push(format!("\"&b{index}+{}\"", at - allocation.base));
            }
            None => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                arguments.push(format!("\"hex:{hex}\""));
            }
        }
    }
    for (at, buffer) in buffers.iter().enumerate() {
        let file = format!("b{at}.bin");
        fs::write(place.join(&file), read(launching, buffer.base, buffer.size)?)?;
        write!(text, "\n[buffers.b{at}]\ntype = \"u8\"\nshape = {}\ninit = \"@{file}\"\n", buffer.size)
            .map_err(io::Error::other)?;
    }
    let simulator = &launching.device.simulator;
    for (at, variable) in module.variables.iter().enumerate() {
        let in_memory = matches!(variable.space, StateSpace::Global | StateSpace::Const);
        if !in_memory || variable.owner.is_some() || variable.size == 0 {
            continue;
        }
        let Ok((base, size)) = simulator.variable(launching.function.module.loaded(), &variable.name) else {
            continue;
        };
        let file = format!("v{at}.bin");
        fs::write(place.join(&file), read(launching, base, size)?)?;
        write!(
            text,
            "\n[variables.{:?}]\ntype = \"u8\"\nshape = {size}\ninit = \"@{file}\"\n",
            variable.name
        )
        .map_err(io::Error::other)?;
    }
    write!(
        text,
        "\n[[launch]]\nkernel = {:?}\ngrid = {}\nblock = {}\nshared = {}\ncooperative = {}\n",
        launch.kernel,
        extents(launch.grid),
        extents(launch.block),
        launch.shared_bytes,
        launch.cooperative,
    )
    .map_err(io::Error::other)?;
    if let Some(cluster) = launch.cluster {
        writeln!(text, "cluster = {}", extents(cluster)).map_err(io::Error::other)?;
    }
    writeln!(text, "args = [{}]", arguments.join(", ")).map_err(io::Error::other)?;
    fs::write(place.join("LAUNCH.toml"), text)
}
