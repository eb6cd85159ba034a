//! The suite on the simulator: what is expanded, recorded and found to differ.

use std::sync::Arc;

use conformance::{
    Catalog, Class, Device, Known, Recording, RecordingError, TUPLES, Verdict, record, verify,
};
use ptx_frontend::Module;
use sim_core::{
    Backend, DeviceConfig, DevicePtr, Error, Launch, LaunchReport, ModuleId, RunOptions, Simulator,
};

fn simulator() -> Simulator {
    Simulator::new(DeviceConfig::h200())
}

fn catalog(starts: &[&str]) -> Catalog {
    Catalog::new(|text| starts.iter().any(|start| text.starts_with(start)))
}

fn recorded(catalog: &Catalog) -> Recording {
    let device = Device { name: "simulator".into(), ..Device::default() };
    let (recording, refused) = record(catalog, &simulator(), device, &|_| ());
    assert!(refused.is_empty(), "{refused:?}");
    recording
}

/// A simulator whose results differ in one bit of one thread.
struct Faulty {
    inner: Simulator,
    thread: usize,
    bytes: usize,
}

impl Backend for Faulty {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn load(&self, module: Arc<Module>) -> Result<ModuleId, Error> {
        self.inner.load(module)
    }
    fn unload(&self, module: ModuleId) -> Result<(), Error> {
        self.inner.unload(module)
    }
    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        self.inner.variable(module, name)
    }
    fn alloc(&self, bytes: u64, label: &str) -> Result<DevicePtr, Error> {
        self.inner.alloc(bytes, label)
    }
    fn free(&self, pointer: DevicePtr) -> Result<(), Error> {
        self.inner.free(pointer)
    }
    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        self.inner.write(to, bytes)
    }
    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        self.inner.read(from, bytes)?;
        bytes[self.thread * self.bytes] ^= 1;
        Ok(())
    }
    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error> {
        self.inner.fill(to, bytes, pattern)
    }
    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error> {
        self.inner.launch(module, launch, options)
    }
}

