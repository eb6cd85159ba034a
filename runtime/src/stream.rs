//! Streams: the order of their operations.

use std::sync::{Arc, Mutex, Weak};

use crate::engine::Op;
use crate::tree::{Context, Stream, StreamKind};
use crate::{fresh_id, lock};

/// Operations that may wait in a stream, about as many as launches in one of a device.
const MOST_PENDING: usize = 1024;

impl Stream {
    pub(crate) fn new(context: Weak<Context>, kind: StreamKind, priority: i32) -> Arc<Stream> {
        Arc::new(Stream { id: fresh_id(), context, kind, priority, state: Mutex::default() })
    }

    /// Makes an operation its last. One that must be done before it takes further ones is returned: a device
    /// has room for so many as well.
    pub(crate) fn append(&self, op: &Arc<Op>) -> Option<Arc<Op>> {
        let mut state = lock(&self.state);
        state.tail = Some(op.clone());
        while state.pending.front().is_some_and(|op| op.is_done()) {
            state.pending.pop_front();
        }
        state.pending.push_back(op.clone());
        if state.pending.len() > MOST_PENDING { state.pending.pop_front() } else { None }
    }

    /// The last operation, if it is not done.
    pub(crate) fn tail(&self) -> Option<Arc<Op>> {
        let mut state = lock(&self.state);
        if state.tail.as_ref().is_some_and(|op| op.is_done()) {
            state.tail = None;
        }
        state.tail.clone()
    }
}
