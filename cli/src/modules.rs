//! PTX files to one linked module, and kernels by the names that people use.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use ptx_frontend::{Diagnostic, Elsewhere, FuncId, Module, Severity, Source};
pub(crate) use reports::demangle;

use crate::array::{MAX_TEXT, read_file};
use crate::exit::{Exit, Failure, quoted_list};
use crate::report::{plural, printable};

/// Reads a PTX text; `-` is standard input.
pub(crate) fn read_source(path: &Path) -> Result<Source, Failure> {
    if path.as_os_str() != "-" {
        return Ok(Source::new(printable(path), read_file(path, MAX_TEXT)?));
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(Failure::usage(format!("standard input has more than {MAX_TEXT} bytes, or no end")));
    }
    Ok(Source::new("<stdin>", bytes))
}

/// Parses and links PTX files; `report` is told what there is to say about them.
pub(crate) fn load(
    sources: Vec<Source>,
    report: &mut dyn FnMut(&Diagnostic, &Source, &[Elsewhere]),
) -> Result<Module, Failure> {
    let mut modules = Vec::new();
    let mut errors = 0;
    for source in sources {
        let parsed = ptx_frontend::parse(source);
        for diagnostic in &parsed.diagnostics {
            errors += u64::from(diagnostic.severity == Severity::Error);
            report(diagnostic, &parsed.source, &[]);
        }
        modules.extend(parsed.module);
    }
    if errors > 0 {
        return Err(rejected(errors));
    }
    if let [module] = &mut modules[..] {
        let warnings = ptx_frontend::define_externs(module);
        warnings.iter().for_each(|warning| report(warning, &module.sources[0], &[]));
    }
    ptx_frontend::link(modules).map_err(|errors| {
        for error in &errors {
            report(&error.diagnostic, &error.source, &error.elsewhere);
        }
        rejected(errors.len() as u64)
    })
}

fn rejected(errors: u64) -> Failure {
    Failure::new(Exit::Rejected, format!("the PTX is not valid: {}", plural(errors, "error")))
        .help("`warpgrind explain CODE` says more about a code")
}

/// The kernel that `name` stands for: its PTX name, its C++ name with or without parameter types,
/// or, without a name, the only kernel there is.
pub(crate) fn find_kernel(module: &Module, name: Option<&str>) -> Result<FuncId, Failure> {
    let kernels: Vec<(FuncId, &str)> = module.kernels().map(|(id, function)| (id, &*function.name)).collect();
    let names = || quoted_list(kernels.iter().map(|(_, name)| shown(name)));
    let Some(name) = name else {
        return match kernels[..] {
            [] => Err(Failure::usage("the PTX has no kernel")),
            [(id, _)] => Ok(id),
            _ => Err(Failure::usage("the PTX has several kernels; say which one with `--entry`")
                .help(format!("the kernels are {}", names()))),
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
            let failure = Failure::usage(format!("there is no kernel `{name}`"));
            let bases: Vec<String> = kernels
                .iter()
                .map(|(_, k)| demangle(k).map_or(k.to_string(), |full| base_name(&full).to_string()))
                .collect();
            let failure = failure.suggest(name, bases.iter().map(String::as_str));
            match (failure.help.is_empty(), kernels.is_empty()) {
                (_, true) => Err(failure.help("the PTX has no kernel")),
                (true, false) => Err(failure.help(format!("the kernels are {}", names()))),
                (false, false) => Err(failure),
            }
        }
        _ => Err(Failure::usage(format!("several kernels are called `{name}`; use the PTX name"))
            .help(format!("the kernels are {}", names()))),
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

/// A path of a launch file, from its directory, without needless `..` in it.
pub(crate) fn join(directory: &Path, path: &Path) -> PathBuf {
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
        ptx_frontend::parse(Source::new("a.ptx", text.into_bytes())).module.unwrap()
    }

    fn found(module: &Module, name: Option<&str>) -> Result<String, Failure> {
        find_kernel(module, name).map(|id| module.functions[id.index()].name.to_string())
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
        assert_eq!(found(&two, Some("saxpi")).unwrap_err().help, ["did you mean `saxpy`?"]);
        assert_eq!(found(&two, None).unwrap_err().help, ["the kernels are `saxpy`, `gemm`"]);
        assert_eq!(found(&module(&["only"]), None).unwrap(), "only");
        assert!(found(&module(&[]), None).unwrap_err().message.contains("no kernel"));
    }
}
