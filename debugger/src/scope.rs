//! Names that expressions may use at a place of the code.

use std::sync::Arc;

use ptx_frontend::{Param, ScalarType, StateSpace, Symbol, VarId, Variable};
use sim_core::code::Code;

use crate::dwarf::{self, Location};
use crate::expression::{Bound, Names, Node, load_place, register};
use crate::program::Program;
use crate::types::{Space, Type};
use crate::values::Values;

/// Memory of the host's that has a name, as a buffer of a launch file has.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// The type of its elements.
    pub element: Type,
    /// How many there are.
    pub count: u64,
}

/// What names stand for that do not change while a kernel runs: variables and buffers.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// Addresses of `.global` and `.const` variables.
    pub variables: Vec<(VarId, u64)>,
}

/// The names at an instruction.
pub struct Scope<'a> {
    pub(crate) program: &'a Program,
    pub(crate) symbols: &'a Symbols,
    pub(crate) values: &'a Values,
    pub(crate) code: &'a Code,
    pub(crate) function: usize,
    pub(crate) position: u32,
    /// 0 in the innermost inlined function at that position, 1 in its caller, and so on.
    pub(crate) level: usize,
    pub(crate) time: u64,
}

fn type_of(variable: &Variable) -> Type {
    let mut ty = Type::of_ptx(variable.ty);
    if variable.vector > 1 {
        ty = Type::Array(Arc::new(ty), variable.vector.into());
    }
    let element = ty.bytes().max(1);
    let counted: u64 = variable.dimensions.iter().skip(1).product();
    for (at, dimension) in variable.dimensions.iter().enumerate().rev() {
        let count = match (at, *dimension) {
            (0, 0) => variable.size / (element * counted.max(1)).max(1),
            (_, count) => count,
        };
        ty = Type::Array(Arc::new(ty), count);
    }
    ty
}

