//! Rows for registers: a linear scan over live intervals in layout order.

use ptx_frontend::{Function, RegId, ScalarType};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::liveness::Interval;
use super::rows_of;
use crate::code::{RegisterPlace, RegisterSlot};
use semantics::lanes::{Pred, Slot};

/// Predicate registers that every frame has: the constant true and the carry flag (ISA 9.7.2).
pub(crate) const CARRY: Pred = Pred::register(1, false);
const FIRST_PREDICATE: u32 = 2;

/// Where each register of a function lives.
#[derive(Default)]
pub(crate) struct Allocation {
    places: Vec<RegisterPlace>,
    /// Rows of the frame.
    pub rows: u32,
    /// Predicates of the frame.
    pub predicates: u32,
    /// Rows of registers that are live where the function starts.
    pub exposed_rows: Vec<u32>,
    /// Predicates of such registers, and the carry flag.
    pub exposed_predicates: Vec<u32>,
}

/// Free places of one size, lowest first.
#[derive(Default)]
struct Pool {
    free: BinaryHeap<Reverse<u32>>,
    active: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Pool {
    /// A place for an interval; `fresh` makes a new one.
    fn take(&mut self, interval: Interval, fresh: impl FnOnce() -> u32) -> u32 {
        while let Some(&Reverse((end, place))) = self.active.peek() {
            if end >= interval.start {
                break;
            }
            self.active.pop();
            self.free.push(Reverse(place));
        }
        let place = self.free.pop().map_or_else(fresh, |Reverse(place)| place);
        self.active.push(Reverse((interval.end, place)));
        place
    }
}

impl Allocation {
    /// Rows for live registers, but for those that have a place already. `apart`: none shares its rows.
    pub(crate) fn new(
        function: &Function,
        mut live: Vec<Option<Interval>>,
        fixed: &[Option<RegisterSlot>],
        apart: bool,
    ) -> Allocation {
        let count = function.registers.len();
        // Register parameters are set and read from outside the body.
        let whole = Interval { start: 0, end: u32::MAX };
        for param in function.params.iter().chain(&function.returns) {
            if let ptx_frontend::Param::Register(id) = *param {
                live[id.index()] = Some(whole);
            }
        }
        let mut order: Vec<(u32, u32)> = (0..count as u32)
            .filter_map(|id| live[id as usize].map(|interval| (interval.start, id)))
            .collect();
        order.sort_unstable();
        let mut allocation = Allocation {
            places: vec![RegisterPlace::Nowhere; count],
            rows: 0,
            exposed_rows: Vec::new(),
            exposed_predicates: vec![CARRY.index()],
            predicates: FIRST_PREDICATE,
        };
        let mut pools: [Pool; 4] = Default::default();
        for (_, id) in order {
            let Some(interval) = live[id as usize] else { continue };
            let kept = if apart { whole } else { interval };
            let ty = function.registers[id as usize].ty;
            allocation.places[id as usize] = if ty == ScalarType::Pred {
                let predicates = &mut allocation.predicates;
                let predicate = pools[3].take(kept, || {
                    *predicates += 1;
                    *predicates - 1
                });
                if kept.start == 0 {
                    allocation.exposed_predicates.push(predicate);
                }
                RegisterPlace::Predicate(predicate)
            } else {
                let rows = rows_of(ty);
                if let Some(place) = fixed[id as usize] {
                    allocation.places[id as usize] = RegisterPlace::Rows(place);
                    continue;
                }
                let next = &mut allocation.rows;
                let row = pools[rows.trailing_zeros() as usize].take(kept, || {
                    *next += u32::from(rows);
                    *next - u32::from(rows)
                });
                if kept.start == 0 {
                    allocation.exposed_rows.extend(row..row + u32::from(rows));
                }
                RegisterPlace::Rows(RegisterSlot { slot: Slot::frame(row), rows })
            };
        }
        allocation
    }

    /// The places of all registers.
    pub(crate) fn places(&mut self) -> Vec<RegisterPlace> {
        std::mem::take(&mut self.places)
    }

    /// The rows of a register; predicates have none.
    pub(crate) fn slot(&self, id: RegId) -> RegisterSlot {
        match self.places[id.index()] {
            RegisterPlace::Rows(slot) => slot,
            RegisterPlace::Predicate(_) | RegisterPlace::Nowhere => {
                RegisterSlot { slot: Slot::frame(0), rows: 0 }
            }
        }
    }

    /// The predicate register.
    pub(crate) fn predicate(&self, id: RegId) -> Pred {
        match self.places[id.index()] {
            RegisterPlace::Predicate(index) => Pred::register(index, false),
            RegisterPlace::Rows(_) | RegisterPlace::Nowhere => Pred::TRUE,
        }
    }
}
