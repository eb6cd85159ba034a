//! What is known of a kernel's code before it runs: where its instructions are in the PTX text and in the CUDA source.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ptx_frontend::{Body, DebugFile, FuncId, Function, LocationId, Module, SourceId, Span};
use sim_core::code::{Code, RegisterPlace};

use crate::dwarf::Information;
use crate::error::{Error, Result};

/// A line of a text: of a CUDA source by its number in the module's list of files, or of a PTX text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Line {
    /// File and line of a CUDA source.
    Cuda(u32, u32),
    /// PTX text and line.
    Ptx(u32, u32),
}

/// Lines of a CUDA source with the function that each is in, if it was inlined: the innermost one first.
pub type Chain = Arc<[(Line, Option<Arc<str>>)]>;

/// An instruction of the code.
#[derive(Clone, Debug)]
pub struct Place {
    /// Index of its function in [`Code::functions`].
    pub function: usize,
    /// Index in the body of its function; past the end for the `ret` that a body without one ends with.
    pub instruction: u32,
    /// Whether its PTX instruction begins with it.
    pub begins: bool,
    /// Its line in the PTX text.
    pub ptx: Line,
    /// Its lines in the CUDA source, the innermost inlined one first; empty if they are not known.
    pub cuda: Chain,
}

impl Place {
    /// Its line in the CUDA source, or else in the PTX text.
    pub fn line(&self) -> Line {
        self.cuda.first().map_or(self.ptx, |(line, _)| *line)
    }
}

/// A kernel's code with its lines.
#[derive(Debug)]
pub struct Program {
    module: Arc<Module>,
    places: Vec<Place>,
    functions: Vec<(Arc<str>, u32, u32)>,
    ids: Vec<FuncId>,
    registers: Vec<Vec<RegisterPlace>>,
    /// By text, once somebody asks.
    information: Vec<OnceLock<Information>>,
    /// The positions of each line, in order of the text.
    lines: BTreeMap<Line, Vec<u32>>,
}

fn chain(body: &Body, mut next: Option<LocationId>) -> Chain {
    let mut found = Vec::new();
    while let Some(id) = next
        && found.len() < 64
    {
        let location = &body.locations[id.index()];
        if let Some(file) = location.file
            && location.line > 0
        {
            found.push((Line::Cuda(file, location.line), location.function.clone()));
        }
        next = location.inlined_at;
    }
    found.into()
}

/// The lines of an instruction whose own line is known, where debug information says that it is of an inlined function.
fn with_inlined(
    line: Line,
    module: &Module,
    function: &Function,
    span: Span,
    information: &[OnceLock<Information>],
) -> Option<Chain> {
    let source = function.source.0 as usize;
    let information =
        information.get(source)?.get_or_init(|| Information::read(&module.sources[source].text));
    let inlined = information.inlined(span.start as u64);
    let mut chain = vec![(line, None)];
    for found in inlined {
        let is_its = |file: &DebugFile| file.index == found.file && file.source == function.source;
        let file = module.files.iter().position(is_its)?;
        chain.last_mut()?.1 = Some(found.function.as_str().into());
        chain.push((Line::Cuda(file as u32, found.line), None));
    }
    (chain.len() > 1).then(|| chain.into())
}

