//! Nsight Compute's raw page as CSV: a line of names, one of units, and one a launch.

use std::fmt::Write;

use super::{Profile, number};

/// The columns before the numbers.
const LAUNCH: [&str; 11] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

/// A raw page that was read: of each launch its kernel and its numbers by name.
#[derive(Clone, PartialEq, Debug)]
pub struct Launched {
    /// The kernel, as the page names it.
    pub kernel: String,
    /// Numbers; cells that are none are left out.
    pub values: Vec<(String, f64)>,
}

/// A kernel's own name, of one that is written out: without its namespaces, of which pages leave out some, and without what it
/// returns, its template arguments and parameters.
pub fn own_name(kernel: &str) -> &str {
    let mut own = kernel;
    for unnamed in ["(anonymous namespace)::", "<unnamed>::"] {
        while let Some((before, after)) = own.split_once(unnamed)
            && !before.contains(['(', '<'])
        {
            own = after;
        }
    }
    let own = own.split(['(', '<']).next().unwrap_or(own).trim();
    own.rsplit([':', ' ']).next().unwrap_or(own)
}

/// The page of some launches: all numbers that `wanted` takes.
pub fn write(process: &str, launches: &[Profile], wanted: impl Fn(&str) -> bool) -> String {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for value in launches.iter().flat_map(|launch| &launch.values).filter(|value| wanted(&value.name)) {
        if let Err(at) = columns.binary_search_by(|(name, _)| (*name).cmp(&value.name)) {
            columns.insert(at, (&value.name, value.unit));
        }
    }
    let mut text = String::new();
    row(&mut text, LAUNCH.into_iter().chain(columns.iter().map(|(name, _)| *name)));
    row(&mut text, LAUNCH.into_iter().map(|_| "").chain(columns.iter().map(|(_, unit)| *unit)));
    for (id, launch) in launches.iter().enumerate() {
        let extents = |of: sim_core::Dim3| format!("({}, {}, {})", of.x, of.y, of.z);
        let own = [
            id.to_string(),
            "0".into(),
            process.into(),
            "127.0.0.1".into(),
            launch.kernel.clone(),
            "1".into(),
            "7".into(),
            extents(launch.block),
            extents(launch.grid),
            "0".into(),
            "9.0".into(),
        ];
        let numbers = columns.iter().map(|(name, _)| launch.value(name).map_or(String::new(), number));
        row(&mut text, own.into_iter().chain(numbers));
    }
    text
}

fn row(text: &mut String, cells: impl Iterator<Item = impl AsRef<str>>) {
    for (at, cell) in cells.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\"{}\"", cell.as_ref().replace('"', "\"\""));
    }
    text.push('\n');
}

/// Reads a page that `ncu --csv --page raw` wrote; lines around it are passed over.
///
/// # Errors
/// There is no line of names with a kernel's among them, or a line is cut off.
pub fn read(text: &str) -> Result<Vec<Launched>, String> {
    let quoted = || text.lines().enumerate().filter(|(_, line)| line.starts_with('"'));
    if let Some((number, _)) = quoted().find(|(_, line)| line.matches('"').count() % 2 != 0) {
        return Err(format!("line {}: a quote is not closed", number + 1));
    }
    let mut rows = quoted().map(|(_, line)| cells(line));
    let missing = "no line begins with \"ID\": is it a page of `ncu --csv --page raw`?";
    let names = rows.find(|row| row.first().is_some_and(|cell| cell == "ID")).ok_or(missing)?;
    let kernel =
        names.iter().position(|name| name == "Kernel Name").ok_or("there is no column `Kernel Name`")?;
    let mut launches = Vec::new();
    for row in rows {
        // The line of units has no number of a launch.
        if row.first().is_none_or(|id| id.parse::<u64>().is_err()) {
            continue;
        }
        let values = names
            .iter()
            .zip(&row)
            .skip(LAUNCH.len())
            .filter_map(|(name, cell)| Some((name.clone(), cell.replace(',', "").parse().ok()?)));
        launches.push(Launched {
            kernel: row.get(kernel).cloned().unwrap_or_default(),
            values: values.collect(),
        });
    }
    Ok(launches)
}

/// The cells of a line.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells.iter_mut().last().into_iter().for_each(|cell| cell.push('"'));
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            '\r' if !quoted => {}
            other => cells.iter_mut().last().into_iter().for_each(|cell| cell.push(other)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Value;
    use sim_core::Dim3;

    #[test]
    fn what_is_written_is_read() {
        let value = |name: &str, value| Value { name: name.into(), unit: "inst", value };
        let launch = Profile {
            kernel: "a<int, \"x\">".into(),
            grid: Dim3::new(2, 1, 1),
            block: Dim3::new(32, 1, 1),
            values: vec![value("a__b.sum", 12.0), value("c__d.pct", 12.5)],
        };
        let text = write("app", std::slice::from_ref(&launch), |_| true);
        let read = read(&format!("==PROF== something\n{text}")).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].kernel, launch.kernel);
        assert_eq!(read[0].values, [("a__b.sum".to_owned(), 12.0), ("c__d.pct".to_owned(), 12.5)]);
    }

    #[test]
    fn numbers_have_separators() {
        let text = "\"ID\",\"Kernel Name\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"x\"\n\
                    \"0\",\"k\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"1,234\"\n";
        assert_eq!(read(text).unwrap()[0].values, [("x".to_owned(), 1234.0)]);
        assert!(read("nothing").is_err());
        assert_eq!(read("x\n\"ID\",\"Kernel Na").unwrap_err(), "line 2: a quote is not closed");
    }

    #[test]
    fn a_kernel_is_known_by_its_own_name() {
        for (written, own) in [
            ("kernel", "kernel"),
            ("void kernel<int>(int *)", "kernel"),
            ("void cub::detail::for_each::static_kernel<cub::policy_500_t, long>(long)", "static_kernel"),
            ("void for_each::static_kernel<for_each::policy_500_t, long>(T2)", "static_kernel"),
            ("(anonymous namespace)::kernel((anonymous namespace)::Node *)", "kernel"),
            ("void a::<unnamed>::kernel<b::c>(<unnamed>::Node)", "kernel"),
            ("kernel (int, b::c)", "kernel"),
            ("", ""),
        ] {
            assert_eq!(own_name(written), own, "{written}");
        }
    }
}
