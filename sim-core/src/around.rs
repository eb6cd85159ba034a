//! What functions of CUDA's device runtime need to know of the program around a kernel.

use std::fmt::Debug;

use crate::launch::Dim3;

/// Where a graph that a kernel launches runs (CUDA programming guide, "Device graph launch").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphLaunch {
    /// At once, as a part of the graph that launches it.
    FireAndForget,
    /// When the graph that launches it is over.
    Tail,
    /// At once, as a part of what launched the graph that launches it.
    Sibling,
}

/// What a kernel makes of a kernel node of a graph (CUDA programming guide, "Device graph launch").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeUpdate {
    /// Bytes of its parameters, at most eight of them: the lowest of a word.
    Parameter {
        /// The first one's place among all parameters.
        offset: u64,
        /// How many.
        bytes: u32,
        /// The word.
        value: u64,
    },
    /// The extents of its grid.
    Grid(Dim3),
    /// Whether it is launched at all.
    Enabled(bool),
}

/// The program around, as functions that kernels call ask for it. Codes are those of `cudaError_t`.
pub trait Around: Send + Sync + Debug {
    /// The device's number, and how many the program sees.
    fn device(&self) -> (i32, i32);

    /// A `cudaDeviceAttr`; `None` if there is none of this number.
    fn attribute(&self, number: i32) -> Option<i32>;

    /// A `cudaLimit`; `None` if there is none of this number.
    fn limit(&self, number: i32) -> Option<u64>;

    /// Name and text of a code; `None` if it is not known.
    fn error(&self, code: u32) -> Option<(&'static str, &'static str)>;

    /// Bytes of dynamic shared memory that the program granted to a kernel; `None` if it did not say.
    fn granted_shared(&self, kernel: &str) -> Option<u32>;

    /// Registers of a thread of a kernel, as the program is told; `None` if it is not known.
    fn registers(&self, kernel: &str) -> Option<u32>;

    /// The executable graph that the kernel runs in, if kernels may launch graphs there; 0 is none.
    fn current_graph(&self) -> u64;

    /// Launches an executable graph.
    ///
    /// # Errors
    /// The code.
    fn launch_graph(&self, graph: u64, how: GraphLaunch) -> Result<(), u32>;

    /// Gives the handle of a conditional node a value; false if there is no such handle.
    fn set_condition(&self, handle: u64, value: u32) -> bool;

    /// Updates a kernel node of an executable graph.
    ///
    /// # Errors
    /// The code.
    fn update_node(&self, node: u64, update: NodeUpdate) -> Result<(), u32>;
}
