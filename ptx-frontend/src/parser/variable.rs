//! Declarations of variables and registers: checks and layout.

use smallvec::SmallVec;

use super::declaration::{Attributes, Declarator, Head, declarator, head};
use super::names::Entity;
use super::tokens::Name;
use super::{Done, Parser, SOURCE};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{FuncId, FunctionKind, Linkage, Symbol, VarId, Variable};
use crate::span::Span;
use crate::target::PtxVersion;
use isa::{ScalarType, StateSpace, TypeClass};

/// `offset` rounded up to a multiple of `align`; stays at the largest number where that overflows.
pub(super) fn align_up(offset: u64, align: u64) -> u64 {
    offset.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}

impl<'a> Parser<'a> {
    /// A declaration in any state space, at module scope or in a function.
    pub(super) fn variables(&mut self, linkage: Linkage, start: Span) -> Done {
        let head = self.rule(head)?;
        self.check_head(&head, linkage, start);
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        loop {
            let declarator = self.rule(declarator)?;
            if self.is_shared_by_functions(&head) {
                self.shared_by_functions.push((head.clone(), declarator));
            } else if head.space == StateSpace::Reg {
                self.declare_register(&head, &declarator);
            } else {
                self.declare_variable(&head, declarator, linkage)?;
            }
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if self.kind() == TokenKind::Semicolon {
                self.bump();
                return Ok(());
            }
            return self.expected("`;`");
        }
    }

    /// `.tex .u32 a, b;`, which PTX had before 1.5: textures by their old name.
    pub(super) fn textures(&mut self, start: Span) -> Done {
        self.bump();
        let type_span = self.span();
        if self.kind() != TokenKind::Directive || !matches!(self.word(), ".u32" | ".u64") {
            return self.expected("`.u32` or `.u64`");
        }
        self.bump();
        let head = Head {
            space: StateSpace::Global,
            align: None,
            attributes: Attributes::default(),
            vector: 1,
            ty: ScalarType::Texref,
            pointer: None,
            span: start.to(type_span),
            type_span,
        };
        loop {
            let declarator = self.rule(declarator)?;
            self.declare_variable(&head, declarator, Linkage::Internal)?;
            if !self.eat(TokenKind::Comma) {
                return self.expect(TokenKind::Semicolon);
            }
        }
    }

    /// Whether this declares what all functions of a thread share: registers and local memory of module
    /// scope, in PTX before 3.0.
    fn is_shared_by_functions(&self, head: &Head) -> bool {
        let space = matches!(head.space, StateSpace::Reg | StateSpace::Local);
        space && !self.inside() && self.module.version < PtxVersion::new(3, 0)
    }

    /// Declares those in the kernel that begins: with no device function nothing is shared.
    pub(super) fn declare_shared_by_functions(&mut self, kind: FunctionKind) {
        for (head, declarator) in self.shared_by_functions.clone() {
            if kind == FunctionKind::Func {
                let message = format!("`{}` is shared by all functions of a thread", declarator.name.text);
                self.error(
                    Diagnostic::error(codes::MISPLACED, declarator.span, message)
                        .caption("not supported where there are device functions")
                        .help("declare it in the functions, or pass it to them"),
                );
                self.names.bind(declarator.name.text, Entity::Unknown, declarator.name.span);
            } else if head.space == StateSpace::Reg {
                self.declare_register(&head, &declarator);
            } else {
                // What is wrong with it has been said.
                let _ = self.declare_variable(&head, declarator, Linkage::Internal);
            }
        }
        if kind == FunctionKind::Func {
            self.shared_by_functions.clear();
        }
    }

    fn inside(&self) -> bool {
        self.names.depth() > 0
    }

