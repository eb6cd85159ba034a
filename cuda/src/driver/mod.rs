//! The driver interface, a file for each subject of CUDA's manual.

pub(crate) mod advice;
pub(crate) mod array;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod entry;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod graph_memory;
pub(crate) mod green;
pub(crate) mod hints;
pub(crate) mod host_memory;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod memory;
pub(crate) mod memory_node;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod stream;
pub(crate) mod texture;
pub(crate) mod user_object;
pub(crate) mod virtual_memory;
