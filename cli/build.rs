//! Puts the libraries of `warpgrind exec` into the tool, so that `cargo install` gives a whole one.
//!
//! They belong to a build dependency, which cargo has built before this runs. It builds for the system that it runs on:
//! a tool for another one finds them beside itself, or not at all.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut list = String::from("&[");
    let mut hash = DefaultHasher::new();
    let is_own = env::var_os("HOST") == env::var_os("TARGET");
    for file in protocol::libraries::all().filter(|_| is_own) {
        let from = Path::new(cuda::BUILT).join(file);
        println!("cargo:rerun-if-changed={}", from.display());
        let bytes = fs::read(&from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        bytes.hash(&mut hash);
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let packed =
            packer.write_all(&bytes).and_then(|()| packer.finish()).expect("memory takes everything");
        let to = out.join(format!("{file}.gz"));
        fs::write(&to, packed).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        write!(list, "({file:?}, include_bytes!({to:?}) as &[u8]),").expect("a string");
    }
    fs::write(out.join("libraries.rs"), list + "]").expect("OUT_DIR can be written");
    println!("cargo:rustc-env=WARPGRIND_LIBRARIES={:016x}", hash.finish());
    println!("cargo:rerun-if-changed=build.rs");
}
