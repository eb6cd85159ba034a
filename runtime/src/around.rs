//! What kernels may ask of the program that they are a part of, by functions of CUDA's device runtime.

use std::sync::{Arc, Weak};

use cuda_abi::Status;
use sim_core::{Around, GraphLaunch};

use crate::attributes::attribute;
use crate::context::{Context, Limit};
use crate::module::Module;

/// The program around a launch.
#[derive(Debug)]
pub(crate) struct Surroundings {
    context: Weak<Context>,
    module: Weak<Module>,
}

impl Surroundings {
    pub(crate) fn of(context: &Arc<Context>, module: &Arc<Module>) -> Arc<Surroundings> {
        Arc::new(Surroundings { context: Arc::downgrade(context), module: Arc::downgrade(module) })
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
        let limit = match number {
            0 => Limit::Stack,
            1 => Limit::Printing,
            2 => Limit::Heap,
            4 => Limit::PendingLaunches,
            5 => Limit::Fetching,
            6 => Limit::Persisting,
            _ => return None,
        };
        Some(self.context.upgrade()?.limit(limit))
    }

    fn error(&self, code: u32) -> Option<(&'static str, &'static str)> {
        let known = Status(code).known()?;
        Some((known.runtime?.to_str().ok()?, known.text.to_str().ok()?))
    }

    fn granted_shared(&self, kernel: &str) -> Option<u32> {
        self.module.upgrade()?.granted_shared(kernel)
    }

    fn current_graph(&self) -> u64 {
        0
    }

    fn launch_graph(&self, _graph: u64, _how: GraphLaunch) -> Result<(), u32> {
        Ok(())
    }

    fn set_condition(&self, _handle: u64, _value: u32) -> bool {
        false
    }
}
