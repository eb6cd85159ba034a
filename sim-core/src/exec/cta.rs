//! A block: its warps, its shared memory, its barriers.

use super::barrier::BlockBarrier;
use super::grid::{Grid, lanes_of};
use super::warp::{Wait, Warp};
use crate::launch::Dim3;
use crate::memory::window;

/// Barriers a block has (ISA 9.7.13.1).
pub(crate) const BARRIERS: usize = 16;

/// A block that runs or waits to run on.
#[derive(Debug, Default)]
pub(crate) struct Cta {
    /// Linear index in the grid.
    pub index: u64,
    pub position: Dim3,
    pub warps: Vec<Warp>,
    /// Shared memory from the start of the window.
    pub shared: Vec<u8>,
    pub barriers: [BlockBarrier; BARRIERS],
    /// A thread of it faulted: what happens to the others is only a consequence.
    pub faulted: bool,
    /// Warp to run next.
    pub next_warp: usize,
    /// What its threads printed.
    pub output: Vec<u8>,
    pub multiprocessor: u32,
    /// Block in its cluster.
    pub cluster_position: Dim3,
}

impl Default for Dim3 {
    fn default() -> Self {
        Dim3::ONE
    }
}

impl Cta {
    /// Makes it the block with linear index `index`, before its first instruction.
    pub(crate) fn reset(&mut self, grid: &Grid<'_>, index: u64) {
        let launch = grid.launch;
        let threads = launch.block.count() as u64;
        let warps = threads.div_ceil(32) as usize;
        self.index = index;
        self.position = launch.grid.position(index);
        self.cluster_position = Dim3::new(
            self.position.x % grid.cluster.x,
            self.position.y % grid.cluster.y,
            self.position.z % grid.cluster.z,
        );
        self.multiprocessor = (index % u64::from(grid.config.multiprocessors)) as u32;
        self.warps.resize_with(warps, Warp::default);
        for (at, warp) in self.warps.iter_mut().enumerate() {
            warp.reset(grid.code, at as u32, lanes_of(threads, at as u32), window::LOCAL_START);
        }
        for at in 0..warps {
            self.fill_specials(grid, at);
        }
        self.shared.clear();
        self.shared.resize(grid.shared_bytes as usize, 0);
        for barrier in &mut self.barriers {
            barrier.reset();
        }
        self.faulted = false;
        self.next_warp = 0;
        self.output.clear();
    }

    /// Sets the special registers that differ between warps.
    fn fill_specials(&mut self, grid: &Grid<'_>, warp: usize) {
        use ptx_frontend::{Component as C, SpecialRegister as R};
        let block = grid.launch.block;
        let part = |dim: Dim3, component: C| match component {
            C::X => dim.x,
            C::Y => dim.y,
            C::Z => dim.z,
            C::W => 0,
        };
        for (row, special) in grid.code.warp_specials.iter().enumerate() {
            let value = match *special {
                R::Ctaid(c) => part(self.position, c),
                R::Clusterid(c) => {
                    let p = self.position;
                    let cluster = grid.cluster;
                    part(Dim3::new(p.x / cluster.x, p.y / cluster.y, p.z / cluster.z), c)
                }
                R::ClusterCtaid(c) => part(self.cluster_position, c),
                R::ClusterCtarank => grid.cluster.index(self.cluster_position) as u32,
                R::Warpid => warp as u32,
                R::Smid => self.multiprocessor,
                _ => 0,
            };
            let lanes = &mut self.warps[warp].rows[row].0;
            *lanes = [value; 32];
            if let R::Tid(component) = *special {
                let first = warp as u64 * 32;
                for (lane, word) in lanes.iter_mut().enumerate() {
                    *word = part(block.position(first + lane as u64), component);
                }
            }
        }
    }

    /// Threads that have neither exited nor faulted.
    pub(crate) fn live_threads(&self) -> u32 {
        self.warps.iter().map(|warp| warp.live().count_ones()).sum()
    }

    /// Whether every thread is gone.
    pub(crate) fn is_finished(&self) -> bool {
        self.warps.iter().all(|warp| warp.groups.is_empty())
    }

    /// Whether a warp has a group that can run.
    pub(crate) fn can_run(&self, warp: usize) -> bool {
        self.warps[warp].groups.iter().any(|group| group.wait == Wait::Ready)
    }
}
