//! Linking by ISA 11.6.

mod same;

use ptx_frontend::{LinkError, Linkage, Module, Operand, Source, Symbol, link, parse, render::render};

fn module(name: &str, text: &str) -> Module {
    let text = format!(".version 8.8\n.target sm_90\n.address_size 64\n{text}");
    let parsed = parse(Source::new(name, text.into_bytes()));
    parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
}

fn linked(texts: &[&str]) -> Result<Module, Vec<LinkError>> {
    link(texts.iter().enumerate().map(|(at, text)| module(&format!("{at}.ptx"), text)).collect())
}

fn codes(texts: &[&str]) -> Vec<&'static str> {
    linked(texts).err().unwrap_or_default().iter().map(|error| error.diagnostic.code.0).collect()
}

fn function<'m>(module: &'m Module, name: &str) -> &'m ptx_frontend::Function {
    match module.symbol(name) {
        Some(Symbol::Function(id)) => &module.functions[id.index()],
        other => panic!("{name}: {other:?}"),
    }
}

fn variable<'m>(module: &'m Module, name: &str) -> &'m ptx_frontend::Variable {
    match module.symbol(name) {
        Some(Symbol::Variable(id)) => &module.variables[id.index()],
        other => panic!("{name}: {other:?}"),
    }
}

/// The name of the function that the first call of a function goes to.
fn callee(module: &Module, caller: &str) -> String {
    let body = function(module, caller).body.as_ref().expect("a body");
    let id = body.operand_pool.iter().find_map(|operand| match operand {
        Operand::Function(id) => Some(*id),
        _ => None,
    });
    module.functions[id.expect("a call").index()].name.to_string()
}

#[test]
fn one_module_stays_what_it_is() {
    let text = include_str!("sample.ptx");
    let module = parse(Source::new("sample.ptx", text.into())).module.expect("accepted");
    let linked = link(vec![module.clone()]).unwrap_or_else(|errors| panic!("{:?}", errors[0].diagnostic));
    same::same(&module, &linked).unwrap();
}

#[test]
fn externs_meet_definitions_in_any_order() {
    let uses = ".extern .func (.param .b32 r) f(.param .b32 a); .extern .global .u32 g;\n\
        .visible .entry k() { .param .b32 x; .reg .b32 %r; call (x), f, (x); ld.global.u32 %r, [g]; ret; }";
    let defines = ".visible .global .u32 g = 7; .global .u32 own;\n\
        .visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 [r], %r; ret; }";
    for texts in [[uses, defines], [defines, uses]] {
        let module = linked(&texts).expect("links");
        assert_eq!(callee(&module, "k"), "f");
        assert!(function(&module, "f").body.is_some());
        assert_eq!(
            variable(&module, "g").initializer.as_ref().map(|i| i.bytes.clone()),
            Some(vec![7, 0, 0, 0])
        );
        assert_eq!(module.functions.len(), 2);
        assert_eq!(module.sources.len(), 2);
        let text = module.to_ptx();
        let again = parse(Source::new("linked.ptx", text.clone().into_bytes()));
        same::same(&module, &again.module.unwrap_or_else(|| panic!("{:?}\n{text}", again.diagnostics)))
            .unwrap();
    }
}

#[test]
fn spans_keep_their_text() {
    let module = linked(&[
        ".visible .entry a() { ret; }",
        ".file 1 \"b.cu\"\n.visible .entry b() {\n.loc 1 5 0\nret; }",
    ])
    .unwrap();
    let b = function(&module, "b");
    let source = &module.sources[b.source.0 as usize];
    assert_eq!(&*source.name, "1.ptx");
    assert!(source.slice(b.span).contains(".entry b"));
    let body = b.body.as_ref().unwrap();
    let location = &body.locations[body.instructions[0].location.unwrap().index()];
    assert_eq!(&*module.files[location.file.unwrap() as usize].name, "b.cu");
}

