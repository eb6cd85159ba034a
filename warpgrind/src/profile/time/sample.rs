//! Launches of which only the first blocks are timed: the others are taken to go on like these.

use timing::Time;
use timing::chip::Chip;
use timing::work::Stay;

/// Blocks of a launch that are timed at most, unless its user wants more of them.
pub const MOST_BLOCKS: u64 = 1 << 14;

/// Rounds of resident blocks that are timed at most, unless its user wants more of them: the first one finds all caches empty,
/// in the next ones blocks that began together part.
pub const ROUNDS: u64 = 8;

/// On what launches are timed.
#[derive(Clone, Debug)]
pub struct Timing {
    /// The chip.
    pub chip: Chip,
    /// Blocks of a launch that are timed at most, if its user says so; otherwise those of [`ROUNDS`], and no more than
    /// [`MOST_BLOCKS`].
    pub blocks: Option<u64>,
}

impl Timing {
    /// How many blocks of a launch are timed at most, of which so many are resident on a multiprocessor together.
    pub fn most(&self, resident: u32) -> u64 {
        let rounds = ROUNDS * self.chip.blocks_at_once(resident);
        self.blocks.unwrap_or(rounds.min(MOST_BLOCKS)).max(1)
    }
}

/// How many of the first blocks of a launch are timed, of those that are known: as many as leave whole rounds of resident blocks to
/// the others, so that the last round is as full as it will be.
pub(super) fn timed_blocks(known: u64, blocks: u64, round: u64, cluster: u64) -> u64 {
    let known = known.min(blocks);
    let rest = (blocks - known) % round.max(1);
    let whole = if rest == 0 || known < 2 * round { known } else { known + rest - round };
    whole / cluster * cluster
}

/// A launch that goes on behind the blocks that were timed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct GoesOn {
    /// Cycles that a block more takes of the whole chip.
    pub(super) each: f64,
    /// How much of that the first half of the blocks that it is known from say more than all of them, as a share.
    pub(super) error: f64,
}

impl GoesOn {
    /// From the second half of those that were timed, in whole rounds: how far the placements of the last blocks of rounds are apart.
    pub(super) fn of(stays: &[Stay], round: u64) -> Self {
        let mut placed: Vec<(u64, f64)> = stays.iter().map(|stay| (stay.block, stay.from)).collect();
        placed.sort_by_key(|&(block, _)| block);
        let count = placed.len();
        // Less than two rounds are no whole ones.
        let unit = if count as u64 >= 2 * round { round as usize } else { 1 };
        let whole = count / unit * unit;
        let half = |from: usize| (from + whole) / 2 / unit * unit;
        let first = half(0);
        let middle = half(first);
        let at = |blocks: usize| blocks.checked_sub(1).map_or(0.0, |last| placed[last].1);
        let each = |from: usize, to: usize| (at(to) - at(from)).max(0.0) / (to - from).max(1) as f64;
        let all = each(first, whole);
        let error = if middle > first && all > 0.0 { each(first, middle) / all - 1.0 } else { 0.0 };
        GoesOn { each: all, error }
    }
}

/// Of so many blocks that follow those that were timed, the ones that begin before the second level has as much to write back as it
/// may; those behind them have memory write as much as they do.
pub(super) fn before_it_is_full(chip: &Chip, time: &Time, timed: u64, more: u64) -> u64 {
    let room = chip.l2.dirty.saturating_sub(time.dirty) as f64;
    let new = time.dirty.saturating_sub(chip.l2.before) as f64 / timed.max(1) as f64;
    if new <= 0.0 { more } else { ((room / new) as u64).min(more) }
}

/// The chip while the second level has as much to write back as it may.
pub(super) fn full(chip: &Chip) -> Chip {
    let mut full = chip.clone();
    full.l2.before = full.l2.dirty;
    full
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_round_is_as_full_as_it_will_be() {
        for (known, blocks, round, timed) in [
            (800, 1000, 100, 800),
            (800, 1030, 100, 730),
            (800, 820, 100, 720),
            (150, 1030, 100, 150),
            (9, 9, 4, 9),
        ] {
            assert_eq!(timed_blocks(known, blocks, round, 1), timed, "{known} of {blocks}");
            let left = blocks - timed;
            assert!(left % round == 0 || known < 2 * round);
        }
        assert_eq!(timed_blocks(803, 1600, 1, 4), 800);
    }

    /// Rounds that begin together and last so long each.
    fn rounds(lasting: &[f64], round: u64) -> Vec<Stay> {
        let mut begin = 0.0;
        let mut stays = Vec::new();
        for (number, length) in (0..).zip(lasting) {
            let one = |block: u64| Stay {
                block: number * round + block,
                multiprocessor: 0,
                from: begin + block as f64,
                to: begin + length,
            };
            stays.extend((0..round).map(one));
            begin += length;
        }
        stays.reverse();
        stays
    }

    #[test]
    fn rounds_go_on_as_they_did() {
        let steady = GoesOn::of(&rounds(&[900.0, 400.0, 400.0, 400.0, 400.0, 400.0, 400.0, 400.0], 100), 100);
        assert_eq!(steady, GoesOn { each: 4.0, error: 0.0 });
        let slower = GoesOn::of(&rounds(&[900.0, 400.0, 400.0, 400.0, 400.0, 600.0, 600.0, 600.0], 100), 100);
        assert!(slower.each >= 5.0 && slower.error < 0.0, "{slower:?}");
        assert_eq!(GoesOn::of(&[], 100).each, 0.0);
        assert!(GoesOn::of(&rounds(&[900.0], 100), 100).each > 0.0);
    }

    #[test]
    fn what_does_not_fit_is_written_by_those_behind() {
        let chip = Chip::h200();
        let of = |dirty: u64| Time { dirty: chip.l2.before + dirty, ..Time::default() };
        let room = chip.l2.dirty - chip.l2.before;
        assert_eq!(before_it_is_full(&chip, &of(0), 10, 1000), 1000);
        assert_eq!(before_it_is_full(&chip, &of(room), 10, 1000), 0);
        assert_eq!(before_it_is_full(&chip, &of(room / 10), 10, 1000), 90);
    }
}
