//! Launches by kernels (CUDA programming guide, "Dynamic parallelism"): what runs, in which order, what is refused, how it ends.

use std::sync::Arc;
use std::time::Duration;

use sim_core::tools::Counters;
use sim_core::{
    Backend, DeviceConfig, Dim3, FindingKind, Launch, LaunchReport, Metrics, Outcome, RunOptions, Simulator,
    ToolFactory,
};

/// Declarations, and kernels: `note` writes its second parameter into the next word of a log, the first of which counts.
const HEAD: &str = "
    .version 8.0\n.target sm_90\n.address_size 64
    .extern .func (.param .b64 p) __cudaCDP2GetParameterBufferV2(
        .param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
    .extern .func (.param .b32 e) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
    .extern .func (.param .b32 e) __cudaCDP2GetLastError();
    .visible .entry note(.param .u64 log, .param .u32 what) {
        .reg .b64 %a, %o; .reg .b32 %x, %n;
        ld.param.u64 %a, [log];
        ld.param.u32 %x, [what];
        atom.global.add.u32 %n, [%a], 1;
        mul.wide.u32 %o, %n, 4;
        add.u64 %a, %a, %o;
        st.global.u32 [%a+4], %x;
        ret;
    }
    .visible .entry wild(.param .u64 log, .param .u32 what) {
        .reg .b64 %a;
        mov.u64 %a, 64;
        st.global.u32 [%a], 1;
        ret;
    }";

/// A call that launches a kernel with the log and a number, on a grid and block of so many, into a stream.
fn call(kernel: &str, what: &str, grid: u32, block: u32, stream: u32) -> String {
    format!(
        "{{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 p;
            .param .b64 q; .param .b64 t; .param .b32 e; .reg .b64 %k, %p; .reg .pred %none;
            mov.u64 %k, {kernel};
            st.param.b64 [f], %k;
            st.param.b32 [g], {grid}; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
            st.param.b32 [b], {block}; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
            st.param.b32 [s], 0;
            call.uni (p), __cudaCDP2GetParameterBufferV2, (f, g, b, s);
            ld.param.b64 %p, [p];
            setp.eq.u64 %none, %p, 0;
            @%none bra over;
            st.u64 [%p], %log;
            st.u32 [%p+8], {what};
            st.param.b64 [q], %p;
            st.param.b64 [t], {stream};
            call.uni (e), __cudaCDP2LaunchDeviceV2, (q, t);
        over: }}"
    )
}

/// A kernel with the parameters of `note` and a body of calls.
fn kernel(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 log, .param .u32 what) {{
            .reg .b64 %log; .reg .b32 %what, %next, %t; .reg .pred %p;
            ld.param.u64 %log, [log];
            ld.param.u32 %what, [what];
            {body}
            ret;
        }}"
    )
}

fn run(kernels: &[String], grid: u32, block: u32, options: &RunOptions) -> (LaunchReport, Vec<u32>) {
    let text = HEAD.to_owned() + &kernels.concat();
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("launches.ptx", text.into()));
    let mut modules = vec![parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))];
    ptx_frontend::add_device_runtime(&mut modules);
    let module = ptx_frontend::link(modules).expect("all that is called is there");
    let simulator = Simulator::new(DeviceConfig::h200());
    let log = simulator.alloc(400_000, "log").unwrap();
    simulator.fill(log, 400_000, &[0]).unwrap();
    let module = simulator.load(Arc::new(module)).unwrap();
    let used = simulator.memory_usage().1;
    let launch = Launch::new(
        "parent",
        Dim3::new(grid, 1, 1),
        Dim3::new(block, 1, 1),
        [&log.to_le_bytes()[..], &[0; 4]].concat(),
    );
    let report = simulator.launch(module, &launch, options).unwrap();
    assert_eq!(simulator.memory_usage().1, used, "what launches needed is given back");
    let mut bytes = vec![0; 400_000];
    simulator.read(log, &mut bytes).unwrap();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    let count = words[0] as usize;
    (report, words[1..=count.min(99_998)].to_vec())
}

