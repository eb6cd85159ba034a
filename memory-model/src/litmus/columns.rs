//! Threads side by side, as litmus files have them.

/// Rows of cells from the columns, of which each begins with the thread's name and place.
pub(crate) fn columns(columns: &[Vec<String>]) -> String {
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: &Vec<String>| column.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for row in 0..rows {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| format!("{:1$}", column.get(row).map_or("", String::as_str), width(column)))
            .collect();
        out += &format!(" {} ;\n", cells.join(" | "));
    }
    out
}
