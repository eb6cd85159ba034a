//! Values that were shown, and variables of the debugger's own, as expressions name them.

use std::collections::BTreeMap;

use crate::expression::{Bound, Node, Stored, Value};

/// Values that outlive the place that they were had at: `$1` and so on, and `$name`. Numbers and pointers are kept; of a
/// structure or an array where it lies.
#[derive(Clone, Default, Debug)]
pub struct Values {
    shown: Vec<Value>,
    named: BTreeMap<String, Value>,
}

impl Values {
    /// Keeps a value that is shown; its number, from 1 on.
    pub fn keep(&mut self, value: Value) -> usize {
        self.shown.push(value);
        self.shown.len()
    }

    /// Has a variable, with its `$`, stand for a value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.named.insert(name.to_owned(), value);
    }

    /// The variables.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// What a name with a `$` stands for: `$` the last value, `$$` the one before, `$3` the third, `$$3` the third before the
    /// last, or a variable.
    pub fn get(&self, name: &str) -> Option<Bound> {
        let before = |by: usize| self.shown.len().checked_sub(by + 1).and_then(|at| self.shown.get(at));
        let digits = |text: &str| text.parse::<usize>().ok();
        let found = match name {
            "$" => before(0),
            "$$" => before(1),
            _ => match name.strip_prefix("$$").and_then(digits) {
                Some(by) => before(by),
                None => match name.strip_prefix('$').and_then(digits) {
                    Some(number) => self.shown.get(number.checked_sub(1)?),
                    None => self.named.get(name),
                },
            },
        }?;
        let node = match found.stored {
            Stored::Scalar(bits) => Node::Constant(bits),
            Stored::In(space, address) => Node::Memory(space, address),
        };
        Some(Bound { ty: found.ty.clone(), node })
    }
}
