//! Types of values: those of PTX, and those of CUDA C++ as far as debug information names them.

use std::fmt;
use std::sync::Arc;

use ptx_frontend::ScalarType;

/// A state space, as far as memory is read from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Global memory, constants included, and everything else by its window.
    Generic,
    /// Shared memory: offsets into the window.
    Shared,
    /// Local memory of a lane: offsets into the window.
    Local,
    /// Parameters of the kernel: offsets into the buffer.
    Param,
}

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// No value.
    Void,
    /// Whole numbers: bytes (1, 2, 4, 8 or 16), and whether they have a sign.
    Int(u8, bool),
    /// A character of one byte.
    Char,
    /// Truth.
    Bool,
    /// A float of 4 or 8 bytes.
    Float(u8),
    /// A float of 2 bytes.
    Half,
    /// bfloat16.
    Bfloat,
    /// Where a value of a type is, and in which space.
    Pointer(Space, Arc<Type>),
    /// So many of a type.
    Array(Arc<Type>, u64),
    /// A structure, class or union.
    Struct(Arc<Struct>),
    /// An enumeration: its name, the type of its values, and their names.
    Enum(Arc<str>, Arc<Type>, Arc<[(Arc<str>, i64)]>),
}

/// A structure.
#[derive(PartialEq, Eq, Debug)]
pub struct Struct {
    /// `struct`, `class` or `union`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its members.
    pub members: Vec<Member>,
}

/// A member of a structure.
#[derive(PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name; bases and members without one have an empty one.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its offset in bytes.
    pub offset: u64,
    /// Of a bit field: its lowest bit in what lies there, and how many bits it has, 1 to 64.
    pub bits: Option<(u8, u8)>,
}

impl Type {
    /// `int`
    pub const INT: Type = Type::Int(4, true);
    /// `unsigned int`
    pub const UNSIGNED: Type = Type::Int(4, false);

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Type::Void => 0,
            Type::Char | Type::Bool => 1,
            Type::Int(bytes, _) | Type::Float(bytes) => u64::from(*bytes),
            Type::Half | Type::Bfloat => 2,
            Type::Pointer(..) => 8,
            Type::Array(of, count) => of.bytes().saturating_mul(*count),
            Type::Struct(found) => found.bytes,
            Type::Enum(_, of, _) => of.bytes(),
        }
    }

    /// Whether it is a number, a pointer or the like: what a register holds.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Type::Void | Type::Array(..) | Type::Struct(_))
    }

    /// Whether it is a float of any size.
    pub fn is_float(&self) -> bool {
        matches!(self, Type::Float(_) | Type::Half | Type::Bfloat)
    }

    /// Whether its values may be below zero.
    pub fn is_signed(&self) -> bool {
        match self {
            Type::Int(_, signed) => *signed,
            Type::Char => true,
            Type::Enum(_, of, _) => of.is_signed(),
            _ => self.is_float(),
        }
    }

    /// That of a register or variable of PTX.
    pub fn of_ptx(ty: ScalarType) -> Type {
        let bytes = ty.bytes() as u8;
        match ty {
            ScalarType::Pred => Type::Bool,
            ScalarType::F16 => Type::Half,
            ScalarType::Bf16 => Type::Bfloat,
            ScalarType::F32 | ScalarType::Tf32 => Type::Float(4),
            ScalarType::F64 => Type::Float(8),
            _ => Type::Int(if matches!(bytes, 1 | 2 | 4 | 8 | 16) { bytes } else { 4 }, ty.is_signed()),
        }
    }

    /// The type that a name of C or PTX stands for, of several words perhaps.
    pub fn named(name: &str) -> Option<Type> {
        let name = name.strip_prefix("const ").unwrap_or(name);
        Some(match name {
            "void" => Type::Void,
            "bool" => Type::Bool,
            "char" => Type::Char,
            "signed char" | "int8_t" | "s8" => Type::Int(1, true),
            "unsigned char" | "uint8_t" | "u8" | "b8" => Type::Int(1, false),
            "short" | "int16_t" | "s16" => Type::Int(2, true),
            "unsigned short" | "ushort" | "uint16_t" | "u16" | "b16" => Type::Int(2, false),
            "int" | "signed" | "signed int" | "int32_t" | "s32" => Type::INT,
            "unsigned" | "unsigned int" | "uint" | "uint32_t" | "u32" | "b32" => Type::UNSIGNED,
            "long" | "long long" | "long int" | "long long int" | "int64_t" | "s64" => Type::Int(8, true),
            "unsigned long"
            | "unsigned long long"
            | "unsigned long int"
            | "unsigned long long int"
            | "size_t"
            | "uint64_t"
            | "u64"
            | "b64" => Type::Int(8, false),
            "float" | "f32" => Type::Float(4),
            "double" | "f64" => Type::Float(8),
            "half" | "__half" | "f16" => Type::Half,
            "bf16" | "__nv_bfloat16" => Type::Bfloat,
            _ => return None,
        })
    }
}

