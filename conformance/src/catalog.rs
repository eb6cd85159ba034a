//! Which instructions there are to compare: the instruction table, expanded.

use std::collections::HashSet;
use std::sync::Arc;

use ptx_frontend::{
    Form, Modifier, Modifiers, Module, OperandKind, OperandRole, PtxVersion, ScalarType, Severity, Source,
    Work, forms, parse,
};
use rayon::prelude::*;

use crate::case::{Case, Class, Register, Role, TARGET};
use crate::kernel;
use crate::numbers::seed;

/// Cases in one module.
pub(crate) const BATCH: usize = 200;

/// Instructions of a form that have no case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NotCovered {
    /// The form.
    pub form: Form,
    /// How many of its instructions; 1 for a form that was not expanded.
    pub instructions: usize,
    /// Why.
    pub reason: String,
}

/// Cases in a module.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The cases; kernel `kN` is that of the N-th.
    pub(crate) cases: Vec<Case>,
    /// The module.
    pub(crate) module: Arc<Module>,
}

/// All cases.
#[derive(Clone, Debug)]
pub struct Catalog {
    pub(crate) batches: Vec<Batch>,
    /// What has no case, by form.
    pub not_covered: Vec<NotCovered>,
}

impl Catalog {
    /// Expands the forms of the table whose instructions `wanted` accepts by their text.
    pub fn new(wanted: impl Fn(&str) -> bool + Sync) -> Catalog {
        let mut not_covered = Vec::new();
        let mut cases = Vec::new();
        let mut texts = HashSet::new();
        for form in forms() {
            if let Some(reason) = excluded(form) {
                if wanted(form.notation()) {
                    not_covered.push(NotCovered { form, instructions: 1, reason });
                }
                continue;
            }
            // Some rows overlap: one instruction is one case.
            let expanded = expand(form).into_iter();
            cases.extend(expanded.filter(|case| wanted(&case.text) && texts.insert(case.text.clone())));
        }
        let batches: Vec<(Option<Batch>, Vec<NotCovered>)> =
            cases.par_chunks(BATCH).map(|cases| check(cases.to_vec())).collect();
        let mut catalog = Catalog { batches: Vec::new(), not_covered };
        for (batch, refused) in batches {
            catalog.batches.extend(batch);
            for refusal in refused {
                let same =
                    |other: &&mut NotCovered| other.form == refusal.form && other.reason == refusal.reason;
                match catalog.not_covered.iter_mut().find(same) {
                    Some(other) => other.instructions += refusal.instructions,
                    None => catalog.not_covered.push(refusal),
                }
            }
        }
        catalog.not_covered.sort();
        catalog
    }

    /// All cases in order.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.batches.iter().flat_map(|batch| &batch.cases)
    }

    /// The module of a case, as PTX text.
    pub fn ptx(&self, case: &Case) -> String {
        kernel::module(std::slice::from_ref(case)).0
    }
}

/// Takes out what the front end refuses for the target, and makes a module of the rest.
pub(crate) fn check(mut cases: Vec<Case>) -> (Option<Batch>, Vec<NotCovered>) {
    let mut refused = Vec::new();
    // Each turn takes out at least one case.
    while !cases.is_empty() {
        let (text, lines) = kernel::module(&cases);
        let parsed = parse(Source::new("conformance.ptx", text.into_bytes()));
        if let Some(module) = parsed.module {
            return (Some(Batch { cases, module: Arc::new(module) }), refused);
        }
        let mut wrong: Vec<Option<String>> = vec![None; cases.len()];
        for error in parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error) {
            let (line, _) = parsed.source.line_column(error.span.start);
            let at = lines.partition_point(|&first| first <= line).saturating_sub(1);
            wrong[at].get_or_insert_with(|| reason(&error.message));
        }
        let before = cases.len();
        let mut kept = Vec::new();
        for (case, reason) in cases.into_iter().zip(wrong) {
            match reason {
                None => kept.push(case),
                Some(reason) => refused.push(NotCovered { form: case.form, instructions: 1, reason }),
            }
        }
        cases = kept;
        if cases.len() == before {
            break;
        }
    }
    (None, refused)
}