impl Program {
    /// That of decoded code.
    pub fn new(code: &Code) -> Self {
        let module = code.module.clone();
        let information: Vec<OnceLock<Information>> =
            module.sources.iter().map(|_| OnceLock::new()).collect();
        let mut chains: BTreeMap<(usize, u32), Arc<[_]>> = BTreeMap::new();
        let none: Arc<[_]> = Arc::new([]);
        let mut places: Vec<Place> = Vec::with_capacity(code.meta.len());
        for meta in &code.meta {
            let index = meta.function as usize;
            let function: &Function = &module.functions[code.functions[index].id.index()];
            let instruction = function
                .body
                .as_ref()
                .and_then(|body| Some((body, body.instructions.get(meta.instruction as usize)?)));
            let span = instruction.map_or(function.span, |(_, instruction)| instruction.span);
            let line = match instruction {
                Some(_) => module.sources[function.source.0 as usize].line_column(span.start).0,
                // The brace that ends the body.
                None => module.sources[function.source.0 as usize].line_column(span.end.saturating_sub(1)).0,
            };
            let cuda = match instruction.and_then(|(body, instruction)| Some((body, instruction.location?))) {
                Some((body, location)) => {
                    let key = (index, location.index() as u32);
                    let own = chains.entry(key).or_insert_with(|| chain(body, Some(location))).clone();
                    match (&own[..], own.len()) {
                        ([(line, _)], 1) => with_inlined(*line, &module, function, span, &information),
                        _ => None,
                    }
                    .unwrap_or(own)
                }
                None => none.clone(),
            };
            let before = places.last();
            let begins = before
                .is_none_or(|before| (before.function, before.instruction) != (index, meta.instruction));
            places.push(Place {
                function: index,
                instruction: meta.instruction,
                begins,
                ptx: Line::Ptx(function.source.0, line),
                cuda,
            });
        }
        let functions = code.functions.iter().map(|function| {
            let name: Arc<str> = (&*module.functions[function.id.index()].name).into();
            (name, function.start, function.end)
        });
        let functions = functions.collect();
        let registers = code.functions.iter().map(|function| function.registers.clone()).collect();
        let ids = code.functions.iter().map(|function| function.id).collect();
        let lines = BTreeMap::new();
        let mut program = Program { module, places, functions, ids, registers, information, lines };
        program.find_lines();
        program
    }

    fn find_lines(&mut self) {
        let mut order: Vec<u32> = (0..self.places.len() as u32).collect();
        order.retain(|at| self.places[*at as usize].begins);
        order.sort_by_key(|at| (self.places[*at as usize].function, self.places[*at as usize].instruction));
        for at in order {
            let place = &self.places[at as usize];
            let (ptx, cuda) = (place.ptx, place.cuda.clone());
            self.lines.entry(ptx).or_default().push(at);
            for (line, _) in cuda.iter() {
                self.lines.entry(*line).or_default().push(at);
            }
        }
    }

    /// The module.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// An instruction by its position.
    pub fn place(&self, position: u32) -> Option<&Place> {
        self.places.get(position as usize)
    }

    /// How many positions there are.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// A function by its index: its name, first position, and that behind its last one.
    pub fn function(&self, index: usize) -> (&Arc<str>, u32, u32) {
        let (name, start, end) = &self.functions[index];
        (name, *start, *end)
    }

