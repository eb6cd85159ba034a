//! What kernels become, and what is refused.

use memory_model::{Litmus, Options, Property, check};
use ptx_frontend::Source;

use super::translate;

fn read(text: &str) -> Result<Litmus, String> {
    let parsed = ptx_frontend::parse(Source::new("test.ptx", text.as_bytes().to_vec()));
    let Some(module) = parsed.module else {
        panic!("{}\n{text}", parsed.diagnostics[0].message);
    };
    translate(&parsed.source, &module)
        .map_err(|wrong| ptx_frontend::render::render_all(&wrong, &parsed.source, false))
}

fn verdict_of(text: &str, property: Property) -> &'static str {
    let test = read(text).unwrap_or_else(|wrong| panic!("{wrong}"));
    check(&test, &Options { property, ..Options::default() }).verdict
}

/// The tests that teach, and what each says of itself.
#[test]
fn teaching_tests() {
    let cases = [
        ("cluster_barrier", "always"),
        ("handoff", "always"),
        ("handoff_volatile", "allowed"),
        ("last_block", "always"),
        ("mbarrier", "always"),
        ("producer_consumer", "always"),
        ("reduction_is_no_acquire", "allowed"),
        ("shared_barrier", "always"),
        ("spin_lock", "always"),
        ("spin_lock_block_scope", "allowed"),
        ("store_buffering", "forbidden"),
        ("tensormap_handoff", "always"),
        ("ticket_lock", "always"),
        ("vector_reduction", "always"),
        ("warp_sync", "always"),
    ];
    let folder = format!("{}/../testdata/litmus", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}")).count();
    assert_eq!(files, cases.len(), "a test of {folder} is not listed here");
    for (name, verdict) in cases {
        let text = std::fs::read_to_string(format!("{folder}/{name}.ptx")).expect("text");
        assert_eq!(verdict_of(&text, Property::Assertion), verdict, "{name}");
        assert_eq!(verdict_of(&text, Property::Termination), "terminates", "{name}");
        assert_eq!(verdict_of(&text, Property::BarrierDivergence), "converges", "{name}");
    }
}

/// A kernel of some threads with words `x` and `y`, shared `s` of 16 bytes and shared `b` of 8; its header goes
/// on with `head`.
fn kernel(head: &str, body: &str) -> String {
    let head: String = head.lines().map(|line| format!("//@ {}\n", line.trim())).collect();
    let body: String = body.lines().map(|line| format!("    {}\n", line.trim())).collect();
    format!(
        "//@ litmus test\n//@ location x = 0\n//@ location y = 0\n{head}.version 9.0\n.target sm_90a\n\
         .address_size 64\n.global .align 16 .b32 x[4];\n.global .align 16 .b32 y[4];\n.global .b32 other;\n\
         .shared .align 16 .b32 s[4];\n.shared .b64 b;\n.visible .entry test()\n{{\n    .reg .pred %p<4>;\n    \
         .reg .b32 %r<8>;\n    .reg .b64 %rd<4>;\n    .reg .b16 %h<2>;\n    .reg .f32 %f<4>;\n    .reg .f64 \
         %fd<2>;\n{body}    ret;\n}}\n"
    )
}

/// What one thread makes of registers.
fn alone(body: &str, question: &str) {
    let text = kernel(&format!("forall ({question})"), body);
    assert_eq!(verdict_of(&text, Property::Assertion), "always", "{text}");
}

