//! Files of suppressions; `cli/SUPPRESSIONS.md` describes them.

use std::ops::Range;

use glob::{MatchOptions, Pattern};
use ptx_frontend::Source;
use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};

use super::{Issue, TriageError};
use crate::name::{closest, readable};

/// A suppression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rule {
    /// The kind that it is about; all without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Glob>,
    /// Files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Glob>,
    /// First and last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// Why.
    pub reason: String,
    /// `file:line` where it stands.
    pub origin: String,
}

/// A pattern of a shell: `*`, `?`, `[…]`, and in paths `**`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glob(Pattern);

impl TryFrom<String> for Glob {
    type Error = glob::PatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Pattern::new(&text).map(Glob)
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> String {
        glob.0.as_str().to_owned()
    }
}

impl Glob {
    /// A kernel by its PTX name or its C++ name, with or without the types of its parameters.
    fn takes_kernel(&self, name: &str) -> bool {
        let full = readable(name);
        let bare = full.split('(').next().unwrap_or(&full);
        [name, &full, bare].into_iter().any(|name| self.0.matches(name))
    }

    /// A file by its path, or by the end of its path.
    fn takes_file(&self, path: &str) -> bool {
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
        let is_whole = self.0.as_str().starts_with('/');
        let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        std::iter::once(path).chain(ends.filter(|_| !is_whole)).any(|end| self.0.matches_with(end, options))
    }
}

impl Rule {
    /// Whether it names this issue. Of a race one of the two places is enough: which one is first depends on the schedule.
    pub(super) fn matches(&self, issue: &Issue) -> bool {
        let place = |file: &Glob| {
            issue.places.iter().any(|spot| {
                file.takes_file(&spot.file)
                    && self.lines.is_none_or(|(first, last)| (first..=last).contains(&spot.line))
            })
        };
        self.kind.as_ref().is_none_or(|kind| *kind == issue.kind)
            && self.kernel.as_ref().is_none_or(|kernel| kernel.takes_kernel(&issue.kernel))
            && self.file.as_ref().is_none_or(place)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppression: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    kind: Option<Spanned<String>>,
    kernel: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    line: Option<Spanned<Value>>,
    reason: Option<Spanned<String>>,
}

/// The suppressions of a file, whose kinds are among these.
///
/// # Errors
/// The file is no such file: what is wrong with it and where.
pub fn rules(name: &str, text: Vec<u8>, kinds: &[&str]) -> Result<Vec<Rule>, Box<TriageError>> {
    let source = Source::new(name, text);
    let wrong = |span: Range<usize>, message: String, help: Option<&str>| {
        let help = help.map(str::to_owned).into_iter().collect();
        Box::new(TriageError { message, help, source: source.clone(), span })
    };
    let file: File = toml::from_str(&source.text).map_err(|error| {
        let message = error.message().trim_end().replace('\n', "; ");
        let help = "a suppression is a `[[suppression]]` with `kind`, `kernel`, `file`, `line` and `reason`";
        wrong(error.span().unwrap_or(0..0), message, Some(help))
    })?;
    let glob = |text: Option<Spanned<String>>| {
        let glob = |text: Spanned<String>| {
            let pattern = Glob::try_from(text.get_ref().clone());
            pattern.map_err(|error| {
                let help = "`*` stands for any text, `?` for a character, `[ab]` for one of them, `[*]` for `*` itself";
                wrong(text.span(), format!("`{}` is no pattern: {}", text.get_ref(), error.msg), Some(help))
            })
        };
        text.map(glob).transpose()
    };
    let mut rules = Vec::new();
    for entry in file.suppression {
        let place = entry.span();
        let entry = entry.into_inner();
        let Some(reason) = entry.reason.filter(|reason| !reason.get_ref().trim().is_empty()) else {
            let help = "say in `reason` why these findings do not matter: it is shown in reports";
            return Err(wrong(place, "the suppression has no `reason`".into(), Some(help)));
        };
        if let Some(kind) = &entry.kind
            && !kinds.contains(&&**kind.get_ref())
        {
            let near = closest(kind.get_ref(), kinds.iter().copied());
            let help = near.map_or("`warpgrind explain` lists the kinds".into(), |near| {
                format!("did you mean `{near}`?")
            });
            return Err(wrong(kind.span(), format!("there is no kind `{}`", kind.get_ref()), Some(&help)));
        }
        if let Some(kind) = entry.kind.as_ref().filter(|kind| *kind.get_ref() == super::INTERNAL) {
            let help = "it is a bug in warpgrind, after which results mean nothing: please report it";
            return Err(wrong(kind.span(), "an internal error cannot be suppressed".into(), Some(help)));
        }
        if entry.kind.is_none() && entry.kernel.is_none() && entry.file.is_none() {
            let help = "name a `kind`, a `kernel` or a `file`";
            return Err(wrong(place, "the suppression would hide everything".into(), Some(help)));
        }
        let lines = match &entry.line {
            None => None,
            Some(line) if entry.file.is_none() => {
                return Err(wrong(line.span(), "a `line` needs its `file`".into(), None));
            }
            Some(line) => Some(lines(line.get_ref()).ok_or_else(|| {
                let help = "a number from 1 on, or first and last of several as text: \"12-15\"";
                wrong(line.span(), "this is no line".into(), Some(help))
            })?),
        };
        rules.push(Rule {
            kind: entry.kind.map(Spanned::into_inner),
            kernel: glob(entry.kernel)?,
            file: glob(entry.file)?,
            lines,
            reason: reason.into_inner(),
            origin: format!("{name}:{}", source.line_column(place.start as u32).0),
        });
    }
    Ok(rules)
}

/// `12`, or `"12-15"`.
fn lines(value: &Value) -> Option<(u32, u32)> {
    let (first, last) = match value {
        Value::Integer(line) => (u32::try_from(*line).ok()?, u32::try_from(*line).ok()?),
        Value::String(text) => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            (first.trim().parse().ok()?, last.trim().parse().ok()?)
        }
        _ => return None,
    };
    (1 <= first && first <= last).then_some((first, last))
}

