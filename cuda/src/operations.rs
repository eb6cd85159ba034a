//! Notes of what the program has its devices do, where somebody asked for them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use protocol::operations::{Doing, Note, Side, Submission};
use runtime::Submitted;

use crate::settings::Settings;

/// The file, if they are asked for.
fn file() -> Option<&'static Mutex<File>> {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let open = || {
        let path = Settings::of_process().operations.as_ref()?;
        OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
    };
    FILE.get_or_init(open).as_ref()
}

fn write(file: &Mutex<File>, note: &Note) {
    // Nobody is left to be told when this fails. One call writes the line, so that those of other processes do not get into it.
    let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&note.line());
}

fn thread() -> u64 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() as u64 }
}

/// Whether they are asked for.
pub(crate) fn are_wanted() -> bool {
    file().is_some()
}

/// An operation was handed to a queue.
pub(crate) fn submitted(of: &Submitted<'_>) {
    let Some(file) = file() else { return };
    let submission = Submission {
        id: (std::process::id(), of.number),
        thread: thread(),
        device: of.device,
        stream: of.stream,
        blocking: of.blocking,
        in_order: of.in_order,
        after: of.after.clone(),
        what: match of.doing {
            runtime::Doing::Kernel(name) => Doing::Kernel(name.to_owned()),
            runtime::Doing::Copy(from, to, bytes) => Doing::Copy { from: side(from), to: side(to), bytes },
            runtime::Doing::Fill(bytes) => Doing::Fill(bytes),
            runtime::Doing::Other => Doing::Other,
        },
    };
    write(file, &Note::Submitted(submission));
}

fn side(of: runtime::Side) -> Side {
    match of {
        runtime::Side::Device => Side::Device,
        runtime::Side::Pinned => Side::Pinned,
        runtime::Side::Pageable => Side::Pageable,
        runtime::Side::Managed => Side::Managed,
    }
}

/// A launch was saved.
pub(crate) fn saved(number: Option<u64>, folder: &Path) {
    if let (Some(file), Some(number)) = (file(), number) {
        write(file, &Note::Saved((std::process::id(), number), folder.to_owned()));
    }
}

/// This thread has waited for an operation.
pub(crate) fn waited(number: u64) {
    if let Some(file) = file() {
        write(file, &Note::Waited { operation: (std::process::id(), number), thread: thread() });
    }
}
