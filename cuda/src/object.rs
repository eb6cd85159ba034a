//! Handles: numbers that stand for objects, in one table for all kinds.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use runtime::virtual_memory::Physical;
use runtime::{
    Array, Context, Event, ExecGraph, Function, Graph, GreenContext, Module, Pool, Result, Status, Stream,
};
use rustc_hash::FxHashMap;

use crate::driver::green::Part;
use crate::driver::library::{Kernel, Library};
use crate::driver::link::Link;
use crate::driver::user_object::UserObject;
use crate::ffi::Handle;

/// A node: its graph and its number.
#[derive(Clone, Debug)]
pub(crate) struct NodeRef {
    pub graph: Arc<Graph>,
    pub id: u64,
}

macro_rules! objects {
    ($($kind:ident: $ty:ty, $missing:ident;)*) => {
        /// What a handle stands for.
        #[derive(Clone, Debug)]
        pub(crate) enum Object {
            $($kind($ty),)*
        }

        $(impl Kind for $ty {
            const MISSING: Status = Status::$missing;
            fn of(object: &Object) -> Option<&Self> {
                match object {
                    Object::$kind(found) => Some(found),
                    _ => None,
                }
            }
            fn wrap(self) -> Object {
                Object::$kind(self)
            }
        })*
    };
}

/// A kind of object.
pub(crate) trait Kind: Clone {
    /// What a handle gives that stands for no such object.
    const MISSING: Status;
    fn of(object: &Object) -> Option<&Self>;
    fn wrap(self) -> Object;
}

objects! {
    Context: Arc<Context>, INVALID_CONTEXT;
    GreenContext: Arc<GreenContext>, INVALID_VALUE;
    Module: Arc<Module>, INVALID_HANDLE;
    Function: Arc<Function>, INVALID_HANDLE;
    Library: Arc<Library>, INVALID_HANDLE;
    Kernel: Arc<Kernel>, INVALID_HANDLE;
    Link: Arc<Mutex<Link>>, INVALID_HANDLE;
    Stream: Arc<Stream>, INVALID_HANDLE;
    Event: Arc<Event>, INVALID_HANDLE;
    Graph: Arc<Graph>, INVALID_VALUE;
    Exec: Arc<ExecGraph>, INVALID_VALUE;
    Node: NodeRef, INVALID_VALUE;
    Pool: Arc<Pool>, INVALID_VALUE;
    Array: Arc<Array>, INVALID_HANDLE;
    Physical: Arc<Physical>, INVALID_VALUE;
    Part: Arc<Part>, INVALID_VALUE;
    User: Arc<UserObject>, INVALID_VALUE;
}

type Table = RwLock<FxHashMap<Handle, Object>>;

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(Table::default)
}

/// The handle of the object with this number: an address that nothing else has.
pub(crate) const fn handle(id: u64) -> Handle {
    0x6000_0000_0000 + id * 16
}

/// Puts an object with this number into the table; returns its handle.
pub(crate) fn insert<T: Kind>(id: u64, object: T) -> Handle {
    let handle = handle(id);
    table().write().unwrap_or_else(PoisonError::into_inner).insert(handle, object.wrap());
    handle
}

/// The object of a handle.
///
/// # Errors
/// The kind's own for null, for what was destroyed, and for other kinds.
pub(crate) fn find<T: Kind>(handle: Handle) -> Result<T> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.get(&handle).and_then(T::of).cloned().ok_or(T::MISSING)
}

/// Takes an object out of the table.
///
/// # Errors
/// As [`find`].
pub(crate) fn remove<T: Kind>(handle: Handle) -> Result<T> {
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    let found = table.get(&handle).and_then(T::of).cloned().ok_or(T::MISSING)?;
    table.remove(&handle);
    Ok(found)
}

/// All objects there are.
pub(crate) fn all() -> Vec<Object> {
    table().read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// Takes out all objects for which `gone` holds.
pub(crate) fn remove_all(gone: impl Fn(&Object) -> bool) {
    let taken: Vec<Object> = {
        let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
        let taken: Vec<Handle> =
            table.iter().filter(|(_, object)| gone(object)).map(|(&handle, _)| handle).collect();
        taken.iter().filter_map(|handle| table.remove(handle)).collect()
    };
    // The last user of an object may run functions of the program, which ask the table.
    drop(taken);
}