#[test]
fn arithmetic_of_what_was_read() {
    // A number that no translation knows.
    let read = |value: u32| format!("st.global.u32 [x], {value};\nld.global.u32 %r1, [x];\n");
    let cases = [
        (7, "add.s32 %r2, %r1, -8;", "0:%r2 == 4294967295"),
        (7, "sub.u32 %r2, 3, %r1;", "0:%r2 == 4294967292"),
        (0x8000_0001, "mul.lo.u32 %r2, %r1, 2;", "0:%r2 == 2"),
        (5, "mad.lo.s32 %r2, %r1, %r1, %r1;", "0:%r2 == 30"),
        (0x8000_0001, "shl.b32 %r2, %r1, 4;", "0:%r2 == 16"),
        (5, "shl.b32 %r2, %r1, 32;", "0:%r2 == 0"),
        (5, "not.b32 %r2, %r1;", "0:%r2 == 4294967290"),
        (6, "and.b32 %r2, %r1, 3;", "0:%r2 == 2"),
        (6, "min.u32 %r2, %r1, 3;", "0:%r2 == 3"),
        (6, "setp.lt.s32 %p1, %r1, -1;\nselp.b32 %r2, 1, 2, %p1;", "0:%r2 == 2"),
        (6, "setp.lt.u32 %p1, %r1, -1;\nselp.b32 %r2, 1, 2, %p1;", "0:%r2 == 1"),
        (6, "setp.eq.s32 %p1, %r1, 6;\n@!%p1 mov.u32 %r2, 8;\n@%p1 mov.u32 %r2, 9;", "0:%r2 == 9"),
        (0xffff_fff0, "cvt.s64.s32 %rd1, %r1;", "0:%rd1 == -16"),
        (0xffff_fff0, "cvt.u64.u32 %rd1, %r1;", "0:%rd1 == 4294967280"),
        (0xffff_fff0, "mul.wide.u32 %rd1, %r1, 2;", "0:%rd1 == 8589934560"),
        (0x1234, "cvt.u32.u8 %r2, %r1;", "0:%r2 == 52"),
    ];
    for (value, code, question) in cases {
        alone(&(read(value) + code), question);
    }
}

#[test]
fn what_is_the_same_everywhere() {
    let cases = [
        ("mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %nctaid.x;", "0:%r1 == 1 /\\ 0:%r2 == 1"),
        (
            "mov.u32 %r1, -1;\nshr.u32 %r2, %r1, 28;\nshr.s32 %r3, %r1, 28;",
            "0:%r2 == 15 /\\ 0:%r3 == 4294967295",
        ),
        ("mov.u32 %r1, -1;\nmul.hi.u32 %r2, 1, 1;", "0:%r1 == 4294967295"),
        ("mov.u64 %rd1, -1;\nsetp.gt.u64 %p1, %rd1, 1;\n@%p1 mov.u32 %r2, 5;", "0:%r2 == 5"),
        ("mov.f32 %f1, 0f3F800000;\nst.global.f32 [x], %f1;\nld.global.u32 %r1, [x];", "0:%r1 == 0x3f800000"),
        ("mov.u64 %rd1, y;\nadd.s64 %rd1, %rd1, 4;\nst.global.u32 [%rd1+4], 3;", "y[2] == 3"),
        ("mov.u32 %r1, s;\nst.shared.u32 [%r1+4], 3;\nld.shared.u32 %r2, [s+4];", "0:%r2 == 3"),
        ("mov.u64 %rd1, x;\ncvta.global.u64 %rd2, %rd1;\nst.u32 [%rd2], 3;", "x == 3"),
        ("mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 trap;", "x == 0"),
    ];
    for (code, question) in cases {
        // What a translation cannot compute may be unused, but not unknown.
        match code.contains("mul.hi") {
            true => assert!(read(&kernel("forall (x == 0)", code)).is_err()),
            false => alone(code, question),
        }
    }
    // Parameters: numbers, addresses, and addresses inside a location.
    let text = kernel(
        "arg 0x10\narg &x+4\nforall (x[1] == 16)",
        "ld.param.u32 %r1, [n];\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], %r1;",
    )
    .replace("test()", "test(.param .u32 n, .param .u64 p)");
    assert_eq!(verdict_of(&text, Property::Assertion), "always");
    // Positions in a cluster, and of lanes of which not all are explored.
    let text = kernel(
        "grid 4\ncluster 2\nforall (3:%r1 == 1 /\\ 3:%r2 == 1 /\\ 2:%r1 == 0 /\\ 2:%r2 == 1)",
        "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, %clusterid.x;",
    );
    assert_eq!(verdict_of(&text, Property::Assertion), "always");
    let text = kernel(
        "block 4\nwarp 2\nforall (3:%r1 == 33 /\\ 3:%r2 == 1 /\\ 3:%r3 == 64)",
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nmov.u32 %r3, %ntid.x;",
    );
    assert_eq!(verdict_of(&text, Property::Assertion), "always");
}

