//! The numbers of a chip.

use serde::Deserialize;
use thiserror::Error;

use crate::code::Unit;

const H200: &str = include_str!("../chips/h200.toml");
const H100: &str = include_str!("../chips/h100.toml");

/// A chip. Latencies and intervals are cycles of its multiprocessors.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// Its name.
    pub name: String,
    /// Multiprocessors, each of four sub-cores.
    pub multiprocessors: u32,
    /// Cycles a second.
    pub clock: f64,
    /// How launches begin and end.
    pub launch: Launching,
    /// How instructions are fetched.
    pub fetch: Fetch,
    /// What executes instructions.
    pub units: Units,
    /// Barriers of blocks.
    pub barrier: Barrier,
    /// What `printf` takes.
    #[serde(default)]
    pub print: Print,
    /// Constants.
    pub constant: Constant,
    /// Shared memory and what else goes through the same unit.
    pub shared: Shared,
    /// The first level of cache.
    pub l1: FirstLevel,
    /// Textures and surfaces.
    pub texture: Textures,
    /// Bulk copies.
    pub bulk: Bulk,
    /// mbarrier objects.
    pub mbarrier: Mbarrier,
    /// Clusters of blocks.
    pub cluster: Cluster,
    /// The second level.
    pub l2: SecondLevel,
    /// Memory.
    pub dram: Dram,
    /// Copies and fills that the host asks for.
    pub copies: Copies,
}

/// Copies and fills that the host asks for, one behind the other.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// From memory of the host that does not move.
    pub pinned_in: Copying,
    /// To such memory.
    pub pinned_out: Copying,
    /// From other memory of the host.
    pub pageable_in: Copying,
    /// To such memory.
    pub pageable_out: Copying,
    /// Within the device.
    pub device: Copying,
    /// A fill.
    pub fill: Copying,
}

impl Copies {
    /// All of them, by name.
    pub fn all(&self) -> [(&'static str, Copying); 6] {
        [
            ("pinned_in", self.pinned_in),
            ("pinned_out", self.pinned_out),
            ("pageable_in", self.pageable_in),
            ("pageable_out", self.pageable_out),
            ("device", self.device),
            ("fill", self.fill),
        ]
    }
}

/// How long a kind of copy takes.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copying {
    /// Cycles whatever its size.
    pub latency: f64,
    /// Bytes a cycle.
    pub bytes: f64,
}

impl Copying {
    /// Cycles of a copy of so many bytes.
    pub fn cycles(self, bytes: u64) -> f64 {
        self.latency + bytes as f64 / self.bytes
    }
}

/// How launches begin and end.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launching {
    /// Cycles of a launch while no multiprocessor is active.
    pub overhead: f64,
    /// Of these, those before the first block: where blocks lie in a trace depends on it, and nothing else.
    pub before: f64,
    /// Cycles that the first launch of a process takes more.
    pub first: f64,
    /// Cycles from one block to the next, over the whole chip.
    pub block_interval: f64,
    /// The same while they come to multiprocessors that have had none.
    pub first_interval: f64,
    /// Cycles from a block's placement to its first instruction, where no block was before.
    pub block_start: f64,
    /// Cycles between the warps of a block.
    pub warp_start: f64,
    /// Cycles between the beginnings of warps of all multiprocessors together.
    pub warp_interval: f64,
    /// Cycles from a block's end to the placement of another in its stead, which begins at once.
    pub turnaround: f64,
    /// Sectors that a launch itself reads in the second level.
    pub sectors: f64,
}

