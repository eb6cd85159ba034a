//! Values as data, for scripts.

use crate::error::{Error, Result};
use crate::expression::{At, Stored, Value, float, signed};
use crate::types::Type;

/// A value, taken apart.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Nothing: `void`.
    Nothing,
    /// Truth.
    Bool(bool),
    /// A whole number, a character, an enumerator or an address.
    Int(i128),
    /// A float of any size.
    Float(f64),
    /// The elements of an array.
    List(Vec<Data>),
    /// The members of a structure, those of bases and of members without a name among them.
    Struct(Vec<(String, Data)>),
}

/// Most elements of a value that are taken.
const ELEMENTS: usize = 1 << 24;
/// How deep values are in one another.
const DEPTH: usize = 64;

/// A value as data.
///
/// # Errors
/// Memory of it is not there, or it has more than 16 M elements.
pub fn data(at: &At<'_>, value: &Value) -> Result<Data> {
    let mut left = ELEMENTS;
    take(at, value, &mut left, 0)
}

fn take(at: &At<'_>, value: &Value, left: &mut usize, depth: usize) -> Result<Data> {
    *left = left.checked_sub(1).filter(|_| depth < DEPTH).ok_or_else(|| {
        Error::refused(format!("the value has more than {ELEMENTS} elements; read a part of it"))
    })?;
    let (space, address) = match value.stored {
        Stored::Scalar(bits) => {
            return Ok(match &value.ty {
                Type::Bool => Data::Bool(bits != 0),
                ty if ty.is_float() => Data::Float(float(ty, bits)),
                ty => Data::Int(signed(ty, bits)),
            });
        }
        Stored::In(space, address) => (space, address),
    };
    Ok(match &value.ty {
        Type::Array(of, count) => {
            if *count > *left as u64 {
                *left = 0;
            }
            let place = |element: u64| address.wrapping_add(element.wrapping_mul(of.bytes()));
            let element = |element| take(at, &at.value_at(of, space, place(element))?, left, depth + 1);
            Data::List((0..*count).map(element).collect::<Result<_>>()?)
        }
        Type::Struct(found) => {
            let mut members = Vec::new();
            for member in &found.members {
                let part = take(at, &at.member_at(member, space, address)?, left, depth + 1)?;
                match part {
                    Data::Struct(own) if member.name.is_empty() => members.extend(own),
                    part => members.push((member.name.clone(), part)),
                }
            }
            Data::Struct(members)
        }
        _ => Data::Nothing,
    })
}
