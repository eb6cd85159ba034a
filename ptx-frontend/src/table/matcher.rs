//! Fits a list of modifiers, in any order, into the slots of a variant.

use smallvec::SmallVec;

use isa::Modifier;

use super::model::{Slot, Variant};
use super::need::Need;

/// The slot of each modifier, in the order written.
pub(super) type Assignment = SmallVec<[u8; 12]>;

/// Modifiers whose order among themselves has meaning: types, spaces, layouts, priorities, bit
/// operations.
fn order_class(modifier: Modifier) -> Option<u8> {
    use Modifier as M;
    Some(match modifier {
        M::Type(_) => 0,
        M::Const | M::Global | M::Local | M::Param | M::ParamEntry | M::ParamFunc => 1,
        M::Shared | M::SharedCta | M::SharedCluster => 1,
        M::Row | M::Col => 2,
        M::L2EvictNormal | M::L2EvictFirst | M::L2EvictLast | M::L2EvictUnchanged => 3,
        M::And | M::Or | M::Xor | M::Popc => 4,
        _ => return None,
    })
}

/// Fits all modifiers, or says no.
pub(super) fn fit(variant: &Variant, modifiers: &[Modifier]) -> Option<Assignment> {
    if modifiers.len() > variant.slots.len() {
        return None;
    }
    let mut assignment = Assignment::new();
    place(variant, modifiers, 0, &mut assignment, false).then_some(assignment)
}

/// Whether all would fit if only the order were another; types keep theirs.
pub(super) fn fits_in_other_order(variant: &Variant, modifiers: &[Modifier]) -> bool {
    modifiers.len() <= variant.slots.len() && place(variant, modifiers, 0, &mut Assignment::new(), true)
}

fn holds(slot: &Slot, modifier: Modifier) -> bool {
    slot.alternatives.iter().any(|alternative| alternative.modifier == modifier)
}

fn place(
    variant: &Variant,
    modifiers: &[Modifier],
    used: u32,
    assignment: &mut Assignment,
    any_order: bool,
) -> bool {
    let at = assignment.len();
    let Some(&modifier) = modifiers.get(at) else {
        return complete(variant, used);
    };
    let class = order_class(modifier);
    let first = if any_order && class != Some(0) {
        0
    } else if !any_order && at < variant.anchored {
        return holds(&variant.slots[at], modifier) && {
            assignment.push(at as u8);
            let fits = place(variant, modifiers, used | 1 << at, assignment, false);
            if !fits {
                assignment.pop();
            }
            fits
        };
    } else {
        // After the last one of its class.
        let mut before = modifiers[..at].iter().zip(assignment.iter()).rev();
        let last = before.find(|(m, _)| class.is_some() && order_class(**m) == class);
        let anchored = if any_order { 0 } else { variant.anchored };
        last.map_or(anchored, |(_, &slot)| usize::from(slot) + 1).max(anchored)
    };
    for (slot, candidate) in variant.slots.iter().enumerate().skip(first) {
        if used & 1 << slot == 0 && holds(candidate, modifier) {
            assignment.push(slot as u8);
            if place(variant, modifiers, used | 1 << slot, assignment, any_order) {
                return true;
            }
            assignment.pop();
        }
    }
    false
}

/// Whether every required slot is used, and of each optional group all or nothing.
fn complete(variant: &Variant, used: u32) -> bool {
    let mut groups = 0u32;
    for (at, slot) in variant.slots.iter().enumerate() {
        if let (Some(group), true) = (slot.group, used & 1 << at != 0) {
            groups |= 1 << group;
        }
    }
    let nested = |group: u8| {
        let parent = variant.parents[usize::from(group)];
        parent.is_none_or(|parent| groups & 1 << parent != 0)
    };
    (0..variant.parents.len() as u8).all(|group| groups & 1 << group == 0 || nested(group))
        && variant
            .slots
            .iter()
            .enumerate()
            .all(|(at, slot)| used & 1 << at != 0 || slot.group.is_some_and(|group| groups & 1 << group == 0))
}

/// What the chosen alternatives need beyond the row, with the index of the modifier.
pub(super) fn needs<'a>(
    variant: &'a Variant,
    modifiers: &'a [Modifier],
    assignment: &'a Assignment,
) -> impl Iterator<Item = (usize, &'a Need)> + 'a {
    modifiers.iter().zip(assignment).enumerate().filter_map(|(at, (modifier, slot))| {
        let alternatives = &variant.slots[usize::from(*slot)].alternatives;
        let chosen = alternatives.iter().find(|alternative| alternative.modifier == *modifier)?;
        Some((at, chosen.need.as_ref()?))
    })
}

/// How near a list of modifiers comes to a variant, for messages.
#[derive(Clone, Debug)]
pub(super) struct Distance {
    /// Indices of modifiers that have no place.
    pub(super) unplaced: SmallVec<[usize; 4]>,
    /// Required slots that stay empty.
    pub(super) missing: SmallVec<[usize; 4]>,
    /// The slot of each modifier that has a place.
    pub(super) placed: SmallVec<[(usize, usize); 12]>,
}

impl Distance {
    /// Greedy: each modifier takes the first free slot that holds it, types in their order.
    pub(super) fn between(variant: &Variant, modifiers: &[Modifier]) -> Self {
        let mut this = Self { unplaced: SmallVec::new(), missing: SmallVec::new(), placed: SmallVec::new() };
        let (mut used, mut next_type) = (0u32, 0);
        for (at, &modifier) in modifiers.iter().enumerate() {
            let first = if matches!(modifier, Modifier::Type(_)) { next_type } else { 0 };
            let free =
                |&(slot, candidate): &(usize, &Slot)| used & 1 << slot == 0 && holds(candidate, modifier);
            match variant.slots.iter().enumerate().skip(first).find(free) {
                Some((slot, _)) => {
                    if matches!(modifier, Modifier::Type(_)) {
                        next_type = slot + 1;
                    }
                    used |= 1 << slot;
                    this.placed.push((at, slot));
                }
                None => this.unplaced.push(at),
            }
        }
        let mut groups = 0u32;
        for &(_, slot) in &this.placed {
            let mut group = variant.slots[slot].group;
            while let Some(inner) = group {
                groups |= 1 << inner;
                group = variant.parents[usize::from(inner)];
            }
        }
        for (at, slot) in variant.slots.iter().enumerate() {
            let required = slot.group.is_none_or(|group| groups & 1 << group != 0);
            if required && used & 1 << at == 0 {
                this.missing.push(at);
            }
        }
        this
    }

    /// Smaller is nearer; types and what belongs to the opcode word weigh more.
    pub(super) fn weight(&self, variant: &Variant, modifiers: &[Modifier]) -> usize {
        let unplaced = self.unplaced.iter().map(|&at| match modifiers[at] {
            Modifier::Type(_) | Modifier::Shape(..) => 5,
            _ => 4,
        });
        let missing = self.missing.iter().map(|&slot| if slot < variant.anchored { 6 } else { 3 });
        unplaced.sum::<usize>() + missing.sum::<usize>()
    }
}
