//! Every instruction that the front end accepts is either supported or named in
//! `unsupported-forms.txt`, so that what the simulator runs is a reviewed list.

use std::collections::{BTreeMap, BTreeSet};

use ptx_frontend::{Form, Source, parse};
use sim_core::SimdLevel;
use sim_core::code::Action;
use testkit::samples::{Instruction, instructions, wrap};

const UNSUPPORTED: &str = include_str!("unsupported-forms.txt");

/// Opcode and modifiers.
fn op(instruction: &Instruction) -> &str {
    instruction.text.split(' ').next().unwrap_or_default()
}

/// The instructions that decoding refuses, by index.
fn refused(list: &[Instruction]) -> BTreeSet<usize> {
    // What follows an end or a jump is never reached and never decoded: those stand alone.
    let ends = |op: &str| matches!(op.split('.').next(), Some("bra" | "ret" | "exit" | "trap"));
    let mut modules: BTreeMap<(&str, &str, usize), Vec<usize>> = BTreeMap::new();
    for (at, instruction) in list.iter().enumerate() {
        let alone = if ends(op(instruction)) { at + 1 } else { 0 };
        modules.entry((instruction.version, instruction.target, alone)).or_default().push(at);
    }
    let mut refused = BTreeSet::new();
    for ((version, target, _), indices) in modules {
        let texts: Vec<&str> = indices.iter().map(|&at| list[at].text.as_str()).collect();
        let (text, _) = wrap(&texts, version, target);
        let parsed = parse(Source::new("coverage.ptx", text.into_bytes()));
        let module = parsed.module.unwrap_or_else(|| panic!("{version} {target}: {:?}", parsed.diagnostics));
        let kernel = module.kernel("k").unwrap();
        let code =
            sim_core::decode(&module.into(), kernel, SimdLevel::Baseline, sim_core::Compiler::default());
        let mut decoded = BTreeSet::new();
        for (inst, meta) in code.insts.iter().zip(&code.meta) {
            // The last instruction is the module's own `ret`.
            let Some(&index) = indices.get(meta.instruction as usize) else { continue };
            decoded.insert(index);
            if matches!(inst.action, Action::Unsupported(_)) {
                refused.insert(index);
            }
        }
        let missing: Vec<&str> =
            indices.iter().filter(|at| !decoded.contains(at)).map(|&at| list[at].text.as_str()).collect();
        assert!(missing.is_empty(), "decoding gives nothing for {missing:#?}");
    }
    refused
}

/// A form's notation where all of it is refused, else the refused combinations of modifiers.
fn summary(list: &[Instruction], refused: &BTreeSet<usize>) -> BTreeSet<String> {
    let mut forms: BTreeMap<Form, Vec<usize>> = BTreeMap::new();
    for (at, instruction) in list.iter().enumerate() {
        forms.entry(instruction.form).or_default().push(at);
    }
    let mut lines = BTreeSet::new();
    for (form, indices) in forms {
        if indices.iter().all(|at| refused.contains(at)) {
            lines.insert(form.notation().to_owned());
        } else {
            lines
                .extend(indices.iter().filter(|at| refused.contains(at)).map(|&at| op(&list[at]).to_owned()));
        }
    }
    lines
}

#[test]
fn what_is_not_supported_is_listed() {
    let list = instructions();
    assert!(list.len() > 15_000, "{}", list.len());
    let actual = summary(&list, &refused(&list));
    let listed: BTreeSet<String> = UNSUPPORTED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let new: Vec<&String> = actual.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&actual).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "refused, but not in unsupported-forms.txt: {new:#?}\nlisted there, but supported: {gone:#?}"
    );
}

/// Forms of which something is refused on the target of an H200, and why; ptxas compiles neither.
const REFUSED_ON_SM_90A: [(&str, &str); 2] = [
    ("cvta.space.{u32,u64} d, a", "generic addresses of 32 bits, which sm_90 does not have"),
    ("cvta.to.space.{u32,u64} d, a", "generic addresses of 32 bits, which sm_90 does not have"),
];

/// The target in the table's samples is the first that has a form: what only later ones have is left out here.
#[test]
fn hardly_anything_is_refused_on_sm_90a() {
    let list = instructions();
    let on_h200 = |instruction: &Instruction| {
        let (text, _) = wrap(&[&instruction.text], "9.5", "sm_90a");
        parse(Source::new("coverage.ptx", text.into_bytes())).module.is_some()
    };
    let refused: BTreeSet<&str> = refused(&list)
        .into_iter()
        .map(|at| &list[at])
        .filter(|instruction| on_h200(instruction))
        .map(|instruction| instruction.form.notation())
        .collect();
    let known: BTreeSet<&str> = REFUSED_ON_SM_90A.iter().map(|&(form, _)| form).collect();
    assert_eq!(refused, known, "refused on sm_90a, and known with reasons");
}
