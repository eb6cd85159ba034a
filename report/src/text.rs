//! Texts that others chose.

/// Text that somebody else chose, such as the name of a file, with its control characters as escapes: a
/// terminal would obey them.
pub fn printable(text: impl AsRef<std::ffi::OsStr>) -> String {
    escaped(&text.as_ref().to_string_lossy(), |_| false)
}

/// A text with its control characters but those that are `kept` as escapes such as `\u{1b}`.
pub fn escaped(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() && !kept(character) {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\n\u{9b}"), "a\\u{1b}[31mb\\n\\u{9b}");
    }
}