/// Parts of structures that are described inside of them, in depth.
const DEPTH: usize = 8;

impl Type {
    /// The type with its parts, as gdb's `ptype` shows it.
    pub fn describe(&self) -> String {
        self.described(0)
    }

    fn described(&self, depth: usize) -> String {
        let indent = "    ".repeat(depth);
        match self {
            Type::Struct(found) => {
                let named = |name: &str| if name.is_empty() { String::new() } else { format!(" {name}") };
                let head = format!("{}{}", found.kind, named(&found.name));
                let is_base = |member: &&Member| {
                    member.name.is_empty()
                        && matches!(&member.ty, Type::Struct(base) if !base.name.is_empty())
                };
                let bases: Vec<String> =
                    found.members.iter().filter(is_base).map(|member| member.ty.to_string()).collect();
                let bases =
                    if bases.is_empty() { String::new() } else { format!(" : public {}", bases.join(", ")) };
                if found.members.is_empty() || depth >= DEPTH {
                    return format!("{head}{bases} {{...}}");
                }
                let members: String = found
                    .members
                    .iter()
                    .filter(|member| !is_base(member))
                    .map(|member| {
                        let bits = member.bits.map_or(String::new(), |(_, count)| format!(" : {count}"));
                        let declared = match &member.ty {
                            Type::Struct(inner) if inner.name.is_empty() => {
                                format!("{}{}", member.ty.described(depth + 1), named(&member.name))
                            }
                            ty => ty.declares(&member.name),
                        };
                        format!("{indent}    {declared}{bits};\n")
                    })
                    .collect();
                format!("{head}{bases} {{\n{members}{indent}}}")
            }
            Type::Enum(name, of, names) => {
                let mut next = 0;
                let values: Vec<String> = names
                    .iter()
                    .map(|(name, value)| {
                        let text =
                            if *value == next { name.to_string() } else { format!("{name} = {value}") };
                        next = value.wrapping_add(1);
                        text
                    })
                    .collect();
                let of = if **of == Type::UNSIGNED || **of == Type::INT {
                    String::new()
                } else {
                    format!(" : {of}")
                };
                let name = if name.is_empty() { String::new() } else { format!(" {name}") };
                format!("enum{name}{of} {{{}}}", values.join(", "))
            }
            Type::Pointer(_, of) if matches!(**of, Type::Struct(_) | Type::Enum(..)) => {
                format!("{} *", of.described(depth))
            }
            Type::Array(..) => {
                let (mut of, mut dimensions) = (self, String::new());
                while let Type::Array(inner, count) = of {
                    dimensions += &format!("[{count}]");
                    of = inner;
                }
                format!("{} {dimensions}", of.described(depth))
            }
            other => other.to_string(),
        }
    }

    /// How something of the type is declared: `float y[3]`.
    fn declares(&self, name: &str) -> String {
        let text = self.to_string();
        match (self, text.rfind(" [")) {
            (Type::Array(..), Some(at)) => format!("{} {name}{}", &text[..at], &text[at + 1..]),
            (Type::Pointer(..), _) => format!("{text}{name}"),
            _ => format!("{text} {name}"),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Void => "void",
            Type::Bool => "bool",
            Type::Char => "char",
            Type::Int(1, true) => "signed char",
            Type::Int(1, false) => "unsigned char",
            Type::Int(2, true) => "short",
            Type::Int(2, false) => "unsigned short",
            Type::Int(4, true) => "int",
            Type::Int(4, false) => "unsigned int",
            Type::Int(8, true) => "long",
            Type::Int(8, false) => "unsigned long",
            Type::Int(bytes, signed) => {
                return write!(f, "{}{}", if *signed { "s" } else { "u" }, 8 * u32::from(*bytes));
            }
            Type::Float(4) => "float",
            Type::Float(_) => "double",
            Type::Half => "half",
            Type::Bfloat => "__nv_bfloat16",
            Type::Pointer(space, of) => {
                let space = match space {
                    Space::Generic => "",
                    Space::Shared => "@shared ",
                    Space::Local => "@local ",
                    Space::Param => "@param ",
                };
                return write!(f, "{space}{of} *");
            }
            Type::Array(..) => {
                let mut of = self;
                let mut dimensions = String::new();
                while let Type::Array(inner, count) = of {
                    dimensions += &format!("[{count}]");
                    of = inner;
                }
                return write!(f, "{of} {dimensions}");
            }
            Type::Struct(found) => &found.name,
            Type::Enum(name, ..) => name,
        })
    }
}
