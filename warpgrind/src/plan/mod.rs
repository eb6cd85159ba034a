//! What a run does: written in Rust, read from a launch file, or made from arguments.

mod argument;
mod error;
mod params;
mod read;
mod texture;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use ptx_frontend::Source;
use sim_core::Dim3;

use crate::array::{Init, Tolerance};
use crate::files::{MAX_TEXT, read_file};

pub use argument::{Arg, BufferSpec, Output, Scalar, is_name, parse_arg, parse_buffer, parse_scalar};
pub(crate) use error::locate;
pub use error::{PlanError, TextPlace};
pub(crate) use params::pack;
pub use params::{describe, dimensions_text, parameters, signature, type_text, unknown_buffer};
pub use texture::ObjectPlan;

/// Elements printed when no number is given.
pub const PRINTED: u64 = 16;

/// A byte range of the launch file that an item came from.
pub type Place = Option<Range<usize>>;

/// Everything that a run does.
#[derive(Clone, Default, Debug)]
pub struct Plan {
    /// The launch file, for messages.
    pub source: Option<Source>,
    /// What paths in it are relative to.
    pub directory: PathBuf,
    /// PTX files, linked in this order.
    pub modules: Vec<(PathBuf, Place)>,
    /// Buffers by name.
    pub buffers: IndexMap<String, BufferPlan>,
    /// Variables of the module by name.
    pub variables: IndexMap<String, BufferPlan>,
    /// Textures and surfaces by name, which stands for the handle in arguments.
    pub objects: IndexMap<String, ObjectPlan>,
    /// The launches in order.
    pub launches: Vec<LaunchPlan>,
}

/// A buffer or variable: contents before, expectations and outputs after.
#[derive(Clone, Default, Debug)]
pub struct BufferPlan {
    /// Type, shape, contents, and the output of the argument language.
    pub spec: BufferSpec,
    /// The file that it is written to afterwards.
    pub save: Option<PathBuf>,
    /// How many elements are printed afterwards, if any.
    pub print: Option<u64>,
    /// Addresses in it: the offset of each in bytes, and the buffer or variable with the offset there.
    pub pointers: Vec<(u64, Arg)>,
    /// Parts that kernels may only read: the offset of each in bytes, and how many bytes.
    pub read_only: Vec<(u64, u64)>,
    /// What it must hold afterwards.
    pub expect: Option<Expectation>,
    /// Where it is defined.
    pub place: Place,
    /// Where its contents are said.
    pub init_place: Place,
}

/// Expected values.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The values, described as contents are.
    pub values: Init,
    /// How far off they may be.
    pub tolerance: Tolerance,
    /// Where it is said.
    pub place: Place,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct LaunchPlan {
    /// The kernel; `None` takes the only one.
    pub kernel: Option<String>,
    /// Blocks.
    pub grid: Dim3,
    /// Threads a block.
    pub block: Dim3,
    /// Blocks a cluster.
    pub cluster: Option<Dim3>,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// All blocks resident at once.
    pub cooperative: bool,
    /// The arguments in order; buffers in place are replaced by references before.
    pub args: Vec<(Arg, Place)>,
    /// Where it is said.
    pub place: Place,
}

/// One thread, no arguments, the only kernel.
impl Default for LaunchPlan {
    fn default() -> Self {
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

impl Plan {
    /// Reads a launch file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// It cannot be read, or is no launch file; the error then has its place in the file.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        read::parse(path, read_file(path, MAX_TEXT)?)
    }

    /// A launch file of this name that holds these bytes.
    ///
    /// # Errors
    /// It is no launch file.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self, PlanError> {
        read::parse(path, bytes)
    }

    /// The plan as the text of a launch file. Arrays that are values of the plan itself ([`Init::Array`]) are given to
    /// `file`, which keeps them and returns the name that the launch file is to have for them.
    ///
    /// # Errors
    /// Those of `file`.
    pub fn to_toml<E>(
        &self,
        file: impl FnMut(&str, &crate::array::Array) -> Result<PathBuf, E>,
    ) -> Result<String, E> {
        write::text(self, file)
    }

    /// A place in its launch file, for messages.
    pub fn text_place(&self, place: &Place) -> Option<Box<TextPlace>> {
        let mut found = None;
        locate(&mut found, self.source.as_ref(), place);
        found
    }

    /// Where a path in it leads.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }
}
