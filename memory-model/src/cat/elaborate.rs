//! From the syntax of a file to sets and relations.

use super::builtin;
use super::names::{self, Dialect, Meaning};
use super::parser::parse;
use super::syntax::{
    Binary, Check, Condition, Definition, Expr, ExprKind, Function, Ident, Pattern, Role, Statement, Unary,
};
use super::value::{Closure, Events, Scope, Value, identity, kind};
use super::{ModelError, Reader};
use crate::litmus::{Code, Diagnostic, Span};
use crate::model::algebra::*;
use crate::model::rewrite;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// Deepest expression after all names were replaced by what they stand for.
const MAX_DEPTH: usize = 300;
/// Most files and functions that are read at a time.
const MAX_OPEN: usize = 60;
/// Most definitions and checks of a file.
const MAX_STATEMENTS: usize = 2000;
/// Most parts of all expressions.
const MAX_PARTS: usize = 100_000;
/// Most bytes of all files.
const MAX_BYTES: usize = 1 << 20;

/// Deepest nesting of expressions and functions while they are read.
const MAX_NESTED: usize = 250;

/// A check of a file.
pub(super) struct Demanded {
    pub(super) role: Role,
    pub(super) axiom: Axiom,
}

/// What the files define.
pub(super) struct Elaborated {
    pub(super) header: Vec<String>,
    pub(super) checks: Vec<Demanded>,
    /// Names of base sets and relations that are used.
    pub(super) used: BTreeSet<String>,
    /// The pairs of the one total order that is chosen beside coherence, if there is one.
    pub(super) ordered: Option<Rel>,
    scope: Rc<Scope>,
}

impl Elaborated {
    /// The relation of that name, if the files define it.
    pub(super) fn relation(&self, name: &str) -> Option<Rel> {
        match self.scope.get(name) {
            Some((Value::Rel(rel), _)) => Some(rel.clone()),
            _ => None,
        }
    }
}

struct Source {
    name: String,
    text: Arc<str>,
}

struct Elaborator<'r> {
    reader: &'r Reader<'r>,
    sources: Vec<Source>,
    /// The files that include the current one, and itself.
    open: Vec<usize>,
    bytes: usize,
    parts: usize,
    header: Vec<String>,
    dialect: Dialect,
    checks: Vec<Demanded>,
    used: BTreeSet<String>,
    ordered: Option<Rel>,
    scope: Rc<Scope>,
    /// How deep the reading is.
    nested: usize,
    statements: usize,
}

type Result<T> = std::result::Result<T, ModelError>;

/// Reads a file and what it includes.
pub(super) fn elaborate(name: &str, text: &str, reader: &Reader<'_>) -> Result<Elaborated> {
    let mut elaborator = Elaborator {
        reader,
        sources: Vec::new(),
        open: Vec::new(),
        bytes: 0,
        parts: 0,
        header: Vec::new(),
        dialect: Dialect::Ptx,
        checks: Vec::new(),
        used: BTreeSet::new(),
        ordered: None,
        scope: Rc::new(Scope::new()),
        nested: 0,
        statements: 0,
    };
    elaborator.file(name.to_owned(), text, Span::default())?;
    if let (Some(_), true, Some(source)) =
        (&elaborator.ordered, elaborator.used.contains("sync_fence"), elaborator.sources.first())
    {
        let what = "`sync_fence` beside a total order that is chosen: one of them is possible".to_owned();
        let diagnostic = Diagnostic::new(Code::ModelMeaning, Span::default(), what);
        return Err(ModelError { file: source.name.clone(), text: source.text.clone(), diagnostic });
    }
    let Elaborator { header, checks, used, ordered, scope, .. } = elaborator;
    Ok(Elaborated { header, checks, used, ordered, scope })
}

