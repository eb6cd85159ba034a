//! The 128 bytes of a tensor map.

use super::map::{ElementType, Interleave, Mode, RANK, Swizzle, TensorMap};

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;

/// What tells a map from other bytes.
const MAGIC: [u8; 4] = *b"WGTM";

struct Writer {
    bytes: [u8; TENSOR_MAP_BYTES],
    at: usize,
}

impl Writer {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&bytes);
        self.at += N;
    }
}

struct Reader<'a> {
    bytes: &'a [u8; TENSOR_MAP_BYTES],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let bytes = std::array::from_fn(|at| self.bytes[self.at + at]);
        self.at += N;
        bytes
    }

    fn byte(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }
}

impl TensorMap {
    /// The bytes that a kernel gets.
    pub fn to_bytes(&self) -> [u8; TENSOR_MAP_BYTES] {
        let mut to = Writer { bytes: [0; TENSOR_MAP_BYTES], at: 0 };
        let number = |found: Option<usize>| found.unwrap_or_default() as u8;
        to.put(self.address.to_le_bytes());
        to.put([number(ElementType::ALL.iter().position(|&element| element == self.element))]);
        to.put([self.rank as u8]);
        // CUTLASS clears bit 21 of the second word of eight bytes in what the driver made, where an old driver set it in
        // error: it lies in this byte, which does not use it.
        to.put([number(Interleave::ALL.iter().position(|&interleave| interleave == self.interleave))]);
        to.put([number(Swizzle::ALL.iter().position(|&swizzle| swizzle == self.swizzle))]);
        to.put(MAGIC);
        // One less: a dimension of 2^32 is possible, none of 0.
        self.extents.iter().for_each(|&extent| to.put((extent.wrapping_sub(1) as u32).to_le_bytes()));
        self.strides.iter().for_each(|&stride| to.put(stride.to_le_bytes()));
        self.steps.iter().for_each(|&step| to.put([step as u8]));
        to.put([u8::from(self.fill_nan)]);
        match self.mode {
            Mode::Tiled { extents } => {
                to.put([0]);
                extents.iter().for_each(|&extent| to.put((extent as u16).to_le_bytes()));
            }
            Mode::Im2col { lower, upper, channels, pixels } => {
                to.put([1]);
                lower.iter().chain(&upper).for_each(|&corner| to.put((corner as i16).to_le_bytes()));
                to.put((channels as u16).to_le_bytes());
                to.put((pixels as u16).to_le_bytes());
            }
        }
        to.bytes
    }

    /// Changes the address in bytes, whatever else they are.
    pub fn move_to(bytes: &mut [u8; TENSOR_MAP_BYTES], address: u64) {
        bytes[..size_of::<u64>()].copy_from_slice(&address.to_le_bytes());
    }

    /// The map that these bytes are; `None` if they are none.
    pub fn from_bytes(bytes: &[u8; TENSOR_MAP_BYTES]) -> Option<TensorMap> {
        let mut from = Reader { bytes, at: 0 };
        let address = u64::from_le_bytes(from.take());
        let element = *ElementType::ALL.get(usize::from(from.byte()))?;
        let rank = u32::from(from.byte());
        let interleave = *Interleave::ALL.get(usize::from(from.byte()))?;
        let swizzle = *Swizzle::ALL.get(usize::from(from.byte()))?;
        if from.take() != MAGIC {
            return None;
        }
        let extents = std::array::from_fn(|_| u64::from(u32::from_le_bytes(from.take())) + 1);
        let strides = std::array::from_fn(|_| u64::from_le_bytes(from.take()));
        let steps = std::array::from_fn(|_| u32::from(from.byte()));
        let fill_nan = from.byte() != 0;
        let mode = match from.byte() {
            0 => Mode::Tiled { extents: std::array::from_fn(|_| u16::from_le_bytes(from.take()).into()) },
            _ => Mode::Im2col {
                lower: std::array::from_fn(|_| i16::from_le_bytes(from.take()).into()),
                upper: std::array::from_fn(|_| i16::from_le_bytes(from.take()).into()),
                channels: u16::from_le_bytes(from.take()).into(),
                pixels: u16::from_le_bytes(from.take()).into(),
            },
        };
        let sound = (1..=RANK as u32).contains(&rank);
        sound.then_some(TensorMap {
            element,
            rank,
            address,
            extents,
            strides,
            mode,
            steps,
            interleave,
            swizzle,
            fill_nan,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_moves() {
        let map = |address| TensorMap::tiled(ElementType::F16, address, &[64], &[], &[8]);
        let mut bytes = map(0x1000).to_bytes();
        TensorMap::move_to(&mut bytes, 0x2010);
        assert_eq!(TensorMap::from_bytes(&bytes), Some(map(0x2010)));
    }

    #[test]
    fn a_bit_that_cutlass_clears_is_none_of_ours() {
        let mut map =
            TensorMap::tiled(ElementType::F16, !0xf, &[1 << 32, 1 << 32], &[0xff_ffff_fff0], &[8, 8]);
        map.swizzle = Swizzle::ALL[Swizzle::ALL.len() - 1];
        map.interleave = Interleave::ALL[Interleave::ALL.len() - 1];
        let mut bytes = map.to_bytes();
        bytes[10] &= !(1 << 5);
        assert_eq!(TensorMap::from_bytes(&bytes), Some(map));
    }
}
