//! Names and scopes.
//!
//! Registers get their ids when they are first used, so that `.reg .b32 %r<100000000>` costs nothing.

use rustc_hash::FxHashMap;

use crate::module::{BranchTargetsId, FuncId, LabelId, PrototypeId, RegId, Register, VarId};
use crate::span::Span;
use isa::ScalarType;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entity {
    /// Index into [`Names::registers`].
    Register(u32),
    /// A register of a range: its index and the number.
    Ranged(u32, u32),
    Variable(VarId),
    Function(FuncId),
    Label(LabelId),
    BranchTargets(BranchTargetsId),
    Prototype(PrototypeId),
    /// Reported as undefined already.
    Unknown,
}

#[derive(Clone, Copy)]
struct Bound {
    entity: Entity,
    depth: u32,
    span: Span,
}

/// One name in a `.reg` statement.
struct Declared<'a> {
    name: &'a str,
    ty: ScalarType,
    vector: u32,
    first: u32,
}

/// `name<count>` in a `.reg` statement, or in one of another space.
struct Range<'a> {
    prefix: &'a str,
    count: u64,
    /// For variables: the first one.
    variable: Option<VarId>,
    ty: ScalarType,
    vector: u32,
    used: usize,
    /// First register ids by number, while the numbers are dense; [`NONE`] if not used yet.
    dense: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
    /// The range of the same prefix that was in force before.
    outer: Option<(u32, u32, Span)>,
}

const NONE: u32 = u32::MAX;

/// A register name resolved: its first register and how many it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RegisterUse {
    pub(super) first: RegId,
    /// Components of a vector register, else 1.
    pub(super) vector: u32,
}

/// An earlier declaration of the same name in the same scope.
pub(super) struct Redeclared {
    pub(super) span: Span,
}

enum Undo<'a> {
    Name(&'a str, Option<Bound>),
    Range(&'a str, Option<(u32, u32, Span)>),
}

/// All names in force.
#[derive(Default)]
pub(super) struct Names<'a> {
    bound: FxHashMap<&'a str, Bound>,
    ranges_by_prefix: FxHashMap<&'a str, (u32, u32, Span)>,
    undo: Vec<Undo<'a>>,
    scopes: Vec<usize>,
    declared: Vec<Declared<'a>>,
    ranges: Vec<Range<'a>>,
    /// How many of the ranges are of module scope.
    global_ranges: usize,
    /// Whether the prefix of any range ends in a digit, so that names can be split in several ways.
    digit_prefixes: bool,
    /// The registers of the current function.
    pub(super) registers: Vec<Register>,
}

