//! `--report FILE`: what was found, in a file of the format that its name says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::{exchange, html};
use crate::exit::Failure;
use crate::files;

/// A report that is going to be written.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    write: fn(&Value) -> String,
}

impl ReportFile {
    /// The report of this name.
    ///
    /// # Errors
    /// The name says no format, or the file cannot be written.
    pub(crate) fn named(path: &Path) -> Result<ReportFile, Failure> {
        let write: fn(&Value) -> String = match path.extension().and_then(OsStr::to_str) {
            Some("html") => html::page,
            Some("sarif") => exchange::sarif,
            Some("xml") => exchange::junit,
            Some("github") => exchange::github,
            Some("json") => |document| format!("{document:#}\n"),
            _ => {
                return Err(Failure::usage(format!(
                    "the name of {} does not say how the findings are to be written",
                    path.display()
                ))
                .help("FILE.html, FILE.sarif, FILE.xml (JUnit), FILE.github or FILE.json"));
            }
        };
        files::can_replace(path)?;
        Ok(ReportFile { path: path.to_owned(), write })
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(&self, document: &impl Serialize) -> Result<(), Failure> {
        let document = serde_json::to_value(document).unwrap_or_default();
        files::replace(&self.path, (self.write)(&document).as_bytes())
    }
}
