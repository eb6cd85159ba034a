//! `cudaDeviceProp` in its three layouts.

use runtime::{Device, Result, attributes};

use crate::driver::device::uuid;

/// Which fields the structure has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// `cudaGetDeviceProperties` before 12.0.
    Cuda11,
    /// `cudaGetDeviceProperties_v2` of 12.
    Cuda12,
    /// Of 13, which has fewer.
    Cuda13,
}

/// A field by the attributes that it holds.
enum Field {
    /// `int`s.
    Int(&'static [i32]),
    /// A `size_t`.
    Size(i32),
    /// The same in kilobytes that attribute numbers lack: the device's memory.
    Memory,
    /// An `int` that only 11 and 12 have.
    Old(i32),
}

use Field::{Int, Memory, Old, Size};

/// The fields after name, UUID and LUID, in order.
const FIELDS: &[Field] = &[
    Memory,
    Size(8),
    Int(&[12, 10]),
    Size(11),
    Int(&[1, 2, 3, 4, 5, 6, 7]),
    Old(13),
    Size(9),
    Int(&[75, 76]),
    Size(14),
    Size(51),
    Old(15),
    Int(&[16]),
    Old(17),
    Int(&[18, 19]),
    Old(20),
    Int(&[21, 77]),
    // Textures of one dimension in linear memory.
    Old(69),
    Int(&[22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53, 54]),
    Int(&[55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68]),
    Size(30),
    Int(&[31, 32, 33, 34, 50, 35, 40, 41]),
    Old(36),
    Int(&[37, 38, 108, 39, 78, 79, 80]),
    Size(81),
    Int(&[82, 83, 84, 85, 86]),
    Old(87),
    Int(&[88, 89, 90, 91, 95]),
    // Cooperative launch over several devices.
    Old(96),
    Size(97),
    Int(&[100, 101, 106, 109]),
    Size(111),
];

/// What 12 has on top, and 13 with some more.
const NEWER: &[i32] = &[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129];
const NEWEST: &[i32] = &[130, 131, 133, 134, 139, 140, 143];

/// The bytes of the structure.
pub(crate) fn of(device: &Device, layout: Layout) -> Result<Vec<u8>> {
    let config = device.simulator.config();
    let value = |number: i32| attributes::attribute(config, device.index, number);
    let mut bytes = vec![0u8; 256];
    let name = config.name.as_bytes();
    let length = name.len().min(255);
    bytes[..length].copy_from_slice(&name[..length]);
    bytes.extend(uuid(device.index));
    // LUID and its mask belong to Windows.
    bytes.extend([0; 12]);
    let size = |bytes: &mut Vec<u8>, value: u64| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(value.to_le_bytes());
    };
    for field in FIELDS {
        match field {
            Memory => size(&mut bytes, config.global_memory),
            Size(number) => size(&mut bytes, value(*number)? as u64),
            Int(numbers) => {
                for &number in *numbers {
                    bytes.extend(value(number)?.to_le_bytes());
                }
            }
            Old(number) if layout != Layout::Cuda13 => bytes.extend(value(*number)?.to_le_bytes()),
            Old(_) => {}
        }
    }
    let (newer, total): (&[&[i32]], usize) = match layout {
        Layout::Cuda11 => (&[], 728),
        Layout::Cuda12 => (&[NEWER], 1032),
        Layout::Cuda13 => (&[NEWER, NEWEST], 1008),
    };
    for &number in newer.iter().copied().flatten() {
        bytes.extend(value(number)?.to_le_bytes());
    }
    bytes.resize(total, 0);
    Ok(bytes)
}
