//! Device memory: allocations, and which addresses belong to them.

use std::collections::BTreeMap;

use cuda_abi::Status;
use cuda_abi::driver::{MemAccessDesc, MemAllocationProp, MemLocation};
use cuda_abi::numbers::{access, allocation, location};
use sim_core::Error;

use crate::context::Context;
use crate::error::CallError;
use crate::options::Placement;

/// What guarded buffers are aligned to at the least.
const GUARDED_ALIGN: u64 = 16;

/// Live allocations and variables by address.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    ranges: BTreeMap<u64, Range>,
}

#[derive(Debug)]
struct Range {
    bytes: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// From `cuMemAlloc`.
    Plain,
    /// Mapped so that it ends where nothing is mapped.
    Guarded(Mapping),
    /// A variable of a module, which the driver frees.
    Variable,
}

/// Reserved addresses with physical memory in the middle; sizes in bytes.
#[derive(Debug)]
struct Mapping {
    reserved: u64,
    reserved_bytes: u64,
    mapped: u64,
    mapped_bytes: u64,
    handle: u64,
}

impl Memory {
    /// Allocates in the context, which is current.
    pub(crate) fn alloc(
        &mut self,
        context: &Context,
        bytes: u64,
        placement: Placement,
    ) -> Result<u64, Error> {
        let result = match placement {
            Placement::Packed => {
                let mut pointer = 0;
                // SAFETY: a context is current and the pointer is written.
                let result = unsafe { context.api.mem_alloc(&mut pointer, bytes.max(1) as usize) };
                result.map(|()| (pointer, Kind::Plain))
            }
            Placement::Guarded => map(context, bytes),
        };
        let (pointer, kind) = result.map_err(|error| match error.code {
            Status::OUT_OF_MEMORY => {
                let (available, total) = context.memory_info().unwrap_or_default();
                Error::OutOfMemory { requested: bytes, available, total }
            }
            _ => Error::Backend(error.to_string()),
        })?;
        self.ranges.insert(pointer, Range { bytes, kind });
        Ok(pointer)
    }

    /// Frees what [`Memory::alloc`] returned.
    pub(crate) fn free(&mut self, context: &Context, pointer: u64) -> Result<(), Error> {
        let wrong = || Error::InvalidAddress(format!("{pointer:#x} is not the start of an allocation"));
        match self.ranges.get(&pointer) {
            Some(Range { kind: Kind::Plain | Kind::Guarded(_), .. }) => {}
            _ => return Err(wrong()),
        }
        let freed = match self.ranges.remove(&pointer).ok_or_else(wrong)?.kind {
            // SAFETY: the pointer came from `cuMemAlloc` and was not freed.
            Kind::Plain => unsafe { context.api.mem_free(pointer) },
            Kind::Guarded(mapping) => unmap(context, &mapping),
            Kind::Variable => Ok(()),
        };
        freed.map_err(|error| Error::Backend(error.to_string()))
    }

    /// Adds a variable of a module.
    pub(crate) fn add_variable(&mut self, pointer: u64, bytes: u64) {
        self.ranges.insert(pointer, Range { bytes, kind: Kind::Variable });
    }

    /// Removes a variable whose module is unloaded.
    pub(crate) fn remove_variable(&mut self, pointer: u64) {
        self.ranges.remove(&pointer);
    }

    /// Whether the range lies in one allocation or variable.
    pub(crate) fn check(&self, at: u64, bytes: u64) -> Result<(), Error> {
        let inside =
            self.ranges.range(..=at).next_back().is_some_and(|(&start, range)| {
                at - start <= range.bytes && bytes <= range.bytes - (at - start)
            });
        match inside {
            true => Ok(()),
            false => {
                Err(Error::InvalidAddress(format!("{bytes} bytes at {at:#x} do not lie in one allocation")))
            }
        }
    }
}

/// Pinned memory of the device of this context.
fn prop(context: &Context) -> MemAllocationProp {
    MemAllocationProp {
        kind: allocation::PINNED,
        handle_types: 0,
        location: MemLocation { kind: location::DEVICE, id: context.device },
        windows: 0,
        flags: 0,
    }
}

/// Maps memory for `bytes` whose end is the end of the mapping, with unmapped addresses on both sides.
fn map(context: &Context, bytes: u64) -> Result<(u64, Kind), CallError> {
    let api = &context.api;
    let prop = prop(context);
    let mut page = 0;
    // SAFETY: the properties are valid, and the size is written; option 0 is the least granularity.
    unsafe { api.granularity(&mut page, &prop, 0) }?;
    let page = (page as u64).max(1);
    let too_large = || CallError {
        function: "cuMemCreate".into(),
        code: Status::OUT_OF_MEMORY,
        name: "CUDA_ERROR_OUT_OF_MEMORY".into(),
        text: "more bytes than there are addresses".into(),
    };
    let rounded = bytes.checked_next_multiple_of(GUARDED_ALIGN).ok_or_else(too_large)?;
    let mapped_bytes = rounded.max(1).checked_next_multiple_of(page).ok_or_else(too_large)?;
    let reserved_bytes = mapped_bytes.checked_add(2 * page).ok_or_else(too_large)?;
    let mut reserved = 0;
    // SAFETY: the size is a multiple of the granularity; the address is the driver's choice and is written.
    unsafe { api.reserve(&mut reserved, reserved_bytes as usize, 0, 0, 0) }?;
    let mapped = reserved + page;
    let mut mapping = Mapping { reserved, reserved_bytes, mapped, mapped_bytes, handle: 0 };
    let access = MemAccessDesc { location: prop.location, flags: access::READ_WRITE };
    // SAFETY: the range lies inside the reservation; sizes are multiples of the granularity; what one call
    // makes is passed to the next. After a failure nothing of it is used.
    let made = unsafe {
        api.mem_create(&mut mapping.handle, mapped_bytes as usize, &prop, 0)
            .and_then(|()| api.mem_map(mapped, mapped_bytes as usize, 0, mapping.handle, 0))
            .and_then(|()| api.mem_access(mapped, mapped_bytes as usize, &access, 1))
    };
    if let Err(error) = made {
        let _ = unmap(context, &mapping);
        return Err(error);
    }
    Ok((mapped + mapped_bytes - rounded, Kind::Guarded(mapping)))
}

/// Gives a mapping back, as far as it was made.
fn unmap(context: &Context, mapping: &Mapping) -> Result<(), CallError> {
    let api = &context.api;
    // SAFETY: the ranges are those that were reserved and mapped. Unmapping what was never mapped is an error
    // of the driver without further effect, as is releasing no handle.
    unsafe {
        let unmapped = api.mem_unmap(mapping.mapped, mapping.mapped_bytes as usize);
        let released = if mapping.handle == 0 { Ok(()) } else { api.mem_release(mapping.handle) };
        let freed = api.unreserve(mapping.reserved, mapping.reserved_bytes as usize);
        unmapped.and(released).and(freed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_to_the_byte() {
        let mut memory = Memory::default();
        memory.add_variable(0x1000, 16);
        memory.add_variable(0x2000, 0);
        for (at, bytes, inside) in [
            (0x1000, 16, true),
            (0x100f, 1, true),
            (0x1010, 0, true),
            (0x1010, 1, false),
            (0x100f, 2, false),
            (0xfff, 1, false),
            (0x2000, 0, true),
            (0x2000, 1, false),
            (0x1008, u64::MAX, false),
        ] {
            assert_eq!(memory.check(at, bytes).is_ok(), inside, "{bytes} at {at:#x}");
        }
        memory.remove_variable(0x1000);
        assert!(memory.check(0x1000, 1).is_err());
    }
}