const FIRE_AND_FORGET: u32 = 4;
const TAIL: u32 = 3;

#[test]
fn tail_launches_come_last_and_children_before_what_follows_them() {
    let child = kernel("child", &(call("note", "12", 1, 1, TAIL) + &call("note", "11", 1, 1, 0)));
    let parent = call("note", "90", 1, 1, TAIL)
        + &call("child", "0", 1, 1, 0)
        + &call("child", "0", 1, 1, TAIL)
        + &call("note", "20", 1, 1, 0);
    let (report, log) = run(&[child, kernel("parent", &parent)], 1, 1, &RunOptions::default());
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    assert_eq!(log, [11, 12, 20, 90, 11, 12]);
    assert_eq!(report.stats.blocks, 9, "all grids count");
}

#[test]
fn order_is_by_block_whatever_the_number_of_jobs() {
    let parent = kernel("parent", &("mov.u32 %what, %ctaid.x;".to_owned() + &call("note", "%what", 1, 1, 0)));
    for jobs in [1, 4] {
        let options = RunOptions { jobs, ..RunOptions::default() };
        let (_, log) = run(std::slice::from_ref(&parent), 40, 1, &options);
        assert_eq!(log, (0..40).collect::<Vec<_>>(), "{jobs} jobs");
    }
}

#[test]
fn a_kernel_may_launch_itself_behind_itself_for_long_and_without_end() {
    let body = "add.u32 %next, %what, 1; st.global.u32 [%log+4], %next; st.global.u32 [%log], 1;
        setp.ge.u32 %p, %next, 3000; @%p bra over;"
        .to_owned()
        + &call("parent", "%next", 1, 1, TAIL).replace("over", "inner")
        + "over:";
    let (report, log) = run(&[kernel("parent", &body)], 1, 1, &RunOptions::default());
    assert_eq!((report.outcome, log), (Outcome::Completed, vec![3000]));
    for stream in [0, TAIL] {
        let endless = kernel("parent", &call("parent", "0", 1, 1, stream));
        let timeout = RunOptions { timeout: Some(Duration::from_millis(300)), ..RunOptions::default() };
        let steps = RunOptions { max_instructions: Some(20_000), ..RunOptions::default() };
        for options in [timeout, steps] {
            let (report, _) = run(std::slice::from_ref(&endless), 1, 1, &options);
            assert_eq!(report.outcome, Outcome::LimitReached, "{:?}", report.findings);
        }
    }
}

#[test]
fn a_fault_of_a_child_names_it_and_where_it_was_launched_and_ends_all() {
    let child = kernel("child", &call("wild", "1", 2, 32, 0));
    let parent = call("child", "1", 1, 1, FIRE_AND_FORGET) + &call("note", "1", 1, 1, 0);
    let (report, log) = run(&[child, kernel("parent", &parent)], 1, 1, &RunOptions::default());
    assert_eq!(report.outcome, Outcome::Faulted);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.kind, &*finding.kernel, finding.count), (FindingKind::NullPointer, "wild", 64));
    let notes: Vec<&str> =
        finding.notes.iter().map(String::as_str).filter(|note| note.contains("launched")).collect();
    assert_eq!(notes, ["`wild` was launched by `child`", "`child` was launched by `parent`"]);
    assert!(log.is_empty(), "what waited does not run: {log:?}");
}

