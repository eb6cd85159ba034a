//! What is said of opcodes and modifiers that do not fit. A `brief` message is one that will not be
//! shown, as there are too many: no suggestions are looked for.

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use isa::ScalarType;
use isa::{Modifier, Opcode};

use super::compiled::INDEX;
use super::context::Context;
use super::matcher::{self, Distance};
use super::model::Variant;
use super::need::Unmet;

/// No instruction has this name.
pub(super) fn unknown_opcode((text, span): (&str, Span), brief: bool) -> Diagnostic {
    let error = Diagnostic::error(codes::UNKNOWN_OPCODE, span, format!("unknown instruction `{text}`"))
        .caption("not an instruction of PTX");
    if brief {
        return error;
    }
    match nearest(text, Opcode::ALL.iter().map(|opcode| opcode.text().to_owned())) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// No instruction has this modifier.
pub(super) fn unknown_modifier(opcode: Opcode, word: &str, span: Span, brief: bool) -> Diagnostic {
    let error = Diagnostic::error(codes::UNKNOWN_MODIFIER, span, format!("unknown modifier `.{word}`"))
        .caption("not a modifier of PTX");
    if brief {
        return error;
    }
    let known = modifiers_of(opcode);
    let near = nearest(word, known.iter().map(bare)).or_else(|| {
        let named = Modifier::NAMED.iter().map(bare);
        nearest(word, named.chain(ScalarType::ALL.iter().map(|ty| ty.text().to_owned())))
    });
    match near {
        Some(near) => error.help(format!("did you mean `.{near}`?")),
        None => error.help(takes(&format!("`{}`", opcode.text()), &known)),
    }
}

/// More modifiers than any instruction has.
pub(super) fn too_many(opcode: Opcode, words: &[(&str, Span)]) -> Diagnostic {
    let span = words.first().map_or(Span::default(), |first| first.1.to(words[words.len() - 1].1));
    let message = format!("`{}` with {} modifiers", opcode.text(), words.len());
    Diagnostic::error(codes::COMBINATION, span, message).caption("no instruction takes so many")
}

/// The modifiers are known, but no row has this combination.
pub(super) fn no_form(
    opcode: Opcode,
    span: Span,
    words: &[(&str, Span)],
    modifiers: &[Modifier],
    brief: bool,
) -> Diagnostic {
    if brief {
        let message = format!("`{}` has no such form", opcode.text());
        return Diagnostic::error(codes::COMBINATION, span, message);
    }
    let known = modifiers_of(opcode);
    if let Some(at) = modifiers.iter().position(|modifier| !known.contains(modifier)) {
        let message = format!("`{}` has no modifier `{}`", opcode.text(), modifiers[at]);
        return Diagnostic::error(codes::FOREIGN_MODIFIER, words[at].1, message)
            .caption(format!("not a modifier of `{}`", opcode.text()))
            .help(takes(&format!("`{}`", opcode.text()), &known));
    }
    let variants = || INDEX.rows(opcode).flat_map(|(_, entry)| &entry.compiled().notation.variants);
    if variants().any(|variant| matcher::fits_in_other_order(variant, modifiers)) {
        return wrong_order(opcode, span, words, modifiers, variants());
    }
    let mut nearest: Vec<(Distance, &Variant)> = Vec::new();
    let mut least = usize::MAX;
    for variant in variants() {
        let distance = Distance::between(variant, modifiers);
        let weight = distance.weight(variant, modifiers);
        if weight < least {
            nearest.clear();
            least = weight;
        }
        if weight == least {
            nearest.push((distance, variant));
        }
    }
    let Some((distance, variant)) = nearest.first() else {
        // The opcode has no rows.
        return Diagnostic::error(
            codes::UNKNOWN_OPCODE,
            span,
            format!("`{}` is not supported", opcode.text()),
        );
    };
    match distance.unplaced.first() {
        Some(&at) => misplaced(opcode, words, modifiers, distance, variant, at),
        None => missing(opcode, span, words, modifiers, &nearest),
    }
}

fn wrong_order<'a>(
    opcode: Opcode,
    span: Span,
    words: &[(&str, Span)],
    modifiers: &[Modifier],
    variants: impl Iterator<Item = &'a Variant>,
) -> Diagnostic {
    let mut help = "types, state spaces and layouts keep their order".to_owned();
    let mut at = modifiers.iter().position(|m| matches!(m, Modifier::Type(_))).unwrap_or(0);
    for variant in variants.filter(|variant| matcher::fits_in_other_order(variant, modifiers)) {
        let fixed = variant.slots[..variant.anchored].iter().enumerate().find_map(|(slot, place)| {
            let holds = |m: &Modifier| place.alternatives.iter().any(|a| a.modifier == *m);
            (!modifiers.get(slot).is_some_and(holds)).then(|| modifiers.iter().position(holds)).flatten()
        });
        if let Some(found) = fixed {
            at = found;
            help = format!("`{}` belongs right after `{}`", modifiers[at], opcode.text());
            break;
        }
    }
    let place = words.get(at).map_or(span, |word| word.1);
    Diagnostic::error(
        codes::MODIFIER_ORDER,
        place,
        format!("the modifiers of `{}` are in the wrong order", opcode.text()),
    )
    .caption("out of place")
    .help(help)
}

