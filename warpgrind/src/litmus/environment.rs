//! Where the instances of a test lie on a device and what loads it meanwhile: the parameters of stress.

use std::fmt;
use std::str::FromStr;

use memory_model::emit::{Kernel, Setup};

use crate::array::splitmix;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Numbers that the seed alone decides.
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A number from 0 to `end`, without it; `end` is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.drawn += 1;
        splitmix(self.seed, self.drawn - 1) % end
    }
}

/// Parameters with the values they take.
const PARAMETERS: [(&str, &[u32]); PARAMETER_COUNT] = [
    ("lanes", &[1, 8, 32]),
    ("groups", &[1, 2, 4, 8]),
    ("blocks", &[1, 2, 8]),
    ("rounds", &[1, 4, 16, 64]),
    ("turn", &[0, 1, 5]),
    ("interleaved", &[0, 1]),
    ("stride", &[16, 32, 64, 128, 512]),
    ("distant", &[0, 1]),
    ("gate", &[0, 30, 300, 2000]),
    ("delay", &[0, 7, 63, 255, 1023]),
    ("gap", &[0, 1, 7, 31, 127]),
    ("prime", &PRIMES),
    ("stress-blocks", &[0, 66, 264]),
    ("stress-warps", &[0, 1, 4, 12]),
    ("stress", &[50, 200, 1000]),
    ("stress-places", &[1, 16, 1 << 10, 1 << 15]),
    ("stress-stride", &[4, 32, 128]),
    ("stress-stores", &[0, 8, 16, 24, 32]),
];
const PARAMETER_COUNT: usize = 18;
/// Nothing, everything; one, two or three of four: of two threads with two locations each.
const PRIMES: [u32; 12] = [
    0,
    0xffff_ffff,
    0x5555_5555,
    0xaaaa_aaaa,
    0x3333_3333,
    0xcccc_cccc,
    0x1111_1111,
    0x2222_2222,
    0x4444_4444,
    0x8888_8888,
    0x6666_6666,
    0x9999_9999,
];
/// Multiprocessors of the devices that this is meant for, and threads of each that there is surely room for.
const MULTIPROCESSORS: u32 = 132;
const RESIDENT: u32 = 1024;

/// Bytes of scratch memory that stress reaches at most.
pub(super) const SCRATCH: u64 = 128 << 15;
/// Most bytes between two locations and between two instances.
pub(super) const STRIDE: u32 = 512;

/// One value for each parameter of stress. Its text, `lanes=32 interleaved=0 ...`, is read back.
///
/// ```
/// use warpgrind::litmus::environment::{Environment, Random};
///
/// let some = Environment::random(&mut Random::new(1));
/// assert_eq!(some.to_string().parse(), Ok(some));
/// ```
///
/// | parameter | |
/// |---|---|
/// | `lanes` | instances that the lanes of one warp run |
/// | `groups` | and how many such warps a block has for each thread of the test |
/// | `blocks` | blocks of a multiprocessor |
/// | `rounds` | instances that each lane runs one after the other |
/// | `turn` | how far the partners of a block's threads move from round to round |
/// | `interleaved` | 0: the locations of an instance lie side by side; 1: the same location of all instances does |
/// | `stride` | bytes between what lies side by side |
/// | `distant` | whether the blocks of an instance are far apart in the grid |
/// | `gate` | rounds that threads wait for each other before they begin |
/// | `delay`, `gap` | most rounds of a random delay before the first instruction, and behind each |
/// | `prime` | which threads have which locations in their cache at the beginning, a bit each |
/// | `stress-blocks`, `stress-warps` | blocks, and warps of the test's own blocks, that load memory meanwhile |
/// | `stress` | accesses of each of their threads at most, for each round |
/// | `stress-places`, `stress-stride` | to so many places, so many bytes apart |
/// | `stress-stores` | how many of 32 accesses are stores |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Environment {
    /// Of each parameter which of its values.
    chosen: [u8; PARAMETER_COUNT],
}

impl Environment {
    /// Any one.
    pub fn random(random: &mut Random) -> Self {
        Self { chosen: PARAMETERS.map(|(_, values)| random.below(values.len() as u64) as u8) }
    }

