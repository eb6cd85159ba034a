//! The folder of libraries that a program finds in place of NVIDIA's.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use protocol::libraries;

use crate::exit::Failure;

/// Names of the driver and of the management library. They are found by name; the others are loaded before the program:
/// frameworks carry paths to NVIDIA's (`DT_RPATH`), which go before any variable, but the loader takes what it has under the
/// name already. Symbols of the runtimes have different versions, so each program, and each library in it, is bound to the
/// one that it was linked against.
const DRIVER_NAMES: [&str; 2] = [libraries::DRIVER, "libcuda.so"];
const MANAGEMENT_NAMES: [&str; 2] = [libraries::MANAGEMENT, "libnvidia-ml.so"];

/// An assembler that hands on the PTX it is given, for frameworks that assemble before they load.
const ASSEMBLER: &str = include_str!("ptxas.sh");

/// `nvidia-smi`, of the tool that lies at a path.
fn monitor(tool: &Path) -> Vec<u8> {
    // Within quotes the shell takes every byte but a quote as it is.
    let quoted =
        tool.as_os_str().as_bytes().split(|&byte| byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
    [b"#!/bin/sh\nexec '", &quoted[..], b"' nvidia-smi \"$@\"\n"].concat()
}

/// The folder of a session.
#[derive(Debug)]
pub(super) struct Libraries {
    /// With the driver and the runtime.
    pub(super) folder: PathBuf,
    /// Files that are loaded before the program.
    pub(super) preloaded: Vec<PathBuf>,
    /// A toolkit of which there is the assembler only.
    pub(super) toolkit: PathBuf,
    /// The assembler.
    pub(super) assembler: PathBuf,
    /// The folder of commands that programs look for.
    pub(super) commands: PathBuf,
}

impl Libraries {
    /// Lays them out in a session's folder.
    pub(super) fn lay_out(session: &Path) -> Result<Libraries, Failure> {
        let problem =
            |error: std::io::Error| Failure::usage(format!("cannot lay out the libraries: {error}"));
        let from = built(session)?;
        let (folder, jit) = (session.join(libraries::FOLDER), session.join(libraries::COMPILER_FOLDER));
        for made in [&folder, &jit] {
            std::fs::create_dir_all(made).map_err(problem)?;
        }
        let by_name = [
            (libraries::CODE, &[libraries::CODE][..]),
            (libraries::DRIVER, &DRIVER_NAMES),
            (libraries::MANAGEMENT, &MANAGEMENT_NAMES),
        ];
        for (file, names) in by_name {
            for name in names {
                symlink(from.join(file), folder.join(name)).map_err(problem)?;
            }
        }
        let mut preloaded = Vec::new();
        // The later runtime first.
        let runtimes = libraries::RUNTIMES.iter().rev().chain(libraries::PROFILERS.iter());
        let runtimes = runtimes.chain([&libraries::FILES]).map(|name| (name, &folder));
        for (name, to) in runtimes.chain(libraries::COMPILERS.iter().map(|name| (name, &jit))) {
            let path = to.join(name);
            symlink(from.join(name), &path).map_err(problem)?;
            preloaded.push(path);
        }
        let script = |path: &Path, text: &[u8]| {
            std::fs::write(path, text)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        };
        let (toolkit, commands) = (session.join("cuda"), session.join("bin"));
        for made in [&toolkit.join("bin"), &commands] {
            std::fs::create_dir_all(made).map_err(problem)?;
        }
        let assembler = toolkit.join("bin/ptxas");
        script(&assembler, ASSEMBLER.as_bytes()).map_err(problem)?;
        let tool = std::env::current_exe().map_err(problem)?;
        script(&commands.join("nvidia-smi"), &monitor(&tool)).map_err(problem)?;
        Ok(Libraries { folder, preloaded, toolkit, assembler, commands })
    }
}

/// The libraries as the tool carries them, packed.
static CARRIED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

/// Where the libraries are: beside this program, or in `lib` beside its folder, as cargo and packages leave them; else
/// unpacked from it.
fn built(session: &Path) -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    let program = program.map_err(|error| Failure::usage(format!("where is this program? {error}")))?;
    let here = program.parent().unwrap_or(Path::new("."));
    let age = |folder: &PathBuf| {
        let code = std::fs::metadata(folder.join(libraries::CODE));
        code.and_then(|file| file.modified())
            .and_then(|time| time.elapsed().map_err(std::io::Error::other))
            .ok()
    };
    // cargo leaves them in two places, of which it renews only one for tests.
    let candidates = [here.to_path_buf(), here.join("deps"), here.join("../lib"), here.join("..")];
    if let Some(found) = candidates.into_iter().filter(|folder| is_complete(folder)).min_by_key(age) {
        return Ok(found);
    }
    if CARRIED.is_empty() {
        return Err(Failure::usage(format!("the libraries are not beside {}", program.display()))
            .help("`cargo build --release` makes them; they stay beside the program when it is copied"));
    }
    // Where nothing can be kept they are unpacked for the session.
    let kept = kept().and_then(|folder| unpack(&folder).ok().map(|()| folder));
    let problem = |error: std::io::Error| Failure::usage(format!("cannot unpack the libraries: {error}"));
    kept.map_or_else(|| unpack(&session.join("built")).map(|()| session.join("built")).map_err(problem), Ok)
}

fn is_complete(folder: &Path) -> bool {
    libraries::all().all(|file| folder.join(file).is_file())
}

/// The user's folder for the libraries of this very tool.
fn kept() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("warpgrind").join(env!("WARPGRIND_LIBRARIES")))
}

/// Unpacks the libraries into a folder, unless they are there.
fn unpack(to: &Path) -> std::io::Result<()> {
    if is_complete(to) {
        return Ok(());
    }
    let parent = to.parent().unwrap_or(to);
    std::fs::create_dir_all(parent)?;
    let new = tempfile::tempdir_in(parent)?;
    for (name, packed) in CARRIED {
        let mut file = std::fs::File::create(new.path().join(name))?;
        std::io::copy(&mut flate2::read::GzDecoder::new(*packed), &mut file)?;
    }
    // Whole or not at all; another process may have been faster.
    match std::fs::rename(new.path(), to) {
        Err(error) if !is_complete(to) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitor_finds_the_tool_whatever_its_path_is() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("it's a \"tool\" of $HOME `x`\\");
        let script = folder.path().join("nvidia-smi");
        symlink("/bin/echo", &tool).unwrap();
        std::fs::write(&script, monitor(&tool)).unwrap();
        let output = std::process::Command::new("sh").arg(&script).args(["-i", "1"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "nvidia-smi -i 1\n");
    }
}
