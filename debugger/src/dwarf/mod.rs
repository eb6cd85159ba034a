//! Variables of CUDA C++, from the DWARF sections that compilers put into PTX texts.
//!
//! `sections` makes the bytes of the sections of the text, `types` types of their entries. An address of code is a place in the
//! text: a label stands before its instruction there, so that no other numbering is needed. Registers are numbered by the
//! letters of their names, and what lies in memory by its symbol.
//!
//! What is broken is left out: debug information comes from a file, and may be anything.

mod sections;
mod types;

use std::collections::HashMap;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit};

use crate::types::Type;
use sections::Sections;
use types::Types;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'u, 'a> = DebuggingInformationEntry<'u, 'u, Slice<'a>>;

/// How deep blocks and types may be in one another.
const DEPTH: usize = 64;

/// A table of lines that is empty: lines are in `.loc` directives, of which ptxas makes the table that units refer to.
const NO_LINES: [u8; 17] = [13, 0, 0, 0, 2, 0, 7, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0];

/// Where a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// In a register, by its name.
    Register(String),
    /// So many bytes behind a variable of the PTX, by its name.
    Symbol(String, u64),
    /// At places of the text, from one to before another.
    List(Vec<(u64, u64, Location)>),
    /// Nowhere that is known.
    Unknown,
}

/// A variable or parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type; of a reference that of what it refers to.
    pub ty: Type,
    /// It holds the address of its value.
    pub is_reference: bool,
    /// It is a parameter of its function.
    pub is_parameter: bool,
    /// Where it is.
    pub location: Location,
}

/// A function that is inlined into another one, and from where it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inlined {
    /// The function, by its name in PTX if it has one.
    pub function: String,
    /// The number of the file, as `.file` directives give it.
    pub file: u32,
    /// The line.
    pub line: u32,
}

/// A function, or a block of one, and what it declares.
#[derive(Debug)]
struct Block {
    inlined: Option<Inlined>,
    /// Places of the text, from and to before.
    range: (u64, u64),
    variables: Vec<Variable>,
    blocks: Vec<Block>,
}

/// What the debug information of a text says.
#[derive(Debug, Default)]
pub struct Information {
    functions: Vec<Block>,
    globals: Vec<Variable>,
    types: HashMap<String, Type>,
    /// Whether any function is inlined into another one.
    inlines: bool,
}

impl Information {
    /// That of a PTX text; empty where there is none, or none that can be read.
    pub fn read(text: &str) -> Information {
        let mut found = Information::default();
        if let Some(sections) = Sections::read(text) {
            // What was read before something broken is kept.
            let _ = found.units(&sections);
        }
        found
    }

    fn units(&mut self, sections: &Sections<'_>) -> gimli::Result<()> {
        let load = |id: gimli::SectionId| {
            let bytes = match sections.bytes(id.name()) {
                [] if id == gimli::SectionId::DebugLine => &NO_LINES,
                bytes => bytes,
            };
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = Dwarf::load(load)?;
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let mut reader =
                Reader { sections, dwarf: &dwarf, unit: &unit, types: Types::default(), inlines: false };
            let mut tree = unit.entries_tree(None)?;
            let read = reader.unit(tree.root()?, self, 0);
            self.inlines |= reader.inlines;
            self.types.extend(reader.types.by_name);
            read?;
        }
        Ok(())
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.globals.is_empty()
    }

    /// The blocks at a place of the text, the outermost first.
    fn blocks(&self, at: u64) -> Vec<&Block> {
        let mut chain = Vec::new();
        let mut blocks = &self.functions;
        while let Some(block) = blocks.iter().find(|block| (block.range.0..block.range.1).contains(&at)) {
            chain.push(block);
            blocks = &block.blocks;
        }
        chain
    }

    /// The inlined functions at a place of the text, the innermost first.
    pub fn inlined(&self, at: u64) -> Vec<&Inlined> {
        let blocks = if self.inlines { self.blocks(at) } else { Vec::new() };
        blocks.into_iter().rev().filter_map(|block| block.inlined.as_ref()).collect()
    }

