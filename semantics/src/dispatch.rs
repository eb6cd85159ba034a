//! From PTX types and modifiers to constants of a lane operation: each macro runs an expression once
//! an alternative, with names bound to what the alternative stands for.

/// Arms of a match over types: `$m` is the module of [`numerics`], `$T` the Rust type.
macro_rules! with_types {
    ($ty:expr, $m:ident, $T:ident => $body:expr; $($($S:ident)|+: $module:ident $bits:ident),* $(,)?) => {
        match $ty {
            $($(ptx_frontend::ScalarType::$S)|+ => {
                #[allow(unused_imports)]
                use numerics::$module as $m;
                type $T = $bits;
                $body
            })*
            _ => return None,
        }
    };
}

/// Integers; bit types count as unsigned.
macro_rules! with_int {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        $crate::dispatch::with_types!($ty, $m, $T => $body;
            U16 | B16: u16 u16, S16: s16 u16,
            U32 | B32: u32 u32, S32: s32 u32,
            U64 | B64: u64 u64, S64: s64 u64,
        )
    };
}

/// Types of 16, 32 and 64 bits as untyped bits.
macro_rules! with_bits {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        $crate::dispatch::with_types!($ty, $m, $T => $body;
            B16 | U16 | S16: b16 u16,
            B32 | U32 | S32 | F32: b32 u32,
            B64 | U64 | S64 | F64: b64 u64,
        )
    };
}

/// Packed integers.
macro_rules! with_packed_int {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        $crate::dispatch::with_types!($ty, $m, $T => $body;
            U16x2: u16x2 u32, S16x2: s16x2 u32, U8x4: u8x4 u32, S8x4: s8x4 u32,
        )
    };
}

/// Half-precision floats and pairs of them.
macro_rules! with_half {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        $crate::dispatch::with_types!($ty, $m, $T => $body;
            F16: f16 u16, Bf16: bf16 u16, F16x2: f16x2 u32, Bf16x2: bf16x2 u32,
        )
    };
}

/// Arms of a match over the values of an enumeration, as constant `$C`.
macro_rules! with_variants {
    ($value:expr, $C:ident: $E:path => $body:expr; $($V:ident)*) => {{
        use $E as Enumeration;
        match $value {
            $(Enumeration::$V => {
                const $C: Enumeration = Enumeration::$V;
                $body
            })*
        }
    }};
}

/// Roundings of floating-point results.
macro_rules! with_rounding {
    ($value:expr, $R:ident => $body:expr) => {
        $crate::dispatch::with_variants!(
            $value, $R: numerics::Rounding => $body; Rn Rz Rm Rp
        )
    };
}

/// Roundings to integers.
macro_rules! with_int_rounding {
    ($value:expr, $R:ident => $body:expr) => {
        $crate::dispatch::with_variants!(
            $value, $R: numerics::IntRounding => $body; Rni Rzi Rmi Rpi
        )
    };
}

/// Comparisons of integers.
macro_rules! with_int_cmp {
    ($value:expr, $C:ident => $body:expr) => {
        $crate::dispatch::with_variants!(
            $value, $C: numerics::IntCmp => $body; Eq Ne Lt Le Gt Ge
        )
    };
}

/// Comparisons of floats.
macro_rules! with_float_cmp {
    ($value:expr, $C:ident => $body:expr) => {
        $crate::dispatch::with_variants!(
            $value, $C: numerics::FloatCmp => $body;
            Eq Ne Lt Le Gt Ge Equ Neu Ltu Leu Gtu Geu Num Nan
        )
    };
}

/// Both values of a flag.
macro_rules! with_flag {
    ($value:expr, $F:ident => $body:expr) => {
        if $value {
            const $F: bool = true;
            $body
        } else {
            const $F: bool = false;
            $body
        }
    };
}

pub(super) use {
    with_bits, with_flag, with_float_cmp, with_half, with_int, with_int_cmp, with_int_rounding,
    with_packed_int, with_rounding, with_types, with_variants,
};
