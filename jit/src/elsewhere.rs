//! Hosts for which there is no compiler.

use crate::context::{Context, Exit};
use crate::program::Program;

/// A compiled program, of which there is none.
#[derive(Clone, Debug)]
pub enum Compiled {}

#[allow(missing_docs, reason = "as where there is a compiler")]
impl Compiled {
    pub fn new(_: &Program) -> Option<Compiled> {
        None
    }

    pub fn begins(&self, _: u32, _: u32, _: u64, _: bool) -> bool {
        match *self {}
    }

    pub fn next(&self, _: u32, _: bool) -> u32 {
        match *self {}
    }

    pub fn bytes(&self) -> usize {
        match *self {}
    }

    /// # Safety
    /// It is never called.
    pub unsafe fn run(&self, _: &mut Context, _: u32) -> Exit {
        match *self {}
    }
}