#[test]
fn atomics() {
    let cases = [
        ("atom.global.add.u32 %r1, [x], 2;\natom.global.inc.u32 %r2, [x], 2;", "0:%r2 == 2 /\\ x == 0"),
        ("atom.global.cas.b32 %r1, [x], 0, 5;\natom.global.exch.b32 %r2, [x], 6;", "0:%r2 == 5 /\\ x == 6"),
        ("red.global.max.u32 [x], 5;\nred.global.or.b32 [x], 8;", "x == 13"),
        ("red.shared.add.u32 [s], 5;\nld.shared.u32 %r1, [s];", "0:%r1 == 5"),
        ("red.global.add.f32 [x], 0f3F800000;\nred.global.add.f32 [x], 0f3F800000;", "x == 0x40000000"),
        (
            "atom.global.add.f64 %fd1, [x], 0d3FF0000000000000;\nld.global.b64 %rd1, [x];",
            "0:%rd1 == 0x3ff0000000000000",
        ),
        ("mov.b32 %f1, 1;\nred.shared.add.f32 [s], %f1;\nld.shared.u32 %r1, [s];", "0:%r1 == 1"),
        ("mov.b32 %f1, 1;\nred.global.add.f32 [x], %f1;", "x == 0"),
        (
            "mov.f32 %f1, 0f3F800000;\natom.global.add.v2.f32 {%f2, %f3}, [x], {%f1, %f1};\nld.global.v2.u32 {%r1, %r2}, [x];",
            "0:%f2 == 0 /\\ 0:%r1 == 0x3f800000 /\\ 0:%r2 == 0x3f800000",
        ),
    ];
    for (code, question) in cases {
        alone(code, question);
    }
}

#[test]
fn barriers() {
    let two = |head: &str, first: &str, second: &str, question: &str| {
        let body = format!(
            "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra OTHER;\n{first}\nret;\nOTHER:\n{second}"
        );
        kernel(&format!("block 2\n{head}\n{question}"), &body)
    };
    let (write, look) = ("st.shared.u32 [s], 1;", "ld.shared.u32 %r2, [s];");
    let sees = |meet: [&str; 2], head: &str| {
        let text = two(
            head,
            &format!("{write}\n{}", meet[0]),
            &format!("{}\n{look}", meet[1]),
            "forall (1:%r2 == 1)",
        );
        verdict_of(&text, Property::Assertion)
    };
    // Whole warps, of which one lane each is explored.
    assert_eq!(sees(["bar.sync 0, 64;", "bar.sync 0, 64;"], "warp 1"), "always");
    assert_eq!(sees(["bar.arrive 3, 64;", "barrier.cta.sync 3, 64;"], "warp 1"), "always");
    assert_eq!(sees(["bar.sync 0, 32;", "bar.sync 0, 32;"], "warp 1"), "not always");
    assert_eq!(sees(["bar.sync 1, 64;", "bar.sync 2, 64;"], "warp 1"), "always");
    let apart = two("warp 1", "bar.sync 1, 64;", "bar.sync 2, 64;", "forall (x == 0)");
    assert_eq!(verdict_of(&apart, Property::BarrierDivergence), "diverges");
    // Two lanes of one warp.
    assert_eq!(sees(["bar.sync 0, 32;", "bar.sync 0, 32;"], "grid 1"), "always");
    assert_eq!(sees(["bar.warp.sync 3;", "bar.warp.sync -1;"], "grid 1"), "always");
    assert_eq!(sees(["bar.warp.sync 1;", "bar.warp.sync 2;"], "grid 1"), "not always");
    // A reduction whose result nobody wants is a barrier.
    let reduce = "setp.eq.u32 %p2, %r1, %r1;\nbarrier.cta.red.popc.u32 %r5, 0, %p2;";
    assert_eq!(sees([reduce, reduce], "grid 1"), "always");
    let reduce = "setp.eq.u32 %p2, %r1, %r1;\nbar.red.or.pred %p3, 0, 64, %p2;";
    assert_eq!(sees([reduce, reduce], "warp 1"), "always");
}