/// How instructions are fetched.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Cycles that a jump takes longer to a line of eight instructions which the sub-core has not.
    pub near: f64,
    /// Cycles until one is there that a jump leads to, and that the multiprocessor has not.
    pub miss: f64,
    /// Cycles from a line to the next that follows it.
    pub next: f64,
    /// Lines of eight instructions that a multiprocessor keeps.
    pub lines: u32,
    /// The first lines of a kernel, which its group of multiprocessors has when a launch begins.
    pub ahead: u32,
    /// Lines that a group keeps.
    pub kept: u32,
    /// Cycles that a line takes longer which the group has not.
    pub far: f64,
    /// The same of one that a jump leads to.
    pub far_jump: f64,
    /// Cycles that it takes longer still when it is the first group that fetches it.
    pub cold: f64,
    /// Cycles from a jump to the instruction that it leads to.
    pub jump: f64,
    /// The same of one that leads to where a register says: a return, a switch.
    pub indirect: f64,
    /// Cycles that lanes of a warp take to come together (`BSYNC`).
    pub meet: f64,
}

/// A kind of unit.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Cycles for which an instruction of a warp keeps a sub-core's unit busy.
    pub interval: f64,
    /// Cycles until a scoreboard says that the result is there.
    pub latency: f64,
}

/// The units of a sub-core, as in [`Unit`].
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Units {
    pub fma: Rate,
    pub integer: Rate,
    pub alu: Rate,
    pub half: Rate,
    pub double: Rate,
    pub special: Rate,
    pub bits: Rate,
    pub uniform: Rate,
    pub tensor: Rate,
    pub branch: Rate,
    pub memory: Rate,
    pub constant: Rate,
    pub none: Rate,
}

impl Units {
    /// In the order of [`Unit::ALL`].
    pub fn all(&self) -> [Rate; Unit::COUNT] {
        [
            self.fma,
            self.integer,
            self.alu,
            self.half,
            self.double,
            self.special,
            self.bits,
            self.uniform,
            self.tensor,
            self.branch,
            self.memory,
            self.constant,
            self.none,
        ]
    }
}

/// What `printf` takes.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Print {
    /// Cycles of a call of one lane, and by how much they are more where a multiprocessor has not printed yet.
    pub call: f64,
    /// The latter.
    pub first: f64,
    /// Cycles that each further lane of the warp takes.
    pub lane: f64,
    /// Cycles for which the first lane of a call, and each further one, keeps all others waiting.
    pub serial: [f64; 2],
}

impl Default for Print {
    /// As on an H200.
    fn default() -> Self {
        Print { call: 40_000.0, first: 11_400.0, lane: 160.0, serial: [3700.0, 520.0] }
    }
}

/// Barriers of blocks.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// Cycles from the last warp's arrival until warps go on.
    pub latency: f64,
    /// Cycles for which an arrival keeps the multiprocessor's unit busy.
    pub interval: f64,
    /// Cycles of a fence for the block, and for the device.
    pub fence: [f64; 2],
}

/// Constants.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Cycles of the first access of a multiprocessor to a line.
    pub miss: f64,
    /// Cycles for which that keeps others of the multiprocessor's group waiting.
    pub interval: f64,
    /// Bytes of a line.
    pub line: u16,
    /// Lines of the program's constants that a multiprocessor keeps.
    pub lines: u32,
    /// Cycles that another one takes longer which its group has.
    pub near: f64,
    /// The same of one that the group has not, four lines at a time.
    pub far: f64,
    /// Cycles that these take longer still for the first group.
    pub cold: f64,
    /// Cycles for each different word beyond the first.
    pub word: f64,
    /// Cycles for which a multiprocessor is busy with a word.
    pub busy: f64,
}

/// Shared memory.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Cycles of a load.
    pub latency: f64,
    /// Cycles of an atomic operation.
    pub atomic: f64,
    /// Cycles for which a wavefront keeps the multiprocessor's unit busy.
    pub wavefront: f64,
    /// Cycles of a shuffle.
    pub shuffle: f64,
    /// Cycles until a store's operands have been read.
    pub read: f64,
}

