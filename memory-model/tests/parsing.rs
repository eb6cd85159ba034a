//! The parser: what it accepts, what it reports, and that nothing makes it panic.

use memory_model::litmus::{Code, parse_nvlitmus};
use memory_model::program::{BarMode, Base, MemOrder, Op, Operand, Proxy, Quantifier, Region, Scope};
use memory_model::{Litmus, Options, check, parse};
use proptest::prelude::*;
use std::time::Duration;
use testkit::litmus::{FLAVOURS, litmus};

fn ok(text: &str) -> Litmus {
    parse(text).unwrap_or_else(|e| panic!("{}", e[0].render("test", text)))
}

fn errors(text: &str) -> Vec<(Code, &str)> {
    let found = parse(text).expect_err("mistakes");
    found.iter().map(|d| (d.code, &text[d.span.start as usize..d.span.end as usize])).collect()
}

#[test]
fn everything_around_the_program() {
    let text = "PTX everything \"first note with { a brace }\"\n\"second\nnote\"\n(* a comment (with) { braces } *)\n\
        {\nx = 0; [y] = 5; z = x; P1:r3 = &y; 0:r9=-1; w @ generic aliases x;\n t @ texture aliases w;\n};\n\
        P0@cta 0, gpu 0 | P1 @ gpu 1, cluster 2, cta 3 ;\n\
        (* nothing *) st.weak x, 1 | LC00: ;\n | ld.relaxed.sys r1, y ;\nLC01: | beq r1, 1, LC00 ;\n\
        goto LC01 ;\n | tld.weak r2, t ;\n<< ignored >>\nlocations [ x; 1:r2; y ]\nfilter (1:r1 > 0);\n\
        forall (1:r1 = 1 \\/ ~(x != 0x10) /\\ [y] <= 3);\n";
    let litmus = ok(text);
    assert_eq!(litmus.name, "everything");
    let [p0, p1] = litmus.program.threads.as_slice() else { panic!("two threads") };
    assert_eq!((p1.placement.gpu, p1.placement.cluster, p1.placement.cta), (1, Some(2), 3));
    assert_eq!(p0.code.len(), 2);
    assert_eq!(p1.code.len(), 3);
    assert_eq!(p0.code[1].op, Op::Goto { target: 1 });
    assert!(matches!(p1.code[1].op, Op::Branch { target: 0, .. }));
    assert_eq!(p1.code[0].text, "ld.relaxed.sys r1, y");
    assert_eq!(p1.code[0].line, 11);
    assert_eq!(p1.initial[0], Operand::Address(memory_model::program::LocId(1)));
    let locations = &litmus.program.locations;
    let names: Vec<&str> = locations.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "z", "w", "t"]);
    // `w` is another address of `x`; `t` is the address of `w` through another proxy.
    assert_eq!((locations[3].physical.0, locations[3].address.0), (0, 3));
    assert_eq!((locations[4].physical.0, locations[4].address.0), (0, 3));
    assert_eq!(litmus.locations.len(), 3);
    assert!(litmus.filter.is_some());
    assert_eq!(litmus.assertion.expect("an assertion").quantifier, Quantifier::Forall);
}