/// What a message says of any instruction: without the name of this one, and without the module's header.
pub(crate) fn reason(message: &str) -> String {
    let message = message.split("; the module says").next().unwrap_or(message);
    let unnamed = message.strip_prefix('`').and_then(|rest| rest.split_once("` "));
    unnamed.map_or(message, |(_, rest)| rest).to_owned()
}

/// Why a form has no cases.
fn excluded(form: Form) -> Option<String> {
    if let Some(need) = unmet(form) {
        return Some(need);
    }
    Some(
        match (form.group(), form.work()) {
            ("integer" | "float" | "half" | "compare" | "logic" | "convert" | "video", _) => return None,
            (_, Work::Move | Work::Exchange) | ("matrix", Work::Matrix) => return None,
            (_, Work::Address) => {
                "is about addresses, which are each device's own: see testdata/instructions/memory"
            }
            ("move", _) => "gives an opaque cache policy",
            ("sync", _) => "synchronises: see testdata/instructions",
            ("matrix" | "memory" | "async" | "atomic" | "mbarrier", _) => {
                "accesses memory: see testdata/instructions/memory"
            }
            ("texture", _) => "accesses textures or surfaces",
            ("wgmma", _) => "works on shared memory and a warpgroup",
            ("control", _) => "has no register result: see testdata/instructions/control",
            _ => "has no register result",
        }
        .into(),
    )
}

/// What a form needs that the modules do not have.
fn unmet(form: Form) -> Option<String> {
    let minimum = form.minimum();
    let target = |name: &str| name.strip_prefix("sm_").and_then(|digits| digits.parse::<u32>().ok());
    let available = target(TARGET)?;
    let has = |name: &String| target(name).is_some_and(|sm| sm <= available);
    if !minimum.targets.is_empty() && !minimum.targets.iter().any(has) {
        return Some(format!("needs {}", minimum.targets.join(" or ")));
    }
    (minimum.version > PtxVersion::new(9, 0)).then(|| format!("needs PTX {}", minimum.version))
}

/// All cases of a form, whether or not the target has them.
fn expand(form: Form) -> Vec<Case> {
    let mut cases = Vec::new();
    for modifiers in form.instances() {
        for kinds in form.operand_kinds(&modifiers) {
            let constants = kinds.iter().map(|kind| constants(kind, &modifiers).len()).max().unwrap_or(1);
            let optional = kinds.iter().any(|kind| {
                (kind.pairable && !kind.paired)
                    || kind.negatable
                    || kind.selectable
                    || kind.packed
                    || widened(kind)
            });
            for at in 0..constants.max(1) {
                for full in [false, true] {
                    if full && !optional {
                        continue;
                    }
                    cases.extend(Builder::new(form, &modifiers, full, at).case(&kinds));
                }
            }
        }
    }
    cases
}

/// Whether a wider register is worth trying.
fn widened(kind: &OperandKind) -> bool {
    kind.wider && kind.ty.bits() < 32
}

/// The constants that are tried in a place.
fn constants(kind: &OperandKind, modifiers: &[Modifier]) -> Vec<i64> {
    match kind.role {
        // Which threads hold the metadata of a sparse matrix: as many choices as fit.
        OperandRole::Constant { low: 0, high: 3 } if kind.name == "f" => (0..selectors(modifiers)).collect(),
        // The table of a three-input function.
        OperandRole::Constant { low: 0, high: 255 } => {
            vec![0x96, 0xe8, 0xca, 0x80, 0xfe, 0x1b, 0x6a, 0x00, 0xff, 0x01, 0x3c, 0xd2]
        }
        OperandRole::Constant { low, high } => (low..=high.min(low + 3)).collect(),
        _ => Vec::new(),
    }
}

