//! The runtime interface: the driver's in the primary context of the thread's device, kernels and
//! variables by the addresses that the compiler registers.

/// Defines functions of the runtime interface: they keep their error for `cudaGetLastError`. Their
/// symbols start with `warpgrind_`; `libcudart.so` leads to them.
macro_rules! rt {
    ($($(#[$meta:meta])* fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            $crate::cudart::error::serve(stringify!($name), || {
                // SAFETY: pointers are null or as CUDA's documentation asks, see the crate's front page.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    )*};
}

/// Defines functions of the runtime interface that do what a function of the driver does, with the same
/// arguments, in the primary context.
macro_rules! rt_as_driver {
    ($($name:ident = $driver:path, ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        rt! {
            fn $name($($arg: $ty),*) {
                $crate::cudart::context::ensure()?;
                $crate::cudart::error::of($driver($($arg),*))
            }
        }
    )*};
}

/// [`rt_as_driver`] with two forms: the legacy null stream and the thread's own.
macro_rules! rt_as_stream {
    ($($name:ident $other:ident = $driver:path, $driver_other:path, ( $($arg:ident : $ty:ty),* $(,)? );)*) => {
        rt_as_driver! {$(
            $name = $driver, ($($arg: $ty),*);
            $other = $driver_other, ($($arg: $ty),*);
        )*}
    };
}

/// [`rt`] for functions with a stream, in two forms as `stream_api`.
macro_rules! rt_stream {
    ($($(#[$meta:meta])* fn $name:ident | $other:ident ( $null:ident ; $($arg:ident : $ty:ty),* $(,)? ) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            let $null = $crate::ffi::NullStream::Legacy;
            $crate::cudart::error::serve(stringify!($name), || {
                // SAFETY: pointers are null or as CUDA's documentation asks, see the crate's front page.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }

        $(#[$meta])*
        #[unsafe(export_name = concat!("warpgrind_", stringify!($other)))]
        pub(crate) unsafe extern "C" fn $other($($arg: $ty),*) -> u32 {
            let $null = $crate::ffi::NullStream::PerThread;
            $crate::cudart::error::serve(stringify!($other), || {
                // SAFETY: as above.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    )*};
}

mod array;
pub(crate) mod context;
mod device;
pub(crate) mod error;
mod event;
mod execution;
mod graph;
mod launch;
mod library;
mod memory;
mod process;
mod properties;
pub(crate) mod register;
mod stream;
mod texture;
