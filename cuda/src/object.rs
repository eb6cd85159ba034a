//! Handles: numbers that stand for objects, in one table for all kinds.

use std::any::Any;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use runtime::virtual_memory::Physical;
use runtime::{
    Array, Context, Event, ExecGraph, Function, Graph, GreenContext, Kernel, Library, MipmappedArray, Module,
    Multicast, Pool, Result, Status, Stream, SurfaceReference, TextureReference,
};
use rustc_hash::FxHashMap;

use crate::ffi::Handle;

/// A kind of object.
pub(crate) trait Kind: Clone + Send + Sync + 'static {
    /// What a handle gives that stands for no such object.
    const MISSING: Status;
}

macro_rules! kinds {
    ($($ty:ty, $missing:ident;)*) => {
        $(impl Kind for $ty {
            const MISSING: Status = Status::$missing;
        })*
    };
}

kinds! {
    Arc<Context>, INVALID_CONTEXT;
    Arc<GreenContext>, INVALID_VALUE;
    Arc<Module>, INVALID_HANDLE;
    Arc<Function>, INVALID_HANDLE;
    Arc<Library>, INVALID_HANDLE;
    Arc<Kernel>, INVALID_HANDLE;
    Arc<Stream>, INVALID_HANDLE;
    Arc<Event>, INVALID_HANDLE;
    Arc<Graph>, INVALID_VALUE;
    Arc<ExecGraph>, INVALID_VALUE;
    NodeRef, INVALID_VALUE;
    Arc<Pool>, INVALID_VALUE;
    Arc<Array>, INVALID_HANDLE;
    Arc<MipmappedArray>, INVALID_HANDLE;
    Arc<Physical>, INVALID_VALUE;
    Arc<Multicast>, INVALID_VALUE;
    Arc<TextureReference>, INVALID_HANDLE;
    Arc<SurfaceReference>, INVALID_HANDLE;
}

/// A node: its graph and its number.
#[derive(Clone, Debug)]
pub(crate) struct NodeRef {
    pub graph: Arc<Graph>,
    pub id: u64,
}

type Object = Box<dyn Any + Send + Sync>;

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
    let old = table().write().unwrap_or_else(PoisonError::into_inner).insert(handle, Box::new(object));
    drop(old);
    handle
}

/// The object of a handle.
///
/// # Errors
/// The kind's own for null, for what was destroyed, and for other kinds.
pub(crate) fn find<T: Kind>(handle: Handle) -> Result<T> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.get(&handle).and_then(|object| object.downcast_ref::<T>()).cloned().ok_or(T::MISSING)
}

/// Takes an object out of the table.
///
/// # Errors
/// As [`find`].
pub(crate) fn remove<T: Kind>(handle: Handle) -> Result<T> {
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    let found = table.get(&handle).and_then(|object| object.downcast_ref::<T>());
    let found = found.cloned().ok_or(T::MISSING)?;
    table.remove(&handle);
    Ok(found)
}

/// All objects of a kind.
pub(crate) fn all<T: Kind>() -> Vec<T> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.values().filter_map(|object| object.downcast_ref::<T>()).cloned().collect()
}

/// Takes out all objects of a kind for which `gone` holds.
pub(crate) fn remove_all<T: Kind>(gone: impl Fn(&T) -> bool) {
    let taken: Vec<Object> = {
        let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
        let is_gone = |object: &Object| object.downcast_ref::<T>().is_some_and(&gone);
        let taken: Vec<Handle> =
            table.iter().filter(|(_, object)| is_gone(object)).map(|(&handle, _)| handle).collect();
        taken.iter().filter_map(|handle| table.remove(handle)).collect()
    };
    // The last user of an object may run functions of the program, which ask the table.
    drop(taken);
}
