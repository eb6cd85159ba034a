//! Instructions with constants for some of their operands: what a compiler computes itself, or rewrites.

use std::collections::HashMap;
use std::fmt::Write;

use ptx_frontend::{Opcode, ScalarType};
use rayon::prelude::*;
use sim_core::Backend;

use crate::case::{Case, Class, Register, Role};
use crate::catalog::{BATCH, Catalog, check};
use crate::numbers::Random;
use crate::recording;
use crate::run::{Refusal, run};
use crate::specials::{Kind, mask};

/// Rows that are shown of a difference.
const SHOWN: usize = 3;

impl Catalog {
    /// The catalog's instructions of single lanes with constants in place of one, several or all of their operands;
    /// about `most` of each opcode.
    pub fn with_constants(&self, most: usize) -> Catalog {
        let usable = |case: &&Case| case.class == Class::Lane && case.sources.iter().any(constant);
        let mut of: HashMap<Opcode, usize> = HashMap::new();
        for case in self.cases().filter(usable) {
            *of.entry(case.form.opcode()).or_default() += 1;
        }
        let variants = |case: &Case| {
            let count = (most / of[&case.form.opcode()]).clamp(2, 128);
            (0..count).map(|number| variant(case, number)).collect::<Vec<_>>()
        };
        let cases: Vec<Case> = self.cases().filter(usable).flat_map(variants).collect();
        let batches = cases.par_chunks(BATCH).filter_map(|cases| check(cases.to_vec()).0).collect();
        Catalog { batches, not_covered: Vec::new() }
    }

    /// Modules of the catalog.
    pub fn modules(&self) -> usize {
        self.batches.len()
    }

    /// Operands and results of the cases of a module, in order.
    pub fn results(&self, module: usize, backend: &dyn Backend) -> Vec<Result<Results, Refusal>> {
        let mut all = Vec::new();
        run(backend, &self.batches[module], |case, result| {
            all.push(result.map(|(input, output)| Results { case: case.clone(), input, output }));
        });
        all
    }
}

/// What a case was given and gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Results {
    /// The case.
    pub case: Case,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Results {
    /// The first rows in which another backend gave something else, as text; `None` if there are none.
    pub fn differing(&self, other: &Results) -> Option<String> {
        let tuples = self.case.tuples();
        let columns = |registers: &[Register], bytes: &[u8], row: usize| {
            let mut start = 0;
            let value = |register: &Register| {
                let at = start + row * register.bytes;
                start += register.bytes * tuples;
                format!("{} {:#x}", register.name, recording::value(&bytes[at..at + register.bytes]))
            };
            registers.iter().map(value).collect::<Vec<_>>().join(", ")
        };
        let given = |results: &Results, row| columns(&self.case.results, &results.output, row);
        let mut rows = (0..tuples).filter(|&row| given(self, row) != given(other, row));
        let first: Vec<usize> = rows.by_ref().take(SHOWN).collect();
        let line = |&row: &usize| {
            let sources = columns(&self.case.sources, &self.input, row);
            format!("  {sources} -> {}; {}\n", given(self, row), given(other, row))
        };
        let text: String = first.iter().map(line).collect();
        (!first.is_empty()).then(|| format!("{text}  in {} of {tuples}\n", first.len() + rows.count()))
    }
}

/// Whether an operand can be a constant.
fn constant(source: &Register) -> bool {
    let whole = matches!(source.bytes, 2 | 4 | 8) || source.ty == ScalarType::Pred;
    source.role == Role::Value && whole
}

/// The case with constants: one, all but one, or all.
fn variant(case: &Case, number: usize) -> Case {
    let mut random = Random::new(case.key() ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let usable: Vec<usize> = (0..case.sources.len()).filter(|&at| constant(&case.sources[at])).collect();
    let one = usable[number / 4 % usable.len()];
    let (mut text, mut sources) = (String::new(), Vec::new());
    for (at, source) in case.sources.iter().enumerate() {
        let chosen = match number % 4 {
            0 | 1 => at == one,
            2 => at != one || usable.len() == 1,
            _ => true,
        };
        if !chosen || !constant(source) {
            sources.push(source.clone());
            continue;
        }
        let (name, class) = (&source.name, source.class());
        let kind = Kind::of(source.ty);
        let specials = kind.specials();
        let mut value = 0;
        // Elements of a register that is wider than its value differ.
        for lane in 0..(8 * source.bytes as u32 / kind.bits()).max(1) {
            value |= specials[random.below(specials.len() as u64) as usize] << (lane * kind.bits());
        }
        // Writing to a string cannot fail.
        let _ = match source.ty {
            ScalarType::Pred => write!(text, ".reg .pred {name};\nsetp.ne.u32 {name}, {}, 0;\n", value & 1),
            _ => {
                let value = value & mask(8 * source.bytes as u32);
                write!(text, ".reg .{class} {name};\nmov.{class} {name}, {value:#x};\n")
            }
        };
    }
    Case { text: text + &case.text, sources, few: true, ..case.clone() }
}
