//! NVIDIA's assembler, where the user has it: registers, shared memory and barriers of kernels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use super::limit::Limit;
use super::machine::listing::{self, Listing};

/// What a kernel's machine code takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Resources {
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Barriers.
    pub barriers: u32,
    /// Bytes of local memory a thread.
    pub stack: u32,
    /// Bytes of registers that are stored to local memory, by instructions.
    pub spilled: u32,
    /// Bytes of local memory that the PTX itself declares.
    pub declared: u32,
}

impl Resources {
    /// Whether what is known of local memory is what the machine code does: it has none, or the PTX's own alone.
    pub fn local_is_known(&self) -> bool {
        self.registers != 0 && self.spilled == 0 && self.stack <= self.declared.next_multiple_of(16)
    }
}

/// Why machine code could not be made.
#[derive(Error, Debug)]
pub enum AssembleError {
    /// No assembler was found.
    #[error("ptxas is not found")]
    Missing,
    /// No disassembler was found.
    #[error("nvdisasm is not found")]
    NoDisassembler,
    /// It is not there, or did not take the machine code.
    #[error("{path} does not take the machine code: {message}")]
    Disassembly {
        /// The disassembler.
        path: PathBuf,
        /// Its first line, or what is wrong.
        message: String,
    },
    /// It could not be run, or files could not be written for it.
    #[error("cannot run {path}: {error}")]
    Run {
        /// What was to be run.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The disassembler that is named is not there.
    #[error("there is no {0}")]
    NoSuchDisassembler(PathBuf),
    /// It is no assembler of NVIDIA's.
    #[error("{0} does not say its release, as ptxas does")]
    NoVersion(PathBuf),
    /// It refused the PTX.
    #[error("{path} refuses the PTX: {message}")]
    Refused {
        /// The assembler.
        path: PathBuf,
        /// Its first line.
        message: String,
    },
}

/// The assembler.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
    /// Its release: `13.0`.
    pub version: String,
    /// What ends it, and a disassembler of what it makes, before they are done.
    pub limit: Limit,
}

impl Assembler {
    /// The one that is named, or that of `CUDA_HOME`, `CUDA_PATH`, `PATH`, or of NVIDIA's Python packages.
    ///
    /// # Errors
    /// There is none, or it does not say its version before the limit is over.
    pub fn find(named: Option<&Path>, limit: &Limit) -> Result<Self, AssembleError> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => {
                candidates("ptxas").into_iter().find(|path| path.is_file()).ok_or(AssembleError::Missing)?
            }
        };
        let run = limit.output(Command::new(&path).arg("--version"), b"");
        let output = run.map_err(|error| AssembleError::Run { path: path.clone(), error })?;
        let text = String::from_utf8_lossy(&output.stdout);
        let release = text.split_once("release ").and_then(|(_, rest)| rest.split(',').next());
        match release {
            Some(release) => Ok(Self { path, version: release.trim().to_owned(), limit: limit.clone() }),
            None => Err(AssembleError::NoVersion(path)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the kernels of a PTX text take, by name, for a target such as `sm_90a`.
    ///
    /// # Errors
    /// The assembler cannot be run, or refuses the text.
    pub fn resources(&self, ptx: &[u8], target: &str) -> Result<BTreeMap<String, Resources>, AssembleError> {
        Ok(parse(&self.assemble(ptx, target, Path::new("/dev/null"), &["-v"])?))
    }

    /// Writes the machine code of a PTX text; what the assembler says. A text that calls what others define, as the device
    /// runtime's functions, is assembled by itself.
    fn assemble(&self, ptx: &[u8], target: &str, to: &Path, more: &[&str]) -> Result<String, AssembleError> {
        match self.assemble_as(ptx, target, to, more) {
            Err(AssembleError::Refused { message, .. }) if message.contains("Unresolved extern") => {
                self.assemble_as(ptx, target, to, &[more, &["--compile-only"]].concat())
            }
            done => done,
        }
    }

    fn assemble_as(
        &self,
        ptx: &[u8],
        target: &str,
        to: &Path,
        more: &[&str],
    ) -> Result<String, AssembleError> {
        let failed = |error| AssembleError::Run { path: self.path.clone(), error };
        let mut command = Command::new(&self.path);
        command.args(more).arg(format!("-arch={target}")).arg("-o").arg(to).arg("/dev/stdin");
        let output = self.limit.output(&mut command, ptx).map_err(failed)?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said += &String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let message = said.lines().find(|line| line.contains("fatal") || line.contains("error"));
            let message = message.or(said.lines().next()).unwrap_or("it says nothing").to_owned();
            return Err(AssembleError::Refused { path: self.path.clone(), message });
        }
        Ok(said)
    }
}

/// The disassembler.
#[derive(Clone, Debug)]
pub struct Disassembler {
    path: PathBuf,
}

