//! Looking through expressions, and replacing parts of them. Every subexpression is looked at once.

use super::algebra::{BaseRel, BaseSet, Group, Mark, Rel, RelNode, Set, SetNode};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The operands of an expression, without the definitions of groups.
fn operands(rel: &Rel) -> Vec<&Rel> {
    match &*rel.0 {
        RelNode::Union(a, b)
        | RelNode::Intersection(a, b)
        | RelNode::Minus(a, b)
        | RelNode::Compose(a, b) => {
            vec![a, b]
        }
        RelNode::Inverse(a) | RelNode::Plus(a) | RelNode::Optional(a) => vec![a],
        RelNode::Named { inner, .. } => vec![inner],
        RelNode::Base(_)
        | RelNode::Only(_)
        | RelNode::Cross(..)
        | RelNode::Fixed(..)
        | RelNode::Variable(..) => Vec::new(),
    }
}

/// Calls `each` with all subexpressions, those of groups among them, until it says that it has enough.
fn any(rels: &[Rel], each: &mut dyn FnMut(&RelNode) -> bool) -> bool {
    let mut seen: FxHashSet<*const RelNode> = FxHashSet::default();
    let mut waiting: Vec<&Rel> = rels.iter().collect();
    while let Some(rel) = waiting.pop() {
        if !seen.insert(Arc::as_ptr(&rel.0)) {
            continue;
        }
        if each(&rel.0) {
            return true;
        }
        waiting.extend(operands(rel));
        if let RelNode::Fixed(group, _) = &*rel.0 {
            waiting.extend(&group.bodies);
        }
    }
    false
}

/// The groups that expressions use.
pub(super) fn groups(rels: &[Rel]) -> Vec<Arc<Group>> {
    let mut found: Vec<Arc<Group>> = Vec::new();
    any(rels, &mut |node| {
        if let RelNode::Fixed(group, _) = node
            && !found.iter().any(|known| Arc::ptr_eq(known, group))
        {
            found.push(group.clone());
        }
        false
    });
    found
}

/// Whether an expression uses a base relation.
pub(crate) fn mentions(rel: &Rel, base: BaseRel) -> bool {
    any(std::slice::from_ref(rel), &mut |node| matches!(node, RelNode::Base(b) if *b == base))
}

/// Whether an expression depends on what the search chooses.
pub(crate) fn is_chosen(rel: &Rel) -> bool {
    any(std::slice::from_ref(rel), &mut |node| matches!(node, RelNode::Base(b) if b.is_chosen()))
}

/// Whether an expression uses a relation of a group whose definitions it is part of.
pub(crate) fn is_open(rel: &Rel) -> bool {
    let mut closed: Vec<*const Mark> = Vec::new();
    any(std::slice::from_ref(rel), &mut |node| {
        if let RelNode::Fixed(group, _) = node {
            closed.push(Arc::as_ptr(&group.mark));
        }
        false
    });
    any(
        std::slice::from_ref(rel),
        &mut |node| matches!(node, RelNode::Variable(mark, _) if !closed.contains(&Arc::as_ptr(mark))),
    )
}

/// Whether an expression uses a base relation in what it takes away (from what it takes away, and so on an odd
/// number of times).
pub(crate) fn takes_away(rel: &Rel, base: BaseRel) -> bool {
    let mut seen: FxHashSet<(*const RelNode, bool)> = FxHashSet::default();
    let mut waiting: Vec<(&Rel, bool)> = vec![(rel, false)];
    while let Some((rel, away)) = waiting.pop() {
        if !seen.insert((Arc::as_ptr(&rel.0), away)) {
            continue;
        }
        match &*rel.0 {
            RelNode::Base(b) if *b == base && away => return true,
            RelNode::Minus(a, b) => waiting.extend([(a, away), (b, !away)]),
            RelNode::Fixed(group, _) => waiting.extend(group.bodies.iter().map(|body| (body, away))),
            _ => waiting.extend(operands(rel).into_iter().map(|part| (part, away))),
        }
    }
    false
}

/// Whether an expression relates nothing in any execution, as far as that can be seen.
pub(crate) fn is_nothing(rel: &Rel) -> bool {
    match &*bare(rel).0 {
        RelNode::Cross(a, b) => is_empty(a) || is_empty(b),
        RelNode::Only(set) => is_empty(set),
        RelNode::Union(a, b) => is_nothing(a) && is_nothing(b),
        RelNode::Intersection(a, b) | RelNode::Compose(a, b) => is_nothing(a) || is_nothing(b),
        RelNode::Minus(a, _) | RelNode::Inverse(a) | RelNode::Plus(a) => is_nothing(a),
        _ => false,
    }
}

