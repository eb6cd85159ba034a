//! What a tool is told of a launch before it begins, and may ask about it when it is over.

use isa::Dim3;
use ptx_frontend::{Body, Instruction, Module, Op, Operand};

use crate::event::Memory;
use crate::finding::{CodePlace, ThreadId};

/// How a launch is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: Dim3,
    /// Threads a block.
    pub block: Dim3,
    /// Blocks a cluster.
    pub cluster: Dim3,
    /// [`RunOptions::seed`](crate::RunOptions).
    pub seed: u64,
    /// Instructions of the kernel and of what it calls: positions are below.
    pub instructions: u32,
    /// Whether some of them issue operations of the asynchronous proxy: bulk copies, `st.async`, `wgmma`.
    pub asynchronous: bool,
}

/// An instruction, and the function that it is in.
#[derive(Clone, Copy, Debug)]
pub struct InstructionView<'a> {
    /// Its module.
    pub module: &'a Module,
    /// Its function.
    pub body: &'a Body,
    /// The instruction.
    pub instruction: &'a Instruction,
}

impl<'a> InstructionView<'a> {
    /// Its opcode and modifiers.
    pub fn op(&self) -> &'a Op {
        self.module.op(self.instruction)
    }

    /// Its operands, destination first.
    pub fn operands(&self) -> &'a [Operand] {
        self.body.operands(self.instruction)
    }
}

/// A launch that is over, for a tool that says what it found.
pub trait LaunchView {
    /// The kernel's name.
    fn kernel(&self) -> std::sync::Arc<str>;

    /// Where an instruction is, by its position.
    fn place(&self, position: u32) -> CodePlace;

    /// The opcode and modifiers of an instruction; `None` for the `ret` that a body without one ends with.
    fn operation(&self, position: u32) -> Option<&Op>;

    /// The line of a place in its PTX text.
    fn line(&self, place: &CodePlace) -> u32;

    /// The thread of a lane.
    fn thread(&self, block: u64, warp: u32, lane: u32) -> ThreadId;

    /// What lies at an address: the allocation or variable, and the offset in it.
    fn describe(&self, memory: Memory, address: u64) -> String;
}
