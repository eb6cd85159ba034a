//! How much warps do, by the PTX that they execute.

use super::super::machine::ways::{Run, Ways};

/// By kind of warp: what its longest way executes, and how much of that is at positions that ask the memory.
pub(super) fn of_ptx(ways: &Ways, asks: impl Fn(usize) -> bool) -> Vec<[f64; 2]> {
    let mut before = vec![0u32];
    before.extend((0..ways.positions.len()).scan(0, |all, at| {
        *all += u32::from(asks(at));
        Some(*all)
    }));
    let last = before.len() - 1;
    let of_way = |way: &Vec<Run>| {
        way.iter().fold([0.0; 2], |all, &(first, end)| {
            let [from, to] = [first, end].map(|at| before[(at as usize).min(last)]);
            [all[0] + f64::from(end.saturating_sub(first)), all[1] + f64::from(to.saturating_sub(from))]
        })
    };
    let each: Vec<[f64; 2]> = ways.ways.iter().map(of_way).collect();
    let of_warp = |lanes: &[u32; 32]| {
        let own = lanes.iter().filter_map(|&way| each.get((way as usize).checked_sub(1)?));
        own.fold([0.0f64; 2], |most, of| [most[0].max(of[0]), most[1].max(of[1])])
    };
    ways.warps.iter().map(|(lanes, _)| of_warp(lanes)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::machine::ways::Position;
    use super::*;

    #[test]
    fn a_warp_does_what_its_longest_way_does() {
        let position = |line| Position { line, op: if line == 2 { "ld" } else { "add" }.into() };
        let lanes = |own: &[u32]| std::array::from_fn(|lane| own.get(lane).copied().unwrap_or(0));
        let ways = Ways {
            // Three turns of a loop around a load, one, and none.
            ways: vec![vec![(0, 4), (1, 4), (1, 5)], vec![(0, 5)], vec![(0, 1), (4, 5)]],
            warps: vec![(lanes(&[1, 2]), 1), (lanes(&[0, 3, 2]), 7), (lanes(&[3]), 1), (lanes(&[]), 1)],
            positions: (0..5).map(position).collect(),
            ..Ways::default()
        };
        let asks = |at: usize| ways.positions[at].op == "ld";
        assert_eq!(of_ptx(&ways, asks), [[11.0, 3.0], [5.0, 1.0], [2.0, 0.0], [0.0, 0.0]]);
    }
}
