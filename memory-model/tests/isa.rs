//! What the newest text says and the published models do not, one small program each.

use memory_model::model::ModelName;
use memory_model::{Options, Property, check, parse};

/// A test from columns: placement and instructions, one a line.
fn text(init: &str, columns: &[(&str, &str)], question: &str) -> String {
    let cells: Vec<Vec<&str>> = columns.iter().map(|c| c.1.lines().map(str::trim).collect()).collect();
    let rows = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = format!("PTX test\n{{ {init} }}\n");
    let places: Vec<String> = columns.iter().enumerate().map(|(i, c)| format!("P{i}@{}", c.0)).collect();
    out.push_str(&format!("{} ;\n", places.join(" | ")));
    for row in 0..rows {
        let line: Vec<&str> = cells.iter().map(|c| c.get(row).copied().unwrap_or("")).collect();
        out.push_str(&format!("{} ;\n", line.join(" | ")));
    }
    out.push_str(question);
    out
}

fn verdict_under(model: ModelName, init: &str, columns: &[(&str, &str)], question: &str) -> &'static str {
    let text = text(init, columns, question);
    let litmus = parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render("test", &text)));
    let verdict = check(&litmus, &Options { model, ..Options::default() });
    assert!(verdict.holds.is_some() || verdict.verdict == "undefined", "{text}{:?}", verdict.reason);
    verdict.verdict
}

fn verdict(init: &str, columns: &[(&str, &str)], question: &str) -> &'static str {
    verdict_under(ModelName::Isa, init, columns, question)
}

/// Message passing between two CTAs with the given hand-over.
fn message(places: [&str; 2], send: &str, receive: &str) -> &'static str {
    let (send, receive) = (format!("st.weak x, 1\n{send}"), format!("{receive}\nld.weak r1, x"));
    verdict(
        "x=0; y=0; b = mbarrier 1;",
        &[(places[0], &send), (places[1], &receive)],
        "exists (1:r0 == 1 /\\ 1:r1 == 0)",
    )
}

const CTAS: [&str; 2] = ["cta 0, gpu 0", "cta 1, gpu 0"];
const ONE_CTA: [&str; 2] = ["cta 0, gpu 0", "cta 0, gpu 0"];
const CLUSTER: [&str; 2] = ["cta 0, cluster 0, gpu 0", "cta 1, cluster 0, gpu 0"];

#[test]
fn acquire_and_release_fences() {
    let release = "fence.release.gpu\nst.relaxed.gpu y, 1";
    let acquire = "ld.relaxed.gpu r0, y\nfence.acquire.gpu";
    assert_eq!(message(CTAS, release, acquire), "forbidden");
    assert_eq!(message(CTAS, "fence.acquire.gpu\nst.relaxed.gpu y, 1", acquire), "allowed");
    assert_eq!(message(CTAS, release, "ld.relaxed.gpu r0, y\nfence.release.gpu"), "allowed");
    assert_eq!(message(CTAS, "fence.gpu\nst.relaxed.gpu y, 1", acquire), "forbidden");
    assert_eq!(message(CTAS, "membar.gl\nst.volatile y, 1", "ld.volatile r0, y\nmembar.gl"), "forbidden");
    assert_eq!(message(CTAS, "st.volatile y, 1", "ld.volatile r0, y"), "allowed");
    assert_eq!(message(CTAS, "membar.cta\nst.volatile y, 1", "ld.volatile r0, y\nmembar.gl"), "allowed");
}

#[test]
fn cluster_scope() {
    let (send, receive) = ("st.release.cluster y, 1", "ld.acquire.cluster r0, y");
    assert_eq!(message(CLUSTER, send, receive), "forbidden");
    assert_eq!(message(ONE_CTA, send, receive), "forbidden");
    // Without a cluster launch a CTA is its own cluster.
    assert_eq!(message(CTAS, send, receive), "allowed");
    assert_eq!(message(CLUSTER, send, "ld.acquire.cta r0, y"), "allowed");
    assert_eq!(message(CLUSTER, send, "ld.acquire.gpu r0, y"), "forbidden");
    assert_eq!(message(["cta 0, cluster 0, gpu 0", "cta 1, cluster 1, gpu 0"], send, receive), "allowed");
}

