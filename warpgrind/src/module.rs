//! PTX files to one linked module, and kernels by the names that people use.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ptx_frontend::{Diagnostic, Elsewhere, FuncId, Function, Severity, Source};
use reports::{demangle, plural, printable};
use thiserror::Error;

use crate::files::{FileError, MAX_TEXT, read_file};
use crate::names::{closest, quoted_list};

/// What the front end has to say about a text, with the text.
#[derive(Clone, Debug)]
pub struct Remark {
    /// Code, place, words.
    pub diagnostic: Diagnostic,
    /// The text that it is about.
    pub source: Source,
    /// Places in other texts that explain it.
    pub elsewhere: Vec<Elsewhere>,
}

/// Why there is no module, or no such kernel in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// A file was not read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The PTX is not valid, or its parts do not fit together.
    #[error("the PTX is not valid: {}", plural(*errors, "error"))]
    Rejected {
        /// How many of the remarks are errors.
        errors: u64,
        /// Warnings and errors, in the order of the texts.
        remarks: Vec<Remark>,
    },
    /// A kernel is wanted, and there is none.
    #[error("the PTX has no kernel")]
    NoKernel,
    /// No kernel is named, and there are several.
    #[error("the PTX has several kernels; say which one")]
    SeveralKernels {
        /// PTX names, with the C++ names behind them.
        kernels: Vec<String>,
    },
    /// No kernel has this name.
    #[error("there is no kernel `{name}`")]
    UnknownKernel {
        /// The name.
        name: String,
        /// One that is like it.
        close: Option<String>,
        /// PTX names, with the C++ names behind them.
        kernels: Vec<String>,
    },
    /// Several kernels have this C++ name.
    #[error("several kernels are called `{name}`; use the PTX name")]
    AmbiguousKernel {
        /// The name.
        name: String,
        /// PTX names, with the C++ names behind them.
        kernels: Vec<String>,
    },
}

impl ModuleError {
    /// What would be accepted instead.
    pub fn help(&self) -> Option<String> {
        let list = |kernels: &[String]| format!("the kernels are {}", quoted_list(kernels));
        match self {
            Self::UnknownKernel { kernels, .. } if kernels.is_empty() => Some("the PTX has no kernel".into()),
            Self::UnknownKernel { close: Some(close), .. } => Some(format!("did you mean `{close}`?")),
            Self::SeveralKernels { kernels }
            | Self::UnknownKernel { kernels, .. }
            | Self::AmbiguousKernel { kernels, .. } => Some(list(kernels)),
            Self::File(_) | Self::Rejected { .. } | Self::NoKernel => None,
        }
    }
}

/// Checked and linked PTX, ready to be run. Clones share it.
#[derive(Clone, Debug)]
pub struct Module {
    module: Arc<ptx_frontend::Module>,
    warnings: Arc<[Remark]>,
}

impl Module {
    /// The module of a PTX file.
    ///
    /// # Errors
    /// The file cannot be read, or is not valid PTX.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ModuleError> {
        Self::link(vec![read_source(path.as_ref())?])
    }

    /// The module of a PTX text; `name` stands for it in messages.
    ///
    /// # Errors
    /// It is not valid PTX.
    pub fn from_ptx(name: &str, text: &str) -> Result<Self, ModuleError> {
        Self::link(vec![Source::new(name, text.as_bytes().to_vec())])
    }

    /// Parses PTX texts and links them by name.
    ///
    /// # Errors
    /// [`ModuleError::Rejected`], with all that is wrong.
    pub fn link(sources: Vec<Source>) -> Result<Self, ModuleError> {
        let (mut modules, mut remarks, mut errors) = (Vec::new(), Vec::new(), 0);
        for source in sources {
            let parsed = ptx_frontend::parse(source);
            for diagnostic in parsed.diagnostics {
                errors += u64::from(diagnostic.severity == Severity::Error);
                remarks.push(Remark { diagnostic, source: parsed.source.clone(), elsewhere: Vec::new() });
            }
            modules.extend(parsed.module);
        }
        if errors > 0 {
            return Err(ModuleError::Rejected { errors, remarks });
        }
        if let [module] = &mut modules[..] {
            let warnings = ptx_frontend::define_externs(module);
            let source = &module.sources[0];
            remarks.extend(warnings.into_iter().map(|diagnostic| Remark {
                diagnostic,
                source: source.clone(),
                elsewhere: Vec::new(),
            }));
        }
        ptx_frontend::add_device_runtime(&mut modules);
        match ptx_frontend::link(modules) {
            Ok(module) => Ok(Self { module: Arc::new(module), warnings: remarks.into() }),
            Err(wrong) => {
                let errors = wrong.len() as u64;
                remarks.extend(wrong.into_iter().map(|error| Remark {
                    diagnostic: error.diagnostic,
                    source: error.source,
                    elsewhere: error.elsewhere,
                }));
                Err(ModuleError::Rejected { errors, remarks })
            }
        }
    }

    /// What the front end made of the texts.
    pub fn checked(&self) -> &Arc<ptx_frontend::Module> {
        &self.module
    }

    /// What may be wrong with the texts.
    pub fn warnings(&self) -> &[Remark] {
        &self.warnings
    }

    /// The kernel that `name` stands for: its PTX name, its C++ name with or without parameter types,
    /// or, without a name, the only kernel there is.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn kernel(&self, name: Option<&str>) -> Result<&Function, ModuleError> {
        find_kernel(&self.module, name).map(|id| &self.module.functions[id.index()])
    }
}

