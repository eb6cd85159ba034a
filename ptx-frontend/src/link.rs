//! Several modules to one, by the linking directives of ISA 11.6.
//!
//! * A reference to a name that is not module-local means its `.visible` definition, else the first
//!   `.weak` one, else the largest `.common` one.
//! * What no module defines stays `.extern` if the device runtime provides it or if it is dynamic shared
//!   memory, or if nothing refers to it. Otherwise it is an error.
//! * Module-local names that meet another one get a suffix.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::codes;
use crate::diagnostic::{Code, Diagnostic, Elsewhere};
use crate::module::{
    Address, AddressBase, FuncId, Function, Linkage, Module, Op, OpId, Operand, Param, Symbol, VarId,
    Variable,
};
use crate::span::{Source, SourceId, Span};
use isa::StateSpace;

/// A finding of the linker with the texts it is about.
#[derive(Clone, Debug)]
pub struct LinkError {
    /// What is wrong; its spans are in `source`.
    pub diagnostic: Diagnostic,
    /// The text of the primary place.
    pub source: Source,
    /// Places in other texts.
    pub elsewhere: Vec<Elsewhere>,
}

/// Whether the device runtime of CUDA provides a function of this name.
pub fn is_device_runtime(name: &str) -> bool {
    matches!(name, "vprintf" | "__assertfail" | "malloc" | "free")
        || name.starts_with("__warpgrind_")
        || name.starts_with("__cuda")
        || name.starts_with("cuda")
}

/// Links modules into one.
///
/// # Errors
/// All contradictions between the modules and all references that none of them resolves.
///
/// ```
/// # use ptx_frontend::{Source, link, parse};
/// let module = |text: &str| {
///     let text = format!(".version 9.0\n.target sm_90\n{text}");
///     parse(Source::new("a.ptx", text.into())).module.unwrap()
/// };
/// let a = module(".extern .func f; .visible .entry k() { call f; ret; }");
/// let b = module(".visible .func f { ret; }");
/// assert_eq!(link(vec![a.clone(), b]).unwrap().functions.len(), 2);
/// assert_eq!(link(vec![a]).unwrap_err()[0].diagnostic.code.0, "E0703");
/// ```
pub fn link(modules: Vec<Module>) -> Result<Module, Vec<LinkError>> {
    let mut linker = Linker { modules: &modules, errors: Vec::new() };
    let winners = linker.resolve();
    linker.header();
    linker.unresolved(&winners);
    if !linker.errors.is_empty() {
        return Err(linker.errors);
    }
    let plan = Plan::new(&modules, &winners);
    Ok(join(modules, &plan))
}

/// Makes definitions of the variables that a module only declares, if it says how large they are: what ptxas
/// does with `.extern` where no other module is linked. They hold zeros. Returns a warning for each.
///
/// ```
/// # use ptx_frontend::{Linkage, Source, define_externs, parse};
/// let text = ".version 9.0\n.target sm_90\n.extern .global .u32 g; .extern .shared .b8 dynamic[];";
/// let mut module = parse(Source::new("a.ptx", text.into())).module.unwrap();
/// assert_eq!(define_externs(&mut module).len(), 1);
/// assert_eq!(module.variables[0].linkage, Linkage::Visible);
/// ```
pub fn define_externs(module: &mut Module) -> Vec<Diagnostic> {
    let declared = module.variables.iter_mut().filter(|v| v.linkage == Linkage::Extern && v.size > 0);
    let define = |variable: &mut Variable| {
        variable.linkage = Linkage::Visible;
        let message = format!("`{}` is declared `.extern` and defined nowhere", variable.name);
        Diagnostic::warning(codes::LINK_UNRESOLVED, variable.span, message)
            .caption("taken as a definition, as ptxas does")
    };
    declared.map(define).collect()
}

/// A symbol of one of the modules.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Site {
    module: usize,
    symbol: Symbol,
}

/// The definition that each exported name stands for, or its first declaration if there is none.
type Winners<'m> = IndexMap<&'m str, Site, FxBuildHasher>;

struct Linker<'m> {
    modules: &'m [Module],
    errors: Vec<LinkError>,
}

impl<'m> Linker<'m> {
    fn resolve(&mut self) -> Winners<'m> {
        let mut sites: IndexMap<&str, SmallVec<[Site; 2]>, FxBuildHasher> = IndexMap::default();
        for (at, module) in self.modules.iter().enumerate() {
            for (name, &symbol) in &module.symbols {
                if exported(module, name, symbol) {
                    sites.entry(name).or_default().push(Site { module: at, symbol });
                }
            }
        }
        let choose = |(name, list): (&'m str, SmallVec<[Site; 2]>)| (name, self.choose(name, &list));
        sites.into_iter().map(choose).collect()
    }

