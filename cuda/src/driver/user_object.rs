//! User objects: what a graph keeps alive.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use runtime::{Counted, Graph, Result, Status, fresh_id};

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

impl object::Kind for Arc<UserObject> {
    const MISSING: Status = Status::INVALID_VALUE;
}

impl Counted for UserObject {
    fn id(&self) -> u64 {
        self.id
    }

    fn retain(&self, count: i64) {
        self.references.fetch_add(count, SeqCst);
    }

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
        found.retain(count_of(count)?);
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
            found.retain(count);
        }
        graph.hold(&(found as Arc<dyn Counted>), count);
        Ok(())
    }

    fn cuGraphReleaseUserObject(graph: Handle, object_: Handle, count: u32) {
        let graph: Arc<Graph> = object::find(graph)?;
        let found: Arc<UserObject> = object::find(object_)?;
        let count = count_of(count)?;
        graph.let_go(found.id, count)?;
        found.release(count)
    }
}
