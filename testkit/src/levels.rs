//! A backend that runs everything at each SIMD level with one job, and with several jobs, and panics
//! when they differ: in the report, its findings and counts, or in any byte of memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptx_frontend::{Module, StateSpace};
use sim_core::{
    Backend, DeviceConfig, DevicePtr, Error, Launch, LaunchReport, ModuleId, Outcome, RunOptions, SimdLevel,
    Simulator, Stats,
};

/// Kernels whose blocks wait for each other, or try again when another was quicker: how often is nobody's promise.
const WAITING: &[&str] = &[
    "atomic_max_float",
    "block_waits_for_last",
    "chain_backwards",
    "chain_total",
    "grid_sweeps",
    "grid_total",
    "list_insert",
    "message",
    "ticket_count",
];

/// Kernels that leave in memory in which order their blocks came, as on a device.
const ORDERED: &[&str] = &["filter_positive", "list_insert", "ticket_count", "tickets"];

/// Worker threads of the simulator that has several.
const JOBS: usize = 3;

/// The simulators, the one whose results are given first.
pub struct Levels {
    simulators: Vec<(String, Simulator)>,
    /// What lives in global memory: address, bytes.
    live: Mutex<Vec<(DevicePtr, u64)>>,
}

/// Buffers and variables: address, bytes.
type Contents = Vec<(DevicePtr, Vec<u8>)>;

/// A report as far as it must be the same.
fn digest(report: &LaunchReport) -> String {
    let stats = Stats { time: Duration::ZERO, ..report.stats };
    format!(
        "{:?}\n{stats:?}\n{:#?}\n{} dropped\n{}",
        report.outcome,
        report.findings,
        report.dropped_findings,
        String::from_utf8_lossy(&report.output)
    )
}

impl Default for Levels {
    fn default() -> Self {
        let at = |name: &str, level| (name.to_string(), Simulator::with_level(DeviceConfig::h200(), level));
        let simulators = vec![
            (format!("{JOBS} jobs"), Simulator::new(DeviceConfig::h200())),
            at("baseline", SimdLevel::Baseline),
            at("AVX2", SimdLevel::Avx2),
            at("AVX-512", SimdLevel::Avx512),
        ];
        Self { simulators, live: Mutex::default() }
    }
}

impl Levels {
    /// Does it on each; all must give the same.
    fn all<T: PartialEq + std::fmt::Debug>(
        &self,
        run: impl Fn(&Simulator) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut results = self.simulators.iter().map(|(_, simulator)| run(simulator));
        let first = results.next().expect("a simulator");
        for other in results {
            match (&first, &other) {
                (Ok(a), Ok(b)) => assert_eq!(a, b),
                (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
                _ => panic!("{first:?} and {other:?}"),
            }
        }
        first
    }

    fn keep(&self, pointer: DevicePtr, bytes: u64) {
        self.live.lock().unwrap().push((pointer, bytes));
    }

    /// All that lives in global memory.
    fn memory(&self, simulator: &Simulator) -> Contents {
        let live = self.live.lock().unwrap();
        let read = |&(pointer, bytes): &(DevicePtr, u64)| {
            let mut buffer = vec![0; bytes as usize];
            simulator.read(pointer, &mut buffer).unwrap();
            (pointer, buffer)
        };
        live.iter().map(read).collect()
    }
}

impl Backend for Levels {
    fn name(&self) -> String {
        "all levels".into()
    }

    fn load(&self, module: Arc<Module>) -> Result<ModuleId, Error> {
        let id = self.all(|simulator| simulator.load(module.clone()))?;
        for variable in &module.variables {
            if variable.space == StateSpace::Global
                && let Ok((pointer, bytes)) = self.variable(id, &variable.name)
            {
                self.keep(pointer, bytes);
            }
        }
        Ok(id)
    }

    fn unload(&self, module: ModuleId) -> Result<(), Error> {
        self.live.lock().unwrap().clear();
        self.all(|simulator| simulator.unload(module))
    }

    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        self.all(|simulator| simulator.variable(module, name))
    }

    fn alloc(&self, bytes: u64, label: &str) -> Result<DevicePtr, Error> {
        let pointer = self.all(|simulator| simulator.alloc(bytes, label))?;
        self.keep(pointer, bytes);
        Ok(pointer)
    }

    fn free(&self, pointer: DevicePtr) -> Result<(), Error> {
        self.live.lock().unwrap().retain(|&(at, _)| at != pointer);
        self.all(|simulator| simulator.free(pointer))
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        self.all(|simulator| simulator.write(to, bytes))
    }

    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        self.simulators[0].1.read(from, bytes)
    }

    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error> {
        self.all(|simulator| simulator.fill(to, bytes, pattern))
    }

    /// A seed asks for one schedule, which one job gives.
    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error> {
        let mut given: Option<Result<LaunchReport, Error>> = None;
        let mut single: Option<(String, Contents)> = None;
        let kernel = &launch.kernel;
        for (at, (name, simulator)) in self.simulators.iter().enumerate() {
            let jobs = if at == 0 && options.seed == 0 { JOBS } else { 1 };
            let report = simulator.launch(module, launch, &RunOptions { jobs, ..options.clone() });
            if at > 0 || jobs == 1 {
                let result = match &report {
                    Ok(report) => (digest(report), self.memory(simulator)),
                    Err(error) => (error.to_string(), Vec::new()),
                };
                match &single {
                    None => single = Some(result),
                    Some(before) => {
                        assert_eq!(before.0, result.0, "{kernel}: {name} differs from the baseline");
                        assert!(
                            before.1 == result.1,
                            "{kernel}: memory with {name} differs from the baseline"
                        );
                    }
                }
            }
            if at == 0 {
                given = Some(report);
            }
        }
        let given = given.expect("a simulator");
        // How far threads came before a limit or after a fault of others is nobody's promise.
        let orderly = matches!(&given, Ok(report) if report.outcome == Outcome::Completed);
        if let (Ok(report), Some((one, memory)), true) = (&given, &single, orderly && options.seed == 0) {
            if !WAITING.contains(&&**kernel) {
                assert_eq!(&digest(report), one, "{kernel}: {JOBS} jobs differ from one");
            }
            if !ORDERED.contains(&&**kernel) {
                let several = self.memory(&self.simulators[0].1);
                assert!(&several == memory, "{kernel}: memory with {JOBS} jobs differs");
            }
        }
        // What may differ now must not show in the launches that follow: all go on from the same memory.
        let several = self.memory(&self.simulators[0].1);
        for (_, simulator) in &self.simulators[1..] {
            for (pointer, bytes) in &several {
                simulator.write(*pointer, bytes).expect("live in all");
            }
        }
        given
    }
}
