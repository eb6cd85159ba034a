//! What NVIDIA's compiler is known to make of an instruction beside what the manual says, in words.

/// A rewrite of one instruction by its compiler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rewrite {
    /// A store of fewer bits than the register has, right after a floating-point instruction wrote it, stores a
    /// conversion to an integer of that size: at every level.
    ConvertedStore,
    /// A 64-bit shift by a register, right after a floating-point instruction of 32 bits wrote it, shifts by its
    /// conversion to a 64-bit integer: at every level.
    ConvertedAmount,
    /// An address without an offset in a register, right after a floating-point instruction wrote it, is its
    /// conversion to a 32-bit integer: at every level. The upper half of one of 64 bits is what the stack's register
    /// holds, which is not followed.
    ConvertedAddress,
    /// A guarded `set` that gives a float leaves, where the guard is false, the absolute value of the register's bits as
    /// an integer, converted to the float: at every level.
    GuardedSet,
    /// A guarded `testp` ignores the guard: at every level.
    GuardedTest,
    /// `bfe.s32` at a constant position above 31 gives -1.
    Extract,
    /// `bfi.b32` at a constant position from 1 to 31 inserts a constant number of bits modulo 32.
    Insert,
    /// `slct` of `.s32` by an `.s32` constant looks at the sign of the constant as an f32.
    Select,
    /// The high half of a product that is added again and again (`mad.hi`, or `mul.hi` and `add`) is added too seldom:
    /// how often depends on how a loop is unrolled. It is not followed.
    Accumulation,
    /// `cvt.u32.u16` of what `set` gave as an `f16` or `bf16` is left out: the upper half is what the register happens to
    /// hold, zero or not. It is not followed.
    Widened,
}

impl Rewrite {
    /// What the compiler makes of the instruction, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::ConvertedStore => {
                "ptxas stores the floating-point value converted to an integer of that size, not its low bits"
            }
            Self::ConvertedAmount => {
                "ptxas shifts by the floating-point value converted to an integer, not by its bits"
            }
            Self::ConvertedAddress => {
                "ptxas takes the floating-point value converted to an integer for the address, not its bits"
            }
            Self::GuardedSet => {
                "ptxas converts the register's old bits from an integer where the guard is false"
            }
            Self::GuardedTest => "ptxas ignores the guard",
            Self::Extract => "ptxas with optimisation gives -1, not the sign of the source",
            Self::Insert => "ptxas with optimisation inserts the number of bits modulo 32",
            Self::Select => "ptxas with optimisation compares the constant as an f32",
            Self::Widened => "ptxas with optimisation leaves it out: the upper half may not be zero",
            Self::Accumulation => {
                "ptxas with optimisation loses some of more than four equal products in a row"
            }
        }
    }

    /// What says the same to each device.
    pub fn help(self) -> &'static str {
        match self {
            Self::ConvertedStore | Self::ConvertedAmount | Self::ConvertedAddress => {
                "move the value through an integer instruction first: `mov.b16`, `mov.b32`, `mov.b64`"
            }
            Self::GuardedSet | Self::GuardedTest => "compute without a guard, then choose: `selp`",
            Self::Extract => "a position above 31 leaves the sign only: `shr.s32 d, a, 31`",
            Self::Insert => "insert at most 32 bits less the position",
            Self::Select => "the constant is known: `mov` one of the two",
            Self::Widened => "`mov.b32 d, {a, 0}` keeps it",
            Self::Accumulation => "add the product (`mul.hi`) times their number once: `mad.lo`",
        }
    }
}