    /// Another one, with one to three parameters changed.
    pub fn mutated(self, random: &mut Random) -> Self {
        let mut out = self;
        let changes = 1 + random.below(3);
        while out == self {
            for _ in 0..changes {
                let at = random.below(PARAMETER_COUNT as u64) as usize;
                out.chosen[at] = random.below(PARAMETERS[at].1.len() as u64) as u8;
            }
        }
        out
    }

    fn value(&self, name: &str) -> u32 {
        let at = PARAMETERS.iter().position(|(known, _)| *known == name);
        at.map_or(0, |at| PARAMETERS[at].1[usize::from(self.chosen[at])])
    }

    /// Sets a launch up, of `most` instances at most.
    pub(super) fn apply(&self, kernel: &Kernel, most: u32, setup: &mut Setup) {
        let (wide, stride) = (kernel.width(), self.value("stride"));
        let mut room = most.max(1);
        // The largest power of two that there is room for.
        let mut take = |wanted: u32| {
            let taken = wanted.min(1 << room.ilog2());
            room /= taken;
            taken
        };
        if !kernel.barriers {
            setup.lanes = take(self.value("lanes"));
            setup.groups = take(self.value("groups").min(1 << (16 / kernel.warps).max(1).ilog2()));
        }
        // Barriers of clusters wait for all warps.
        setup.stress_warps = match kernel.barriers {
            true => 0,
            false => self.value("stress-warps").min(32 - setup.groups * kernel.warps),
        };
        // All blocks run at the same time: those that come later meet nobody at the gate.
        let each = (RESIDENT / kernel.block(setup)).clamp(1, self.value("blocks"));
        let blocks = MULTIPROCESSORS * each;
        let stress_blocks = self.value("stress-blocks").min(blocks / 2);
        setup.batches = ((blocks - stress_blocks) / kernel.blocks).clamp(1, room);
        room /= setup.batches;
        setup.rounds = if kernel.barriers { 1 } else { self.value("rounds").min(room) };
        setup.turn = if kernel.cluster.is_some() { 0 } else { self.value("turn") };
        if self.value("interleaved") == 0 {
            setup.location_stride = stride.max(wide);
            setup.instance_stride = kernel.memory.len() as u32 * setup.location_stride;
        } else {
            setup.instance_stride = stride.max(wide);
            setup.location_stride = setup.instances() * setup.instance_stride;
        }
        setup.spread = kernel.cluster.is_none() && self.value("distant") != 0;
        setup.gate = self.value("gate");
        setup.delay = self.value("delay");
        setup.gap = self.value("gap");
        setup.prime = self.value("prime");
        setup.stress_blocks =
            stress_blocks.min(2 * kernel.grid(setup)).next_multiple_of(kernel.cluster.unwrap_or(1));
        setup.stress = self.value("stress") * setup.rounds;
        setup.stress_places = self.value("stress-places");
        setup.stress_stride = self.value("stress-stride");
        setup.stress_stores = self.value("stress-stores");
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, values)) in PARAMETERS.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{name}={}", values[usize::from(self.chosen[at])])?;
        }
        Ok(())
    }
}

impl FromStr for Environment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut chosen = [None; PARAMETER_COUNT];
        for word in text.split_whitespace() {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` is not `name=value`"))?;
            let at = PARAMETERS.iter().position(|(known, _)| *known == name);
            let at = at.ok_or_else(|| format!("`{name}` is no parameter of stress"))?;
            let values = PARAMETERS[at].1;
            let found = values.iter().position(|known| value.parse() == Ok(*known));
            let found = found.ok_or_else(|| format!("`{name}` is one of {values:?}, not `{value}`"))?;
            chosen[at] = Some(found as u8);
        }
        let missing = |at: usize| format!("`{}` is missing", PARAMETERS[at].0);
        let mut out = [0; PARAMETER_COUNT];
        for (at, value) in chosen.into_iter().enumerate() {
            out[at] = value.ok_or_else(|| missing(at))?;
        }
        Ok(Self { chosen: out })
    }
}
