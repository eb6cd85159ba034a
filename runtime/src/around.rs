//! What kernels may ask of the program that they are a part of, by functions of CUDA's device runtime.

use std::sync::{Arc, Weak};

use cuda_abi::Status;
use sim_core::{Around, GraphLaunch, NodeUpdate};

use crate::attributes::attribute;
use crate::graph_run::GraphRun;
use crate::limit::Limit;
use crate::module::Module;
use crate::tree::Context;
use crate::updatable;

/// The program around a launch.
#[derive(Debug)]
pub(crate) struct Surroundings {
    context: Weak<Context>,
    module: Weak<Module>,
    /// The launch of a graph of which the kernel is a node, where it may reach something of that.
    run: Option<Arc<GraphRun>>,
}

impl Surroundings {
    pub(crate) fn of(
        context: &Arc<Context>,
        module: &Arc<Module>,
        run: Option<&Arc<GraphRun>>,
    ) -> Arc<Surroundings> {
        let (context, module) = (Arc::downgrade(context), Arc::downgrade(module));
        Arc::new(Surroundings { context, module, run: run.cloned() })
    }
}

impl Around for Surroundings {
    fn device(&self) -> (i32, i32) {
        self.context
            .upgrade()
            .map_or((0, 1), |context| (context.device.index as i32, context.device.all().len() as i32))
    }

    fn attribute(&self, number: i32) -> Option<i32> {
        let context = self.context.upgrade()?;
        attribute(context.device.simulator.config(), context.device.index, number).ok()
    }

    fn limit(&self, number: i32) -> Option<u64> {
        // Those that a kernel may ask for.
        let is_known = |limit: &Limit| !matches!(limit, Limit::SharedOfProcesses | Limit::Graphics);
        let limit = Limit::of(u32::try_from(number).ok()?).ok().filter(is_known)?;
        Some(self.context.upgrade()?.limit(limit))
    }

    fn error(&self, code: u32) -> Option<(&'static str, &'static str)> {
        let known = Status(code).known()?;
        Some((known.runtime?.to_str().ok()?, known.text.to_str().ok()?))
    }

    fn registers(&self, kernel: &str) -> Option<u32> {
        self.module.upgrade()?.function(kernel).ok()?.registers().ok()
    }

    fn granted_shared(&self, kernel: &str) -> Option<u32> {
        self.module.upgrade()?.granted_shared(kernel)
    }

    fn current_graph(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.handle)
    }

    fn launch_graph(&self, graph: u64, how: GraphLaunch) -> Result<(), u32> {
        match &self.run {
            Some(run) => run.ask(graph, how).map_err(|status| status.0),
            // An H200 says nothing, and runs nothing.
            None => {
                if let Some(context) = self.context.upgrade() {
                    context.host().warn(
                        "`cudaGraphLaunch` in a kernel that is no node of a graph for device launch does nothing",
                    );
                }
                Ok(())
            }
        }
    }

    fn set_condition(&self, handle: u64, value: u32) -> bool {
        self.run.as_ref().is_some_and(|run| run.set_condition(handle, value))
    }

    fn update_node(&self, node: u64, update: NodeUpdate) -> Result<(), u32> {
        let device = self.context.upgrade().map_or(0, |context| context.device.index);
        updatable::update(node, device, update).map_err(|status| status.0)
    }
}