    fn check_head(&mut self, head: &Head, linkage: Linkage, start: Span) {
        let space = head.space;
        let misplaced = matches!(space, StateSpace::Reg | StateSpace::Local | StateSpace::Param);
        if !self.inside() && misplaced && !self.is_shared_by_functions(head) {
            self.error(
                Diagnostic::error(
                    codes::MISPLACED,
                    head.span,
                    format!("a `.{space}` variable at module scope"),
                )
                .caption("only allowed inside functions"),
            );
        }
        if self.inside() && linkage != Linkage::Internal {
            self.error(Diagnostic::error(codes::LINKAGE, start, "a linking directive inside a function"));
        }
        if linkage == Linkage::Common && space != StateSpace::Global {
            self.error(Diagnostic::error(codes::LINKAGE, start, "`.common` is for `.global` variables only"));
        }
        self.check_type(head);
        if let Some(span) = head.attributes.span {
            let Attributes { managed, unified, .. } = head.attributes;
            if managed {
                self.require(".managed", span);
            }
            if unified.is_some() {
                self.require(".unified", span);
            }
        }
        if let Some(span) = head.attributes.span
            && space != StateSpace::Global
        {
            self.error(
                Diagnostic::error(
                    codes::INVALID_TYPE,
                    span,
                    "only `.global` variables take these attributes",
                )
                .label(head.span, format!("declared in `.{space}`")),
            );
        }
        if head.pointer.is_some() {
            self.error(
                Diagnostic::error(codes::MISPLACED, head.span, "`.ptr` is an attribute of kernel parameters")
                    .caption("not a kernel parameter"),
            );
        }
    }

    /// What no state space allows, and what this one does not.
    pub(super) fn check_type(&mut self, head: &Head) {
        let Head { space, ty, vector, type_span, .. } = *head;
        let class = ty.class();
        let problem = if class == TypeClass::Predicate && space != StateSpace::Reg {
            "predicates live in registers only".to_owned()
        } else if class == TypeClass::Predicate && vector > 1 {
            "there are no vectors of predicates".to_owned()
        } else if class == TypeClass::Opaque && (space != StateSpace::Global || self.inside()) {
            format!("a `{ty}` must be a `.global` variable at module scope or a kernel parameter")
        } else if class == TypeClass::Opaque && vector > 1 {
            format!("there are no vectors of `{ty}`")
        } else if ty == ScalarType::Samplerref && !self.independent_textures() {
            "`.samplerref` needs `.target texmode_independent`".to_owned()
        } else if ty.bits() * vector > 128 {
            format!("`.v{vector} {ty}` is longer than 128 bits")
        } else {
            return;
        };
        self.error(Diagnostic::error(codes::INVALID_TYPE, type_span, problem));
    }

    /// Vectors and packed types are parameters only as elements of arrays.
    pub(super) fn check_parameter_type(&mut self, head: &Head, declarator: &Declarator<'a>) {
        let Head { ty, vector, type_span, .. } = *head;
        let packed = vector > 1 || ty == ScalarType::F16x2;
        if head.space != StateSpace::Param || !packed || !declarator.dimensions.is_empty() {
            return;
        }
        let problem = "parameters in `.param` have scalar types";
        let error = Diagnostic::error(codes::INVALID_TYPE, type_span, problem);
        self.error(match vector {
            1 => error,
            _ => error
                .help(format!("pass an array: `.param .align {} {ty} name[{vector}]`", ty.bytes() * vector)),
        });
    }

    fn independent_textures(&self) -> bool {
        self.module.target_options.iter().any(|option| &**option == "texmode_independent")
    }

    fn declare_register(&mut self, head: &Head, declarator: &Declarator<'a>) {
        let name = declarator.name;
        if !declarator.dimensions.is_empty() {
            self.error(Diagnostic::error(
                codes::INVALID_TYPE,
                declarator.span,
                "there are no arrays of registers",
            ));
        }
        if self.kind() == TokenKind::Assign {
            let span = self.span();
            self.error(
                Diagnostic::error(codes::INITIALIZER, span, "a register cannot have an initial value")
                    .help("write a `mov`"),
            );
            while !matches!(self.kind(), TokenKind::Comma | TokenKind::Semicolon | TokenKind::End) {
                self.bump();
            }
        }
        if super::special::special(name.text).is_some() {
            self.reserved(name);
            return;
        }
        if !self.inside() {
            // Reported already; its uses need not be.
            self.names.bind(name.text, Entity::Unknown, name.span);
            return;
        }
        let declared = match declarator.count {
            Some((count, span)) if count > u64::from(u32::MAX) => {
                let error = Diagnostic::error(codes::TOO_LARGE, span, "more than 4294967295 registers");
                self.error(error);
                Ok(())
            }
            Some((count, _)) => self.names.declare_range(name.text, count, head.ty, head.vector, name.span),
            None => self.names.declare_register(name.text, head.ty, head.vector, name.span),
        };
        if let Err(earlier) = declared {
            self.redeclared(name, earlier.span);
        }
    }

