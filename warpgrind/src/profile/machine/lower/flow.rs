//! Where lanes that part at a branch come together again: the block that all their ways lead through.

/// No block.
const NONE: usize = usize::MAX;

/// Where the threads of a region wait for each other: it begins at the end of a block, and ends where another begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Region {
    /// The block at whose end it begins.
    pub(super) from: usize,
    /// The block that all ways out of it lead through.
    pub(super) to: usize,
}

/// The regions of a function, whose blocks go where `next` says; the first is its entry. `parts` says which blocks end with a
/// branch at which lanes may part.
pub(super) fn regions(next: &[Vec<usize>], parts: &[bool]) -> Vec<Region> {
    let count = next.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    let mut onward = next.to_vec();
    // All that ends leads to one block behind the last.
    onward.iter_mut().filter(|to| to.is_empty()).for_each(|to| to.push(count));
    onward.push(Vec::new());
    for (at, to) in onward.iter().enumerate() {
        to.iter().for_each(|&to| before[to].push(at));
    }
    let behind = dominators(&before, &onward, count);
    let ahead = dominators(&onward, &before, 0);
    let mut regions = Vec::new();
    for (at, _) in parts.iter().enumerate().filter(|(_, parts)| **parts) {
        let to = behind[at];
        if to >= count || regions.iter().any(|region: &Region| region.to == to) {
            continue;
        }
        // It begins before a loop that it ends.
        let mut from = at;
        while from != NONE && (returns(&onward, from, to) || !leads(&ahead, from, to)) {
            from = if from == 0 { NONE } else { ahead[from] };
        }
        if from != NONE {
            regions.push(Region { from, to });
        }
    }
    regions
}

/// Whether all ways to a block lead through another.
fn leads(ahead: &[usize], through: usize, mut to: usize) -> bool {
    while to != through {
        if to == 0 || to == NONE {
            return false;
        }
        to = ahead[to];
    }
    true
}

/// Whether there is a way from a block back to it that does not lead through another.
fn returns(onward: &[Vec<usize>], from: usize, past: usize) -> bool {
    let mut seen = vec![false; onward.len()];
    let mut left: Vec<usize> = onward[from].clone();
    while let Some(at) = left.pop() {
        if at == from {
            return true;
        }
        if at != past && !std::mem::replace(&mut seen[at], true) {
            left.extend(&onward[at]);
        }
    }
    false
}

/// By block, the nearest other one that all ways from the root to it lead through (Cooper, Harvey, Kennedy).
fn dominators(next: &[Vec<usize>], before: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut number = vec![NONE; next.len()];
    let mut order = Vec::with_capacity(next.len());
    let mut seen = vec![false; next.len()];
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((at, way)) = stack.last_mut() {
        match next[*at].get(*way) {
            Some(&to) => {
                *way += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => {
                number[*at] = order.len();
                order.push(*at);
                stack.pop();
            }
        }
    }
    let mut nearest = vec![NONE; next.len()];
    nearest[root] = root;
    let mut changed = true;
    while changed {
        changed = false;
        for &at in order.iter().rev().filter(|&&at| at != root) {
            let known = before[at].iter().copied().filter(|&from| nearest[from] != NONE);
            let common = known.reduce(|mut one, mut other| {
                while one != other {
                    while number[one] < number[other] {
                        one = nearest[one];
                    }
                    while number[other] < number[one] {
                        other = nearest[other];
                    }
                }
                one
            });
            if let Some(common) = common.filter(|&common| nearest[at] != common) {
                nearest[at] = common;
                changed = true;
            }
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_branch_end_behind_it() {
        let next = [vec![1, 2], vec![3], vec![3], vec![]];
        assert_eq!(regions(&next, &[true, false, false, false]), [Region { from: 0, to: 3 }]);
    }

    #[test]
    fn a_loop_is_waited_for_behind_it() {
        // 1 and 2 are the loop; lanes leave it at 1.
        let next = [vec![1], vec![2, 3], vec![1], vec![]];
        assert_eq!(regions(&next, &[false, true, false, false]), [Region { from: 0, to: 3 }]);
    }

    #[test]
    fn who_ends_is_not_waited_for() {
        let next = [vec![1, 2], vec![], vec![]];
        assert!(regions(&next, &[true, false, false]).is_empty());
        // Without an end there is nothing behind it.
        assert!(regions(&[vec![1, 0], vec![0, 1]], &[true, true]).is_empty());
    }
}
