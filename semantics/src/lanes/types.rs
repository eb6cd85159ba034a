//! How register lanes are read and written as Rust values.

use super::{Row, WARP_SIZE};

/// A type that register lanes are read and written as. `()` stands for an absent operand.
pub trait Lane: Copy + Default {
    /// The word of the row it is stored in.
    type Word: Copy;
    /// Rows a register of this type takes.
    const ROWS: u32;
    /// Reads a lane; bits above a narrow type are ignored.
    fn from_word(word: Self::Word) -> Self;
    /// Writes a lane; narrow types are extended by their signedness.
    fn to_word(self) -> Self::Word;
}

macro_rules! lane {
    ($($ty:ty: $word:ty, $rows:literal, $from:expr, $to:expr;)*) => {$(
        impl Lane for $ty {
            type Word = $word;
            const ROWS: u32 = $rows;
            #[inline(always)]
            fn from_word(word: $word) -> Self {
                let from: fn($word) -> $ty = $from;
                from(word)
            }
            #[inline(always)]
            fn to_word(self) -> $word {
                let to: fn($ty) -> $word = $to;
                to(self)
            }
        }
    )*};
}

lane! {
    (): (), 0, |()| (), |()| ();
    u8: u32, 1, |w| w as u8, |v| v as u32;
    i8: u32, 1, |w| w as i8, |v| v as u32;
    u16: u32, 1, |w| w as u16, |v| v as u32;
    i16: u32, 1, |w| w as i16, |v| v as u32;
    u32: u32, 1, |w| w, |v| v;
    i32: u32, 1, |w| w as i32, |v| v as u32;
    u64: u64, 2, |w| w, |v| v;
    i64: u64, 2, |w| w as i64, |v| v as u64;
    u128: u128, 4, |w| w, |v| v;
}

const _: () = assert!(size_of::<Row>() == 4 * WARP_SIZE);
