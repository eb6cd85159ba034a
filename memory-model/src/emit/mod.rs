//! Litmus tests as PTX kernels, to be run on the simulator and on hardware.
//!
//! A launch of the kernel runs many instances of the test, each in memory of its own: side by side, and one after the other
//! ([`Setup::rounds`]). A thread of the test is one lane of a warp. The blocks of a batch are the CTAs of the test, the
//! warps of a block are groups of as many as the CTA has threads; a group runs an instance in each lane. Further blocks, and
//! further warps of these blocks, do nothing but load memory ([`Setup::stress`]). An instance begins at a gate where its
//! threads wait for each other for a while, so that they run at the same time; the gate is made of relaxed atomics and
//! orders nothing.
//!
//! Memory of an instance: every location at `memory + instance * instance_stride + index * location_stride`.
//! Results of an instance: one 64-bit status a thread ([`DONE`] if it ran to its end), then one 64-bit word for
//! each observed register. Two more kernels of the module do what would be slow outside: [`PREPARE`] sets memory, results,
//! gates and the table before a launch, [`TALLY`] counts outcomes in the table behind it ([`Kernel::outcomes`]).

mod addresses;
mod fold;
mod frame;
mod tally;
mod write;

pub use fold::folded;

use crate::program::{Access, Base, Litmus, LocId, Observable, Op, Operand, Placement, RegId, RmwOp};

/// Status of a thread that ran to its end.
pub const DONE: u64 = 1;
/// Status of a thread that left a loop because it ran out of patience.
pub const GAVE_UP: u64 = 2;
/// Status of a thread whose assumption failed: the instance does not count.
pub const DISCARDED: u64 = 3;

/// The name of the kernel.
pub const NAME: &str = "litmus";
/// The name of the kernel whose threads wait at random between their instructions ([`Setup::gap`]).
pub const SPACED: &str = "litmus_spaced";
/// The name of the kernel that prepares memory for it.
pub const PREPARE: &str = "prepare";
/// The name of the kernel that counts what came out.
pub const TALLY: &str = "tally";
/// Most outcomes of a launch that are told from each other.
pub const OUTCOMES: u32 = 1024;

/// Threads of a warp.
const WARP: u32 = 32;

/// Why a test has no kernel, as the name of what has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub String);

/// A physical location of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The location.
    pub location: LocId,
    /// Size in bytes.
    pub bytes: u32,
    /// Size in bytes of what `x[1]` counts in.
    pub element: u32,
    /// Whether words narrower than 8 bytes are signed.
    pub signed: bool,
}

/// A test as a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// PTX.
    pub text: String,
    /// The locations, in the order of their addresses.
    pub memory: Vec<Memory>,
    /// Threads of the test.
    pub threads: u32,
    /// Registers whose final values are stored: index of the thread, register.
    pub registers: Vec<(usize, RegId)>,
    /// Words of memory whose final values count: index of the location, which of its elements.
    pub words: Vec<(usize, u32)>,
    /// Blocks of a batch.
    pub blocks: u32,
    /// Blocks of a cluster, if the test has clusters.
    pub cluster: Option<u32>,
    /// Warps of a group: threads of the largest CTA.
    pub warps: u32,
    /// Whether threads wait for each other at barriers: a batch is then one instance, of one round.
    pub barriers: bool,
    /// Whether there are loops.
    pub loops: bool,
    /// Whether the threads of the test are lanes of one warp instead of warps; a group then runs one instance.
    pub one_warp: bool,
}

