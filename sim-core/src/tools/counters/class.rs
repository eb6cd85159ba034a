//! What kind of work a PTX instruction is.

use isa::{Modifiers, ScalarType};
use ptx_frontend::{Op, Work};

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
    let Some(op) = op else { return Class::Control };
    let ty = op.types().last();
    match op.effects.work() {
        Work::Control => Class::Control,
        Work::Exchange => Class::Warp,
        Work::Synchronization => Class::Synchronization,
        Work::Matrix => Class::Matrix,
        Work::Conversion => Class::Conversion,
        Work::Bits => Class::Bit,
        Work::Memory => Class::Memory,
        Work::Elementary if ty == Some(ScalarType::F32) => Class::Special,
        Work::Arithmetic | Work::Elementary => of_type(ty),
        Work::Move | Work::Address | Work::Other => Class::Misc,
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