    fn reserved(&mut self, name: Name<'a>) {
        let message = format!("`{}` is a predefined name", name.text);
        self.error(Diagnostic::error(codes::REDECLARED, name.span, message).caption("choose another name"));
    }

    fn declare_variable(&mut self, head: &Head, declarator: Declarator<'a>, linkage: Linkage) -> Done {
        let owner = self.inside().then_some(self.function);
        let errors = self.report.errors();
        self.check_parameter_type(head, &declarator);
        let mut variable = self.layout(head, &declarator, linkage, owner);
        let sound = self.report.errors() == errors;
        let name = declarator.name;
        if name.text == "WARP_SZ" || super::special::special(name.text).is_some() {
            self.reserved(name);
        }
        if self.kind() == TokenKind::Assign {
            self.bump();
            let initialized = self.initial_value(head, &declarator, &mut variable);
            if initialized.is_err() {
                // The name is known all the same.
                self.add_variable(name.text, name, variable);
                return initialized;
            }
        } else if sound && variable.size == 0 && linkage != Linkage::Extern {
            self.error(
                Diagnostic::error(
                    codes::INVALID_TYPE,
                    declarator.span,
                    format!("`{}` has no size", name.text),
                )
                .caption("an array without a length")
                .help("give it a length or an initialiser, or declare it `.extern`"),
            );
        }
        let Some((count, _)) = declarator.count else {
            self.add_variable(name.text, name, variable);
            return Ok(());
        };
        if !self.afford_range(name, count) {
            return Ok(());
        }
        // Names of ranges do not stand in the text, so that lookups need the range's prefix.
        let first = VarId(self.module.variables.len() as u32);
        for number in 0..count {
            let text = format!("{}{number}", name.text);
            variable.name = text.into();
            self.module.variables.push(variable.clone());
            self.register_variable(VarId(first.0 + number as u32));
        }
        if let Err(earlier) = self.names.declare_variables(name.text, count, first, name.span) {
            self.redeclared(name, earlier.span);
        }
        Ok(())
    }

    /// The variable that a declaration makes, its size and alignment set.
    pub(super) fn layout(
        &mut self,
        head: &Head,
        declarator: &Declarator<'a>,
        linkage: Linkage,
        owner: Option<FuncId>,
    ) -> Variable {
        let element = u64::from(head.ty.bytes()) * u64::from(head.vector);
        let mut size = Some(element);
        for (at, &dimension) in declarator.dimensions.iter().enumerate() {
            if dimension == 0 && at > 0 {
                let message = "only the outermost dimension may be left out";
                self.error(Diagnostic::error(codes::INVALID_TYPE, declarator.span, message));
            }
            size = size.and_then(|size| size.checked_mul(dimension));
        }
        if size.is_none_or(|size| size > i64::MAX as u64) {
            self.error(
                Diagnostic::error(
                    codes::TOO_LARGE,
                    declarator.span,
                    format!("`{}` is too large", declarator.name.text),
                )
                .caption("its size in bytes does not fit 63 bits"),
            );
        }
        Variable {
            name: declarator.name.text.into(),
            space: head.space,
            ty: head.ty,
            vector: head.vector,
            dimensions: declarator.dimensions.clone(),
            size: size.unwrap_or(0).min(i64::MAX as u64),
            align: head.align.map_or(element.max(1), |(bytes, _)| bytes),
            linkage,
            initializer: None,
            managed: head.attributes.managed,
            unified: head.attributes.unified,
            pointer: head.pointer,
            owner,
            offset: 0,
            source: SOURCE,
            span: head.span.to(declarator.span),
        }
    }

