//! A model that nobody wants to hear any more.

use std::cell::Cell;

use warpgrind_timing::chip::Chip;
use warpgrind_timing::code::Op;
use warpgrind_timing::run;
use warpgrind_timing::work::{Block, Launch, Step, Warp, Work};

/// Blocks without end, of which nobody wants more than so many.
struct Endless(Cell<u64>);

impl Work for Endless {
    fn block(&self, _: u64) -> Block {
        self.0.set(self.0.get().saturating_sub(1));
        let warp = Warp { steps: vec![Step { first: 0, end: 1, lanes: 32 }].into(), ..Warp::default() };
        Block { warps: vec![warp], ..Block::default() }
    }

    fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}

#[test]
fn it_ends_in_the_middle_of_a_launch() {
    let code = [Op::new("EXIT", "", 1 | 7 << 5 | 7 << 8)];
    let launch = Launch { blocks: u64::MAX, resident: 1, ..Launch::default() };
    let time = run(&Chip::h200(), &code, &launch, &Endless(Cell::new(10_000)));
    assert!((1_000..100_000).contains(&time.blocks.len()), "{}", time.blocks.len());
}
