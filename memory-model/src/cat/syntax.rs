//! The cat language as data.

use crate::litmus::Span;
use crate::model::Demand;
use std::rc::Rc;

/// A name and where it is.
#[derive(Debug, Clone)]
pub(super) struct Ident {
    pub(super) text: String,
    pub(super) span: Span,
}

/// An expression and where it is.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Union,
    Compose,
    Difference,
    Intersection,
    Product,
    /// `e ++ S`: a collection with one more member.
    Add,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Star,
    Plus,
    Optional,
    Inverse,
    Complement,
    Identity,
    Domain,
    Range,
}

#[derive(Debug, Clone)]
pub(super) enum ExprKind {
    Name(String),
    /// `'name`
    Tag(String),
    Tuple(Vec<Expr>),
    /// `{a, b}`
    Collection(Vec<Expr>),
    /// A function and what it is given.
    Call(Box<Expr>, Box<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Function(Rc<Function>),
    /// `let ... in`
    Local {
        recursive: bool,
        definitions: Vec<Definition>,
        body: Box<Expr>,
    },
    If(Box<Condition>, Box<Expr>, Box<Expr>),
    /// `try ... with ...`
    Try(Box<Expr>, Box<Expr>),
    /// By a tag; the clause for all others last.
    MatchTag(Box<Expr>, Vec<(Ident, Expr)>, Option<Box<Expr>>),
    /// By the members of a collection: none, or a first one and the rest.
    MatchMembers {
        of: Box<Expr>,
        none: Box<Expr>,
        first: Pattern,
        rest: Pattern,
        some: Box<Expr>,
    },
}

/// A question that is answered when the file is read.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// A variant of herd7's: none is on, so that this is what is left of it.
    Variant(bool),
    Equal(Expr, Expr),
    Subset(Expr, Expr),
    In(Expr, Expr),
}

/// What a parameter is called; `None` for `_`.
pub(super) type Pattern = Option<Ident>;

/// `fun (a, b) -> ...`
#[derive(Debug)]
pub(super) struct Function {
    /// How messages call it.
    pub(super) name: String,
    pub(super) parameters: Vec<Pattern>,
    pub(super) body: Expr,
}

/// What a check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Executions that fail it are not consistent.
    Axiom,
    /// Executions that pass it raise a flag.
    Flag,
    /// Executions that fail it leave the program undefined.
    UndefinedUnless,
}

/// `name = expression`; several names for a tuple.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) names: Vec<Pattern>,
    pub(super) body: Expr,
}

/// `acyclic r as name`
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) role: Role,
    pub(super) demand: Demand,
    pub(super) of: Expr,
    pub(super) name: Option<Ident>,
}

/// `procedure p(a, b) = ... end`
#[derive(Debug)]
pub(super) struct Procedure {
    pub(super) name: Ident,
    pub(super) parameters: Vec<Pattern>,
    pub(super) body: Vec<Statement>,
}

#[derive(Debug, Clone)]
pub(super) enum Statement {
    Let(Vec<Definition>),
    /// With what must hold of it, if there is a `when`.
    LetRec(Vec<Definition>, Option<Check>),
    Check(Check),
    Include(Ident),
    /// `with name from orders`
    Chosen(Ident, Expr),
    Procedure(Rc<Procedure>),
    Call(Ident, Expr),
    /// `forall x in S do ... end`
    Each(Ident, Expr, Vec<Statement>),
    Match(Expr, Vec<(Ident, Vec<Statement>)>, Vec<Statement>),
    /// The constants of an enumeration.
    Tags(Vec<Ident>),
}

/// A parsed file.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Names before the first statement: in Dartagnan's files the architecture.
    pub(super) header: Vec<Ident>,
    pub(super) statements: Vec<Statement>,
}
