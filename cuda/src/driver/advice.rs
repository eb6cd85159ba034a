//! What programs say about managed memory, which changes no result: it reads back, page by page.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use cuda_abi::driver::MemLocation;
use runtime::{Context, Kind, Operation, Result, Status};

use crate::ffi::{Handle, NullStream, put};
use crate::state::{self, healthy};

/// Bytes that are advised of at least.
const PAGE: u64 = 4096;
/// `CU_DEVICE_INVALID`: no place in particular.
const NOWHERE: i32 = -2;
/// `CU_DEVICE_CPU`
const HOST: i32 = -1;

/// What was said of pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Advice {
    read_mostly: bool,
    preferred: Option<MemLocation>,
    accessed_by: BTreeSet<i32>,
    prefetched: Option<MemLocation>,
}

/// By the first address of pages, to the next entry; by the first address of the allocation.
type Said = HashMap<u64, BTreeMap<u64, Advice>>;

static SAID: Mutex<Option<Said>> = Mutex::new(None);

fn said<T>(body: impl FnOnce(&mut Said) -> T) -> T {
    body(SAID.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(HashMap::new))
}

/// Forgets an allocation that is gone.
pub(crate) fn forget(base: u64) {
    said(|said| drop(said.remove(&base)));
}

/// The pages that a range touches.
fn pages(address: u64, bytes: usize) -> (u64, u64) {
    (address / PAGE * PAGE, (address + bytes as u64).next_multiple_of(PAGE))
}

/// Changes what is said of the pages of a range.
fn change(base: u64, address: u64, bytes: usize, change: impl Fn(&mut Advice)) {
    let (start, end) = pages(address, bytes);
    said(|said| {
        let pages = said.entry(base).or_insert_with(|| BTreeMap::from([(0, Advice::default())]));
        for edge in [start, end] {
            let before = pages.range(..=edge).next_back().map(|(_, advice)| advice.clone());
            pages.insert(edge, before.unwrap_or_default());
        }
        pages.range_mut(start..end).for_each(|(_, advice)| change(advice));
        let mut last = None;
        pages.retain(|_, advice| last.replace(advice.clone()).as_ref() != Some(advice));
    });
}

/// What is said of the pages of a range, one after the other.
fn look(base: u64, address: u64, bytes: usize) -> Vec<Advice> {
    let (start, end) = pages(address, bytes);
    said(|said| {
        let Some(pages) = said.get(&base) else { return vec![Advice::default()] };
        let first = pages.range(..=start).next_back().map(|(_, advice)| advice.clone());
        let others = pages.range(start + 1..end).map(|(_, advice)| advice.clone());
        std::iter::once(first.unwrap_or_default()).chain(others).collect()
    })
}

/// The managed allocation that holds a range.
pub(crate) fn managed(context: &Context, address: u64, bytes: usize) -> Result<runtime::Allocation> {
    let found = context.device.memory.range(address, bytes as u64)?;
    if found.kind != Kind::Managed || bytes == 0 { Err(Status::INVALID_VALUE) } else { Ok(found) }
}

/// A location as the older interface has it: a device, or -1 for the host.
pub(crate) fn location(device: i32) -> MemLocation {
    if device == HOST { MemLocation { kind: 2, id: 0 } } else { MemLocation { kind: 1, id: device } }
}

