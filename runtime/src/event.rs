//! Events: points in streams, and the time between them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuda_abi::{Result, Status};

use crate::capture::used_outside;
use crate::engine::Op;
use crate::records::{SharedRecords, wait_for};
use crate::tree::{Context, Event, EventState};
use crate::{fresh_id, lock};

/// `CU_EVENT_DISABLE_TIMING`
const NO_TIMES: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
const FOR_PROCESSES: u32 = 4;

impl Event {
    /// An event that was never recorded.
    pub fn new(context: &Arc<Context>, flags: u32) -> Arc<Event> {
        Self::with_records(context, flags, None)
    }

    /// The same, of an event that other processes have as well.
    pub fn with_records(
        context: &Arc<Context>,
        flags: u32,
        shared: Option<Arc<dyn SharedRecords>>,
    ) -> Arc<Event> {
        let context = Arc::downgrade(context);
        Arc::new(Event { id: fresh_id(), context, flags, shared, state: Mutex::default() })
    }

    /// Whether it was made without times.
    pub fn has_no_times(&self) -> bool {
        self.flags & NO_TIMES != 0
    }

    /// Whether it may be given to other processes.
    pub(crate) fn is_for_processes(&self) -> bool {
        self.flags & FOR_PROCESSES != 0
    }

    /// Whether it stands for a point in a capture.
    pub fn is_captured(&self) -> bool {
        matches!(*lock(&self.state), EventState::Captured(..))
    }

    pub(crate) fn op(&self) -> Result<Option<Arc<Op>>> {
        match &*lock(&self.state) {
            EventState::Never => Ok(None),
            EventState::Recorded(op) => Ok(Some(op.clone())),
            EventState::Captured(capture, _) => Err(used_outside(*capture)),
        }
    }

    /// Whether what it marks is over.
    ///
    /// # Errors
    /// `NOT_READY` if not; `CAPTURED_EVENT`; the context's fault.
    pub fn query(&self) -> Result {
        let context = self.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        context.check()?;
        if let Some(records) = &self.shared {
            let reached = records.is_reached(records.last());
            return if reached { Ok(()) } else { Err(Status::NOT_READY) };
        }
        match self.op()? {
            Some(op) if !op.is_done() => Err(Status::NOT_READY),
            _ => context.check(),
        }
    }

    /// Waits until what it marks is over.
    ///
    /// # Errors
    /// `CAPTURED_EVENT`; the context's fault.
    pub fn synchronize(&self) -> Result {
        let context = self.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        if let Some(op) = self.op()? {
            context.wait(&op);
        }
        if let Some(records) = &self.shared {
            wait_for(&**records, records.last(), || context.is_over());
        }
        context.flush_output();
        context.check()
    }

    /// Time between two events, in milliseconds.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if one has no times or was never recorded, or if they are of two contexts, `NOT_READY` if one is not over.
    pub fn elapsed_ms(from: &Event, to: &Event) -> Result<f32> {
        let (start, end) = (from.op()?, to.op()?);
        let contexts = from.context.upgrade().zip(to.context.upgrade());
        let comparable = contexts.is_some_and(|(from, to)| from.shares_events(&to));
        if (from.flags | to.flags) & NO_TIMES != 0 || !comparable {
            return Err(Status::INVALID_HANDLE);
        }
        let (Some(start), Some(end)) = (start, end) else { return Err(Status::INVALID_HANDLE) };
        let (Some(start), Some(end)) = (start.finished(), end.finished()) else {
            return Err(Status::NOT_READY);
        };
        let ms = |time: Duration| time.as_secs_f32() * 1e3;
        Ok(match end.checked_duration_since(start) {
            Some(time) => ms(time),
            None => -ms(start.duration_since(end)),
        })
    }
}
