//! `warpgrind explain`: what codes of diagnostics and kinds of findings mean.

use memory_model::litmus::Code as LitmusCode;
use ptx_frontend::codes;
use serde::Serialize;
use sim_core::FindingKind;

use crate::exit::{Exit, Failure};
use crate::report::{Console, SCHEMA};

macro_rules! kinds {
    ($($kind:ident $text:literal)*) => {
        fn kind_text(kind: FindingKind) -> &'static str {
            match kind { $(FindingKind::$kind => $text,)* }
        }
    };
}

kinds! {
    OutOfBounds "A thread accessed memory that belongs to no allocation or variable, or that \
lies partly behind the end of one. The finding names the nearest allocation and how far away the \
access was. On a GPU such an access often goes unnoticed, because allocations lie side by side; it \
reads or destroys somebody else's data. Usual causes: a missing `if (i < n)` for the last, ragged \
block, a size in elements where bytes are meant, an index that overflowed 32 bits."
    Misaligned "The address of an access must be a multiple of its size: of 4 for a float, of 16 \
for a float4 or `ld.v4.f32`. Usual causes: a pointer cast to a wider type, an odd offset into a \
byte buffer, dynamic shared memory cut into arrays of different types."
    NullPointer "A thread accessed an address near zero. The pointer was probably never set, or \
an allocation failed and its result was not checked."
    UseAfterFree "A thread accessed memory that had been freed before, by the host or by `free` in \
a kernel."
    PeerAccess "A thread accessed memory of another device that its own device may not access. Plain device memory \
        is reachable after `cudaDeviceEnablePeerAccess(owner)` (`cuCtxEnablePeerAccess`) was called for the accessing device; \
        memory of a pool after `cudaMemPoolSetAccess`, mapped memory after `cuMemSetAccess` for it. Access is enabled in one \
        direction at a time. Copies need none of this. A device reports an illegal address."
    DoubleFree "`free` was called for memory that had been freed before."
    InvalidFree "`free` was called with an address that `malloc` did not return in a kernel. Memory \
that the host allocated can only be freed by the host."
    WriteToReadOnly "A thread wrote to a kernel parameter, or to memory that a mapping lets its device \
only read (`cuMemSetAccess`). Neither can be written by a kernel."
    WrongSpace "An address belongs to another state space than the one that the instruction \
accesses, for example a generic address of shared memory in `ld.global`. The address was probably \
converted with the wrong `cvta`, or not at all."
    BarrierMismatch "A barrier can never complete as it was meant: some threads of the block wait \
at it while others have exited or wait at another one, or the thread counts at one barrier \
disagree. Usual cause: `__syncthreads()` inside a condition that is not the same for all threads."
    WarpSyncMismatch "A warp-wide operation (`shfl.sync`, `vote.sync`, `bar.warp.sync` and the \
like) is executed by a lane that its member mask does not name, or waits for lanes of the mask that never \
execute it. All lanes of the mask that have not exited must execute the same operation with the same mask. \
Usual causes: a full mask (0xffffffff) inside a divergent branch; a mask made for other lanes than those \
that get there."
    Deadlock "No thread of the launch can go on: all that have not exited wait for something that \
will never happen. The notes say who waits where and for what."
    LimitReached "The launch reached the limit set with `--max-instructions` or `--timeout` and \
was ended. It may be in an endless loop, or it only needs more time."
    Trap "A thread executed `trap`, which ends the kernel. In CUDA that is `__trap()` or a check \
that the compiler inserted."
    ClusterAddress "A thread accessed shared memory of a block that its cluster does not have, or of one whose threads \
        have all exited. Shared memory lasts as long as its block: let every block wait at a barrier of the cluster \
        (`cluster.sync()`, `barrier.cluster`) before it ends."
    WrongMbarrier "A thread operated on an mbarrier object (`mbarrier.arrive`, `cuda::barrier`) in a way that it cannot take: \
        it was never initialized, more threads arrive than its phase expects, or more bytes are expected than it can count. \
        Usual causes: a count in `mbarrier.init` that is not that of the threads that arrive; a thread that arrives twice in \
        a phase; `expect_tx` with another number of bytes than copies bring, so that a phase never ends. A device stops the \
        kernel with `CUDA_ERROR_LAUNCH_FAILED`."
    IllegalInstruction "An instruction got operands that the device's unit for it does not take: a tensor map that is none \
        or of another mode, coordinates that do not fall on a multiple of 16 bytes, an instruction for clusters in a launch \
        without them. A device stops the kernel with `CUDA_ERROR_ILLEGAL_INSTRUCTION`."
    Breakpoint "A thread executed `brkpt` and no debugger is attached."
    AssertionFailed "A condition in `assert()` was false. The message has the condition, the file \
and the line."
    StackOverflow "The local memory of a thread or the depth of calls is exhausted, probably by a \
recursion that does not end, or by an `alloca` of a size that was not meant."
    InvalidTarget "An indirect call or branch went to a place that is no function, or no label of \
the list it belongs to. The function pointer was probably never set, or is one of the host's."
    Unsupported "The kernel reached an instruction or feature that is not supported. `warpgrind \
check` lists all of them before anything runs."
    InternalError "The simulator itself failed while it ran the kernel: a bug in warpgrind, not in your \
program. What was found before stands; results do not. Please report it with the message and the PTX."
    UninitializedRead "A thread read bytes that nothing had written: neither the host nor a \
kernel. Their value is undefined on a GPU. Reported with `--tool initcheck`."
    UndefinedBehavior "An instruction was used in a way that the PTX manual leaves undefined, so \
that its result may differ from one device to the next. `--tool synccheck` reports barriers so: lanes of \
one warp that arrive by different instructions (`__syncthreads()` in both branches of a condition on the \
lane), lanes that exit while others of their warp reach one (`if (i >= n) return;` before `__syncthreads()`), \
and mbarrier objects (`cuda::barrier`) that were not initialized, are initialized twice or get more \
arrivals than they expect. Without any tool: a shuffle that reads a lane which does not take part, and lanes that \
execute a warp-wide operation whose mask, the same for all of them, leaves them out; and a store to a constant \
through its address, which a device does."
    IgnoredValue "A function was given a value that a device does not use. `cudaMemsetAsync`, `cudaMemset2DAsync` and \
`cudaMemset3DAsync` called by a kernel write zeros whatever the value: CUDA's device runtime drops it, and Warpgrind does as a \
device does. A kernel of your own can write another value."
    DataRace "Two threads access the same memory, at least one of them writes, at least one access is \
weak (ordinary), and nothing orders the two: no barrier that both threads reach between them, no release \
that the other thread acquires. The program has no defined meaning then, also if both write the same \
value. Usual causes: a missing `__syncthreads()`; blocks that share data within one launch; a flag that \
is `volatile` or relaxed with no fence before it is set or after it is seen; a fence on one side only; a \
kernel that reads or writes what a kernel that it launched writes: that runs at some time after the launch, \
and only a tail launch or the end of the parent waits for it. \
Reported with `--tool racecheck`."
    WarpRace "Two lanes of one warp access the same memory, at least one writes, and nothing orders them. \
Lanes of a warp need not run in step: what one lane wrote may be read by another only after \
`__syncwarp()` (or a barrier, or a release and an acquire); `__shfl_sync` and votes exchange registers \
and order no memory. Several lanes that write one place in one instruction race as well. Reported with \
`--tool racecheck`."
    ScopeRace "Two strong accesses (atomic, volatile, relaxed or stronger) of one place, at least one a \
write, and the scope of one does not hold the other thread: an atomic of block scope, such as \
`atomicAdd_block` or `thread_scope_block`, on memory that other blocks access. They are not atomic \
towards each other. Both scopes must hold both threads. Reported with `--tool racecheck`."
    MixedSizeRace "Two accesses that overlap without being of the same bytes, at least one writes, and \
nothing orders them. The memory model gives such a program no meaning at all, even if both accesses are \
atomic. Access the place in one size only, or order the accesses. Reported with `--tool racecheck`."
    MissingProxyFence "Bulk copies, tensor copies and `wgmma` access memory through the asynchronous proxy, other \
instructions through the generic one, and a barrier alone does not order the two: what a thread has stored may not be seen by \
a copy or product that is issued after the barrier. Each thread that wrote executes `fence.proxy.async` \
(`cuda::ptx::fence_proxy_async`, `cute::tma_store_fence()`) before the barrier; what an asynchronous copy wrote needs no fence \
once it was waited for. Reported with `--tool racecheck`."
}