impl Disassembler {
    /// The one that is named, or the one beside the assembler, or where an assembler is looked for.
    ///
    /// # Errors
    /// There is none, or the one that is named is no file.
    pub fn find(named: Option<&Path>, assembler: &Assembler) -> Result<Self, AssembleError> {
        let beside = assembler.path.with_file_name("nvdisasm");
        let path = match named {
            Some(path) if !path.is_file() => return Err(AssembleError::NoSuchDisassembler(path.to_owned())),
            Some(path) => path.to_owned(),
            None => {
                let mut all = std::iter::once(beside).chain(candidates("nvdisasm"));
                all.find(|path| path.is_file()).ok_or(AssembleError::NoDisassembler)?
            }
        };
        Ok(Disassembler { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The machine code of the kernels of a PTX text, for a target such as `sm_90a`.
    ///
    /// # Errors
    /// A tool cannot be run, refuses what it is given, or lists no kernel though there is one.
    pub fn listings(
        &self,
        assembler: &Assembler,
        ptx: &[u8],
        target: &str,
    ) -> Result<BTreeMap<String, Listing>, AssembleError> {
        let failed = |error| AssembleError::Run { path: self.path.clone(), error };
        let code =
            tempfile::Builder::new().prefix("warpgrind-").suffix(".cubin").tempfile().map_err(failed)?;
        // Lines change nothing about the code.
        assembler.assemble(ptx, target, code.path(), &["--generate-line-info"])?;
        let refused = |message: String| AssembleError::Disassembly { path: self.path.clone(), message };
        let mut command = Command::new(&self.path);
        command.args(["-c", "-gp", "-hex"]).arg(code.path());
        let output = assembler.limit.output(&mut command, b"");
        let output = output.map_err(failed)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(refused(said.lines().next().unwrap_or("it says nothing").to_owned()));
        }
        let listings = listing::read_disassembly(&String::from_utf8_lossy(&output.stdout));
        let has_kernel = ptx.windows(7).any(|text| text == b".entry ");
        match listings.is_empty() && has_kernel {
            true => Err(refused("it lists no kernel".into())),
            false => Ok(listings),
        }
    }
}

/// Where a tool of NVIDIA's may be.
pub(super) fn candidates(tool: &str) -> Vec<PathBuf> {
    let mut list = Vec::new();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        list.extend(std::env::var_os(variable).map(|home| PathBuf::from(home).join("bin").join(tool)));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    list.extend(folders.iter().map(|folder| folder.join(tool)));
    let mut roots: Vec<PathBuf> = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter().collect();
    roots.extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local")));
    roots.extend(folders.iter().filter_map(|folder| folder.parent().map(Path::to_owned)));
    for root in roots {
        for python in entries(&root.join("lib"), "python3") {
            for packages in ["site-packages", "dist-packages"] {
                let nvidia = python.join(packages).join("nvidia");
                list.push(python.join(packages).join("triton/backends/nvidia/bin").join(tool));
                list.extend(entries(&nvidia, "cu").map(|package| package.join("bin").join(tool)));
            }
        }
    }
    list.push(Path::new("/usr/local/cuda/bin").join(tool));
    list
}

/// What is in a folder under names that begin so, in their order.
fn entries(folder: &Path, start: &str) -> impl Iterator<Item = PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = found.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter()
}

/// What `ptxas -v` says of each kernel.
fn parse(said: &str) -> BTreeMap<String, Resources> {
    let mut kernels: BTreeMap<String, Resources> = BTreeMap::new();
    let (mut kernel, mut about) = (None, None);
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().map(str::to_owned);
        } else if let Some((_, rest)) = line.split_once("Function properties for ") {
            about = Some(rest.trim().trim_matches('\'').to_owned());
        } else if let Some(name) = &kernel {
            let of = kernels.entry(name.clone()).or_default();
            let before = |word: &str| {
                let (number, _) = line.split_once(word)?;
                number.rsplit([' ', ',']).find(|text| !text.is_empty())?.parse::<u32>().ok()
            };
            if line.contains("bytes stack frame") && about.as_deref() == Some(name) {
                of.stack = before(" bytes stack frame").unwrap_or(0);
                of.spilled = before(" bytes spill stores").unwrap_or(0);
            } else if line.contains(" registers") && line.contains("Used ") {
                of.registers = before(" registers").unwrap_or(0);
                of.barriers = before(" barriers").unwrap_or(0);
                of.shared = before(" bytes smem").unwrap_or(0);
                of.stack = of.stack.max(before(" bytes cumulative stack size").unwrap_or(0));
            }
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ptxas_says() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spilling' for 'sm_90'
ptxas info    : Function properties for spilling
    160 bytes stack frame, 312 bytes spill stores, 316 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 160 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 60.212 ms
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 352 bytes cmem[0]";
        let kernels = parse(said);
        let of =
            Resources { registers: 32, shared: 4096, barriers: 1, stack: 160, spilled: 312, declared: 0 };
        assert_eq!(kernels["spilling"], of);
        assert_eq!(kernels["other"], Resources { registers: 10, ..Resources::default() });
    }
}
