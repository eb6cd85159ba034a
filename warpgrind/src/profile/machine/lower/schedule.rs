//! The order of instructions, and what each waits for.

use std::cmp::Reverse;
use std::collections::HashMap;

use timing::code::Unit;

use super::super::listing::Instruction;
use super::pressure::{Pressure, Taken};
use super::{COPIES, Made, Order, Space, Value, leaves};

/// Instructions that are put in order together.
const WINDOW: usize = 1 << 9;

/// Control information of one that nothing waits for.
pub(super) const NO_WAIT: u32 = 1 | 7 << 5 | 7 << 8;

/// A block's instructions in an order that begins early what takes long, each with what it waits for.
pub(super) fn scheduled(
    made: Vec<Made>,
    boards: &HashMap<Value, u8>,
    pressure: &Pressure,
    block: usize,
) -> Vec<Instruction> {
    let mut list = Vec::with_capacity(made.len());
    let mut left = made;
    while !left.is_empty() {
        let follow = left.split_off(left.len().min(WINDOW));
        let taken = pressure.of(block, &left, &follow);
        list.extend(window(std::mem::replace(&mut left, follow), boards, taken));
    }
    list
}

fn window(made: Vec<Made>, boards: &HashMap<Value, u8>, mut taken: Taken<'_>) -> Vec<Instruction> {
    let count = made.len();
    // What each waits for: the one, and cycles.
    let mut after: Vec<Vec<(usize, u32)>> = vec![Vec::new(); count];
    let mut written: HashMap<Value, usize> = HashMap::new();
    let mut read: HashMap<Value, Vec<usize>> = HashMap::new();
    // By space: who wrote last, and who has read since.
    let mut writers: [Option<usize>; 3] = [None; 3];
    let mut readers: [Vec<usize>; 3] = Default::default();
    let mut held: Option<usize> = None;
    for (at, of) in made.iter().enumerate() {
        after[at].extend(held.map(|from| (from, made[from].hold)));
        if of.hold > 0 {
            after[at].extend((held.unwrap_or(0)..at).map(|from| (from, 1)));
            held = Some(at);
        }
        for value in &of.reads {
            if let Some(&from) = written.get(value) {
                after[at].push((from, distance(made[from].unit, of.unit)));
            }
            read.entry(*value).or_default().push(at);
        }
        for value in &of.writes {
            let others = read.remove(value).unwrap_or_default();
            after[at].extend(others.into_iter().filter(|&other| other != at).map(|other| (other, 1)));
            if let Some(from) = written.insert(*value, at) {
                after[at].push((from, distance(made[from].unit, of.unit)));
            }
        }
        match of.ordered {
            Order::Free => {}
            Order::Reads(space) => {
                after[at].extend(writers[space as usize].map(|from| (from, 1)));
                readers[space as usize].push(at);
            }
            Order::Writes(_) | Order::All => {
                let spaces = match of.ordered {
                    Order::Writes(space) => space as usize..space as usize + 1,
                    _ => 0..3,
                };
                for space in spaces {
                    after[at].extend(writers[space].map(|from| (from, 1)));
                    after[at].extend(readers[space].drain(..).map(|from| (from, 1)));
                    writers[space] = Some(at);
                }
            }
        }
        // What begins or ends the block stays there.
        let first = made[..at].iter().take_while(|made| made.machine.base() == "BSYNC").count();
        after[at].extend((0..first).map(|from| (from, 1)));
        if leaves(of.machine.base()) {
            after[at].extend((0..at).map(|from| (from, 1)));
        }
    }
    let mut weight = vec![0u32; count];
    for at in (0..count).rev() {
        let own = weight[at] + late(&made[at].machine, made[at].unit);
        for &(from, cycles) in &after[at] {
            weight[from] = weight[from].max(own + cycles);
        }
        weight[at] = own;
    }
    // Begins as early as it can what most waits for, as if late results came after their usual time.
    let mut issued: Vec<Option<u32>> = vec![None; count];
    let mut order = Vec::with_capacity(count);
    let mut now = 0;
    while order.len() < count {
        let ready = |at: usize| -> Option<u32> {
            let times = after[at].iter().map(|&(from, cycles)| {
                let late = if cycles > 1 { late(&made[from].machine, made[from].unit) } else { 0 };
                issued[from].map(|time| time + cycles.max(late))
            });
            times.into_iter().try_fold(0, |most, time| time.map(|time| most.max(time)))
        };
        let left = (0..count).filter(|&at| issued[at].is_none());
        let possible = left.filter_map(|at| Some((at, ready(at)?)));
        // Loads wait until there is room for what they bring, if anything else can be done.
        let is_full = |at: usize| made[at].unit == Unit::Memory && !taken.has_room(&made[at]);
        let best = possible.min_by_key(|&(at, time)| (is_full(at), time.max(now), Reverse(weight[at]), at));
        let Some((at, time)) = best else { break };
        now = time.max(now);
        issued[at] = Some(now);
        taken.put(&made[at]);
        order.push(at);
        now += 1;
    }
    // In this order, what waits for no scoreboard waits for cycles.
    let mut times = vec![0; count];
    let mut now = 0;
    for &at in &order {
        let ready = after[at].iter().map(|&(from, cycles)| times[from] + cycles).max();
        times[at] = ready.unwrap_or(0).max(now);
        now = times[at] + 1;
    }
    let order: Vec<(usize, u32)> = order.into_iter().map(|at| (at, times[at])).collect();
    let mut made: Vec<Option<Made>> = made.into_iter().map(Some).collect();
    let placed = order.iter().enumerate().filter_map(|(place, &(at, time))| {
        let Made { mut machine, reads, writes, unit, .. } = made[at].take()?;
        let next = order.get(place + 1).map_or(time + 1, |(_, time)| *time);
        let mut control = (next - time).clamp(1, 15);
        let mut waits = 0;
        for value in &reads {
            waits |= boards.get(value).map_or(0, |board| 1 << board);
        }
        let write = match machine.base() {
            "LDGDEPBAR" => u32::from(COPIES),
            _ if is_late(unit) && !writes.is_empty() => {
                writes.first().and_then(|value| boards.get(value)).map_or(7, |&board| board.into())
            }
            _ => 7,
        };
        control |= write << 5 | 7 << 8 | waits << 11;
        machine.control = control;
        Some(machine)
    });
    placed.collect()
}