#[test]
fn mbarriers_pass_messages_within_their_scope() {
    let (arrive, wait) = ("mbarrier.arrive b", "mbarrier.test_wait r0, b, 0");
    assert_eq!(message(ONE_CTA, arrive, wait), "forbidden");
    assert_eq!(message(CLUSTER, arrive, wait), "allowed");
    assert_eq!(
        message(CLUSTER, "mbarrier.arrive.release.cluster b", "mbarrier.test_wait.acquire.cluster r0, b, 0"),
        "forbidden"
    );
    assert_eq!(message(ONE_CTA, "mbarrier.arrive.relaxed.cta b", wait), "allowed");
    assert_eq!(message(ONE_CTA, arrive, "mbarrier.test_wait.relaxed.cta r0, b, 0"), "allowed");
}

#[test]
fn an_mbarrier_phase_takes_in_every_arrival() {
    let producer = |x: &str| format!("st.weak {x}, 1\nmbarrier.arrive b");
    let (p, q) = (producer("x"), producer("y"));
    let consumer = "mbarrier.test_wait r0, b, 0\nld.weak r1, x\nld.weak r2, y";
    let place = "cta 0, gpu 0";
    let columns = [(place, p.as_str()), (place, q.as_str()), (place, consumer)];
    let question = "exists (2:r0 == 1 /\\ (2:r1 == 0 \\/ 2:r2 == 0))";
    assert_eq!(verdict("x=0; y=0; b = mbarrier 2;", &columns, question), "forbidden");
    // With three arrivals expected the phase does not complete.
    let question = "exists (2:r0 == 1)";
    assert_eq!(verdict("x=0; y=0; b = mbarrier 3;", &columns, question), "forbidden");
    assert_eq!(verdict("x=0; y=0; b = mbarrier 2;", &columns, question), "allowed");
}

#[test]
fn cluster_barriers() {
    let pass = |arrive: &str, places: [&str; 2]| {
        let send = format!("st.weak x, 1\n{arrive}\nbarrier.cluster.wait");
        verdict(
            "x=0;",
            &[(places[0], &send), (places[1], "barrier.cluster.arrive\nbarrier.cluster.wait\nld.weak r0, x")],
            "exists (1:r0 == 0)",
        )
    };
    assert_eq!(pass("barrier.cluster.arrive", CLUSTER), "forbidden");
    assert_eq!(pass("barrier.cluster.arrive.relaxed", CLUSTER), "allowed");
    assert_eq!(pass("barrier.cluster.arrive", CTAS), "allowed");
    // Between arrive and wait nothing is ordered.
    let between = verdict(
        "x=0;",
        &[
            (CLUSTER[0], "st.weak x, 1\nbarrier.cluster.arrive\nbarrier.cluster.wait"),
            (CLUSTER[1], "barrier.cluster.arrive\nld.weak r0, x\nbarrier.cluster.wait"),
        ],
        "exists (1:r0 == 0)",
    );
    assert_eq!(between, "allowed");
}

#[test]
fn barriers_work_in_phases() {
    let place = "cta 0, gpu 0";
    // Double buffering with one barrier: the second phase protects the reuse of the buffer.
    let columns = [
        (place, "st.weak x, 1\nbar.sync 0\nbar.sync 0\nst.weak x, 2"),
        (place, "bar.sync 0\nld.weak r0, x\nbar.sync 0"),
    ];
    assert_eq!(verdict("x=0;", &columns, "exists (1:r0 != 1)"), "forbidden");
    let columns = [
        (place, "st.weak x, 1\nbar.sync 0\nst.weak x, 2\nbar.sync 0"),
        (place, "bar.sync 0\nld.weak r0, x\nbar.sync 0"),
    ];
    assert_eq!(verdict("x=0;", &columns, "exists (1:r0 == 2)"), "allowed");
    assert_eq!(verdict("x=0;", &columns, "exists (1:r0 == 0)"), "forbidden");
    // Producer arrives, consumer waits, counts given.
    let counted = [(place, "st.weak x, 1\nbar.arrive 3, 2"), (place, "bar.sync 3, 2\nld.weak r0, x")];
    assert_eq!(verdict("x=0;", &counted, "exists (1:r0 == 0)"), "forbidden");
    let late = [
        (place, "st.weak x, 1\nbar.sync 3, 2"),
        (place, "bar.sync 3, 2\nld.weak r0, x"),
        (place, "bar.sync 3, 2"),
    ];
    // Two of the three meet, the third waits for ever: no execution completes.
    assert_eq!(verdict("x=0;", &late, "exists (1:r0 == 1)"), "forbidden");
    let litmus = parse(&text("x=0;", &late, "exists (1:r0 == 1)")).expect("well-formed");
    let ends = check(&litmus, &Options { property: Property::Termination, ..Options::default() });
    assert_eq!(ends.holds, Some(false));
    // The published models let all three pass.
    assert_eq!(verdict_under(ModelName::Cat75, "x=0;", &late, "exists (1:r0 == 1)"), "allowed");
}

