//! Names in messages.

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

/// `a`, `b` and `c`, in quotes and with commas.
pub fn quoted_list(names: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_close() {
        assert_eq!(closest("saxpi", ["gemm", "saxpy"]), Some("saxpy"));
        assert_eq!(closest("zzz", ["gemm", "saxpy"]), None);
    }
}