/// Runs the command.
pub(crate) fn explain(code: Option<&str>, console: &Console) -> Result<Exit, Failure> {
    if !console.is_human() {
        console.json(&document(code)?);
        return Ok(Exit::Clean);
    }
    match code {
        Some(code) => console.out(format!("{}\n", find(code)?)),
        None => {
            console.out("Findings:\n");
            for kind in FindingKind::ALL {
                console.out(format!("  {:20} {}\n", kind.name(), first_sentence(kind_text(*kind))));
            }
            console.out("\nDiagnostics:\n");
            for (code, text) in codes::ALL {
                console.out(format!("  {code}  {}\n", first_sentence(text)));
            }
            console.out("\nLitmus tests:\n");
            for code in LitmusCode::ALL {
                console.out(format!("  {}  {}\n", code.as_str(), first_sentence(code.explanation())));
            }
        }
    }
    Ok(Exit::Clean)
}

/// What is known about a code, or about all.
#[derive(Serialize, Debug)]
struct Document {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    codes: Vec<CodeJson>,
}

#[derive(Serialize, Debug)]
struct CodeJson {
    code: &'static str,
    /// `finding`, `diagnostic` or `litmus`.
    kind: &'static str,
    text: &'static str,
}

fn document(code: Option<&str>) -> Result<Document, Failure> {
    let all = FindingKind::ALL.iter().map(|kind| (kind.name(), "finding", kind_text(*kind)));
    let all = all.chain(codes::ALL.iter().map(|(code, text)| (code.0, "diagnostic", *text)));
    let all = all.chain(LitmusCode::ALL.iter().map(|code| (code.as_str(), "litmus", code.explanation())));
    let all = all.map(|(code, kind, text)| CodeJson { code, kind, text });
    let codes: Vec<CodeJson> = match code {
        Some(wanted) => {
            find(wanted)?;
            all.filter(|known| known.code.eq_ignore_ascii_case(wanted)).take(1).collect()
        }
        None => all.collect(),
    };
    Ok(Document { schema: SCHEMA, command: "explain", exit_code: Exit::Clean.code(), codes })
}