/// Reads a PTX text.
///
/// # Errors
/// It cannot be read.
pub fn read_source(path: &Path) -> Result<Source, FileError> {
    Ok(Source::new(printable(path), read_file(path, MAX_TEXT)?))
}

fn find_kernel(module: &ptx_frontend::Module, name: Option<&str>) -> Result<FuncId, ModuleError> {
    let kernels: Vec<(FuncId, &str)> = module.kernels().map(|(id, function)| (id, &*function.name)).collect();
    let names = || kernels.iter().map(|(_, name)| shown(name)).collect();
    let Some(name) = name else {
        return match kernels[..] {
            [] => Err(ModuleError::NoKernel),
            [(id, _)] => Ok(id),
            _ => Err(ModuleError::SeveralKernels { kernels: names() }),
        };
    };
    if let Some(&(id, _)) = kernels.iter().find(|(_, kernel)| *kernel == name) {
        return Ok(id);
    }
    let matches: Vec<FuncId> = kernels
        .iter()
        .filter(|(_, kernel)| demangle(kernel).is_some_and(|full| full == name || base_name(&full) == name))
        .map(|&(id, _)| id)
        .collect();
    match matches[..] {
        [id] => Ok(id),
        [] => {
            let base =
                |kernel: &str| demangle(kernel).map_or(kernel.into(), |full| base_name(&full).to_string());
            let bases: Vec<String> = kernels.iter().map(|(_, kernel)| base(kernel)).collect();
            let close = closest(name, bases.iter().map(String::as_str)).map(str::to_owned);
            Err(ModuleError::UnknownKernel { name: name.into(), close, kernels: names() })
        }
        _ => Err(ModuleError::AmbiguousKernel { name: name.into(), kernels: names() }),
    }
}

/// The PTX name, with the C++ name behind it if there is one.
fn shown(name: &str) -> String {
    demangle(name).map_or(name.to_string(), |full| format!("{name} = {full}"))
}

/// The name without template arguments and parameters: `f` of `f<int>(int*)`.
fn base_name(full: &str) -> &str {
    &full[..full.find(['<', '(']).unwrap_or(full.len())]
}

/// A path of a launch file, from the file's directory, without needless `..` in it.
pub fn join(directory: &Path, path: &Path) -> PathBuf {
    if path.as_os_str() == "-" {
        return path.to_path_buf();
    }
    let joined = directory.join(path);
    let mut short = PathBuf::new();
    for part in joined.components() {
        match (part, short.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                short.pop();
            }
            _ => short.push(part),
        }
    }
    // Behind a symbolic link `..` leads elsewhere.
    if short.exists() { short } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(kernels: &[&str]) -> Module {
        let mut text = ".version 9.0\n.target sm_90\n.address_size 64\n".to_string();
        for kernel in kernels {
            text.push_str(&format!(".visible .entry {kernel}() {{ ret; }}\n"));
        }
        Module::from_ptx("a.ptx", &text).unwrap()
    }

    fn found(module: &Module, name: Option<&str>) -> Result<String, ModuleError> {
        module.kernel(name).map(|kernel| kernel.name.to_string())
    }

    #[test]
    fn kernels_are_found_by_all_their_names() {
        let module = module(&["_Z5saxpyifPKfPf", "_Z3fooIiEvPT_", "gemm"]);
        assert_eq!(found(&module, Some("gemm")).unwrap(), "gemm");
        assert_eq!(found(&module, Some("saxpy")).unwrap(), "_Z5saxpyifPKfPf");
        assert_eq!(found(&module, Some("foo")).unwrap(), "_Z3fooIiEvPT_");
        assert_eq!(
            found(&module, Some("saxpy(int, float, float const*, float*)")).unwrap(),
            "_Z5saxpyifPKfPf"
        );
    }

    #[test]
    fn joined_paths_are_short_where_that_exists() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        std::fs::write(directory.path().join("k.ptx"), "").unwrap();
        let inner = directory.path().join("a");
        assert_eq!(join(&inner, Path::new("../k.ptx")), directory.path().join("k.ptx"));
        assert_eq!(join(&inner, Path::new("../none.ptx")), inner.join("../none.ptx"));
    }

    #[test]
    fn wrong_names_are_helped() {
        let two = module(&["saxpy", "gemm"]);
        assert_eq!(found(&two, Some("saxpi")).unwrap_err().help().unwrap(), "did you mean `saxpy`?");
        assert_eq!(found(&two, None).unwrap_err().help().unwrap(), "the kernels are `saxpy`, `gemm`");
        assert_eq!(found(&module(&["only"]), None).unwrap(), "only");
        assert!(found(&module(&[]), None).unwrap_err().to_string().contains("no kernel"));
    }
}