#[test]
fn mbarriers() {
    let text = |wait: &str, arrivals: &str, count: u32| {
        kernel(
            "block 2\nforall (1:%r2 == 1)",
            &format!(
                "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared::cta.b64 [b], {count};\n\
                 bar.sync 0;\n@%p1 bra OTHER;\nst.shared.u32 [s], 1;\n{arrivals}\nret;\nOTHER:\n{wait}\n\
                 @!%p2 bra OTHER;\nld.shared.u32 %r2, [s];"
            ),
        )
    };
    let parity = "mbarrier.test_wait.parity.shared::cta.b64 %p2, [b], 0;";
    let arrive = "mbarrier.arrive.shared::cta.b64 %rd1, [b];";
    assert_eq!(verdict_of(&text(parity, arrive, 1), Property::Assertion), "always");
    assert_eq!(verdict_of(&text(parity, arrive, 2), Property::Termination), "may run for ever");
    let twice = "mbarrier.arrive.shared::cta.b64 %rd1, [b], 2;";
    assert_eq!(verdict_of(&text(parity, twice, 2), Property::Assertion), "always");
    // The waiting thread arrives too and waits for the phase of its arrival.
    let own = "mbarrier.arrive.shared::cta.b64 %rd2, [b];\nAGAIN:\nmbarrier.try_wait.shared::cta.b64 %p2, [b], %rd2;";
    let own = text(own, arrive, 2).replace("bra OTHER;\n    ld", "bra AGAIN;\n    ld");
    assert_eq!(verdict_of(&own, Property::Assertion), "always");
    assert_eq!(verdict_of(&own, Property::Termination), "terminates");
    let relaxed = "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p2, [b], 0;";
    assert_eq!(verdict_of(&text(relaxed, arrive, 1), Property::Assertion), "not always");
}

/// The error, as it is shown.
fn refusal(head: &str, body: &str) -> String {
    let text = kernel(head, body);
    read(&text).err().unwrap_or_else(|| panic!("accepted:\n{text}"))
}