#[test]
fn the_async_proxy_needs_its_fence() {
    let place = "cta 0, gpu 0";
    let read = |middle: &str| {
        let column = format!("st.weak x, 1\n{middle}\nald.weak r0, s");
        verdict("x=0; s @ async aliases x;", &[(place, &column)], "exists (0:r0 == 0)")
    };
    assert_eq!(read("fence.proxy.async"), "forbidden");
    assert_eq!(read("fence.sc.sys"), "allowed");
    assert_eq!(read("fence.proxy.alias"), "allowed");
    let litmus = parse(&text(
        "x=0; s @ async aliases x;",
        &[(place, "st.weak x, 1\nald.weak r0, s")],
        "exists (0:r0 == 0)",
    ))
    .expect("well-formed");
    let races = check(&litmus, &Options { property: Property::Races, ..Options::default() });
    assert_eq!(races.holds, Some(false));
    assert_eq!(races.race.expect("a race").class.as_str(), "proxy");
}

#[test]
fn aliases_need_their_fence() {
    let place = "cta 0, gpu 0";
    let read = |fence: &str| {
        let column = format!("st.weak x, 1\n{fence}\nld.weak r0, y");
        verdict("x=0; y @ generic aliases x;", &[(place, &column)], "exists (0:r0 == 0)")
    };
    assert_eq!(read("fence.proxy.alias"), "forbidden");
    assert_eq!(read("fence.sc.sys"), "allowed");
}

#[test]
fn dependencies_stop_thin_air() {
    // Load buffering with an address dependency on one side and a data dependency on the other.
    let columns = [
        (CTAS[0], "ld.relaxed.gpu r0, y\nst.relaxed.gpu [r0], &z"),
        (CTAS[1], "ld.relaxed.gpu r1, x\nst.relaxed.gpu y, r1"),
    ];
    let init = "z=0; x=&z; y=&x;";
    assert_eq!(verdict(init, &columns, "exists (1:r1 == &z /\\ 0:r0 == &x)"), "allowed");
    let columns = [
        (CTAS[0], "ld.relaxed.gpu r0, y\nst.relaxed.gpu x, r0"),
        (CTAS[1], "ld.relaxed.gpu r1, x\nbne r1, 5, LC0\nst.relaxed.gpu y, 5\nLC0:"),
    ];
    assert_eq!(verdict("x=0; y=0;", &columns, "exists (0:r0 == 5)"), "forbidden");
    // A read that decides nothing and feeds nothing is no dependency.
    let columns = [
        (CTAS[0], "ld.relaxed.gpu r0, y\nst.relaxed.gpu x, r0"),
        (CTAS[1], "ld.relaxed.gpu r1, x\nst.relaxed.gpu y, 5"),
    ];
    assert_eq!(verdict("x=0; y=0;", &columns, "exists (0:r0 == 5 /\\ 1:r1 == 5)"), "allowed");
}