    /// The winner among the symbols of one name; reports contradictions.
    fn choose(&mut self, name: &str, sites: &[Site]) -> Site {
        let mut winner = sites[0];
        for &site in &sites[1..] {
            let functions = |site: Site| matches!(site.symbol, Symbol::Function(_));
            if functions(site) != functions(winner) {
                self.conflict(name, winner, site, "one is a function, the other a variable");
                continue;
            }
            let (old, new) = (self.rank(name, winner), self.rank(name, site));
            if old == Rank::Strong && new == Rank::Strong {
                let message = format!("`{name}` is defined twice");
                self.error(
                    codes::LINK_DUPLICATE,
                    site,
                    winner,
                    message,
                    "defined again here",
                    "first defined here",
                );
                continue;
            }
            let problem = self.mismatch(winner, site).or_else(|| self.common_values(winner, site));
            if let Some(problem) = problem {
                self.conflict(name, winner, site, problem);
            }
            if new > old {
                winner = site;
            }
        }
        winner
    }

    fn rank(&self, name: &str, site: Site) -> Rank {
        let module = &self.modules[site.module];
        let defined = match site.symbol {
            Symbol::Function(id) => module.functions[id.index()].body.is_some(),
            Symbol::Variable(id) => module.variables[id.index()].linkage != Linkage::Extern,
        };
        match linkage(module, name, site.symbol) {
            _ if !defined => Rank::Declared,
            Linkage::Weak => Rank::Weak,
            Linkage::Common => match site.symbol {
                Symbol::Variable(id) => Rank::Common(module.variables[id.index()].size),
                Symbol::Function(_) => Rank::Weak,
            },
            _ => Rank::Strong,
        }
    }

