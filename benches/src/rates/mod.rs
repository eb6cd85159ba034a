//! Rates of one kind of instruction each: the kernels of `testdata/rates`, with checks of their results.
//!
//! A [`Case`] is a kernel with its arguments; cases of a [`Group`] are measured in one unit and have one
//! target, either a rate or a part of the rate of another case.

mod arithmetic;
mod atomics;
mod contention;
mod programs;
mod sharing;
mod textures;
mod threads;

use std::path::Path;
use std::sync::Arc;

use ptx_frontend::{Module, Source};
use sim_core::{Backend, DevicePtr, Dim3, Launch, LaunchReport, Outcome, RunOptions, Simulator};

use crate::Size;

/// What a case belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// Half the lanes on each side of every branch, against whole warps.
    Branches,
    /// 64-bit integers against 32-bit ones.
    Integer,
    /// f64 against f32.
    Float,
    /// Functions and conversions.
    Functions,
    /// Floats of 16 bits, bytes and bits of words.
    Parts,
    /// All lanes update one address.
    Atomics,
    /// Calls.
    Calls,
    /// Local memory.
    Local,
    /// Threads that share memory, for what checkers cost.
    Sharing,
    /// What real programs spend their time on.
    Programs,
    /// Reads of textures.
    Textures,
}

/// What a rate should be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    /// Millions a second.
    Rate(f64),
    /// A part of the rate of the case before it.
    Part(f64),
    /// Nothing is asked for.
    None,
}

/// A kernel and how it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Group.
    pub group: Group,
    /// Name in the table.
    pub name: &'static str,
    /// What is asked for.
    pub target: Target,
    make: fn(&Simulator, Case, Size) -> Loaded,
}

/// Says what is wrong with the results of a run.
type Check = dyn Fn(&Simulator) -> Result<(), String>;

/// A case on a simulator.
pub struct Loaded {
    module: sim_core::ModuleId,
    launch: Launch,
    /// What buffers hold before each run.
    before: Vec<(DevicePtr, Vec<u8>)>,
    /// Lanes that do what is counted; `None` counts thread instructions.
    pub lanes: Option<u64>,
    /// Times that a run launches the kernel.
    launches: u32,
    check: Box<Check>,
}

impl Case {
    /// Whether it has races: some programs do, and how long it takes to find them matters too.
    pub fn is_racy(self) -> bool {
        contention::is_racy(self.name)
    }

    /// Loads it and its inputs.
    ///
    /// # Panics
    /// When the simulator refuses: the benchmark cannot run.
    pub fn load(self, simulator: &Simulator, size: Size) -> Loaded {
        (self.make)(simulator, self, size)
    }
}

impl Loaded {
    /// Launches the kernel: the report is that of the last launch, its counts those of all.
    ///
    /// # Panics
    /// When the launch does not complete.
    pub fn run(&self, simulator: &Simulator, options: &RunOptions) -> LaunchReport {
        let launch = || {
            let report = simulator.launch(self.module, &self.launch, options).expect("launch");
            assert_eq!(report.outcome, Outcome::Completed, "{}: {:#?}", self.launch.kernel, report.findings);
            report
        };
        let mut last = launch();
        for _ in 1..self.launches {
            let before = std::mem::replace(&mut last, launch()).stats;
            last.stats.warp_instructions += before.warp_instructions;
            last.stats.thread_instructions += before.thread_instructions;
        }
        last
    }

    /// Puts the buffers as they were, before a run.
    ///
    /// # Panics
    /// When the simulator refuses.
    pub fn reset(&self, simulator: &Simulator) {
        for (pointer, bytes) in &self.before {
            simulator.write(*pointer, bytes).expect("write");
        }
    }

    /// Says what is wrong with the results of the last run.
    pub fn check(&self, simulator: &Simulator) -> Result<(), String> {
        (self.check)(simulator)
    }
}

/// All cases, in the order of the table.
pub fn cases() -> Vec<Case> {
    let mut all = threads::branches();
    all.extend(arithmetic::cases());
    all.extend(atomics::cases());
    all.extend(threads::calls());
    all.extend(sharing::cases());
    all.extend(contention::cases());
    all.extend(programs::cases());
    all.extend(textures::cases());
    all
}

