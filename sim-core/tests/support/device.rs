//! Runs kernels of `testdata/ptx/` on the simulator, at all its levels, with buffers of Rust values.

use ptx_frontend::Source;
use sim_core::{Backend, Dim3, Launch, LaunchReport, ModuleId, Outcome, RunOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use testkit::levels::Levels;

/// A number that buffers and parameters hold.
pub(crate) trait Value: Copy + Default {
    /// Bytes of a value.
    const SIZE: usize = size_of::<Self>();
    /// Little-endian bytes.
    fn put(self, out: &mut Vec<u8>);
    /// From its bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! values {
    ($($t:ty),*) => {$(
        impl Value for $t {
            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}
values!(u8, u16, u32, u64, u128, i8, i16, i32, i64, f32, f64);

/// A parameter buffer that grows by aligned values.
#[derive(Clone, Default)]
pub(crate) struct Args(Vec<u8>);

impl Args {
    /// Appends a value at its natural alignment.
    pub(crate) fn with<T: Value>(mut self, value: T) -> Self {
        self.align(T::SIZE);
        value.put(&mut self.0);
        self
    }

    /// Appends a structure.
    pub(crate) fn bytes(mut self, align: usize, bytes: &[u8]) -> Self {
        self.align(align);
        self.0.extend(bytes);
        self
    }

    fn align(&mut self, align: usize) {
        self.0.resize(self.0.len().next_multiple_of(align), 0);
    }
}

/// Builds [`Args`] from values.
macro_rules! args {
    ($($value:expr),* $(,)?) => {
        $crate::device::Args::default()$(.with($value))*
    };
}
pub(crate) use args;

/// A simulator with one module loaded.
pub(crate) struct Device {
    simulator: Levels,
    module: ModuleId,
    /// The module's file, for messages.
    pub(crate) file: String,
    pub(crate) options: RunOptions,
}

impl Device {
    /// Loads `testdata/ptx/FILE`.
    pub(crate) fn load(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ptx").join(file);
        let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let parsed = ptx_frontend::parse(Source::new(file, text));
        let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
        let module = parsed.module.unwrap_or_else(|| panic!("{file}: {messages:?}"));
        let simulator = Levels::default();
        let module = simulator.load(Arc::new(module)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let options = RunOptions { timeout: Some(Duration::from_secs(120)), ..RunOptions::default() };
        Self { simulator, module, file: file.into(), options }
    }

    /// A buffer with these values.
    pub(crate) fn upload<T: Value>(&self, values: &[T]) -> u64 {
        let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
        values.iter().for_each(|v| v.put(&mut bytes));
        let pointer = self.simulator.alloc(bytes.len() as u64, "buffer").unwrap();
        self.simulator.write(pointer, &bytes).unwrap();
        pointer
    }

    /// A buffer of so many zeros.
    pub(crate) fn zeros<T: Value>(&self, count: usize) -> u64 {
        self.upload(&vec![T::default(); count])
    }

    /// Values of a buffer.
    pub(crate) fn download<T: Value>(&self, pointer: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * T::SIZE];
        self.simulator.read(pointer, &mut bytes).unwrap();
        bytes.chunks_exact(T::SIZE).map(T::get).collect()
    }

    /// Sets a variable of the module.
    pub(crate) fn set<T: Value>(&self, name: &str, values: &[T]) {
        let (pointer, size) = self.simulator.variable(self.module, name).unwrap();
        let mut bytes = Vec::new();
        values.iter().for_each(|v| v.put(&mut bytes));
        assert_eq!(bytes.len() as u64, size, "size of {name}");
        self.simulator.write(pointer, &bytes).unwrap();
    }

    /// Launches a kernel, whatever comes of it.
    pub(crate) fn try_launch(&self, launch: Launch) -> LaunchReport {
        self.simulator
            .launch(self.module, &launch, &self.options)
            .unwrap_or_else(|e| panic!("{}: {e}", self.file))
    }

    /// A launch that must complete with nothing found.
    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        args: Args,
    ) -> LaunchReport {
        self.launch_shared(kernel, grid, block, 0, args)
    }

    /// The same with dynamic shared memory.
    pub(crate) fn launch_shared(
        &self,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        shared: usize,
        args: Args,
    ) -> LaunchReport {
        let report = self.try_launch(request(kernel, grid.into(), block.into(), shared, args));
        let found: Vec<_> =
            report.findings.iter().map(|f| format!("{}: {}", f.kind.name(), f.message)).collect();
        assert_eq!(report.outcome, Outcome::Completed, "{} {kernel}: {found:?}", self.file);
        assert!(found.is_empty(), "{} {kernel}: {found:?}", self.file);
        report
    }
}

/// A launch description.
pub(crate) fn request(kernel: &str, grid: Dim3, block: Dim3, shared: usize, args: Args) -> Launch {
    Launch {
        kernel: kernel.into(),
        grid,
        cluster: None,
        block,
        shared_bytes: shared as u32,
        params: args.0,
        cooperative: false,
    }
}

/// Runs a test on every flavour of a CUDA source's PTX (optimised, for another target, with `-G`), with blocks in
/// parallel in order, and one by one in a random schedule.
pub(crate) fn each(name: &str, test: impl Fn(&Device)) {
    let mut count = 0;
    for flavour in ["sm_90", "sm_75", "sm_90-debug"] {
        let file = format!("{flavour}/{name}.ptx");
        if Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ptx").join(&file).exists() {
            let mut device = Device::load(&file);
            test(&device);
            device = Device::load(&file);
            (device.options.jobs, device.options.seed) = (1, 5);
            device.file += " (random schedule)";
            test(&device);
            count += 1;
        }
    }
    assert!(count > 0, "no PTX of {name}");
}

/// Asserts that numbers agree within a relative or an absolute error.
pub(crate) fn close(actual: &[f64], expected: &[f64], relative: f64, absolute: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    for (at, (&a, &e)) in actual.iter().zip(expected).enumerate() {
        let same =
            a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= (relative * e.abs()).max(absolute);
        assert!(same, "{what}: element {at} is {a:e}, not {e:e}");
    }
}

/// f32 as f64.
pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| v.into()).collect()
}
