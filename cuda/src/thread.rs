//! What a thread has for as long as it may call: data that outlives `thread_local!`.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::OnceLock;

use runtime::{Result, Status};

/// A value of each thread, made when it is first asked for.
///
/// Destructors of `thread_local!` run before exit handlers and the destructors of statics, in which programs still
/// call CUDA. POSIX's thread-specific data is given back when a thread ends, and stays when the process exits.
#[derive(Debug)]
pub(crate) struct OfThread<T> {
    key: OnceLock<Option<libc::pthread_key_t>>,
    value: PhantomData<fn() -> T>,
}

impl<T: Default> OfThread<T> {
    /// Without a value in any thread.
    pub(crate) const fn new() -> OfThread<T> {
        OfThread { key: OnceLock::new(), value: PhantomData }
    }

    /// Hands out the thread's value.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`: the process has as many keys as the system allows.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&T) -> R) -> Result<R> {
        let key = self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the place is writable; the function takes what `with` sets.
            (unsafe { libc::pthread_key_create(&mut key, Some(give_back::<T>)) } == 0).then_some(key)
        });
        let key = key.ok_or(Status::OUT_OF_MEMORY)?;
        // SAFETY: the key was made above and is never deleted.
        let mut value = unsafe { libc::pthread_getspecific(key) }.cast::<T>();
        if value.is_null() {
            value = Box::into_raw(Box::default());
            // SAFETY: as above.
            if unsafe { libc::pthread_setspecific(key, value.cast()) } != 0 {
                // SAFETY: it was made above and is nowhere else.
                drop(unsafe { Box::from_raw(value) });
                return Err(Status::OUT_OF_MEMORY);
            }
        }
        // SAFETY: a box of this thread's, which goes when the thread ends; nothing else refers to it by `&mut`.
        Ok(body(unsafe { &*value }))
    }
}

/// The end of a thread.
unsafe extern "C" fn give_back<T>(value: *mut c_void) {
    crate::ffi::guard("a thread's end", || {
        // SAFETY: `with` made it, and the system has forgotten it.
        drop(unsafe { Box::from_raw(value.cast::<T>()) });
        Ok(())
    });
}