/// A modifier that others have, but not together with the rest.
fn misplaced(
    opcode: Opcode,
    words: &[(&str, Span)],
    modifiers: &[Modifier],
    distance: &Distance,
    variant: &Variant,
    at: usize,
) -> Diagnostic {
    let modifier = modifiers[at];
    let rival = distance.placed.iter().find(|&&(_, slot)| {
        variant.slots[slot].alternatives.iter().any(|alternative| alternative.modifier == modifier)
    });
    if let Some(&(rival, _)) = rival
        && !matches!(modifier, Modifier::Type(_))
    {
        let message = if modifiers[rival] == modifier {
            format!("`{modifier}` is given twice")
        } else {
            format!("`{modifier}` and `{}` exclude each other", modifiers[rival])
        };
        return Diagnostic::error(codes::EXCLUSIVE, words[at].1, message)
            .caption("one too many")
            .label(words[rival].1, "the other one");
    }
    let types: Vec<Modifier> = distance
        .placed
        .iter()
        .map(|&(at, _)| modifiers[at])
        .filter(|m| matches!(m, Modifier::Type(_)) != matches!(modifier, Modifier::Type(_)))
        .collect();
    let others =
        if types.is_empty() { distance.placed.iter().map(|&(at, _)| modifiers[at]).collect() } else { types };
    let with = others.iter().map(ToString::to_string).collect::<String>();
    let caption = if with.is_empty() {
        format!("not allowed for `{}`", opcode.text())
    } else {
        format!("not allowed with `{with}`")
    };
    let error = Diagnostic::error(codes::COMBINATION, words[at].1, format!("`{modifier}` is {caption}"))
        .caption(caption);
    let free: Vec<Modifier> = variant
        .slots
        .iter()
        .enumerate()
        .filter(|(slot, _)| !distance.placed.iter().any(|(_, used)| used == slot))
        .flat_map(|(_, slot)| slot.alternatives.iter().map(|alternative| alternative.modifier))
        .collect();
    let name = format!(
        "`{}{}`",
        opcode.text(),
        distance.placed.iter().map(|&(at, _)| modifiers[at].to_string()).collect::<String>()
    );
    if free.is_empty() {
        error.help(format!("{name} takes no further modifiers"))
    } else {
        error.help(takes(&name, &free))
    }
}

/// A modifier that must be there, of any of the nearest variants.
fn missing(
    opcode: Opcode,
    span: Span,
    words: &[(&str, Span)],
    modifiers: &[Modifier],
    nearest: &[(Distance, &Variant)],
) -> Diagnostic {
    let end = words.last().map_or(span, |word| span.to(word.1));
    let name = format!("{}{}", opcode.text(), modifiers.iter().map(ToString::to_string).collect::<String>());
    let mut choices: Vec<Modifier> = Vec::new();
    for (distance, variant) in nearest {
        let slots = distance.missing.first().into_iter();
        let alternatives = slots.flat_map(|&slot| &variant.slots[slot].alternatives);
        for modifier in alternatives.map(|alternative| alternative.modifier) {
            if !choices.contains(&modifier) {
                choices.push(modifier);
            }
        }
    }
    let what = match choices.as_slice() {
        [] => "is not complete".to_owned(),
        [one] => format!("lacks `{one}`"),
        [Modifier::Type(_), ..] => "lacks a type".to_owned(),
        _ => "lacks a modifier".to_owned(),
    };
    Diagnostic::error(codes::MISSING_MODIFIER, end, format!("`{name}` {what}"))
        .caption("not complete")
        .help(format!("add one of: {}", list(&choices)))
}