/// Whether scoreboards say when a unit's results are there.
pub(super) fn is_late(unit: Unit) -> bool {
    matches!(unit, Unit::Memory | Unit::Special | Unit::Bits | Unit::Constant | Unit::None)
}

/// Cycles from an instruction to one that takes its result, if that does not wait for a scoreboard.
fn distance(from: Unit, to: Unit) -> u32 {
    match from {
        _ if is_late(from) => 2,
        Unit::Double => 8,
        Unit::Tensor => 18,
        Unit::Uniform => 6,
        Unit::Alu if to == Unit::Branch => 13,
        _ if from == to => 4,
        _ => 5,
    }
}

/// About how long it takes until a late result is there.
fn late(machine: &Instruction, unit: Unit) -> u32 {
    match machine.base() {
        _ if !is_late(unit) => 0,
        "LDG" | "LD" | "ATOMG" | "ATOM" | "LDL" => 200,
        "LDS" | "LDSM" | "SHFL" | "ATOMS" => 25,
        _ => 15,
    }
}

pub(super) fn order(machine: &Instruction) -> Order {
    let base = machine.base();
    let space = match base {
        "LDS" | "LDSM" | "STS" | "STSM" | "ATOMS" => Space::Shared,
        "LDL" | "STL" => Space::Local,
        _ => Space::Global,
    };
    match base {
        "LDG" if machine.has("CONSTANT") => Order::Free,
        "LDG" | "LDS" | "LDL" | "LDSM" => Order::Reads(space),
        "STG" | "STS" | "STL" | "STSM" | "ATOMG" | "ATOMS" | "RED" => Order::Writes(space),
        // These may be anywhere, or everywhere.
        "LD" | "ST" | "ATOM" | "LDGSTS" | "BAR" | "MEMBAR" | "CCTL" | "DEPBAR" | "LDGDEPBAR" | "SHFL"
        | "VOTE" | "MATCH" | "REDUX" | "WARPSYNC" => Order::All,
        base if leaves(base) => Order::All,
        _ => Order::Free,
    }
}