#[test]
fn instructions() {
    let cell = |cell: &str| {
        let text =
            format!("PTX one\n{{ x=0; b = mbarrier 2; }}\nP0@cta 0,gpu 0 ;\n{cell} ;\nexists (x == 0)\n");
        ok(&text).program.threads[0].code[0].op.clone()
    };
    let Op::Load { access, dst } = cell("ld.volatile.global.v2.u32 {r0, r1}, [x+4]") else {
        panic!("a load")
    };
    assert_eq!((access.order, access.scope), (MemOrder::Relaxed, Some(Scope::Sys)));
    assert_eq!((access.offset, access.bytes, dst.len()), (4, Some(4), 2));
    let Op::Rmw { access, .. } = cell("red.add [x], 1") else { panic!("a reduction") };
    assert_eq!((access.order, access.scope), (MemOrder::Relaxed, Some(Scope::Gpu)));
    assert_eq!(
        cell("membar.gl"),
        Op::Fence { order: MemOrder::Sc, scope: Some(Scope::Gpu), region: Region::All }
    );
    assert_eq!(
        cell("fence.cluster"),
        Op::Fence { order: MemOrder::AcqRel, scope: Some(Scope::Cluster), region: Region::All }
    );
    assert_eq!(
        cell("fence.acquire.sys"),
        Op::Fence { order: MemOrder::Acquire, scope: Some(Scope::Sys), region: Region::All }
    );
    let Op::Store { access, .. } = cell("sust.weak x, 1") else { panic!("a store") };
    assert_eq!(access.proxy, Proxy::Surface);
    let Op::Load { access, .. } = cell("ld.weak r0, [r1]") else { panic!("a load") };
    assert!(matches!(access.base, Base::Reg(_)));
    assert!(matches!(cell("ld r0, 7"), Op::Mov { src: Operand::Const(7), .. }));
    assert!(matches!(cell("ld r0, x"), Op::Load { .. }));
    assert!(matches!(
        cell("bar.cta.arrive 1, r2, 3"),
        Op::Bar { mode: BarMode::Arrive, instance: 1, id: Some(_), count: Some(Operand::Const(3)), .. }
    ));
    assert!(matches!(
        cell("barrier.sync 2, 64"),
        Op::Bar { mode: BarMode::Sync, id: Some(Operand::Const(2)), count: Some(Operand::Const(64)), .. }
    ));
    assert_eq!(cell("barrier.cluster.arrive.relaxed"), Op::ClusterArrive { relaxed: true });
    assert!(matches!(cell("mbarrier.arrive.release.cluster b"), Op::Rmw { dst, .. } if dst.is_empty()));
    assert!(matches!(cell("mbarrier.test_wait.acquire r0, b, 0"), Op::MbarrierTest { .. }));
}