impl<'a> Names<'a> {
    /// How many scopes are open; 0 is module scope.
    pub(super) fn depth(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Opens a scope.
    pub(super) fn open(&mut self) {
        if self.scopes.is_empty() {
            self.global_ranges = self.ranges.len();
        }
        self.scopes.push(self.undo.len());
    }

    /// Closes the innermost scope and forgets its names.
    pub(super) fn close(&mut self) {
        let Some(start) = self.scopes.pop() else { return };
        for undo in self.undo.drain(start..).rev() {
            match undo {
                Undo::Name(name, Some(bound)) => drop(self.bound.insert(name, bound)),
                Undo::Name(name, None) => drop(self.bound.remove(name)),
                Undo::Range(prefix, Some(range)) => drop(self.ranges_by_prefix.insert(prefix, range)),
                Undo::Range(prefix, None) => drop(self.ranges_by_prefix.remove(prefix)),
            }
        }
        if self.scopes.is_empty() {
            self.declared.clear();
            self.ranges.truncate(self.global_ranges);
        }
    }

    /// Declares a register parameter, whose registers exist already.
    pub(super) fn declare_parameter(
        &mut self,
        name: &'a str,
        ty: ScalarType,
        vector: u32,
        first: RegId,
        span: Span,
    ) -> Result<(), Redeclared> {
        self.declare(name, Entity::Register(self.declared.len() as u32), span)?;
        self.declared.push(Declared { name, ty, vector, first: first.0 });
        Ok(())
    }

    /// Takes the registers of the function that ends.
    pub(super) fn take_registers(&mut self) -> Vec<Register> {
        std::mem::take(&mut self.registers)
    }

    /// Binds a name in the innermost scope.
    pub(super) fn declare(&mut self, name: &'a str, entity: Entity, span: Span) -> Result<(), Redeclared> {
        let depth = self.depth();
        if let Some(bound) = self.bound.get(name)
            && bound.depth == depth
            && bound.entity != Entity::Unknown
        {
            return Err(Redeclared { span: bound.span });
        }
        if let Some((_, _, range_depth, span)) = self.ranged(name)
            && range_depth == depth
        {
            return Err(Redeclared { span });
        }
        self.bind(name, entity, span);
        Ok(())
    }

    /// Binds a name in the innermost scope, whatever it meant there before.
    pub(super) fn bind(&mut self, name: &'a str, entity: Entity, span: Span) {
        let old = self.bound.insert(name, Bound { entity, depth: self.depth(), span });
        if !self.scopes.is_empty() {
            self.undo.push(Undo::Name(name, old));
        }
    }

    /// Declares a register (a vector of them if `vector` > 1).
    pub(super) fn declare_register(
        &mut self,
        name: &'a str,
        ty: ScalarType,
        vector: u32,
        span: Span,
    ) -> Result<(), Redeclared> {
        self.declare(name, Entity::Register(self.declared.len() as u32), span)?;
        self.declared.push(Declared { name, ty, vector, first: NONE });
        Ok(())
    }

    /// Declares `prefix0` to `prefix(count-1)`.
    pub(super) fn declare_range(
        &mut self,
        prefix: &'a str,
        count: u64,
        ty: ScalarType,
        vector: u32,
        span: Span,
    ) -> Result<(), Redeclared> {
        self.declare_any_range(prefix, count, None, ty, vector, span)
    }

    /// Declares variables `prefix0` to `prefix(count-1)`, the first of which is `first`.
    pub(super) fn declare_variables(
        &mut self,
        prefix: &'a str,
        count: u64,
        first: VarId,
        span: Span,
    ) -> Result<(), Redeclared> {
        self.declare_any_range(prefix, count, Some(first), ScalarType::B8, 1, span)
    }

    fn declare_any_range(
        &mut self,
        prefix: &'a str,
        count: u64,
        variable: Option<VarId>,
        ty: ScalarType,
        vector: u32,
        span: Span,
    ) -> Result<(), Redeclared> {
        let depth = self.depth();
        if let Some(&(_, other, span)) = self.ranges_by_prefix.get(prefix)
            && other == depth
        {
            return Err(Redeclared { span });
        }
        let id = self.ranges.len() as u32;
        self.digit_prefixes |= prefix.ends_with(|c: char| c.is_ascii_digit());
        self.ranges.push(Range {
            prefix,
            count,
            variable,
            ty,
            vector,
            used: 0,
            dense: Vec::new(),
            sparse: FxHashMap::default(),
            outer: self.ranges_by_prefix.get(prefix).copied(),
        });
        let old = self.ranges_by_prefix.insert(prefix, (id, depth, span));
        if !self.scopes.is_empty() {
            self.undo.push(Undo::Range(prefix, old));
        }
        Ok(())
    }

    /// The innermost range that has `name`: range, number, depth and declaration.
    fn ranged(&self, name: &str) -> Option<(u32, u32, u32, Span)> {
        let bytes = name.as_bytes();
        let mut best: Option<(u32, u32, u32, Span)> = None;
        let (mut number, mut weight) = (0u64, 1u64);
        let mut at = bytes.len();
        while at > 1 && bytes[at - 1].is_ascii_digit() && bytes.len() - at < 10 {
            at -= 1;
            number += weight * u64::from(bytes[at] - b'0');
            weight *= 10;
            let whole = at == 1 || !bytes[at - 1].is_ascii_digit();
            if !whole && !self.digit_prefixes {
                continue;
            }
            // An inner range hides of an outer one only the numbers that it has.
            let mut found = self.ranges_by_prefix.get(&name[..at]).copied();
            while let Some((id, ..)) = found
                && number >= self.ranges[id as usize].count
            {
                found = self.ranges[id as usize].outer;
            }
            if let Some((id, depth, span)) = found
                && best.is_none_or(|(_, _, other, _)| other < depth)
            {
                best = Some((id, number as u32, depth, span));
            }
        }
        best
    }

    /// What `name` stands for here, and where it was declared.
    pub(super) fn find(&self, name: &str) -> Option<(Entity, Span)> {
        let bound = self.bound.get(name);
        match (bound, self.ranged(name)) {
            (Some(bound), Some((_, _, depth, _))) if bound.depth >= depth => Some((bound.entity, bound.span)),
            (_, Some((id, number, _, span))) => {
                let entity = match self.ranges[id as usize].variable {
                    Some(first) => Entity::Variable(VarId(first.0 + number)),
                    None => Entity::Ranged(id, number),
                };
                Some((entity, span))
            }
            (Some(bound), None) => Some((bound.entity, bound.span)),
            (None, None) => None,
        }
    }

    /// What the innermost scope itself declares under this name.
    pub(super) fn find_here(&self, name: &str) -> Option<Entity> {
        self.bound.get(name).filter(|bound| bound.depth == self.depth()).map(|bound| bound.entity)
    }

    /// The module-scope meaning of a name, whatever shadows it.
    pub(super) fn find_bound(&self, name: &str) -> Option<(Entity, Span)> {
        self.bound.get(name).map(|bound| (bound.entity, bound.span))
    }

    /// The register ids behind a register entity, made now if this is the first use.
    pub(super) fn register(&mut self, name: &str, entity: Entity) -> Option<RegisterUse> {
        let next = self.registers.len() as u32;
        let (ty, vector, first) = match entity {
            Entity::Register(id) => {
                let declared = &mut self.declared[id as usize];
                if declared.first == NONE {
                    declared.first = next;
                }
                (declared.ty, declared.vector, declared.first)
            }
            Entity::Ranged(id, number) => {
                let range = &mut self.ranges[id as usize];
                (range.ty, range.vector, range.first(number, next))
            }
            _ => return None,
        };
        if first == next {
            push_registers(&mut self.registers, name, ty, vector);
        }
        Some(RegisterUse { first: RegId(first), vector })
    }

    /// Names that could be meant by an undefined one.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &str> {
        self.bound.iter().filter(|(_, bound)| bound.entity != Entity::Unknown).map(|(&name, _)| name)
    }

