//! Who wrote leaves its multiprocessor when that is on its way, and makes room for others then.

use warpgrind_timing::chip::Chip;
use warpgrind_timing::code::Op;
use warpgrind_timing::work::{Access, Block, Launch, Step, Warp, Work};
use warpgrind_timing::{Time, run};

/// Blocks of one warp that writes a line of its own, or none.
struct Writers {
    writes: bool,
}

impl Work for Writers {
    fn block(&self, index: u64) -> Block {
        let steps = vec![Step { first: u32::from(!self.writes), end: 2, lanes: 32 }].into();
        Block {
            warps: vec![Warp { steps, sources: vec![0, 1] }],
            accesses: vec![Access::Lines { first: 0, count: 1, tags: 1, together: 1, deep: 1 }],
            pieces: vec![index << 4 | 15],
            ..Block::default()
        }
    }
}

fn time(chip: &Chip, blocks: u64, writes: bool) -> Time {
    let control = 1 | 7 << 5 | 7 << 8;
    let code = [Op::new("STG.E", "[R2], R0", control), Op::new("EXIT", "", control)];
    let launch = Launch { blocks, sources: vec![Some(0), None], ..Launch::default() };
    run(chip, &code, &launch, &Writers { writes })
}

#[test]
fn a_block_stays_until_what_it_wrote_has_left() {
    let chip = Chip::h200();
    let [with, without] = [true, false].map(|writes| time(&chip, 1, writes));
    let stays = |time: &Time| time.blocks[0].to - time.blocks[0].from;
    let longer = stays(&with) - stays(&without);
    assert!((chip.l1.leave..chip.l1.leave + 100.0).contains(&longer), "{longer}");
    // What it takes longer is the multiprocessor's time, and nothing comes behind it.
    for time in [&with, &without] {
        assert_eq!(time.elapsed, time.active_bounds[1] + chip.launch.overhead);
    }
    // The place of a block is empty for so long, and others come no sooner for what was written.
    let round = u64::from(chip.multiprocessors);
    let second = |time: &Time| {
        time.blocks
            .iter()
            .filter(|stay| stay.block >= round)
            .map(|stay| stay.from)
            .fold(f64::INFINITY, f64::min)
    };
    let [with, without] = [true, false].map(|writes| second(&time(&chip, 2 * round, writes)));
    assert!(with - without >= chip.l1.leave, "{with} {without}");
}

#[test]
fn blocks_come_to_empty_multiprocessors_one_after_the_other() {
    let chip = Chip::h200();
    let round = u64::from(chip.multiprocessors);
    let placed = time(&chip, round, false).blocks.iter().map(|stay| stay.from).fold(0.0, f64::max);
    assert!((placed - (round - 1) as f64 * chip.launch.first_interval).abs() < 1.0, "{placed}");
}

/// A warp a block, each of which adds to the same word so often.
struct Adders {
    times: u32,
}

impl Work for Adders {
    fn block(&self, _index: u64) -> Block {
        let steps = vec![Step { first: 0, end: self.times + 1, lanes: 32 }].into();
        let access = Access::Lines { first: 0, count: 1, tags: 1, together: 1, deep: 1 };
        Block {
            warps: vec![Warp { steps, sources: vec![0, self.times] }],
            accesses: vec![access; self.times as usize],
            pieces: vec![1],
            ..Block::default()
        }
    }
}

#[test]
fn reductions_go_on_without_their_block_as_long_as_there_is_room() {
    let chip = Chip::h200();
    let adders = |times: u32| {
        let mut code =
            vec![Op::new("REDG.E.ADD.STRONG.GPU", "[R2], R0", 2 | 7 << 5 | 7 << 8); times as usize];
        code.push(Op::new("EXIT", "", 1 | 7 << 5 | 7 << 8));
        let mut sources = vec![Some(0); times as usize];
        sources.push(None);
        let launch = Launch { blocks: chip.multiprocessors.into(), sources, ..Launch::default() };
        run(&chip, &code, &launch, &Adders { times })
    };
    // What a reduction takes when each multiprocessor has one at the word.
    let round = f64::from(chip.multiprocessors) * chip.l2.atomic[3];
    let room = chip.l1.reductions;
    let all = f64::from(room) * round;
    let parts = |times: u32| {
        let time = adders(times);
        let active = time.active_bounds[1] / all;
        (active, (time.elapsed - chip.launch.overhead) / all - active)
    };
    let (active, behind) = parts(room / 2);
    assert!(active < 0.1 && (0.4..0.6).contains(&behind), "{active} {behind}");
    let (active, behind) = parts(3 * room);
    // Some multiprocessors come to it before others.
    assert!((1.9..2.9).contains(&active) && (0.1..1.1).contains(&behind), "{active} {behind}");
}
