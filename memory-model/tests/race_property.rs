//! The property `races` under the ISA model: which programs have one, of which class, between which lines.

use memory_model::{Options, Property, RaceClass, check, parse};

const APART: &str = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;";
const TOGETHER: &str = "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;";

/// The class of the race, or nothing; the program begins on line 4.
fn race(places: &str, code: &str) -> Option<(RaceClass, [(u32, u32); 2])> {
    let text = format!(
        "PTX race\n{{ x=0; y=0; z @ generic aliases x; s @ surface aliases x; a @ async aliases x; }}\n{places}\n{code}exists (y == 9)\n"
    );
    let test = parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render("race", &text)));
    let verdict = check(&test, &Options { property: Property::Races, ..Options::default() });
    assert_eq!(verdict.verdict, if verdict.race.is_some() { "racy" } else { "race-free" }, "{text}");
    assert_eq!(verdict.holds, Some(verdict.race.is_none()));
    verdict.race.map(|race| (race.class, race.accesses.map(|(thread, line, _)| (thread, line))))
}

#[test]
fn classes() {
    use RaceClass::{MixedSize, Proxy, Scope, Weak, WeakStrong};
    let cases = [
        (Weak, APART, "st.weak x, 1 | ld.weak r0, x ;\n"),
        (Weak, TOGETHER, "st.weak x, 1 | st.weak x, 2 ;\n"),
        (WeakStrong, APART, "st.release.gpu x, 1 | ld.weak r0, x ;\n"),
        (WeakStrong, APART, "atom.relaxed.sys.add r0, x, 1 | st.weak x, 2 ;\n"),
        (Scope, APART, "st.relaxed.cta x, 1 | ld.relaxed.gpu r0, x ;\n"),
        (Scope, APART, "atom.relaxed.cta.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1 ;\n"),
        (Scope, "P0@cta 0,gpu 0 | P1@cta 0,gpu 1 ;", "st.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x ;\n"),
        (
            Scope,
            "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 1,gpu 0 ;",
            "st.relaxed.cluster x, 1 | ld.relaxed.cluster r0, x ;\n",
        ),
        (MixedSize, APART, "st.weak.u32 x, 1 | ld.weak.u16 r0, x ;\n"),
        (MixedSize, APART, "st.relaxed.gpu.u32 y, 1 | ld.relaxed.gpu.u8 r0, y+1 ;\n"),
        (Proxy, APART, "st.relaxed.gpu z, 1 | ld.relaxed.gpu r0, x ;\n"),
        (Proxy, TOGETHER, "st.weak x, 1 | bar.sync 0 ;\nbar.sync 0 | suld.weak r0, s ;\n"),
        (Proxy, TOGETHER, "st.weak x, 1 | bar.sync 0 ;\nbar.sync 0 | ald.weak r0, a ;\n"),
    ];
    for (class, places, code) in cases {
        assert_eq!(race(places, code).map(|race| race.0), Some(class), "{places}\n{code}");
    }
}

#[test]
fn programs_without() {
    let cases = [
        // Morally strong.
        (APART, "st.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x ;\n"),
        (TOGETHER, "st.relaxed.cta x, 1 | atom.relaxed.sys.add r0, x, 1 ;\n"),
        (APART, "st.volatile x, 1 | ld.volatile r0, x ;\n"),
        (
            "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 ;",
            "st.relaxed.cluster x, 1 | ld.relaxed.cluster r0, x ;\n",
        ),
        // Two reads; two locations; one thread.
        (APART, "ld.weak r0, x | ld.weak r0, x ;\n"),
        (APART, "st.weak x, 1 | st.weak y, 1 ;\n"),
        (APART, "st.weak x, 1 | ;\nld.weak r0, x | ;\n"),
        // Parts of a location.
        (APART, "st.weak.u16 x, 1 | st.weak.u16 x+2, 1 ;\n"),
        // Ordered by a barrier, by a flag, by fences.
        (TOGETHER, "st.weak x, 1 | bar.sync 0 ;\nbar.sync 0 | ld.weak r0, x ;\n"),
        (
            APART,
            "st.weak x, 1 | LC0: ;\nst.release.gpu y, 1 | ld.acquire.gpu r0, y ;\n | bne r0, 1, LC0 ;\n | ld.weak r1, x ;\n",
        ),
        (
            APART,
            "st.weak x, 1 | ld.relaxed.gpu r0, y ;\nfence.acq_rel.gpu | fence.acq_rel.gpu ;\nst.relaxed.gpu y, 1 | beq r0, 0, LC0 ;\n | st.weak x, 2 ;\n | LC0: ;\n",
        ),
        // Two aliases, with the fence for them on the way.
        (TOGETHER, "st.weak x, 1 | bar.sync 0 ;\nfence.proxy.alias | ld.weak r0, z ;\nbar.sync 0 | ;\n"),
        (TOGETHER, "st.weak x, 1 | bar.sync 0 ;\nbar.sync 0 | fence.proxy.async ;\n | ald.weak r0, a ;\n"),
        // A mixed size, but ordered.
        (TOGETHER, "st.weak.u32 x, 1 | bar.sync 0 ;\nbar.sync 0 | ld.weak.u16 r0, x ;\n"),
    ];
    for (places, code) in cases {
        assert_eq!(race(places, code), None, "{places}\n{code}");
    }
}

#[test]
fn what_almost_orders() {
    use RaceClass::{Weak, WeakStrong};
    // The flag is read without acquire; the loop only waits.
    let relaxed = "st.weak x, 1 | LC0: ;\nst.release.gpu y, 1 | ld.relaxed.gpu r0, y ;\n | bne r0, 1, LC0 ;\n | ld.weak r1, x ;\n";
    assert_eq!(race(APART, relaxed), Some((Weak, [(0, 4), (1, 7)])));
    // The flag is not waited for.
    let unread = "st.weak x, 1 | ld.acquire.gpu r0, y ;\nst.release.gpu y, 1 | ld.weak r1, x ;\n";
    assert_eq!(race(APART, unread), Some((Weak, [(0, 4), (1, 5)])));
    // Another number, another CTA: another barrier.
    let numbers = "st.weak x, 1 | bar.sync 1 ;\nbar.sync 0 | ld.weak r0, x ;\n";
    assert_eq!(race(TOGETHER, numbers), Some((Weak, [(0, 4), (1, 5)])));
    let same = numbers.replace("sync 1", "sync 0");
    assert_eq!(race(APART, &same), Some((Weak, [(0, 4), (1, 5)])));
    // A reduction does not acquire (8.11.1), an atomic does.
    let reduction = "st.weak x, 1 | red.relaxed.gpu.add y, 1 ;\nst.release.gpu y, 1 | fence.acquire.gpu ;\n | st.relaxed.gpu x, 2 ;\n";
    assert_eq!(race(APART, reduction), Some((WeakStrong, [(0, 4), (1, 6)])));
    // The scope of the release leaves the other block out.
    let narrow = "st.weak x, 1 | LC0: ;\nst.release.cta y, 1 | ld.acquire.gpu r0, y ;\n | bne r0, 1, LC0 ;\n | ld.weak r1, x ;\n";
    assert!(race(APART, narrow).is_some());
    assert_eq!(race(TOGETHER, narrow), None);
    // The fence between aliases stands where no path passes.
    let late = "st.weak x, 1 | bar.sync 0 ;\nbar.sync 0 | ld.weak r0, z ;\n | fence.proxy.alias ;\n";
    assert_eq!(race(TOGETHER, late), Some((RaceClass::Proxy, [(0, 4), (1, 5)])));
}