    /// The prefixes of ranges in force that have this number.
    pub(super) fn ranges_with(&self, number: u64) -> impl Iterator<Item = &str> {
        let ranges = self.ranges_by_prefix.iter();
        ranges
            .filter(move |(_, (id, ..))| self.ranges[*id as usize].count > number)
            .map(|(&prefix, _)| prefix)
    }

    /// The range with this prefix in force here, as its count.
    pub(super) fn range_count(&self, prefix: &str) -> Option<(u64, Span)> {
        let &(id, _, span) = self.ranges_by_prefix.get(prefix)?;
        Some((self.ranges[id as usize].count, span))
    }
}

/// Adds a register, or the components of a vector register.
pub(super) fn push_registers(registers: &mut Vec<Register>, name: &str, ty: ScalarType, vector: u32) {
    if vector == 1 {
        registers.push(Register { name: name.into(), ty });
        return;
    }
    for component in ["x", "y", "z", "w"].iter().take(vector as usize) {
        registers.push(Register { name: format!("{name}.{component}").into(), ty });
    }
}

impl Range<'_> {
    fn first(&mut self, number: u32, next: u32) -> u32 {
        let at = number as usize;
        if let Some(&id) = self.dense.get(at)
            && id != NONE
        {
            return id;
        }
        if let Some(&id) = self.sparse.get(&number) {
            return id;
        }
        self.used += 1;
        if at < 32 + 8 * self.used {
            if self.dense.len() <= at {
                self.dense.resize(at + 1, NONE);
            }
            self.dense[at] = next;
        } else {
            self.sparse.insert(number, next);
        }
        next
    }
}

/// The name as it was declared, for messages.
impl std::fmt::Debug for Declared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl std::fmt::Debug for Range<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}<{}>", self.prefix, self.count)
    }
}
