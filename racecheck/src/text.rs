//! What is said of a race.

use memory_model::RaceClass;
use memory_model::race::{Missing, Race, Side};
use sim_core::{Completion, Groups, Memory, ThreadId};

use crate::{COPIES, UnderWay};

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

fn memory(race: &Race) -> &'static str {
    match crate::place_of(race).0 {
        Memory::Shared => "shared",
        _ => "global",
    }
}

/// What races.
pub(crate) fn message(race: &Race, under_way: UnderWay) -> String {
    let memory = memory(race);
    let (how, other, operation) = match under_way {
        UnderWay::Neither => return threads_message(race),
        UnderWay::Both(_) => {
            return format!(
                "{memory} memory is accessed by two asynchronous operations, and nothing orders them"
            );
        }
        UnderWay::Unfenced(how) => {
            return format!(
                "{} reads {memory} memory that a thread wrote, without a `fence.proxy.async` in between",
                operation(how)
            );
        }
        UnderWay::StaleMap => {
            return "a copy uses a tensor map that was written, without a `fence.proxy.tensormap` in between"
                .into();
        }
        UnderWay::Earlier(how) => (how, &race.later, &race.earlier),
        // Of a `cp.async` this is its end.
        UnderWay::Later(how @ COPIES) => (how, &race.earlier, &race.later),
        UnderWay::Later(how) => {
            let does = |writes: bool| if writes { "writes" } else { "reads" };
            let touched = if race.earlier.writes { "writes" } else { "reads" };
            return format!(
                "{} {} {memory} memory that a thread {touched}, and nothing orders the two",
                operation(how),
                does(race.later.writes)
            );
        }
    };
    let what = if other.writes { "written" } else { "read" };
    let done = if operation.writes { "to it" } else { "that reads it" };
    format!("{memory} memory is {what} before {} {done} was waited for", self::operation(how))
}

/// An operation, by what says that it is complete.
fn operation(completion: Completion) -> &'static str {
    match completion {
        COPIES => "a `cp.async`",
        Completion::Groups(Groups::Warpgroup) => "a `wgmma.mma_async`",
        Completion::Groups(_) | Completion::Mbarrier => "an asynchronous copy",
    }
}

/// Two threads race.
fn threads_message(race: &Race) -> String {
    let who = match apart(race) {
        Apart::Lanes => "two lanes of a warp",
        Apart::Warps => "two warps of a block",
        Apart::Blocks => "two blocks",
    };
    let memory = memory(race);
    let what = match (race.earlier.writes, race.later.writes) {
        (true, true) => "writes",
        (true, false) => "a write and a later read",
        _ => "a read and a later write",
    };
    format!("{what} of {memory} memory by {who} are not ordered")
}

/// What would order an access with an operation.
fn wait_help(race: &Race, completion: Completion, before: bool) -> String {
    let same = (race.earlier.warp, race.earlier.lane) == (race.later.warp, race.later.lane);
    let barrier = if same {
        ""
    } else if race.earlier.warp == race.later.warp {
        ", and then `__syncwarp()` or a barrier"
    } else {
        ", and then a barrier (`__syncthreads()`)"
    };
    if before {
        return "a barrier (`__syncthreads()`, or an mbarrier on which the thread arrives) between the access and the \
                issue of the operation"
            .into();
    }
    match completion {
        COPIES => format!(
            "the thread that issued the copy has to wait for it first: `cp.async.wait_group` with fewer groups left, or \
             `cp.async.wait_all` (`__pipeline_wait_prior()`, `consumer_wait()`){barrier}"
        ),
        Completion::Groups(Groups::Warpgroup) => format!(
            "a warp of the warpgroup has to wait for it first: `wgmma.commit_group`, then `wgmma.wait_group` with fewer \
             groups left{barrier}"
        ),
        Completion::Groups(_) => format!(
            "the thread that issued the copy has to wait for it first: `cp.async.bulk.commit_group`, then \
             `cp.async.bulk.wait_group` with fewer groups left (`.read` is enough to write the source again){barrier}"
        ),
        Completion::Mbarrier => "each thread that uses the memory has to wait first until the phase of the mbarrier that \
                                 counts the copy's bytes is over (`mbarrier.try_wait`, `barrier.wait()`), or to meet one \
                                 that has at a barrier"
            .into(),
    }
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
pub(crate) fn help(race: &Race, under_way: UnderWay) -> Vec<String> {
    match under_way {
        UnderWay::Neither => threads_help(race),
        UnderWay::Earlier(how) | UnderWay::Both(how) | UnderWay::Later(how @ COPIES) => {
            vec![wait_help(race, how, false)]
        }
        UnderWay::Later(how) => vec![wait_help(race, how, true)],
        UnderWay::StaleMap => vec![
            "`fence.proxy.tensormap::generic.acquire` of the map (`cuda::ptx::fence_proxy_tensormap_generic`, \
             `cute::tma_descriptor_fence_acquire()`) in a thread of the block that issues the copy, behind what orders it \
             with the write; in the thread that wrote, `tensormap.cp_fenceproxy` or the same fence with `.release`"
                .into(),
        ],
        UnderWay::Unfenced(_) => vec![
            "`fence.proxy.async` (`cuda::ptx::fence_proxy_async`, `cute::tma_store_fence()`) in the thread that wrote, \
             before the barrier that the issuing thread waits at; or in that thread, behind it"
                .into(),
        ],
    }
}

fn threads_help(race: &Race) -> Vec<String> {
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