#[test]
fn mistakes_are_reported_where_they_are() {
    let one = |cell: &str| format!("PTX one\n{{ x=0; }}\nP0@cta 0,gpu 0 ;\n{cell} ;\nexists (x == 0)\n");
    assert_eq!(errors("C one\n{}"), [(Code::Header, "C")]);
    assert_eq!(errors("PTX one\nx=0"), [(Code::Header, "PTX")]);
    assert_eq!(errors(&one("ld.weak.gpu r0, x")), [(Code::Qualifier, "ld.weak.gpu")]);
    assert_eq!(errors(&one("ld.relaxed r0, x")), [(Code::Qualifier, "ld.relaxed")]);
    assert_eq!(errors(&one("st.acquire.gpu x, 1")), [(Code::Qualifier, "st.acquire.gpu")]);
    assert_eq!(errors(&one("ld.weak.sparkling r0, x")), [(Code::Qualifier, "ld.weak.sparkling")]);
    assert_eq!(errors(&one("fence.sc")), [(Code::Qualifier, "fence.sc")]);
    assert_eq!(errors(&one("frob r0")), [(Code::UnknownInstruction, "frob")]);
    assert_eq!(errors(&one("goto LC9")), [(Code::Undeclared, "LC9")]);
    assert_eq!(errors(&one("ld.weak r0 x")), [(Code::Syntax, "x")]);
    assert_eq!(errors(&one("ld.weak r0, x | st.weak x, 1")), [(Code::Syntax, "st")]);
    assert_eq!(errors(&one("ld.weak r0, x").replace("(x ==", "(0:r1 ==")), [(Code::Undeclared, "r1")]);
    assert_eq!(errors(&one("ld.weak r0, x").replace("(x ==", "(4:r0 ==")), [(Code::Undeclared, "4")]);
    assert_eq!(errors(&one("atom.add.v2.u64 {r0, r1}, [x], {1, 1}")), [(Code::Qualifier, "atom.add.v2.u64")]);
    assert_eq!(errors(&one("atom.add.v2.u32 r0, [x], {1, 1}")), [(Code::Syntax, "r0")]);
    assert_eq!(errors(&one("atom.max.f32 r0, x, 1")), [(Code::Qualifier, "atom.max.f32")]);
    let fence = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster";
    assert_eq!(errors(&one(fence)), [(Code::Qualifier, fence)]);
    let fence = "fence.proxy.tensormap::generic.release";
    assert_eq!(errors(&one(fence)), [(Code::Qualifier, fence)]);
    let fence = "fence.proxy.alias.acquire.gpu";
    assert_eq!(errors(&one(fence)), [(Code::Qualifier, fence)]);
    // Several at once.
    assert_eq!(errors(&one("frob r0 ;\n ld.weak.gpu r0, x")).len(), 2);
    let text = one("ld.weak.gpu r0, x");
    let rendered = parse(&text).expect_err("a mistake")[0].render("one.litmus", &text);
    assert_eq!(
        rendered,
        "one.litmus:4:1: error[L006]: a weak access takes no scope\n  ld.weak.gpu r0, x ;\n  ^^^^^^^^^^^"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!(
        "PTX deep\n{{ x=0; }}\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists {}x == 1{}\n",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    assert_eq!(errors(&text)[0].0, Code::Limit);
}

const TEMPLATE: &str = ".global x;\n.global y physically aliases x;\n.surfref s virtually aliases x;\n.global flag;\n\
    // a comment\nd0.b0.t0 {\n  $0, 2;\n  $1\n  st.release.gpu [flag], 1;\n}\n\
    d0.b1.t0 {\n  ld.acquire.gpu r0, [flag] == 1;\n  $2\n  $3 r1, $4;\n}\n$5(r1 $6 2) as seen;\n$$\n";

#[test]
fn nvlitmus_templates() {
    let rows = "st [x] | | | ld | [x] | assert | ==\n\nst [x] | | | ld | [y] | permit | !=\n\
        st [x] | fence.proxy.alias; | | ld | [y] | assert | ==\nsust [s] | | | ld | [x] | permit | != // no fence\n\
        sust [s] | fence.proxy.surface; | | ld | [x] | assert | ==\n\
        st [x] | fence.proxy.surface; | | suld | [s] | permit | !=\n\
        st [x] | | fence.proxy.surface; | suld | [s] | assert | ==\n";
    let tests = parse_nvlitmus(&format!("{TEMPLATE}{rows}")).expect("well-formed");
    assert_eq!(tests.len(), 7);
    assert_eq!(tests[6].name, "seen-7");
    for test in &tests {
        assert_eq!(check(test, &Options::default()).holds, Some(true), "{}", test.name);
    }
}

#[test]
fn nvlitmus_without_a_table() {
    let text = ".global x;\n.global y;\nd0.b0.t0 { atom.add.acq_rel.gpu r1, [x], 1; atom.add.acq_rel.gpu r2, [y], 1; }\n\
        d0.b1.t0 { atom.add.acq_rel.gpu r3, [y], 1; atom.add.acq_rel.gpu r4, [x], 1; }\n\
        assert (r2 != 0 || r4 != 0) as a; permit (not (r2 == 0 && r4 == 1)) as b;";
    let tests = parse_nvlitmus(text).expect("well-formed");
    let verdicts: Vec<_> = tests.iter().map(|t| check(t, &Options::default()).verdict).collect();
    assert_eq!(verdicts, ["always", "allowed"]);
    let twice = text.replace("r3", "r1").replace("r2 != 0", "r1 != 0");
    assert_eq!(parse_nvlitmus(&twice).expect_err("ambiguous")[0].code, Code::Duplicate);
    let short = format!("{TEMPLATE}st [x] | | | ld\n");
    let error = &parse_nvlitmus(&short).expect_err("a short row")[0];
    assert_eq!(&short[error.span.start as usize..error.span.end as usize], "st [x] | | | ld");
}

fn quick() -> Options {
    let mut options = Options { bound: Some(1), ..Options::default() };
    options.limits.time = Some(Duration::from_millis(200));
    options.limits.events = 200;
    options
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
        let _ = parse(&format!("PTX x\n{{{text}"));
        let _ = parse_nvlitmus(&text);
        let _ = parse_nvlitmus(&format!("{TEMPLATE}{text}"));
    }

    /// Damaged tests: whatever still parses is also checked.
    #[test]
    fn no_damage_makes_a_check_panic(
        seed in 0u64..1000,
        flavour in 0usize..10,
        cut in 0usize..700,
        length in 0usize..12,
        insert in "[a-z0-9.,;|:{}@=&\\[\\] rRxLC+-]{0,8}",
    ) {
        let mut text = litmus(seed, FLAVOURS[flavour]);
        let start = cut.min(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &insert);
        if let Ok(litmus) = parse(&text) {
            let _ = check(&litmus, &quick());
        }
    }

    #[test]
    fn generated_tests_parse(seed in 0u64..100_000, flavour in 0usize..10) {
        let text = litmus(seed, FLAVOURS[flavour]);
        prop_assert!(parse(&text).is_ok(), "{}", text);
    }
}
