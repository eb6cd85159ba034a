//! Launches as launch files: the way from a program to a kernel that can be run again.
//!
//! A launch is written before it runs, with the texts of its module, the variables of the module, and the
//! buffers that its parameters lead to, through other buffers too: eight bytes that are the address of an
//! allocation count as a pointer to it. When it has completed, what it left becomes what is expected.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use ptx_frontend::{Opcode, Param, ScalarType, StateSpace, Symbol, TypeClass, Variable};
use runtime::{Allocation, Kind, Launching};
use sim_core::{AddressMode, Backend, Blocks, Channel, Dim3, Filter, Level, TextureObject, TextureShape};

/// Largest buffer that is written, and most pointers in one.
const MOST: u64 = 4 << 30;
const MOST_POINTERS: usize = 1 << 16;

/// A buffer or a variable.
#[derive(Debug)]
struct Saved {
    name: String,
    is_variable: bool,
    base: u64,
    size: u64,
    /// Contents before the launch, and whether they are written.
    before: Vec<u8>,
    written: bool,
    /// Where addresses lie in it, and where they lead.
    pointers: Vec<(u64, String)>,
    /// Parts that kernels may only read: offsets and bytes.
    read_only: Vec<[u64; 2]>,
    /// Whether the contents after the launch are written.
    expected: bool,
}

/// A launch that was written.
#[derive(Debug)]
pub(crate) struct Launch {
    place: PathBuf,
    head: String,
    memory: Vec<Saved>,
    tail: String,
}

/// A texture or surface that the launch may use.
struct SavedObject {
    handle: u64,
    object: TextureObject,
    /// The variable of the module that stands for it.
    reference: Option<String>,
    /// Whether the launch has its handle, so that its memory is among what is written.
    used: bool,
    /// Where its levels are; fewer than these where the memory is gone.
    levels: Vec<String>,
}

impl SavedObject {
    /// The table of a launch file.
    fn text(&self) -> String {
        let image = self.object.image();
        let kind = match self.object {
            TextureObject::Texture(_) => "textures.t",
            TextureObject::Surface(_) => "surfaces.s",
        };
        let mut text = format!("\n[{kind}{}]\nhandle = {}\n", self.handle, self.handle);
        if let Some(reference) = &self.reference {
            let _ = writeln!(text, "reference = {reference:?}");
        }
        let channel = match image.format.blocks {
            Some(blocks) => name(&Blocks::ALL, blocks),
            None => name(&Channel::ALL, image.format.channel),
        };
        let shape = name(&TextureShape::ALL, image.shape);
        let _ = writeln!(
            text,
            "shape = {shape:?}\ntype = {channel:?}\nchannels = {}",
            image.format.said_channels()
        );
        let _ = writeln!(text, "array = {}", image.opaque);
        let levels = image.levels.iter().zip(&self.levels).map(|(level, at)| {
            let Level { extent, pitch, slice, .. } = level;
            format!("{{ at = {at:?}, extent = {extent:?}, pitch = {pitch}, slice = {slice} }}")
        });
        let _ = writeln!(text, "levels = [{}]", levels.collect::<Vec<_>>().join(", "));
        if let TextureObject::Texture(texture) = &self.object {
            let of = &texture.sampler;
            let address = of.address.map(|mode| name(&AddressMode::ALL, mode));
            let [filter, between] = [of.filter, of.mipmap_filter].map(|filter| name(&Filter::ALL, filter));
            let _ = writeln!(
                text,
                "sampler = {{ address = {address:?}, filter = {filter:?}, mipmap_filter = {between:?}, \
                 normalized = {}, integers = {}, srgb = {}, seamless = {}, bias = {}, clamp = [{}, {}], border = {:?}, \
                 anisotropy = {} }}",
                of.normalized,
                of.integers,
                of.srgb,
                of.seamless,
                float(of.bias),
                float(of.clamp[0]),
                float(of.clamp[1]),
                of.border,
                of.anisotropy
            );
        }
        text
    }
}