    /// What can be named at a place of the text: the innermost first, a name once. `level` is 0 in the innermost inlined
    /// function there, 1 in its caller, and so on.
    pub fn variables(&self, at: u64, level: usize) -> Vec<&Variable> {
        let mut found: Vec<&Variable> = Vec::new();
        let mut own = 0;
        for block in self.blocks(at).into_iter().rev() {
            let declared = block.variables.iter().filter(|_| own == level);
            for variable in declared {
                if !found.iter().any(|known| known.name == variable.name) {
                    found.push(variable);
                }
            }
            own += usize::from(block.inlined.is_some());
        }
        found
    }

    /// A variable by its name, at a place of the text.
    pub fn variable(&self, name: &str, at: u64, level: usize) -> Option<&Variable> {
        let own = self.variables(at, level).into_iter().find(|variable| variable.name == name);
        own.or_else(|| self.globals.iter().find(|variable| variable.name == name))
    }

    /// A type by its name.
    pub fn type_named(&self, name: &str) -> Option<&Type> {
        let plain =
            ["struct ", "class ", "union ", "enum "].into_iter().find_map(|word| name.strip_prefix(word));
        self.types.get(plain.unwrap_or(name))
    }
}

/// Reads the entries of a unit.
struct Reader<'u, 's, 'a> {
    sections: &'s Sections<'a>,
    dwarf: &'u Dwarf<Slice<'s>>,
    unit: &'u Unit<Slice<'s>>,
    types: Types,
    inlines: bool,
}

type Node<'n, 'u, 's> = gimli::EntriesTreeNode<'u, 'u, 'n, Slice<'s>>;

impl<'s> Reader<'_, 's, '_> {
    fn unit(&mut self, node: Node<'_, '_, 's>, into: &mut Information, depth: usize) -> gimli::Result<()> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match child.entry().tag() {
                gimli::DW_TAG_subprogram => into.functions.extend(self.block(child, 0)?),
                gimli::DW_TAG_variable => into.globals.extend(self.variable(child.entry())?),
                gimli::DW_TAG_namespace if depth < DEPTH => self.unit(child, into, depth + 1)?,
                tag if types::is_type(tag) => {
                    let offset = child.entry().offset();
                    self.types.at(self.unit, self.dwarf, offset, 0)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The places of the text that an entry is of; none of a declaration.
    fn range(&self, entry: &Entry<'_, 's>) -> gimli::Result<Option<(u64, u64)>> {
        let Some(AttributeValue::Addr(low)) = entry.attr_value(gimli::DW_AT_low_pc)? else { return Ok(None) };
        Ok(match entry.attr_value(gimli::DW_AT_high_pc)? {
            Some(AttributeValue::Addr(high)) => Some((low, high)),
            Some(value) => value.udata_value().map(|bytes| (low, low.saturating_add(bytes))),
            None => None,
        })
    }

    fn block(&mut self, node: Node<'_, '_, 's>, depth: usize) -> gimli::Result<Option<Block>> {
        let range = self.range(node.entry())?;
        let inlined = match node.entry().tag() {
            gimli::DW_TAG_inlined_subroutine => Some(self.inlined(node.entry())?),
            _ => None,
        };
        self.inlines |= inlined.is_some();
        let mut block =
            Block { inlined, range: range.unwrap_or_default(), variables: Vec::new(), blocks: Vec::new() };
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match child.entry().tag() {
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine if depth < DEPTH => {
                    block.blocks.extend(self.block(child, depth + 1)?);
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    block.variables.extend(self.variable(child.entry())?);
                }
                _ => {}
            }
        }
        Ok(range.map(|_| block))
    }

    fn inlined(&self, entry: &Entry<'_, 's>) -> gimli::Result<Inlined> {
        let number = |name| -> gimli::Result<u32> {
            let value = entry.attr_value(name)?;
            let value = match value {
                Some(AttributeValue::FileIndex(index)) => Some(index),
                Some(value) => value.udata_value(),
                None => None,
            };
            Ok(value.and_then(|value| value.try_into().ok()).unwrap_or(0))
        };
        let (file, line) = (number(gimli::DW_AT_call_file)?, number(gimli::DW_AT_call_line)?);
        let function = match self.origin(entry)? {
            Some(origin) => {
                let linkage = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];
                let mut names = linkage.into_iter().chain([gimli::DW_AT_name]);
                let named = |name| types::text(self.dwarf, self.unit, &origin, name);
                names.try_fold(String::new(), |found, name| {
                    Ok::<_, gimli::Error>(if found.is_empty() { named(name)? } else { found })
                })?
            }
            None => String::new(),
        };
        Ok(Inlined { function, file, line })
    }

