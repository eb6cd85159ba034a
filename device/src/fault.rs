//! What the device says of a kernel that faulted, in the words of the simulator's findings.

use std::sync::Arc;

use sim_core::{Finding, FindingKind, Outcome};

use crate::error::{CallError, Code};

/// The kind of finding that a code stands for; `None` if it is not about a kernel's fault.
///
/// The device does not say more than a class: an illegal address is given as out of
/// bounds, whether it was null, freed or behind the end.
pub(crate) fn kind_of(code: Code) -> Option<FindingKind> {
    Some(match code.0 {
        700 => FindingKind::OutOfBounds,
        702 => FindingKind::LimitReached,
        710 => FindingKind::AssertionFailed,
        714 => FindingKind::StackOverflow,
        715 => FindingKind::Trap,
        716 => FindingKind::Misaligned,
        717 => FindingKind::WrongSpace,
        718 => FindingKind::InvalidTarget,
        719 => FindingKind::Trap,
        _ => return None,
    })
}

/// The outcome and the finding of a launch that the device stopped.
pub(crate) fn finding(
    kernel: &Arc<str>,
    kind: FindingKind,
    error: &CallError,
    said: &str,
) -> (Outcome, Finding) {
    let outcome = match kind {
        FindingKind::LimitReached => Outcome::LimitReached,
        _ => Outcome::Faulted,
    };
    let mut notes =
        vec!["a device names neither the instruction nor the thread; the simulator does".to_string()];
    notes.extend(
        said.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("the device wrote: {line}")),
    );
    let finding = Finding {
        kind,
        message: format!("the device stopped the kernel: {} ({}), {}", error.name, error.code.0, error.text),
        notes,
        kernel: kernel.clone(),
        place: None,
        other_place: None,
        threads: Vec::new(),
        count: 1,
    };
    (outcome, finding)
}

/// The finding of a launch that did not end in time.
pub(crate) fn timed_out(kernel: &Arc<str>, limit: std::time::Duration) -> Finding {
    Finding {
        kind: FindingKind::LimitReached,
        message: format!("the kernel did not end within {limit:?}"),
        notes: vec!["it still runs: a device ends a kernel only with the process that started it".into()],
        kernel: kernel.clone(),
        place: None,
        other_place: None,
        threads: Vec::new(),
        count: 1,
    }
}
