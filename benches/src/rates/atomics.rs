//! Atomics to one address.

use sim_core::Simulator;

use super::{Case, Group, Loaded, Setup, Target, Value, download, extent};
use crate::Size;

/// The value that a thread gives.
fn value(thread: u32) -> u64 {
    u64::from(thread.wrapping_mul(7) % 61 + 1)
}

/// A number in which sums of small integers are exact, wrapping if it is an integer.
trait Number: Value {
    fn of(value: u64) -> Self;
    /// As an integer, modulo its width.
    fn integer(self) -> u64;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn of(value: u64) -> Self {
                value as $t
            }
            fn integer(self) -> u64 {
                self as u64
            }
        }
    )*};
}
numbers!(u32, u64, f32, f64);

/// What must hold of the cell that threads `from..to` updated, and of what each of them has found.
fn verify(
    operation: &str,
    mask: u64,
    turns: u64,
    start: u64,
    end: u64,
    found: &[u64],
    from: u32,
) -> Result<(), String> {
    let threads = from..from + found.len() as u32;
    let sum = |of: &dyn Fn(u32, u64) -> u64| {
        threads.clone().zip(found).fold(0u64, |sum, (thread, &found)| sum.wrapping_add(of(thread, found)))
    };
    let given = sum(&|thread, _| value(thread).wrapping_mul(turns));
    let returns = operation.starts_with("atom_");
    let wanted = match operation.trim_start_matches("atom_").trim_start_matches("red_") {
        "add" => start.wrapping_add(given) & mask,
        "max" => threads.clone().map(value).fold(start, u64::max),
        "min" => threads.clone().map(value).fold(start, u64::min),
        "or" => threads.clone().map(value).fold(start, |all, value| all | value),
        // Old values and the last one are the first one and what was given.
        "exch" => start.wrapping_add(given).wrapping_sub(sum(&|_, found| found)) & mask,
        // As often as it went up somebody won.
        "cas" => start.wrapping_add(sum(&|_, found| found)) & mask,
        // Never above the largest limit.
        _ => end.min(61),
    };
    if end != wanted {
        return Err(format!("the cell of threads from {from} on is {end}, expected {wanted}"));
    }
    if operation == "atom_add" && mask != 0 {
        // Each step raises the square by v (2 old + v).
        let steps = sum(&|thread, found| {
            let value = value(thread);
            value.wrapping_mul(found.wrapping_mul(2).wrapping_add(value.wrapping_mul(turns)))
        });
        if end.wrapping_mul(end).wrapping_sub(start.wrapping_mul(start)) & mask != steps & mask {
            return Err(format!("old values of threads from {from} on do not fit the sums"));
        }
    }
    if !returns && operation != "cas" {
        let wrong = threads.clone().zip(found).find(|&(thread, &found)| found != value(thread));
        if let Some((thread, found)) = wrong {
            return Err(format!("thread {thread} stored {found}"));
        }
    }
    Ok(())
}

fn load_as<T: Number>(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let (space, rest) = case.name.split_once('_').expect("a space");
    let (operation, kind) = rest.rsplit_once('_').expect("a type");
    let (blocks, threads) = extent(size);
    // Sums of f32 must stay below 2^24 to be exact in any order.
    let turns: u32 = match (size, space, kind) {
        (Size::Short, ..) => 5,
        (_, "global", "f32") => 60,
        _ => 500,
    };
    let count = blocks * threads;
    let start: u64 = if operation.ends_with("min") { i32::MAX as u64 } else { 0 };
    let mut setup = Setup::new(simulator, "atomics", case.name);
    let cells = setup.buffer(&vec![T::of(start); blocks as usize]);
    let out = setup.buffer(&vec![T::of(0); count as usize]);
    setup.scalar(turns);
    let mask = match kind {
        "f32" | "f64" => u64::MAX,
        _ if size_of::<T>() == 4 => u32::MAX.into(),
        _ => u64::MAX,
    };
    let float = kind.starts_with('f');
    let (global, operation) = (space == "global", operation.to_string());
    let lanes = u64::from(count) * u64::from(turns);
    setup.finish((blocks, threads), Some(lanes), move |simulator| {
        let cells: Vec<u64> =
            download::<T>(simulator, cells, blocks as usize).into_iter().map(T::integer).collect();
        let found: Vec<u64> =
            download::<T>(simulator, out, count as usize).into_iter().map(T::integer).collect();
        // Sums of old values are rounded in floating point.
        let mask = if float && operation == "atom_add" { 0 } else { mask };
        let turns = turns.into();
        let verify = |cell: u64, found: &[u64], from| {
            let wide = if mask == 0 { u64::MAX } else { mask };
            if mask == 0 {
                let given =
                    (from..from + found.len() as u32).map(|thread| value(thread) * turns).sum::<u64>();
                return if cell == given {
                    Ok(())
                } else {
                    Err(format!("the sum is {cell}, expected {given}"))
                };
            }
            verify(&operation, wide, turns, start, cell, found, from)
        };
        if global {
            return verify(cells[0], &found, 0);
        }
        (0..blocks).try_for_each(|block| {
            let from = block * threads;
            verify(cells[block as usize], &found[from as usize..][..threads as usize], from)
        })
    })
}

fn load(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    match case.name.rsplit('_').next() {
        Some("f32") => load_as::<f32>(simulator, case, size),
        Some("f64") => load_as::<f64>(simulator, case, size),
        Some("u64" | "b64") => load_as::<u64>(simulator, case, size),
        _ => load_as::<u32>(simulator, case, size),
    }
}

/// Every operation on a word of global memory, then of shared memory.
pub(super) fn cases() -> Vec<Case> {
    let names = [
        "global_red_add_u32",
        "global_red_add_u64",
        "global_red_add_f32",
        "global_red_add_f64",
        "global_red_max_u32",
        "global_red_min_s32",
        "global_red_or_b32",
        "global_red_max_u64",
        "global_red_inc_u32",
        "global_atom_add_u32",
        "global_atom_add_u64",
        "global_atom_add_f32",
        "global_atom_add_f64",
        "global_atom_max_u32",
        "global_atom_min_s32",
        "global_atom_or_b32",
        "global_atom_max_u64",
        "global_atom_inc_u32",
        "global_atom_exch_b32",
        "global_atom_exch_b64",
        "global_cas_b32",
        "global_cas_b64",
        "shared_red_add_u32",
        "shared_red_add_u64",
        "shared_red_add_f32",
        "shared_red_add_f64",
        "shared_red_max_u32",
        "shared_red_min_s32",
        "shared_red_or_b32",
        "shared_red_max_u64",
        "shared_red_inc_u32",
        "shared_atom_add_u32",
        "shared_atom_add_u64",
        "shared_atom_add_f32",
        "shared_atom_add_f64",
        "shared_atom_max_u32",
        "shared_atom_min_s32",
        "shared_atom_or_b32",
        "shared_atom_max_u64",
        "shared_atom_inc_u32",
        "shared_atom_exch_b32",
        "shared_atom_exch_b64",
        "shared_cas_b32",
        "shared_cas_b64",
    ];
    names
        .map(|name| Case { group: Group::Atomics, name, target: Target::Rate(100.0), make: load })
        .into_iter()
        .collect()
}
