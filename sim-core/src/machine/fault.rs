//! Faults on their way from an instruction to a [`Finding`].

use ptx_frontend::{Instruction, Span};
use std::sync::Arc;

use super::frame::{FrameId, ROOT};
use super::warp::Warp;
use crate::code::{Code, Meta};
use crate::finding::{CodePlace, CudaPlace, Finding, FindingKind, ThreadId};
use semantics::lanes::LaneMask;

/// Something wrong that some lanes did at one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub kind: FindingKind,
    /// With the values of the lowest lane.
    pub message: String,
    pub notes: Vec<String>,
    pub lanes: LaneMask,
}

impl Fault {
    pub(crate) fn new(kind: FindingKind, lanes: LaneMask, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), notes: Vec::new(), lanes }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Fault {
        self.notes.push(note.into());
        self
    }
}

/// The PTX instruction at a position; `None` for the implicit `ret`.
pub(crate) fn instruction(code: &Code, meta: Meta) -> Option<&Instruction> {
    let function = &code.module.functions[code.functions[meta.function as usize].id.index()];
    function.body.as_ref()?.instructions.get(meta.instruction as usize)
}

/// Where a position is in the PTX text and in the CUDA source.
pub(crate) fn place(code: &Code, warp: Option<(&Warp, FrameId)>, position: u32) -> CodePlace {
    let meta = code.meta[position as usize];
    let function = &code.module.functions[code.functions[meta.function as usize].id.index()];
    let inst = instruction(code, meta);
    let mut cuda = Vec::new();
    if let (Some(inst), Some(body)) = (inst, &function.body) {
        let mut next = inst.location;
        while let Some(id) = next
            && cuda.len() < 64
        {
            let location = &body.locations[id.index()];
            if let Some(file) = location.file.and_then(|at| code.module.files.get(at as usize)) {
                cuda.push(CudaPlace {
                    file: (&*file.name).into(),
                    line: location.line,
                    column: location.column,
                    function: location.function.clone(),
                });
            }
            next = location.inlined_at;
        }
    }
    let mut callers = Vec::new();
    if let Some((warp, mut frame)) = warp {
        while frame != ROOT && callers.len() < 32 {
            let entry = *warp.frame(frame);
            let call = entry.return_to.saturating_sub(1);
            let caller =
                &code.module.functions[code.functions[code.meta[call as usize].function as usize].id.index()];
            let span = instruction(code, code.meta[call as usize]).map_or(Span::default(), |inst| inst.span);
            callers.push((Arc::from(&*caller.name), caller.source, span));
            frame = entry.parent;
        }
    }
    CodePlace {
        source: function.source,
        span: inst.map_or(function.span, |inst| inst.span),
        function: (&*function.name).into(),
        callers,
        cuda,
    }
}

/// Findings of a launch, grouped as they come.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Repeated>,
    dropped: u64,
}

/// Equal findings. Its threads are in no order, and may be twice there, until it is packed.
#[derive(Clone, PartialEq, Debug)]
struct Repeated {
    finding: Finding,
    /// The lowest thread, which gives the values, whichever worker came first.
    least: Option<ThreadId>,
    /// Threads beyond this one are not kept: there are enough.
    most: Option<ThreadId>,
}

impl Repeated {
    fn new(finding: Finding) -> Repeated {
        let least = finding.threads.iter().min().copied();
        Repeated { finding, least, most: None }
    }

    fn add(&mut self, other: Finding) {
        let finding = &mut self.finding;
        finding.count += other.count;
        let least = other.threads.iter().min().copied();
        if least < self.least {
            self.least = least;
            finding.message = other.message;
            finding.notes = other.notes;
        }
        let most = self.most;
        finding.threads.extend(other.threads.iter().filter(|&&thread| most.is_none_or(|most| thread < most)));
        if finding.threads.len() >= 2 * Finding::MAX_THREADS {
            self.pack();
        }
    }

    /// Sorts the threads, and drops those that are too many.
    fn pack(&mut self) {
        let threads = &mut self.finding.threads;
        threads.sort_unstable();
        threads.dedup();
        threads.truncate(Finding::MAX_THREADS);
        self.most = threads.last().copied().filter(|_| threads.len() == Finding::MAX_THREADS);
    }
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding, most: usize) {
        let same = self.list.iter().position(|other| {
            let other = &other.finding;
            other.kind == finding.kind
                && other.place == finding.place
                && other.other_place == finding.other_place
        });
        match same {
            Some(at) => self.list[at].add(finding),
            None if self.list.len() < most => self.list.push(Repeated::new(finding)),
            None => self.dropped += 1,
        }
    }

    /// How often something was found, and what, in the order in which each was first.
    pub(crate) fn list(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter().map(|group| &group.finding)
    }

    /// How often anything was found.
    pub(crate) fn count(&self) -> u64 {
        self.dropped + self.list.iter().map(|group| group.finding.count).sum::<u64>()
    }

    pub(crate) fn faulted(&self) -> bool {
        self.list.iter().any(|group| group.finding.kind.is_fault())
    }

    pub(crate) fn has(&self, kind: FindingKind) -> bool {
        self.list.iter().any(|group| group.finding.kind == kind)
    }

    /// The findings in order of place and kind.
    pub(crate) fn finish(self) -> (Vec<Finding>, u64) {
        let packed = |mut group: Repeated| {
            group.pack();
            group.finding
        };
        let mut list: Vec<Finding> = self.list.into_iter().map(packed).collect();
        list.sort_by(|a, b| {
            let key = |finding: &Finding| {
                (finding.place.as_ref().map(|place| (place.source.0, place.span.start)), finding.kind)
            };
            key(a).cmp(&key(b)).then_with(|| a.threads.cmp(&b.threads))
        });
        (list, self.dropped)
    }
}

/// The threads of some lanes of a warp.
pub(crate) fn threads(
    block: crate::launch::Dim3,
    dim: crate::launch::Dim3,
    warp: u32,
    lanes: LaneMask,
) -> Vec<ThreadId> {
    (0..32)
        .filter(|lane| lanes >> lane & 1 != 0)
        .map(|lane| ThreadId { block, thread: dim.position(u64::from(warp) * 32 + lane) })
        .collect()
}
