//! What the engine is compiled for: tools that look on, or none, so that looking on costs nothing where nobody does.

use crate::options::RunOptions;
use crate::tools::{
    AnyTool, BlockParts, Context, Event, LaunchShape, LaunchView, Summary, ToolFactory, Traffic, Wants,
};

/// Who looks on while a worker runs.
pub(crate) trait Observer: Sized + Send {
    /// Whether somebody may.
    const ACTIVE: bool;

    /// Everything that anybody wants to hear.
    fn wants(&self) -> Wants {
        Wants::NONE
    }

    /// Asks again who wants to hear what; events of some kinds are told besides, whether somebody wants them or not.
    fn count(&mut self, _kinds: Wants) {}

    /// Whether all that hear of accesses are content with [`Event::Ranges`].
    fn ranges_suffice(&self) -> bool {
        false
    }

    /// Tells those of an event that want this kind.
    fn tell(&mut self, _kind: Wants, _event: &Event<'_>, _block: &mut BlockParts, _context: &dyn Context) {}

    /// Gives a block what tools keep of one, where it has nothing yet.
    fn prepare(&self, _block: &mut BlockParts) {}

    /// Takes what another worker's knows.
    fn merge(&mut self, _other: Self) {}

    /// The launch is over: what each has to say.
    fn finish(self, _launch: &dyn LaunchView) -> Vec<Summary> {
        Vec::new()
    }
}

/// Nobody, at no cost.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct NoTools;

impl Observer for NoTools {
    const ACTIVE: bool = false;
}

/// One worker's part of the tools that were asked for.
pub(crate) struct Tools {
    list: Vec<(Wants, Box<dyn AnyTool>)>,
    /// What one of them wants, and what is told besides.
    wants: Wants,
    ranges_suffice: bool,
}

impl Tools {
    /// What the options ask for.
    pub(crate) fn new(options: &RunOptions, shape: &LaunchShape) -> Self {
        let traffic = options.count_memory.then(|| ToolFactory::new(|_| Traffic::default()));
        let list: Vec<_> = traffic
            .iter()
            .chain(&options.tools)
            .map(|factory| {
                let tool = factory.make(shape);
                (tool.wants(), tool)
            })
            .collect();
        let mut tools = Self { list, wants: Wants::NONE, ranges_suffice: false };
        tools.see(Wants::NONE);
        tools
    }

    /// What is wanted in all, some kinds besides.
    fn see(&mut self, kinds: Wants) {
        let content = |(wants, _): &(Wants, _)| !wants.has(Wants::ACCESSES) || wants.has(Wants::RANGES);
        self.wants = self.list.iter().fold(kinds, |all, (wants, _)| all | *wants);
        self.ranges_suffice = self.list.iter().all(content);
    }
}

impl Observer for Tools {
    const ACTIVE: bool = true;

    #[inline(always)]
    fn wants(&self) -> Wants {
        self.wants
    }

    fn count(&mut self, kinds: Wants) {
        for (wants, tool) in &mut self.list {
            *wants = tool.wants();
        }
        self.see(kinds);
    }

    #[inline(always)]
    fn ranges_suffice(&self) -> bool {
        self.ranges_suffice
    }

    #[inline]
    fn tell(&mut self, kind: Wants, event: &Event<'_>, block: &mut BlockParts, context: &dyn Context) {
        for ((wants, tool), part) in self.list.iter_mut().zip(&mut block.0) {
            if wants.has(kind) {
                tool.event(event, &mut **part, context);
            }
        }
    }

    fn prepare(&self, block: &mut BlockParts) {
        if block.0.len() != self.list.len() {
            block.0 = self.list.iter().map(|(_, tool)| tool.block()).collect();
        }
    }

    fn merge(&mut self, other: Self) {
        for ((_, tool), (_, other)) in self.list.iter_mut().zip(other.list) {
            tool.merge(other.into_any());
        }
    }

    fn finish(self, launch: &dyn LaunchView) -> Vec<Summary> {
        self.list.into_iter().map(|(_, tool)| tool.finish(launch)).collect()
    }
}