/// What a launch of a kernel is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Address of the instances' memory.
    pub memory: u64,
    /// Address of the results.
    pub results: u64,
    /// Address of one 32-bit zero for each instance.
    pub gates: u64,
    /// Address of the memory that is loaded; `stress_places * stress_stride` bytes.
    pub scratch: u64,
    /// Address of the table of outcomes, [`Kernel::table_bytes`].
    pub table: u64,
    /// Groups of blocks that run a test's CTAs.
    pub batches: u32,
    /// Groups of warps in each block, a power of two; 1 if the test has barriers.
    pub groups: u32,
    /// Instances that a group runs at a time, 1 to 32, a power of two; 1 if the test has barriers.
    pub lanes: u32,
    /// Instances that each lane runs one after the other; 1 if the test has barriers.
    pub rounds: u32,
    /// How far a CTA's partners move from one round to the next, among lanes and batches; 0 keeps them.
    pub turn: u32,
    /// How many instances are counted: the first ones.
    pub counted: u32,
    /// Bytes from one instance's memory to the next one's, a multiple of 16.
    pub instance_stride: u32,
    /// Bytes from one location to the next, a multiple of 16.
    pub location_stride: u32,
    /// Whether the blocks of a batch are far apart in the grid instead of side by side.
    pub spread: bool,
    /// Backward jumps that a thread takes before it gives up.
    pub patience: u32,
    /// Rounds that a thread waits at the gate; 0 leaves the gate out.
    pub gate: u32,
    /// Most rounds of a random delay after the gate, a power of two less one.
    pub delay: u32,
    /// Most rounds of a random delay behind each instruction of the kernel [`SPACED`], a power of two less one.
    pub gap: u32,
    /// Which threads of the test have which locations in their cache before they wait at the gate: a bit each, those of a
    /// thread side by side, again from the first where there are more than 32.
    pub prime: u32,
    /// Seed of delays and stress.
    pub seed: u32,
    /// Blocks that only load memory.
    pub stress_blocks: u32,
    /// Warps of the test's blocks that only load memory; with the test's at most 32.
    pub stress_warps: u32,
    /// Accesses of each of their threads at most; they end with the test.
    pub stress: u32,
    /// Places of the scratch memory that they access, a power of two.
    pub stress_places: u32,
    /// Bytes from one place to the next, a multiple of 4.
    pub stress_stride: u32,
    /// How many of 32 accesses are stores.
    pub stress_stores: u32,
}

impl Setup {
    /// Instances of a launch.
    pub fn instances(&self) -> u32 {
        self.batches * self.groups * self.lanes * self.rounds
    }
}

/// How often an outcome came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Instances.
    pub instances: u64,
    /// The statuses of the threads, then [`Kernel::registers`], then [`Kernel::words`]; the address of a location is the number that
    /// [stands for it](crate::program::address_value).
    pub values: Vec<u64>,
}

impl Kernel {
    /// The kernel of a test.
    ///
    /// # Errors
    /// What the test has and a kernel cannot have: proxies other than the generic one, aliases, mbarriers, an
    /// atomic that PTX lacks, a location that is accessed beyond its size, arithmetic of addresses.
    pub fn new(litmus: &Litmus) -> Result<Self, Unsupported> {
        Self::made(litmus, &Groups::new(litmus)?, &[false])
    }

    /// The same with the threads of the test as lanes of one warp, whatever their blocks are. Launches have one group of one lane.
    ///
    /// # Errors
    /// Those of [`Kernel::new`]; barriers, which warps arrive at; more threads than a warp has lanes.
    pub fn in_one_warp(litmus: &Litmus) -> Result<Self, Unsupported> {
        let kernel = Self::made(litmus, &Groups::one_warp(litmus)?, &[false])?;
        match kernel.barriers {
            true => Err(Unsupported("a barrier between lanes of one warp".to_owned())),
            false => Ok(kernel),
        }
    }

    /// The same with a second kernel, [`SPACED`], whose threads wait at random between their instructions, so that those of
    /// others fall between them.
    ///
    /// # Errors
    /// Those of [`Kernel::new`].
    pub fn spaced(litmus: &Litmus) -> Result<Self, Unsupported> {
        Self::made(litmus, &Groups::new(litmus)?, &[false, true])
    }

    fn made(litmus: &Litmus, groups: &Groups, spaced: &[bool]) -> Result<Self, Unsupported> {
        if litmus.source {
            return Err(Unsupported("the source dialect".to_owned()));
        }
        let memory = locations(litmus)?;
        let threads = &litmus.program.threads;
        let ops = || threads.iter().flat_map(|t| t.code.iter().enumerate());
        let (mut registers, mut words) = (Vec::new(), Vec::new());
        for observable in litmus.observables() {
            match observable {
                Observable::Reg(thread, register) => registers.push((thread, register)),
                Observable::Mem(location, index) => words.push((usize::from(location.0), index)),
            }
        }
        let mut kernel = Self {
            text: String::new(),
            memory,
            threads: threads.len() as u32,
            registers,
            words,
            blocks: groups.blocks,
            cluster: groups.cluster,
            warps: groups.warps,
            barriers: ops()
                .any(|(_, i)| matches!(i.op, Op::Bar { .. } | Op::ClusterArrive { .. } | Op::ClusterWait)),
            loops: ops().any(
                |(at, i)| matches!(i.op, Op::Branch { target, .. } | Op::Goto { target } if target <= at),
            ),
            one_warp: groups.one_warp,
        };
        let mut text = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
        for &spaced in spaced {
            text += &write::text(litmus, &kernel, groups, spaced)?;
        }
        kernel.text = text + &tally::text(litmus, &kernel);
        Ok(kernel)
    }

