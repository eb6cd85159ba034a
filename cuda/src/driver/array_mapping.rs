//! Memory behind sparse arrays and those that wait for it.

use std::sync::Arc;

use cuda_abi::driver::{ArrayMapInfo, ArraySubresource};
use runtime::virtual_memory::Physical;
use runtime::{Array, Backing, Mapping, MipmappedArray, Operation, Region, Status, TileMemory};

use crate::ffi::{Handle, list};
use crate::object;
use crate::state;

/// `CU_RESOURCE_TYPE_ARRAY`, `CU_RESOURCE_TYPE_MIPMAPPED_ARRAY`
const ARRAY: u32 = 0;
const MIPMAPPED_ARRAY: u32 = 1;
/// `CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL`, `CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL`
const LEVEL: u32 = 0;
const TAIL: u32 = 1;
/// `CU_MEM_OPERATION_TYPE_MAP`, `CU_MEM_OPERATION_TYPE_UNMAP`
const MAP: u32 = 1;
const UNMAP: u32 = 2;
/// `CU_MEM_HANDLE_TYPE_GENERIC`
const GENERIC: u32 = 0;

fn backing_of(info: &ArrayMapInfo) -> Option<Arc<Backing>> {
    match info.resource_type {
        ARRAY => object::find::<Arc<Array>>(info.resource).ok()?.backing().cloned(),
        MIPMAPPED_ARRAY => object::find::<Arc<MipmappedArray>>(info.resource).ok()?.backing().cloned(),
        _ => None,
    }
}

fn region_of(kind: u32, ArraySubresource(words): ArraySubresource) -> Option<Region> {
    let [level, layer, x, y, z, width, height, depth] = words;
    let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    match kind {
        LEVEL => Some(Region::Level { level, layer, offset: [x, y, z], extent: [width, height, depth] }),
        TAIL => Some(Region::Tail { layer: level, offset: wide(x, y), bytes: wide(z, width) }),
        _ => None,
    }
}

/// The memory that is to be behind an array: of a pool of tiles.
fn pool(handle: Handle) -> Option<Arc<dyn TileMemory>> {
    let found = object::find::<Arc<Physical>>(handle).ok()?;
    if found.is_tile_pool { Some(found) } else { None }
}

fn mapping(info: &ArrayMapInfo) -> Option<Mapping> {
    let backing = backing_of(info)?;
    let region = region_of(info.subresource_type, info.subresource)?;
    // Each device has arrays of its own.
    let fits =
        info.device_mask != 0 && info.flags == 0 && info.reserved == [0; 2] && info.handle_type == GENERIC;
    let behind = match info.operation {
        _ if !fits => return None,
        MAP => Some((pool(info.handle)?, info.offset)),
        UNMAP => None,
        _ => return None,
    };
    backing.map(region, behind).ok()
}

stream_api! {
    fn cuMemMapArrayAsync | cuMemMapArrayAsync_ptsz (null; infos: *mut ArrayMapInfo, count: u32, stream: Handle) {
        let (context, stream) = state::stream(stream, null)?;
        context.check()?;
        stream.refuse_in_own_capture()?;
        if infos.is_null() || count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        // All of them or none.
        let mappings: Option<Vec<Mapping>> = list(infos.cast_const(), count as usize)?.iter().map(mapping).collect();
        for mapping in mappings.ok_or(Status::INVALID_VALUE)? {
            context.enqueue(&stream, Operation::Map(Arc::new(mapping)))?;
        }
        Ok(())
    }
}
