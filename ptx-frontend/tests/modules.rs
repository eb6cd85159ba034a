//! What comes out of parsing: layouts, values, names, labels, operands, source positions.

use ptx_frontend::{
    Address, AddressBase, Body, Function, Linkage, Module, Operand, Param, RegId, RegisterPart, ScalarType,
    Source, SpecialRegister, StateSpace, Symbol, Variable, parse, render::render_all,
};

fn module(text: &str) -> Module {
    let text = format!(".version 9.0\n.target sm_90\n.address_size 64\n{text}");
    let parsed = parse(Source::new("m.ptx", text.into_bytes()));
    let errors = render_all(&parsed.diagnostics, &parsed.source, false);
    parsed.module.unwrap_or_else(|| panic!("{errors}"))
}

fn kernel(body: &str) -> Module {
    module(&format!(
        ".global .u32 table[4];\n.entry k(.param .u64 p)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n{body}\nret;\n}}"
    ))
}

fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    match module.symbol(name) {
        Some(Symbol::Function(id)) => &module.functions[id.index()],
        other => panic!("{name}: {other:?}"),
    }
}

fn body<'m>(module: &'m Module, name: &str) -> &'m Body {
    function(module, name).body.as_ref().expect("a body")
}

fn variable<'m>(module: &'m Module, name: &str) -> &'m Variable {
    module.variables.iter().find(|variable| &*variable.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn bytes(module: &Module, name: &str) -> Vec<u8> {
    variable(module, name).initializer.as_ref().expect("a value").bytes.clone()
}

/// The operands of the `at`-th instruction of `k`.
fn operands(module: &Module, at: usize) -> &[Operand] {
    let body = body(module, "k");
    body.operands(&body.instructions[at])
}

#[test]
fn kernel_parameters_lie_as_cuda_lays_them_out() {
    let m = module(
        ".entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 4 .b8 c[5], .param .u16 d, .param .align 16 .b8 e[4]) { ret; }",
    );
    let k = function(&m, "k");
    let places: Vec<(u64, u64, u64)> = k
        .params
        .iter()
        .map(|param| match param {
            Param::Variable(id) => {
                let v = &m.variables[id.index()];
                (v.offset, v.size, v.align)
            }
            Param::Register(_) => panic!("a register"),
        })
        .collect();
    assert_eq!(places, [(0, 1, 1), (8, 8, 8), (16, 5, 4), (22, 2, 2), (32, 4, 16)]);
    assert_eq!(k.param_bytes, 36);
    let pointer = variable(&m, "b").pointer.expect("`.ptr`");
    assert_eq!((pointer.space, pointer.align), (StateSpace::Global, 16));
}

#[test]
fn initial_values() {
    let m = module(
        ".global .u16 a[] = {1, -1, 0x1234, 65537};\n.global .f32 b[2] = {1.0, 0d4000000000000000};\n\
         .const .f64 c = 0f3f800000;\n.global .u8 d[2][3] = {{1}, {2, 3}};\n.global .v2 .u32 e[2] = {{1, 2}, {3, 4}};\n\
         .global .u64 f[2] = {generic(a)+2, d};\n.global .u8 g[3] = {0xFF00(a), 0xFF00(0x1234), 7};\n.global .b128 h = -2;",
    );
    assert_eq!(bytes(&m, "a"), [1, 0, 0xff, 0xff, 0x34, 0x12, 1, 0]);
    assert_eq!((variable(&m, "a").size, variable(&m, "a").align), (8, 2));
    assert_eq!(bytes(&m, "b"), [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
    // As in ptxas, bits are not converted.
    assert_eq!(bytes(&m, "c"), 0x3f80_0000u64.to_le_bytes());
    assert_eq!(bytes(&m, "d"), [1, 2, 3]);
    assert_eq!(bytes(&m, "e"), [1u32, 2, 3, 4].map(u32::to_le_bytes).concat());
    assert_eq!(variable(&m, "e").align, 8);
    let f = variable(&m, "f").initializer.as_ref().unwrap();
    let keys: Vec<_> =
        f.relocations.iter().map(|r| (r.offset, r.width, r.addend, r.generic, r.byte)).collect();
    assert_eq!(keys, [(0, 8, 2, true, None), (8, 8, 0, false, None)]);
    let g = variable(&m, "g").initializer.as_ref().unwrap();
    assert_eq!((g.relocations[0].byte, g.bytes[1], g.bytes[2]), (Some(1), 0x12, 7));
    // As in ptxas, integers have 64 bits.
    assert_eq!(bytes(&m, "h"), u128::from(-2i64 as u64).to_le_bytes());
}

#[test]
fn registers_are_numbered_by_first_use() {
    let m = kernel(
        ".reg .b32 %x<4000000000>, lonely, used; .reg .v4 .f32 %v;\nmov.b32 used, %x3999999999;\nmov.f32 %v.y, 0f00000000;",
    );
    let names: Vec<&str> = function(&m, "k").registers.iter().map(|register| &*register.name).collect();
    assert_eq!(names, ["used", "%x3999999999", "%v.x", "%v.y", "%v.z", "%v.w"]);
    assert_eq!(operands(&m, 1)[0], Operand::Register(RegId(3)));
}

#[test]
fn blocks_shadow() {
    let m =
        kernel("mov.b32 %r1, 1;\n{ .reg .b32 %r<3>; mov.b32 %r1, 2; { mov.b32 %r1, 3; } }\nmov.b32 %r1, 4;");
    let ids: Vec<Operand> = (0..4).map(|at| operands(&m, at)[0]).collect();
    assert_eq!(ids[0], ids[3]);
    assert_eq!(ids[1], ids[2]);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn labels_belong_to_their_block() {
    // As in ptxas, a branch means the label of the innermost block that has it, before or after it.
    let m = kernel(
        "L: mov.b32 %r1, 0;\n{ bra L; mov.b32 %r1, 1; L: mov.b32 %r1, 2; }\nbra L;\n{ bra L; }\n{ { bra M; } }\nM:",
    );
    let targets: Vec<u32> = (0..body(&m, "k").instructions.len())
        .filter_map(|at| match operands(&m, at) {
            [Operand::Label(id)] => Some(body(&m, "k").labels[id.index()].target),
            _ => None,
        })
        .collect();
    assert_eq!(targets, [3, 0, 0, 7]);
}

#[test]
fn branch_targets_may_be_ranges() {
    let m = kernel("L0: L1:\nts: .branchtargets L<3>, M;\nbrx.idx %r1, ts;\nL2: mov.b32 %r1, 0;\nM:");
    let Operand::BranchTargets(id) = operands(&m, 0)[1] else { panic!() };
    let k = body(&m, "k");
    let targets: Vec<u32> =
        k.branch_targets[id.index()].iter().map(|label| k.labels[label.index()].target).collect();
    assert_eq!(targets, [0, 0, 1, 2]);
}

#[test]
fn addresses_and_constants() {
    let m = kernel(
        "ld.global.u32 %r1, [%rd1+-4];\nld.global.u32 %r1, table[2];\nmov.u64 %rd2, table[2];\nmov.u64 %rd2, table+4;\n\
         ld.global.u32 %r1, [table+4+2*4];\nmov.u32 %r1, -1;\nmov.u32 %r1, WARP_SZ*2;\nmov.u32 %r1, 0xFFFFFFFFU;\nld.local.u32 %r1, [16];",
    );
    let table = m.symbol("table").map(|s| if let Symbol::Variable(id) = s { id } else { panic!() }).unwrap();
    let at = |base, offset| Operand::Address(Address { base, offset });
    assert!(matches!(
        operands(&m, 0)[1],
        Operand::Address(Address { base: AddressBase::Register(_), offset: -4 })
    ));
    assert_eq!(operands(&m, 1)[1], at(AddressBase::Variable(table), 8));
    assert_eq!(operands(&m, 2)[1], Operand::Variable(table, 8));
    assert_eq!(operands(&m, 3)[1], Operand::Variable(table, 4));
    assert_eq!(operands(&m, 4)[1], at(AddressBase::Variable(table), 12));
    assert_eq!(operands(&m, 5)[1], Operand::Integer(u64::MAX));
    assert_eq!(operands(&m, 6)[1], Operand::Integer(64));
    assert_eq!(operands(&m, 7)[1], Operand::Integer(0xffff_ffff));
    assert_eq!(operands(&m, 8)[1], at(AddressBase::Absolute, 16));
}

#[test]
fn compound_operands() {
    let m = kernel(
        "setp.lt.s32 %p1|_, %r1, %r2;\nmov.b64 {%r1, _}, %rd1;\nselp.b32 %r1, %r2, 0, !%p2;\nvadd.s32.s32.s32 %r1, %r2.b3, %r3.h1;\n\
         vadd4.s32.s32.s32 %r1.b20, %r2.b3210, %r3.b7654, %r4;\nmov.u32 %r1, %tid.y;\nmov.u32 %r1, %envreg31;",
    );
    let body = body(&m, "k");
    let Operand::Pair(list) = operands(&m, 0)[0] else { panic!() };
    assert_eq!(body.elements(list)[1], Operand::Sink);
    let Operand::Vector(list) = operands(&m, 1)[0] else { panic!() };
    assert_eq!(body.elements(list)[1], Operand::Sink);
    assert!(matches!(operands(&m, 2)[3], Operand::Negated(_)));
    assert!(matches!(operands(&m, 3)[1], Operand::Part(_, RegisterPart::Byte(3))));
    assert!(matches!(operands(&m, 3)[2], Operand::Part(_, RegisterPart::Half(1))));
    assert!(matches!(operands(&m, 4)[0], Operand::Part(_, RegisterPart::ByteMask(0b101))));
    assert!(matches!(operands(&m, 4)[2], Operand::Part(_, RegisterPart::BytePermutation([4, 5, 6, 7]))));
    assert_eq!(operands(&m, 5)[1], Operand::Special(SpecialRegister::Tid(ptx_frontend::Component::Y)));
    assert_eq!(operands(&m, 6)[1], Operand::Special(SpecialRegister::Envreg(31)));
}

#[test]
fn calls_have_one_shape() {
    let m = module(
        ".func f { ret; }\n.func (.param .b32 r) g(.param .b32 a) { ret; }\n.entry k()\n{ .reg .b32 %r; .reg .b64 %rd; .param .b32 x;\n\
         call f;\ncall.uni f, ();\ncall (x), g, (5);\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (%r), %rd, (x), proto; }",
    );
    let lengths = |at: usize| -> Vec<Option<u32>> {
        operands(&m, at)
            .iter()
            .map(|o| if let Operand::Vector(list) = o { Some(list.len) } else { None })
            .collect()
    };
    assert_eq!(lengths(0), [Some(0), None, Some(0)]);
    assert_eq!(lengths(1), [Some(0), None, Some(0)]);
    assert_eq!(lengths(2), [Some(1), None, Some(1)]);
    assert_eq!(lengths(3), [Some(1), None, Some(1), None]);
    assert!(matches!(operands(&m, 3)[3], Operand::Prototype(_)));
}

#[test]
fn aliases_are_their_functions() {
    let m = module(".visible .func f { ret; } .visible .func a; .entry k() { call a; ret; } .alias a, f;");
    assert_eq!(m.symbol("a"), m.symbol("f"));
    let Some(Symbol::Function(f)) = m.symbol("f") else { panic!() };
    assert_eq!(operands(&m, 0)[1], Operand::Function(f));
}

#[test]
fn declarations_and_definitions_are_one() {
    let m = module(
        ".extern .global .u32 g;\n.func (.param .b32 r) f(.param .b32 a);\n.entry k() { ret; }\n.visible .global .u32 g = 3;\n\
         .func (.param .b32 s) f(.param .b32 b) { .reg .b32 %r; ld.param.b32 %r, [b]; st.param.b32 [s], %r; ret; }",
    );
    assert_eq!(m.functions.len(), 2);
    assert!(function(&m, "f").body.is_some());
    let g = variable(&m, "g");
    assert_eq!((g.linkage, g.initializer.is_some()), (Linkage::Visible, true));
}

/// Compilers up to CUDA 4 wrote declarations with no `;`, and ptxas takes them in any version.
#[test]
fn a_declaration_needs_no_semicolon() {
    let m = module(
        ".visible .func f(.param .b64 a)\n.visible .func (.param .b32 r) g\n.func h() .noreturn\n.file 1 \"a.cu\"\n.entry k() { ret; }\n.extern .func last",
    );
    let names: Vec<&str> = m.functions.iter().map(|f| &*f.name).collect();
    assert_eq!(names, ["f", "g", "h", "k", "last"]);
    assert_eq!(m.functions.iter().filter(|f| f.body.is_some()).count(), 1);
    assert!(function(&m, "h").noreturn);
}

/// `mad` had a default rounding up to PTX 3.1 (ISA 9.7.3.7).
#[test]
fn an_old_mad_needs_no_rounding() {
    let valid = |version: &str, opcode: &str| {
        let text = format!(
            ".version {version}\n.target sm_30\n.entry k() {{ .reg .f32 %f; .reg .f64 %d; {opcode}; ret; }}"
        );
        parse(Source::new("mad.ptx", text.into_bytes())).module.is_some()
    };
    assert!(valid("3.1", "mad.ftz.f32 %f, %f, %f, %f"));
    assert!(!valid("3.2", "mad.ftz.f32 %f, %f, %f, %f"));
    assert!(!valid("3.1", "mad.f64 %d, %d, %d, %d"));
}

#[test]
fn source_positions() {
    let m = module(
        ".entry k() {\n.reg .b32 %r;\n.loc 1 10 3\nmov.b32 %r, 1;\n.loc 2 20 5, function_name $L__info, inlined_at 1 10 3\nmov.b32 %r, 2;\nret;\n}\n\
         .file 2 \"inline.h\"\n.file 1 \"main.cu\"\n.section .debug_str {\n.b8 120\n.b8 0\n$L__info: .b8 102, 111\n.b8 111, 0\n}",
    );
    let body = body(&m, "k");
    let place = |at: usize| &body.locations[body.instructions[at].location.expect("a place").index()];
    let file = |at: usize| &*m.files[place(at).file.expect("declared") as usize].name;
    assert_eq!((file(0), place(0).line, place(0).column), ("main.cu", 10, 3));
    assert_eq!((file(1), place(1).line, place(1).function.as_deref()), ("inline.h", 20, Some("foo")));
    assert_eq!(body.locations[place(1).inlined_at.expect("inlined").index()].line, 10);
    assert_eq!(body.instructions[2].location, body.instructions[1].location);
}

#[test]
fn tuning() {
    let m = module(
        ".entry k() .maxntid 16, 4 .minnctapersm 2 .maxnreg 32 .pragma \"nounroll\"; { .pragma \"x\", \"y\"; ret; }\n.entry c() .reqntid 8 .reqnctapercluster 2, 2 .blocksareclusters { ret; }",
    );
    let k = &function(&m, "k").tuning;
    assert_eq!((k.max_threads, k.min_ctas_per_sm, k.max_registers), (Some([16, 4, 1]), Some(2), Some(32)));
    assert_eq!(k.pragmas.iter().map(|p| &**p).collect::<Vec<_>>(), ["nounroll", "x", "y"]);
    let c = &function(&m, "c").tuning;
    assert_eq!(
        (c.required_threads, c.required_cluster, c.blocks_are_clusters),
        (Some([8, 1, 1]), Some([2, 2, 1]), true)
    );
}

#[test]
fn functions_take_registers() {
    let m = module(".func (.reg .f32 r) f(.reg .v2 .b32 a, .param .b64 b) { mov.b32 r, a.y; ret; }");
    let f = function(&m, "f");
    assert_eq!(f.returns, [Param::Register(RegId(0))]);
    assert_eq!(f.params[0], Param::Register(RegId(1)));
    let types: Vec<ScalarType> = f.registers.iter().map(|register| register.ty).collect();
    assert_eq!(types, [ScalarType::F32, ScalarType::B32, ScalarType::B32]);
}

#[test]
fn texts_may_end_in_nul_and_opcodes_may_touch_braces() {
    let text = ".version 9.0\n.target sm_90\n.entry k(){.reg .b32 %r<3>;.reg .b64 %d;mov.b64{%r1,%r2},%d;ld .param .b32 %r1,[%d];ret;}\0\0";
    assert!(parse(Source::new("nul.ptx", text.into())).module.is_some());
}