    /// Blocks of a launch, without those for stress.
    pub fn grid(&self, setup: &Setup) -> u32 {
        setup.batches * self.blocks
    }

    /// Threads of a block.
    pub fn block(&self, setup: &Setup) -> u32 {
        (setup.groups * self.warps + setup.stress_warps) * WARP
    }

    /// Numbers of an outcome.
    fn values(&self) -> usize {
        self.threads as usize + self.registers.len() + self.words.len()
    }

    /// Bytes of the table of outcomes.
    pub fn table_bytes(&self) -> usize {
        frame::HEADER + OUTCOMES as usize * self.entry_bytes()
    }

    fn entry_bytes(&self) -> usize {
        16 + 8 * self.values()
    }

    /// The outcomes in a table, in no order, and how many instances found no place in it.
    pub fn outcomes(&self, table: &[u8]) -> (Vec<Counted>, u64) {
        let words = |bytes: &[u8]| -> Vec<u64> {
            let (words, _) = bytes.as_chunks::<8>();
            words.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        let (header, entries) = table.split_at(frame::HEADER.min(table.len()));
        let counted = entries.chunks_exact(self.entry_bytes()).map(words).filter(|entry| entry[0] != 0);
        let counted = counted.map(|entry| Counted { instances: entry[1], values: entry[2..].to_vec() });
        (counted.collect(), words(header).first().copied().unwrap_or(0))
    }

    /// Bytes that every location fits in, a multiple of 16: the least distance of two.
    pub fn width(&self) -> u32 {
        self.memory.iter().map(|m| m.bytes).max().unwrap_or(8).next_multiple_of(16)
    }

    /// Bytes of an instance's results.
    pub fn result_bytes(&self) -> u32 {
        8 * (self.threads + self.registers.len() as u32)
    }

    /// The parameter buffer of a launch.
    pub fn params(&self, setup: &Setup) -> Vec<u8> {
        let mut out = Vec::new();
        for address in [setup.memory, setup.results, setup.gates, setup.scratch, setup.table] {
            out.extend(address.to_le_bytes());
        }
        for word in [
            setup.instances(),
            setup.counted,
            setup.batches,
            setup.groups,
            setup.lanes,
            setup.rounds,
            setup.turn,
            setup.instance_stride,
            setup.location_stride,
            u32::from(setup.spread),
            setup.patience,
            setup.gate,
            setup.delay,
            setup.gap,
            setup.prime,
            setup.seed,
            setup.stress,
            setup.stress_places.wrapping_sub(1),
            setup.stress_stride,
            setup.stress_stores,
        ] {
            out.extend(word.to_le_bytes());
        }
        out
    }
}

/// What tells clusters apart: device and number.
type ClusterKey = (u32, Option<u32>);

/// Where the threads of a test run: block of the batch and warp of the block, or lane of the one warp.
struct Groups {
    places: Vec<(u32, u32)>,
    blocks: u32,
    warps: u32,
    cluster: Option<u32>,
    one_warp: bool,
}

impl Groups {
    /// All threads in one warp.
    fn one_warp(litmus: &Litmus) -> Result<Self, Unsupported> {
        let threads = litmus.program.threads.len() as u32;
        if threads > WARP {
            return Err(Unsupported(format!("a warp of {threads} threads")));
        }
        let places = (0..threads).map(|lane| (0, lane)).collect();
        Ok(Self { places, blocks: 1, warps: 1, cluster: None, one_warp: true })
    }

