//! The files of the libraries, as they are built and as they are laid out for a program.

/// All the code, into which the others jump.
pub const CODE: &str = "libwarpgrind_cuda.so";

/// The driver.
pub const DRIVER: &str = "libcuda.so.1";

/// Versions of CUDA whose libraries there are.
pub const VERSIONS: [&str; 2] = ["12", "13"];

/// The runtime libraries, under the names that programs ask for.
pub const RUNTIMES: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];

/// Compilers and linkers that give machine code elsewhere and PTX here.
pub const COMPILERS: [&str; 4] =
    ["libnvrtc.so.12", "libnvrtc.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13"];

/// What profilers ask.
pub const PROFILERS: [&str; 2] = ["libcupti.so.12", "libcupti.so.13"];

/// Functions of the C library that ask for files of devices.
pub const FILES: &str = "libwarpgrind_files.so";

/// The management library.
pub const MANAGEMENT: &str = "libnvidia-ml.so.1";

/// All files.
pub fn all() -> impl Iterator<Item = &'static str> {
    [CODE, DRIVER, FILES, MANAGEMENT].into_iter().chain(RUNTIMES).chain(PROFILERS).chain(COMPILERS)
}

/// The folder of the code, of driver and runtime in that of a session.
pub const FOLDER: &str = "lib";

/// The folder of the compilers beside it; they find the code in [`FOLDER`].
pub const COMPILER_FOLDER: &str = "jit";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_of_each_version() {
        for version in VERSIONS {
            for name in ["libcudart", "libcupti", "libnvrtc", "libnvJitLink"] {
                assert_eq!(all().filter(|file| *file == format!("{name}.so.{version}")).count(), 1);
            }
        }
        assert_eq!(all().count(), 4 + 4 * VERSIONS.len());
    }
}
