//! What expressions of a file stand for.

use super::syntax::{Function, Procedure};
use crate::model::algebra::{Rel, Set, only};
use std::collections::HashMap;
use std::rc::Rc;

/// A function that no file needs to define: of the language itself, or of herd7's library where its own text goes through known
/// executions one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    /// Program order across a member of a set.
    FenceRel,
    /// The events whose instruction has a constant in its name.
    TagEvents,
    /// The relation of a scope's constant.
    TagScope,
    /// A set, apart for each location.
    Partition,
    /// The total orders of a set that contain a relation.
    Linearisations,
    /// The orders of each location's part of a set that contain a relation.
    Orders,
    /// One order for each location, together.
    Cross,
    /// The same of all writes.
    Coherences,
}

/// A set: of known events, or the ends of some relation, as the identity on them.
#[derive(Debug, Clone)]
pub(super) enum Events {
    Known(Set),
    Ends(Rel),
}

/// What an expression stands for.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Set(Events),
    Rel(Rel),
    /// The empty set, relation or collection.
    Nothing,
    Function(Rc<Closure>),
    Builtin(Builtin),
    Tuple(Vec<Value>),
    Tag(String),
    /// A collection of other values, which is known when the file is read.
    Members(Vec<Value>),
    /// All orders of a set that are total for each location and contain a relation.
    Orders(Events, Rel),
    /// All total orders of a set that contain a relation.
    Linearisations(Set, Rel),
    /// A set, apart for each location.
    Locations(Events),
    Procedure(Rc<Procedure>, Rc<Scope>, usize),
}

/// A function with what its body can see.
#[derive(Debug)]
pub(super) struct Closure {
    pub(super) function: Rc<Function>,
    pub(super) scope: Rc<Scope>,
    /// The definitions that it can call itself by.
    pub(super) group: Rc<Vec<(String, Rc<Function>)>>,
    pub(super) file: usize,
}

/// What names stand for, and how deep that is.
pub(super) type Scope = HashMap<String, (Value, usize)>;

/// What a value is, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Set(_) => "a set",
        Value::Rel(_) => "a relation",
        Value::Nothing => "nothing",
        Value::Function(_) | Value::Builtin(_) => "a function",
        Value::Tuple(_) => "a tuple",
        Value::Tag(_) => "a constant",
        Value::Members(_) | Value::Locations(_) => "a collection",
        Value::Orders(..) | Value::Linearisations(..) => "a collection of orders",
        Value::Procedure(..) => "a procedure",
    }
}

/// The identity on a set.
pub(super) fn identity(events: &Events) -> Rel {
    match events {
        Events::Known(set) => only(set),
        Events::Ends(rel) => rel.clone(),
    }
}
