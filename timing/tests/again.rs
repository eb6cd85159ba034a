//! A load of what nobody writes, which the assembler makes again where its value is wanted, reads what it read before.

use warpgrind_timing::chip::Chip;
use warpgrind_timing::code::Op;
use warpgrind_timing::run;
use warpgrind_timing::work::{Access, Block, Launch, Step, Warp, Work};

/// A warp that loads as often as there are steps, and of one such load is known what it read.
struct Loads {
    times: usize,
    lines: u64,
}

impl Work for Loads {
    fn block(&self, _: u64) -> Block {
        let load = Step { first: 0, end: 1, lanes: 32 };
        let steps = [vec![load; self.times], vec![Step { first: 1, end: 2, lanes: 32 }]].concat().into();
        let count = self.lines as u8;
        Block {
            warps: vec![Warp { steps, sources: vec![0, 1] }],
            accesses: vec![Access::Lines { first: 0, count, tags: count, together: 1, deep: 1 }],
            pieces: (0..self.lines).map(|line| line << 4 | 15).collect(),
            ..Block::default()
        }
    }
}

#[test]
fn a_load_that_is_made_again_asks_for_the_same_lines() {
    let chip = Chip::h200();
    // Each waits for the one before.
    let (load, exit) = (1 | 7 << 8 | 1 << 11, 1 | 7 << 5 | 7 << 8 | 1 << 11);
    let asked = |opcode: &str, times: usize| {
        let code = [Op::new(opcode, "R0, [R2]", load), Op::new("EXIT", "", exit)];
        let launch = Launch { blocks: 1, sources: vec![Some(0), None], ..Launch::default() };
        run(&chip, &code, &launch, &Loads { times, lines: 8 })
    };
    let (once, again) = (asked("LDG.E.CONSTANT", 1), asked("LDG.E.CONSTANT", 9));
    // The first level has them by then, but its tags are asked for each.
    assert_eq!((once.l2_asked, again.l2_asked), (32, 32));
    assert!(again.elapsed - once.elapsed >= 8.0 * chip.l1.latency, "{} {}", again.elapsed, once.elapsed);
    // Of others it is not known that they read anything.
    let (once, again) = (asked("LDG.E", 1), asked("LDG.E", 9));
    assert!(again.elapsed - once.elapsed < 8.0 * chip.l1.latency, "{} {}", again.elapsed, once.elapsed);
}
