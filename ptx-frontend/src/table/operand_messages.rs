//! What is said of operands that do not fit.

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::module::Operand;
use crate::span::Span;
use isa::SpecialRegister;
use isa::{ScalarType, StateSpace, TypeClass};

use super::check::{self, Misfit};
use super::context::Context;
use super::expect::{Constant, Counting, Expect, Kind};
use super::model::Limit;
use super::special;
use super::{OperandView, Resolved};

/// No row takes these operands: says what is wrong with the row that comes nearest.
pub(super) fn misfit(context: &Context, resolved: &Resolved, view: &OperandView<'_>) -> Diagnostic {
    let usable = resolved.candidates.iter().filter(|candidate| candidate.unmet.is_none());
    let signatures: Vec<&[Expect]> =
        usable.clone().flat_map(|candidate| candidate.signatures.iter().map(|s| &*s.expected)).collect();
    let given = view.operands.len();
    let mut nearest: Option<(usize, Misfit, &[Expect])> = None;
    for signature in signatures.iter().filter(|signature| signature.len() == given) {
        if let Err((at, misfit)) = check::fits(context, signature, view)
            && nearest.as_ref().is_none_or(|(before, ..)| at > *before)
        {
            nearest = Some((at, misfit, signature));
        }
    }
    let error = match nearest {
        Some((at, misfit, signature)) => wrong(context, resolved, view, at, &misfit, &signature[at]),
        None => count(resolved, view, &signatures),
    };
    let mut forms: Vec<String> = signatures.iter().map(|signature| form(resolved, signature)).collect();
    forms.dedup();
    forms.truncate(3);
    forms.into_iter().fold(error, |error, form| error.help(format!("the form is `{form}`")))
}

/// One that will not be shown, as there are too many.
pub(super) fn brief(resolved: &Resolved, view: &OperandView<'_>) -> Diagnostic {
    let message = format!("the operands do not fit `{}`", resolved.op.opcode.text());
    Diagnostic::error(codes::REGISTER_TYPE, view.span, message)
}

/// The instruction with the names of its operands.
fn form(resolved: &Resolved, signature: &[Expect]) -> String {
    let operands: Vec<String> = signature.iter().map(operand).collect();
    format!("{} {}", resolved.op, operands.join(", "))
}

fn operand(expect: &Expect) -> String {
    let name = expect.name;
    match &expect.kind {
        Kind::Pair { optional: false, .. } => format!("{name}|p"),
        Kind::Pair { optional: true, .. } => format!("{name}{{|p}}"),
        Kind::Address { .. } | Kind::TensorAddress => format!("[{name}]"),
        Kind::List(inner) => {
            let inner: Vec<String> = inner
                .iter()
                .map(|inner| match inner.kind {
                    Kind::Address { .. } => inner.name.to_owned(),
                    _ => operand(inner),
                })
                .collect();
            format!("[{}]", inner.join(", "))
        }
        Kind::Arguments => format!("({name})"),
        _ if expect.count > 4 => format!("{{{name}0, …, {name}{}}}", expect.count - 1),
        _ if expect.count > 0 => {
            let elements: Vec<String> = (0..expect.count).map(|at| format!("{name}{at}")).collect();
            format!("{{{}}}", elements.join(", "))
        }
        _ if expect.flags.negatable => format!("{{!}}{name}"),
        _ => name.to_owned(),
    }
}

fn count(resolved: &Resolved, view: &OperandView<'_>, signatures: &[&[Expect]]) -> Diagnostic {
    let mut counts: Vec<usize> = signatures.iter().map(|signature| signature.len()).collect();
    counts.sort_unstable();
    counts.dedup();
    let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    let given = view.operands.len();
    let message = format!("`{}` takes {} operands, not {given}", resolved.op, counts.join(" or "));
    let span = view.spans.last().map_or(view.span, |last| view.spans[0].to(*last));
    Diagnostic::error(codes::OPERAND_COUNT, span, message).caption(plural(given, "operand"))
}