    /// Why two symbols of one kind cannot be the same thing.
    fn mismatch(&self, a: Site, b: Site) -> Option<&'static str> {
        let (first, second) = (&self.modules[a.module], &self.modules[b.module]);
        match (a.symbol, b.symbol) {
            (Symbol::Variable(x), Symbol::Variable(y)) => {
                let (x, y) = (&first.variables[x.index()], &second.variables[y.index()]);
                let common = x.linkage == Linkage::Common && y.linkage == Linkage::Common;
                if x.space != y.space {
                    Some("the state spaces differ")
                } else if common || (x.space == StateSpace::Shared && (x.size == 0 || y.size == 0)) {
                    None
                } else if x.size != y.size && x.size != 0 && y.size != 0 {
                    Some("the sizes differ")
                } else if x.linkage == Linkage::Extern || y.linkage == Linkage::Extern {
                    // nvcc declares arrays as bytes, whatever they hold where they are defined.
                    None
                } else if (x.ty.bits(), x.ty.is_float(), x.vector) != (y.ty.bits(), y.ty.is_float(), y.vector)
                {
                    Some("the types differ")
                } else {
                    None
                }
            }
            (Symbol::Function(x), Symbol::Function(y)) => {
                let (x, y) = (&first.functions[x.index()], &second.functions[y.index()]);
                if x.kind != y.kind {
                    Some("one is a kernel, the other a device function")
                } else if layouts(first, &x.returns, x) != layouts(second, &y.returns, y) {
                    Some("the return parameters differ")
                } else if layouts(first, &x.params, x) != layouts(second, &y.params, y) {
                    Some("the parameters differ")
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Of `.common` variables only the largest may have an initial value.
    fn common_values(&self, a: Site, b: Site) -> Option<&'static str> {
        let (Symbol::Variable(x), Symbol::Variable(y)) = (a.symbol, b.symbol) else { return None };
        let x = &self.modules[a.module].variables[x.index()];
        let y = &self.modules[b.module].variables[y.index()];
        if x.linkage != Linkage::Common || y.linkage != Linkage::Common {
            return None;
        }
        match (x.initializer.is_some(), y.initializer.is_some()) {
            (true, true) => Some("both give the `.common` variable an initial value"),
            (true, false) if x.size < y.size => Some("the larger `.common` variable has no initial value"),
            (false, true) if y.size < x.size => Some("the larger `.common` variable has no initial value"),
            _ => None,
        }
    }

    fn header(&mut self) {
        let Some(first) = self.modules.first() else { return };
        for module in &self.modules[1..] {
            if module.address_size != first.address_size {
                let (a, b) = (first.address_size, module.address_size);
                let message = format!("modules with addresses of {a} and of {b} bits cannot be linked");
                let source = module.sources.first().cloned();
                let Some(source) = source else { continue };
                let diagnostic = Diagnostic::error(codes::LINK_HEADER, Span::default(), message);
                self.errors.push(LinkError { diagnostic, source, elsewhere: Vec::new() });
            }
        }
    }

    /// Reports names that are referred to and defined nowhere.
    fn unresolved(&mut self, winners: &Winners<'_>) {
        let mut used: FxHashSet<(usize, Symbol)> = FxHashSet::default();
        for (at, module) in self.modules.iter().enumerate() {
            for_each_reference(module, |symbol| {
                used.insert((at, symbol));
            });
        }
        let mut reported = FxHashSet::default();
        for (at, module) in self.modules.iter().enumerate() {
            for (name, &symbol) in &module.symbols {
                let site = match winners.get(&**name) {
                    Some(&winner) if exported(module, name, symbol) => winner,
                    _ => Site { module: at, symbol },
                };
                let missing = match site.symbol {
                    Symbol::Function(id) => {
                        self.modules[site.module].functions[id.index()].body.is_none()
                            && !is_device_runtime(name)
                    }
                    Symbol::Variable(id) => {
                        let variable = &self.modules[site.module].variables[id.index()];
                        variable.linkage == Linkage::Extern && variable.space != StateSpace::Shared
                    }
                };
                if missing && used.contains(&(at, symbol)) && reported.insert(name) {
                    let (source, span) = self.place(Site { module: at, symbol });
                    let diagnostic = Diagnostic::error(
                        codes::LINK_UNRESOLVED,
                        span,
                        format!("`{name}` is defined nowhere"),
                    )
                    .caption("declared here")
                    .help("link the module that defines it");
                    self.errors.push(LinkError { diagnostic, source, elsewhere: Vec::new() });
                }
            }
        }
    }

    fn conflict(&mut self, name: &str, first: Site, second: Site, problem: &str) {
        let message = format!("the modules do not agree about `{name}`: {problem}");
        self.error(codes::LINK_CONFLICT, second, first, message, "declared here", "and here");
    }

    fn error(&mut self, code: Code, at: Site, other: Site, message: String, caption: &str, text: &str) {
        let ((source, span), (other_source, other_span)) = (self.place(at), self.place(other));
        self.errors.push(LinkError {
            diagnostic: Diagnostic::error(code, span, message).caption(caption),
            source,
            elsewhere: vec![Elsewhere { source: other_source, span: other_span, text: text.to_owned() }],
        });
    }

    fn place(&self, site: Site) -> (Source, Span) {
        let module = &self.modules[site.module];
        let (source, span) = match site.symbol {
            Symbol::Function(id) => (module.functions[id.index()].source, module.functions[id.index()].span),
            Symbol::Variable(id) => (module.variables[id.index()].source, module.variables[id.index()].span),
        };
        let source = module.sources.get(source.0 as usize).cloned();
        (source.unwrap_or_else(|| Source::new("", Vec::new())), span)
    }
}

/// How strongly a symbol claims its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Declared,
    /// `.common`, by its size.
    Common(u64),
    Weak,
    Strong,
}

/// The linking directive that was written for a name; an alias has its own.
fn linkage(module: &Module, name: &str, symbol: Symbol) -> Linkage {
    match symbol {
        Symbol::Variable(id) => module.variables[id.index()].linkage,
        Symbol::Function(id) => {
            let function = &module.functions[id.index()];
            if &*function.name == name {
                return function.linkage;
            }
            module.functions.iter().find(|f| &*f.name == name).map_or(function.linkage, |alias| alias.linkage)
        }
    }
}

/// Whether other modules can see the symbol; a function that is only declared must come from one.
fn exported(module: &Module, name: &str, symbol: Symbol) -> bool {
    let declared = match symbol {
        Symbol::Function(id) => module.functions[id.index()].body.is_none(),
        Symbol::Variable(_) => false,
    };
    declared || linkage(module, name, symbol) != Linkage::Internal
}

/// Sizes and alignments of parameters.
fn layouts(module: &Module, params: &[Param], function: &Function) -> Vec<(u64, u64)> {
    let layout = |param: &Param| match *param {
        Param::Variable(id) => {
            let variable = &module.variables[id.index()];
            (variable.size, variable.align)
        }
        Param::Register(id) => {
            let bytes = function.registers.get(id.index()).map_or(4, |r| u64::from(r.ty.bytes()));
            (bytes, bytes)
        }
    };
    params.iter().map(layout).collect()
}

/// Every use of a variable or function by an instruction, a list of call targets or an initial value.
fn for_each_reference(module: &Module, mut found: impl FnMut(Symbol)) {
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        for operand in &body.operand_pool {
            match *operand {
                Operand::Variable(id, _)
                | Operand::Address(Address { base: AddressBase::Variable(id), .. }) => {
                    found(Symbol::Variable(id));
                }
                Operand::Function(id) => found(Symbol::Function(id)),
                _ => {}
            }
        }
        let targets = body.prototypes.iter().filter_map(|prototype| prototype.targets.as_ref());
        targets.flatten().for_each(|&id| found(Symbol::Function(id)));
    }
    let initializers = module.variables.iter().filter_map(|variable| variable.initializer.as_ref());
    initializers.flat_map(|initializer| &initializer.relocations).for_each(|r| found(r.target));
}

