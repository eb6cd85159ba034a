//! Warps that wait for what others write, and those that take turns at a word.

use std::collections::HashMap;

use warpgrind_timing::chip::Chip;
use warpgrind_timing::code::Op;
use warpgrind_timing::run;
use warpgrind_timing::work::{Access, Block, Launch, Phase, Step, Warp, Work};

/// Control information: stall count, write barrier (7 is none), wait mask.
fn control(stall: u32, write: u32, wait: u32) -> u32 {
    stall | write << 5 | 7 << 8 | wait << 11
}

struct Blocks(Vec<Block>);

impl Work for Blocks {
    fn block(&self, index: u64) -> Block {
        self.0[index as usize].clone()
    }
}

/// When each block ends, by index.
fn ends(code: &[Op], sources: &[Option<u32>], blocks: Vec<Block>) -> Vec<f64> {
    let launch = Launch { blocks: blocks.len() as u64, sources: sources.to_vec(), ..Launch::default() };
    let time = run(&Chip::h200(), code, &launch, &Blocks(blocks));
    let mut stays = time.blocks;
    stays.sort_by_key(|stay| stay.block);
    stays.iter().map(|stay| stay.to).collect()
}

fn steps(list: &[u32]) -> std::sync::Arc<[Step]> {
    list.iter().map(|&at| Step { first: at, end: at + 1, lanes: 32 }).collect()
}

#[test]
fn who_waits_for_a_write_goes_on_behind_it() {
    let code = [
        Op::new("LDG.E.STRONG.GPU", "R0, [R2]", control(1, 0, 0)),
        Op::new("NOP", "", control(15, 7, 0)),
        Op::new("STG.E.STRONG.GPU", "[R2], R0", control(1, 7, 0)),
        Op::new("EXIT", "", control(5, 7, 1)),
    ];
    let sources = [Some(0), None, Some(1), None];
    let access = || vec![Access::Lines { first: 0, count: 1, tags: 1, together: 1, deep: 1 }];
    let blocks = |waits: bool| {
        // The first block stores after 200 times 15 cycles, the second one loads at once.
        let late = [vec![1; 200], vec![2, 3]].concat();
        let writer = Warp { steps: steps(&late), sources: vec![0, 0, 1] };
        let reader = Warp { steps: steps(&[0, 3]), sources: vec![0, 1, 1] };
        let block = |warp| Block {
            warps: vec![warp],
            accesses: access(),
            pieces: vec![5 << 4 | 1],
            ..Block::default()
        };
        let (mut first, mut second) = (block(writer), block(reader));
        if waits {
            let phase = Phase { block: 1, number: 0 };
            first.releases = HashMap::from([(0, vec![phase])]);
            second.awaits = HashMap::from([(0, phase)]);
            second.phases = vec![1];
        }
        vec![first, second]
    };
    assert!(ends(&code, &sources, blocks(false))[1] < 2500.0);
    let waiting = ends(&code, &sources, blocks(true))[1];
    assert!((3000.0..5000.0).contains(&waiting), "{waiting}");
}

#[test]
fn who_finds_a_changed_word_tries_again() {
    let swap = Op { again: Some((0, 3)), ..Op::new("ATOMS.CAST.SPIN", "R0, [R1], R2, R3", control(1, 0, 1)) };
    let code = [
        Op::new("LDS", "R2, [R1]", control(1, 0, 0)),
        swap,
        Op::new("BRA", "", control(5, 7, 1)),
        Op::new("EXIT", "", control(5, 7, 0)),
    ];
    let issued = |words: [u32; 2]| {
        let access = |first| Access::Words { wavefronts: 2, first, count: 1, again: false };
        let warp = |at| Warp { steps: steps(&[0, 1, 2, 3]), sources: vec![at, at + 1] };
        let block = Block {
            warps: vec![warp(0), warp(1)],
            accesses: vec![access(0), access(1)],
            words: words.to_vec(),
            ..Block::default()
        };
        let launch = Launch { blocks: 1, sources: vec![None, Some(0), None, None], ..Launch::default() };
        run(&Chip::h200(), &code, &launch, &Blocks(vec![block])).issued
    };
    assert_eq!((issued([1, 2]), issued([1, 1])), (8, 11));
}

#[test]
fn turns_of_a_loop_that_the_code_has_not_follow_each_other() {
    let code =
        [Op::new("ATOMS.ADD", "R0, [R1], R2", control(1, 0, 0)), Op::new("EXIT", "", control(5, 7, 1))];
    let last = |turns: u32| {
        let access = |turn| Access::Words { wavefronts: 2, first: turn, count: 1, again: turn > 0 };
        let warp = Warp { steps: steps(&[0, 1]), sources: vec![0, turns] };
        let accesses = (0..turns).map(access).collect();
        let block = Block { warps: vec![warp], accesses, words: vec![7; 8], ..Block::default() };
        ends(&code, &[Some(0), None], vec![block])[0]
    };
    let shared = Chip::h200().shared;
    let turn = shared.latency + shared.atomic;
    assert!((last(8) - last(1) - 7.0 * turn).abs() < 10.0, "{} {}", last(1), last(8));
}
