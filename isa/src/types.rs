//! Types (ISA 5.2).

/// What kind of values a type has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeClass {
    /// `.bN`: untyped bits.
    Bits,
    /// `.uN` and packed forms.
    Unsigned,
    /// `.sN` and packed forms.
    Signed,
    /// All floating-point formats and their packed forms.
    Float,
    /// `.pred`.
    Predicate,
    /// `.texref`, `.samplerref`, `.surfref`.
    Opaque,
}

macro_rules! scalar_types {
    ($($name:ident $text:literal $bits:literal $lanes:literal $class:ident,)*) => {
        /// A fundamental or packed type: what a type modifier names.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum ScalarType {
            $(#[doc = concat!("`.", $text, "`")] $name,)*
        }

        impl ScalarType {
            /// All types.
            pub const ALL: &'static [ScalarType] = &[$(ScalarType::$name),*];

            /// The name without its dot.
            pub const fn text(self) -> &'static str {
                match self { $(ScalarType::$name => $text,)* }
            }

            /// The type with this name (no dot).
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(ScalarType::$name),)* _ => None }
            }

            /// Size in bits; packed types count all their elements.
            pub const fn bits(self) -> u32 {
                match self { $(ScalarType::$name => $bits,)* }
            }

            /// Number of packed elements, 1 for scalars.
            pub const fn lanes(self) -> u32 {
                match self { $(ScalarType::$name => $lanes,)* }
            }

            /// The kind of values.
            pub const fn class(self) -> TypeClass {
                match self { $(ScalarType::$name => TypeClass::$class,)* }
            }
        }
    };
}

scalar_types! {
    B1 "b1" 1 1 Bits,
    B8 "b8" 8 1 Bits,
    B16 "b16" 16 1 Bits,
    B32 "b32" 32 1 Bits,
    B64 "b64" 64 1 Bits,
    B128 "b128" 128 1 Bits,
    B1024 "b1024" 1024 1 Bits,
    U2 "u2" 2 1 Unsigned,
    U4 "u4" 4 1 Unsigned,
    U8 "u8" 8 1 Unsigned,
    U16 "u16" 16 1 Unsigned,
    U32 "u32" 32 1 Unsigned,
    U64 "u64" 64 1 Unsigned,
    S2 "s2" 2 1 Signed,
    S4 "s4" 4 1 Signed,
    S8 "s8" 8 1 Signed,
    S16 "s16" 16 1 Signed,
    S32 "s32" 32 1 Signed,
    S64 "s64" 64 1 Signed,
    F16 "f16" 16 1 Float,
    Bf16 "bf16" 16 1 Float,
    Tf32 "tf32" 32 1 Float,
    F32 "f32" 32 1 Float,
    F64 "f64" 64 1 Float,
    E4m3 "e4m3" 8 1 Float,
    E5m2 "e5m2" 8 1 Float,
    E3m2 "e3m2" 6 1 Float,
    E2m3 "e2m3" 6 1 Float,
    E2m1 "e2m1" 4 1 Float,
    Ue8m0 "ue8m0" 8 1 Float,
    Ue4m3 "ue4m3" 8 1 Float,
    U16x2 "u16x2" 32 2 Unsigned,
    S16x2 "s16x2" 32 2 Signed,
    U8x4 "u8x4" 32 4 Unsigned,
    S8x4 "s8x4" 32 4 Signed,
    F16x2 "f16x2" 32 2 Float,
    Bf16x2 "bf16x2" 32 2 Float,
    F32x2 "f32x2" 64 2 Float,
    E4m3x2 "e4m3x2" 16 2 Float,
    E5m2x2 "e5m2x2" 16 2 Float,
    E3m2x2 "e3m2x2" 16 2 Float,
    E2m3x2 "e2m3x2" 16 2 Float,
    E2m1x2 "e2m1x2" 8 2 Float,
    Ue8m0x2 "ue8m0x2" 16 2 Float,
    S2f6x2 "s2f6x2" 16 2 Signed,
    E4m3x4 "e4m3x4" 32 4 Float,
    E5m2x4 "e5m2x4" 32 4 Float,
    E3m2x4 "e3m2x4" 32 4 Float,
    E2m3x4 "e2m3x4" 32 4 Float,
    E2m1x4 "e2m1x4" 16 4 Float,
    Pred "pred" 1 1 Predicate,
    Texref "texref" 64 1 Opaque,
    Samplerref "samplerref" 64 1 Opaque,
    Surfref "surfref" 64 1 Opaque,
}

impl ScalarType {
    /// Size in bytes in memory; sub-byte types and predicates take one byte.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether values are floating-point numbers (packed included).
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// Whether values are signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// Whether values are integers, signed or not (untyped bits excluded).
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), TypeClass::Signed | TypeClass::Unsigned)
    }
}

impl std::fmt::Display for ScalarType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.text())
    }
}