    /// One block for each CTA; CTAs of a cluster side by side. Devices are folded into one: a narrower
    /// placement allows nothing that the wider one does not.
    fn new(litmus: &Litmus) -> Result<Self, Unsupported> {
        let threads = &litmus.program.threads;
        let clustered = threads.iter().any(|t| t.placement.cluster.is_some());
        let mut clusters: Vec<(ClusterKey, Vec<Placement>)> = Vec::new();
        for placement in threads.iter().map(|t| t.placement) {
            // Without clusters all CTAs are alike; a CTA outside any cluster has one to itself.
            let key = match (clustered, placement.cluster) {
                (false, _) => (0, None),
                (true, Some(cluster)) => (placement.gpu, Some(cluster)),
                (true, None) => (placement.gpu, Some(u32::MAX - placement.cta)),
            };
            let at = clusters.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
                clusters.push((key, Vec::new()));
                clusters.len() - 1
            });
            if !clusters[at].1.contains(&placement) {
                clusters[at].1.push(placement);
            }
        }
        let widest = clusters.iter().map(|(_, ctas)| ctas.len()).max().unwrap_or(0) as u32;
        if clustered && widest > 8 {
            return Err(Unsupported(format!("a cluster of {widest} CTAs (8 are portable)")));
        }
        let mut used: Vec<(Placement, u32)> = Vec::new();
        let mut places = Vec::new();
        for placement in threads.iter().map(|t| t.placement) {
            let cluster = clusters.iter().position(|(_, ctas)| ctas.contains(&placement)).unwrap_or(0);
            let cta = clusters[cluster].1.iter().position(|p| *p == placement).unwrap_or(0);
            let block = cluster as u32 * widest + cta as u32;
            let warp = used.iter().filter(|(p, _)| *p == placement).count() as u32;
            used.push((placement, warp));
            places.push((block, warp));
        }
        let warps = places.iter().map(|&(_, warp)| warp + 1).max().unwrap_or(1);
        if warps > 1024 / WARP {
            return Err(Unsupported(format!("a CTA of {warps} threads (32 are possible, one a warp)")));
        }
        let blocks = widest.max(1) * clusters.len().max(1) as u32;
        Ok(Self { places, blocks, warps, cluster: clustered.then_some(widest), one_warp: false })
    }
}

/// The memory of an instance.
fn locations(litmus: &Litmus) -> Result<Vec<Memory>, Unsupported> {
    let program = &litmus.program;
    let instructions = || program.threads.iter().flat_map(|t| &t.code);
    // Addresses and large numbers need words of 8 bytes.
    let wide_operand = |o: &Operand| match *o {
        Operand::Address(_) => true,
        Operand::Const(c) => i32::try_from(c).is_err(),
        Operand::Reg(_) => false,
    };
    let wide = program.locations.iter().any(|l| wide_operand(&l.initial))
        || program.threads.iter().any(|t| t.initial.iter().any(wide_operand))
        || instructions().any(|i| match &i.op {
            Op::Mov { src, .. } => wide_operand(src),
            Op::Bin { a, b, .. } => wide_operand(a) || wide_operand(b),
            Op::Store { src, .. } => src.iter().any(wide_operand),
            Op::Rmw { ops, .. } => ops.iter().any(|op| match op {
                RmwOp::Apply(_, a) => wide_operand(a),
                RmwOp::Cas(a, b) => wide_operand(a) || wide_operand(b),
            }),
            _ => false,
        });
    if addresses::matter(litmus) {
        return Err(Unsupported("a test whose outcome depends on arithmetic with addresses".to_owned()));
    }
    let mut out = Vec::new();
    for (index, location) in program.locations.iter().enumerate() {
        let id = LocId(index as u16);
        if location.physical != id || location.address != id {
            return Err(Unsupported(format!("`{}`, an alias of another location", location.name)));
        }
        let mut sizes: Vec<(u32, u32)> = Vec::new();
        for instruction in instructions() {
            let (access, count) = match &instruction.op {
                Op::Load { dst, access } => (access, dst.len()),
                Op::Store { src, access } => (access, src.len()),
                Op::Rmw { access, ops, .. } => (access, ops.len()),
                _ => continue,
            };
            let Access { base, offset, bytes: Some(bytes), .. } = *access else { continue };
            if base == Base::Loc(id) || matches!(base, Base::Reg(_)) {
                sizes.push((offset + u32::from(bytes) * count as u32, u32::from(bytes)));
            }
        }
        let default = if wide { 8 } else { 4 };
        out.push(Memory {
            location: id,
            bytes: sizes.iter().map(|s| s.0).max().unwrap_or(default),
            element: sizes.iter().map(|s| s.1).max().unwrap_or(default),
            signed: sizes.is_empty(),
        });
    }
    Ok(out)
}
