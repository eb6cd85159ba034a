//! Names that are unique within a function: its blocks may have used one name for several things.

use rustc_hash::FxHashMap;

use crate::module::{Body, Function, Module, Param, RegId, Register, VarId, Variable};
use isa::ScalarType;

/// The names that a function's text uses.
pub(super) struct Names<'m> {
    /// Names in use, with the last suffix that was tried for each.
    taken: FxHashMap<String, u32>,
    /// New names of registers (without component) that could not keep theirs.
    registers: FxHashMap<u32, String>,
    variables: FxHashMap<u32, String>,
    labels: Vec<String>,
    prototypes: Vec<String>,
    targets: Vec<String>,
    function: &'m Function,
}

impl<'m> Names<'m> {
    pub(super) fn new(module: &'m Module, function: &'m Function) -> Self {
        let mut names = Self {
            taken: FxHashMap::default(),
            registers: FxHashMap::default(),
            variables: FxHashMap::default(),
            labels: Vec::new(),
            prototypes: Vec::new(),
            targets: Vec::new(),
            function,
        };
        let free = |name: &str, names: &mut Self| names.unique(name, module);
        for (id, _) in registers(&function.registers) {
            let name = base(&function.registers[id as usize]).0;
            let unique = free(name, &mut names);
            if unique != name {
                names.registers.insert(id, unique);
            }
        }
        let params = function.returns.iter().chain(&function.params).filter_map(|param| match param {
            Param::Variable(id) => Some(*id),
            Param::Register(_) => None,
        });
        for id in params.chain(function.variables.iter().copied()) {
            let name = &*module.variables[id.index()].name;
            let unique = free(name, &mut names);
            if unique != name {
                names.variables.insert(id.0, unique);
            }
        }
        if let Some(body) = &function.body {
            names.body(body, module);
        }
        names
    }

    fn body(&mut self, body: &Body, module: &Module) {
        for label in &body.labels {
            let name = self.unique(&label.name, module);
            self.labels.push(name);
        }
        for prototype in &body.prototypes {
            let name = self.unique(&prototype.name, module);
            self.prototypes.push(name);
        }
        for _ in &body.branch_targets {
            let name = self.unique("$targets", module);
            self.targets.push(name);
        }
    }

    /// `name`, or with the first suffix that makes it unique in the function and unlike any symbol.
    fn unique(&mut self, name: &str, module: &Module) -> String {
        let mut candidate = name.to_owned();
        while self.taken.contains_key(&candidate) || module.symbols.contains_key(candidate.as_str()) {
            let number = self.taken.entry(name.to_owned()).or_insert(0);
            *number += 1;
            candidate = format!("{name}${number}");
        }
        self.taken.insert(candidate.clone(), 0);
        candidate
    }

    pub(super) fn variable<'a>(&'a self, id: VarId, variable: &'a Variable) -> &'a str {
        self.variables.get(&id.0).map_or(&*variable.name, String::as_str)
    }

    /// The name of the register or vector register that begins with `id`, and its length.
    pub(super) fn whole_register<'a>(&'a self, id: RegId, list: &'a [Register]) -> (&'a str, u32) {
        let (name, _) = base(&list[id.index()]);
        let name = self.registers.get(&id.0).map_or(name, String::as_str);
        (name, length(list, id.index()))
    }

    /// The same of a register of the function.
    pub(super) fn whole(&self, id: RegId) -> (&str, u32) {
        self.whole_register(id, &self.function.registers)
    }

    /// A register as an operand: its name and the suffix of its component.
    pub(super) fn register(&self, id: RegId) -> (&str, &str) {
        let register = &self.function.registers[id.index()];
        let (name, suffix) = base(register);
        let first = id.0 - component(suffix);
        (self.registers.get(&first).map_or(name, String::as_str), suffix)
    }

    pub(super) fn ty(&self, id: RegId) -> ScalarType {
        self.function.registers[id.index()].ty
    }

    pub(super) fn label(&self, at: usize) -> &str {
        &self.labels[at]
    }

    pub(super) fn prototype(&self, at: usize) -> &str {
        &self.prototypes[at]
    }

    pub(super) fn targets(&self, at: usize) -> &str {
        &self.targets[at]
    }
}

/// The name without its component, and the component with its dot.
fn base(register: &Register) -> (&str, &str) {
    match register.name.rfind('.') {
        Some(dot) => register.name.split_at(dot),
        None => (&register.name, ""),
    }
}

fn component(suffix: &str) -> u32 {
    match suffix {
        ".y" => 1,
        ".z" => 2,
        ".w" => 3,
        _ => 0,
    }
}

/// How many registers belong to the one at `at`: 1, 2 or 4.
fn length(list: &[Register], at: usize) -> u32 {
    if !list[at].name.ends_with(".x") {
        return 1;
    }
    let rest = list[at..].iter().enumerate().take(4);
    rest.take_while(|(position, register)| {
        component(base(register).1) == *position as u32 && register.name.contains('.')
    })
    .count() as u32
}

/// First ids and lengths of the registers and vector registers.
pub(super) fn registers(list: &[Register]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= list.len() {
            return None;
        }
        let length = length(list, at);
        let first = at as u32;
        at += length as usize;
        Some((first, length))
    })
}
