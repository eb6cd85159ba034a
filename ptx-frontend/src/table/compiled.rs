//! The rows by index and by opcode, compiled on first use.

use std::sync::{LazyLock, OnceLock};

use isa::Opcode;

use super::effects::Does;
use super::model::Notation;
use super::need::Need;
use super::notation;
use super::rows::{self, Group, Row};

/// A row for one opcode.
pub(super) struct Entry {
    pub(super) opcode: Opcode,
    pub(super) group: &'static Group,
    pub(super) section: &'static str,
    pub(super) row: &'static Row,
    pub(super) does: Does,
    compiled: OnceLock<Compiled>,
}

/// What is read off a row.
pub(super) struct Compiled {
    pub(super) notation: Notation,
    pub(super) need: Need,
    pub(super) display: String,
}

impl Entry {
    /// The compiled row. A row that does not parse matches nothing; a test rules it out.
    pub(super) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled {
            notation: self.parse().unwrap_or(Notation { variants: Vec::new(), signatures: Vec::new() }),
            need: Need::parse(self.row.need).unwrap_or(Need::none()),
            display: notation::display(self.row.text, self.opcode),
        })
    }

    /// Parses the row's text.
    pub(super) fn parse(&self) -> Result<Notation, String> {
        notation::parse(self.row.text, self.opcode, self.group.sets)
    }
}

/// All rows.
pub(super) struct Index {
    pub(super) entries: Vec<Entry>,
    by_opcode: Vec<Vec<u16>>,
}

impl Index {
    /// The rows of an opcode, with their indices.
    pub(super) fn rows(&'static self, opcode: Opcode) -> impl Iterator<Item = (u16, &'static Entry)> {
        self.by_opcode[opcode as usize].iter().map(|&at| (at, &self.entries[usize::from(at)]))
    }
}

/// The index of all rows.
pub(super) static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { entries: Vec::new(), by_opcode: vec![Vec::new(); Opcode::ALL.len()] };
    for group in rows::GROUPS {
        for (from, row) in group.sections.iter().flat_map(|s| s.rows.iter().map(move |r| (s, r))) {
            let (section, does) = (from.number, from.effects(row));
            let (opcodes, _) = notation::split_opcodes(row.text);
            for opcode in opcodes.split('|').filter_map(Opcode::from_text) {
                index.by_opcode[opcode as usize].push(index.entries.len() as u16);
                index.entries.push(Entry { opcode, group, section, row, does, compiled: OnceLock::new() });
            }
        }
    }
    index
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_parses() {
        let mut errors = Vec::new();
        for entry in &INDEX.entries {
            match entry.parse() {
                Err(error) => errors.push(error),
                Ok(notation) => {
                    let slots = notation.variants.iter().map(|variant| variant.slots.len()).max();
                    assert!(slots.unwrap_or(0) <= 32, "{}", entry.row.text);
                }
            }
            if Need::parse(entry.row.need).is_none() {
                errors.push(format!("row `{}`: bad requirement `{}`", entry.row.text, entry.row.need));
            }
        }
        for group in rows::GROUPS {
            for row in group.sections.iter().flat_map(|section| section.rows) {
                for word in notation::split_opcodes(row.text).0.split('|') {
                    if Opcode::from_text(word).is_none() {
                        errors.push(format!("row `{}`: unknown opcode", row.text));
                    }
                }
            }
        }
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    #[test]
    fn every_opcode_has_rows() {
        let without: Vec<&str> =
            Opcode::ALL.iter().filter(|&&o| INDEX.rows(o).next().is_none()).map(|o| o.text()).collect();
        assert!(without.is_empty(), "{without:?}");
    }
}