/// Blocks and threads a block.
fn extent(size: Size) -> (u32, u32) {
    match size {
        Size::Full => (32, 256),
        Size::Short => (2, 96),
    }
}

/// A number that buffers hold.
trait Value: Copy + 'static {
    /// Little-endian bytes.
    fn bytes(self) -> Vec<u8>;
    /// From its bytes.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! values {
    ($($t:ty),*) => {$(
        impl Value for $t {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn read(bytes: &[u8]) -> Self {
                <$t>::from_le_bytes(bytes.try_into().expect("the size of a value"))
            }
        }
    )*};
}
values!(u32, u64, f32, f64, i32);

/// A kernel of `testdata/ptx/rates` about to be launched.
struct Setup<'a> {
    simulator: &'a Simulator,
    module: sim_core::ModuleId,
    kernel: String,
    params: Vec<u8>,
    before: Vec<(DevicePtr, Vec<u8>)>,
}

impl<'a> Setup<'a> {
    fn new(simulator: &'a Simulator, file: &str, kernel: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../testdata/ptx/rates/{file}.ptx"));
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let parsed = ptx_frontend::parse(Source::new(file, text));
        let messages: Vec<_> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
        let module: Arc<Module> = Arc::new(parsed.module.unwrap_or_else(|| panic!("{file}: {messages:?}")));
        let module = simulator.load(module).expect("load");
        Self { simulator, module, kernel: kernel.into(), params: Vec::new(), before: Vec::new() }
    }

    /// Adds a parameter.
    fn scalar<T: Value>(&mut self, value: T) {
        self.params.resize(self.params.len().next_multiple_of(size_of::<T>()), 0);
        self.params.extend(value.bytes());
    }

    /// Adds a buffer that holds these values before each run.
    fn buffer<T: Value>(&mut self, values: &[T]) -> DevicePtr {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let pointer = self.simulator.alloc(bytes.len() as u64, "buffer").expect("alloc");
        self.scalar(pointer);
        self.before.push((pointer, bytes));
        pointer
    }

    fn finish(
        self,
        (blocks, threads): (u32, u32),
        lanes: Option<u64>,
        check: impl Fn(&Simulator) -> Result<(), String> + 'static,
    ) -> Loaded {
        let launch = Launch {
            kernel: self.kernel.into(),
            grid: Dim3::from(blocks),
            cluster: None,
            block: Dim3::from(threads),
            shared_bytes: 0,
            params: self.params,
            cooperative: false,
        };
        Loaded {
            module: self.module,
            launch,
            before: self.before,
            lanes,
            launches: 1,
            check: Box::new(check),
        }
    }
}

/// The values of a buffer.
fn download<T: Value>(simulator: &Simulator, pointer: DevicePtr, count: usize) -> Vec<T> {
    let mut bytes = vec![0; count * size_of::<T>()];
    simulator.read(pointer, &mut bytes).expect("read");
    bytes.chunks_exact(size_of::<T>()).map(T::read).collect()
}

/// Compares a buffer with what it should hold, bit by bit or as far as `same` says.
fn compare<T: Value + std::fmt::Debug>(
    simulator: &Simulator,
    pointer: DevicePtr,
    expected: &[T],
    same: impl Fn(T, T) -> bool,
) -> Result<(), String> {
    let found = download::<T>(simulator, pointer, expected.len());
    match found.iter().zip(expected).enumerate().find(|(_, (found, expected))| !same(**found, **expected)) {
        Some((at, (found, expected))) => Err(format!("element {at} is {found:?}, expected {expected:?}")),
        None => Ok(()),
    }
}

/// Whether values have the same bits.
fn equal<T: Value>(a: T, b: T) -> bool {
    a.bytes() == b.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::DeviceConfig;

    #[test]
    fn all_cases_give_the_right_results() {
        for case in cases() {
            // Unoptimised it takes long.
            for jobs in if cfg!(debug_assertions) { 2..=2 } else { 1..=2 } {
                let simulator = Simulator::new(DeviceConfig::h200());
                let loaded = case.load(&simulator, Size::Short);
                loaded.reset(&simulator);
                loaded.run(&simulator, &RunOptions { jobs, ..RunOptions::default() });
                assert_eq!(loaded.check(&simulator), Ok(()), "{} with {jobs} jobs", case.name);
            }
        }
    }
}
