//! `.alias` (ISA 11.2.3): a second name for a function.
//!
//! Uses of the alias become uses of its function when the text has been read; only the module's symbol
//! keeps the second name.

use nom::sequence::{separated_pair, terminated};

use super::names::Entity;
use super::tokens::{Name, name, token};
use super::{Done, Parser, Stop};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{FuncId, Linkage, Operand, Symbol};

impl<'a> Parser<'a> {
    /// `.alias name, function;` (ISA 11.2.3)
    pub(super) fn alias(&mut self) -> Done {
        self.bump();
        let pair = separated_pair(name, token(TokenKind::Comma), name);
        let (alias, aliasee) = self.rule(terminated(pair, token(TokenKind::Semicolon)))?;
        let alias_id = self.alias_function(alias)?;
        let target_id = self.alias_function(aliasee)?;
        let (from, to) =
            (&self.module.functions[alias_id.index()], &self.module.functions[target_id.index()]);
        let problem = if from.body.is_some() {
            Some((alias, "an alias must be a declaration without a body"))
        } else if to.body.is_none() {
            Some((aliasee, "the function behind an alias must be defined before"))
        } else if to.linkage == Linkage::Weak {
            Some((aliasee, "a `.weak` function cannot have an alias"))
        } else if from.kind != to.kind || self.signature_differs(alias_id, target_id) {
            Some((alias, "the alias and its function have different parameters"))
        } else {
            None
        };
        if let Some((name, message)) = problem {
            self.error(Diagnostic::error(codes::ALIAS, name.span, message));
            return Ok(());
        }
        self.aliases.push((alias_id, target_id));
        Ok(())
    }

    fn alias_function(&mut self, name: Name<'a>) -> Done<FuncId> {
        match self.names.find_bound(name.text) {
            Some((Entity::Function(id), _)) => Ok(id),
            Some((entity, span)) => {
                self.error(
                    Diagnostic::error(
                        codes::WRONG_KIND,
                        name.span,
                        format!("`{}` is not a function", name.text),
                    )
                    .label(span, format!("{} declared here", super::describe(entity))),
                );
                Err(Stop)
            }
            None => {
                self.undefined(name, "the function");
                Err(Stop)
            }
        }
    }

    /// Puts functions in the place of their aliases.
    pub(super) fn finish_aliases(&mut self) {
        if self.aliases.is_empty() {
            return;
        }
        let mut meant: Vec<FuncId> = (0..self.module.functions.len() as u32).map(FuncId).collect();
        for &(alias, function) in &self.aliases {
            meant[alias.index()] = function;
        }
        let module = &mut self.module;
        for body in module.functions.iter_mut().filter_map(|function| function.body.as_mut()) {
            for operand in &mut body.operand_pool {
                if let Operand::Function(id) = operand {
                    *id = meant[id.index()];
                }
            }
            for id in body.prototypes.iter_mut().filter_map(|p| p.targets.as_mut()).flatten() {
                *id = meant[id.index()];
            }
        }
        let relocations = module.variables.iter_mut().filter_map(|variable| variable.initializer.as_mut());
        for relocation in relocations.flat_map(|initializer| &mut initializer.relocations) {
            if let Symbol::Function(id) = &mut relocation.target {
                *id = meant[id.index()];
            }
        }
        for symbol in module.symbols.values_mut() {
            if let Symbol::Function(id) = symbol {
                *id = meant[id.index()];
            }
        }
    }
}
