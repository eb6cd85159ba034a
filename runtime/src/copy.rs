//! Copies and fills of one, two or three dimensions between host and device.

use std::sync::Arc;

use cuda_abi::{Result, Status};
use sim_core::{Backend, Simulator};

use crate::area::{Area, Place};
use crate::host::Host;
use crate::tree::Device;

/// A copy of `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copy {
    /// Source.
    pub from: Area,
    /// Destination.
    pub to: Area,
    /// Bytes a row.
    pub width: u64,
    /// Rows a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

/// A fill of `height` rows with a repeated value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// First byte.
    pub to: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// The value.
    pub value: u32,
    /// Bytes of the value: 1, 2 or 4.
    pub element: u32,
    /// Elements a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// Bytes moved at once between two devices, and within the host.
const CHUNK: usize = 256 << 10;

impl Copy {
    /// A copy of so many bytes.
    pub fn linear(to: Place, from: Place, bytes: u64) -> Copy {
        let area = |place| Area { place, pitch: bytes, slice: bytes };
        Copy { from: area(from), to: area(to), width: bytes, height: 1, depth: 1 }
    }

    /// Bytes that it moves.
    pub fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    /// Bytes from the first to the last one that it writes.
    pub(crate) fn target_bytes(&self) -> u64 {
        let slices = self.depth.saturating_sub(1).saturating_mul(self.to.slice);
        let rows = self.height.saturating_sub(1).saturating_mul(self.to.pitch);
        slices.saturating_add(rows).saturating_add(self.width)
    }

    /// Rows as (offset in the source, offset in the destination, bytes), joined where both sides go on.
    fn rows(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let rows_join = self.from.pitch == self.width && self.to.pitch == self.width;
        let (width, height) =
            if rows_join { (self.width.saturating_mul(self.height), 1) } else { (self.width, self.height) };
        (0..self.depth).flat_map(move |z| {
            (0..height).map(move |y| {
                (z * self.from.slice + y * self.from.pitch, z * self.to.slice + y * self.to.pitch, width)
            })
        })
    }

    /// Moves the bytes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if device memory of either side is not there (any more).
    pub fn execute(&self, device: &Arc<Device>, host: &dyn Host) -> Result {
        if self.bytes() == 0 {
            return Ok(());
        }
        // Another device's memory is reached through the host.
        let owner = |place: &Place| match place {
            Place::Device(address) => device.owner(*address).unwrap_or_else(|| device.clone()),
            _ => device.clone(),
        };
        let (from_device, to_device) = (owner(&self.from.place), owner(&self.to.place));
        let (reads, writes) = (&from_device.simulator, &to_device.simulator);
        let mut buffer = Vec::new();
        for (from, to, bytes) in self.rows() {
            let size = usize::try_from(bytes).map_err(|_| Status::INVALID_VALUE)?;
            let mut result = Ok(());
            match (&self.from.place, &self.to.place) {
                (Place::Device(source), Place::Device(target)) => {
                    if Arc::ptr_eq(&from_device, &to_device) {
                        writes.copy(target + to, source + from, bytes)?;
                        continue;
                    }
                    buffer.resize(size.min(CHUNK), 0);
                    let mut done = 0;
                    while done < bytes {
                        let piece = &mut buffer[..((bytes - done) as usize).min(CHUNK)];
                        reads.read(source + from + done, piece)?;
                        writes.write(target + to + done, piece)?;
                        done += piece.len() as u64;
                    }
                }
                (Place::Device(source), Place::Host(target)) => {
                    host.write(target + to, size, &mut |bytes| result = reads.read(source + from, bytes));
                }
                (Place::Host(source), Place::Device(target)) => {
                    host.read(source + from, size, &mut |bytes| result = writes.write(target + to, bytes));
                }
                (Place::Bytes(source), Place::Device(target)) => {
                    let bytes = source.get(from as usize..from as usize + size);
                    result = writes.write(target + to, bytes.ok_or(Status::INVALID_VALUE)?);
                }
                (Place::Host(source), Place::Host(target)) => {
                    let (source, target) = (source + from, target + to);
                    let pieces = size.div_ceil(CHUNK);
                    for number in 0..pieces {
                        // Both may overlap: from the end on that the target does not begin with.
                        let number = if source < target { pieces - 1 - number } else { number };
                        let at = number * CHUNK;
                        let piece = (size - at).min(CHUNK);
                        buffer.clear();
                        host.read(source.wrapping_add(at as u64), piece, &mut |from| {
                            buffer.extend_from_slice(from)
                        });
                        host.write(target.wrapping_add(at as u64), piece, &mut |to| {
                            to.copy_from_slice(&buffer)
                        });
                    }
                }
                (Place::Bytes(source), Place::Host(target)) => {
                    let bytes = source.get(from as usize..from as usize + size);
                    let bytes = bytes.ok_or(Status::INVALID_VALUE)?;
                    host.write(target + to, size, &mut |to| to.copy_from_slice(bytes));
                }
                (_, Place::Bytes(_)) => return Err(Status::INVALID_VALUE),
            }
            result?;
        }
        Ok(())
    }
}

impl Fill {
    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        self.width.saturating_mul(u64::from(self.element))
    }

    /// Bytes from the first to the last one that it writes.
    pub fn bytes(&self) -> u64 {
        self.height.saturating_sub(1).saturating_mul(self.pitch).saturating_add(self.row_bytes())
    }

    /// Writes the value.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the memory is not there (any more).
    pub fn execute(&self, simulator: &Simulator) -> Result {
        let value = self.value.to_le_bytes();
        let pattern = value.get(..self.element as usize).ok_or(Status::INVALID_VALUE)?;
        for row in 0..self.height {
            simulator.fill(self.to + row * self.pitch, self.row_bytes(), pattern)?;
        }
        Ok(())
    }
}
