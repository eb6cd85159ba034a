//! Faults on their way from an instruction to a [`Finding`].

use ptx_frontend::{Instruction, Span};
use std::sync::Arc;

use super::warp::{FrameId, ROOT, Warp};
use crate::code::{Code, Meta};
use crate::finding::{CodePlace, CudaPlace, Finding, FindingKind, ThreadId};
use crate::lanes::LaneMask;

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
fn instruction(code: &Code, meta: Meta) -> Option<&Instruction> {
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
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    dropped: u64,
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding, most: usize) {
        let same = self.list.iter().position(|other| {
            other.kind == finding.kind
                && other.place == finding.place
                && other.other_place == finding.other_place
        });
        match same {
            Some(at) => {
                let other = &mut self.list[at];
                other.count += finding.count;
                // The lowest thread gives the values, whichever worker came first.
                if finding.threads.first() < other.threads.first() {
                    other.message = finding.message;
                    other.notes = finding.notes;
                }
                let room = Finding::MAX_THREADS.saturating_sub(other.threads.len());
                if room == 0 && finding.threads.first() > other.threads.last() {
                    return;
                }
                other.threads.extend(finding.threads);
                other.threads.sort_unstable();
                other.threads.dedup();
                other.threads.truncate(Finding::MAX_THREADS);
            }
            None if self.list.len() < most => self.list.push(finding),
            None => self.dropped += 1,
        }
    }

    pub(crate) fn faulted(&self) -> bool {
        self.list.iter().any(|finding| finding.kind.is_fault())
    }

    pub(crate) fn has(&self, kind: FindingKind) -> bool {
        self.list.iter().any(|finding| finding.kind == kind)
    }

    /// The findings in order of place and kind.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, u64) {
        self.list.sort_by(|a, b| {
            let key = |finding: &Finding| {
                (finding.place.as_ref().map(|place| (place.source.0, place.span.start)), finding.kind)
            };
            key(a).cmp(&key(b)).then_with(|| a.threads.cmp(&b.threads))
        });
        (self.list, self.dropped)
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