#[test]
fn addresses_in_registers() {
    // A pointer is published; the object behind it is initialised.
    let send = "st.weak x, 1\nst.release.gpu p, &x";
    let receive = "ld.acquire.gpu r0, p\nbeq r0, &z, LC0\nld.weak r1, [r0]\nLC0:";
    let columns = [(CTAS[0], send), (CTAS[1], receive)];
    let question = "exists (1:r0 == &x /\\ 1:r1 == 0)";
    assert_eq!(verdict("x=0; z=7; p=&z;", &columns, question), "forbidden");
    let relaxed = send.replace("release", "relaxed");
    assert_eq!(verdict("x=0; z=7; p=&z;", &[(CTAS[0], &relaxed), (CTAS[1], receive)], question), "allowed");
    // A register that holds no address.
    let wild = [(CTAS[0], "ld.weak r0, x\nld.weak r1, [r0]")];
    assert_eq!(verdict("x=0; z=0; p=&z;", &wild, "exists (0:r1 == 0)"), "undefined");
}

#[test]
fn vectors_tear_and_scalars_do_not() {
    let torn = verdict(
        "x=0;",
        &[
            (CTAS[0], "st.weak.v2.u32 {1, 1}, x".replace("{1, 1}, x", "x, {1, 1}").as_str()),
            (CTAS[1], "ld.weak.v2.u32 {r0, r1}, x"),
        ],
        "exists (1:r0 == 1 /\\ 1:r1 == 0)",
    );
    assert_eq!(torn, "allowed");
    let whole = verdict(
        "x=0;",
        &[(CTAS[0], "st.weak.u64 x, 4294967297"), (CTAS[1], "ld.weak.u64 r0, x")],
        "exists (1:r0 == 1 \\/ 1:r0 == 4294967296)",
    );
    assert_eq!(whole, "forbidden");
    // In one thread, bytes written separately are read back together.
    let assembled = verdict(
        "x=0;",
        &[(CTAS[0], "st.weak.u8 x, 1\nst.weak.u8 x+1, 2\nld.weak.u16 r0, x")],
        "forall (0:r0 == 513 /\\ x == 513)",
    );
    assert_eq!(assembled, "always");
}

#[test]
fn atomics_that_fail_write_nothing() {
    let columns = [(CTAS[0], "atom.relaxed.gpu.cas r0, x, 7, 8"), (CTAS[1], "st.weak x, 5")];
    assert_eq!(verdict("x=0;", &columns, "exists (x == 0)"), "forbidden");
    assert_eq!(verdict_under(ModelName::Cat75, "x=0;", &columns, "exists (x == 0)"), "allowed");
    // A failed release synchronises nothing.
    let columns = [
        (CTAS[0], "st.weak x, 1\natom.release.gpu.cas r0, y, 9, 0"),
        (CTAS[1], "ld.acquire.gpu r0, y\nld.weak r1, x"),
    ];
    assert_eq!(verdict("x=0; y=1;", &columns, "exists (1:r0 == 1 /\\ 1:r1 == 0)"), "allowed");
}

#[test]
fn further_operations() {
    let old = |op: &str, initial: i64, question: &str| {
        let column = format!("atom.relaxed.gpu.{op}");
        verdict(&format!("x={initial};"), &[(CTAS[0], &column)], question)
    };
    assert_eq!(old("inc r0, x, 3", 3, "forall (0:r0 == 3 /\\ x == 0)"), "always");
    assert_eq!(old("inc r0, x, 3", 1, "forall (x == 2)"), "always");
    assert_eq!(old("dec r0, x, 3", 0, "forall (x == 3)"), "always");
    assert_eq!(old("dec r0, x, 3", 2, "forall (x == 1)"), "always");
    assert_eq!(old("max r0, x, -1", -5, "forall (0:r0 == -5 /\\ x == -1)"), "always");
    assert_eq!(old("min r0, x, -9", -5, "forall (x == -9)"), "always");
    assert_eq!(old("xor r0, x, 6", 5, "forall (x == 3)"), "always");
    assert_eq!(old("cas r0, x, 5, 6", 5, "forall (0:r0 == 5 /\\ x == 6)"), "always");
}

