//! Types of the debug information.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gimli::{AttributeValue, Dwarf, Unit, UnitOffset};

use super::{DEPTH, Entry, Slice};
use crate::types::{Member, Space, Struct, Type};

/// Those that were read.
#[derive(Default)]
pub(super) struct Types {
    known: HashMap<usize, Type>,
    /// Begun and not finished: a structure that leads to itself.
    open: HashSet<usize>,
    /// Those that have names.
    pub(super) by_name: HashMap<String, Type>,
}

/// Whether an entry is a type.
pub(super) fn is_type(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_base_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_typedef
    )
}

/// The name of an entry; empty if it has none.
pub(super) fn name<'s>(
    dwarf: &Dwarf<Slice<'s>>,
    unit: &Unit<Slice<'s>>,
    entry: &Entry<'_, 's>,
) -> gimli::Result<String> {
    text(dwarf, unit, entry, gimli::DW_AT_name)
}

/// A text that an entry has; empty if it has none.
pub(super) fn text<'s>(
    dwarf: &Dwarf<Slice<'s>>,
    unit: &Unit<Slice<'s>>,
    entry: &Entry<'_, 's>,
    name: gimli::DwAt,
) -> gimli::Result<String> {
    let Some(value) = entry.attr_value(name)? else { return Ok(String::new()) };
    Ok(dwarf.attr_string(unit, value).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default())
}

fn number(entry: &Entry<'_, '_>, name: gimli::DwAt) -> gimli::Result<Option<u64>> {
    Ok(entry.attr_value(name)?.and_then(|value| value.udata_value()))
}

/// A signed number of any form: forms of a fixed size do not say whether they have a sign.
fn signed(value: &AttributeValue<Slice<'_>>) -> Option<i64> {
    match *value {
        AttributeValue::Data1(value) => Some((value as i8).into()),
        AttributeValue::Data2(value) => Some((value as i16).into()),
        AttributeValue::Data4(value) => Some((value as i32).into()),
        AttributeValue::Data8(value) => Some(value as i64),
        _ => value.sdata_value(),
    }
}

impl Types {
    /// The type of a variable; of a reference what it refers to.
    pub(super) fn of_variable<'s>(
        &mut self,
        unit: &Unit<Slice<'s>>,
        dwarf: &Dwarf<Slice<'s>>,
        offset: UnitOffset,
    ) -> gimli::Result<(Type, bool)> {
        let entry = unit.entry(offset)?;
        let refers =
            matches!(entry.tag(), gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type);
        let ty = self.at(unit, dwarf, offset, 0)?;
        Ok(match ty {
            Type::Pointer(_, of) if refers => ((*of).clone(), true),
            ty => (ty, false),
        })
    }

    /// The type at an offset.
    pub(super) fn at<'s>(
        &mut self,
        unit: &Unit<Slice<'s>>,
        dwarf: &Dwarf<Slice<'s>>,
        offset: UnitOffset,
        depth: usize,
    ) -> gimli::Result<Type> {
        if let Some(known) = self.known.get(&offset.0) {
            return Ok(known.clone());
        }
        let entry = unit.entry(offset)?;
        let name = name(dwarf, unit, &entry)?;
        // nvcc's front end numbers what has no name.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let name = if name.strip_prefix("__C").is_some_and(is_number) { String::new() } else { name };
        if depth > DEPTH || !self.open.insert(offset.0) {
            // A pointer to it leads on by its name.
            let bytes = number(&entry, gimli::DW_AT_byte_size)?.unwrap_or(0);
            return Ok(match name.is_empty() {
                true => Type::Void,
                false => {
                    Type::Struct(Struct { kind: kind(entry.tag()), name, bytes, members: Vec::new() }.into())
                }
            });
        }
        let ty = self.read(unit, dwarf, &entry, &name, depth);
        self.open.remove(&offset.0);
        let ty = ty?;
        if is_type(entry.tag()) && !name.is_empty() {
            self.by_name.insert(name, ty.clone());
        }
        self.known.insert(offset.0, ty.clone());
        Ok(ty)
    }

    fn inner<'s>(
        &mut self,
        unit: &Unit<Slice<'s>>,
        dwarf: &Dwarf<Slice<'s>>,
        entry: &Entry<'_, 's>,
        depth: usize,
    ) -> gimli::Result<Type> {
        match entry.attr_value(gimli::DW_AT_type)? {
            Some(AttributeValue::UnitRef(offset)) => self.at(unit, dwarf, offset, depth + 1),
            _ => Ok(Type::Void),
        }
    }

    fn read<'s>(
        &mut self,
        unit: &Unit<Slice<'s>>,
        dwarf: &Dwarf<Slice<'s>>,
        entry: &Entry<'_, 's>,
        own_name: &str,
        depth: usize,
    ) -> gimli::Result<Type> {
        let bytes = number(entry, gimli::DW_AT_byte_size)?;
        Ok(match entry.tag() {
            gimli::DW_TAG_base_type => base(entry, bytes.unwrap_or(0))?,
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                Type::Pointer(Space::Generic, Arc::new(self.inner(unit, dwarf, entry, depth)?))
            }
            gimli::DW_TAG_array_type => {
                let mut ty = self.inner(unit, dwarf, entry, depth)?;
                let mut counts = Vec::new();
                let mut tree = unit.entries_tree(Some(entry.offset()))?;
                let mut children = tree.root()?.children();
                while let Some(child) = children.next()? {
                    let count = number(child.entry(), gimli::DW_AT_count)?;
                    let upper = number(child.entry(), gimli::DW_AT_upper_bound)?;
                    counts.push(count.or(upper.and_then(|last| last.checked_add(1))).unwrap_or(0));
                }
                for count in counts.into_iter().rev().take(DEPTH) {
                    ty = Type::Array(Arc::new(ty), count);
                }
                ty
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let mut members = Vec::new();
                let mut tree = unit.entries_tree(Some(entry.offset()))?;
                let mut children = tree.root()?.children();
                while let Some(child) = children.next()? {
                    let child = child.entry();
                    if !matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
                        || child.attr_value(gimli::DW_AT_external)?.is_some()
                    {
                        continue;
                    }
                    let offset = match child.attr_value(gimli::DW_AT_data_member_location)? {
                        Some(AttributeValue::Exprloc(place)) => constant(place.0.slice()),
                        Some(AttributeValue::Block(place)) => constant(place.slice()),
                        Some(value) => value.udata_value(),
                        // Of a union, or of a bit field that says where its bits are.
                        None => Some(0),
                    };
                    if let Some(offset) = offset {
                        let ty = self.inner(unit, dwarf, child, depth)?;
                        let name = match child.tag() {
                            gimli::DW_TAG_member => name(dwarf, unit, child)?,
                            _ => String::new(),
                        };
                        // nvcc's front end makes members of bases.
                        let name = if name.starts_with("__b_") { String::new() } else { name };
                        let (offset, bits) = bit_field(child, &ty, offset)?;
                        members.push(Member { name, ty, offset, bits });
                    }
                }
                let (kind, bytes) = (kind(entry.tag()), bytes.unwrap_or(0));
                Type::Struct(Struct { kind, name: own_name.to_owned(), bytes, members }.into())
            }
            gimli::DW_TAG_enumeration_type => {
                let of = match self.inner(unit, dwarf, entry, depth)? {
                    Type::Int(size, sign) => Type::Int(size, sign),
                    _ => integer(bytes.unwrap_or(4), true),
                };
                let mut names: Vec<(Arc<str>, i64)> = Vec::new();
                let mut tree = unit.entries_tree(Some(entry.offset()))?;
                let mut children = tree.root()?.children();
                while let Some(child) = children.next()? {
                    if let Some(value) = child.entry().attr_value(gimli::DW_AT_const_value)?
                        && let Some(value) = signed(&value)
                    {
                        names.push((name(dwarf, unit, child.entry())?.into(), value));
                    }
                }
                Type::Enum(own_name.into(), Arc::new(of), names.into())
            }
            // What a type is called, and whether it may be changed, changes nothing.
            _ => self.inner(unit, dwarf, entry, depth)?,
        })
    }
}

