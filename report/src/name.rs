//! Kernels' names as people write them.

use std::borrow::Cow;

use cpp_demangle::{BorrowedSymbol, DemangleOptions};

/// The C++ name of a mangled one, without the return type; `None` if it is not mangled.
pub fn demangle(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let symbol = BorrowedSymbol::new(name.as_bytes()).ok()?;
    symbol.demangle_with_options(&DemangleOptions::new().no_return_type()).ok()
}

/// The C++ name, or the name itself.
pub fn readable(name: &str) -> Cow<'_, str> {
    demangle(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// The candidate that `wrong` most likely stands for.
pub fn closest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wrong, &name.to_lowercase()), name))
        .filter(|&(score, _)| score > 0.78)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_read() {
        assert_eq!(readable("_Z5scalePffi"), "scale(float*, float, int)");
        assert_eq!(readable("saxpy"), "saxpy");
        assert_eq!(readable("_Z?"), "_Z?");
    }

    #[test]
    fn suggestions_are_close() {
        assert_eq!(closest("saxpi", ["gemm", "saxpy"]), Some("saxpy"));
        assert_eq!(closest("zzz", ["gemm", "saxpy"]), None);
    }
}
