//! What kind of work a PTX instruction is.

use isa::{Modifier, Modifiers, Opcode, ScalarType};
use ptx_frontend::Op;

macro_rules! classes {
    ($($class:ident $name:literal,)*) => {
        /// Kinds of work.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Class { $($class,)* }

        impl Class {
            pub(super) const ALL: &[Class] = &[$(Class::$class),*];

            /// As it stands in the names of metrics.
            pub(super) const fn name(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}

classes! {
    Fp16 "fp16",
    Fp32 "fp32",
    Fp64 "fp64",
    Special "special",
    Integer "integer",
    Bit "bit",
    Conversion "conversion",
    Matrix "matrix",
    Memory "memory",
    Synchronization "synchronization",
    Warp "inter_thread_communication",
    Control "control",
    Misc "misc",
}

/// The class of an instruction; of none, the `ret` that a body without one ends with.
pub(super) fn class(op: Option<&Op>) -> Class {
    use Opcode as O;
    let Some(op) = op else { return Class::Control };
    match op.opcode {
        O::Bra | O::Brx | O::Call | O::Ret | O::Exit | O::Trap | O::Brkpt | O::Nanosleep => Class::Control,
        O::Shfl | O::Vote | O::Match | O::Redux | O::Elect | O::Activemask => Class::Warp,
        O::Bar | O::Barrier | O::Mbarrier | O::Fence | O::Membar => Class::Synchronization,
        O::Mma | O::Wgmma | O::Movmatrix => Class::Matrix,
        O::Wmma if op.has(Modifier::Mma) => Class::Matrix,
        O::Cvt => Class::Conversion,
        O::And | O::Or | O::Xor | O::Not | O::Cnot | O::Lop3 | O::Shl | O::Shr | O::Shf => Class::Bit,
        O::Bfe | O::Bfi | O::Bfind | O::Bmsk | O::Brev | O::Clz | O::Popc | O::Fns | O::Prmt => Class::Bit,
        O::Mov | O::Cvta | O::Selp | O::Isspacep | O::Mapa | O::Alloca | O::Stacksave => Class::Misc,
        O::Sin | O::Cos | O::Ex2 | O::Lg2 | O::Rcp | O::Rsqrt | O::Sqrt | O::Tanh | O::Div
            if matches!(op.types().last(), Some(ScalarType::F32)) =>
        {
            Class::Special
        }
        _ if op.effects.reads_memory() || op.effects.writes_memory() => Class::Memory,
        _ => of_type(op.types().last()),
    }
}

/// By the type that is worked on, which comes last.
fn of_type(ty: Option<ScalarType>) -> Class {
    use ScalarType as T;
    match ty {
        Some(T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2) => Class::Fp16,
        Some(T::F32 | T::F32x2) => Class::Fp32,
        Some(T::F64) => Class::Fp64,
        Some(_) => Class::Integer,
        None => Class::Misc,
    }
}
