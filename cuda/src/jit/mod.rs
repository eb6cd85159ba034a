//! NVIDIA's compiler and linker as libraries, for programs that insist on machine code.
//!
//! `libnvrtc.so` and `libnvJitLink.so` of `warpgrind exec` jump here. The compiler is NVIDIA's own, told to
//! compile for `compute_90` where the program says `sm_90`; what the program gets as machine code is the PTX,
//! which our driver takes. The linker is ours for PTX, and NVIDIA's for what only that can read.

/// Defines functions that hand their arguments, at most six integers or pointers, to a dispatcher.
macro_rules! jit_functions {
    ($dispatch:path, $failed:expr; $($name:ident)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        unsafe extern "C" fn $name(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
            let mut result = $failed;
            $crate::ffi::guard(stringify!($name), || {
                // SAFETY: what the program gave.
                result = unsafe { $dispatch(stringify!($name), [a, b, c, d, e, f]) };
                Ok(())
            });
            result
        }
    )*};
}

mod link;
mod nvrtc;
mod real;

pub(crate) use real::is_inside;
