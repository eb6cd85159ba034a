//! Operations whose turn has come: what each does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cuda_abi::{Result, Status};
use sim_core::{Backend, Outcome};

use crate::area::Place;
use crate::around::Surroundings;
use crate::copy::Copy;
use crate::exec::ExecGraph;
use crate::graph::ordered;
use crate::graph_run::GraphRun;
use crate::host::{Handed, Host, Launched, Launching, Picked, Prepared};
use crate::lock;
use crate::operation::{Compare, Conditional, KernelCall, Node, Operation};
use crate::tree::Context;

/// A launch from its beginning to its end, however that comes.
struct Running<'a>(&'a dyn Host);

impl<'a> Running<'a> {
    fn new(host: &'a dyn Host) -> Self {
        host.begins();
        Self(host)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl Context {
    /// Does what an operation says, now; it may have been handed to the queue by itself. A panic is a fault of the
    /// context.
    pub(crate) fn execute(
        self: &Arc<Self>,
        operation: &Operation,
        handed: Option<Handed>,
        run: Option<&Arc<GraphRun>>,
    ) {
        if catch_unwind(AssertUnwindSafe(|| self.perform(operation, handed, run))).is_err() {
            self.host().warn(&format!(
                "internal error in an operation of a stream ({operation:?}): this is a bug in warpgrind, not in \
                 your program"
            ));
            self.set_fault(Status::UNKNOWN);
        }
    }

    fn perform(self: &Arc<Self>, operation: &Operation, handed: Option<Handed>, run: Option<&Arc<GraphRun>>) {
        if let Operation::Callback(callback) = operation {
            return callback(self.check().err().unwrap_or(Status::SUCCESS));
        }
        if self.check().is_err() {
            return;
        }
        // A node of a graph with kernels of several devices.
        if let Operation::Kernel(call) = operation
            && let Some(own) = call.function.module.context.upgrade().filter(|own| own.id != self.id)
        {
            return own.perform(operation, handed, run);
        }
        self.device.forget_unmapped();
        let at = |address: u64| self.device.at(address);
        let result = match operation {
            // Who writes decides what a device says: its copy engine, or a kernel of the driver.
            Operation::Copy(_) if !self.allows_writes(operation) => Err(Status::ILLEGAL_ADDRESS),
            Operation::Fill(_) | Operation::WriteValue { .. } if !self.allows_writes(operation) => {
                Err(Status::LAUNCH_FAILED)
            }
            Operation::Kernel(call) => self.launch(call, handed, run),
            Operation::Conditional(conditional) => self.run_conditional(conditional, run),
            Operation::Copy(copy) => self.copy(copy),
            Operation::Map(mapping) => mapping.execute(&self.device.backings, &self.device.simulator),
            Operation::Fill(fill) => fill.execute(&at(fill.to).simulator),
            Operation::Host { function, argument } => {
                self.host().call(*function, *argument);
                Ok(())
            }
            Operation::Free(base) => at(*base).simulator.free(*base).map_err(Status::from),
            Operation::Allocate(memory) => memory.place(&at(memory.base())),
            Operation::WriteValue { address, value, bytes } => {
                let value = value.to_le_bytes();
                at(*address).simulator.write(*address, &value[..*bytes as usize]).map_err(Status::from)
            }
            Operation::Batch(list) => {
                list.iter().for_each(|operation| self.execute(operation, None, run));
                Ok(())
            }
            Operation::WaitValue { address, value, bytes, compare } => {
                self.wait_value(*address, *value, *bytes, *compare)
            }
            Operation::Callback(_)
            | Operation::Empty
            | Operation::Child(_)
            | Operation::Record(_)
            | Operation::Wait(_) => Ok(()),
        };
        if let Err(status) = result {
            // Only the launch is lost, since nothing is wrong with it.
            if status == Status::NOT_SUPPORTED {
                self.refused.store(true, SeqCst);
                return;
            }
            if status == Status::OUT_OF_MEMORY && !matches!(operation, Operation::Kernel(_)) {
                self.host().warn("an operation ended since the memory of this host is used up");
            }
            // Memory was checked when the operation was asked for; it was freed since.
            self.set_fault(if status == Status::INVALID_VALUE { Status::ILLEGAL_ADDRESS } else { status });
        }
    }

    /// Copies. Arrays that wait for their memory have none, and what sparse ones get goes on to their tiles.
    fn copy(&self, copy: &Copy) -> Result {
        let sides = [&copy.from.place, &copy.to.place].map(|place| match place {
            Place::Device(address) => Some((*address, self.device.at(*address))),
            _ => None,
        });
        if sides.iter().flatten().any(|(address, device)| device.backings.waits(*address)) {
            return Err(Status::LAUNCH_FAILED);
        }
        copy.execute(&self.device, self.host())?;
        match &sides[1] {
            Some((address, device)) => {
                device.backings.settle(&device.simulator, *address, copy.target_bytes())
            }
            None => Ok(()),
        }
    }

    /// Runs the graphs of a conditional node, as its value says.
    fn run_conditional(self: &Arc<Self>, conditional: &Conditional, run: Option<&Arc<GraphRun>>) -> Result {
        let mut rounds = 0;
        while let Some(body) = conditional.next(rounds) {
            self.run_nodes(&body.nodes(), run)?;
            rounds += 1;
            if self.check().is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Runs nodes one after the other, here and now.
    fn run_nodes(self: &Arc<Self>, nodes: &[Node], run: Option<&Arc<GraphRun>>) -> Result {
        for node in ordered(nodes)?.iter().filter(|node| node.runs()) {
            match &node.operation {
                Operation::Child(graph) => self.run_nodes(&graph.nodes(), run)?,
                operation => self.execute(operation, None, run),
            }
        }
        Ok(())
    }

    /// Runs a graph that a kernel launched, and what is behind it.
    fn run_launched(self: &Arc<Self>, graph: &ExecGraph) -> Result {
        graph.is_asked_for.store(false, SeqCst);
        let nodes = graph.nodes();
        let run = GraphRun::of(graph, &nodes);
        self.run_nodes(&nodes, run.as_ref())?;
        if let Some(run) = run {
            self.run_behind(&run);
        }
        Ok(())
    }

    /// Runs the tail launches of a graph that is over: each with its own before the next one.
    pub(crate) fn run_behind(self: &Arc<Self>, run: &GraphRun) {
        let mut list = run.take_behind();
        while let Some(graph) = list.pop_front() {
            graph.is_asked_for.store(false, SeqCst);
            if self.check().is_err() {
                continue;
            }
            let nodes = graph.nodes();
            let run = GraphRun::of(&graph, &nodes);
            // It was ordered when it was made.
            let _ = self.run_nodes(&nodes, run.as_ref());
            for next in run.map(|run| run.take_behind()).into_iter().flatten().rev() {
                list.push_front(next);
            }
        }
    }

    fn wait_value(&self, address: u64, value: u64, bytes: u32, compare: Compare) -> Result {
        let mask = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let device = self.device.at(address);
        loop {
            let mut word = [0; 8];
            device.simulator.read(address, &mut word[..bytes as usize])?;
            let found = u64::from_le_bytes(word);
            let difference = found.wrapping_sub(value);
            let met = match compare {
                Compare::GreaterOrEqual if bytes == 4 => difference as i32 >= 0,
                Compare::GreaterOrEqual => difference as i64 >= 0,
                Compare::Equal => difference & mask == 0,
                Compare::And => found & value & mask != 0,
                Compare::Nor => !(found | value) & mask != 0,
            };
            if met || self.is_destroyed() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Brings what a kernel may have written to surfaces to the memory that a program put behind them.
    fn settle_surfaces(&self, call: &KernelCall) -> Result {
        let device = &self.device;
        if device.backings.are_none() {
            return Ok(());
        }
        let code = device.simulator.code(call.function.module.loaded(), &call.launch.kernel);
        if code.is_ok_and(|code| !code.textures.is_empty() || code.launches.uses_runtime) {
            device.backings.settle_all(&device.simulator)?;
        }
        Ok(())
    }

    /// Runs a kernel to its end.
    fn launch(
        self: &Arc<Self>,
        call: &KernelCall,
        handed: Option<Handed>,
        run: Option<&Arc<GraphRun>>,
    ) -> Result {
        let _running = Running::new(self.host());
        let Some(launch) = call.now() else { return Ok(()) };
        let launch = &*launch;
        let module = &call.function.module;
        // What is no operation of its own is launched now.
        let place = handed.map_or_else(|| self.host().called(&launch.kernel), |handed| handed.place);
        let Picked { mut options, picked } = self.host().pick(&launch.kernel, place);
        options.alone = !self.device.is_memory_shared();
        // The same as occupancy was told by.
        options.registers =
            call.function.registers().ok().map(|registers| (call.function.name.clone(), registers));
        options.around = Some(Surroundings::of(self, module, run));
        self.launches.fetch_add(1, SeqCst);
        let (simulator, memory) = (&self.device.simulator, &self.device.memory);
        let (linked, loaded, number) = (&*module.linked, module.loaded(), handed.map(|handed| handed.number));
        let launching = Launching { simulator, memory, module: linked, loaded, launch, number, place };
        let prepared = if picked { self.host().launching(&launching) } else { Prepared::default() };
        let report = self.device.simulator.launch(module.loaded(), launch, &options).map_err(|error| {
            self.host().warn(&format!("`{}` was not launched: {error}", launch.kernel));
            Status::LAUNCH_FAILED
        })?;
        if !report.output.is_empty() && !prepared.printed {
            self.printed.store(true, SeqCst);
            lock(&self.output).extend_from_slice(&report.output);
        }
        self.settle_surfaces(call)?;
        let (module, options) = (&*module.linked, &options);
        let launched = Launched { module, launch, options, report: &report, picked };
        self.host().launched(&launched);
        if report.outcome == Outcome::Completed {
            if let Some(completed) = prepared.completed {
                completed(&launching);
            }
            for graph in run.map(|run| run.take_now()).unwrap_or_default() {
                self.run_launched(&graph)?;
            }
            return Ok(());
        }
        if report.outcome == Outcome::LimitReached && sim_core::host_memory_is_spent() {
            return Err(Status::OUT_OF_MEMORY);
        }
        let fault = report.findings.iter().find(|finding| finding.kind.is_fault());
        Err(fault.map_or(Status::LAUNCH_FAILED, |finding| Status::of_finding(finding.kind)))
    }
}
