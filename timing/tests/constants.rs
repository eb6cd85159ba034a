//! Constants of the program: what a multiprocessor keeps, what its group does, and what nobody has had.

use warpgrind_timing::chip::Chip;
use warpgrind_timing::code::Op;
use warpgrind_timing::run;
use warpgrind_timing::work::{Access, Block, Launch, Step, Warp, Work};

/// A warp that reads constants, one after the other.
struct Reads(Vec<Access>);

impl Work for Reads {
    fn block(&self, _: u64) -> Block {
        let steps = vec![Step { first: 0, end: 1, lanes: 32 }; self.0.len()];
        let warp = Warp { steps: steps.into(), sources: vec![0, self.0.len() as u32] };
        Block { warps: vec![warp], accesses: self.0.clone(), ..Block::default() }
    }
}

/// Cycles of a read of so many words of each of these lines, of which the last turn counts.
fn each(lines: u32, turns: u32, words: u8) -> f64 {
    // It waits for the one before, by scoreboard 0.
    let op = Op::new("LDC", "R0, c[0x3][R0]", 1 | 7 << 8 | 1 << 11);
    let launch = Launch { blocks: 1, sources: vec![Some(0)], ..Launch::default() };
    let elapsed = |turns: u32| {
        let reads = (0..turns).flat_map(|_| (0..lines).map(|line| Access::Constants { line, words }));
        run(&Chip::h200(), std::slice::from_ref(&op), &launch, &Reads(reads.collect())).elapsed
    };
    (elapsed(turns) - elapsed(turns - 1)) / f64::from(lines)
}

#[test]
fn they_come_from_where_they_are() {
    let Chip { constant, units, fetch, .. } = Chip::h200();
    let own = units.constant.latency.max(fetch.jump);
    let near = |cycles: f64, wanted: f64| assert!((cycles - wanted).abs() < 3.0, "{cycles} {wanted}");
    near(each(constant.lines, 3, 1), own);
    near(each(constant.lines + 1, 3, 1), own + constant.near);
    near(each(constant.lines, 3, 5), own + 4.0 * constant.word);
    let first = each(64, 1, 1);
    let cold = own + constant.near + (constant.far + constant.cold - constant.near) / 4.0;
    assert!((first - cold).abs() < 100.0, "{first} {cold}");
}

/// Warps whose lanes ask for so many words in each of so many loads.
struct Together(usize, Vec<Access>);

impl Work for Together {
    fn block(&self, _: u64) -> Block {
        let Together(warps, reads) = self;
        let count = reads.len() as u32;
        let steps: std::sync::Arc<[Step]> = vec![Step { first: 0, end: 1, lanes: 32 }; reads.len()].into();
        let warp = Warp { steps, sources: vec![0, count] };
        Block { warps: vec![warp; *warps], accesses: reads.clone(), ..Block::default() }
    }
}

/// Cycles a load of each warp, as `testdata/timing/words.cu` measured them (`recordings/words_h200.txt`).
#[test]
fn warps_wait_for_the_words_of_others() {
    let recording = include_str!("../../testdata/timing/recordings/words_h200.txt");
    // It waits for the one before, by scoreboard 0.
    let op = Op::new("LDC", "R0, c[0x3][R0]", 1 | 7 << 8 | 1 << 11);
    let launch = Launch { blocks: 1, sources: vec![Some(0)], ..Launch::default() };
    let mut compared = 0;
    for row in recording.lines().filter(|row| row.starts_with("blocks 1 ") && row.contains("step 1:")) {
        let numbers: Vec<f64> = row.split([' ', ':']).filter_map(|word| word.parse().ok()).collect();
        let [_, warps, words, _, device] = numbers[..] else { panic!("{row}") };
        // Fewer are done before others come.
        if warps < 8.0 || warps * words < 64.0 {
            continue;
        }
        let elapsed = |loads: usize| {
            let reads = vec![Access::Constants { line: 0, words: words as u8 }; loads];
            run(&Chip::h200(), std::slice::from_ref(&op), &launch, &Together(warps as usize, reads)).elapsed
        };
        let each = (elapsed(60) - elapsed(20)) / 40.0;
        assert!((each / device - 1.0).abs() < 0.1, "{row}: {each}");
        compared += 1;
    }
    assert_eq!(compared, 12);
}

#[test]
fn which_line_an_instruction_says_by_itself() {
    let launch = Launch { blocks: 1, sources: vec![None], ..Launch::default() };
    let elapsed = |operands: &str| {
        let code = [Op::new("FADD", operands, 1 | 7 << 5 | 7 << 8)];
        let reads = Reads(vec![Access::Remote]);
        run(&Chip::h200(), &code, &launch, &reads).elapsed
    };
    let Chip { constant, .. } = Chip::h200();
    let longer = elapsed("R0, R0, c[0x3][0x40]") - elapsed("R0, R0, R0");
    assert!((longer - constant.far - constant.cold).abs() < 3.0, "{longer}");
}