/// Where everything goes: new ids by module and old id; `None` for what is dropped.
struct Plan {
    functions: Vec<Vec<FuncId>>,
    variables: Vec<Vec<VarId>>,
    keep_function: Vec<Vec<bool>>,
    keep_variable: Vec<Vec<bool>>,
}

impl Plan {
    fn new(modules: &[Module], winners: &Winners<'_>) -> Self {
        let mut plan = Self {
            functions: modules.iter().map(|m| vec![FuncId(0); m.functions.len()]).collect(),
            variables: modules.iter().map(|m| vec![VarId(0); m.variables.len()]).collect(),
            keep_function: modules.iter().map(|m| vec![true; m.functions.len()]).collect(),
            keep_variable: modules.iter().map(|m| vec![true; m.variables.len()]).collect(),
        };
        // What loses its name to another module's definition is dropped, a function with its variables.
        let mut lost: Vec<(Site, Site)> = Vec::new();
        for (at, module) in modules.iter().enumerate() {
            for (name, &symbol) in &module.symbols {
                let site = Site { module: at, symbol };
                let Some(&winner) = winners.get(&**name) else { continue };
                let own = match symbol {
                    Symbol::Function(id) => *module.functions[id.index()].name == **name,
                    Symbol::Variable(_) => true,
                };
                if winner == site || !own || !exported(module, name, symbol) {
                    continue;
                }
                match symbol {
                    Symbol::Function(id) => plan.keep_function[at][id.index()] = false,
                    Symbol::Variable(id) => plan.keep_variable[at][id.index()] = false,
                }
                lost.push((site, winner));
            }
        }
        let (mut functions, mut variables) = (0, 0);
        for (at, module) in modules.iter().enumerate() {
            for (id, new) in plan.functions[at].iter_mut().enumerate() {
                if plan.keep_function[at][id] {
                    *new = FuncId(functions);
                    functions += 1;
                }
            }
            for (id, variable) in module.variables.iter().enumerate() {
                if let Some(owner) = variable.owner {
                    plan.keep_variable[at][id] = plan.keep_function[at][owner.index()];
                }
                if plan.keep_variable[at][id] {
                    plan.variables[at][id] = VarId(variables);
                    variables += 1;
                }
            }
        }
        for (site, winner) in lost {
            match (site.symbol, winner.symbol) {
                (Symbol::Function(old), Symbol::Function(new)) => {
                    plan.functions[site.module][old.index()] = plan.functions[winner.module][new.index()];
                }
                (Symbol::Variable(old), Symbol::Variable(new)) => {
                    plan.variables[site.module][old.index()] = plan.variables[winner.module][new.index()];
                }
                _ => {}
            }
        }
        plan
    }

    fn symbol(&self, module: usize, symbol: Symbol) -> Symbol {
        match symbol {
            Symbol::Function(id) => Symbol::Function(self.functions[module][id.index()]),
            Symbol::Variable(id) => Symbol::Variable(self.variables[module][id.index()]),
        }
    }
}

/// Puts the kept parts together.
fn join(modules: Vec<Module>, plan: &Plan) -> Module {
    let mut joined = Joined::default();
    let mut out = Module::empty();
    if let Some(first) = modules.first() {
        (out.version, out.target, out.address_size) = (first.version, first.target, first.address_size);
    }
    for (at, module) in modules.into_iter().enumerate() {
        joined.add(&mut out, at, module, plan);
    }
    out
}