/// The module is too old, or for a target that lacks it.
pub(super) fn unmet(context: &Context, opcode: Opcode, unmet: &Unmet) -> Diagnostic {
    let mut named = unmet.clone();
    if named.culprit.starts_with('.') {
        named.culprit = format!("{}` with `{}", opcode.text(), unmet.culprit);
    }
    named.culprit.push('`');
    lacking(context, &named)
}

/// The same for operands that only a newer form has.
pub(super) fn unmet_form(context: &Context, unmet: &Unmet) -> Diagnostic {
    lacking(context, unmet)
}

fn lacking(context: &Context, unmet: &Unmet) -> Diagnostic {
    let module = format!("the module says {} and {}", context.version, context.target);
    let culprit = &unmet.culprit;
    if unmet.version_met && unmet.target_met {
        let (since, sm) = unmet.need.removed.unwrap_or((context.version, context.target.sm));
        return Diagnostic::error(
            codes::GONE,
            unmet.span,
            format!("`{culprit} is gone from PTX {since} on sm_{sm} and later; {module}"),
        )
        .caption("no longer there")
        // What Volta removed are the forms without a mask of threads; before, a default rounding.
        .help(if sm >= 70 {
            "use the form with `.sync`"
        } else {
            "state the rounding, such as `.rn`"
        });
    }
    let (code, needs) = match (unmet.version_met, unmet.target_met) {
        (false, true) => (codes::TOO_OLD, format!("PTX {}", unmet.version)),
        (true, false) => (codes::WRONG_TARGET, unmet.need.target_text()),
        _ => (codes::TOO_OLD, format!("PTX {} and {}", unmet.version, unmet.need.target_text())),
    };
    Diagnostic::error(code, unmet.span, format!("`{culprit} needs {needs}, {module}"))
        .caption(format!("needs {needs}"))
}

/// All modifiers that rows of the opcode have, in order of appearance.
fn modifiers_of(opcode: Opcode) -> Vec<Modifier> {
    let mut known = Vec::new();
    for (_, entry) in INDEX.rows(opcode) {
        let slots = entry.compiled().notation.variants.iter().flat_map(|variant| &variant.slots);
        for alternative in slots.flat_map(|slot| &slot.alternatives) {
            if !known.contains(&alternative.modifier) {
                known.push(alternative.modifier);
            }
        }
    }
    known
}

fn takes(name: &str, modifiers: &[Modifier]) -> String {
    if modifiers.is_empty() {
        return format!("{name} takes no modifiers");
    }
    format!("{name} takes: {}", list(modifiers))
}

/// At most two dozen of them.
fn list(modifiers: &[Modifier]) -> String {
    let mut unique: Vec<&Modifier> = Vec::new();
    for modifier in modifiers {
        if !unique.contains(&modifier) {
            unique.push(modifier);
        }
    }
    let shown: Vec<String> = unique.iter().take(24).map(ToString::to_string).collect();
    let more = if unique.len() > 24 { ", …" } else { "" };
    format!("{}{more}", shown.join(" "))
}

fn bare(modifier: &Modifier) -> String {
    modifier.to_string().trim_start_matches('.').to_owned()
}

/// The candidate nearest in spelling, if it is near.
fn nearest(word: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (distance(word, &candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance; words that are far longer than any modifier count as far away.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    if left.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, &r) in right.iter().enumerate() {
            let replace = diagonal + usize::from(l != r);
            diagonal = row[column + 1];
            row[column + 1] = replace.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