impl Elaborator<'_> {
    fn file(&mut self, name: String, text: &str, included: Span) -> Result<()> {
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            let what = format!("a model and what it includes have more than {MAX_BYTES} bytes");
            return match self.open.last() {
                Some(_) => self.wrong(included, what),
                None => Err(ModelError {
                    file: name,
                    text: Arc::from(""),
                    diagnostic: Diagnostic::new(Code::ModelMeaning, Span::default(), what),
                }),
            };
        }
        if self.open.iter().any(|&file| self.sources[file].name == name) {
            return self.wrong(included, format!("{name} includes itself"));
        }
        if self.open.len() > MAX_OPEN {
            return self.wrong(included, format!("files include files more than {MAX_OPEN} deep"));
        }
        let index = self.sources.len();
        let text: Arc<str> = Arc::from(text);
        self.sources.push(Source { name, text: text.clone() });
        self.open.push(index);
        let file = parse(&text).map_err(|diagnostic| self.error(diagnostic))?;
        if self.open.len() == 1 {
            self.header = file.header.iter().map(|word| word.text.clone()).collect();
            self.dialect = Dialect::of(&self.header);
        }
        self.all(&file.statements)?;
        self.open.pop();
        Ok(())
    }

    fn all(&mut self, statements: &[Statement]) -> Result<()> {
        self.statements += statements.len();
        if self.statements > MAX_STATEMENTS {
            let what = format!("the model has more than {MAX_STATEMENTS} definitions and checks");
            return self.wrong(Span::default(), what);
        }
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn error(&self, diagnostic: Diagnostic) -> ModelError {
        let source = self.open.last().map(|&file| &self.sources[file]);
        ModelError {
            file: source.map_or_else(String::new, |s| s.name.clone()),
            text: source.map_or_else(|| Arc::from(""), |s| s.text.clone()),
            diagnostic,
        }
    }

    fn wrong<T>(&self, span: Span, what: impl Into<String>) -> Result<T> {
        Err(self.error(Diagnostic::new(Code::ModelMeaning, span, what)))
    }

    fn define(&mut self, name: &str, value: Value, depth: usize) {
        Rc::make_mut(&mut self.scope).insert(name.to_owned(), (value, depth));
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Include(path) => self.include(path),
            Statement::Let(definitions) => self.definitions(definitions),
            Statement::LetRec(definitions, check) => {
                self.recursive(definitions)?;
                check.iter().try_for_each(|check| self.check(check))
            }
            Statement::Check(check) => self.check(check),
            Statement::Chosen(name, orders) => self.chosen(name, orders),
            Statement::Procedure(procedure) => {
                let file = self.open.last().copied().unwrap_or(0);
                let value = Value::Procedure(procedure.clone(), self.scope.clone(), file);
                self.define(&procedure.name.text, value, 0);
                Ok(())
            }
            Statement::Call(name, argument) => self.procedure(name, argument),
            Statement::Each(name, of, body) => {
                let members = self.members(of)?;
                for member in members {
                    let outside = self.scope.clone();
                    self.define(&name.text, member, 1);
                    self.all(body)?;
                    self.scope = outside;
                }
                Ok(())
            }
            Statement::Match(of, clauses, others) => {
                let tag = self.tag(of)?;
                let clause = clauses.iter().find(|(name, _)| name.text == tag);
                self.all(clause.map_or(others, |(_, body)| body))
            }
            Statement::Tags(tags) => {
                for tag in tags {
                    self.define(&format!("'{}", tag.text), Value::Tag(tag.text.clone()), 0);
                }
                Ok(())
            }
        }
    }

    fn check(&mut self, check: &Check) -> Result<()> {
        let (rel, _) = self.relation(&check.of)?;
        let name = check.name.as_ref().map_or_else(|| self.text_of(check.of.span), |name| name.text.clone());
        let axiom = Axiom { name: name.into(), section: "cat".into(), demand: check.demand, rel };
        self.checks.push(Demanded { role: check.role, axiom });
        Ok(())
    }

    /// `with name from orders`: the search chooses coherence order, of which this is what relates the set.
    fn chosen(&mut self, name: &Ident, orders: &Expr) -> Result<()> {
        let (value, depth) = self.value(orders)?;
        let (events, least) = match value {
            Value::Orders(events, least) => (events, least),
            Value::Linearisations(set, least) => return self.linearised(name, &set, &least, depth),
            Value::Nothing => {
                self.define(&name.text, Value::Nothing, 1);
                return Ok(());
            }
            _ => {
                let what = format!(
                    "`with {} from`: what is chosen is an order of writes, location by location",
                    name.text
                );
                return self.wrong(name.span, what).map_err(|mut e: ModelError| {
                    e.diagnostic =
                        e.diagnostic.with_help("such as `generate_cos(co0)`, `generate_orders(W, co0)`");
                    e
                });
            }
        };
        self.used.insert("co".to_owned());
        let within = match &events {
            Events::Known(set) => cross(set, set),
            Events::Ends(ends) => ends.clone() >> cross(all(), all()) >> ends.clone(),
        };
        let order = chosen_co() & within.clone();
        if !rewrite::is_nothing(&least) {
            let rel = (least & within & loc()).minus(&order);
            let axiom = Axiom {
                name: format!("{} contains what it is chosen from", name.text).into(),
                section: "cat".into(),
                demand: crate::model::Demand::Empty,
                rel,
            };
            self.checks.push(Demanded { role: Role::Axiom, axiom });
        }
        let shown = if name.text == "co" { "coherence" } else { &name.text };
        self.define(&name.text, Value::Rel(order.named(shown.to_owned(), "cat")), depth + 4);
        Ok(())
    }

    /// `with name from linearisations(set, least)`: the search chooses which of two events is first, as it does for `sync_fence`.
    fn linearised(&mut self, name: &Ident, set: &Set, least: &Rel, depth: usize) -> Result<()> {
        if self.ordered.is_some() || self.used.contains("sync_fence") {
            let what =
                format!("`with {} from`: one total order is chosen at most, beside coherence", name.text);
            return self.wrong(name.span, what);
        }
        let within = cross(set, set);
        let order = sc().named(name.text.clone(), "cat");
        // An order of all pairs contains what never leads against it.
        let rel = &order | (least & &within);
        let what = format!("{} is an order that contains what it is chosen from", name.text);
        let axiom =
            Axiom { name: what.into(), section: "cat".into(), demand: crate::model::Demand::Acyclic, rel };
        self.checks.push(Demanded { role: Role::Axiom, axiom });
        self.ordered = Some(within.minus(id()));
        self.define(&name.text, Value::Rel(order), depth + 4);
        Ok(())
    }

    fn procedure(&mut self, name: &Ident, argument: &Expr) -> Result<()> {
        let (argument, depth) = self.value(argument)?;
        let Some((Value::Procedure(procedure, scope, file), _)) = self.scope.get(&name.text).cloned() else {
            let what = format!("no procedure is called `{}`", name.text);
            return Err(self.error(Diagnostic::new(Code::ModelName, name.span, what)));
        };
        let mut inside = (*scope).clone();
        inside.insert(name.text.clone(), (Value::Procedure(procedure.clone(), scope, file), 0));
        self.bind(&mut inside, &procedure.parameters, argument, depth, &name.text, name.span)?;
        self.deeper(name.span)?;
        let outside = std::mem::replace(&mut self.scope, Rc::new(inside));
        self.open.push(file);
        let result = self.all(&procedure.body);
        self.open.pop();
        self.nested -= 1;
        self.scope = outside;
        result
    }

    fn deeper(&mut self, span: Span) -> Result<()> {
        self.nested += 1;
        if self.open.len() > MAX_OPEN || self.nested > MAX_NESTED {
            return self.wrong(span, format!("functions use functions more than {MAX_OPEN} deep"));
        }
        Ok(())
    }

    fn text_of(&self, span: Span) -> String {
        let text = self.open.last().map_or("", |&file| &*self.sources[file].text);
        let part = text.get(span.start as usize..span.end as usize).unwrap_or("");
        part.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn include(&mut self, path: &Ident) -> Result<()> {
        // What herd7's libraries add is there anyway.
        const KNOWN: [&str; 7] =
            ["stdlib.cat", "basic.cat", "cos.cat", "cos-opt.cat", "coscat.cat", "cross.cat", "filters.cat"];
        let from = self.open.last().map_or("", |&file| self.sources[file].name.as_str());
        match (self.reader)(&path.text, from) {
            Ok((name, text)) => self.file(name, &text, path.span),
            Err(_) if super::shipped(&path.text).is_some() => {
                self.file(path.text.clone(), super::shipped(&path.text).unwrap_or_default(), path.span)
            }
            Err(_) if KNOWN.contains(&path.text.as_str()) => Ok(()),
            Err(why) => self.wrong(path.span, format!("cannot read \"{}\": {why}", path.text)),
        }
    }

    /// Definitions joined by `and` do not see one another.
    fn definitions(&mut self, definitions: &[Definition]) -> Result<()> {
        let mut values = Vec::new();
        for definition in definitions {
            // What herd7's library spells out for known sets of orders is chosen by the search here.
            let own = match &definition.names[..] {
                [Some(name)] => builtin::of_library(&name.text),
                _ => None,
            };
            values.push(match own {
                Some(builtin) => (Value::Builtin(builtin), 0),
                None => self.value(&definition.body)?,
            });
        }
        for (definition, (value, depth)) in definitions.iter().zip(values) {
            self.assign(definition, value, depth)?;
        }
        Ok(())
    }

    fn assign(&mut self, definition: &Definition, value: Value, depth: usize) -> Result<()> {
        if let [name] = &definition.names[..] {
            if let Some(name) = name {
                self.named(name, value, depth);
            }
            return Ok(());
        }
        let wants = definition.names.len();
        match value {
            Value::Tuple(values) if values.len() == wants => {
                for (name, value) in definition.names.iter().zip(values) {
                    if let Some(name) = name {
                        self.named(name, value, depth);
                    }
                }
                Ok(())
            }
            _ => self.wrong(definition.body.span, format!("a tuple of {wants} is expected here")),
        }
    }

    fn named(&mut self, name: &Ident, value: Value, depth: usize) {
        let shown = if name.text == "co" { "coherence" } else { &name.text };
        let value = match value {
            Value::Rel(rel) => Value::Rel(rel.named(shown.to_owned(), "cat")),
            other => other,
        };
        self.define(&name.text, value, depth + 1);
    }

    fn recursive(&mut self, definitions: &[Definition]) -> Result<()> {
        let mut names: Vec<&Ident> = Vec::new();
        for definition in definitions {
            let [Some(name)] = &definition.names[..] else {
                return self.wrong(definition.body.span, "`let rec` defines a name");
            };
            if names.iter().any(|other| other.text == name.text) {
                return self.wrong(name.span, format!("`{}` is defined twice", name.text));
            }
            names.push(name);
        }
        let functions: Vec<(String, Rc<Function>)> = definitions
            .iter()
            .zip(&names)
            .filter_map(|(definition, name)| match &definition.body.kind {
                ExprKind::Function(function) => Some((name.text.clone(), function.clone())),
                _ => None,
            })
            .collect();
        if functions.len() == definitions.len() {
            let (group, scope) = (Rc::new(functions), self.scope.clone());
            let file = self.open.last().copied().unwrap_or(0);
            for (name, function) in group.iter() {
                let closure =
                    Closure { function: function.clone(), scope: scope.clone(), group: group.clone(), file };
                self.define(name, Value::Function(Rc::new(closure)), 0);
            }
            return Ok(());
        }
        if !functions.is_empty() {
            return self.wrong(names[0].span, "`let rec` defines functions or relations, not both");
        }
        let before = self.scope.clone();
        let mut deepest = 0;
        let relations = Rel::least(definitions.len(), |variables| {
            for (name, variable) in names.iter().zip(variables) {
                self.define(&name.text, Value::Rel(variable.clone()), 1);
            }
            let mut bodies = Vec::new();
            for definition in definitions {
                let (body, depth) = self.relation(&definition.body)?;
                deepest = deepest.max(depth);
                bodies.push(body);
            }
            Ok(bodies)
        })?;
        self.scope = before;
        for (name, relation) in names.iter().zip(relations) {
            let relation = relation.named(name.text.clone(), "cat");
            self.define(&name.text, Value::Rel(relation), deepest + 3);
        }
        Ok(())
    }

    /// Parameters and what they are given.
    fn bind(
        &mut self,
        scope: &mut Scope,
        parameters: &[Pattern],
        argument: Value,
        depth: usize,
        name: &str,
        span: Span,
    ) -> Result<()> {
        let values = match argument {
            Value::Tuple(values) if parameters.len() != 1 => values,
            one => vec![one],
        };
        let (wants, has) = (parameters.len(), values.len());
        if wants != has {
            return self.wrong(span, format!("`{name}` has {wants} arguments, not {has}"));
        }
        for (parameter, value) in parameters.iter().zip(values) {
            if let Some(parameter) = parameter {
                scope.insert(parameter.text.clone(), (value, depth));
            }
        }
        Ok(())
    }

    /// The constant that an expression is.
    fn tag(&mut self, expr: &Expr) -> Result<String> {
        match self.value(expr)?.0 {
            Value::Tag(tag) => Ok(tag),
            _ => self.wrong(expr.span, "a constant such as `'name` is expected here"),
        }
    }

    /// The members of a collection.
    fn members(&mut self, expr: &Expr) -> Result<Vec<Value>> {
        match self.value(expr)?.0 {
            Value::Members(members) => Ok(members),
            Value::Nothing => Ok(Vec::new()),
            _ => self.wrong(expr.span, "the members of this differ from execution to execution").map_err(
                |mut e: ModelError| {
                    e.diagnostic = e.diagnostic.with_help("collections such as `{a, b}` are known here");
                    e
                },
            ),
        }
    }

    /// The relation of an expression; a set is the identity on it.
    fn relation(&mut self, expr: &Expr) -> Result<(Rel, usize)> {
        let (value, depth) = self.value(expr)?;
        match value {
            Value::Rel(rel) => Ok((rel, depth)),
            Value::Nothing => Ok((nothing(), depth)),
            Value::Set(events) => Ok((identity(&events), depth + 1)),
            other => self.wrong(expr.span, format!("this is {}; a relation is expected here", kind(&other))),
        }
    }

    fn events(&mut self, expr: &Expr) -> Result<(Events, usize)> {
        let (value, depth) = self.value(expr)?;
        match value {
            Value::Set(events) => Ok((events, depth)),
            Value::Nothing => Ok((Events::Known(all().minus(all())), depth)),
            other => self.wrong(expr.span, format!("this is {}; a set is expected here", kind(&other))),
        }
    }

    fn value(&mut self, expr: &Expr) -> Result<(Value, usize)> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return self.wrong(expr.span, format!("the model has more than {MAX_PARTS} parts"));
        }
        self.deeper(expr.span)?;
        let (value, depth) = self.inner(expr)?;
        self.nested -= 1;
        if depth > MAX_DEPTH {
            return self.wrong(expr.span, format!("definitions are more than {MAX_DEPTH} deep"));
        }
        Ok((value, depth))
    }

    fn inner(&mut self, expr: &Expr) -> Result<(Value, usize)> {
        match &expr.kind {
            ExprKind::Name(name) => self.lookup(name, expr.span),
            ExprKind::Call(function, argument) => self.call(function, argument, expr.span),
            ExprKind::Unary(operator, inner) => self.unary(*operator, inner),
            ExprKind::Binary(Binary::Add, first, rest) => {
                let (first, depth) = self.value(first)?;
                let mut members = self.members(rest)?;
                members.insert(0, first);
                Ok((Value::Members(members), depth))
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExprKind::Tag(tag) => Ok((Value::Tag(tag.clone()), 0)),
            ExprKind::Tuple(members) => {
                let (values, depth) = self.values(members)?;
                Ok((Value::Tuple(values), depth))
            }
            ExprKind::Collection(members) if members.is_empty() => Ok((Value::Nothing, 1)),
            ExprKind::Collection(members) => {
                let (values, depth) = self.values(members)?;
                Ok((Value::Members(values), depth))
            }
            ExprKind::Function(function) => {
                let closure = Closure {
                    function: function.clone(),
                    scope: self.scope.clone(),
                    group: Rc::new(Vec::new()),
                    file: self.open.last().copied().unwrap_or(0),
                };
                Ok((Value::Function(Rc::new(closure)), 0))
            }
            ExprKind::Local { recursive, definitions, body } => {
                let outside = self.scope.clone();
                match recursive {
                    true => self.recursive(definitions)?,
                    false => self.definitions(definitions)?,
                }
                let result = self.value(body);
                self.scope = outside;
                result
            }
            ExprKind::If(condition, then, otherwise) => match self.condition(condition)? {
                true => self.value(then),
                false => self.value(otherwise),
            },
            ExprKind::Try(first, otherwise) => {
                let (nested, open, scope) = (self.nested, self.open.len(), self.scope.clone());
                self.value(first).or_else(|_| {
                    self.nested = nested;
                    self.open.truncate(open);
                    self.scope = scope;
                    self.value(otherwise)
                })
            }
            ExprKind::MatchTag(of, clauses, others) => {
                let tag = self.tag(of)?;
                let clause = clauses.iter().find(|(name, _)| name.text == tag).map(|(_, body)| body);
                match clause.or(others.as_deref()) {
                    Some(body) => self.value(body),
                    None => self.wrong(of.span, format!("no clause is for `'{tag}`")),
                }
            }
            ExprKind::MatchMembers { of, none, first, rest, some } => {
                let mut members = self.members(of)?;
                if members.is_empty() {
                    return self.value(none);
                }
                let outside = self.scope.clone();
                let head = members.remove(0);
                if let Some(first) = first {
                    self.define(&first.text, head, 1);
                }
                if let Some(rest) = rest {
                    let members = if members.is_empty() { Value::Nothing } else { Value::Members(members) };
                    self.define(&rest.text, members, 1);
                }
                let result = self.value(some);
                self.scope = outside;
                result
            }
        }
    }

    fn values(&mut self, of: &[Expr]) -> Result<(Vec<Value>, usize)> {
        let mut depth = 0;
        let mut values = Vec::new();
        for expr in of {
            let (value, deep) = self.value(expr)?;
            depth = depth.max(deep);
            values.push(value);
        }
        Ok((values, depth))
    }

    /// Constants and collections of them can be compared; sets and relations differ from execution to execution.
    fn condition(&mut self, condition: &Condition) -> Result<bool> {
        let (a, b) = match condition {
            Condition::Variant(on) => return Ok(*on),
            Condition::Equal(a, b) | Condition::Subset(a, b) | Condition::In(a, b) => (a, b),
        };
        let ((left, _), (right, _)) = (self.value(a)?, self.value(b)?);
        let span = a.span.to(b.span);
        let known = |value: &Value| match value {
            Value::Tag(tag) => Some(vec![tag.clone()]),
            Value::Nothing => Some(Vec::new()),
            Value::Members(members) => members
                .iter()
                .map(|member| match member {
                    Value::Tag(tag) => Some(tag.clone()),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        let (Some(left), Some(right)) = (known(&left), known(&right)) else {
            return self.wrong(span, "whether this holds differs from execution to execution");
        };
        let within = left.iter().all(|tag| right.contains(tag));
        Ok(match condition {
            Condition::Equal(..) => within && right.iter().all(|tag| left.contains(tag)),
            _ => within,
        })
    }

    fn lookup(&mut self, name: &str, span: Span) -> Result<(Value, usize)> {
        if let Some((value, depth)) = self.scope.get(name) {
            return Ok((value.clone(), *depth));
        }
        self.used.insert(name.to_owned());
        match names::meaning(self.dialect, name) {
            _ if name == "0" => Ok((Value::Nothing, 1)),
            Some(Meaning::Set(set)) => Ok((Value::Set(Events::Known(set)), 4)),
            Some(Meaning::Ends(rel)) => Ok((Value::Set(Events::Ends(rel)), 6)),
            Some(Meaning::Rel(rel)) => Ok((Value::Rel(rel), 4)),
            None if builtin::named(name).is_some() => {
                Ok((builtin::named(name).map_or(Value::Nothing, Value::Builtin), 0))
            }
            None => {
                let diagnostic =
                    Diagnostic::new(Code::ModelName, span, format!("nothing is called `{name}` here"));
                let known = names::like(name, self.scope.keys().map(String::as_str));
                Err(self.error(match known {
                    Some(known) => diagnostic.with_help(format!("is `{known}` meant?")),
                    None => {
                        diagnostic.with_help("`warpgrind explain L011` lists the names that every model has")
                    }
                }))
            }
        }
    }

    fn call(&mut self, function: &Expr, argument: &Expr, span: Span) -> Result<(Value, usize)> {
        // What it is given is looked at first, as the place of a mistake in it is the inner one.
        let (argument, depth) = self.value(argument)?;
        let called = match &function.kind {
            ExprKind::Name(name) => match self.scope.get(name) {
                Some((value, _)) => value.clone(),
                None => match builtin::named(name) {
                    Some(builtin) => Value::Builtin(builtin),
                    None => {
                        let what = format!("no function is called `{name}`");
                        let diagnostic = Diagnostic::new(Code::ModelName, function.span, what);
                        return Err(
                            self.error(diagnostic.with_help("a function is defined as `let f(a, b) = ...`"))
                        );
                    }
                },
            },
            _ => self.value(function)?.0,
        };
        match called {
            Value::Function(closure) => self.apply(&closure, argument, depth, span),
            Value::Builtin(builtin) => match builtin::apply(builtin, argument) {
                Ok(value) => Ok((value, depth + 4)),
                Err(why) => self.wrong(span, why),
            },
            _ => match &function.kind {
                ExprKind::Name(name) => self.wrong(function.span, format!("`{name}` is no function")),
                _ => self.wrong(function.span, "this is no function"),
            },
        }
    }

    fn apply(
        &mut self,
        closure: &Closure,
        argument: Value,
        depth: usize,
        span: Span,
    ) -> Result<(Value, usize)> {
        let Function { name, parameters, body } = &*closure.function;
        let mut scope = (*closure.scope).clone();
        for (name, function) in closure.group.iter() {
            let own = Closure {
                function: function.clone(),
                scope: closure.scope.clone(),
                group: closure.group.clone(),
                file: closure.file,
            };
            scope.insert(name.clone(), (Value::Function(Rc::new(own)), 0));
        }
        self.bind(&mut scope, parameters, argument, depth, name, span)?;
        self.deeper(span)?;
        let outside = std::mem::replace(&mut self.scope, Rc::new(scope));
        self.open.push(closure.file);
        let result = self.value(body);
        self.open.pop();
        self.scope = outside;
        let result = result?;
        self.nested -= 1;
        Ok(result)
    }

    fn unary(&mut self, operator: Unary, inner: &Expr) -> Result<(Value, usize)> {
        let one = |rel: Rel, depth: usize| Ok((Value::Rel(rel), depth + 2));
        match operator {
            Unary::Identity => {
                let (events, depth) = self.events(inner)?;
                one(identity(&events), depth)
            }
            Unary::Domain => {
                let (rel, depth) = self.relation(inner)?;
                let ends = (&rel >> !&rel) & id();
                Ok((Value::Set(Events::Ends(ends)), depth + 3))
            }
            Unary::Range => {
                let (rel, depth) = self.relation(inner)?;
                let ends = (!&rel >> &rel) & id();
                Ok((Value::Set(Events::Ends(ends)), depth + 3))
            }
            Unary::Complement => {
                let (value, depth) = self.value(inner)?;
                match value {
                    Value::Set(Events::Known(set)) => {
                        Ok((Value::Set(Events::Known(all().minus(set))), depth + 1))
                    }
                    Value::Set(Events::Ends(ends)) => {
                        self.closed(&ends, inner.span)?;
                        Ok((Value::Set(Events::Ends(id().minus(ends))), depth + 1))
                    }
                    Value::Rel(rel) => {
                        self.closed(&rel, inner.span)?;
                        one(cross(all(), all()).minus(rel), depth)
                    }
                    Value::Nothing => one(cross(all(), all()), depth),
                    other => {
                        self.wrong(inner.span, format!("this is {}; it has no complement", kind(&other)))
                    }
                }
            }
            Unary::Star | Unary::Plus | Unary::Optional | Unary::Inverse => {
                let (rel, depth) = self.relation(inner)?;
                one(
                    match operator {
                        Unary::Star => rel.star(),
                        Unary::Plus => rel.plus(),
                        Unary::Optional => rel.optional(),
                        _ => !rel,
                    },
                    depth,
                )
            }
        }
    }

    /// What is taken away must not be under definition: such a recursion has no meaning.
    fn closed(&self, rel: &Rel, span: Span) -> Result<()> {
        if rewrite::is_open(rel) {
            return self
                .wrong(span, "a relation is defined by what it does not contain: this recursion has no end");
        }
        Ok(())
    }

    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Result<(Value, usize)> {
        if operator == Binary::Product {
            let ((a, da), (b, db)) = (self.events(left)?, self.events(right)?);
            let rel = match (a, b) {
                (Events::Known(a), Events::Known(b)) => cross(a, b),
                (a, b) => identity(&a) >> cross(all(), all()) >> identity(&b),
            };
            return Ok((Value::Rel(rel), da.max(db) + 3));
        }
        if operator == Binary::Compose {
            let ((a, da), (b, db)) = (self.relation(left)?, self.relation(right)?);
            return Ok((Value::Rel(a >> b), da.max(db) + 1));
        }
        let ((a, da), (b, db)) = (self.value(left)?, self.value(right)?);
        let depth = da.max(db) + 2;
        let value = match (a, b) {
            (Value::Set(Events::Known(a)), Value::Set(Events::Known(b))) => {
                Value::Set(Events::Known(match operator {
                    Binary::Union => a | b,
                    Binary::Intersection => a & b,
                    _ => a.minus(b),
                }))
            }
            (Value::Set(a), Value::Set(b)) => {
                let (a, b) = (identity(&a), identity(&b));
                Value::Set(Events::Ends(self.combined(operator, a, b, right.span)?))
            }
            (Value::Rel(a), Value::Rel(b)) => Value::Rel(self.combined(operator, a, b, right.span)?),
            (Value::Members(mut a), Value::Members(b)) if operator == Binary::Union => {
                a.extend(b);
                Value::Members(a)
            }
            (a, Value::Nothing) => match operator {
                Binary::Intersection => Value::Nothing,
                _ => a,
            },
            (Value::Nothing, b) => match operator {
                Binary::Union => b,
                _ => Value::Nothing,
            },
            (Value::Set(_), Value::Rel(_)) | (Value::Rel(_), Value::Set(_)) => {
                let span = left.span.to(right.span);
                return self.wrong(span, "one side is a set and the other a relation").map_err(
                    |mut e: ModelError| {
                        e.diagnostic = e
                            .diagnostic
                            .with_help("`[S]` is the identity on a set, `S * T` all pairs of two");
                        e
                    },
                );
            }
            (Value::Set(_) | Value::Rel(_), other) => {
                let what = format!("this is {}, not a set or a relation", kind(&other));
                return self.wrong(right.span, what);
            }
            (other, _) => {
                let what = format!("this is {}, not a set or a relation", kind(&other));
                return self.wrong(left.span, what);
            }
        };
        Ok((value, depth))
    }

    fn combined(&self, operator: Binary, a: Rel, b: Rel, right: Span) -> Result<Rel> {
        Ok(match operator {
            Binary::Union => a | b,
            Binary::Intersection => a & b,
            _ => {
                self.closed(&b, right)?;
                a.minus(b)
            }
        })
    }
}