/// What a structure is called.
fn kind(tag: gimli::DwTag) -> &'static str {
    match tag {
        gimli::DW_TAG_class_type => "class",
        gimli::DW_TAG_union_type => "union",
        _ => "struct",
    }
}

/// Where a member lies, and which bits of what lies there it has, if it is a bit field. Older producers count bits from the
/// highest one of a number of `DW_AT_byte_size` on, newer ones from the lowest one of the structure.
fn bit_field(entry: &Entry<'_, '_>, ty: &Type, offset: u64) -> gimli::Result<(u64, Option<(u8, u8)>)> {
    let Some(count) = number(entry, gimli::DW_AT_bit_size)? else { return Ok((offset, None)) };
    let unit = number(entry, gimli::DW_AT_byte_size)?.unwrap_or(ty.bytes()).clamp(1, 8);
    let (offset, first) =
        match (number(entry, gimli::DW_AT_data_bit_offset)?, number(entry, gimli::DW_AT_bit_offset)?) {
            (Some(bit), _) => {
                let start = bit / 8 / unit * unit;
                (offset.wrapping_add(start), Some(bit - 8 * start))
            }
            (None, Some(above)) => {
                (offset, (8 * unit).checked_sub(above).and_then(|end| end.checked_sub(count)))
            }
            (None, None) => (offset, Some(0)),
        };
    let bits = first.filter(|first| (1..=64).contains(&count) && first + count <= 8 * ty.bytes().min(8));
    Ok((offset, bits.map(|first| (first as u8, count as u8))))
}

fn integer(bytes: u64, sign: bool) -> Type {
    match bytes {
        1 | 2 | 4 | 8 | 16 => Type::Int(bytes as u8, sign),
        _ => Type::Void,
    }
}

fn base(entry: &Entry<'_, '_>, bytes: u64) -> gimli::Result<Type> {
    let encoding = match entry.attr_value(gimli::DW_AT_encoding)? {
        Some(AttributeValue::Encoding(encoding)) => encoding,
        _ => gimli::DW_ATE_unsigned,
    };
    Ok(match (encoding, bytes) {
        (gimli::DW_ATE_boolean, 1) => Type::Bool,
        (gimli::DW_ATE_float, 2) => Type::Half,
        (gimli::DW_ATE_float, 4 | 8) => Type::Float(bytes as u8),
        (gimli::DW_ATE_signed_char, 1) => Type::Char,
        (gimli::DW_ATE_signed | gimli::DW_ATE_signed_char, _) => integer(bytes, true),
        (gimli::DW_ATE_float, _) => Type::Void,
        _ => integer(bytes, false),
    })
}

/// The offset that an expression adds.
fn constant(expression: &[u8]) -> Option<u64> {
    match expression {
        [op, rest @ ..] if *op == gimli::DW_OP_plus_uconst.0 || *op == gimli::DW_OP_constu.0 => {
            super::leb128(rest).map(|(offset, _)| offset)
        }
        _ => None,
    }
}
