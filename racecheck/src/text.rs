//! What is said of a race.

use memory_model::RaceClass;
use memory_model::race::{Missing, Race, Side};
use sim_core::{Memory, ThreadId};

/// How far apart two threads are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    Lanes,
    Warps,
    Blocks,
}

fn apart(race: &Race) -> Apart {
    let (a, b) = (&race.earlier, &race.later);
    match (a.cta == b.cta, a.warp == b.warp) {
        (true, true) => Apart::Lanes,
        (true, false) => Apart::Warps,
        _ => Apart::Blocks,
    }
}

/// `write of 4 bytes (weak)`
fn access(side: &Side) -> String {
    let what = if side.writes { "write" } else { "read" };
    let strength = match side.scope {
        None => "weak".to_string(),
        Some(scope) => format!("strong, .{}", scope.text()),
    };
    let bytes = if side.bytes == 1 { "1 byte".to_string() } else { format!("{} bytes", side.bytes) };
    format!("{what} of {bytes} ({strength})")
}

pub(crate) fn message(race: &Race) -> String {
    let who = match apart(race) {
        Apart::Lanes => "two lanes of a warp",
        Apart::Warps => "two warps of a block",
        Apart::Blocks => "two blocks",
    };
    let memory = match crate::place_of(race).0 {
        Memory::Shared => "shared",
        _ => "global",
    };
    let what = match (race.earlier.writes, race.later.writes) {
        (true, true) => "writes",
        (true, false) => "a write and a later read",
        _ => "a read and a later write",
    };
    format!("{what} of {memory} memory by {who} are not ordered")
}

/// Of another access to what a `cp.async` writes.
pub(crate) fn copy_message(other: &Side) -> String {
    let what = if other.writes { "written" } else { "read" };
    format!("shared memory is {what} before a `cp.async` to it was waited for")
}

/// What would order an access with a copy.
pub(crate) fn copy_help(race: &Race) -> Vec<String> {
    let same = (race.earlier.warp, race.earlier.lane) == (race.later.warp, race.later.lane);
    let barrier = if same {
        ""
    } else if race.earlier.warp == race.later.warp {
        ", and then `__syncwarp()` or a barrier"
    } else {
        ", and then a barrier (`__syncthreads()`)"
    };
    vec![format!(
        "the thread that issued the copy has to wait for it first: `cp.async.wait_group` with fewer groups left, or \
         `cp.async.wait_all` (`__pipeline_wait_prior()`, `consumer_wait()`){barrier}"
    )]
}

fn thread_text(id: ThreadId) -> String {
    format!("block {}, thread {}", id.block, id.thread)
}

pub(crate) fn notes(race: &Race, earlier: ThreadId, later: ThreadId, where_: &str, seed: u64) -> Vec<String> {
    vec![
        format!("first: {} by {}", access(&race.earlier), thread_text(earlier)),
        format!("then: {} by {}", access(&race.later), thread_text(later)),
        format!("at {where_}"),
        format!("seen with --seed {seed}; a race is one whichever comes first"),
    ]
}

/// Other instructions that the same two CUDA lines became, by the PTX lines of the later and the earlier access.
pub(crate) fn other_places(others: &[(u32, u32)]) -> Option<String> {
    let shown: Vec<String> =
        others.iter().take(OTHER_PLACES).map(|(later, earlier)| format!("{later} and {earlier}")).collect();
    let more = match others.len().saturating_sub(OTHER_PLACES) {
        0 => String::new(),
        more => format!(", and {more} more pairs"),
    };
    (!shown.is_empty()).then(|| format!("also at the PTX lines {}{more}", shown.join(", ")))
}

/// Pairs of PTX lines that are listed.
const OTHER_PLACES: usize = 4;

/// What would order the two.
pub(crate) fn help(race: &Race) -> Vec<String> {
    let apart = apart(race);
    let scope = if apart == Apart::Blocks { "gpu" } else { "cta" };
    let mut help = Vec::new();
    match race.missing {
        Missing::Acquire => help.push(format!(
            "the later thread has seen what the earlier one released, but does not acquire it: read the flag with \
             `ld.acquire.{scope}`, or put a fence (`__threadfence()`) between that read and this access"
        )),
        Missing::Scope => help.push(format!(
            "the later thread has seen what the earlier one released, but the scope of a release, an acquire or a \
             fence does not hold the other thread: `.{scope}` is needed on both sides"
        )),
        Missing::Release => {
            let fence = if apart == Apart::Blocks { "__threadfence()" } else { "__threadfence_block()" };
            help.push(format!(
                "the later thread has seen what the earlier one wrote strongly (a lock or a flag handed over), but nothing \
                 releases it: `{fence}` after this access and before that write (or `.release.{scope}` on it), and \
                 one after the read that takes it over (or `.acquire.{scope}`)"
            ));
        }
        Missing::Everything => {}
    }
    if race.class == RaceClass::MixedSize {
        help.push("access the place in one size, or order the accesses".into());
    }
    if race.class == RaceClass::Scope {
        help.push(format!(
            "both accesses are strong: with a scope of at least `.{scope}` on each of them they do not race"
        ));
    }
    if race.missing == Missing::Everything && race.class != RaceClass::Scope {
        help.push(match apart {
            Apart::Lanes
                if race.earlier.site == race.later.site && race.earlier.writes && race.later.writes =>
            {
                "let one lane write, or give each lane its own place; an atomic orders them too".into()
            }
            Apart::Lanes => {
                "`__syncwarp()` between the two accesses: lanes of a warp need not run in step".into()
            }
            Apart::Warps => {
                "a barrier (`__syncthreads()`) that both threads reach between the two accesses; where threads take turns \
                 by a lock or a flag, the same one for both, with `__threadfence_block()` before it is given and after it \
                 is taken"
                    .to_string()
            }
            Apart::Blocks => {
                "another launch; or a flag that one thread sets after a `__threadfence()` and the other \
                              reads before one (release and acquire of scope `.gpu`); or atomics"
                    .into()
            }
        });
        if (race.earlier.scope.is_some()) != (race.later.scope.is_some()) {
            help.push(
                "one access is strong and the other ordinary: make both strong, if only their value matters"
                    .into(),
            );
        }
    }
    help
}