#[derive(Default)]
struct Joined {
    ops: FxHashMap<Op, OpId>,
}

impl Joined {
    fn add(&mut self, into: &mut Module, at: usize, module: Module, plan: &Plan) {
        let first_source = into.sources.len() as u32;
        let first_file = into.files.len() as u32;
        let source = |id: SourceId| SourceId(id.0 + first_source);
        into.version = into.version.max(module.version);
        into.target = into.target.max(module.target);
        for option in module.target_options {
            if !into.target_options.contains(&option) {
                into.target_options.push(option);
            }
        }
        into.pragmas.extend(module.pragmas);
        into.sources.extend(module.sources);
        into.files.extend(module.files.into_iter().map(|mut file| {
            file.source = source(file.source);
            file
        }));
        let ops: Vec<OpId> = module
            .ops
            .into_iter()
            .map(|op| {
                *self.ops.entry(op.clone()).or_insert_with(|| {
                    into.ops.push(op);
                    OpId(into.ops.len() as u32 - 1)
                })
            })
            .collect();
        let mut names: FxHashMap<Symbol, Box<str>> = FxHashMap::default();
        for (name, symbol) in module.symbols {
            let symbol = plan.symbol(at, symbol);
            match into.symbols.get(&name) {
                None => drop(into.symbols.insert(name, symbol)),
                Some(&other) if other == symbol => {}
                Some(_) => {
                    let name = free_name(&into.symbols, &name);
                    into.symbols.insert(name.clone(), symbol);
                    names.insert(symbol, name);
                }
            }
        }
        for (id, mut variable) in module.variables.into_iter().enumerate() {
            if !plan.keep_variable[at][id] {
                let winner = into.variables.get_mut(plan.variables[at][id].index());
                if let Some(winner) =
                    winner.filter(|w| w.space == StateSpace::Shared && variable.owner.is_none())
                {
                    winner.align = winner.align.max(variable.align);
                }
                continue;
            }
            variable.source = source(variable.source);
            remap_variable(&mut variable, at, plan);
            if let Some(name) = names.get(&Symbol::Variable(plan.variables[at][id])) {
                variable.name = name.clone();
            }
            into.variables.push(variable);
        }
        for (id, mut function) in module.functions.into_iter().enumerate() {
            if !plan.keep_function[at][id] {
                continue;
            }
            function.source = source(function.source);
            remap_function(&mut function, at, plan, &ops, first_file);
            if let Some(name) = names.get(&Symbol::Function(plan.functions[at][id])) {
                function.name = name.clone();
            }
            into.functions.push(function);
        }
    }
}

fn free_name(taken: &IndexMap<Box<str>, Symbol, FxBuildHasher>, name: &str) -> Box<str> {
    let mut number = 1u32;
    loop {
        let candidate = format!("{name}${number}");
        if !taken.contains_key(candidate.as_str()) {
            return candidate.into();
        }
        number += 1;
    }
}

fn remap_variable(variable: &mut Variable, at: usize, plan: &Plan) {
    if let Some(owner) = &mut variable.owner {
        *owner = plan.functions[at][owner.index()];
    }
    for relocation in variable.initializer.iter_mut().flat_map(|initializer| &mut initializer.relocations) {
        relocation.target = plan.symbol(at, relocation.target);
    }
}

fn remap_function(function: &mut Function, at: usize, plan: &Plan, ops: &[OpId], first_file: u32) {
    let variable = |id: &mut VarId| *id = plan.variables[at][id.index()];
    for param in function.returns.iter_mut().chain(&mut function.params) {
        if let Param::Variable(id) = param {
            variable(id);
        }
    }
    function.variables.iter_mut().for_each(variable);
    let Some(body) = &mut function.body else { return };
    for instruction in &mut body.instructions {
        instruction.op = ops[instruction.op.index()];
    }
    for operand in &mut body.operand_pool {
        match operand {
            Operand::Variable(id, _) | Operand::Address(Address { base: AddressBase::Variable(id), .. }) => {
                variable(id);
            }
            Operand::Function(id) => *id = plan.functions[at][id.index()],
            _ => {}
        }
    }
    for id in body.prototypes.iter_mut().filter_map(|prototype| prototype.targets.as_mut()).flatten() {
        *id = plan.functions[at][id.index()];
    }
    for file in body.locations.iter_mut().filter_map(|location| location.file.as_mut()) {
        *file += first_file;
    }
}
