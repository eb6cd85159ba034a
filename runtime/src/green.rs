//! Green contexts: contexts with a part of a device's multiprocessors. Kernels run on the whole machine all the same;
//! which multiprocessors they take changes no result.

use std::sync::{Arc, Weak};

use cuda_abi::{Result, Status};

use crate::fresh_id;
use crate::tree::{Context, Device, GreenContext, Stream, StreamKind};

/// Multiprocessors of a device, which are given to contexts in whole units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multiprocessors {
    /// How many.
    pub count: u32,
    /// What parts are a multiple of.
    pub unit: u32,
}

/// How multiprocessors are split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// Parts of one size.
    pub parts: u32,
    /// That size.
    pub part: Multiprocessors,
    /// What is left.
    pub rest: Multiprocessors,
}

impl Multiprocessors {
    /// All of a device.
    pub fn of(device: &Device) -> Self {
        let config = device.simulator.config();
        Self { count: config.multiprocessors, unit: config.multiprocessor_unit }
    }

    /// Splits them into parts of at least so many; as many parts as possible, or at most `wanted`.
    ///
    /// # Errors
    /// `INVALID_RESOURCE_CONFIGURATION` if there are not enough for one, `INVALID_VALUE` for sizes beyond all.
    pub fn split(self, least: u32, wanted: Option<u32>) -> Result<Split> {
        let size = least.max(1).checked_next_multiple_of(self.unit).ok_or(Status::INVALID_VALUE)?;
        let possible = self.count / size;
        if possible == 0 {
            return Err(Status::INVALID_RESOURCE_CONFIGURATION);
        }
        let parts = wanted.map_or(possible, |wanted| wanted.min(possible));
        let of = |count| Self { count, ..self };
        Ok(Split { parts, part: of(size), rest: of(self.count - parts * size) })
    }
}

impl GreenContext {
    /// A green context with so many multiprocessors.
    ///
    /// # Errors
    /// The device's fault.
    pub fn create(device: &Arc<Device>, multiprocessors: u32) -> Result<Arc<Self>> {
        device.check()?;
        let context = device.create_context(0);
        let green = Arc::new(Self { id: fresh_id(), multiprocessors, context: context.clone() });
        let _ = context.green.set(Arc::downgrade(&green));
        Ok(green)
    }

    /// A stream that does not wait for the default stream, which is the only kind there is.
    pub fn create_stream(&self, priority: i32) -> Arc<Stream> {
        self.context.create_stream(StreamKind::NonBlocking, priority.clamp(-5, 0))
    }
}

impl Context {
    /// The green context that it is, if it is one.
    pub fn green(&self) -> Option<Arc<GreenContext>> {
        self.green.get().and_then(Weak::upgrade)
    }

    /// Whether events of it may be recorded in streams of another one, and compared with events of that: the green contexts of
    /// a device count as one with its primary context.
    pub fn shares_events(&self, other: &Context) -> bool {
        let counts = |context: &Context| {
            context.green.get().is_some()
                || context.device.primary().is_some_and(|primary| primary.id == context.id)
        };
        self.id == other.id || Arc::ptr_eq(&self.device, &other.device) && counts(self) && counts(other)
    }

    /// The multiprocessors that its kernels are given.
    pub fn multiprocessors(&self) -> Multiprocessors {
        let all = Multiprocessors::of(&self.device);
        self.green().map_or(all, |green| Multiprocessors { count: green.multiprocessors, ..all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiprocessors_are_split_in_whole_units() {
        let all = Multiprocessors { count: 132, unit: 8 };
        let of = |count| Multiprocessors { count, unit: 8 };
        assert_eq!(all.split(1, None), Ok(Split { parts: 16, part: of(8), rest: of(4) }));
        assert_eq!(all.split(0, Some(3)), Ok(Split { parts: 3, part: of(8), rest: of(108) }));
        assert_eq!(all.split(60, None), Ok(Split { parts: 2, part: of(64), rest: of(4) }));
        assert_eq!(all.split(60, Some(9)), all.split(60, None));
        assert_eq!(all.split(129, None), Err(Status::INVALID_RESOURCE_CONFIGURATION));
        assert_eq!(all.split(u32::MAX, None), Err(Status::INVALID_VALUE));
    }
}
