//! Names in messages.

pub use reports::closest;

/// `a`, `b` and `c`, in quotes and with commas.
pub fn quoted_list(names: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
