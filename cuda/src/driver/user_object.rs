//! User objects: what a graph keeps alive.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use runtime::{Graph, Result, Status, fresh_id};

use crate::ffi::{Handle, put};
use crate::object;
use crate::state;

/// A counted reference to something of the program's.
#[derive(Debug)]
pub(crate) struct UserObject {
    id: u64,
    argument: u64,
    destroy: unsafe extern "C" fn(*mut c_void),
    references: AtomicI64,
}

/// References that graphs hold: by graph and object.
static HELD: Mutex<Option<Held>> = Mutex::new(None);

type Held = HashMap<u64, Vec<(Arc<UserObject>, i64)>>;

impl UserObject {
    fn release(&self, count: i64) -> Result {
        let left = self.references.fetch_sub(count, SeqCst) - count;
        if left < 0 {
            self.references.fetch_add(count, SeqCst);
            return Err(Status::INVALID_VALUE);
        }
        if left == 0 {
            let _ = object::remove::<Arc<UserObject>>(object::handle(self.id));
            // SAFETY: the program gave the function for this.
            unsafe { (self.destroy)(self.argument as *mut c_void) };
        }
        Ok(())
    }
}

/// Gives back what a graph holds.
pub(crate) fn graph_destroyed(graph: u64) {
    let held =
        HELD.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|held| held.remove(&graph));
    for (object, count) in held.into_iter().flatten() {
        let _ = object.release(count);
    }
}

fn count_of(count: u32) -> Result<i64> {
    if count == 0 || count > i32::MAX as u32 { Err(Status::INVALID_VALUE) } else { Ok(i64::from(count)) }
}

api! {
    fn cuUserObjectCreate(
        to: *mut Handle, argument: *mut c_void, destroy: Option<unsafe extern "C" fn(*mut c_void)>, count: u32,
        flags: u32
    ) {
        state::runtime()?;
        // The destructor may not be synchronised with: the only flag, and it is required.
        if to.is_null() || flags != 1 {
            return Err(Status::INVALID_VALUE);
        }
        let new = Arc::new(UserObject {
            id: fresh_id(),
            argument: argument as u64,
            destroy: destroy.ok_or(Status::INVALID_VALUE)?,
            references: AtomicI64::new(count_of(count)?),
        });
        put(to, object::insert(new.id, new))
    }

    fn cuUserObjectRetain(object_: Handle, count: u32) {
        let found: Arc<UserObject> = object::find(object_)?;
        found.references.fetch_add(count_of(count)?, SeqCst);
        Ok(())
    }

    fn cuUserObjectRelease(object_: Handle, count: u32) {
        let found: Arc<UserObject> = object::find(object_)?;
        found.release(count_of(count)?)
    }

    fn cuGraphRetainUserObject(graph: Handle, object_: Handle, count: u32, flags: u32) {
        let graph: Arc<Graph> = object::find(graph)?;
        let found: Arc<UserObject> = object::find(object_)?;
        let count = count_of(count)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        if flags == 0 {
            found.references.fetch_add(count, SeqCst);
        }
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.get_or_insert_with(HashMap::new).entry(graph.id).or_default().push((found, count));
        Ok(())
    }

    fn cuGraphReleaseUserObject(graph: Handle, object_: Handle, count: u32) {
        let graph: Arc<Graph> = object::find(graph)?;
        let found: Arc<UserObject> = object::find(object_)?;
        let count = count_of(count)?;
        {
            let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
            let list = held.get_or_insert_with(HashMap::new).entry(graph.id).or_default();
            let entry = list.iter_mut().find(|(other, held)| other.id == found.id && *held >= count);
            entry.ok_or(Status::INVALID_VALUE)?.1 -= count;
        }
        found.release(count)
    }
}
