//! How a block begins.

use super::cta::Cta;
use super::grid::Grid;
use super::warp::Warp;
use super::warpgroup::{WARPS, Warpgroup};
use crate::launch::Dim3;
use ptx_frontend::SpecialRegister;
use semantics::lanes::{LaneMask, Row};

impl Grid<'_> {
    /// Makes `cta` the block of a rank in a cluster, before its first instruction. `again`: it was another block of this
    /// launch.
    pub(crate) fn begin(&self, cta: &mut Cta, cluster: u64, rank: u64, again: bool) {
        let launch = self.launch;
        let threads = launch.block.count() as u64;
        let warps = threads.div_ceil(32) as usize;
        let shape = self.cluster;
        if shape == Dim3::ONE {
            (cta.index, cta.position) = (cluster, launch.grid.position(cluster));
            cta.cluster_position = Dim3::new(0, 0, 0);
        } else {
            let (first, inside) = (self.clusters.position(cluster), shape.position(rank));
            cta.position = Dim3::new(
                first.x * shape.x + inside.x,
                first.y * shape.y + inside.y,
                first.z * shape.z + inside.z,
            );
            cta.index = launch.grid.index(cta.position);
            cta.cluster_position = inside;
        }
        let untouched = std::mem::take(&mut cta.over) && again;
        if untouched {
            let (kernel, specials) = (&self.code.functions[0], self.code.warp_specials.len());
            cta.warps.iter_mut().for_each(|warp| warp.clear_registers(kernel, specials));
        } else {
            cta.warps.resize_with(warps, Warp::default);
            for (at, warp) in cta.warps.iter_mut().enumerate() {
                warp.reset(self.code, at as u32, lanes_of(threads, at as u32));
                warp.reset_registers(self.code);
            }
        }
        self.fill_specials(cta, again);
        cta.shared.reset(self.shared_bytes);
        while cta.open_barriers != 0 {
            cta.barriers[cta.open_barriers.trailing_zeros() as usize].reset();
            cta.open_barriers &= cta.open_barriers - 1;
        }
        cta.warpgroups.clear();
        if !self.code.warpgroups.is_empty() {
            cta.warpgroups.resize_with(warps.div_ceil(WARPS), Warpgroup::default);
        }
        (cta.faulted, cta.spun) = (false, 0);
        cta.clock = 0;
        (cta.next_warp, cta.steps) = (0, 0);
        cta.output.clear();
    }

    /// Sets the special registers: those of the warps' places in any block, then the block's own.
    fn fill_specials(&self, cta: &mut Cta, again: bool) {
        let specials = &self.code.warp_specials;
        if !again && !specials.is_empty() {
            for (warp, rows) in cta.warps.iter_mut().zip(self.warp_rows.chunks_exact(specials.len())) {
                warp.rows[..specials.len()].copy_from_slice(rows);
            }
        }
        for (row, &special) in specials.iter().enumerate() {
            // Blocks that follow each other have most of them in common.
            if let Some(value) = self.block_special(cta, special)
                && cta.warps.first().is_some_and(|warp| !again || warp.rows[row].0[0] != value)
            {
                cta.warps.iter_mut().for_each(|warp| warp.rows[row] = Row::splat(value));
            }
        }
    }

    /// The value of a special register that all threads of a block share, but not all blocks.
    fn block_special(&self, cta: &Cta, special: SpecialRegister) -> Option<u32> {
        use SpecialRegister as R;
        Some(match special {
            R::Ctaid(c) => cta.position.component(c),
            R::Clusterid(c) => {
                let (p, cluster) = (cta.position, self.cluster);
                Dim3::new(p.x / cluster.x, p.y / cluster.y, p.z / cluster.z).component(c)
            }
            R::ClusterCtaid(c) => cta.cluster_position.component(c),
            R::ClusterCtarank => self.cluster.index(cta.cluster_position) as u32,
            R::Smid => (cta.index % u64::from(self.config.multiprocessors)) as u32,
            _ => return None,
        })
    }
}

/// Lanes of warp `index` of a block with so many threads.
fn lanes_of(threads: u64, index: u32) -> LaneMask {
    match threads.saturating_sub(u64::from(index) * 32) {
        0 => 0,
        n if n >= 32 => LaneMask::MAX,
        n => (1 << n) - 1,
    }
}
