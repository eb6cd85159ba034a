//! What a run does, whether it came from the command line or from a launch file.

use std::ops::Range;
use std::path::PathBuf;

use indexmap::IndexMap;
use ptx_frontend::Source;
use sim_core::Dim3;

use crate::compare::Tolerance;
use crate::value::{Arg, BufferSpec, Init};

/// A byte range of the launch file that an item came from.
pub(crate) type Place = Option<Range<usize>>;

/// Everything that a run does.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The launch file, for messages.
    pub(crate) source: Option<Source>,
    /// What paths in it are relative to.
    pub(crate) directory: PathBuf,
    /// PTX files, linked in this order.
    pub(crate) modules: Vec<(PathBuf, Place)>,
    /// Buffers by name.
    pub(crate) buffers: IndexMap<String, BufferPlan>,
    /// Variables of the module by name.
    pub(crate) variables: IndexMap<String, BufferPlan>,
    /// The launches in order.
    pub(crate) launches: Vec<LaunchPlan>,
}

/// A buffer or variable: contents before, expectations and outputs after.
#[derive(Clone, Default, Debug)]
pub(crate) struct BufferPlan {
    /// Type, shape, contents, and the output of the argument language.
    pub(crate) spec: BufferSpec,
    /// Files it is written to afterwards.
    pub(crate) save: Vec<PathBuf>,
    /// How many elements are printed afterwards, if any.
    pub(crate) print: Option<u64>,
    /// Addresses in it: the offset of each in bytes, and the buffer or variable with the offset there.
    pub(crate) pointers: Vec<(u64, Arg)>,
    /// What it must hold afterwards.
    pub(crate) expect: Option<Expectation>,
    /// Where it is defined.
    pub(crate) place: Place,
    /// Where its contents are said.
    pub(crate) init_place: Place,
}

/// Expected values.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    /// The values, described as contents are.
    pub(crate) values: Init,
    /// How far off they may be.
    pub(crate) tolerance: Tolerance,
    /// Where it is said.
    pub(crate) place: Place,
}

/// One launch.
#[derive(Clone, Debug)]
pub(crate) struct LaunchPlan {
    /// The kernel; `None` takes the only one.
    pub(crate) kernel: Option<String>,
    /// Blocks.
    pub(crate) grid: Dim3,
    /// Threads a block.
    pub(crate) block: Dim3,
    /// Blocks a cluster.
    pub(crate) cluster: Option<Dim3>,
    /// Dynamic shared memory in bytes.
    pub(crate) shared_bytes: u32,
    /// All blocks resident at once.
    pub(crate) cooperative: bool,
    /// The arguments in order; buffers in place are replaced by references before.
    pub(crate) args: Vec<(Arg, Place)>,
    /// Where it is said.
    pub(crate) place: Place,
}

#[cfg(test)]
impl LaunchPlan {
    /// A launch of one thread, to be changed.
    pub(crate) fn single() -> Self {
        Self {
            kernel: None,
            grid: Dim3::ONE,
            block: Dim3::ONE,
            cluster: None,
            shared_bytes: 0,
            cooperative: false,
            args: Vec::new(),
            place: None,
        }
    }
}