/// A descriptor in memory that is written through the generic proxy and read through that of tensor maps, as in
/// the example of 9.7.13.4.
#[test]
fn proxy_fences_of_one_direction() {
    let hand_over = |release: &str, acquire: &str, read: &str| {
        let send = format!("st.weak x, 1\n{release}\nst.relaxed.gpu y, 1");
        let receive = format!("ld.relaxed.gpu r0, y\n{acquire}\n{read}");
        verdict(
            "x=0; y=0; t @ tensormap aliases x; a @ async aliases x;",
            &[(CTAS[0], &send), (CTAS[1], &receive)],
            "exists (1:r0 == 1 /\\ 1:r1 == 0)",
        )
    };
    let (release, acquire) =
        ("fence.proxy.tensormap::generic.release.gpu", "fence.proxy.tensormap::generic.acquire.gpu");
    let map = "tmld.weak r1, t";
    assert_eq!(hand_over(release, acquire, map), "forbidden");
    // A pattern needs both of its ends, of one kind and of sufficient scope.
    assert_eq!(hand_over("", acquire, map), "allowed");
    assert_eq!(hand_over(release, "", map), "allowed");
    assert_eq!(hand_over("fence.release.gpu", acquire, map), "allowed");
    assert_eq!(hand_over(release, "fence.acquire.gpu", map), "allowed");
    assert_eq!(hand_over("fence.proxy.tensormap::generic.release.cta", acquire, map), "allowed");
    assert_eq!(hand_over("fence.proxy.async::generic.release.gpu", acquire, map), "allowed");
    // Ordinary fences order the generic proxy only.
    assert_eq!(hand_over("fence.acq_rel.gpu", "fence.acq_rel.gpu", map), "allowed");
    assert_eq!(hand_over("fence.acq_rel.gpu", "fence.acq_rel.gpu\nfence.proxy.tensormap", map), "forbidden");
    // The other kind, and generic reads behind it, which base causality reaches as well.
    let (release_async, acquire_async) =
        ("fence.proxy.async::generic.release.cluster", "fence.proxy.async::generic.acquire.cluster");
    assert_eq!(hand_over(release_async, acquire_async, "ald.weak r1, a"), "allowed");
    let (release_async, acquire_async) =
        (release_async.replace("cluster", "gpu"), acquire_async.replace("cluster", "gpu"));
    assert_eq!(hand_over(&release_async, &acquire_async, "ald.weak r1, a"), "forbidden");
    assert_eq!(hand_over(&release_async, &acquire_async, map), "allowed");
    assert_eq!(hand_over(release, acquire, "ld.weak r1, x"), "forbidden");
    // The way back is no business of these fences.
    let back = verdict(
        "x=0; y=0; a @ async aliases x;",
        &[
            (CTAS[0], "ast.weak a, 1\nfence.proxy.async::generic.release.gpu\nst.relaxed.gpu y, 1"),
            (CTAS[1], "ld.relaxed.gpu r0, y\nfence.proxy.async::generic.acquire.gpu\nld.weak r1, x"),
        ],
        "exists (1:r0 == 1 /\\ 1:r1 == 0)",
    );
    assert_eq!(back, "allowed");
}

#[test]
fn vector_atomics_are_atomic_by_the_element() {
    let ones = "{1, 1}";
    let add = format!("atom.relaxed.gpu.add.v2.u32 {{r0, r1}}, [x], {ones}");
    let columns = [(CTAS[0], add.as_str()), (CTAS[1], add.as_str())];
    assert_eq!(verdict("x=0;", &columns, "forall (x[0] == 2 /\\ x[1] == 2)"), "always");
    // Each saw one of the elements first.
    let crossed = "exists (0:r0 == 0 /\\ 0:r1 == 1 /\\ 1:r0 == 1 /\\ 1:r1 == 0)";
    assert_eq!(verdict("x=0;", &columns, crossed), "allowed");
    assert_eq!(verdict("x=0;", &columns, "exists (0:r0 == 1 /\\ 1:r0 == 1)"), "forbidden");
    let narrow = add.replace("gpu", "cta");
    let columns = [(CTAS[0], narrow.as_str()), (CTAS[1], narrow.as_str())];
    assert_eq!(verdict("x=0;", &columns, "forall (x[0] == 2)"), "not always");
    // One element's acquire is not before the other's release.
    let relay = |order: &str| {
        let middle = format!("atom.{order}.gpu.add.v2.u32 {{r0, r1}}, [y], {{1, 1}}");
        let (send, receive) =
            ("st.weak x, 1\nst.release.gpu.u32 [y], 1", "ld.acquire.gpu.u32 r0, [y+4]\nld.weak r1, x");
        let places = "cta 2, gpu 0";
        let columns = [(CTAS[0], send), (CTAS[1], middle.as_str()), (places, receive)];
        verdict("x=0; y=0;", &columns, "exists (1:r0 == 1 /\\ 2:r0 == 1 /\\ 2:r1 == 0)")
    };
    assert_eq!(relay("acq_rel"), "allowed");
    assert_eq!(relay("relaxed"), "allowed");
    let whole = "red.relaxed.gpu.add.v4.f32 [x], {0x3f800000, 0x40000000, 0, 0xbf800000}";
    let columns = [(CTAS[0], whole), (CTAS[1], whole)];
    let sums = "forall (x[0] == 0x40000000 /\\ x[1] == 0x40800000 /\\ x[2] == 0 /\\ x[3] == 0xc0000000)";
    assert_eq!(verdict("x=0;", &columns, sums), "always");
}

