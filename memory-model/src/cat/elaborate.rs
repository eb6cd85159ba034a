//! From the syntax of a file to sets and relations.

use super::names::{self, Meaning};
use super::syntax::{Binary, Definition, Expr, ExprKind, Ident, Role, Statement, Unary, parse};
use super::{ModelError, Reader};
use crate::litmus::{Code, Diagnostic, Span};
use crate::model::algebra::*;
use crate::model::rewrite;
use std::collections::{BTreeSet, HashMap};
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

/// A set: of known events, or the ends of some relation, as the identity on them.
#[derive(Debug, Clone)]
enum Events {
    Known(Set),
    Ends(Rel),
}

#[derive(Debug, Clone)]
enum Value {
    Set(Events),
    Rel(Rel),
    /// The empty set and the empty relation.
    Nothing,
    Function(Rc<Function>),
}

#[derive(Debug)]
struct Function {
    parameters: Vec<Ident>,
    body: Expr,
    /// What its body can see.
    scope: Rc<Scope>,
    file: usize,
}

type Scope = HashMap<String, (Value, usize)>;

/// A check of a file.
pub(super) struct Check {
    pub(super) role: Role,
    pub(super) axiom: Axiom,
}

/// What the files define.
pub(super) struct Elaborated {
    pub(super) header: Vec<String>,
    pub(super) checks: Vec<Check>,
    /// Names of base sets and relations that are used.
    pub(super) used: BTreeSet<String>,
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
    checks: Vec<Check>,
    used: BTreeSet<String>,
    scope: Rc<Scope>,
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
        checks: Vec::new(),
        used: BTreeSet::new(),
        scope: Rc::new(Scope::new()),
    };
    elaborator.file(name.to_owned(), text, Span::default())?;
    let Elaborator { header, checks, used, scope, .. } = elaborator;
    Ok(Elaborated { header, checks, used, scope })
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
            self.header = file.header.into_iter().map(|word| word.text).collect();
        }
        if file.statements.len() > MAX_STATEMENTS {
            let what = format!("the file has more than {MAX_STATEMENTS} definitions and checks");
            return self.wrong(Span::default(), what);
        }
        for statement in &file.statements {
            self.statement(statement)?;
        }
        self.open.pop();
        Ok(())
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
            Statement::Let(definitions) => {
                // Definitions joined by `and` do not see one another.
                let values: Vec<_> = definitions.iter().map(|d| self.definition(d)).collect::<Result<_>>()?;
                for (definition, (value, depth)) in definitions.iter().zip(values) {
                    self.define(&definition.name.text, value, depth);
                }
                Ok(())
            }
            Statement::LetRec(definitions) => self.recursive(definitions),
            Statement::Check { role, demand, of, name } => {
                let (rel, _) = self.relation(of)?;
                let name = name.as_ref().map_or_else(|| self.text_of(of.span), |name| name.text.clone());
                let axiom = Axiom { name: name.into(), section: "cat".into(), demand: *demand, rel };
                self.checks.push(Check { role: *role, axiom });
                Ok(())
            }
        }
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

    fn definition(&mut self, definition: &Definition) -> Result<(Value, usize)> {
        match &definition.parameters {
            Some(parameters) => {
                for (i, parameter) in parameters.iter().enumerate() {
                    if parameters[..i].iter().any(|other| other.text == parameter.text) {
                        return self.wrong(
                            parameter.span,
                            format!("two parameters are called `{}`", parameter.text),
                        );
                    }
                }
                let function = Function {
                    parameters: parameters.clone(),
                    body: definition.body.clone(),
                    scope: self.scope.clone(),
                    file: self.open.last().copied().unwrap_or(0),
                };
                Ok((Value::Function(Rc::new(function)), 0))
            }
            None => {
                let (value, depth) = self.value(&definition.body)?;
                let shown = match definition.name.text.as_str() {
                    "co" => "coherence".to_owned(),
                    name => name.to_owned(),
                };
                let value = match value {
                    Value::Rel(rel) => Value::Rel(rel.named(shown, "cat")),
                    other => other,
                };
                Ok((value, depth + 1))
            }
        }
    }

    fn recursive(&mut self, definitions: &[Definition]) -> Result<()> {
        for (i, definition) in definitions.iter().enumerate() {
            let name = &definition.name;
            if let Some(parameters) = &definition.parameters {
                let span = parameters.first().map_or(name.span, |p| p.span);
                return self
                    .wrong(span, format!("the function `{}` calls itself without end", name.text))
                    .map_err(|mut e: ModelError| {
                        e.diagnostic =
                            e.diagnostic.with_help("`let rec` defines relations; a function is a `let`");
                        e
                    });
            }
            if definitions[..i].iter().any(|other| other.name.text == name.text) {
                return self.wrong(name.span, format!("`{}` is defined twice", name.text));
            }
        }
        let before = self.scope.clone();
        let mut deepest = 0;
        let relations = Rel::least(definitions.len(), |variables| {
            for (definition, variable) in definitions.iter().zip(variables) {
                self.define(&definition.name.text, Value::Rel(variable.clone()), 1);
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
        for (definition, relation) in definitions.iter().zip(relations) {
            let name = definition.name.text.clone();
            let relation = relation.named(name.clone(), "cat");
            self.define(&name, Value::Rel(relation), deepest + 3);
        }
        Ok(())
    }

    /// The relation of an expression; a set is the identity on it.
    fn relation(&mut self, expr: &Expr) -> Result<(Rel, usize)> {
        let (value, depth) = self.value(expr)?;
        match value {
            Value::Rel(rel) => Ok((rel, depth)),
            Value::Nothing => Ok((nothing(), depth)),
            Value::Set(events) => Ok((identity(&events), depth + 1)),
            Value::Function(_) => self.wrong(expr.span, "this is a function; a relation is expected here"),
        }
    }

    fn events(&mut self, expr: &Expr) -> Result<(Events, usize)> {
        let (value, depth) = self.value(expr)?;
        match value {
            Value::Set(events) => Ok((events, depth)),
            Value::Nothing => Ok((Events::Known(all().minus(all())), depth)),
            Value::Rel(_) => self.wrong(expr.span, "this is a relation; a set is expected here"),
            Value::Function(_) => self.wrong(expr.span, "this is a function; a set is expected here"),
        }
    }

    fn value(&mut self, expr: &Expr) -> Result<(Value, usize)> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return self.wrong(expr.span, format!("the model has more than {MAX_PARTS} parts"));
        }
        let (value, depth) = match &expr.kind {
            ExprKind::Name(name) => self.lookup(name, expr.span)?,
            ExprKind::Call(name, arguments) => self.call(name, arguments, expr.span)?,
            ExprKind::Unary(operator, inner) => self.unary(*operator, inner)?,
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right)?,
        };
        if depth > MAX_DEPTH {
            return self.wrong(expr.span, format!("definitions are more than {MAX_DEPTH} deep"));
        }
        Ok((value, depth))
    }

    fn lookup(&mut self, name: &str, span: Span) -> Result<(Value, usize)> {
        if let Some((value, depth)) = self.scope.get(name) {
            return Ok((value.clone(), *depth));
        }
        self.used.insert(name.to_owned());
        match names::meaning(name) {
            _ if name == "0" => Ok((Value::Nothing, 1)),
            Some(Meaning::Set(set)) => Ok((Value::Set(Events::Known(set)), 4)),
            Some(Meaning::Rel(rel)) => Ok((Value::Rel(rel), 4)),
            None if matches!(name, "RMW" | "A" | "ATOM") => {
                let halves = (rmw() >> !rmw()) | (!rmw() >> rmw());
                Ok((Value::Set(Events::Ends(halves & id())), 4))
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

    fn call(&mut self, name: &Ident, arguments: &[Expr], span: Span) -> Result<(Value, usize)> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument)?);
        }
        let function = match self.scope.get(&name.text) {
            Some((Value::Function(function), _)) => function.clone(),
            Some(_) => return self.wrong(name.span, format!("`{}` is no function", name.text)),
            None if name.text == "fencerel" => {
                let [argument] = arguments else {
                    return self.wrong(span, "`fencerel` has one argument");
                };
                let (events, depth) = self.events(argument)?;
                return Ok((Value::Rel(po() >> identity(&events) >> po()), depth + 2));
            }
            None => {
                let diagnostic = Diagnostic::new(
                    Code::ModelName,
                    name.span,
                    format!("no function is called `{}`", name.text),
                );
                return Err(self.error(diagnostic.with_help("a function is defined as `let f(a, b) = ...`")));
            }
        };
        if function.parameters.len() != values.len() {
            let (wants, has) = (function.parameters.len(), values.len());
            return self.wrong(span, format!("`{}` has {wants} arguments, not {has}", name.text));
        }
        if self.open.len() > MAX_OPEN {
            return self.wrong(span, format!("functions use functions more than {MAX_OPEN} deep"));
        }
        let mut scope = (*function.scope).clone();
        for (parameter, value) in function.parameters.iter().zip(values) {
            scope.insert(parameter.text.clone(), value);
        }
        let outside = std::mem::replace(&mut self.scope, Rc::new(scope));
        self.open.push(function.file);
        let result = self.value(&function.body);
        self.open.pop();
        self.scope = outside;
        result
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
                    Value::Function(_) => self.wrong(inner.span, "this is a function; it has no complement"),
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
            (Value::Function(_), _) => {
                return self.wrong(left.span, "this is a function, not a set or a relation");
            }
            (_, Value::Function(_)) => {
                return self.wrong(right.span, "this is a function, not a set or a relation");
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

/// The identity on a set.
fn identity(events: &Events) -> Rel {
    match events {
        Events::Known(set) => only(set),
        Events::Ends(rel) => rel.clone(),
    }
}