    /// The entry that says what an inlined one is.
    fn origin(&self, entry: &Entry<'_, 's>) -> gimli::Result<Option<Entry<'_, 's>>> {
        match entry.attr_value(gimli::DW_AT_abstract_origin)? {
            Some(AttributeValue::UnitRef(offset)) => self.unit.entry(offset).map(Some),
            _ => Ok(None),
        }
    }

    fn variable(&mut self, entry: &Entry<'_, 's>) -> gimli::Result<Option<Variable>> {
        let is_parameter = entry.tag() == gimli::DW_TAG_formal_parameter;
        // What is inlined says only where it is, and the rest elsewhere.
        let origin = self.origin(entry)?;
        let described = origin.as_ref().unwrap_or(entry);
        let name = types::name(self.dwarf, self.unit, described)?;
        if name.is_empty() {
            return Ok(None);
        }
        // Where a variable of a function lies in shared memory it has the name that the text gives it.
        let name = match name.starts_with("_Z") {
            true => reports::readable(&name).rsplit("::").next().unwrap_or(&name).to_owned(),
            false => name,
        };
        let Some(AttributeValue::UnitRef(offset)) = described.attr_value(gimli::DW_AT_type)? else {
            return Ok(None);
        };
        let (ty, is_reference) = self.types.of_variable(self.unit, self.dwarf, offset)?;
        let location = match entry.attr_value(gimli::DW_AT_location)? {
            Some(AttributeValue::Exprloc(expression)) => self.place(expression.0.slice()),
            Some(AttributeValue::Block(expression)) => self.place(expression.slice()),
            Some(value) => {
                let mut list = Vec::new();
                if let Some(mut entries) = self.dwarf.attr_locations(self.unit, value)? {
                    while let Some(entry) = entries.next()? {
                        let place = self.place(entry.data.0.slice());
                        list.push((entry.range.begin, entry.range.end, place));
                    }
                }
                Location::List(list)
            }
            None => Location::Unknown,
        };
        Ok(Some(Variable { name, ty, is_reference, is_parameter, location }))
    }

    /// What an expression says. Registers have numbers beyond those of other machines, so that it is read here.
    fn place(&self, expression: &[u8]) -> Location {
        match *expression {
            [op, ref rest @ ..] if op == gimli::DW_OP_regx.0 => {
                let letters = leb128(rest).map(|(number, _)| number.to_be_bytes());
                let name = letters.and_then(|all| {
                    let name: Vec<u8> = all.into_iter().skip_while(|&byte| byte == 0).collect();
                    String::from_utf8(name).ok()
                });
                name.map_or(Location::Unknown, Location::Register)
            }
            [op, ref rest @ ..] if op == gimli::DW_OP_addr.0 && rest.len() >= 8 => {
                let (address, rest) = rest.split_at(8);
                let address = u64::from_le_bytes(address.try_into().unwrap_or_default());
                let offset = match rest {
                    [] => Some(0),
                    [op, rest @ ..] if *op == gimli::DW_OP_plus_uconst.0 => {
                        leb128(rest).map(|(offset, _)| offset)
                    }
                    _ => None,
                };
                match (self.sections.symbol(address), offset) {
                    (Some(name), Some(offset)) => Location::Symbol(name.to_owned(), offset),
                    _ => Location::Unknown,
                }
            }
            _ => Location::Unknown,
        }
    }
}

/// A number in LEB128, and what follows.
fn leb128(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * at as u32)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}