    /// The functions.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<str>> {
        self.functions.iter().map(|(name, ..)| name)
    }

    /// Where the registers of a function are.
    pub fn registers(&self, function: usize) -> &[RegisterPlace] {
        &self.registers[function]
    }

    /// The function of the module that one of the code is.
    pub fn declared(&self, function: usize) -> &Function {
        &self.module.functions[self.ids[function].index()]
    }

    /// The debug information of the text that a function is in, and where an instruction of it stands in that.
    pub fn information(&self, position: u32) -> Option<(&Information, u64)> {
        let place = self.place(position)?;
        let function = self.declared(place.function);
        let source = function.source.0 as usize;
        let text = || Information::read(&self.module.sources[source].text);
        let body = function.body.as_ref()?;
        let span = body.instructions.get(place.instruction as usize).or(body.instructions.last())?.span;
        Some((self.information.get(source)?.get_or_init(text), span.start as u64))
    }

    /// The PTX text of an instruction, in one line.
    pub fn text(&self, position: u32) -> String {
        let Some(place) = self.place(position) else { return String::new() };
        let function = self.declared(place.function);
        let instruction =
            function.body.as_ref().and_then(|body| body.instructions.get(place.instruction as usize));
        match instruction {
            Some(instruction) => {
                let text = self.module.sources[function.source.0 as usize].slice(instruction.span);
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            None => "ret;".into(),
        }
    }

    /// The name of a text.
    pub fn file(&self, line: Line) -> &str {
        match line {
            Line::Cuda(file, _) => self.module.files.get(file as usize).map_or("??", |file| &file.name),
            Line::Ptx(source, _) => {
                self.module.sources.get(source as usize).map_or("??", |source| &source.name)
            }
        }
    }

    /// `file:line`
    pub fn line_text(&self, line: Line) -> String {
        let (Line::Cuda(_, number) | Line::Ptx(_, number)) = line;
        format!("{}:{number}", self.file(line))
    }

    /// The texts whose name ends with the parts of a path, or that end a longer one.
    pub fn files(&self, path: &str) -> Vec<Line> {
        let matches = |name: &str| {
            let wanted: Vec<&str> =
                path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
            let parts: Vec<&str> = name.split(['/', '\\']).collect();
            !wanted.is_empty() && (parts.ends_with(&wanted) || wanted.ends_with(&parts))
        };
        let cuda = self.module.files.iter().zip(0..).filter(|(file, _)| matches(&file.name));
        let ptx = self.module.sources.iter().zip(0..).filter(|(source, _)| matches(&source.name));
        cuda.map(|(_, at)| Line::Cuda(at, 0)).chain(ptx.map(|(_, at)| Line::Ptx(at, 0))).collect()
    }

    /// All texts that have code.
    pub fn texts(&self) -> impl Iterator<Item = Line> {
        let mut last = None;
        self.lines.keys().filter_map(move |line| {
            let text = match *line {
                Line::Cuda(file, _) => Line::Cuda(file, 0),
                Line::Ptx(source, _) => Line::Ptx(source, 0),
            };
            (last.replace(text) != Some(text)).then_some(text)
        })
    }

    /// The names of all texts that have code.
    pub fn file_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for line in self.lines.keys() {
            let name = self.file(*line);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Where a line begins, or the next one behind it that has code: the line, and one position a function that it is in or
    /// inlined into.
    pub fn at_line(&self, file: Line, number: u32) -> Option<(Line, Vec<u32>)> {
        let (from, to) = match file {
            Line::Cuda(file, _) => (Line::Cuda(file, number), Line::Cuda(file, u32::MAX)),
            Line::Ptx(file, _) => (Line::Ptx(file, number), Line::Ptx(file, u32::MAX)),
        };
        let (line, positions) = self.lines.range(from..=to).next()?;
        let mut seen = Vec::new();
        let mut first = Vec::new();
        for at in positions {
            let place = &self.places[*at as usize];
            // What it was inlined into tells copies apart.
            let outer: Vec<_> = place.cuda.iter().skip_while(|(own, _)| own != line).skip(1).collect();
            let key = (place.function, outer);
            if !seen.contains(&key) {
                seen.push(key);
                first.push(*at);
            }
        }
        Some((*line, first))
    }

    /// All positions of a line.
    pub fn positions(&self, line: Line) -> &[u32] {
        self.lines.get(&line).map_or(&[], |positions| positions)
    }

    /// The first positions of the functions that a name stands for: that of PTX, or of C++ with or without parameters.
    pub fn at_function(&self, name: &str) -> Vec<u32> {
        let stands = |found: &str| {
            let readable = reports::readable(found);
            let base = readable.find(['<', '(']).map_or(&*readable, |end| &readable[..end]);
            // A member function by its own name, too.
            let is_own = base.strip_suffix(name).is_some_and(|before| before.ends_with("::"));
            found == name || readable == name || base == name || is_own
        };
        let found = self.functions.iter().filter(|(found, ..)| stands(found));
        // The first instruction of the text: others may be laid out before it.
        found
            .filter_map(|(_, start, end)| {
                (*start..*end)
                    .filter(|at| self.places[*at as usize].begins)
                    .min_by_key(|at| self.places[*at as usize].instruction)
            })
            .collect()
    }

    /// The first position of an instruction by its line in the PTX text.
    ///
    /// # Errors
    /// No instruction is there or behind.
    pub fn at_ptx(&self, source: SourceId, number: u32) -> Result<u32> {
        let found = self.at_line(Line::Ptx(source.0, 0), number);
        let found = found.and_then(|(_, positions)| positions.first().copied());
        found.ok_or_else(|| Error::NoCode(format!("no code at or behind line {number} of the PTX")))
    }
}