/// The selectors of a sparse matrix: a row of A has 16, 32 or 64 bits of metadata, and the threads of a
/// group of four hold 64.
fn selectors(modifiers: &[Modifier]) -> i64 {
    let k = modifiers.shape().map_or(16, |(_, _, k)| i64::from(k));
    let bits = match element(modifiers, "a").map(ScalarType::bits) {
        Some(32) => 2 * k,
        Some(4) => k / 2,
        _ => k,
    };
    (64 / bits).clamp(1, 4)
}

/// Makes one case.
struct Builder<'a> {
    form: Form,
    modifiers: &'a [Modifier],
    /// Uses everything that may be left out: pairs, negations, selectors, wider registers.
    full: bool,
    constant: usize,
    text: String,
    number: usize,
    class: Class,
    results: Vec<Register>,
    sources: Vec<Register>,
}

impl<'a> Builder<'a> {
    fn new(form: Form, modifiers: &'a [Modifier], full: bool, constant: usize) -> Self {
        let text = modifiers.iter().fold(form.opcode().text().to_owned(), |text, m| text + &m.to_string());
        let class = match form.work() {
            Work::Matrix => Class::Matrix,
            Work::Exchange => Class::Warp,
            _ => Class::Lane,
        };
        let (results, sources) = (Vec::new(), Vec::new());
        Builder { form, modifiers, full, constant, text, number: 0, class, results, sources }
    }

    /// The case; `None` where there is no such operand.
    fn case(mut self, kinds: &[OperandKind]) -> Option<Case> {
        let op = self.text.clone();
        let mut operands = Vec::new();
        for kind in kinds {
            operands.push(self.operand(kind, &op)?);
        }
        if self.class == Class::Warp {
            self.sources.insert(0, special("%g", ScalarType::Pred, 1, Role::Guard));
        }
        if self.form.effects(self.modifiers).any(|effects| effects.reads_carry() || effects.writes_carry()) {
            self.sources.push(special("%carry", ScalarType::Pred, 1, Role::Carry));
            self.results.push(special("%carry", ScalarType::Pred, 1, Role::Carry));
        }
        let text = format!("{op} {}", operands.join(", "));
        let text = text.trim_end().to_owned();
        let Builder { form, class, results, sources, .. } = self;
        Some(Case { form, text, class, results, sources, few: false })
    }

    fn operand(&mut self, kind: &OperandKind, op: &str) -> Option<String> {
        let destination = match kind.role {
            OperandRole::Destination => true,
            OperandRole::Source { .. } => false,
            OperandRole::Constant { .. } => {
                self.number += 1;
                // The list is as long as that of the operand with the most.
                let list = constants(kind, self.modifiers);
                return list.get(self.constant).map(i64::to_string);
            }
            _ => return None,
        };
        if kind.name == "membermask" {
            self.number += 1;
            return Some("%m".into());
        }
        if kind.packed {
            return self.pack(kind, destination);
        }
        if kind.elements > 0 {
            let parts: Vec<String> = (0..kind.elements).map(|_| self.register(kind, destination)).collect();
            return Some(format!("{{{}}}", parts.join(", ")));
        }
        let mut text = self.register(kind, destination);
        if kind.paired || (self.full && kind.pairable) {
            let pair = self.add(ScalarType::Pred, 1, Role::Value, true);
            text = format!("{text}|{pair}");
        }
        if self.full && kind.negatable {
            text = if kind.ty == ScalarType::Pred { format!("!{text}") } else { format!("-{text}") };
        }
        if self.full && kind.selectable {
            text += &selector(op, kind, self.number);
        }
        Some(text)
    }

