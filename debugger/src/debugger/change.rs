//! Changing what a launch that stands still holds: from there on it has another future.

use sim_core::Change;

use super::Debugger;
use super::look::parse_in;
use crate::error::{Error, Result};
use crate::expression::{Ast, Bound, Names, Node, bind};
use crate::types::Space;

impl Debugger<'_, '_, '_> {
    /// How many changes the launch has, where it stands: going back behind one takes it back.
    pub fn changes(&self) -> usize {
        self.timeline.changes()
    }

    /// Does what `PLACE = VALUE` says, in the selected frame of the focus; `$name = VALUE` gives a variable of the debugger's own
    /// a value. Whether the launch was changed.
    ///
    /// # Errors
    /// It cannot be read, or the place cannot be changed.
    pub fn assign(&mut self, text: &str) -> Result<bool> {
        let scope = self.scope_here();
        let parsed = parse_in(text, &scope)?;
        let Some(value) = &parsed.assigned else {
            return Err(Error::refused("what is it to be? PLACE = VALUE"));
        };
        if parsed.across.is_some() {
            return Err(Error::refused("one thread is changed at a time"));
        }
        let value = bind(value, &scope)?;
        if let Ast::Name(name, _) = &parsed.ast
            && name.starts_with('$')
            && (scope.name(name).is_none() || self.points.values.get(name).is_some())
        {
            let value = self.with(|at| at.value(&value))?;
            self.points.values.set(name, value);
            return Ok(false);
        }
        let place = bind(&parsed.ast, &scope)?;
        let value = value.decayed();
        if !place.ty.is_scalar() || !value.ty.is_scalar() {
            return Err(Error::refused(
                "numbers and pointers can be set; of a structure or an array its parts",
            ));
        }
        let value = Bound { ty: place.ty.clone(), node: Node::Convert(value.into()) };
        let frame = self.physical();
        let change = self.with(|at| at.change(&place, at.scalar(&value)?, frame))?;
        self.change(change)?;
        Ok(true)
    }

    /// Writes memory of the focus.
    ///
    /// # Errors
    /// It is not there, or does not change.
    pub fn write(&mut self, space: Space, address: u64, bytes: &[u8]) -> Result<()> {
        let change = self.with(|at| at.change_memory(space, address, bytes.to_vec()))?;
        self.change(change)
    }

    fn change(&mut self, change: Change) -> Result<()> {
        let is_register = matches!(change, Change::Register { .. });
        self.timeline.change(self.session, change).map_err(|error| match is_register {
            true => Error::refused(
                "the register cannot be changed: wherever it is read it is a parameter, a special register or a constant",
            ),
            false => Error::refused(error.to_string()),
        })?;
        // What was found later need not be any more.
        let now = self.time();
        self.found.retain(|found| found.time.is_none_or(|time| time <= now));
        Ok(())
    }
}
