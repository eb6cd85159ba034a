//! From words to rows, and from rows and operands to one form.

use smallvec::SmallVec;

use crate::diagnostic::Diagnostic;
use crate::module::Op;
use crate::report;
use crate::span::Span;
use crate::target::PtxVersion;
use isa::{Modifier, Opcode};

use super::check;
use super::compiled::INDEX;
use super::context::Context;
use super::effects::Effects;
use super::expect::{self, Expect};
use super::form::Form;
use super::matcher;
use super::need::{Need, Unmet};
use super::{OperandView, Resolved, messages, operand_messages};

/// More modifiers than any instruction takes; bounds the work on hostile input.
const MAX_WORDS: usize = 32;

/// A row that the modifiers fit.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) form: Form,
    /// The lists of operands it takes.
    pub(super) signatures: Vec<Operands>,
    /// What the module lacks for the row itself.
    pub(super) unmet: Option<Box<Unmet>>,
}

/// One list of operands that a row takes.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    pub(super) expected: Box<[Expect]>,
    pub(super) effects: Effects,
    /// What the module lacks for it beyond the row.
    pub(super) unmet: Option<Box<Unmet>>,
}

/// Resolves modifiers; see [`super::resolve_op`].
pub(super) fn resolve(
    context: &Context,
    opcode: Opcode,
    span: Span,
    words: &[(&str, Span)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Resolved> {
    let before = diagnostics.len();
    if words.len() > MAX_WORDS {
        diagnostics.push(messages::too_many(opcode, words));
        return None;
    }
    let mut modifiers = SmallVec::<[Modifier; 6]>::new();
    for &(word, at) in words {
        match Modifier::from_text(word) {
            Some(modifier) => modifiers.push(modifier),
            None => {
                let brief = diagnostics.len() >= report::LIMIT;
                diagnostics.push(messages::unknown_modifier(opcode, word, at, brief));
            }
        }
    }
    if diagnostics.len() > before {
        return None;
    }
    let mut candidates = candidates(context, opcode, span, words, &modifiers);
    candidates.shrink_to_fit();
    let Some(first) = candidates.first() else {
        let brief = diagnostics.len() >= report::LIMIT;
        diagnostics.push(messages::no_form(opcode, span, words, &modifiers, brief));
        return None;
    };
    if let Some(unmet) = &first.unmet {
        diagnostics.push(messages::unmet(context, opcode, unmet));
        return None;
    }
    let form = first.form;
    // Those of an instruction come from the list of operands that it fits.
    let effects = first.signatures.first().map_or_else(
        || Effects::new(opcode, &modifiers, INDEX.entries[usize::from(form.0)].does, &[]),
        |signature| signature.effects,
    );
    Some(Resolved { op: Op { opcode, modifiers, form, effects }, candidates })
}

/// The rows that fit, usable ones first, then by what they lack.
fn candidates(
    context: &Context,
    opcode: Opcode,
    span: Span,
    words: &[(&str, Span)],
    modifiers: &[Modifier],
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for (at, entry) in INDEX.rows(opcode) {
        let compiled = entry.compiled();
        // Of several variants the one that the module may use.
        let mut best: Option<Option<Box<Unmet>>> = None;
        for variant in &compiled.notation.variants {
            let Some(assignment) = matcher::fit(variant, modifiers) else { continue };
            let whole = std::iter::once((None, &compiled.need));
            let parts = matcher::needs(variant, modifiers, &assignment).map(|(m, need)| (Some(m), need));
            let unmet = lacking(context, opcode, span, words, whole.chain(parts));
            let better = best.as_ref().is_none_or(|best| rank(&unmet) < rank(best));
            if better {
                best = Some(unmet);
            }
        }
        let Some(unmet) = best else { continue };
        let signatures = compiled.notation.signatures.iter();
        let signatures: Vec<_> = signatures
            .filter_map(|signature| {
                let needs = signature.needs.iter().map(|need| (None, need));
                let unmet = lacking(context, opcode, span, words, needs);
                let expected = expect::signature(context, opcode, modifiers, signature)?;
                let effects = Effects::new(opcode, modifiers, entry.does, &expected);
                Some(Operands { expected, effects, unmet })
            })
            .collect();
        candidates.push(Candidate { form: Form(at), signatures, unmet });
    }
    candidates.sort_by_key(|candidate| rank(&candidate.unmet));
    candidates
}

fn rank(unmet: &Option<Box<Unmet>>) -> (bool, bool, PtxVersion) {
    match unmet {
        None => (false, false, PtxVersion::new(0, 0)),
        Some(unmet) => (true, !unmet.target_met, unmet.version),
    }
}

/// The instruction as it is written.
fn whole(opcode: Opcode, span: Span, words: &[(&str, Span)]) -> (String, Span) {
    let mut text = opcode.text().to_owned();
    for (word, _) in words {
        text.push('.');
        text.push_str(word);
    }
    (text, words.last().map_or(span, |last| span.to(last.1)))
}

/// The first need that is not met, with the newest version of all.
fn lacking<'a>(
    context: &Context,
    opcode: Opcode,
    span: Span,
    words: &[(&str, Span)],
    needs: impl Iterator<Item = (Option<usize>, &'a Need)>,
) -> Option<Box<Unmet>> {
    let mut found: Option<Box<Unmet>> = None;
    for (at, need) in needs {
        if need.met(context) {
            continue;
        }
        let word = at.and_then(|at| words.get(at));
        let (culprit, span) = match word {
            Some((word, span)) => (format!(".{word}"), *span),
            None => whole(opcode, span, words),
        };
        let (version_met, target_met) = (need.version_met(context), need.target_met(context));
        match &mut found {
            None => {
                found = Some(Box::new(Unmet {
                    culprit,
                    span,
                    version: need.version,
                    need: need.clone(),
                    version_met,
                    target_met,
                }));
            }
            Some(found) => {
                if need.version > found.version && !version_met {
                    found.version = need.version;
                    found.version_met = false;
                }
                if !target_met && found.target_met {
                    found.need = need.clone();
                    found.target_met = false;
                }
            }
        }
    }
    found
}

/// Checks operands; see [`super::check_operands`].
pub(super) fn check(
    context: &Context,
    resolved: &Resolved,
    view: &OperandView<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Form, Effects)> {
    let mut refused = None;
    for candidate in &resolved.candidates {
        for signature in &candidate.signatures {
            let expected = &signature.expected;
            if expected.len() != view.operands.len() || check::fits(context, expected, view).is_err() {
                continue;
            }
            match candidate.unmet.as_ref().or(signature.unmet.as_ref()) {
                None => return Some((candidate.form, signature.effects)),
                unmet => refused = refused.or(unmet),
            }
        }
    }
    diagnostics.push(match refused {
        Some(unmet) => {
            let mut unmet = unmet.clone();
            unmet.culprit = format!("{}` with these operands", resolved.op);
            unmet.span = view.span;
            messages::unmet_form(context, &unmet)
        }
        None if diagnostics.len() >= report::LIMIT => operand_messages::brief(resolved, view),
        None => operand_messages::misfit(context, resolved, view),
    });
    None
}