/// The first level of cache.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstLevel {
    /// Bytes, together with shared memory.
    pub bytes: u64,
    /// Lines that one place may have.
    pub ways: u32,
    /// Cycles of a load that hits.
    pub latency: f64,
    /// Cycles for which lines keep the tags busy, one of each of four parts.
    pub tag: f64,
    /// Cycles for which 128 bytes, or words of one bank that are asked for one after the other, keep the data busy.
    pub data: f64,
    /// Cycles that a load takes longer for each turn more at a bank.
    pub deep: f64,
    /// Cycles for which what takes stores to the second level is busy with a line at least, and with a sector.
    pub out: [f64; 2],
    /// How many of these may be ahead before other accesses wait.
    pub waiting: f64,
    /// Cycles from when a store is taken until its warp may leave the multiprocessor.
    pub leave: f64,
    /// Sectors with atomic operations that may be on their way before other accesses wait.
    pub reductions: u32,
    /// Lines that were stored to last, which further stores join on their way to the second level.
    pub merge_lines: u32,
    /// Cycles behind the last store to a line within which they must come for that.
    pub merge_within: f64,
    /// Cycles for which a line that misses keeps the tags busy once more.
    pub allocate: f64,
    /// Cycles for which a sector from the second level keeps the multiprocessor's port busy.
    pub fill: f64,
}

/// Textures and surfaces, which the first level has, too.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Textures {
    /// Cycles of a read that hits the first level: of a texel by its number, and of one by coordinates.
    pub latency: [f64; 2],
    /// Cycles for which a group of lanes (four of an image, eight of a row) keeps the multiprocessor's unit busy.
    pub group: f64,
}

/// Bulk copies, of which a multiprocessor has one unit.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Cycles beyond those of the second level, and of memory.
    pub latency: f64,
    /// Cycles more of boxes of tensors.
    pub tensor: f64,
    /// Cycles for which a line keeps the unit busy: of bytes that follow each other, and of boxes.
    pub line: [f64; 2],
    /// The same of a line that is written to global memory.
    pub out: f64,
    /// Cycles until what a copy to global memory reads is read, beyond those of its lines.
    pub read: f64,
}

/// mbarrier objects.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mbarrier {
    /// Cycles until an arrival counts.
    pub arrive: f64,
    /// Cycles from a phase's completion, or from the question for it, until the warp knows.
    pub wait: f64,
    /// Cycles for which an operation keeps the multiprocessor's unit busy.
    pub interval: f64,
}

/// Clusters of blocks.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Cycles from the last arrival at the cluster's barrier until warps go on.
    pub barrier: f64,
    /// Cycles of a load from another block's shared memory.
    pub remote: f64,
}

/// The second level, in two partitions.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondLevel {
    /// Bytes of both, which both have lines that went between them.
    pub bytes: u64,
    /// Lines that one place may have.
    pub ways: u32,
    /// Cycles of a load that misses the first level and hits here.
    pub latency: f64,
    /// Cycles more for what the other partition has.
    pub far: f64,
    /// How often a sector of the other partition keeps it busy, beyond once.
    pub narrow: f64,
    /// Groups of multiprocessors (GPCs) whose reads of one line are merged on their way.
    pub groups: u32,
    /// How many more take part in one that is on its way.
    pub merged: u32,
    /// Cycles for which a request keeps all of it busy: one that reads, and one of its sectors.
    pub read: [f64; 2],
    /// The same of one that writes.
    pub write: [f64; 2],
    /// For how many times as long a request that reads keeps the slice of a partition busy that has its line.
    pub slice: f64,
    /// Cycles for which a sector that is written keeps its line from being written again.
    pub rewrite: f64,
    /// The same of an atomic one, and of one of its lanes; for how long a slice is busy with a turn of a sector, and a word with a lane,
    /// where it adds integers and where it adds floats.
    pub atomic: [f64; 5],
    /// Cycles of an atomic operation whose result is wanted, on a line at home in the near partition.
    pub atomic_latency: f64,
    /// Cycles of a way to the other partition and of that back, where the line is at home there.
    pub atomic_far: f64,
    /// Cycles of a turn at a word that compare-and-swaps are tried at again and again: of one that comes to read it and to change it,
    /// and of each lane that tries in vain meanwhile.
    pub turn: [f64; 2],
    /// Cycles until a store is known to be done.
    pub store: f64,
    /// Cycles that memory may lag behind before stores wait for it.
    pub backlog: f64,
    /// Bytes of lines, in both partitions together, that may be written and not yet in memory.
    pub dirty: u64,
    /// Those of them that were there before a launch: a profiler that runs it again and again leaves them.
    pub before: u64,
    /// Bytes of lines that it has read since.
    pub newer: u64,
}

