//! The first two kernels that ever ran: SAXPY and a tiled matrix product, from what nvcc wrote.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Launch, Outcome, RunOptions, Simulator, ToolFactory};

fn module(path: &str) -> Arc<ptx_frontend::Module> {
    let path = format!("{}/../testdata/ptx/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new(path, text));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}")))
}

fn upload(simulator: &Simulator, name: &str, values: &[f32]) -> u64 {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let pointer = simulator.alloc(bytes.len() as u64, name).unwrap();
    simulator.write(pointer, &bytes).unwrap();
    pointer
}

fn download(simulator: &Simulator, pointer: u64, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; count * 4];
    simulator.read(pointer, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
fn saxpy() {
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module("sm_90/saxpy.ptx")).unwrap();
    let n = 1000;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..n).map(|i| 0.5 * i as f32 + 1.0).collect();
    let (dx, dy) = (upload(&simulator, "x", &x), upload(&simulator, "y", &y));
    let mut params = Vec::new();
    params.extend((n as i32).to_le_bytes());
    params.extend(2.0f32.to_le_bytes());
    params.extend(dx.to_le_bytes());
    params.extend(dy.to_le_bytes());
    let launch = Launch::new("saxpy", Dim3::new(4, 1, 1), Dim3::new(256, 1, 1), params);
    let report = simulator.launch(id, &launch, &RunOptions::default()).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let result = download(&simulator, dy, n);
    for i in 0..n {
        assert_eq!(result[i], 2.0f32.mul_add(x[i], y[i]), "element {i}");
    }
}

#[test]
fn tiled_matrix_product() {
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module("perf/sgemm_tiled.ptx")).unwrap();
    let n = 64;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 5) as f32 * 0.25).collect();
    let (da, db, dc) = (
        upload(&simulator, "a", &a),
        upload(&simulator, "b", &b),
        upload(&simulator, "c", &vec![0.0; n * n]),
    );
    let mut params = Vec::new();
    for pointer in [da, db, dc] {
        params.extend(pointer.to_le_bytes());
    }
    params.extend((n as i32).to_le_bytes());
    let launch =
        Launch::new("sgemm_tiled", Dim3::new(n as u32 / 16, n as u32 / 16, 1), Dim3::new(16, 16, 1), params);
    let report = simulator.launch(id, &launch, &RunOptions::default()).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let c = download(&simulator, dc, n * n);
    for row in 0..n {
        for column in 0..n {
            let expected = (0..n).fold(0.0f32, |sum, k| a[row * n + k].mul_add(b[k * n + column], sum));
            assert_eq!(c[row * n + column], expected, "element ({row}, {column})");
        }
    }
}

/// A kernel that reads one element past what the host wrote.
const COPY: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<6>;
    .shared .align 4 .b8 buffer[256];
    ld.param.u64 %d0, [from];
    ld.param.u64 %d1, [to];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 4;
    add.u64 %d3, %d0, %d2;
    add.u64 %d4, %d1, %d2;
    ld.global.u32 %r1, [%d3];
    ld.shared.u32 %r2, [buffer];
    st.global.u32 [%d4], %r1;
    ld.global.u32 %r3, [%d4];
    ret;
}";

#[test]
fn initcheck_finds_reads_of_unwritten_bytes() {
    let config = DeviceConfig { track_initialization: true, ..DeviceConfig::h200() };
    let simulator = Simulator::new(config);
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("copy.ptx", COPY.into()));
    let id = simulator.load(Arc::new(parsed.module.expect("valid PTX"))).unwrap();
    let (from, to) = (simulator.alloc(128, "from").unwrap(), simulator.alloc(128, "to").unwrap());
    simulator.write(from, &[7; 124]).unwrap();
    let launch = Launch::new("copy", Dim3::ONE, 32, [from.to_le_bytes(), to.to_le_bytes()].concat());
    let options =
        RunOptions { tools: vec![ToolFactory::new(|_| sim_core::tools::Initcheck)], ..RunOptions::default() };
    let report = simulator.launch(id, &launch, &options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let found: Vec<_> = report.findings.iter().map(|f| (f.kind.name(), f.count)).collect();
    assert_eq!(found, [("uninitialized-read", 1), ("uninitialized-read", 32)], "{:#?}", report.findings);
    assert!(report.findings[0].notes[0].starts_with("124 bytes into buffer `from`"));
}