/// A suppression of this issue and of nothing that is known to differ from it, ready for a file.
pub fn entry(issue: &Issue) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut out = format!("[[suppression]]\nkind = {}\n", quoted(&issue.kind));
    if !issue.kernel.is_empty() {
        out += &format!("kernel = {}\n", quoted(&Pattern::escape(&issue.kernel)));
    }
    if let Some(spot) = issue.places.first() {
        out += &format!("file = {}\n", quoted(&Pattern::escape(&spot.file)));
        if spot.line > 0 {
            out += &format!("line = {}\n", spot.line);
        }
    }
    out + "reason = \"\"\n"
}

#[cfg(test)]
mod tests {
    use super::super::Spot;
    use super::*;
    use proptest::prelude::*;

    const KINDS: &[&str] = &["data-race", "out-of-bounds", "internal-error"];

    fn issue(kernel: &str, file: &str, line: u32) -> Issue {
        Issue::new("data-race", kernel, vec![Spot { file: file.into(), line }], &[])
    }

    fn rule(text: &str) -> Rule {
        rules("s.toml", format!("[[suppression]]\nreason = \"r\"\n{text}").into(), KINDS).unwrap().remove(0)
    }

    #[test]
    fn kernels_are_named_in_ptx_or_in_cuda() {
        let issue = issue("_Z5scalePffi", "a.cu", 1);
        for (pattern, expected) in [
            ("_Z5scale*", true),
            ("scale", true),
            ("scale(float*, float, int)", true),
            ("sca?e", true),
            ("scale*", true),
            ("scal", false),
            ("*", true),
        ] {
            assert_eq!(rule(&format!("kernel = \"{pattern}\"")).matches(&issue), expected, "{pattern}");
        }
    }

    #[test]
    fn files_are_named_by_the_end_of_their_path() {
        let issue = issue("k", "/home/me/kernels/a.cu", 7);
        for (pattern, line, expected) in [
            ("a.cu", "", true),
            ("kernels/a.cu", "line = 7", true),
            ("kernels/*.cu", "line = \"6-8\"", true),
            ("*.cu", "line = 8", false),
            ("ernels/a.cu", "", false),
            ("me/*.cu", "", false),
            ("me/**/*.cu", "", true),
            ("/home/me/kernels/a.cu", "", true),
            ("/kernels/a.cu", "", false),
        ] {
            let rule = rule(&format!("file = \"{pattern}\"\n{line}"));
            assert_eq!(rule.matches(&issue), expected, "{pattern} {line}");
        }
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, line, message, help) in [
            ("[[suppression]]\nkind = \"data-race\"\n", 1, "the suppression has no `reason`", "reason"),
            (
                "[[suppression]]\nkind = \"data-race\"\nreason = \" \"\n",
                1,
                "the suppression has no `reason`",
                "why",
            ),
            (
                "\n[[suppression]]\nreason = \"r\"\nkind = \"data-rase\"\n",
                4,
                "there is no kind `data-rase`",
                "did you mean `data-race`?",
            ),
            (
                "[[suppression]]\nreason = \"r\"\nkind = \"zzzzzzzz\"\n",
                3,
                "there is no kind `zzzzzzzz`",
                "explain",
            ),
            (
                "[[suppression]]\nreason = \"r\"\nkind = \"internal-error\"\n",
                3,
                "cannot be suppressed",
                "bug",
            ),
            ("[[suppression]]\nreason = \"r\"\n", 1, "the suppression would hide everything", "kernel"),
            (
                "[[suppression]]\nreason = \"r\"\nkind = \"data-race\"\nline = 3\n",
                4,
                "a `line` needs its `file`",
                "",
            ),
            (
                "[[suppression]]\nreason = \"r\"\nfile = \"a\"\nline = \"9-3\"\n",
                4,
                "this is no line",
                "12-15",
            ),
            ("[[suppression]]\nreason = \"r\"\nfile = \"a\"\nline = 0\n", 4, "this is no line", "12-15"),
            (
                "[[suppression]]\nreason = \"r\"\nkernel = \"[\"\n",
                3,
                "`[` is no pattern: invalid range pattern",
                "[*]",
            ),
            (
                "[[suppression]]\nreason = \"r\"\nkernal = \"k\"\n",
                3,
                "unknown field `kernal`",
                "[[suppression]]",
            ),
            ("[[suppression]\n", 1, "", "[[suppression]]"),
        ] {
            let error = rules("s.toml", text.into(), KINDS).unwrap_err();
            assert!(error.message.contains(message), "{text}: {}", error.message);
            let at = error.source.line_column(error.span.start as u32).0;
            assert_eq!(at, line, "{text}: {}", error.message);
            assert!(error.help.join(" ").contains(help), "{text}: {:?}", error.help);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_suppresses_what_it_was_printed_for(kernel: String, file: String, line in 1u32..) {
            let issue = issue(&kernel, &file, line);
            let text = entry(&issue).replace("reason = \"\"", "reason = \"r\"");
            let rules = rules("s.toml", text.clone().into_bytes(), KINDS).unwrap();
            prop_assert!(rules[0].matches(&issue), "{}", text);
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = rules("s.toml", text.into_bytes(), KINDS);
        }
    }
}
