//! What instructions compute, by family: modifiers, types and operand order meet the right function.
//!
//! Integers are computed here, in 128 bits; floats by [`numerics`], which has its own
//! tests, so that what is tested is which function with which modifiers an instruction is bound to.

mod compare;
mod convert;
mod float;
mod harness;
mod integer;
mod levels;
mod logic;

use harness::{Inputs, Instruction, THREADS, truncate};
use numerics::Rounding;
use ptx_frontend::ScalarType;
use sim_core::{DeviceConfig, Simulator};

/// A simulator to try instructions on.
pub(crate) struct Bench {
    simulator: Simulator,
}

impl Bench {
    /// With a simulated H200.
    pub(crate) fn new() -> Bench {
        Bench { simulator: Simulator::new(DeviceConfig::h200()) }
    }

    /// Runs an instruction over many tuples and compares its first destination with a function of
    /// the sources.
    pub(crate) fn check(&self, op: &str, types: &str, f: impl Fn(&[u128]) -> u128) {
        self.check_all(Instruction::new(op, types), |sources, _| vec![f(sources)]);
    }

    /// All destinations, and the carry flag where the instruction uses it.
    pub(crate) fn check_all(&self, instruction: Instruction, f: impl Fn(&[u128], bool) -> Vec<u128>) {
        let seed =
            instruction.op.bytes().fold(7, |seed: u64, b| seed.wrapping_mul(31).wrapping_add(b.into()));
        let inputs = Inputs::new(&instruction, seed);
        let module = instruction.module();
        let results = instruction.run(&self.simulator, module, &inputs);
        instruction.check_guard(&inputs, &results);
        let types = instruction.destinations();
        for thread in 0..THREADS {
            let sources = &inputs.sources[thread];
            let mut expected = f(sources, inputs.carry[thread]);
            for (value, &ty) in expected.iter_mut().zip(&types) {
                *value = truncate(*value, ty);
            }
            assert_eq!(
                results.plain[thread], expected,
                "{} of {sources:x?}, carry {}",
                instruction.op, inputs.carry[thread]
            );
        }
    }
}

/// The value of a register's bits.
pub(crate) fn value(bits: u128, ty: &str) -> i128 {
    let ty = ScalarType::from_text(ty).unwrap();
    let shift = 128 - ty.bits();
    if ty.is_signed() { (bits << shift) as i128 >> shift } else { (bits << shift >> shift) as i128 }
}

pub(crate) fn bits(ty: &str) -> u32 {
    ScalarType::from_text(ty).unwrap().bits()
}

/// Least and greatest value of an integer type.
pub(crate) fn range(ty: &str) -> (i128, i128) {
    let ty = ScalarType::from_text(ty).unwrap();
    if ty.is_signed() {
        (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1)
    } else {
        (0, (1 << ty.bits()) - 1)
    }
}

pub(crate) fn clamp(value: i128, ty: &str) -> i128 {
    let (low, high) = range(ty);
    value.clamp(low, high)
}

/// The integer types of arithmetic.
pub(crate) const INTEGERS: [&str; 6] = ["u16", "u32", "u64", "s16", "s32", "s64"];

/// The roundings of floats.
pub(crate) const ROUNDINGS: [(&str, Rounding); 4] =
    [(".rn", Rounding::Rn), (".rz", Rounding::Rz), (".rm", Rounding::Rm), (".rp", Rounding::Rp)];
