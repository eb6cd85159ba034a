//! A CUDA context: created, made current, destroyed.

use std::sync::Arc;

use cuda_abi::Handle;

use crate::api::{Api, RawDevice};
use crate::error::CallError;

/// A context of our own, apart from the primary one that other code of the process may use.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) api: Arc<Api>,
    pub(crate) device: RawDevice,
    handle: Handle,
    /// A kernel runs that cannot be ended; destroying the context would wait for it for ever.
    pub(crate) stuck: bool,
}

impl Context {
    /// Creates a context, current on this thread.
    pub(crate) fn new(api: Arc<Api>, device: RawDevice) -> Result<Self, CallError> {
        /// `CU_LIMIT_PRINTF_FIFO_SIZE`; what does not fit is lost, oldest first.
        const PRINTF_BUFFER: (u32, usize) = (1, 16 << 20);

        let mut handle = 0;
        // SAFETY: the handle is written; the device is one that the driver gave.
        unsafe { api.ctx_create(&mut handle, 0, device) }?;
        let context = Self { api, device, handle, stuck: false };
        // SAFETY: the context was made current by its creation.
        unsafe { context.api.ctx_set_limit(PRINTF_BUFFER.0, PRINTF_BUFFER.1) }?;
        Ok(context)
    }

    /// Makes it current on this thread.
    pub(crate) fn enter(&self) -> Result<(), CallError> {
        // SAFETY: the context has not been destroyed.
        unsafe { self.api.ctx_set_current(self.handle) }
    }

    /// Waits until everything has run.
    pub(crate) fn synchronize(&self) -> Result<(), CallError> {
        self.enter()?;
        // SAFETY: a context is current.
        unsafe { self.api.ctx_synchronize() }
    }

    /// Bytes of device memory free and in all.
    pub(crate) fn memory_info(&self) -> Result<(u64, u64), CallError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current and both are written.
        unsafe { self.api.mem_info(&mut free, &mut total) }?;
        Ok((free as u64, total as u64))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.stuck {
            // SAFETY: nobody uses it any more. A failure leaves nothing to be done.
            let _ = unsafe { self.api.ctx_destroy(self.handle) };
        }
    }
}
