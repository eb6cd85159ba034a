//! Roundings and comparisons (ISA 9.3, 9.7.6, 9.7.9.21).

/// Rounding of a floating-point result: `.rn`, `.rz`, `.rm`, `.rp` (ISA 9.7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even (`.rn`).
    Rn,
    /// Toward zero (`.rz`).
    Rz,
    /// Toward negative infinity (`.rm`).
    Rm,
    /// Toward positive infinity (`.rp`).
    Rp,
}

impl Rounding {
    /// All four modes.
    pub const ALL: [Rounding; 4] = [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp];
}

/// Rounding to an integer: `.rni`, `.rzi`, `.rmi`, `.rpi` (ISA 9.7.9.21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntRounding {
    /// To nearest, ties to even (`.rni`).
    Rni,
    /// Toward zero (`.rzi`).
    Rzi,
    /// Toward negative infinity (`.rmi`).
    Rmi,
    /// Toward positive infinity (`.rpi`).
    Rpi,
}

impl IntRounding {
    /// All four modes.
    pub const ALL: [IntRounding; 4] =
        [IntRounding::Rni, IntRounding::Rzi, IntRounding::Rmi, IntRounding::Rpi];
}

impl From<IntRounding> for Rounding {
    /// The same direction.
    fn from(rounding: IntRounding) -> Rounding {
        match rounding {
            IntRounding::Rni => Rounding::Rn,
            IntRounding::Rzi => Rounding::Rz,
            IntRounding::Rmi => Rounding::Rm,
            IntRounding::Rpi => Rounding::Rp,
        }
    }
}

/// A comparison operator of `set`, `setp`, `vset` (ISA 9.7.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the manual's own mnemonics")]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Lo,
    Ls,
    Hi,
    Hs,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}