    /// A register of an operand.
    fn register(&mut self, kind: &OperandKind, destination: bool) -> String {
        let bytes = match self.full && widened(kind) {
            true => 4,
            // Where only the exact size will do.
            false if kind.ty.bits() == 8 && !kind.wider => 1,
            false => register_bytes(kind.ty),
        };
        let (ty, role) = match (self.class, kind.name) {
            (Class::Matrix, "e") => (ScalarType::B32, Role::Metadata),
            (Class::Matrix, name) => (element(self.modifiers, name).unwrap_or(kind.ty), Role::Fragment),
            _ => (kind.ty, Role::Value),
        };
        self.add(ty, bytes, role, destination)
    }

    /// A vector of two or four equal parts.
    fn pack(&mut self, kind: &OperandKind, destination: bool) -> Option<String> {
        let parts = if self.full { 4 } else { 2 };
        let whole = register_bytes(kind.ty);
        let part = whole / parts;
        let ty = match part {
            1 => ScalarType::B8,
            2 => ScalarType::B16,
            4 => ScalarType::B32,
            8 => ScalarType::B64,
            _ => return None,
        };
        let names: Vec<String> = (0..parts).map(|_| self.add(ty, part, Role::Value, destination)).collect();
        Some(format!("{{{}}}", names.join(", ")))
    }

    fn add(&mut self, ty: ScalarType, bytes: usize, role: Role, destination: bool) -> String {
        let letter = match (ty, bytes) {
            (ScalarType::Pred, _) => "p",
            (_, 1) => "b",
            (_, 2) => "h",
            (_, 4) => "r",
            (_, 8) => "d",
            _ => "q",
        };
        let name = format!("%{letter}{}", self.number);
        self.number += 1;
        let register = Register { name: name.clone(), ty, bytes, role };
        if destination {
            self.results.push(register)
        } else {
            self.sources.push(register)
        }
        name
    }
}

fn special(name: &str, ty: ScalarType, bytes: usize, role: Role) -> Register {
    Register { name: name.into(), ty, bytes, role }
}

/// Bytes of the register that holds a value: at least 16 bits, as compilers do it.
fn register_bytes(ty: ScalarType) -> usize {
    match ty {
        ScalarType::Pred => 1,
        ScalarType::E2m1x2 => 1,
        _ => (ty.bytes() as usize).next_power_of_two().max(2),
    }
}

/// The type of a matrix's elements: those of D, A, B, C follow each other, or of D and C for `.f16`.
fn element(modifiers: &[Modifier], name: &str) -> Option<ScalarType> {
    let types: Vec<ScalarType> = modifiers
        .iter()
        .filter_map(|modifier| if let Modifier::Type(ty) = modifier { Some(*ty) } else { None })
        .collect();
    let order = match types[..] {
        [d, c] => [d, ScalarType::F16, ScalarType::F16, c],
        [d, a, b, c] => [d, a, b, c],
        _ => return None,
    };
    let at = ["d", "a", "b", "c"].iter().position(|&matrix| matrix == name)?;
    Some(order[at])
}

/// A selector of a video instruction's operand, chosen by the text.
fn selector(op: &str, kind: &OperandKind, number: usize) -> String {
    let mut choice = seed(op).rotate_left(7 * number as u32);
    let mut pick = |count: u64| {
        choice = choice.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        choice % count
    };
    let word = op.split('.').next().unwrap_or_default();
    let destination = kind.role == OperandRole::Destination;
    // The operand that is merged has none.
    if kind.name == "c" {
        return String::new();
    }
    match word.chars().last() {
        Some('2') if destination => [".h0", ".h1", ".h10"][pick(3) as usize].into(),
        Some('2') => format!(".h{}{}", pick(4), pick(4)),
        Some('4') if destination => {
            let mask = 1 + pick(15);
            let bytes = (0..4).rev().filter(|bit| mask >> bit & 1 != 0);
            bytes.fold(".b".to_owned(), |text, byte| text + &byte.to_string())
        }
        // The assembler takes `.b1024` for a type.
        Some('4') => format!(".b{}{}{}{}", pick(8), pick(8), pick(8), pick(8)).replace("1024", "1025"),
        _ => [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"][pick(6) as usize].into(),
    }
}
