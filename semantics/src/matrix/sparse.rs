//! Metadata of a sparse A (manual 9.7.14.6.1, 9.7.15.6.1).

use crate::lanes::WARP_SIZE;

/// How the metadata of 16 rows of A lie in the registers of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Elements of A in a register.
    pub per: u16,
    /// Elements of a row that are kept.
    pub kept: usize,
    /// Which lanes of each four have them, where not all have.
    pub selector: u8,
}

impl Selection {
    /// Where the kept elements of a row lie in K.
    #[inline(always)]
    pub fn of_row(self, metadata: &[u32; WARP_SIZE], row: usize, to: &mut [u16]) {
        let (group, half) = (row & 7, row >> 3);
        let Selection { per, kept, selector } = self;
        // Elements that an index counts in: pairs of four bits.
        let unit = if per == 8 { 2 } else { 1 };
        // Elements kept of a chunk, in units; elements of a chunk, in units.
        let (keeps, chunk) = if per == 1 { (1, 2) } else { (2, 4) };
        let chunks = kept / unit / keeps;
        // Threads of a group of four that hold metadata: 16 chunks of 4 bits need two of them.
        let threads = (chunks * 2 / 8).max(1);
        for at in 0..chunks {
            let (thread, nibble) =
                if per >= 4 { (half | at >> 3 << 1, at & 7) } else { (at >> 2, at & 3 | half << 2) };
            let lane = group * 4 + (thread + usize::from(selector) * threads) % 4;
            let bits = metadata[lane] >> (nibble * 4);
            for keep in 0..keeps {
                // One of two is named by the pair of halves that it is made of: 0b0100 or 0b1110.
                let index = if keeps == 1 { bits >> 1 & 1 } else { bits >> (2 * keep) & 3 };
                for part in 0..unit {
                    let k = (at * chunk + index as usize) * unit + part;
                    if let Some(to) = to.get_mut((at * keeps + keep) * unit + part) {
                        *to = k as u16;
                    }
                }
            }
        }
    }
}