/// A location that is there: a device, the host, or its memory node.
pub(crate) fn place(location: MemLocation) -> Result<MemLocation> {
    match (location.kind, location.id) {
        (1, id) => state::device(id).map(|_| location),
        (2, _) => Ok(MemLocation { kind: 2, id: HOST }),
        (3, 0) | (4, _) => Ok(MemLocation { kind: 3, id: 0 }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The number of a place: a device, or -1 for the host.
fn number_of(place: MemLocation) -> i32 {
    if place.kind == 1 { place.id } else { HOST }
}

/// Where most pages of a range of an allocation lie: where the last prefetch brought them, else with the host.
pub(crate) fn lies(base: u64, address: u64, bytes: usize) -> MemLocation {
    let (start, end) = pages(address, bytes);
    let mut sizes: BTreeMap<i32, u64> = BTreeMap::new();
    said(|said| {
        let pages = said.get(&base);
        let first = pages.and_then(|pages| pages.range(..=start).next_back()).map(|(_, advice)| advice);
        let others = pages.into_iter().flat_map(|pages| pages.range(start + 1..end));
        let mut here = (start, first);
        for next in others.map(|(&at, advice)| (at, Some(advice))).chain([(end, None)]) {
            let place = here.1.and_then(|advice| advice.prefetched).map_or(HOST, number_of);
            *sizes.entry(place).or_default() += next.0 - here.0;
            here = next;
        }
    });
    location(sizes.into_iter().max_by_key(|&(_, bytes)| bytes).map_or(HOST, |(place, _)| place))
}

pub(crate) fn advise(address: u64, bytes: usize, number: u32, location: MemLocation) -> Result {
    let context = healthy()?;
    let found = managed(&context, address, bytes)?;
    let base = found.base;
    match number {
        1 | 2 => change(base, address, bytes, |advice| advice.read_mostly = number == 1),
        3 => {
            // Memory nodes of the host are taken, and count for nothing.
            let preferred = Some(place(location)?).filter(|place| place.kind != 3);
            change(base, address, bytes, |advice| advice.preferred = preferred);
        }
        4 => change(base, address, bytes, |advice| advice.preferred = None),
        5 | 6 => {
            let by = place(location).ok().filter(|place| place.kind != 3).ok_or(Status::INVALID_VALUE)?;
            let by = number_of(by);
            change(base, address, bytes, |advice| {
                if number == 5 {
                    advice.accessed_by.insert(by)
                } else {
                    advice.accessed_by.remove(&by)
                };
            });
        }
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}

/// Says where a range of an allocation was brought last.
pub(crate) fn prefetched(base: u64, address: u64, bytes: usize, to: MemLocation) {
    change(base, address, bytes, |advice| advice.prefetched = Some(to));
}

pub(crate) fn prefetch(
    stream: Handle,
    null: NullStream,
    address: u64,
    bytes: usize,
    to: MemLocation,
    flags: u32,
) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    stream.refuse_in_own_capture()?;
    let found = managed(&context, address, bytes)?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    prefetched(found.base, address, bytes, place(to)?);
    context.enqueue(&stream, Operation::Empty)
}

/// What all pages of a range have in common.
///
/// # Safety
/// `data` is null or has room for `size` bytes.
pub(crate) unsafe fn range_attribute(
    data: *mut i32,
    size: usize,
    number: u32,
    address: u64,
    bytes: usize,
) -> Result {
    let context = healthy()?;
    let found = managed(&context, address, bytes)?;
    let pages = look(found.base, address, bytes);
    let common = |of: fn(&Advice) -> Option<MemLocation>| {
        let first = of(&pages[0]);
        first.filter(|_| pages.iter().all(|advice| of(advice) == first))
    };
    let preferred = common(|advice| advice.preferred);
    let prefetched = common(|advice| advice.prefetched);
    let kind = |place: Option<MemLocation>| place.map_or(0, |place| place.kind as i32);
    let id = |place: Option<MemLocation>| place.map_or(NOWHERE, |place| place.id);
    let values = match number {
        1 => vec![pages.iter().all(|advice| advice.read_mostly).into()],
        2 => vec![preferred.map_or(NOWHERE, number_of)],
        3 => {
            // Devices in order, then the host.
            let all = |by: &&i32| pages.iter().all(|advice| advice.accessed_by.contains(by));
            let mut by: Vec<i32> = pages[0].accessed_by.iter().filter(all).copied().collect();
            by.sort_unstable_by_key(|&by| by as u32);
            by.resize(by.len().max(size / 4), NOWHERE);
            by.truncate(size / 4);
            by
        }
        4 => vec![prefetched.map_or(NOWHERE, number_of)],
        5 => vec![kind(preferred)],
        6 => vec![id(preferred)],
        7 => vec![kind(prefetched)],
        8 => vec![id(prefetched)],
        _ => return Err(Status::INVALID_VALUE),
    };
    if size < 4 || size != 4 * values.len() {
        return Err(Status::INVALID_VALUE);
    }
    for (at, value) in values.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { put(data.wrapping_add(at), value) }?;
    }
    Ok(())
}