/// Memory.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Cycles beyond those of the second level.
    pub latency: f64,
    /// Bytes a cycle that are read.
    pub read: f64,
    /// Bytes a cycle that are written.
    pub write: f64,
    /// Bytes a second that go over its wires at most.
    pub peak: f64,
    /// Bytes that are read at least.
    pub grain: u32,
    /// Cycles of the first access of a multiprocessor to a page.
    pub page_miss: f64,
    /// Bytes of a page.
    pub page: u64,
}

/// Why a chip's file is none.
#[derive(Error, Debug)]
pub enum ChipError {
    /// It is not TOML, or does not have what a chip has.
    #[error("{0}")]
    Format(#[from] toml::de::Error),
    /// A number is none that a chip can have.
    #[error("`{0}` must be {1}")]
    Number(String, &'static str),
}

impl Chip {
    /// How many blocks are resident at a time, of which so many are on a multiprocessor.
    pub fn blocks_at_once(&self, resident: u32) -> u64 {
        u64::from(resident.max(1)) * u64::from(self.multiprocessors)
    }

    /// An H200.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn h200() -> Self {
        Chip::from_toml(H200).expect("the chip's file is right")
    }

    /// An H100 with 80 GB of HBM3.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn h100() -> Self {
        Chip::from_toml(H100).expect("the chip's file is right")
    }

    /// The file of a chip that is known by its name: `h200`, `h100`.
    pub fn known(name: &str) -> Option<&'static str> {
        match name {
            "h200" => Some(H200),
            "h100" => Some(H100),
            _ => None,
        }
    }

    /// Of a TOML text.
    ///
    /// # Errors
    /// It does not have what a chip has, all of it, or numbers that none can have.
    pub fn from_toml(text: &str) -> Result<Self, ChipError> {
        let chip: Chip = toml::from_str(text)?;
        let positive = "more than 0";
        let checks = [
            ("multiprocessors", f64::from(chip.multiprocessors)),
            ("clock", chip.clock),
            ("launch.block_interval", chip.launch.block_interval),
            ("l1.bytes", chip.l1.bytes as f64),
            ("l1.ways", f64::from(chip.l1.ways)),
            ("l1.reductions", f64::from(chip.l1.reductions)),
            ("l2.bytes", chip.l2.bytes as f64),
            ("l2.ways", f64::from(chip.l2.ways)),
            ("constant.line", f64::from(chip.constant.line)),
            ("dram.read", chip.dram.read),
            ("dram.write", chip.dram.write),
            ("dram.peak", chip.dram.peak),
            ("fetch.lines", f64::from(chip.fetch.lines)),
            ("dram.page", chip.dram.page as f64),
        ];
        if let Some((name, _)) =
            chip.copies.all().iter().find(|(_, of)| !(of.bytes > 0.0 && of.bytes.is_finite()))
        {
            return Err(ChipError::Number(format!("copies.{name}.bytes"), positive));
        }
        if let Some((name, _)) = checks.iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
            return Err(ChipError::Number((*name).into(), positive));
        }
        if !(32..=128).contains(&chip.dram.grain) || !chip.dram.grain.is_power_of_two() {
            return Err(ChipError::Number("dram.grain".into(), "32, 64 or 128"));
        }
        if chip.l2.groups == 0 || chip.l2.groups > chip.multiprocessors {
            return Err(ChipError::Number(
                "l2.groups".into(),
                "at least 1, and at most as many as multiprocessors",
            ));
        }
        if chip.multiprocessors > 4096 {
            return Err(ChipError::Number("multiprocessors".into(), "at most 4096"));
        }
        if chip.l2.bytes > 1 << 30 || chip.l1.bytes > 1 << 24 {
            return Err(ChipError::Number("l2.bytes".into(), "at most 1 GiB, and l1.bytes 16 MiB"));
        }
        let table: toml::Table = toml::from_str(text)?;
        match cycles_beyond(&table, "") {
            Some(name) => Err(ChipError::Number(name, "less than a million cycles, and not negative")),
            None => Ok(chip),
        }
    }
}