fn find(code: &str) -> Result<String, Failure> {
    let lower = code.to_lowercase();
    if let Some(kind) = FindingKind::ALL.iter().find(|kind| kind.name() == lower) {
        return Ok(wrap(kind_text(*kind)));
    }
    if let Some(text) = codes::explain(&code.to_uppercase()) {
        return Ok(wrap(text));
    }
    if let Some(code) = LitmusCode::ALL.into_iter().find(|known| known.as_str() == code.to_uppercase()) {
        return Ok(wrap(code.explanation()));
    }
    let names =
        FindingKind::ALL.iter().map(|kind| kind.name()).chain(codes::ALL.iter().map(|(code, _)| code.0));
    Err(Failure::usage(format!("there is no code or finding `{code}`"))
        .suggest(code, names)
        .help("`warpgrind explain` lists all"))
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or(text).trim_end().trim_end_matches('.')
}

/// Breaks a paragraph into lines of at most 90 characters.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 90 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_code_is_found() {
        for kind in FindingKind::ALL {
            assert!(find(kind.name()).unwrap().len() > 40);
        }
        for (code, _) in codes::ALL {
            assert!(find(code.0).is_ok());
        }
        assert!(find("e0001").is_ok());
    }

    #[test]
    fn unknown_codes_are_helped() {
        assert_eq!(find("out-of-bound").unwrap_err().help[0], "did you mean `out-of-bounds`?");
    }

    #[test]
    fn lines_are_short() {
        assert!(wrap(kind_text(FindingKind::OutOfBounds)).lines().all(|line| line.chars().count() <= 90));
    }
}
