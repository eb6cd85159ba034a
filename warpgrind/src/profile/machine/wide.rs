//! Loads and stores of shared memory, as what they ask its banks for where the assembler makes them part of wider ones: halves and
//! quarters of a warp go one after the other then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_frontend::Opcode;
use sim_core::tools::{Context, Counters, Event, LaunchShape, LaunchView, Summary, Wants};
use sim_core::{AccessKind, Memory, Tool, WarpAccess};

use super::listing::{Instruction, Listing};

/// What accesses of a line count, by name.
pub type Counts = BTreeMap<String, u64>;

/// By line of the PTX: what its accesses would count with 8 and 16 bytes of each lane.
pub type Wide = BTreeMap<u32, [Counts; 2]>;

/// Where it is left, grid by grid.
pub type Found = Arc<Mutex<Vec<(Arc<str>, Wide)>>>;

/// Bytes of a lane.
const WIDTHS: [u32; 2] = [8, 16];

/// Where accesses of so many bytes begin that have those at some addresses.
pub fn widened(addresses: &[u64; 32], bytes: u32) -> [u64; 32] {
    addresses.map(|address| address & !(u64::from(bytes) - 1))
}

/// Which of the wider accesses a machine instruction is, if it is a load or store of shared memory.
fn width(of: &Instruction) -> Option<usize> {
    match of.base() {
        "LDS" | "STS" if of.has("128") => Some(1),
        "LDS" | "STS" if of.has("64") => Some(0),
        _ => None,
    }
}

/// Whether a listing has any.
pub fn has_any(listing: &Listing) -> bool {
    listing.instructions.iter().any(|of| width(of).is_some())
}

/// By line of the PTX: what its accesses count as the listing has them, each with the widest of its instructions.
pub fn of_lines<'a>(listing: &Listing, wide: &'a Wide) -> BTreeMap<u32, &'a Counts> {
    let mut widest: BTreeMap<u32, usize> = BTreeMap::new();
    for (line, width) in listing.instructions.iter().filter_map(|of| Some((of.line, width(of)?))) {
        let known = widest.entry(line).or_insert(width);
        *known = width.max(*known);
    }
    let counts = |(line, width): (u32, usize)| Some((line, &wide.get(&line)?[width]));
    widest.into_iter().filter_map(counts).filter(|(_, counts)| !counts.is_empty()).collect()
}

/// The tool that counts them.
#[derive(Debug)]
pub struct Widths {
    found: Found,
    counters: [Counters; 2],
}

impl Widths {
    /// One that leaves in `found` what it has counted of a launch.
    pub fn new(found: &Found, shape: &LaunchShape) -> Self {
        Widths { found: Arc::clone(found), counters: WIDTHS.map(|_| Counters::new(shape)) }
    }
}

impl Tool for Widths {
    type Block = ();

    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), context: &dyn Context) {
        let Event::Access(of) = event else { return };
        let opcode = context.instruction(of.position).map(|of| of.op().opcode);
        let is_plain = of.memory == Memory::Shared
            && matches!(of.kind, AccessKind::Read | AccessKind::Write)
            && matches!(opcode, Some(Opcode::Ld | Opcode::Ldu | Opcode::St));
        if !is_plain {
            return;
        }
        for (counters, bytes) in self.counters.iter_mut().zip(WIDTHS).filter(|(_, bytes)| of.bytes < *bytes) {
            let addresses = &widened(of.addresses, bytes);
            counters.event(&Event::Access(&WarpAccess { addresses, bytes, ..**of }), &mut (), context);
        }
    }

    fn merge(&mut self, other: Self) {
        for (ours, theirs) in self.counters.iter_mut().zip(other.counters) {
            ours.merge(theirs);
        }
    }

    fn finish(self, launch: &dyn LaunchView) -> Summary {
        let mut wide = Wide::new();
        for (at, counters) in self.counters.into_iter().enumerate() {
            let counted = counters.finish(launch).metrics;
            for of in counted.into_iter().flat_map(|counted| counted.instructions) {
                let counts = &mut wide.entry(of.line).or_default()[at];
                for metric in of.metrics.iter().filter(|metric| !metric.name.starts_with("ptx__")) {
                    *counts.entry(metric.name.to_string()).or_default() += metric.value;
                }
            }
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push((launch.kernel(), wide));
        Summary::default()
    }
}