#[test]
fn the_table_is_expanded() {
    let catalog = Catalog::new(|_| true);
    let cases: Vec<_> = catalog.cases().collect();
    assert!(cases.len() > 11_900, "{}", cases.len());
    assert!(cases.iter().all(|case| case.tuples() >= TUPLES));
    for text in [
        "add.u32 %r0, %r1, %r2",
        "setp.lt.f32.and %p0|%p1, %r2, %r3, !%p4",
        "lop3.b32 %r0, %r1, %r2, %r3, 150",
        "shfl.sync.bfly.b32 %r0|%p1, %r2, %r3, %r4, %m",
        "cvt.rn.f16.s8 %r0, %r1",
        "addc.cc.u64 %d0, %d1, %d2",
        "mov.b64 {%h0, %h1, %h2, %h3}, %d4",
        "vote.sync.ballot.b32 %r0, !%p1, %m",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, \
         {%r8, %r9}, {%r10, %r11, %r12, %r13}",
    ] {
        assert!(cases.iter().any(|case| case.text == text), "{text}");
    }
    assert!(cases.iter().filter(|case| case.class == Class::Matrix).count() > 400);
    // What is left out is so for a reason that does not depend on how the operands are written.
    for one in &catalog.not_covered {
        assert!(!one.reason.contains("operand"), "{}: {}", one.form.notation(), one.reason);
    }
    let reason = |notation: &str| {
        let found = catalog.not_covered.iter().find(|one| one.form.notation().starts_with(notation));
        found.unwrap_or_else(|| panic!("{notation}")).reason.as_str()
    };
    assert_eq!(reason("add.sat.{u32"), "needs sm_107f or sm_120f");
    assert_eq!(reason("redux.sync.{min,max}{.abs}"), "needs sm_100f");
    assert!(reason("ld.").starts_with("accesses memory"));
    assert!(reason("bar.sync").starts_with("synchronises"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn a_recording_equals_itself_after_writing_and_reading() {
    let catalog = catalog(&["add.", "shfl.sync", "popc", "cvt.rn.f16.f32", "and.pred", "mov.b", "elect"]);
    let recording = recorded(&catalog);
    let bytes = recording.to_bytes();
    let read = Recording::from_bytes(&bytes).unwrap();
    assert_eq!(read, recording);
    let report = verify(&catalog, &read, &Known::default(), &simulator(), true, &|_| ());
    assert!(report.passed());
    assert_eq!(report.equal(), catalog.cases().count());
    assert_eq!(report.unknown, 0);
}

#[test]
fn one_wrong_bit_is_found_with_both_results() {
    for (text, bytes) in [("mul.lo.u32", 4), ("mul.lo.u64", 8), ("setp.lt.u32 %p0, %r1", 1), ("popc.b64", 4)]
    {
        let catalog = catalog(&[text]);
        let recording = recorded(&catalog);
        for thread in [0, 61, 12_345, TUPLES - 1] {
            let backend = Faulty { inner: simulator(), thread, bytes };
            let report = verify(&catalog, &recording, &Known::default(), &backend, true, &|_| ());
            assert!(!report.passed());
            let (case, difference, reason) = report.differing().next().unwrap();
            assert!(case.text.starts_with(text) && reason.is_none());
            assert_eq!(difference.runs.0, 1, "{text}");
            let example = &difference.examples[0];
            assert_eq!(example.thread, thread, "{text}");
            let (_, recorded, given) = &example.results[0];
            assert_eq!(recorded.unwrap() ^ given, 1, "{text} {thread}");
        }
    }
}

#[test]
fn known_differences_need_a_reason_and_a_difference() {
    let catalog = catalog(&["brev.b32"]);
    let recording = recorded(&catalog);
    let known = Known::parse("brev.b32* # the bits are turned\nclz.b32 # gone").unwrap();
    let faulty = Faulty { inner: simulator(), thread: 9, bytes: 4 };
    let report = verify(&catalog, &recording, &known, &faulty, true, &|_| ());
    assert_eq!(report.differing().next().unwrap().2, Some("the bits are turned"));
    assert_eq!(report.stale, ["clz.b32"]);
    assert!(!report.passed());
    let report = verify(&catalog, &recording, &known, &faulty, false, &|_| ());
    assert!(report.passed());
}

#[test]
fn what_is_not_recorded_and_what_is_not_expanded_is_counted() {
    let (two, one) = (catalog(&["brev.b"]), catalog(&["brev.b32"]));
    let report = verify(&two, &recorded(&one), &Known::default(), &simulator(), true, &|_| ());
    assert_eq!((report.equal(), report.unknown), (1, 0));
    assert!(report.cases.iter().any(|(_, verdict)| matches!(verdict, Verdict::NotCovered(_))));
    let report = verify(&one, &recorded(&two), &Known::default(), &simulator(), true, &|_| ());
    assert_eq!((report.equal(), report.unknown), (1, 1));
    let mut merged = recorded(&one);
    merged.merge(recorded(&two));
    assert_eq!(merged, recorded(&two));
}

#[test]
fn bad_recordings_are_refused_by_name() {
    let good = recorded(&catalog(&["brev.b32"])).to_bytes();
    let error = |bytes: &[u8]| Recording::from_bytes(bytes).unwrap_err();
    assert_eq!(error(b""), RecordingError::NotARecording);
    assert_eq!(error(b"not one at all, but long enough"), RecordingError::NotARecording);
    for length in 1..good.len() {
        let expected = if length < 20 { 20 } else { good.len() as u64 };
        assert_eq!(error(&good[..length]), RecordingError::Truncated { actual: length as u64, expected });
    }
    let mut other = good.clone();
    other[8] = 7;
    assert_eq!(error(&other), RecordingError::Version(7));
    let mut longer = good.clone();
    longer.push(0);
    assert!(matches!(error(&longer), RecordingError::Damaged(_)));
    for at in 16..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 0x40;
        assert!(matches!(error(&damaged), RecordingError::Damaged(_)), "{at}");
    }
}
