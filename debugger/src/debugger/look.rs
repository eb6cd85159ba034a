//! Looking at a launch that stands still: expressions, memory, call frames.

use sim_core::{Session, WarpId};

use super::{Debugger, Focus, Frame};
use crate::data::{Data, data};
use crate::error::{Error, Result};
use crate::expression::{At, Bound, Here, Names, Parsed, Value, bind, bind_type, parse, parse_type};
use crate::format::{self, Format};
use crate::scope::Scope;
use crate::types::{Space, Type};

/// A place of the code, and how many inlined functions there are left.
#[derive(Clone, Copy)]
struct Position {
    position: u32,
    level: usize,
}

/// Reads an expression with the types of a place.
pub(super) fn parse_in(text: &str, scope: &Scope<'_>) -> Result<Parsed> {
    parse(text, &|name| scope.type_named(name).is_some())
}

fn bind_in(text: &str, scope: &Scope<'_>) -> Result<(Bound, Parsed)> {
    let parsed = parse_in(text, scope)?;
    if parsed.assigned.is_some() {
        return Err(Error::refused("`=` changes something, which `set var` does; `==` compares"));
    }
    Ok((bind(&parsed.ast, scope)?, parsed))
}

impl Debugger<'_, '_, '_> {
    /// Does something with a lane of the selected frame.
    pub(super) fn with<T>(&self, mut look: impl FnMut(&At<'_>) -> Result<T>) -> Result<T> {
        self.with_lane(self.focus, self.physical(), &mut look)
    }

    /// The number of the selected frame in the chain of calls.
    pub(super) fn physical(&self) -> usize {
        let frames = self.frames().unwrap_or_default();
        frames.get(self.frame).map_or(0, |frame| frame.physical)
    }

    /// Does something with a lane, in a frame of its chain of calls.
    ///
    /// # Errors
    /// Those of `look`.
    pub fn with_lane<T>(
        &self,
        focus: Focus,
        frame: usize,
        look_at: &mut dyn FnMut(&At<'_>) -> Result<T>,
    ) -> Result<T> {
        let look = self.session.look();
        let session: &Session<'_, '_> = self.session;
        let here = || {
            let block = look.block(focus.warp.block)?;
            let warp = block.warp(focus.warp.warp)?;
            let frames = warp.group(focus.lane)?.frames();
            let frame = *frames.get(frame).or(frames.first())?;
            Some(Here { block, warp, frame })
        };
        look_at(&At { session, here: here(), lane: focus.lane })
    }

    pub(super) fn no_thread(&self) -> Error {
        let (block, thread) = (self.block(self.focus.warp.block), self.thread(self.focus));
        let look = self.session.look();
        let what = match look.block(self.focus.warp.block).and_then(|block| block.warp(self.focus.warp.warp))
        {
            None if self.session.is_over() => "the launch is over",
            None => "its block is not running",
            Some(warp) if warp.faulted() >> self.focus.lane & 1 != 0 => "a fault ended it",
            Some(_) => "it has exited",
        };
        Error::NoThread(format!("block {block}, thread {thread} is not there: {what}"))
    }

    fn no_thread_of(&self, focus: Focus) -> Error {
        let (block, thread) = (self.block(focus.warp.block), self.thread(focus));
        Error::NoThread(format!(
            "block {block}, thread {thread} is not there: it has exited, or its block is not running"
        ))
    }

    /// The names at a place.
    pub fn scope(&self, position: u32) -> Scope<'_> {
        self.scope_at(Position { position, level: 0 })
    }

    /// The names in the selected frame of the focus; where the thread is not there, at the kernel's beginning.
    pub fn scope_here(&self) -> Scope<'_> {
        self.scope_at(self.position())
    }

    fn scope_at(&self, Position { position, level }: Position) -> Scope<'_> {
        let function = self.program.place(position).map_or(0, |place| place.function);
        Scope {
            program: &self.program,
            symbols: &self.symbols,
            values: &self.points.values,
            code: self.session.code(),
            function,
            position,
            level,
            time: self.time(),
        }
    }

    /// Binds an expression at a position of the code.
    ///
    /// # Errors
    /// It cannot be read, or a name is unknown there.
    pub fn bind_at(&self, text: &str, position: u32) -> Result<(Bound, Parsed)> {
        bind_in(text, &self.scope(position))
    }

    /// Where the selected frame of the focus is; where the thread is not there, the kernel's beginning.
    fn position(&self) -> Position {
        let frames = self.frames().ok();
        let frame = frames.as_ref().and_then(|frames| frames.get(self.frame));
        match frame {
            Some(frame) => Position { position: frame.position, level: frame.level },
            // Nobody is in a function there: its variables hide no buffers.
            None => Position { position: 0, level: usize::MAX },
        }
    }

    /// Binds an expression in the selected frame of the focus; where the thread is not there, at the kernel's beginning.
    ///
    /// # Errors
    /// Those of [`Debugger::bind_at`].
    pub fn bind(&self, text: &str) -> Result<(Bound, Parsed)> {
        bind_in(text, &self.scope_here())
    }

    /// The type that a text names, or that of an expression, in the selected frame of the focus.
    ///
    /// # Errors
    /// It is neither.
    pub fn type_of(&self, text: &str) -> Result<Type> {
        let scope = self.scope_here();
        match parse_type(text, &|name| scope.type_named(name).is_some()) {
            Some(name) => bind_type(&name, &scope),
            None => Ok(self.bind(text)?.0.ty),
        }
    }

    /// The value of an expression in the selected frame of the focus.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn evaluate(&self, text: &str) -> Result<Value> {
        let (bound, _) = self.bind(text)?;
        self.with(|at| at.value(&bound))
    }

    /// Keeps the value of an expression that is bound, so that later ones can name it; its number.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn keep(&mut self, bound: &Bound) -> Result<usize> {
        let value = self.with(|at| at.value(bound))?;
        Ok(self.points.values.keep(value))
    }

    /// The value of an expression as text.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn show(&self, text: &str, format: Format) -> Result<String> {
        let (bound, _) = self.bind(text)?;
        self.show_bound(&bound, format)
    }

    /// The same of an expression that is bound already.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn show_bound(&self, bound: &Bound, format: Format) -> Result<String> {
        self.with(|at| format::value(at, &at.value(bound)?, format, self.points.settings.style))
    }

    /// The number that an expression is, as an address.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn with_value(&self, bound: &Bound) -> Result<u64> {
        self.with(|at| Ok(at.scalar(bound)? as u64))
    }

    /// What an expression says as an address: where a pointer points to, where an array or a structure lies; and the bytes of
    /// what is there, 1, 2, 4 or 8.
    ///
    /// # Errors
    /// It is none, or cannot be had.
    pub fn address(&self, text: &str) -> Result<(Space, u64, u8)> {
        let (bound, _) = self.bind(text)?;
        let unit = |mut ty: &Type| {
            while let Type::Array(of, _) = ty {
                ty = of;
            }
            if matches!(ty.bytes(), 1 | 2 | 8) { ty.bytes() as u8 } else { 4 }
        };
        match &bound.ty {
            Type::Pointer(space, of) => {
                let (space, size) = (*space, unit(of));
                Ok((space, self.with_value(&bound)?, size))
            }
            Type::Array(..) | Type::Struct(_) => {
                let size = unit(&bound.ty);
                let (space, address) = self.with(|at| at.address(&bound))?;
                Ok((space, address, size))
            }
            ty if ty.is_float() => Err(Error::refused("a float is no address")),
            _ => Ok((Space::Generic, self.with_value(&bound)?, 4)),
        }
    }

    /// The value of an expression as data.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn data(&self, text: &str) -> Result<Data> {
        let (bound, _) = self.bind(text)?;
        self.with(|at| data(at, &at.value(&bound)?))
    }

    /// The values of an expression in all lanes of some warps of the block in focus, as text. Lanes that are elsewhere in the
    /// code have none of a register.
    ///
    /// # Errors
    /// The expression cannot be bound, or no thread of the block is there.
    pub fn across(
        &self,
        bound: &Bound,
        format: Format,
        warps: Option<u32>,
    ) -> Result<Vec<(Focus, Result<String>)>> {
        let style = self.points.settings.style;
        self.across_with(bound, warps, &|at, value| format::value(at, value, format, style))
    }

    /// The same as data.
    ///
    /// # Errors
    /// Those of [`Debugger::across`].
    pub fn across_data(&self, bound: &Bound, warps: Option<u32>) -> Result<Vec<(Focus, Result<Data>)>> {
        self.across_with(bound, warps, &data)
    }

    fn across_with<T>(
        &self,
        bound: &Bound,
        warps: Option<u32>,
        made: &dyn Fn(&At<'_>, &Value) -> Result<T>,
    ) -> Result<Vec<(Focus, Result<T>)>> {
        let function =
            self.with(|at| at.here.map(|here| here.frame.index()).ok_or_else(|| self.no_thread()))?;
        let look = self.session.look();
        let session: &Session<'_, '_> = self.session;
        let block = look.block(self.focus.warp.block).ok_or_else(|| self.no_thread())?;
        let mut rows = Vec::new();
        for warp in block.warps().filter(|warp| warps.is_none_or(|only| warp.index() == only)) {
            for lane in (0..32).filter(|lane| warp.lanes() >> lane & 1 != 0) {
                let id = WarpId { block: block.index(), warp: warp.index() };
                let own = match warp.group(lane) {
                    None => Err(Error::NoThread("<exited>".into())),
                    Some(group) => {
                        let frames = group.frames();
                        match frames.iter().find(|frame| frame.index() == function) {
                            None => Err(Error::NoValue("<in another function>".into())),
                            Some(frame) => {
                                let here = Some(Here { block, warp, frame: *frame });
                                let at = At { session, here, lane };
                                at.value(bound).and_then(|value| made(&at, &value))
                            }
                        }
                    }
                };
                rows.push((Focus { warp: id, lane }, own));
            }
        }
        Ok(rows)
    }

    /// Reads memory of the focus.
    ///
    /// # Errors
    /// It is not there.
    pub fn read(&self, space: Space, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.with(|at| at.read(space, address, bytes))
    }

    /// The call frames of the focus, the innermost first.
    ///
    /// # Errors
    /// The thread is not there.
    pub fn frames(&self) -> Result<Vec<Frame>> {
        self.frames_of(self.focus)
    }

    /// Those of a thread.
    ///
    /// # Errors
    /// It is not there.
    pub fn frames_of(&self, focus: Focus) -> Result<Vec<Frame>> {
        let look = self.session.look();
        let block = look.block(focus.warp.block);
        let group =
            block.and_then(|block| block.warp(focus.warp.warp)).and_then(|warp| warp.group(focus.lane));
        let group = group
            .ok_or_else(|| if focus == self.focus { self.no_thread() } else { self.no_thread_of(focus) })?;
        let mut frames = Vec::new();
        for (physical, frame) in group.frames().into_iter().enumerate() {
            let Some(place) = self.program.place(frame.position()) else { continue };
            let own = reports::readable(self.program.function(place.function).0).into_owned();
            let count = place.cuda.len();
            for (at, (line, name)) in place.cuda.iter().enumerate() {
                let inlined = at + 1 < count;
                let function = match name {
                    Some(name) if inlined => reports::readable(name).into_owned(),
                    _ if inlined => "<inlined>".into(),
                    _ => own.clone(),
                };
                frames.push(Frame {
                    function,
                    position: frame.position(),
                    line: Some(*line),
                    inlined,
                    level: at,
                    physical,
                });
            }
            if count == 0 {
                let line = Some(place.ptx);
                frames.push(Frame {
                    function: own,
                    position: frame.position(),
                    line,
                    inlined: false,
                    level: 0,
                    physical,
                });
            }
        }
        Ok(frames)
    }
}
