//! How far a load of global memory may be put off.

use ptx_frontend::{MemOrder, RegId};

use crate::code::{Access, AccessSpace, Action, Code};
use crate::decode::Uses;

/// Most instructions that a load is put off for.
const FARTHEST: usize = 64;

/// Whether an access may be done after others, and others after it.
fn loose(access: &Access) -> bool {
    access.space == AccessSpace::Global && matches!(access.order, MemOrder::Weak | MemOrder::Relaxed)
}

/// By position: the instruction before which a load there must be done if it is put off, or nothing.
pub(crate) fn windows(code: &Code) -> Vec<Option<u32>> {
    (0..code.insts.len()).map(|at| window(code, at)).collect()
}

fn window(code: &Code, at: usize) -> Option<u32> {
    let Action::Load(access) = &code.insts[at].action else { return None };
    if !loose(access) {
        return None;
    }
    let mut uses = Uses::default();
    let mut named = |position: usize| -> Option<(Vec<RegId>, Vec<RegId>)> {
        let meta = code.meta[position];
        let function = code.functions.get(meta.function as usize)?;
        let body = code.module.functions[function.id.index()].body.as_ref()?;
        uses.collect(&code.module, body, body.instructions.get(meta.instruction as usize)?);
        Some((uses.reads.clone(), uses.writes.clone()))
    };
    let (_, loaded) = named(at)?;
    for next in at + 1..code.insts.len().min(at + FARTHEST) {
        let (reads, writes) = named(next)?;
        // A register that nobody reads may have lost its place to another.
        let read = reads.iter().any(|register| loaded.contains(register));
        if !read && writes.iter().any(|register| loaded.contains(register)) {
            return None;
        }
        let passes = match &code.insts[next].action {
            Action::Lanes(..) | Action::Nothing | Action::ReadSpecial(..) => true,
            Action::Load(access) | Action::Store(access) => loose(access),
            _ => false,
        };
        if read || !passes {
            // Whoever stops it must not be the first to need the register's place either.
            let kept = read || reaches_a_read(code, &loaded, next, &mut named);
            return (kept && next > at + 1).then_some(next as u32);
        }
    }
    None
}

/// Whether one of the registers is read before it is written, going straight on from a position.
fn reaches_a_read(
    code: &Code,
    loaded: &[RegId],
    from: usize,
    named: &mut impl FnMut(usize) -> Option<(Vec<RegId>, Vec<RegId>)>,
) -> bool {
    for at in from..code.insts.len().min(from + FARTHEST) {
        let Some((reads, writes)) = named(at) else { return false };
        if reads.iter().any(|register| loaded.contains(register)) {
            return true;
        }
        if writes.iter().any(|register| loaded.contains(register)) {
            return false;
        }
    }
    false
}