fn wrong(
    context: &Context,
    resolved: &Resolved,
    view: &OperandView<'_>,
    at: usize,
    misfit: &Misfit,
    expect: &Expect,
) -> Diagnostic {
    let span = view.spans.get(at).copied().unwrap_or(view.span);
    let name = expect.name;
    let wanted = wanted(expect);
    let (code, found) = match misfit {
        Misfit::Register(ty) => (codes::REGISTER_TYPE, format!("a register of type `{ty}`")),
        Misfit::Constant(constant) => {
            let what = match constant {
                Constant::Integer => "an integer constant",
                Constant::Single => "a single-precision constant",
                Constant::Double => "a floating-point constant",
            };
            (codes::CONSTANT_KIND, what.to_owned())
        }
        Misfit::Value(value) => (codes::CONSTANT_VALUE, value.to_string()),
        Misfit::Elements(len) => (codes::VECTOR, format!("a vector of {len}")),
        Misfit::Mixed => (codes::VECTOR, "registers of different sizes".to_owned()),
        Misfit::NotVector => (codes::VECTOR, "a single value".to_owned()),
        Misfit::Space(space) => (codes::SPACE, format!("a variable in `.{space}`")),
        Misfit::Base(ty) => (codes::ADDRESS_BASE, format!("a base register of type `{ty}`")),
        Misfit::Absolute => (codes::ADDRESS_BASE, "an absolute address, which only `.local` has".to_owned()),
        Misfit::Special(register) => return special(context, *register, span),
        Misfit::Sum => (codes::OPERAND_FORM, "a sum".to_owned()),
        Misfit::Form => (codes::OPERAND_FORM, form_found(view.operands.get(at), expect)),
    };
    let message = format!("operand `{name}` of `{}` must be {wanted}, found {found}", resolved.op);
    let error = Diagnostic::error(code, span, message).caption(format!("expected {wanted}"));
    match (misfit, view.operands.get(at)) {
        (Misfit::Form, Some(Operand::Special(_))) if !expect.flags.special => {
            error.help("read the special register with `mov` first")
        }
        _ => error,
    }
}

/// A special register that the module is too old for, or its target.
fn special(context: &Context, register: SpecialRegister, span: Span) -> Diagnostic {
    let about = special::about(register);
    let (old, below) = (context.version < about.version, context.target.sm < about.sm);
    let (code, needs) = match (old, below) {
        (true, false) => (codes::TOO_OLD, format!("PTX {}", about.version)),
        (false, _) => (codes::WRONG_TARGET, format!("sm_{}", about.sm)),
        (true, true) => (codes::TOO_OLD, format!("PTX {} and sm_{}", about.version, about.sm)),
    };
    let module = format!("the module says {} and {}", context.version, context.target);
    Diagnostic::error(code, span, format!("`{register}` needs {needs}, {module}"))
        .caption(format!("needs {needs}"))
}

/// What kind of operand was found where another kind is wanted.
fn form_found(operand: Option<&Operand>, expect: &Expect) -> String {
    let text = match operand {
        Some(Operand::Register(_)) => match expect.kind {
            Kind::Address { .. } | Kind::TensorAddress | Kind::List(_) => "a register without `[ ]`",
            _ => "a register",
        },
        Some(Operand::Negated(_) | Operand::NegatedPart(..)) => "a negated register",
        Some(Operand::Part(..)) => "a part of a register",
        Some(Operand::Integer(_) | Operand::F32(_) | Operand::F64(_)) => "a constant",
        Some(Operand::Special(register)) => {
            let ty = special::about(*register).ty;
            return format!("the special register `{register}` of type `{ty}`");
        }
        Some(Operand::Variable(..)) => match expect.kind {
            Kind::Address { .. } | Kind::List(_) => "a variable without `[ ]`",
            _ => "the address of a variable",
        },
        Some(Operand::Function(_)) => "a function",
        Some(Operand::Vector(_)) if expect.count > 0 => "an element of another kind",
        Some(Operand::Vector(_)) => "a list in `{ }`",
        Some(Operand::Pair(_)) => "a pair `d|p`",
        Some(Operand::Address(_)) => "an address in `[ ]`",
        Some(Operand::AddressList(_)) => match expect.kind {
            Kind::List(_) => "an element of another kind",
            _ => "an address with coordinates",
        },
        Some(Operand::Sink) => "`_`",
        Some(Operand::Label(_)) => "a label",
        Some(Operand::BranchTargets(_)) => "a `.branchtargets` list",
        Some(Operand::Prototype(_)) => "a prototype",
        None => "nothing",
    };
    text.to_owned()
}

