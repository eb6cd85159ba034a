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
    ("interleaved", &[0, 1]),
    ("stride", &[16, 32, 64, 128, 512]),
    ("distant", &[0, 1]),
    ("gate", &[0, 100, 1000, 10_000]),
    ("delay", &[0, 7, 63, 255, 1023]),
    ("gap", &[0, 1, 7, 31, 127]),
    ("prime", &[0, 0xffff_ffff, 0x5555_5555, 0xaaaa_aaaa, 0xcccc_cccc]),
    ("stress-blocks", &[0, 66, 264]),
    ("stress-warps", &[0, 1, 4, 12]),
    ("stress", &[50, 200, 1000]),
    ("stress-places", &[1, 16, 1 << 10, 1 << 15]),
    ("stress-stride", &[4, 32, 128]),
    ("stress-stores", &[0, 8, 16, 24, 32]),
];
const PARAMETER_COUNT: usize = 14;

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
/// | `interleaved` | 0: the locations of an instance lie side by side; 1: the same location of all instances does |
/// | `stride` | bytes between what lies side by side |
/// | `distant` | whether the blocks of an instance are far apart in the grid |
/// | `gate` | rounds that threads wait for each other before they begin |
/// | `delay`, `gap` | most rounds of a random delay before the first instruction, and behind each |
/// | `prime` | threads that have the locations in their cache at the beginning, a bit each |
/// | `stress-blocks`, `stress-warps` | blocks, and warps of the test's own blocks, that load memory meanwhile |
/// | `stress` | accesses of each of their threads |
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

    /// Whether threads wait between their instructions, which takes another kernel.
    pub fn is_spaced(&self) -> bool {
        self.value("gap") > 0
    }

    /// Sets a launch up, of a grid of `blocks` for the test at most.
    pub(super) fn apply(&self, kernel: &Kernel, blocks: u32, setup: &mut Setup) {
        let (wide, stride) = (kernel.width(), self.value("stride"));
        setup.lanes = if kernel.barriers { 1 } else { self.value("lanes") };
        setup.instances = setup.instances.min((blocks / kernel.blocks).max(1) * setup.lanes);
        if self.value("interleaved") == 0 {
            setup.location_stride = stride.max(wide);
            setup.instance_stride = kernel.memory.len() as u32 * setup.location_stride;
        } else {
            setup.instance_stride = stride.max(wide);
            setup.location_stride = setup.instances * setup.instance_stride;
        }
        setup.spread = kernel.cluster.is_none() && self.value("distant") != 0;
        setup.gate = self.value("gate");
        setup.delay = self.value("delay");
        setup.gap = self.value("gap");
        setup.prime = self.value("prime");
        let most = 2 * kernel.grid(setup);
        setup.stress_blocks =
            self.value("stress-blocks").min(most).next_multiple_of(kernel.cluster.unwrap_or(1));
        // Barriers of clusters wait for all warps.
        setup.stress_warps =
            if kernel.barriers { 0 } else { self.value("stress-warps").min(32 - kernel.warps) };
        setup.stress = self.value("stress");
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
