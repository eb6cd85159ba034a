//! Hand-overs that were seen and order nothing, to explain races.
//!
//! A thread that reads what another one wrote strongly has waited for it, or might have; if nothing released, the two are
//! not ordered all the same, and a fence is missing and no barrier. Who wrote a few places last, and what warps read
//! there, is kept in two small tables: what falls out of them costs a hint, not a race.

use super::access::bits;
use super::sync::Thread;

/// Places known at a time.
const PLACES: usize = 64;
/// Warps that are known to have seen something.
const WARPS: usize = 256;
/// Writers kept of a place, and of a warp.
const WRITERS: usize = 8;
/// Lanes of one access that are looked at: where more write at once, nothing is handed over.
const LANES: u32 = 4;

type Writer = (Thread, u32);

/// The writers of a place whose writes reading it observes.
#[derive(Clone, Default)]
struct Place {
    at: Option<(Option<u32>, u64)>,
    writers: [Option<Writer>; WRITERS],
    next: usize,
}

/// What a warp has seen last.
#[derive(Clone, Default)]
struct Seen {
    warp: Option<(u32, u32)>,
    writers: [Option<Writer>; WRITERS],
    next: usize,
}

/// A strong access of some lanes of a warp.
pub(super) struct Strong {
    pub(super) cta: u32,
    pub(super) warp: u32,
    pub(super) epoch: u32,
    /// The CTA whose shared memory it is.
    pub(super) shared_of: Option<u32>,
    pub(super) reads: bool,
    /// Lanes that write, and whether what was there counts on.
    pub(super) writing: u32,
    pub(super) atomic: bool,
}

pub(super) struct Handovers {
    places: Vec<Place>,
    seen: Vec<Seen>,
}

impl Default for Handovers {
    fn default() -> Self {
        Self { places: vec![Place::default(); PLACES], seen: vec![Seen::default(); WARPS] }
    }
}

fn slot(cta: u32, warp: u32) -> usize {
    (cta.wrapping_mul(31) ^ warp) as usize % WARPS
}

impl Handovers {
    /// Lanes access words strongly.
    #[inline]
    pub(super) fn access(&mut self, access: &Strong, lanes: u32, addresses: &[u64; 32]) {
        let matter = if access.atomic { access.writing } else { lanes };
        if matter.count_ones() <= LANES {
            bits(matter).for_each(|lane| self.one(access, lane, addresses[lane as usize]));
        }
    }

    fn one(&mut self, access: &Strong, lane: u32, address: u64) {
        let me = Thread { cta: access.cta, number: access.warp * 32 + lane };
        let at = Some((access.shared_of, address));
        let place = &mut self.places[(address >> 2) as usize % PLACES];
        if place.at == at && access.reads {
            let seen = &mut self.seen[slot(access.cta, access.warp)];
            if seen.warp != Some((access.cta, access.warp)) {
                *seen = Seen { warp: Some((access.cta, access.warp)), ..Seen::default() };
            }
            for writer in place.writers.iter().flatten().filter(|writer| writer.0 != me) {
                if !seen.writers.contains(&Some(*writer)) {
                    seen.writers[seen.next] = Some(*writer);
                    seen.next = (seen.next + 1) % WRITERS;
                }
            }
        }
        if access.writing >> lane & 1 != 0 {
            if place.at != at || !access.atomic {
                *place = Place { at, ..Place::default() };
            }
            let writer = Some((me, access.epoch));
            if !place.writers.contains(&writer) {
                place.writers[place.next] = writer;
                place.next = (place.next + 1) % WRITERS;
            }
        }
    }

    /// Whether a warp, or another one of its CTA if that is another than the writer's, has seen what a thread wrote in an
    /// epoch or later.
    pub(super) fn was_seen(&self, cta: u32, warp: u32, warps: u32, writer: Thread, epoch: u32) -> bool {
        let sees = |warp: u32| {
            let seen = &self.seen[slot(cta, warp)];
            seen.warp == Some((cta, warp))
                && seen.writers.iter().flatten().any(|&(other, at)| other == writer && at >= epoch)
        };
        if cta == writer.cta { sees(warp) } else { (0..warps).any(sees) }
    }
}