/// What an operand must be, in words.
fn wanted(expect: &Expect) -> String {
    let value = || {
        let scalar = type_text(expect);
        let text = match (expect.counting, expect.count) {
            (_, 0) => scalar,
            (Counting::AtLeast, least) => format!("a vector of at least {least}, each {scalar}"),
            (_, count) => format!("a vector of {count}, each {scalar}"),
        };
        if expect.flags.negatable { format!("{text}, perhaps negated") } else { text }
    };
    match &expect.kind {
        Kind::Value => value(),
        Kind::Pack => format!("a {}-bit register or a vector of its equal parts", expect.ty.bits()),
        Kind::Pair { .. } => format!("{} and a predicate, as `d|p`", value()),
        Kind::Constant { list, .. } if !list.is_empty() => {
            let values: Vec<String> = list.iter().map(ToString::to_string).collect();
            format!("the constant {}", values.join(" or "))
        }
        Kind::Constant { low, high, .. } if *low == i64::MIN && *high == i64::MAX => {
            "an integer constant".to_owned()
        }
        Kind::Constant { low, high, .. } if low == high => format!("the constant {low}"),
        Kind::Constant { low, high, .. } => format!("a constant from {low} to {high}"),
        Kind::Address { space, sized } => {
            let space = match space {
                StateSpace::Generic => "a generic address".to_owned(),
                space => format!("an address in `.{space}`"),
            };
            if *sized { format!("{space} in a register of the address size") } else { space }
        }
        Kind::TensorAddress => "a tensor memory address in a 32-bit register".to_owned(),
        Kind::List(_) => "an address with its coordinates in brackets".to_owned(),
        Kind::Handle => format!("a 64-bit handle or a `{}` variable", expect.ty),
        Kind::Label => "a label".to_owned(),
        Kind::Targets => "a `.branchtargets` list".to_owned(),
        Kind::Callee => "a function, or a register that holds the address of one".to_owned(),
        Kind::Arguments => "arguments in parentheses".to_owned(),
        Kind::Prototype => "a `.callprototype` or `.calltargets`".to_owned(),
        Kind::Sink => "`_`".to_owned(),
    }
}

/// The type of one value, in words.
fn type_text(expect: &Expect) -> String {
    let ty = expect.ty;
    if ty == ScalarType::Pred {
        return "a predicate".to_owned();
    }
    let bits = ty.bits().next_multiple_of(8);
    let size = if expect.flags.wider { format!("{bits}-bit or wider") } else { format!("{bits}-bit") };
    let register = match ty.class() {
        TypeClass::Bits => format!("{size} register"),
        TypeClass::Float => format!("register of `{ty}` or of {size} untyped"),
        _ if ty.lanes() > 1 => format!("{size} untyped register"),
        _ => format!("{size} integer or untyped register"),
    };
    let article = if size.starts_with('8') { "an" } else { "a" };
    let article = if register.starts_with('r') { "a" } else { article };
    let constant = !expect.flags.destination && !expect.flags.register_only && ty.lanes() == 1;
    let constant = match (constant, expect.limit) {
        (false, _) => String::new(),
        (true, Limit { multiple, .. }) if multiple > 1 => format!(", or a constant multiple of {multiple}"),
        (true, Limit { low, high, .. }) if low > i64::MIN => format!(", or a constant from {low} to {high}"),
        _ => match ty.class() {
            TypeClass::Float => ", or a floating-point constant".to_owned(),
            TypeClass::Signed | TypeClass::Unsigned => ", or an integer constant".to_owned(),
            _ => ", or a constant".to_owned(),
        },
    };
    format!("{article} {register}{constant}")
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
