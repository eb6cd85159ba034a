//! Hosts for which there is no compiler.

use crate::context::{Context, Progress, Runner, Storage, Until};
use crate::program::Program;
use semantics::formula::Formula;
use semantics::lanes::{Registers, Row, SimdLevel};

/// A compiled program, of which there is none.
#[derive(Clone, Debug)]
pub enum Compiled {}

#[allow(missing_docs, reason = "as where there is a compiler")]
impl Compiled {
    pub fn can(_: SimdLevel) -> bool {
        false
    }

    pub fn has(_: Formula, _: SimdLevel) -> bool {
        false
    }

    pub fn new(_: &Program, _: SimdLevel) -> Option<Compiled> {
        None
    }

    pub fn begins(&self, _: u32, _: u32, _: u64, _: bool) -> bool {
        match *self {}
    }

    pub fn storage(&self, _: &Registers, _: &mut [Row], _: [u32; 2]) -> Storage {
        match *self {}
    }

    pub fn begins_for(&self, _: &[Runner], _: u64) -> bool {
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
    pub unsafe fn run_alone(&self, _: &mut Context, _: &mut Runner, _: Until) {
        match *self {}
    }

    /// # Safety
    /// It is never called.
    pub unsafe fn run_teams(&self, _: &mut Context, _: &mut [Runner], _: usize, _: u64, _: bool) -> Progress {
        match *self {}
    }

    /// # Safety
    /// It is never called.
    pub unsafe fn compare_windows(&self, _: &mut Context) {
        match *self {}
    }
}
