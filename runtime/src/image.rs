//! Device images: PTX text, fatbins and their entries, and the choice between them.
//!
//! # Formats
//! A fatbin is a header (magic `0xBA55ED50`, version, header size, size of the rest) and entries. An entry
//! has a kind (1 PTX, 2 cubin), header and payload sizes, the compressed size (0: not compressed), the
//! architecture, flags and the uncompressed size.

use std::io::Read;

use cuda_abi::{Result, Status};

/// Magic number of a fatbin.
pub const FATBIN: u32 = 0xba55_ed50;
/// Magic number of the wrapper around a fatbin's address.
pub const WRAPPER: u32 = 0x4662_43b1;

/// A PTX text in an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ptx {
    /// The architecture it is for: 90 for `compute_90`.
    pub sm: u32,
    /// `compute_90a`: for this architecture only.
    pub exact: bool,
    /// The text.
    pub text: Vec<u8>,
}

const PTX: u16 = 1;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ARCH: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;
/// Largest text that is unpacked.
const MOST: u64 = 1 << 30;

fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<u64> {
    let field = at.checked_add(N).and_then(|end| bytes.get(at..end)).ok_or(Status::INVALID_IMAGE)?;
    Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Bytes of a fatbin with its header, from its first 16 bytes.
///
/// # Errors
/// `INVALID_IMAGE` if it is none.
pub fn fatbin_size(header: &[u8]) -> Result<usize> {
    if number::<4>(header, 0)? != u64::from(FATBIN) {
        return Err(Status::INVALID_IMAGE);
    }
    let size = number::<2>(header, 6)?.checked_add(number::<8>(header, 8)?);
    size.filter(|&size| size < 1 << 40).map(|size| size as usize).ok_or(Status::INVALID_IMAGE)
}

/// The PTX texts of a fatbin, not unpacked yet.
///
/// # Errors
/// `INVALID_IMAGE` if the bytes are no fatbin, or damaged.
pub fn fatbin(bytes: &[u8]) -> Result<Vec<Packed<'_>>> {
    let end = fatbin_size(bytes)?.min(bytes.len());
    let mut at = number::<2>(bytes, 6)? as usize;
    let mut texts = Vec::new();
    while at + 64 <= end {
        let kind = number::<2>(bytes, at)? as u16;
        let header = number::<4>(bytes, at + 4)? as usize;
        let size = number::<8>(bytes, at + 8)?;
        let size = usize::try_from(size).map_err(|_| Status::INVALID_IMAGE)?;
        let start = at.checked_add(header).ok_or(Status::INVALID_IMAGE)?;
        let stop = start.checked_add(size).ok_or(Status::INVALID_IMAGE)?;
        let payload = bytes.get(start..stop).ok_or(Status::INVALID_IMAGE)?;
        if header < 64 {
            return Err(Status::INVALID_IMAGE);
        }
        if kind == PTX {
            texts.push(Packed {
                sm: number::<4>(bytes, at + 28)? as u32,
                flags: number::<8>(bytes, at + 40)?,
                compressed: number::<4>(bytes, at + 16)? as usize,
                size: number::<8>(bytes, at + 56)?,
                payload,
            });
        }
        at = stop;
    }
    Ok(texts)
}

/// A PTX text in a fatbin.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// The architecture it is for.
    pub sm: u32,
    flags: u64,
    compressed: usize,
    size: u64,
    payload: &'a [u8],
}

impl Packed<'_> {
    /// Whether it is for exactly one architecture or its family.
    pub fn is_exact(&self) -> bool {
        self.flags & (FLAG_ARCH | FLAG_FAMILY) != 0
    }

    /// The text.
    ///
    /// # Errors
    /// `INVALID_IMAGE` if it cannot be unpacked.
    pub fn unpack(&self) -> Result<Ptx> {
        let bad = Status::INVALID_IMAGE;
        if self.size > MOST {
            return Err(bad);
        }
        let packed = match self.compressed {
            0 => self.payload,
            size => self.payload.get(..size).ok_or(bad)?,
        };
        let mut text = if self.flags & FLAG_ZSTD != 0 {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|_| bad)?;
            let mut text = Vec::new();
            decoder.take(MOST).read_to_end(&mut text).map_err(|_| bad)?;
            text
        } else if self.flags & FLAG_LZ4 != 0 {
            lz4_flex::block::decompress(packed, self.size as usize).map_err(|_| bad)?
        } else {
            packed.to_vec()
        };
        if let Some(end) = text.iter().position(|&byte| byte == 0) {
            text.truncate(end);
        }
        Ok(Ptx { sm: self.sm, exact: self.is_exact(), text })
    }
}

/// The best text for a device: exactly its architecture first, else the highest that is not above.
///
/// # Errors
/// `NO_BINARY_FOR_GPU` if there is none, `INVALID_IMAGE` if it cannot be unpacked.
pub fn choose(texts: &[Packed<'_>], sm: u16) -> Result<Ptx> {
    let sm = u32::from(sm);
    let fits = |text: &&Packed<'_>| if text.is_exact() { text.sm == sm } else { text.sm <= sm };
    let best = texts.iter().filter(fits).max_by_key(|text| (text.is_exact(), text.sm));
    best.ok_or(Status::NO_BINARY_FOR_GPU)?.unpack()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, sm: u32, flags: u64, payload: &[u8], size: usize) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[0..2].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&64u32.to_le_bytes());
        bytes[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        let compressed = if flags & (FLAG_LZ4 | FLAG_ZSTD) != 0 { payload.len() } else { 0 };
        bytes[16..20].copy_from_slice(&(compressed as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&sm.to_le_bytes());
        bytes[40..48].copy_from_slice(&flags.to_le_bytes());
        bytes[56..64].copy_from_slice(&(size as u64).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    fn image(entries: &[Vec<u8>]) -> Vec<u8> {
        let rest = entries.concat();
        let mut bytes = FATBIN.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((rest.len() as u64).to_le_bytes());
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn the_best_text_is_chosen_and_unpacked() {
        let packed = lz4_flex::block::compress(b"of 80\0");
        let image = image(&[
            entry(2, 90, 0, b"cubin", 0),
            entry(1, 80, FLAG_LZ4, &packed, 6),
            entry(1, 75, 0, b"of 75\0", 0),
            entry(1, 100, 0, b"of 100", 0),
            entry(1, 86, FLAG_ARCH, b"of 86a", 0),
        ]);
        let texts = fatbin(&image).unwrap();
        assert_eq!(choose(&texts, 90).unwrap().text, b"of 80");
        assert_eq!(choose(&texts, 86).unwrap().text, b"of 86a");
        assert_eq!(choose(&texts, 79).unwrap().text, b"of 75");
        assert_eq!(choose(&texts, 70), Err(Status::NO_BINARY_FOR_GPU));
    }

    #[test]
    fn damaged_images_are_refused() {
        let good = image(&[entry(1, 80, FLAG_ZSTD, b"not zstd", 8), entry(1, 70, 0, b"x", 0)]);
        assert_eq!(choose(&fatbin(&good).unwrap(), 90), Err(Status::INVALID_IMAGE));
        for cut in 0..good.len() {
            // No length makes it panic.
            let _ = fatbin(&good[..cut]).map(|texts| choose(&texts, 90));
        }
        let mut long = good.clone();
        long[16 + 8..16 + 16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(fatbin(&long).unwrap_err(), Status::INVALID_IMAGE);
    }
}