#[test]
fn impossible_launches_and_too_many_are_errors_of_the_thread() {
    let error = "{ .param .b32 e; call.uni (e), __cudaCDP2GetLastError, (); ld.param.b32 %t, [e]; }
        mad.lo.u32 %next, %what, 4, 0;"
        .to_owned();
    let say = |at: u32| format!("{error} st.global.u32 [%log+{at}], %t;");
    let body = format!(
        "st.global.u32 [%log], 4; {} {} {} {} {} {} {}",
        call("note", "1", 1, 1025, 0),
        say(4),
        say(8),
        call("note", "1", 0, 1, 0),
        say(12),
        call("note", "1", 1, 1, 0x777),
        say(16)
    );
    let (report, log) = run(&[kernel("parent", &body)], 1, 1, &RunOptions::default());
    assert_eq!((report.outcome, log), (Outcome::Completed, vec![9, 0, 9, 1]));
    // Tail launches wait, and no more than 2048 may; of the others, each of one thread runs before too many wait.
    for (stream, ran) in [(TAIL, 2048), (0, 2500)] {
        let body = "mov.u32 %next, 0;\nagain:\n".to_owned()
            + &call("note", "%next", 1, 1, stream)
            + "add.u32 %next, %next, 1; setp.lt.u32 %p, %next, 2500; @%p bra again;";
        let (report, log) = run(&[kernel("parent", &body)], 1, 1, &RunOptions::default());
        assert_eq!((report.outcome, log.len()), (Outcome::Completed, ran));
    }
}

#[test]
fn fills_write_zeros_and_say_where_another_value_was_asked_for() {
    let declared = ".extern .func (.param .b32 e) __cudaCDP2MemsetAsync(
        .param .b64 to, .param .b32 value, .param .b64 bytes, .param .b64 stream);";
    let fill = |value: &str| {
        format!(
            "{{ .param .b64 to; .param .b32 value; .param .b64 bytes; .param .b64 stream; .param .b32 e; .reg .b64 %at;
                add.u64 %at, %log, 5;
                st.param.b64 [to], %at; st.param.b32 [value], {value}; st.param.b64 [bytes], 2;
                st.param.b64 [stream], 0;
                call.uni (e), __cudaCDP2MemsetAsync, (to, value, bytes, stream); }}"
        )
    };
    let before = "st.global.u32 [%log], 1; st.global.u32 [%log+4], -1;";
    for (value, message) in
        [("0x15a", Some("`cudaMemsetAsync` of the value 0x5a, by a kernel, writes zeros")), ("0x100", None)]
    {
        let parent = kernel("parent", &(before.to_owned() + &fill(value)));
        let (report, log) = run(&[declared.to_owned(), parent], 1, 1, &RunOptions::default());
        assert_eq!((report.outcome, log), (Outcome::Completed, vec![0xff00_00ff]));
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|found| (found.kind, &*found.message, &*found.place.as_ref().expect("a place").function))
            .collect();
        let expected = message.map(|message| (FindingKind::IgnoredValue, message, "parent"));
        assert_eq!(found, Vec::from_iter(expected));
    }
}

#[test]
fn what_is_measured_of_each_grid_may_be_kept_apart() {
    let child = kernel("child", &call("note", "11", 2, 1, 0));
    let parent = call("child", "0", 1, 1, 0) + &call("note", "20", 3, 40, 0);
    let kernels = [child, kernel("parent", &parent)];
    let options =
        |apart| RunOptions { tools: vec![ToolFactory::new(Counters::new)], apart, ..RunOptions::default() };
    let warps = |metrics: &[Metrics]| metrics[0].total("smsp__warps_launched.sum");
    let (together, _) = run(&kernels, 1, 1, &options(false));
    assert!(together.launched.is_empty());
    let (apart, _) = run(&kernels, 1, 1, &options(true));
    let names: Vec<&str> = apart.launched.iter().map(|of| &*of.launch.kernel).collect();
    assert_eq!(names, ["child", "note", "note"]);
    assert!(apart.launched.iter().all(|of| of.outcome == Outcome::Completed));
    let each: Vec<Option<u64>> = apart.launched.iter().map(|of| warps(&of.metrics)).collect();
    assert_eq!((warps(&apart.metrics), each), (Some(1), vec![Some(1), Some(2), Some(6)]));
    assert_eq!(apart.stats.warp_instructions, together.stats.warp_instructions, "all else is one report");
}
