//! What a device counted: tables that were recorded on one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

/// A recorded launch: its name and values by metric.
pub(crate) struct Recorded {
    pub(crate) launch: String,
    pub(crate) kernel: String,
    pub(crate) values: BTreeMap<String, u64>,
}

pub(crate) fn recorded(name: &str) -> Vec<Recorded> {
    let path = testdata().join(format!("counters/recordings/{name}.csv"));
    let text = std::fs::read_to_string(path).expect("a recording");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    lines
        .map(|cells| Recorded {
            launch: cells[0].to_owned(),
            kernel: cells[1].to_owned(),
            values: header
                .iter()
                .zip(&cells)
                .skip(2)
                .filter_map(|(name, cell)| Some(((*name).to_owned(), cell.parse().ok()?)))
                .collect(),
        })
        .collect()
}