/// Whether a set is empty in any execution, likewise.
pub(crate) fn is_empty(set: &Set) -> bool {
    match &*set.0 {
        SetNode::Base(_) => false,
        SetNode::Union(a, b) => is_empty(a) && is_empty(b),
        SetNode::Intersection(a, b) => is_empty(a) || is_empty(b),
        SetNode::Difference(a, b) => is_empty(a) || matches!(*b.0, SetNode::Base(BaseSet::All)),
    }
}

/// Whether all of a set are writes, likewise.
pub(crate) fn are_writes(set: &Set) -> bool {
    match &*set.0 {
        SetNode::Base(base) => {
            matches!(base, BaseSet::Write | BaseSet::Init | BaseSet::ReleaseWrite | BaseSet::FinalWrite)
        }
        SetNode::Union(a, b) => are_writes(a) && are_writes(b),
        SetNode::Intersection(a, b) => are_writes(a) || are_writes(b),
        SetNode::Difference(a, _) => are_writes(a),
    }
}

/// An expression without the names around it.
pub(crate) fn bare(rel: &Rel) -> &Rel {
    match &*rel.0 {
        RelNode::Named { inner, .. } => bare(inner),
        _ => rel,
    }
}

/// `a \ b`, if the expression is that.
pub(crate) fn as_difference(rel: &Rel) -> Option<(&Rel, &Rel)> {
    match &*bare(rel).0 {
        RelNode::Minus(a, b) => Some((a, b)),
        _ => None,
    }
}

/// Whether the expression is a base relation, or the closure of it.
pub(crate) fn is_base(rel: &Rel, base: BaseRel) -> bool {
    match &*bare(rel).0 {
        RelNode::Base(b) => *b == base,
        RelNode::Plus(inner) => is_base(inner, base),
        _ => false,
    }
}

/// Whether the expression is a base relation in both directions.
pub(crate) fn is_base_either_way(rel: &Rel, base: BaseRel) -> bool {
    let inverse = |rel: &Rel| matches!(&*bare(rel).0, RelNode::Inverse(inner) if is_base(inner, base));
    match &*bare(rel).0 {
        RelNode::Union(a, b) => (is_base(a, base) && inverse(b)) || (is_base(b, base) && inverse(a)),
        _ => false,
    }
}

/// The operands of a union.
fn alternatives(rel: &Rel) -> Vec<&Rel> {
    match &*bare(rel).0 {
        RelNode::Union(a, b) => [alternatives(a), alternatives(b)].concat(),
        _ => vec![rel],
    }
}

/// The operands of a composition.
fn steps(rel: &Rel) -> Vec<&Rel> {
    match &*bare(rel).0 {
        RelNode::Compose(a, b) => [steps(a), steps(b)].concat(),
        _ => vec![rel],
    }
}

/// The least relation that its definition makes of itself, as a closure, where the definition is a plain one:
/// `r = b | r; s` is `b; s*`, `r = b | s; r` is `s*; b`, and `r = b | r; s; r` is `b; (s; b)*`.
fn closure(variable: &Rel, body: &Rel) -> Option<Rel> {
    let is_variable = |rel: &Rel| Arc::ptr_eq(&bare(rel).0, &variable.0);
    let composed = |parts: &[&Rel]| parts.iter().map(|&part| part.clone()).reduce(|a, b| a >> b);
    let joined = |parts: Vec<Rel>| parts.into_iter().reduce(|a, b| a | b);
    let (mut begin, mut before, mut behind, mut between) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut doubled = false;
    for part in alternatives(body) {
        let steps = steps(part);
        let inside = |steps: &[&Rel]| steps.iter().any(|step| is_open(step));
        match steps.as_slice() {
            all if !inside(all) => begin.push(part.clone()),
            [first, last] if is_variable(first) && is_variable(last) => doubled = true,
            [first, middle @ .., last] if is_variable(first) && is_variable(last) && !inside(middle) => {
                between.push(composed(middle)?);
            }
            [first, rest @ ..] if is_variable(first) && !rest.is_empty() && !inside(rest) => {
                behind.push(composed(rest)?);
            }
            [rest @ .., last] if is_variable(last) && !rest.is_empty() && !inside(rest) => {
                before.push(composed(rest)?);
            }
            _ => return None,
        }
    }
    let begin = joined(begin)?;
    match (before.is_empty(), behind.is_empty(), between.is_empty(), doubled) {
        (true, true, true, false) => Some(begin),
        (false, true, true, false) => Some(joined(before)?.star() >> begin),
        (true, false, true, false) => Some(&begin >> joined(behind)?.star()),
        (true, true, false, false) => Some(&begin >> (joined(between)? >> &begin).star()),
        (true, true, true, true) => Some(begin.plus()),
        _ => None,
    }
}