/// What is no number of cycles that a chip can have, by its name, of the numbers that have no bounds of their own.
fn cycles_beyond(table: &toml::Table, within: &str) -> Option<String> {
    const OTHERS: [&str; 12] = [
        "multiprocessors",
        "clock",
        "l1.bytes",
        "l2.bytes",
        "l2.dirty",
        "l2.before",
        "l2.newer",
        "dram.page",
        "dram.peak",
        "dram.grain",
        "l1.ways",
        "l2.ways",
    ];
    let fits = |value: &toml::Value| {
        let number = value.as_float().or(value.as_integer().map(|number| number as f64));
        number.is_none_or(|number| (0.0..1e6).contains(&number))
    };
    table.iter().find_map(|(name, value)| {
        let name = format!("{within}{name}");
        match value {
            toml::Value::Table(inner) => cycles_beyond(inner, &format!("{name}.")),
            toml::Value::Array(numbers) => {
                let at = numbers.iter().position(|number| !fits(number))?;
                Some(format!("{name}[{at}]"))
            }
            number => (!OTHERS.contains(&&*name) && !fits(number)).then_some(name),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_read() {
        assert_eq!((Chip::h200().multiprocessors, Chip::h100().multiprocessors), (132, 132));
    }

    #[test]
    fn what_is_none_is_refused() {
        let text = include_str!("../chips/h200.toml");
        let wrong = text.replacen("multiprocessors = 132", "multiprocessors = 0", 1);
        assert_eq!(Chip::from_toml(&wrong).unwrap_err().to_string(), "`multiprocessors` must be more than 0");
        let wrong = text.replacen("grain = 64", "grain = 48", 1);
        assert_eq!(Chip::from_toml(&wrong).unwrap_err().to_string(), "`dram.grain` must be 32, 64 or 128");
        assert!(Chip::from_toml("name = \"x\"").is_err());
    }

    /// Each number of the file in turn: below zero, none at all, and beyond all bounds.
    #[test]
    fn numbers_that_are_none_are_refused_by_name() {
        fn places(table: &toml::Table, path: &[String]) -> Vec<Vec<String>> {
            let each = table.iter().flat_map(|(name, value)| {
                let path: Vec<String> = path.iter().chain([name]).cloned().collect();
                match value {
                    toml::Value::Table(inner) => places(inner, &path),
                    toml::Value::Array(numbers) => (0..numbers.len())
                        .map(|at| path.iter().cloned().chain([at.to_string()]).collect())
                        .collect(),
                    toml::Value::String(_) => Vec::new(),
                    _ => vec![path],
                }
            });
            each.collect()
        }
        let whole: toml::Table = toml::from_str(include_str!("../chips/h200.toml")).unwrap();
        let all = places(&whole, &[]);
        assert!(all.len() > 90, "{}", all.len());
        for path in all {
            for wrong in [-1.0, f64::NAN, f64::INFINITY] {
                let mut text = toml::Value::Table(whole.clone());
                let place = path.iter().fold(&mut text, |value, name| match name.parse::<usize>() {
                    Ok(at) => &mut value[at],
                    Err(_) => &mut value[name.as_str()],
                });
                let is_whole = place.is_integer();
                *place = if wrong == -1.0 && is_whole {
                    toml::Value::Integer(-1)
                } else {
                    toml::Value::Float(wrong)
                };
                let said = Chip::from_toml(&toml::to_string(&text).unwrap()).unwrap_err().to_string();
                let name = path.iter().filter(|name| name.parse::<usize>().is_err()).cloned();
                let name = name.collect::<Vec<_>>();
                assert!(said.contains(name.last().unwrap().as_str()), "{path:?} = {wrong}: {said}");
            }
        }
    }
}