fn name<T: PartialEq>(all: &[(T, &'static str)], value: T) -> &'static str {
    all.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

/// A float as TOML has it.
fn float(value: f32) -> String {
    if value.is_nan() { "nan".into() } else { format!("{value:?}") }
}

fn read(launching: &Launching<'_>, base: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size as usize];
    launching.simulator.read(base, &mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

fn extents(dim: Dim3) -> String {
    format!("[{}, {}, {}]", dim.x, dim.y, dim.z)
}

fn hex(bytes: &[u8]) -> String {
    format!("\"hex:{}\"", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The memory that a launch reaches, found step by step.
struct Reached<'a> {
    launching: &'a Launching<'a>,
    /// Addresses below and above which there is no allocation.
    span: (u64, u64),
    memory: Vec<Saved>,
    objects: Vec<SavedObject>,
}

impl<'a> Reached<'a> {
    /// The variables of the module.
    fn new(launching: &'a Launching<'a>) -> io::Result<Reached<'a>> {
        let all = launching.memory.list();
        let first = all.first().map_or(0, |allocation| allocation.base);
        let end = all.iter().map(|allocation| allocation.base + allocation.size).max().unwrap_or(0);
        let objects = objects(launching);
        let mut reached = Reached { launching, span: (first, end), memory: Vec::new(), objects };
        for variable in &launching.module.variables {
            let in_memory = matches!(variable.space, StateSpace::Global | StateSpace::Const);
            if !in_memory || variable.owner.is_some() || variable.size == 0 {
                continue;
            }
            let found = launching.simulator.variable(launching.loaded, &variable.name);
            let Ok((base, size)) = found else { continue };
            let bytes = read(launching, base, size)?;
            let is_initial = reached.is_initial(variable, &bytes);
            reached.memory.push(Saved {
                name: variable.name.to_string(),
                is_variable: true,
                base,
                size,
                before: bytes,
                written: !is_initial,
                pointers: Vec::new(),
                read_only: Vec::new(),
                expected: false,
            });
        }
        Ok(reached)
    }

    /// Whether a variable holds what its module says: then nothing need be written, and addresses of
    /// functions stay those of the machine it runs on.
    fn is_initial(&self, variable: &Variable, bytes: &[u8]) -> bool {
        let init = variable.initializer.as_ref();
        let said = init.map_or(&[][..], |init| &init.bytes);
        let relocations = init.map_or(&[][..], |init| &init.relocations);
        let Launching { module, simulator, loaded, .. } = *self.launching;
        let mut of_address = vec![false; bytes.len()];
        for relocation in relocations {
            let range = relocation.offset as usize..relocation.offset as usize + relocation.width as usize;
            let Some(found) = bytes.get(range.clone()) else { return false };
            of_address[range].fill(true);
            if let Symbol::Variable(id) = relocation.target
                && relocation.byte.is_none()
                && let Ok((base, _)) = simulator.variable(loaded, &module.variables[id.index()].name)
            {
                let address = base.wrapping_add(relocation.addend as u64).to_le_bytes();
                if found != &address[..found.len().min(8)] {
                    return false;
                }
            }
        }
        let byte = |at: usize| said.get(at).copied().unwrap_or(0);
        bytes.iter().enumerate().all(|(at, &found)| of_address[at] || found == byte(at))
    }

    /// Where an address leads, as launch files say it. The buffer there is one of those that are written. A handle leads
    /// nowhere: objects have the same in the launch file.
    fn lead(&mut self, address: u64) -> Option<String> {
        if let Some(object) = self.objects.iter_mut().find(|object| object.handle == address) {
            object.used = true;
        }
        if !(self.span.0..self.span.1).contains(&address) {
            return None;
        }
        let inside = |saved: &&Saved| saved.base <= address && address - saved.base < saved.size.max(1);
        let (name, base) = match self.memory.iter().find(inside) {
            Some(saved) => (saved.name.clone(), saved.base),
            None => {
                let found: Allocation = self.launching.memory.find(address)?;
                // What the module's own variables do not hold is another module's, and is passed as a buffer.
                if found.size > MOST {
                    return None;
                }
                let number = self.memory.iter().filter(|saved| !saved.is_variable).count();
                let kind = if found.kind == Kind::Variable { "v" } else { "b" };
                let name = format!("{kind}{number}");
                let parts = self.launching.simulator.read_only(found.base).into_iter();
                let read_only = parts.map(|part| [part.start - found.base, part.end - part.start]).collect();
                self.memory.push(Saved {
                    name: name.clone(),
                    is_variable: false,
                    base: found.base,
                    size: found.size,
                    before: read(self.launching, found.base, found.size).ok()?,
                    written: true,
                    pointers: Vec::new(),
                    read_only,
                    expected: false,
                });
                (name, found.base)
            }
        };
        Some(match address - base {
            0 => format!("&{name}"),
            offset => format!("&{name}+{offset}"),
        })
    }

    /// Follows the addresses in all that was reached.
    fn follow(&mut self) {
        let mut at = 0;
        while at < self.memory.len() || self.follow_objects() {
            if at >= self.memory.len() {
                continue;
            }
            let bytes = std::mem::take(&mut self.memory[at].before);
            let mut pointers = Vec::new();
            // What the module says has the right addresses wherever it is loaded.
            let words = if self.memory[at].written { bytes.as_chunks::<8>().0 } else { &[] };
            for (word, value) in words.iter().enumerate() {
                if let Some(target) = self.lead(u64::from_le_bytes(*value)) {
                    pointers.push((8 * word as u64, target));
                    if pointers.len() > MOST_POINTERS {
                        break;
                    }
                }
            }
            let saved = &mut self.memory[at];
            saved.pointers = pointers;
            saved.before = bytes;
            at += 1;
        }
    }

    /// Has the memory of the next object that is used written; whether there was one.
    fn follow_objects(&mut self) -> bool {
        let next = self.objects.iter().position(|object| object.used && object.levels.is_empty());
        let Some(next) = next else { return false };
        let levels = self.objects[next].object.image().levels.clone();
        let found: Option<Vec<String>> = levels.iter().map(|level| self.lead(level.base)).collect();
        match found {
            Some(found) => self.objects[next].levels = found,
            // Its memory is gone: whoever reads it finds no object.
            None => drop(self.objects.remove(next)),
        }
        true
    }

    /// An argument as launch files write it.
    fn argument(&mut self, parameter: &Variable, bytes: &[u8]) -> String {
        let is_aggregate = !parameter.dimensions.is_empty() || parameter.vector > 1;
        if !is_aggregate {
            let mut word = [0; 8];
            word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
            let value = u64::from_le_bytes(word);
            let lead = if bytes.len() == 8 { self.lead(value) } else { None };
            return match (lead, parameter.ty) {
                (Some(lead), _) => format!("{lead:?}"),
                (None, ScalarType::F32) if f32::from_bits(value as u32).is_finite() => {
                    format!("{:?}", f32::from_bits(value as u32))
                }
                (None, ScalarType::F64) if f64::from_bits(value).is_finite() => {
                    format!("{:?}", f64::from_bits(value))
                }
                (None, ty) => match ty.class() {
                    TypeClass::Signed => {
                        let above = 64 - 8 * bytes.len().clamp(1, 8);
                        ((value << above) as i64 >> above).to_string()
                    }
                    TypeClass::Bits | TypeClass::Unsigned if i64::try_from(value).is_ok() => {
                        value.to_string()
                    }
                    _ => hex(bytes),
                },
            };
        }
        // A structure: addresses in it, and what lies between them.
        let mut parts = Vec::new();
        let mut plain = 0;
        let mut at = 0;
        while at + 8 <= bytes.len() {
            let value = bytes[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            if let Some(lead) = self.lead(value) {
                if plain < at {
                    parts.push(hex(&bytes[plain..at]));
                }
                parts.push(format!("{lead:?}"));
                plain = at + 8;
            }
            at += 8;
        }
        if plain < bytes.len() {
            parts.push(hex(&bytes[plain..]));
        }
        match &parts[..] {
            [one] if one.starts_with("\"hex:") => one.clone(),
            _ => format!("[{}]", parts.join(", ")),
        }
    }
}

/// The textures and surfaces that a launch may use: all, if its module has instructions for them.
fn objects(launching: &Launching<'_>) -> Vec<SavedObject> {
    let Launching { simulator, module, loaded, .. } = *launching;
    let reads = |opcode: Opcode| {
        use Opcode as O;
        matches!(opcode, O::Tex | O::Tld4 | O::Txq | O::Suld | O::Sust | O::Sured | O::Suq)
    };
    if !module.ops.iter().any(|op| reads(op.opcode)) {
        return Vec::new();
    }
    let bound = simulator.bound_references(loaded).unwrap_or_default();
    let each = simulator.objects().into_iter().map(|(handle, object)| {
        let reference = bound.iter().find(|(_, bound)| *bound == handle);
        let reference = reference.map(|(id, _)| module.variables[id.index()].name.to_string());
        SavedObject { handle, object, used: reference.is_some(), reference, levels: Vec::new() }
    });
    each.collect()
}

/// Makes a folder of its own for a launch, whose number is that in the order of the calls.
fn place(folder: &Path, number: u64, kernel: &str) -> io::Result<PathBuf> {
    /// How many numbers other processes have.
    static OTHERS: AtomicU64 = AtomicU64::new(0);
    let name = reports::readable(kernel);
    let name = name.split(['(', '<']).next().unwrap_or(kernel);
    let name: String =
        name.chars().take(60).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    loop {
        let number = number + OTHERS.load(SeqCst);
        let taken = fs::read_dir(folder)?.flatten().any(|entry| {
            entry.file_name().to_string_lossy().split_once('-').is_some_and(|(n, _)| n.parse() == Ok(number))
        });
        let place = folder.join(format!("{number:04}-{name}"));
        match if taken { Err(io::ErrorKind::AlreadyExists.into()) } else { fs::create_dir(&place) } {
            Ok(()) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => _ = OTHERS.fetch_add(1, SeqCst),
            Err(error) => return Err(error),
        }
    }
}

/// Bytes of what is written of memory.
fn bytes_of(memory: &[Saved]) -> u64 {
    memory.iter().filter(|saved| saved.written).map(|saved| saved.size).sum()
}

/// Writes a launch into a folder of its own, which has a number, under `folder`. Where it takes more bytes than there is room for, or cannot be written,
/// nothing of it stays.
pub(crate) fn save(
    (folder, number): (&Path, u64),
    launching: &Launching<'_>,
    room: Option<u64>,
) -> io::Result<Launch> {
    let place = place(folder, number, &launching.launch.kernel)?;
    let saved = save_at(&place, launching, room);
    if saved.is_err() {
        let _ = fs::remove_dir_all(&place);
    }
    saved
}

fn save_at(place: &Path, launching: &Launching<'_>, room: Option<u64>) -> io::Result<Launch> {
    let launch = launching.launch;
    let mut modules = Vec::new();
    for (at, source) in launching.module.sources.iter().enumerate() {
        let name = format!("module{at}.ptx");
        fs::write(place.join(&name), source.text.as_bytes())?;
        modules.push(format!("{name:?}"));
    }
    let program = crate::driver::module::program_name();
    let head = format!("# A launch of {program}.\nmodules = [{}]\n", modules.join(", "));

    let mut reached = Reached::new(launching)?;
    let mut arguments = Vec::new();
    let declared = launching.module.kernel(&launch.kernel).map(|id| &launching.module.functions[id.index()]);
    for parameter in declared.into_iter().flat_map(|kernel| &kernel.params) {
        let Param::Variable(id) = *parameter else { continue };
        let parameter = &launching.module.variables[id.index()];
        let start = parameter.offset as usize;
        let bytes = launch.params.get(start..start + parameter.size as usize).unwrap_or_default();
        arguments.push(reached.argument(parameter, bytes));
    }
    reached.follow();
    let (memory, objects) = (reached.memory, reached.objects);
    let bytes = bytes_of(&memory);
    if let Some(room) = room.filter(|&room| bytes > room) {
        let text = format!("it takes {bytes} bytes, and {room} more may be written");
        return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
    }
    for saved in memory.iter().filter(|saved| saved.written) {
        fs::write(place.join(format!("{}.bin", saved.name)), &saved.before)?;
    }
    let used = objects.iter().filter(|object| !object.levels.is_empty());
    let mut tail: String = used.map(SavedObject::text).collect();
    tail += &format!(
        "\n[[launch]]\nkernel = {:?}\ngrid = {}\nblock = {}\n",
        launch.kernel,
        extents(launch.grid),
        extents(launch.block)
    );
    if launch.shared_bytes > 0 {
        tail += &format!("shared = {}\n", launch.shared_bytes);
    }
    if launch.cooperative {
        tail += "cooperative = true\n";
    }
    if let Some(cluster) = launch.cluster {
        tail += &format!("cluster = {}\n", extents(cluster));
    }
    tail += &format!("args = [{}]\n", arguments.join(", "));
    let saved = Launch { place: place.to_owned(), head, memory, tail };
    saved.write()?;
    Ok(saved)
}

impl Launch {
    /// Its folder.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Bytes that its memory takes.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_of(&self.memory)
    }

    /// Writes the launch file.
    fn write(&self) -> io::Result<()> {
        let mut text = self.head.clone();
        for saved in self.memory.iter().filter(|saved| saved.written || saved.expected) {
            let (table, name) = (if saved.is_variable { "variables" } else { "buffers" }, &saved.name);
            let size = saved.size;
            let _ = write!(text, "\n[{table}.{name:?}]\ntype = \"u8\"\nshape = {size}\n");
            if saved.written {
                let _ = writeln!(text, "init = \"@{name}.bin\"");
            }
            if !saved.pointers.is_empty() {
                let list = saved.pointers.iter().map(|(at, target)| format!("[{at}, {target:?}]"));
                let _ = writeln!(text, "pointers = [{}]", list.collect::<Vec<_>>().join(", "));
            }
            if !saved.read_only.is_empty() {
                let _ = writeln!(text, "read_only = {:?}", saved.read_only);
            }
            if saved.expected {
                let _ = writeln!(text, "expect = \"@{name}.after.bin\"");
            }
        }
        fs::write(self.place.join("LAUNCH.toml"), text + &self.tail)
    }

    /// Adds what the launch left; how many bytes that is.
    pub(crate) fn completed(mut self, launching: &Launching<'_>) -> io::Result<u64> {
        let mut bytes = 0;
        for saved in &mut self.memory {
            let after = read(launching, saved.base, saved.size)?;
            let before = &saved.before;
            let same_pointers = saved.pointers.iter().all(|(at, _)| {
                let range = *at as usize..*at as usize + 8;
                before[range.clone()] == after[range]
            });
            // Other addresses than before mean nothing in another run.
            saved.expected = *before != after && same_pointers;
            if saved.expected {
                fs::write(self.place.join(format!("{}.after.bin", saved.name)), after)?;
                bytes += saved.size;
            }
        }
        self.write()?;
        Ok(bytes)
    }
}