impl Scope<'_> {
    fn variable(&self, id: VarId) -> Option<Bound> {
        let variable = &self.program.module().variables[id.index()];
        let ty = type_of(variable);
        match variable.space {
            StateSpace::Global | StateSpace::Const => {
                let (_, address) = self.symbols.variables.iter().find(|(known, _)| *known == id)?;
                Some(load_place(ty, Space::Generic, *address))
            }
            StateSpace::Shared => {
                let offset = *self.code.shared.offsets.get(&id)?;
                Some(load_place(ty, Space::Shared, offset.into()))
            }
            StateSpace::Local | StateSpace::Param => {
                let function = &self.code.functions[self.function];
                if let Some((start, _, _)) = function.locals.iter().find(|(_, _, own)| *own == id) {
                    return Some(Bound { ty, node: Node::Frame((*start).into()) });
                }
                let declared = self.program.declared(0);
                let is_own =
                    declared.params.iter().any(|param| matches!(param, Param::Variable(own) if *own == id));
                is_own.then(|| load_place(ty, Space::Param, variable.offset))
            }
            _ => None,
        }
    }

    /// The variables that the function declares and those of the module, by their names.
    fn variable_named(&self, name: &str) -> Option<Bound> {
        let declared = self.program.declared(self.function);
        let module = self.program.module();
        let params = declared.returns.iter().chain(&declared.params).filter_map(|param| match param {
            Param::Variable(id) => Some(*id),
            Param::Register(_) => None,
        });
        let own = declared.variables.iter().copied().chain(params);
        let own = own.filter(|id| &*module.variables[id.index()].name == name);
        let global = match module.symbol(name) {
            Some(Symbol::Variable(id)) => Some(id),
            _ => None,
        };
        // C++ hides where a variable is declared in its name.
        let hidden = (0..module.variables.len() as u32).map(VarId).filter(|id| {
            let own = &*module.variables[id.index()].name;
            let readable = if own.starts_with("_Z") { reports::readable(own) } else { return false };
            readable == name || readable.strip_suffix(name).is_some_and(|before| before.ends_with("::"))
        });
        own.chain(global).chain(hidden).find_map(|id| self.variable(id))
    }

    /// A variable of CUDA C++, where debug information has one of the name.
    fn described(&self, name: &str) -> Option<Bound> {
        let (information, at) = self.program.information(self.position)?;
        let variable = information.variable(name, at, self.level)?;
        let location = match &variable.location {
            Location::List(list) => {
                let here = list.iter().find(|(from, to, _)| (*from..*to).contains(&at));
                here.map_or(&Location::Unknown, |(.., location)| location)
            }
            location => location,
        };
        Some(self.placed(variable, location))
    }

    fn placed(&self, variable: &dwarf::Variable, location: &Location) -> Bound {
        let ty = match variable.is_reference {
            true => Type::Pointer(Space::Generic, Arc::new(variable.ty.clone())),
            false => variable.ty.clone(),
        };
        let node = match location {
            Location::Register(name) => self.register(name).map(|register| register.node),
            Location::Symbol(name, offset) => match self.variable_named(name).map(|bound| bound.node) {
                Some(Node::Memory(space, address)) => {
                    Some(Node::Memory(space, address.wrapping_add(*offset)))
                }
                Some(Node::Frame(start)) => Some(Node::Frame(start.wrapping_add(*offset as i64))),
                other => other,
            },
            Location::List(_) | Location::Unknown => None,
        };
        let node = node.unwrap_or_else(|| Node::Absent("optimized out".into()));
        let bound = Bound { ty, node };
        match variable.is_reference {
            true => Bound { ty: variable.ty.clone(), node: Node::Target(bound.into(), 0) },
            false => bound,
        }
    }

    /// The names of variables that debug information has here: parameters or others.
    fn described_names(&self, parameters: bool) -> Option<Vec<String>> {
        let (information, at) = self.program.information(self.position)?;
        let found = information.variables(at, self.level);
        let own = found.iter().filter(|variable| variable.is_parameter == parameters);
        (!found.is_empty()).then(|| own.map(|variable| variable.name.clone()).collect())
    }

    fn register(&self, name: &str) -> Option<Bound> {
        let declared = self.program.declared(self.function);
        let at = declared.registers.iter().position(|register| &*register.name == name)?;
        let ty = declared.registers[at].ty;
        let place = self.program.registers(self.function).get(at).copied()?;
        Some(Bound { ty: Type::of_ptx(ty), node: register(place, ty) })
    }

    /// The shared variables of the kernel: name, type, offset, bytes.
    pub fn shared(&self) -> Vec<(String, Type, u64, u64)> {
        let mut found: Vec<_> = self
            .code
            .shared
            .offsets
            .iter()
            .map(|(id, offset)| {
                let variable = &self.program.module().variables[id.index()];
                let readable = reports::readable(&variable.name);
                let name = readable.rsplit("::").next().unwrap_or(&readable).to_owned();
                (name, type_of(variable), u64::from(*offset), variable.size)
            })
            .collect();
        found.sort_by_key(|(_, _, offset, _)| *offset);
        found
    }

    /// The buffers, by their names.
    pub fn buffers(&self) -> Vec<String> {
        self.symbols.buffers.iter().map(|buffer| buffer.name.clone()).collect()
    }

    /// The parameters of the function, where debug information names them.
    pub fn arguments(&self) -> Vec<String> {
        self.described_names(true).unwrap_or_default()
    }

    /// The variables of the function that are in scope, the innermost first; without debug information its parameters and
    /// variables as PTX names them.
    pub fn locals(&self) -> Vec<String> {
        if let Some(names) = self.described_names(false) {
            return names;
        }
        let declared = self.program.declared(self.function);
        let module = self.program.module();
        let params = declared.params.iter().filter_map(|param| match param {
            Param::Variable(id) => Some(*id),
            Param::Register(_) => None,
        });
        let locals = declared
            .variables
            .iter()
            .copied()
            .filter(|id| module.variables[id.index()].space == StateSpace::Local);
        params.chain(locals).map(|id| module.variables[id.index()].name.to_string()).collect()
    }

    /// The registers of the function that its code has: names and types.
    pub fn registers(&self) -> Vec<(String, ScalarType)> {
        let declared = self.program.declared(self.function);
        let places = self.program.registers(self.function);
        let used = declared.registers.iter().zip(places);
        let used = used.filter(|(_, place)| !matches!(place, sim_core::code::RegisterPlace::Nowhere));
        used.map(|(register, _)| (register.name.to_string(), register.ty)).collect()
    }
}

impl Names for Scope<'_> {
    fn name(&self, name: &str) -> Option<Bound> {
        let constant =
            |value: u64| Some(Bound { ty: Type::Int(8, false), node: Node::Constant(value.into()) });
        match name {
            "$pc" => return constant(self.position.into()),
            "$time" => return constant(self.time),
            _ => {}
        }
        let plain = name.strip_prefix('$').unwrap_or(name);
        if name.starts_with(['%', '$'])
            && let Some(found) = self.register(name).or_else(|| self.register(&format!("%{plain}")))
        {
            return Some(found);
        }
        if name.starts_with('$')
            && let Some(found) = self.values.get(name)
        {
            return Some(found);
        }
        if let Some(found) = self.described(name) {
            return Some(found);
        }
        let variable = self.variable_named(name);
        // A buffer may be named as the parameter that has its address: there is more to see of it.
        let is_param = matches!(variable, None | Some(Bound { node: Node::Memory(Space::Param, _), .. }));
        let mut buffers = self.symbols.buffers.iter().filter(|_| is_param);
        match buffers.find(|buffer| buffer.name == name) {
            Some(buffer) => {
                let ty = Type::Array(Arc::new(buffer.element.clone()), buffer.count);
                Some(load_place(ty, Space::Generic, buffer.address))
            }
            None => variable,
        }
    }

    fn type_named(&self, name: &str) -> Option<Type> {
        self.program.information(self.position)?.0.type_named(name).cloned()
    }
}
