//! Jumps, and loops that are larger than what a multiprocessor keeps of code.

use warpgrind_timing::chip::Chip;
use warpgrind_timing::code::Op;
use warpgrind_timing::run;
use warpgrind_timing::work::{Block, Launch, Step, Warp, Work};

struct One(Vec<Step>);

impl Work for One {
    fn block(&self, _: u64) -> Block {
        let warp = Warp { steps: self.0.clone().into(), ..Warp::default() };
        Block { warps: vec![warp], ..Block::default() }
    }
}

/// Cycles of a turn of a loop of so many instructions, of which each may be issued so many cycles after the one before.
fn turn(instructions: u32, stall: u32) -> f64 {
    let op = Op::new("FADD", "R0, R0, R0", stall | 7 << 5 | 7 << 8);
    let code = vec![op; instructions as usize];
    let elapsed = |turns: usize| {
        let steps = vec![Step { first: 0, end: instructions, lanes: 32 }; turns];
        run(&Chip::h200(), &code, &Launch { blocks: 1, ..Launch::default() }, &One(steps)).elapsed
    };
    (elapsed(12) - elapsed(2)) / 10.0
}

#[test]
fn a_jump_takes_its_time() {
    let jump = Chip::h200().fetch.jump.ceil();
    assert_eq!(turn(1, 1), jump);
    assert_eq!(turn(4, 5), 15.0 + jump);
    assert_eq!(turn(4, 15), 60.0, "a stall that is longer hides it");
}

#[test]
fn a_loop_that_is_not_kept_is_fetched_again() {
    let Chip { fetch, .. } = Chip::h200();
    let kept = 8 * fetch.lines;
    let each = |instructions: u32| turn(instructions, 1) / f64::from(instructions);
    assert!(each(kept) < 1.1, "{}", each(kept));
    assert!((2.0..2.5).contains(&each(2 * kept)), "{}", each(2 * kept));
}

#[test]
fn what_is_far_behind_comes_late_once() {
    let chip = Chip::h200();
    let lines = |count: u32, blocks: u64| {
        let op = Op::new("FADD", "R0, R0, R0", 1 | 7 << 5 | 7 << 8);
        let code = vec![op; 8 * count as usize];
        let steps = vec![Step { first: 0, end: 8 * count, lanes: 32 }];
        run(&chip, &code, &Launch { blocks, ..Launch::default() }, &One(steps)).elapsed
    };
    let ahead = chip.fetch.ahead;
    let more = lines(ahead + 100, 1) - lines(ahead, 1);
    let each = chip.fetch.next + chip.fetch.far + chip.fetch.cold;
    assert!((more - 100.0 * each).abs() < 2.0 * each, "{more}");
    let before = lines(ahead, 1) - lines(ahead - 100, 1);
    assert!((before - 100.0 * chip.fetch.next).abs() < 2.0 * chip.fetch.next, "{before}");
    // Others that come at the same time wait for the same.
    let together = lines(ahead + 100, u64::from(chip.multiprocessors)) - lines(ahead + 100, 1);
    let begins = f64::from(chip.multiprocessors) * (chip.launch.first_interval + chip.launch.warp_interval);
    assert!(together < begins, "{together}");
}

#[test]
fn code_is_read_by_each_group_that_wants_it() {
    let chip = Chip::h200();
    let read = |lines: u32, blocks: u64| {
        let op = Op::new("FADD", "R0, R0, R0", 1 | 7 << 5 | 7 << 8);
        let code = vec![op; 8 * lines as usize - 1];
        let steps = vec![Step { first: 0, end: 8 * lines - 1, lanes: 32 }];
        let time = run(&chip, &code, &Launch { blocks, ..Launch::default() }, &One(steps));
        (time.l2_read - chip.launch.sectors as u64, time.dram_read)
    };
    // An H200 reads 9,417 and 17,902 sectors more than for an empty launch, and 67,328 bytes for the latter (cold.cu, 1 block).
    assert_eq!(read(264, 1).0, 264 * 34);
    assert_eq!(read(512, 1), (512 * 34, 512 * 128));
    // Behind what all have when a launch begins, it is up to who comes: 2,454 more for 384 lines, and 13,964 (132 blocks).
    assert_eq!(read(896, 1).0 - read(512, 1).0, 384 * 6);
    assert_eq!(read(896, 132).0 - read(512, 132).0, 384 * 34);
}

#[test]
fn what_a_group_does_not_keep_comes_from_the_second_level() {
    let Chip { fetch, .. } = Chip::h200();
    let each = |lines: u32| turn(8 * lines, 1) / f64::from(lines);
    let kept = each(fetch.kept - 100);
    assert!((kept - fetch.next).abs() < 1.0, "{kept}");
    let far = each(fetch.kept + 256);
    assert!((far - fetch.next - fetch.far).abs() < 1.0, "{far}");
}

/// Cycles a jump in loops over jumps among lines so many apart, as `testdata/timing/jumps.cu` measured them
/// (`recordings/jumps_h200.txt`), for one warp.
#[test]
fn jumps_take_what_their_lines_do() {
    let recording = include_str!("../../testdata/timing/recordings/jumps_h200.txt");
    let chip = Chip::h200();
    let mut compared = 0;
    for row in recording.lines() {
        let Some((name, cycles)) = row.split_once(" grid=1 threads=32: ") else { continue };
        let device: f64 = cycles.split(' ').next_back().unwrap().parse().unwrap();
        let (jumps, apart) = name[1..].split_once('_').unwrap();
        let [jumps, apart]: [u32; 2] = [jumps, apart].map(|number| number.parse().unwrap());
        // Of few the loop itself is most; and where they are as many as a cache keeps, what else is in that matters.
        if jumps < 8 || jumps == 16 || jumps * apart == 256 {
            continue;
        }
        let op = Op::new("FADD", "R0, R0, R0", 1 | 7 << 5 | 7 << 8);
        let code = vec![op; (8 * apart * jumps) as usize];
        let elapsed = |turns: u32| {
            let each = |jump: u32| Step { first: 8 * apart * jump, end: 8 * apart * jump + 2, lanes: 32 };
            let steps = (0..turns).flat_map(|_| (0..jumps).map(each)).collect();
            run(&chip, &code, &Launch { blocks: 1, ..Launch::default() }, &One(steps)).elapsed
        };
        let model = (elapsed(6) - elapsed(3)) / f64::from(3 * jumps);
        assert!((model / device - 1.0).abs() < 0.3, "{name}: {device} on a device, {model} here");
        compared += 1;
    }
    assert!(compared > 25, "{compared}");
}
