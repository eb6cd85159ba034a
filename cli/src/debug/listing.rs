//! Source lines and instructions.

use debugger::program::Line;
use debugger::{Error, Result};
use reports::finding::Sources;
use sim_core::CudaPlace;

use super::prompt::{MARK, Prompt, painted};
use ptx_frontend::SourceId;

impl Prompt<'_, '_, '_, '_> {
    /// The lines of a CUDA source, if the file can be found.
    fn source(&mut self, line: Line) -> Option<&(String, Vec<String>)> {
        let program = self.debugger.program().clone();
        let name = program.file(line).to_owned();
        if !self.kept.texts.contains_key(&name) {
            let place = CudaPlace { file: (&*name).into(), line: 1, column: 0, function: None };
            let sources = Sources { module: program.module(), root: self.kept.source_root.as_deref() };
            let ids = (0..program.module().sources.len() as u32).map(SourceId);
            let found = ids.into_iter().find_map(|id| sources.cuda(&place, id));
            let found = found.map(|(path, text)| (path, text.lines().map(str::to_owned).collect()));
            self.kept.texts.insert(name.clone(), found);
        }
        self.kept.texts.get(&name)?.as_ref()
    }

    /// A line of a text.
    pub(super) fn source_line(&mut self, line: Line) -> Option<String> {
        match line {
            Line::Ptx(source, number) => {
                let program = self.debugger.program();
                let source = program.module().sources.get(source as usize)?;
                Some(source.line(number).to_owned())
            }
            Line::Cuda(_, number) => {
                let (_, lines) = self.source(line)?;
                lines.get(number.checked_sub(1)? as usize).cloned()
            }
        }
    }

    fn count(&mut self, line: Line) -> Result<u32> {
        let program = self.debugger.program().clone();
        match line {
            Line::Ptx(source, _) => Ok(program
                .module()
                .sources
                .get(source as usize)
                .map_or(0, |source| source.text.lines().count() as u32)),
            Line::Cuda(..) => match self.source(line) {
                Some((_, lines)) => Ok(lines.len() as u32),
                None => Err(Error::Refused(format!(
                    "{}: no such file; `--source-root` says where sources are, `disassemble` shows the PTX",
                    program.file(line)
                ))),
            },
        }
    }

    /// The line of the selected frame, or of the beginning of the code.
    fn current(&self) -> Result<Line> {
        let own = self.debugger.frames().ok().and_then(|frames| frames.get(self.debugger.frame())?.line);
        let first = self.debugger.program().place(0).map(|place| place.line());
        own.or(first).ok_or_else(|| Error::NoCode("there is no code".into()))
    }

    /// Lines around one, or those behind the last ones, each with its instructions if `beside`.
    pub(super) fn list(&mut self, around: Option<Line>, beside: bool) -> Result<()> {
        let begins = |line, lines: u32| number(line).saturating_sub(lines / 2).max(1);
        let (line, first) = match (around, self.listed) {
            (Some(line), _) if number(line) > self.count(line)? => (line, number(line)),
            (Some(line), _) => (line, begins(line, self.kept.lines.min(1 << 16))),
            (None, Some((line, _, next))) => (line, next),
            (None, None) => {
                let line = self.current()?;
                (line, begins(line, self.kept.lines.min(1 << 16)))
            }
        };
        self.list_range(with_number(line, first), first.saturating_add(self.kept.lines - 1), beside)
    }

    /// Lines before the last ones.
    pub(super) fn list_before(&mut self, beside: bool) -> Result<()> {
        let Some((line, first, _)) = self.listed else { return self.list(None, beside) };
        if first <= 1 {
            return Err(Error::Refused("already at the start of the text".into()));
        }
        let begins = first.saturating_sub(self.kept.lines).max(1);
        self.list_range(with_number(line, begins), first - 1, beside)
    }

    /// Lines from one to another, each with its instructions if `beside`.
    pub(super) fn list_range(&mut self, line: Line, last: u32, beside: bool) -> Result<()> {
        let first = number(line);
        let current = self.debugger.frames().ok().and_then(|frames| frames.get(self.debugger.frame())?.line);
        let count = self.count(line)?;
        if first > count {
            return Err(Error::Refused(format!(
                "line number {first} out of range; the text has {count} lines"
            )));
        }
        let program = self.debugger.program().clone();
        let position =
            self.debugger.frames().ok().and_then(|frames| Some(frames.get(self.debugger.frame())?.position));
        for at in first..=last.min(count) {
            let own = with_number(line, at);
            let text = self.source_line(own).unwrap_or_default();
            let mark = if current == Some(own) { painted("->", MARK) } else { "  ".into() };
            self.out(format!("{at}{mark}\t{text}\n"));
            if beside && matches!(own, Line::Cuda(..)) {
                for found in program.positions(own) {
                    let mark = if position == Some(*found) { painted("=>", MARK) } else { "  ".into() };
                    self.out(format!("\t  {mark} {found:>5}: {}\n", program.text(*found)));
                }
            }
        }
        self.listed = Some((line, first, last.min(count).saturating_add(1)));
        Ok(())
    }

    /// Instructions around a position.
    pub(super) fn disassemble(&mut self, around: u32, count: u32) {
        let program = self.debugger.program().clone();
        let here =
            self.debugger.frames().ok().and_then(|frames| Some(frames.get(self.debugger.frame())?.position));
        let first = around.saturating_sub(count / 2);
        let mut line = None;
        for at in first..(first + count).min(program.len()) {
            let Some(place) = program.place(at) else { break };
            if place.cuda.first().map(|(line, _)| *line) != line {
                line = place.cuda.first().map(|(line, _)| *line);
                if let Some(line) = line {
                    let text = self.source_line(line).unwrap_or_default();
                    self.out(format!("{}\t{}\n", program.line_text(line), text.trim()));
                }
            }
            let mark = if here == Some(at) { painted("=>", MARK) } else { "  ".into() };
            self.out(format!("{mark} {at:>5}: {}\n", program.text(at)));
        }
    }
}

fn number(line: Line) -> u32 {
    let (Line::Cuda(_, number) | Line::Ptx(_, number)) = line;
    number
}

fn with_number(line: Line, number: u32) -> Line {
    match line {
        Line::Cuda(file, _) => Line::Cuda(file, number),
        Line::Ptx(file, _) => Line::Ptx(file, number),
    }
}
