//! Enumerates what a row stands for.

use crate::target::{PtxVersion, Target, TargetKind};
use isa::{Modifier, Opcode};

use super::context::Context;
use super::expect::{self, Expect, Kind};
use super::model::{Notation, Variant};
use super::role::{OperandKind, OperandRole};

/// Every list of modifiers.
pub(super) fn all(notation: &Notation) -> Vec<Vec<Modifier>> {
    let mut lists = Vec::new();
    for variant in &notation.variants {
        for groups in group_choices(variant) {
            let start = lists.len();
            lists.push(Vec::new());
            for slot in present(variant, groups) {
                let before = lists.split_off(start);
                for list in &before {
                    for alternative in &variant.slots[slot].alternatives {
                        let mut longer: Vec<Modifier> = list.clone();
                        longer.push(alternative.modifier);
                        lists.push(longer);
                    }
                }
            }
        }
    }
    lists.sort_unstable();
    lists.dedup();
    lists
}

/// For each variant and group choice, lists in which each alternative occurs once.
pub(super) fn covering(notation: &Notation) -> Vec<Vec<Modifier>> {
    let mut lists = Vec::new();
    for variant in &notation.variants {
        let choices: Vec<u32> = group_choices(variant).collect();
        // None, all, and each group alone.
        let full = choices.iter().copied().fold(0, |all, one| all | one);
        let few = choices.iter().filter(|groups| {
            groups.count_ones() <= 1 || **groups == full || !groups.is_power_of_two() && choices.len() <= 8
        });
        for &groups in few {
            let slots: Vec<usize> = present(variant, groups).collect();
            let most = slots.iter().map(|&s| variant.slots[s].alternatives.len()).max().unwrap_or(1);
            for turn in 0..most {
                let pick = |&slot: &usize| {
                    let alternatives = &variant.slots[slot].alternatives;
                    alternatives[turn % alternatives.len()].modifier
                };
                lists.push(slots.iter().map(pick).collect::<Vec<_>>());
            }
        }
    }
    lists.sort_unstable();
    lists.dedup();
    lists
}

/// The sets of optional groups that may be present together, as masks.
fn group_choices(variant: &Variant) -> impl Iterator<Item = u32> + '_ {
    let count = variant.parents.len().min(16);
    (0..1u32 << count).filter(move |mask| {
        let parented = |group: usize| {
            let parent = variant.parents[group];
            parent.is_none_or(|parent| mask & 1 << parent != 0)
        };
        let used = |group: usize| variant.slots.iter().any(|slot| slot.group == Some(group as u8));
        (0..count).all(|group| mask & 1 << group == 0 || (parented(group) && used(group)))
    })
}

fn present(variant: &Variant, groups: u32) -> impl Iterator<Item = usize> + '_ {
    let slots = variant.slots.iter().enumerate();
    slots.filter(move |(_, slot)| slot.group.is_none_or(|group| groups & 1 << group != 0)).map(|(at, _)| at)
}

/// The operand lists for one list of modifiers.
pub(super) fn operands(
    opcode: Opcode,
    notation: &'static Notation,
    modifiers: &[Modifier],
) -> Vec<Vec<OperandKind>> {
    let lists = expected(opcode, notation, modifiers);
    lists.iter().map(|list| list.iter().map(kind).collect()).collect()
}

/// The same, as instructions are checked against them.
pub(super) fn expected(
    opcode: Opcode,
    notation: &'static Notation,
    modifiers: &[Modifier],
) -> Vec<Box<[Expect]>> {
    let context = Context {
        version: PtxVersion::NEWEST,
        target: Target { sm: u16::MAX, kind: TargetKind::Portable },
        address_size: 64,
    };
    let signatures = notation.signatures.iter();
    signatures.filter_map(|signature| expect::signature(&context, opcode, modifiers, signature)).collect()
}

fn kind(expect: &Expect) -> OperandKind {
    let value = if expect.flags.destination {
        OperandRole::Destination
    } else {
        OperandRole::Source { register_only: expect.flags.register_only }
    };
    let role = match &expect.kind {
        Kind::Value | Kind::Pack | Kind::Pair { .. } => value,
        Kind::Constant { low, high, list } => OperandRole::Constant {
            low: list.iter().copied().min().unwrap_or(*low),
            high: list.iter().copied().max().unwrap_or(*high),
        },
        Kind::Address { space, .. } => OperandRole::Address(*space),
        Kind::TensorAddress => OperandRole::TensorAddress,
        Kind::List(inner) => OperandRole::List(inner.iter().map(kind).collect()),
        Kind::Handle => OperandRole::Handle,
        Kind::Label => OperandRole::Label,
        Kind::Targets => OperandRole::BranchTargets,
        Kind::Callee => OperandRole::Callee,
        Kind::Arguments => OperandRole::Arguments,
        Kind::Prototype => OperandRole::Prototype,
        Kind::Sink => OperandRole::Sink,
    };
    OperandKind {
        name: expect.name,
        role,
        ty: expect.ty,
        elements: expect.count,
        paired: matches!(expect.kind, Kind::Pair { optional: false, .. }),
        pairable: matches!(expect.kind, Kind::Pair { .. }),
        negatable: expect.flags.negatable,
        selectable: expect.flags.part,
        wider: expect.flags.wider,
        packed: matches!(expect.kind, Kind::Pack),
    }
}
