//! Functions that no file needs to define.

use super::names::{self, Dialect, Meaning};
use super::value::{Builtin, Events, Value, identity};
use crate::model::algebra::*;
use crate::model::rewrite::{are_writes, is_empty};

/// A function that every file can call.
pub(super) fn named(name: &str) -> Option<Builtin> {
    Some(match name {
        "fencerel" | "fromto" => Builtin::FenceRel,
        "tag2events" | "tag2instrs" | "tag2fences" => Builtin::TagEvents,
        "tag2scope" | "tag2level" => Builtin::TagScope,
        "classes-loc" | "partition" => Builtin::Partition,
        "linearisations" => Builtin::Linearisations,
        _ => return of_library(name),
    })
}

/// A function of herd7's library that stays what it is where a file defines it.
pub(super) fn of_library(name: &str) -> Option<Builtin> {
    Some(match name {
        "co_locs" | "generate_orders" => Builtin::Orders,
        "cross" => Builtin::Cross,
        "generate_cos" => Builtin::Coherences,
        _ => return None,
    })
}

/// What a function makes of what it is given.
pub(super) fn apply(builtin: Builtin, argument: Value) -> Result<Value, String> {
    match (builtin, argument) {
        (Builtin::FenceRel, Value::Set(events)) => Ok(Value::Rel(po() >> identity(&events) >> po())),
        (Builtin::FenceRel, Value::Nothing) => Ok(Value::Nothing),
        (Builtin::FenceRel, _) => Err("a set of fences is expected here".to_owned()),
        (Builtin::TagEvents, Value::Tag(tag)) => {
            Ok(match names::meaning(Dialect::Ptx, &tag.to_uppercase()) {
                Some(Meaning::Set(set)) => Value::Set(Events::Known(set)),
                _ => Value::Nothing,
            })
        }
        (Builtin::TagScope, Value::Tag(tag)) => Ok(match names::meaning(Dialect::Ptx, &tag.to_lowercase()) {
            Some(Meaning::Rel(rel)) => Value::Rel(rel),
            _ => Value::Nothing,
        }),
        (Builtin::TagEvents | Builtin::TagScope, _) => {
            Err("a constant such as `'name` is expected here".to_owned())
        }
        (Builtin::Partition, Value::Set(events)) => Ok(Value::Locations(events)),
        (Builtin::Partition, Value::Nothing) => Ok(Value::Nothing),
        (Builtin::Partition, _) => Err("a set is expected here".to_owned()),
        (Builtin::Linearisations, Value::Tuple(arguments)) => match &arguments[..] {
            // One order of other events than writes, beside that of each location's writes.
            [Value::Set(Events::Known(set)), least @ (Value::Rel(_) | Value::Nothing)]
                if !are_writes(set) && !is_empty(set) =>
            {
                let least = if let Value::Rel(rel) = least { rel.clone() } else { nothing() };
                Ok(Value::Linearisations(set.clone(), least))
            }
            _ => orders(arguments),
        },
        (Builtin::Orders, Value::Tuple(arguments)) => orders(arguments),
        (Builtin::Linearisations | Builtin::Orders, _) => {
            Err("a set and a relation are expected here".to_owned())
        }
        (Builtin::Cross, orders @ (Value::Orders(..) | Value::Nothing)) => Ok(orders),
        (Builtin::Cross, _) => Err("collections of orders are expected here".to_owned()),
        (Builtin::Coherences, argument) => orders(vec![Value::Set(Events::Known(writes())), argument]),
    }
}

/// The orders of a set, or of each location's part of it, and what they contain, in either order.
fn orders(arguments: Vec<Value>) -> Result<Value, String> {
    let (mut events, mut least) = (None, nothing());
    for argument in arguments {
        match argument {
            Value::Set(set) | Value::Locations(set) => events = Some(set),
            Value::Rel(rel) => least = rel,
            Value::Nothing => {}
            _ => return Err("a set and a relation are expected here".to_owned()),
        }
    }
    match events {
        // Only writes to one location are put into an order.
        Some(events) if of_writes(&events) => Ok(Value::Orders(events, least)),
        Some(Events::Known(set)) if is_empty(&set) => Ok(Value::Nothing),
        None => Ok(Value::Nothing),
        Some(_) => Err("only writes are put into an order here, location by location".to_owned()),
    }
}

fn of_writes(events: &Events) -> bool {
    match events {
        Events::Known(set) => are_writes(set),
        Events::Ends(_) => false,
    }
}