/// Sums of floating-point numbers depend on their order; those of global memory flush subnormal numbers.
#[test]
fn floating_point_atomics() {
    let add = |value: &str| format!("atom.relaxed.gpu.add.f32 r0, x, {value}");
    // 2^24, 1 and 1: one after the other the ones are lost, together they are not.
    let (large, one) = (add("0x4b800000"), add("0x3f800000"));
    let columns = [(CTAS[0], large.as_str()), (CTAS[1], &one), ("cta 2, gpu 0", &one)];
    let both = "exists (x == 0x4b800000)";
    assert_eq!(verdict("x=0;", &columns, both), "allowed");
    assert_eq!(verdict("x=0;", &columns, "exists (x == 0x4b800001)"), "allowed");
    assert_eq!(verdict("x=0;", &columns, "forall (x == 0x4b800000 \\/ x == 0x4b800001)"), "always");
    let tiny = [(CTAS[0], "red.relaxed.gpu.global.add.f32 [x], 1")];
    assert_eq!(verdict("x=0;", &tiny, "forall (x == 0)"), "always");
    let shared = [(CTAS[0], "red.relaxed.gpu.shared.add.f32 [x], 1")];
    assert_eq!(verdict("x=0;", &shared, "forall (x == 1)"), "always");
    let double = [(CTAS[0], "red.relaxed.gpu.add.f64 [x], 0x3ff0000000000000")];
    assert_eq!(verdict("x=0;", &double, "forall (x == 0x3ff0000000000000)"), "always");
    // Infinity less infinity is the one NaN that PTX makes.
    let nan = [(CTAS[0], "red.relaxed.gpu.add.f32 [x], 0xff800000")];
    assert_eq!(verdict("x=0x7f800000;", &nan, "forall (x == 0x7fffffff)"), "always");
}

/// An object of an array of them, its state as a token, and several arrivals at once.
#[test]
fn mbarriers_in_full() {
    let send = "st.weak x, 1\nmbarrier.arrive.b64 r2, [b+8], 2";
    let receive = "mbarrier.test_wait.parity.b64 r0, [b+8], 0\nld.weak r1, x";
    let init = "x=0; b = 0;";
    let start = format!("st.weak.u64 [b+8], {}\nbar.sync 0\n", (2 << 16) + 2);
    let (send, receive) = (format!("{start}{send}"), format!("bar.sync 0\n{receive}"));
    let columns = [(ONE_CTA[0], send.as_str()), (ONE_CTA[1], receive.as_str())];
    assert_eq!(verdict(init, &columns, "exists (1:r0 == 1)"), "allowed");
    assert_eq!(verdict(init, &columns, "exists (1:r0 == 1 /\\ 1:r1 == 0)"), "forbidden");
    // The token is the state before the arrivals: phase 0, two to come.
    assert_eq!(verdict(init, &columns, &format!("forall (0:r2 == {})", (2 << 16) + 2)), "always");
    let one = send.replace("[b+8], 2", "[b+8]");
    let columns = [(ONE_CTA[0], one.as_str()), (ONE_CTA[1], receive.as_str())];
    assert_eq!(verdict(init, &columns, "exists (1:r0 == 1)"), "forbidden");
}
