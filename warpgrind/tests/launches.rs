//! The launch files of `testdata/launches/` through the library, and what it says when something is wrong.

use std::path::{Path, PathBuf};

use sim_core::Outcome;
use warpgrind::plan::Arg;
use warpgrind::{Array, Launch, Module, ModuleError, Options, Plan, Report, RunError, Tool};

fn launches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/launches")
}

fn run(plan: &Plan) -> Result<Report, RunError> {
    let options = Options::default();
    plan.run(&plan.module()?, &options.run_options(), &options.simulator())
}

#[test]
fn a_launch_file_runs_and_gives_what_it_expects() {
    let plan = Plan::read(&launches().join("saxpy.toml")).unwrap();
    let report = run(&plan).unwrap();
    assert!(report.is_clean());
    assert_eq!(report.comparisons.len(), 1);
    assert_eq!(report.arrays.keys().collect::<Vec<_>>(), plan.buffers.keys().collect::<Vec<_>>());
    // Other values are no longer those that it expects.
    let mut other = plan.clone();
    other.launches[0].args[1].0 = Arg::Scalar(7.0f32.into());
    assert!(!run(&other).unwrap().is_clean());
}

#[test]
fn a_fault_is_a_finding_and_stops_the_plan() {
    let plan = Plan::read(&launches().join("saxpy_out_of_bounds.toml")).unwrap();
    let report = run(&plan).unwrap();
    assert_eq!(report.launches.last().unwrap().outcome, Outcome::Faulted);
    assert_eq!(report.findings().next().unwrap().kind.name(), "out-of-bounds");
    assert!(report.comparisons.is_empty());
    let text = report.text(&plan.module().unwrap());
    assert!(text.starts_with("error[out-of-bounds]") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn mistakes_have_their_place_in_the_launch_file() {
    let mut plan = Plan::read(&launches().join("saxpy.toml")).unwrap();
    plan.launches[0].args.pop();
    let Err(RunError::Plan(error)) = run(&plan) else { panic!("it runs") };
    assert!(error.message.contains("arguments"), "{error}");
    let place = error.place.unwrap();
    assert!(place.source.text[place.span].starts_with("[[launch]]"));
    plan.launches[0].kernel = Some("saxpi".into());
    let Err(RunError::Module { error, place: Some(_) }) = run(&plan) else { panic!("it runs") };
    assert_eq!(error.help().unwrap(), "did you mean `saxpy`?");
    plan.modules[0].0 = "gone.ptx".into();
    assert!(matches!(plan.module(), Err(RunError::Module { error: ModuleError::File(_), place: Some(_) })));
}

const RACE: &str = "
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry race(.param .u64 x) {
        .reg .b32 %r<1>;
        .reg .b64 %rd<1>;
        ld.param.u64 %rd0, [x];
        mov.u32 %r0, %ctaid.x;
        st.global.u32 [%rd0], %r0;
        ret;
    }";

#[test]
fn tools_are_chosen_by_options() {
    let module = Module::from_ptx("race.ptx", RACE).unwrap();
    let x = Array::of(&[0u32]);
    let run = |tools: Vec<Tool>| {
        let options = Options { tools, ..Options::default() };
        let report = Launch::new("race").grid(2).input(&x).run_with(&module, &options).unwrap();
        report.findings().map(|finding| finding.kind.name()).collect::<Vec<_>>()
    };
    assert_eq!(run(vec![]), [""; 0]);
    assert_eq!(run(vec![Tool::Racecheck, Tool::Initcheck, Tool::Synccheck]), ["data-race"]);
    assert_eq!(x.values::<u32>(), Some(vec![0]), "an input stays as it is");
}

#[test]
fn texts_that_are_no_ptx_are_explained() {
    let Err(ModuleError::Rejected { errors, remarks }) = Module::from_ptx("a.ptx", "add.u32") else {
        panic!("it is valid")
    };
    assert!(errors > 0 && remarks.len() as u64 >= errors);
    let module = Module::from_ptx("race.ptx", RACE).unwrap();
    let missing = Launch::new("race").run(&module).unwrap_err();
    assert!(missing.to_string().contains("takes 1 argument, 0 given"), "{missing}");
}