#[test]
fn local_names_do_not_meet() {
    let text = ".global .u32 g = 1; .func f { ret; } .visible .entry A() { .reg .b64 %r; mov.u64 %r, g; call f; ret; }";
    let module = linked(&[text, &text.replace('A', "B").replace("= 1", "= 2")]).unwrap();
    assert_eq!(callee(&module, "A"), "f");
    assert_eq!(callee(&module, "B"), "f$1");
    assert_eq!(variable(&module, "g").initializer.as_ref().unwrap().bytes[0], 1);
    assert_eq!(variable(&module, "g$1").initializer.as_ref().unwrap().bytes[0], 2);
}

#[test]
fn strong_beats_weak_beats_nothing() {
    let weak = ".weak .func f { exit; } .weak .global .u32 g = 1;";
    let strong = ".visible .func f { ret; } .visible .global .u32 g = 2;";
    let caller = ".extern .func f; .extern .global .u32 g; .visible .entry k() { call f; ret; }";
    for texts in [[weak, strong, caller], [caller, weak, strong], [strong, caller, weak]] {
        let module = linked(&texts).unwrap();
        assert_eq!(function(&module, "f").linkage, Linkage::Visible);
        assert_eq!(variable(&module, "g").initializer.as_ref().unwrap().bytes[0], 2);
        assert_eq!(module.functions.len(), 2);
    }
    let module = linked(&[caller, weak, &weak.replace("= 1", "= 3")]).unwrap();
    assert_eq!(variable(&module, "g").initializer.as_ref().unwrap().bytes[0], 1);
}

#[test]
fn the_largest_common_wins() {
    let small = ".common .global .u32 c;";
    let large = ".common .global .u32 c[4] = {1};";
    for texts in [[small, large], [large, small]] {
        let module = linked(&texts).unwrap();
        assert_eq!(variable(&module, "c").size, 16);
    }
    assert_eq!(codes(&[".common .global .u32 c = 1;", ".common .global .u32 c[4];"]), ["E0702"]);
    assert_eq!(codes(&[large, large]), ["E0702"]);
}

#[test]
fn dynamic_shared_memory_is_one() {
    let text = ".extern .shared .align 4 .b8 s[]; .visible .entry A() { .reg .b32 %r; mov.u32 %r, s; ret; }";
    let module = linked(&[text, &text.replace('A', "B").replace("align 4", "align 16")]).unwrap();
    assert_eq!(module.variables.len(), 1);
    assert_eq!(variable(&module, "s").align, 16);
}

#[test]
fn contradictions() {
    let strong = ".visible .func f { ret; }";
    assert_eq!(codes(&[strong, strong]), ["E0701"]);
    assert_eq!(codes(&[strong, ".visible .global .u32 f;"]), ["E0702"]);
    assert_eq!(codes(&[strong, ".extern .func f(.param .b32 a);"]), ["E0702"]);
    assert_eq!(codes(&[strong, ".extern .func (.param .b32 a) f;"]), ["E0702"]);
    assert_eq!(codes(&[".visible .global .u32 g;", ".extern .global .u64 g;"]), ["E0702"]);
    assert_eq!(codes(&[".visible .global .u32 g[4];", ".extern .global .u32 g[8];"]), ["E0702"]);
    assert_eq!(codes(&[".visible .global .u32 g[4];", ".extern .global .u32 g[];"]), [""; 0]);
    assert_eq!(codes(&[".visible .global .u32 g;", ".extern .const .u32 g;"]), ["E0702"]);
    let caller = ".extern .func f; .visible .entry k() { call f; ret; }";
    assert_eq!(codes(&[caller]), ["E0703"]);
    assert_eq!(codes(&[".extern .func f;"]), [""; 0]);
    assert_eq!(codes(&[".extern .global .u32 g; .global .u64 p = g;"]), ["E0703"]);
    let runtime = ".extern .func (.param .b64 r) malloc(.param .b64 n); .visible .entry k() { .param .b64 x; call (x), malloc, (x); ret; }";
    let module = linked(&[runtime]).unwrap();
    assert!(function(&module, "malloc").body.is_none());
    let errors = linked(&[strong, strong]).unwrap_err();
    let text = render(&errors[0].diagnostic, &errors[0].source, &errors[0].elsewhere, false);
    assert!(text.contains("--> 1.ptx:4:1") && text.contains("::: 0.ptx:4:1"), "{text}");
}

#[test]
fn nothing_links_to_nothing() {
    assert!(link(Vec::new()).unwrap().functions.is_empty());
}