    fn initial_value(&mut self, head: &Head, declarator: &Declarator<'a>, variable: &mut Variable) -> Done {
        let span = declarator.name.span;
        let problem = if variable.linkage == Linkage::Extern {
            Some("an `.extern` variable cannot have an initial value".to_owned())
        } else if !matches!(head.space, StateSpace::Global | StateSpace::Const) {
            Some(format!("a `.{}` variable cannot have an initial value", head.space))
        } else if matches!(head.ty, ScalarType::F16 | ScalarType::F16x2) {
            Some(format!("a `{}` variable cannot have an initial value", head.ty))
        } else if declarator.count.is_some() {
            Some("variables made by a range cannot have initial values".to_owned())
        } else {
            None
        };
        if let Some(problem) = problem {
            let mut error = Diagnostic::error(codes::INITIALIZER, span, problem);
            if matches!(head.ty, ScalarType::F16 | ScalarType::F16x2) {
                error = error.help(format!("declare it `.b{}` and give the bits", head.ty.bits()));
            }
            self.error(error);
        }
        if head.ty.class() == TypeClass::Opaque {
            return self.opaque_initializer();
        }
        let shape: SmallVec<[u64; 4]> = variable
            .dimensions
            .iter()
            .copied()
            .chain((head.vector > 1).then_some(u64::from(head.vector)))
            .collect();
        let (initializer, outermost) = self.initializer(head.ty, &shape, head.vector > 1)?;
        if let Some(first) = variable.dimensions.first_mut()
            && *first == 0
        {
            *first = outermost;
            let element = u64::from(head.ty.bytes()) * u64::from(head.vector);
            let size = variable.dimensions.iter().try_fold(element, |size, &n| size.checked_mul(n));
            variable.size = size.unwrap_or(0);
        }
        variable.initializer = Some(initializer);
        Ok(())
    }

    /// Binds the name of a variable, or joins it with an earlier declaration at module scope.
    fn add_variable(&mut self, text: &'a str, name: Name<'a>, variable: Variable) {
        if variable.owner.is_none()
            && let Some((entity, earlier)) = self.names.find_bound(text)
        {
            self.redeclare_variable(name, entity, earlier, variable);
            return;
        }
        let id = VarId(self.module.variables.len() as u32);
        if let Err(earlier) = self.names.declare(text, Entity::Variable(id), name.span) {
            self.redeclared(name, earlier.span);
            return;
        }
        self.module.variables.push(variable);
        self.register_variable(id);
    }

    /// Lists a variable in its module or function.
    fn register_variable(&mut self, id: VarId) {
        let variable = &self.module.variables[id.index()];
        match variable.owner {
            Some(owner) => self.module.functions[owner.index()].variables.push(id),
            None => {
                self.module.symbols.insert(variable.name.clone(), Symbol::Variable(id));
            }
        }
    }

    fn redeclare_variable(&mut self, name: Name<'a>, entity: Entity, earlier: Span, variable: Variable) {
        let Entity::Variable(id) = entity else {
            self.redeclared(name, earlier);
            return;
        };
        let old = &mut self.module.variables[id.index()];
        if old.linkage != Linkage::Extern && variable.linkage != Linkage::Extern {
            self.redeclared(name, earlier);
            return;
        }
        let unsized_one = old.size == 0 || variable.size == 0;
        let same = old.space == variable.space
            && old.ty == variable.ty
            && old.vector == variable.vector
            && (old.dimensions == variable.dimensions
                || (unsized_one && old.dimensions.len() == variable.dimensions.len()));
        if !same {
            self.error(
                Diagnostic::error(
                    codes::CONFLICT,
                    name.span,
                    format!("`{}` is declared with another type", name.text),
                )
                .caption("differs from the declaration before")
                .label(earlier, "declared here before"),
            );
            return;
        }
        if old.linkage == Linkage::Extern && variable.linkage == Linkage::Internal {
            let message = format!("`{}` is `.extern` and cannot be defined for its module only", name.text);
            self.error(
                Diagnostic::error(codes::LINKAGE, name.span, message)
                    .label(earlier, "declared here before")
                    .help("write `.visible`"),
            );
            return;
        }
        if old.linkage == Linkage::Extern {
            *old = variable;
        }
    }
}
