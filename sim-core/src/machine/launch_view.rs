//! What a tool may ask about a launch, to say what it found.

use super::fault::{instruction, place};
use super::grid::Grid;
use crate::event::Memory;
use crate::finding::{CodePlace, ThreadId};
use crate::tools::LaunchView;
use semantics::window;

/// A launch that is over.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) grid: &'a Grid<'a>,
}

impl LaunchView for View<'_> {
    fn kernel(&self) -> std::sync::Arc<str> {
        self.grid.launch.kernel.clone()
    }

    fn place(&self, position: u32) -> CodePlace {
        place(self.grid.code, None, position.min(self.grid.code.meta.len().saturating_sub(1) as u32))
    }

    fn operation(&self, position: u32) -> Option<&ptx_frontend::Op> {
        let code = self.grid.code;
        let instruction = instruction(code, *code.meta.get(position as usize)?)?;
        Some(code.module.op(instruction))
    }

    fn line(&self, place: &CodePlace) -> u32 {
        let source = self.grid.code.module.sources.get(place.source.0 as usize);
        source.map_or(0, |source| source.line_column(place.span.start).0)
    }

    fn thread(&self, block: u64, warp: u32, lane: u32) -> ThreadId {
        let launch = self.grid.launch;
        ThreadId {
            block: launch.grid.position(block),
            thread: launch.block.position(u64::from(warp) * 32 + u64::from(lane)),
        }
    }

    fn describe(&self, memory: Memory, address: u64) -> String {
        match memory {
            Memory::Global => {
                let table = self.grid.memory.snapshot().table;
                match table.find(address, 1) {
                    Some(found) => format!("byte {} of {}", address - found.base, found.describe()),
                    None => format!("{address:#x}"),
                }
            }
            Memory::Shared => {
                let code = self.grid.code;
                let variable = code.shared.offsets.iter().find_map(|(id, &offset)| {
                    let variable = &code.module.variables[id.index()];
                    let inside = address.checked_sub(u64::from(offset))?;
                    (inside < variable.size).then_some((inside, &variable.name, variable.size))
                });
                match variable {
                    Some((inside, name, size)) => {
                        format!("byte {inside} of shared variable `{name}` ({size} bytes)")
                    }
                    None => {
                        let start = u64::from(code.shared.static_end);
                        match address.checked_sub(start) {
                            Some(inside) => format!("byte {inside} of dynamic shared memory"),
                            None => format!(
                                "shared address {:#x}",
                                address.saturating_sub(u64::from(window::SHARED_START))
                            ),
                        }
                    }
                }
            }
            Memory::Local => format!("local address {address:#x}"),
        }
    }
}
