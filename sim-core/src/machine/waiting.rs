//! What a thread that asks an mbarrier object again and again still lacks, for the report when a limit ends the launch.

use super::cta::Cta;
use super::grid::Grid;
use super::launch_view::View;
use super::warp::{Group, Warp};
use crate::code::{Access, AccessSpace, Action};
use crate::event::Memory;
use crate::tools::LaunchView;
use numerics::mbarrier;
use ptx_frontend::{Modifier, Modifiers, Opcode};
use semantics::lanes::Slot;
use semantics::window;

/// Instructions of a loop that asks, on both sides of where a thread stands in it.
const LOOP: u32 = 6;

/// Whether an instruction is part of a `test_wait` or `try_wait`.
pub(crate) fn asks(grid: &Grid<'_>, position: u32) -> bool {
    let view = View { grid };
    view.operation(position).is_some_and(|op| {
        op.opcode == Opcode::Mbarrier && (op.has(Modifier::TestWait) || op.has(Modifier::TryWait))
    })
}

/// The mbarrier object that a group asks for in the loop that it seems to be in, and what the object lacks.
pub(crate) fn at_mbarrier(grid: &Grid<'_>, cta: &Cta, warp: &Warp, group: &Group) -> Option<String> {
    let position = Warp::place(group);
    let view = View { grid };
    let asks = |at: &u32| match &grid.code.insts.get(*at as usize)?.action {
        Action::Load(access) if asks(grid, *at) => Some(*access),
        _ => None,
    };
    let near = position.saturating_sub(LOOP)..=position + LOOP;
    let access = near.filter_map(|at| asks(&at).map(|access| (at.abs_diff(position), access)));
    let (_, access) = access.min_by_key(|(distance, _)| *distance)?;
    let address = address(grid, warp, group, &access)?;
    let offset = match access.space {
        AccessSpace::Shared | AccessSpace::Cluster => address,
        _ => match window::of(address) {
            window::Window::Shared(offset) => offset,
            _ => return None,
        },
    } & ((1 << window::SHARED_RANK_SHIFT) - 1);
    let bytes = cta.shared.bytes().get(usize::try_from(offset).ok()?..)?.first_chunk::<8>()?;
    let lacks = mbarrier::lacks(u64::from_le_bytes(*bytes))?;
    Some(format!("asking the mbarrier at {}, {lacks}", view.describe(Memory::Shared, offset)))
}

/// The address of an access for the first lane of a group.
fn address(grid: &Grid<'_>, warp: &Warp, group: &Group, access: &Access) -> Option<u64> {
    let lane = group.lanes.trailing_zeros() as usize & 31;
    let word = |slot: Slot, number: usize| {
        let row = slot.row() as usize;
        let rows: &[semantics::lanes::Row] = if slot.is_constant() {
            grid.constants.get(row..)?
        } else if slot.is_warp() {
            warp.rows.get(row..)?
        } else {
            let first = grid.code.warp_specials.len() + warp.frame(group.frame).rows as usize;
            warp.rows.get(first + row..)?
        };
        rows.get(number / 32).map(|row| u64::from(row.0[number % 32]))
    };
    let base = match access.address_rows {
        0 => 0,
        1 => word(access.address, lane)?,
        _ => word(access.address, 2 * lane)? | word(access.address, 2 * lane + 1)? << 32,
    };
    Some(base.wrapping_add(access.offset as u64))
}