#[test]
fn refusals() {
    let cases = [
        ("ld.global.nc.u32 %r1, [x];", "the memory model does not speak of non-coherent loads"),
        ("ld.local.u32 %r1, [%rd1];", "only global and shared memory have locations"),
        ("ld.global.u32 %r1, [other];", "`other` is no location"),
        ("mov.u64 %rd1, 64;\nld.global.u32 %r1, [%rd1];", "the address is that of no location"),
        ("mov.u64 %rd1, x;\nld.global.u32 %r1, [%rd1+-4];", "the address is before its location"),
        (
            "mov.u32 %r1, s;\ncvt.u64.u32 %rd1, %r1;\nld.global.u32 %r2, [%rd1];",
            "the address is in another state space",
        ),
        (
            "atom.global.add.noftz.f16 %h1, [x], %h1;",
            "of the atomics, those of integers and the additions of `.f32`",
        ),
        ("atom.global.min.s32 %r1, [x], 3;", "signed numbers are not ordered as in a test"),
        ("atom.global.add.u32 _, [x], 3;", "an atomic without a destination; use `red`"),
        ("add.f32 %f1, %f2, %f3;", "only arithmetic of integers of 32 and 64 bits has a counterpart"),
        ("ld.global.u32 %r1, [x];\nmul.hi.u32 %r2, %r1, 3;", "of products, the lower half has a counterpart"),
        (
            "ld.global.u32 %r1, [x];\nld.global.u32 %r2, [y];\nshl.b32 %r3, %r1, %r2;",
            "by how much is not the same everywhere",
        ),
        (
            "ld.global.u32 %r1, [x];\nmin.s32 %r2, %r1, 3;",
            "of this type, numbers are not ordered as in a test",
        ),
        ("ld.global.u32 %r1, [x];\npopc.b32 %r2, %r1;", "it has no counterpart"),
        ("setp.lt.f32 %p1, %f1, %f2;", "only comparisons of integers into one predicate have a counterpart"),
        (
            "ld.global.u32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1;",
            "the predicate is also the result of another comparison",
        ),
        (
            "and.pred %p1, %p2, %p3;\n@%p1 ret;",
            "only arithmetic of integers of 32 and 64 bits has a counterpart",
        ),
        ("ld.global.u32 %r1, [x];\nbar.sync 0, %r1;", "its count of threads is not the same everywhere"),
        (
            "setp.eq.u32 %p2, %r1, %r1;\nbar.red.popc.u32 %r5, 0, %p2;\nst.global.u32 [x], %r5;",
            "the result of the reduction has no counterpart",
        ),
        (
            "fence.mbarrier_init.release.cluster;",
            "a fence of initialisations only; `fence.acq_rel.cluster` does more",
        ),
        (
            "st.global.u32 [x], 1;\nfence.acquire.sync_restrict::shared::cluster.cluster;",
            "a fence that orders shared memory only, in a test that accesses other memory",
        ),
        (
            "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [b], 16;",
            "transactions and dropped arrivals have no counterpart",
        ),
        (
            "mbarrier.inval.shared::cta.b64 [b];",
            "of the mbarriers' instructions, init, arrive and the waits have a counterpart",
        ),
        ("cp.async.ca.shared.global [s], [x], 16;", "it has no counterpart"),
    ];
    for (code, why) in cases {
        let shown = refusal("forall (x == 0)", code);
        let last = code.lines().last().expect("code").trim_end_matches(';');
        assert!(shown.contains(why), "{code}\n{shown}");
        assert!(shown.contains("error[L") && shown.contains("test.ptx:"), "{shown}");
        // The line at fault is quoted, which is the last one but for `ret`.
        let quoted = shown.contains(last) || code.contains("%p1 ret") || code.contains("%r5");
        assert!(quoted, "{code}\n{shown}");
    }
    let many = refusal("grid 9\nblock 8\nforall (x == 0)", "");
    assert!(many.contains("72 threads: at most 64 are explored"), "{many}");
    let arguments = refusal("arg 1\nforall (x == 0)", "");
    assert!(arguments.contains("the kernel has 0 parameters, the header gives 1 arguments"), "{arguments}");
    let register = refusal("forall (0:%r99 == 0)", "");
    assert!(register.contains("the kernel has no register `%r99`"), "{register}");
    let zero = refusal("grid 0\nforall (x == 0)", "");
    assert!(zero.contains("`grid` takes a number above zero, not `0`"), "{zero}");
    let key = refusal("gird 2\nforall (x == 0)", "");
    assert!(
        key.contains("`gird` is not a line of the header") && key.contains("block, warp, cluster"),
        "{key}"
    );
    let question = refusal("forall (x = = 0)", "");
    assert!(question.contains("the test made of the kernel is not well formed"), "{question}");
    let kernel = refusal("kernel another\nforall (x == 0)", "");
    assert!(kernel.contains("there is no such kernel"), "{kernel}");
}

/// How a refusal looks.
#[test]
fn a_refusal_is_shown_in_its_place() {
    let lanes = refusal("block 64\nforall (x == 0)", "bar.sync 0, 32;");
    assert_eq!(
        lanes.trim_end(),
        "error[L009]: `bar.sync` in a litmus test: a count of some of the warps; `//@ warp 1` explores one lane \
         of each\n  --> test.ptx:22:5\n   |\n22 |     bar.sync 0, 32;\n   |     ^^^^^^^^^^^^^^^"
    );
}
