//! The checked-in list of cases whose results differ, each with its reason.

/// A line that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the list of differing forms has no ` # ` with a reason behind it")]
pub struct KnownError {
    /// From 1.
    pub line: usize,
}

/// Instructions that are known to differ.
///
/// A line holds the text of an instruction, ` # ` and the reason; a text that ends in `*` stands for all
/// that begin so. Empty lines, and those that begin with `#`, are comments.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Known {
    lines: Vec<(String, String)>,
}

impl Known {
    /// Reads the list.
    pub fn parse(text: &str) -> Result<Known, KnownError> {
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (instruction, reason) = line.split_once(" # ").ok_or(KnownError { line: at + 1 })?;
            lines.push((instruction.trim().to_owned(), reason.trim().to_owned()));
        }
        Ok(Known { lines })
    }

    /// The index of the line for an instruction.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.lines.iter().position(|(pattern, _)| match pattern.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => text == pattern,
        })
    }

    /// Instruction and reason of each line.
    pub(crate) fn lines(&self) -> &[(String, String)] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_text_or_beginning() {
        let known = Known::parse("# all\n\nadd.u32 %r0, %r1, %r2 # why\nmul.* # because\n").unwrap();
        assert_eq!(known.find("add.u32 %r0, %r1, %r2"), Some(0));
        assert_eq!(known.find("mul.lo.u32 %r0, %r1, %r2"), Some(1));
        assert_eq!(known.find("add.u32"), None);
        assert_eq!(known.lines()[1].1, "because");
        assert_eq!(Known::parse("\nadd.u32"), Err(KnownError { line: 2 }));
    }
}