impl Rel {
    /// The least relations that satisfy definitions in which they occur: `bodies` is given them and returns what each
    /// of them is. They must not occur in what is taken away.
    ///
    /// # Errors
    /// Those of `bodies`.
    pub fn least<E>(size: usize, bodies: impl FnOnce(&[Rel]) -> Result<Vec<Rel>, E>) -> Result<Vec<Rel>, E> {
        let mark = Arc::new(Mark);
        let variables: Vec<Rel> = (0..size).map(|i| Rel::make(RelNode::Variable(mark.clone(), i))).collect();
        let bodies = bodies(&variables)?;
        if let ([variable], [body]) = (&variables[..], &bodies[..])
            && let Some(closure) = closure(variable, body)
        {
            return Ok(vec![closure]);
        }
        let group = Arc::new(Group { mark, bodies });
        Ok((0..group.bodies.len()).map(|i| Rel::make(RelNode::Fixed(group.clone(), i))).collect())
    }
}

/// Replaces a base relation by an expression.
pub(crate) struct Replacement {
    base: BaseRel,
    by: Rel,
    done: FxHashMap<*const RelNode, Rel>,
    groups: FxHashMap<*const Group, Arc<Group>>,
    marks: FxHashMap<*const Mark, Arc<Mark>>,
    /// What was replaced stays alive, since it is known by its address.
    kept: Vec<Rel>,
}

impl Replacement {
    pub(crate) fn new(base: BaseRel, by: Rel) -> Self {
        Self {
            base,
            by,
            done: FxHashMap::default(),
            groups: FxHashMap::default(),
            marks: FxHashMap::default(),
            kept: Vec::new(),
        }
    }

    pub(crate) fn of(&mut self, rel: &Rel) -> Rel {
        let pointer = Arc::as_ptr(&rel.0);
        if let Some(done) = self.done.get(&pointer) {
            return done.clone();
        }
        let out = match &*rel.0 {
            RelNode::Base(base) if *base == self.base => self.by.clone(),
            RelNode::Base(_) | RelNode::Only(_) | RelNode::Cross(..) => rel.clone(),
            RelNode::Union(a, b) => Rel::make(RelNode::Union(self.of(a), self.of(b))),
            RelNode::Intersection(a, b) => Rel::make(RelNode::Intersection(self.of(a), self.of(b))),
            RelNode::Minus(a, b) => Rel::make(RelNode::Minus(self.of(a), self.of(b))),
            RelNode::Compose(a, b) => Rel::make(RelNode::Compose(self.of(a), self.of(b))),
            RelNode::Inverse(a) => Rel::make(RelNode::Inverse(self.of(a))),
            RelNode::Plus(a) => Rel::make(RelNode::Plus(self.of(a))),
            RelNode::Optional(a) => Rel::make(RelNode::Optional(self.of(a))),
            RelNode::Named { inner, name, section } => self.of(inner).named(name.clone(), section.clone()),
            RelNode::Fixed(group, index) => Rel::make(RelNode::Fixed(self.group(group), *index)),
            RelNode::Variable(mark, index) => {
                let mark = self.marks.get(&Arc::as_ptr(mark)).cloned().unwrap_or_else(|| mark.clone());
                Rel::make(RelNode::Variable(mark, *index))
            }
        };
        self.done.insert(pointer, out.clone());
        self.kept.push(rel.clone());
        out
    }

    fn group(&mut self, group: &Arc<Group>) -> Arc<Group> {
        if let Some(done) = self.groups.get(&Arc::as_ptr(group)) {
            return done.clone();
        }
        let mark = Arc::new(Mark);
        self.marks.insert(Arc::as_ptr(&group.mark), mark.clone());
        let bodies = group.bodies.iter().map(|body| self.of(body)).collect();
        let out = Arc::new(Group { mark, bodies });
        self.groups.insert(Arc::as_ptr(group), out.clone());
        out
    }
}
