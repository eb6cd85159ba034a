//! The tables of CUDA's functions.

use std::collections::BTreeSet;

/// Lines of symbol, name, version, state.
pub(crate) const DRIVER: &str = include_str!("../../names/driver.txt");
/// Lines of name, versions, state.
const RUNTIME: &str = include_str!("../../names/runtime.txt");

fn fields(line: &'static str) -> Vec<&'static str> {
    line.split(' ').collect()
}

/// The names of a version of the runtime library.
pub(crate) fn runtime_names(version: u32) -> Vec<&'static str> {
    let has = |fields: &Vec<&str>| {
        fields[1].split(',').any(|known| known.trim_end_matches('*') == version.to_string())
    };
    RUNTIME.lines().map(fields).filter(has).map(|fields| fields[0]).collect()
}

/// All functions that are implemented.
pub(crate) fn implemented() -> BTreeSet<&'static str> {
    let rows = DRIVER.lines().chain(RUNTIME.lines()).map(fields);
    rows.filter(|fields| fields.last() == Some(&"implemented")).map(|fields| fields[0]).collect()
}
