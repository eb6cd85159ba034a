//! References to what the program counts, which graphs hold.

use std::sync::Arc;

use cuda_abi::{Result, Status};

/// Something of the program's with counted references.
pub trait Counted: Send + Sync + std::fmt::Debug {
    /// Its number.
    fn id(&self) -> u64;

    /// Adds references.
    fn retain(&self, count: i64);

    /// Takes references away. Functions of the program may run.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there are not so many.
    fn release(&self, count: i64) -> Result;
}

/// References that a graph, a copy of it or an executable graph holds; a copy holds as many, and all are given back
/// when it goes.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<(Arc<dyn Counted>, i64)>);

impl Held {
    /// Whether it holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, object: &Arc<dyn Counted>, count: i64) {
        match self.0.iter_mut().find(|(other, _)| other.id() == object.id()) {
            Some((_, held)) => *held += count,
            None => self.0.push((object.clone(), count)),
        }
    }

    pub(crate) fn take(&mut self, id: u64, count: i64) -> Result {
        let at = self.0.iter().position(|(object, held)| object.id() == id && *held >= count);
        let at = at.ok_or(Status::INVALID_VALUE)?;
        self.0[at].1 -= count;
        if self.0[at].1 == 0 {
            self.0.remove(at);
        }
        Ok(())
    }
}

impl Clone for Held {
    fn clone(&self) -> Held {
        self.0.iter().for_each(|(object, count)| object.retain(*count));
        Held(self.0.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (object, count) in &self.0 {
            let _ = object.release(*count);
        }
    }
}
