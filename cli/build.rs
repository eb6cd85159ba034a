//! Puts the libraries of `warpgrind exec` into the tool, so that `cargo install` gives a whole one.
//!
//! They belong to a build dependency, which cargo has built before this runs. It builds for the system that it runs on:
//! a tool for another one finds them beside itself, or not at all, as does one without the feature `libraries`.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut list = String::from("&[");
    let mut hash = DefaultHasher::new();
    for from in built() {
        println!("cargo:rerun-if-changed={}", from.display());
        let bytes = fs::read(&from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        bytes.hash(&mut hash);
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let packed =
            packer.write_all(&bytes).and_then(|()| packer.finish()).expect("memory takes everything");
        let file = from.file_name().expect("a library").to_string_lossy();
        let to = out.join(format!("{file}.gz"));
        fs::write(&to, packed).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        write!(list, "({file:?}, include_bytes!({to:?}) as &[u8]),").expect("a string");
    }
    fs::write(out.join("libraries.rs"), list + "]").expect("OUT_DIR can be written");
    println!("cargo:rustc-env=WARPGRIND_LIBRARIES={:016x}", hash.finish());
    println!("cargo:rerun-if-changed=build.rs");
}

/// The libraries that the tool is to carry.
#[cfg(feature = "libraries")]
fn built() -> Vec<PathBuf> {
    let is_own = env::var_os("HOST") == env::var_os("TARGET");
    protocol::libraries::all().filter(|_| is_own).map(|file| PathBuf::from(cuda::BUILT).join(file)).collect()
}

#[cfg(not(feature = "libraries"))]
fn built() -> Vec<PathBuf> {
    Vec::new()
}
