//! The log of errors.

use std::ffi::c_char;
use std::io::Write as _;

use runtime::{Result, Status};

use crate::ffi::{Handle, get, put, put_wanted, text};
use crate::log::{self, Hear};

/// Lines from where an iterator stands, or all of them; it stands at the end then.
unsafe fn lines(iterator: *mut u32) -> Result<Vec<String>> {
    if iterator.is_null() {
        return Ok(log::from(0));
    }
    // SAFETY: it is not null; the program gave it.
    let lines = log::from(unsafe { get(iterator) }?.into());
    // SAFETY: as above.
    unsafe { put(iterator, log::next() as u32) }?;
    Ok(lines)
}

api! {
    fn cuLogsRegisterCallback(function: Option<Hear>, data: u64, to: *mut Handle) {
        let function = function.ok_or(Status::INVALID_VALUE)?;
        let number = log::hear(function, data);
        put_wanted(to, number);
        Ok(())
    }

    fn cuLogsUnregisterCallback(number: Handle) {
        if log::forget(number) { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    fn cuLogsCurrent(iterator: *mut u32, _flags: u32) {
        put(iterator, log::next() as u32)
    }

    fn cuLogsDumpToFile(iterator: *mut u32, path: *const c_char, _flags: u32) {
        let path = text(path)?;
        let mut file = std::fs::File::create(path).map_err(|_| Status::INVALID_VALUE)?;
        let lines = lines(iterator)?;
        file.write_all(lines.concat().as_bytes()).map_err(|_| Status::OPERATING_SYSTEM)
    }

    fn cuLogsDumpToMemory(iterator: *mut u32, to: *mut c_char, size: *mut usize, _flags: u32) {
        let room = get(size)?;
        if to.is_null() || room == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let lines = lines(iterator)?;
        // The last ones that fit.
        let mut count = 0;
        let fits = |line: &&String| {
            count += line.len();
            count < room
        };
        let fitting = lines.iter().rev().take_while(fits).count();
        let text = lines[lines.len() - fitting..].concat();
        crate::ffi::put_text(to, room, &text)?;
        put(size, text.len() + 1)
    }
}
