//! A module as PTX text again.
//!
//! Parsing the text gives the same program: the same instructions, layouts, initial values and source
//! positions. Blocks are gone, so that names which several blocks used are told apart by a suffix.

mod body;
mod debug;
mod names;

use rustc_hash::FxHashSet;
use std::fmt::Write as _;

use crate::module::{
    FuncId, Function, FunctionKind, Initializer, Linkage, Module, Operand, Param, Relocation, Symbol, Tuning,
    Variable,
};
use crate::parser::call::is_further_component;
use debug::DebugStrings;
use isa::{ScalarType, StateSpace};
use names::Names;

impl Module {
    /// The module as PTX text that parses to the same program.
    ///
    /// Debug sections are left out but for the names of inlined functions.
    ///
    /// ```
    /// # use ptx_frontend::{Source, parse};
    /// let text = ".version 9.0\n.target sm_90\n.entry k() { .reg .b32 %r<2>; mov.b32 %r1, 5; ret; }";
    /// let module = parse(Source::new("k.ptx", text.into())).module.unwrap();
    /// assert!(module.to_ptx().contains("mov.b32 %r1, 5;"));
    /// ```
    pub fn to_ptx(&self) -> String {
        Printer { module: self, out: String::new(), strings: DebugStrings::default() }.print()
    }
}

struct Printer<'m> {
    module: &'m Module,
    out: String,
    strings: DebugStrings<'m>,
}

/// Writes to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($args:tt)*) => {
        let _ = write!($out, $($args)*);
    };
}
use put;

impl<'m> Printer<'m> {
    fn print(mut self) -> String {
        let module = self.module;
        put!(self.out, ".version {}\n.target {}", module.version, module.target);
        for option in &module.target_options {
            put!(self.out, ", {option}");
        }
        put!(self.out, "\n.address_size {}\n\n", module.address_size);
        for (at, file) in module.files.iter().enumerate() {
            put!(self.out, ".file {} \"{}\"\n", at + 1, file.name);
        }
        for pragma in &module.pragmas {
            put!(self.out, ".pragma \"{pragma}\";\n");
        }
        self.declarations();
        self.variables();
        for (at, function) in module.functions.iter().enumerate() {
            if function.body.is_some() {
                self.function(FuncId(at as u32), function, true);
            }
        }
        for (name, symbol) in &module.symbols {
            if let Symbol::Function(id) = symbol
                && module.functions[id.index()].name != *name
            {
                put!(self.out, ".alias {name}, {};\n", module.functions[id.index()].name);
            }
        }
        self.strings.print(&mut self.out);
        self.out
    }

    /// Declares functions without a body and those that something refers to.
    fn declarations(&mut self) {
        let mut named = FxHashSet::default();
        for body in self.module.functions.iter().filter_map(|function| function.body.as_ref()) {
            named.extend(body.operand_pool.iter().filter_map(|operand| match operand {
                Operand::Function(id) => Some(*id),
                _ => None,
            }));
            named.extend(body.prototypes.iter().filter_map(|prototype| prototype.targets.as_ref()).flatten());
        }
        let relocations =
            self.module.variables.iter().filter_map(|v| v.initializer.as_ref()).flat_map(|i| &i.relocations);
        named.extend(relocations.filter_map(|relocation| match relocation.target {
            Symbol::Function(id) => Some(id),
            Symbol::Variable(_) => None,
        }));
        for (at, function) in self.module.functions.iter().enumerate() {
            let id = FuncId(at as u32);
            if function.body.is_none() || named.contains(&id) {
                self.function(id, function, false);
            }
        }
    }

    /// Variables of module scope. One that is named before its turn is declared `.extern` first; one of the
    /// module only, which cannot be declared, has its turn then, after those before it.
    fn variables(&mut self) {
        let variables = &self.module.variables;
        let (mut known, mut done) = (FxHashSet::default(), FxHashSet::default());
        for at in (0..variables.len()).filter(|&at| variables[at].owner.is_none()) {
            let named = |at: usize| {
                variables[at].initializer.iter().flat_map(|i| &i.relocations).filter_map(|relocation| {
                    match relocation.target {
                        Symbol::Variable(target) if variables[target.index()].owner.is_none() => {
                            Some(target.index())
                        }
                        _ => None,
                    }
                })
            };
            let local =
                |at: usize| variables[at].owner.is_none() && variables[at].linkage == Linkage::Internal;
            let last = named(at).filter(|&target| target > at && local(target)).max();
            let before = last.into_iter().flat_map(|last| (at + 1..=last).filter(|&other| local(other)));
            for now in before.chain([at]) {
                if !done.insert(now) {
                    continue;
                }
                for target in named(now) {
                    let printed = target != now && done.contains(&target);
                    if !local(target) && !printed && known.insert(target) {
                        let target = &variables[target];
                        let declaration =
                            Variable { linkage: Linkage::Extern, initializer: None, ..target.clone() };
                        self.variable(&declaration, &target.name, None);
                    }
                }
                self.variable(&variables[now], &variables[now].name, None);
            }
        }
    }

    /// `names` are those of the function that the variable belongs to.
    fn variable(&mut self, variable: &Variable, name: &str, names: Option<&Names<'_>>) {
        self.out.push_str(linkage(variable.linkage));
        self.declarator(variable, name);
        if let Some(initializer) = &variable.initializer {
            self.out.push_str(" = ");
            self.initializer(variable, initializer, names);
        }
        self.out.push_str(";\n");
    }

    /// Space, alignment, type, name and dimensions.
    fn declarator(&mut self, variable: &Variable, name: &str) {
        put!(self.out, ".{}", variable.space);
        let natural = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
        if variable.align != natural {
            put!(self.out, " .align {}", variable.align);
        }
        match (variable.managed, variable.unified) {
            (true, None) => self.out.push_str(" .attribute(.managed)"),
            (true, Some((upper, lower))) => {
                put!(self.out, " .attribute(.managed, .unified({upper}, {lower}))");
            }
            (false, Some((upper, lower))) => {
                put!(self.out, " .attribute(.unified({upper}, {lower}))");
            }
            (false, None) => {}
        }
        if variable.vector > 1 {
            put!(self.out, " .v{}", variable.vector);
        }
        put!(self.out, " {}", variable.ty);
        if let Some(pointer) = variable.pointer {
            self.out.push_str(" .ptr");
            if pointer.space != StateSpace::Generic {
                put!(self.out, " .{}", pointer.space);
            }
            put!(self.out, " .align {}", pointer.align);
        }
        put!(self.out, " {name}");
        for &dimension in &variable.dimensions {
            if dimension == 0 {
                self.out.push_str("[]");
            } else {
                put!(self.out, "[{dimension}]");
            }
        }
    }

    /// The values, in braces that nest as the dimensions do; trailing zeros are left to the default.
    fn initializer(&mut self, variable: &Variable, initializer: &Initializer, names: Option<&Names<'_>>) {
        let width = variable.ty.bytes() as usize;
        let mut shape: Vec<u64> = variable.dimensions.to_vec();
        if variable.vector > 1 {
            shape.push(u64::from(variable.vector));
        }
        // How many scalars one element of each level holds.
        let mut strides = vec![1u64; shape.len()];
        for at in (0..shape.len().saturating_sub(1)).rev() {
            strides[at] = strides[at + 1].saturating_mul(shape[at + 1].max(1));
        }
        let mut count = initializer.bytes.len().div_ceil(width) as u64;
        count = count.next_multiple_of(u64::from(variable.vector));
        let mut relocations = initializer.relocations.iter().peekable();
        if count == 0 {
            self.out.push_str("{}");
        }
        for at in 0..count {
            let opened =
                shape.iter().zip(&strides).filter(|&(&n, &stride)| at % n.max(1).saturating_mul(stride) == 0);
            // An open outermost dimension begins once.
            let opened =
                if at > 0 && shape.first() == Some(&0) { opened.count() - 1 } else { opened.count() };
            if at > 0 {
                self.out.push_str(", ");
            }
            self.out.extend(std::iter::repeat_n('{', opened));
            let start = at as usize * width;
            match relocations.next_if(|relocation| relocation.offset == start as u64) {
                Some(relocation) => self.relocation(relocation, names),
                None => {
                    let mut bytes = [0u8; 16];
                    let given = initializer.bytes.get(start..).unwrap_or(&[]);
                    let length = given.len().min(width);
                    bytes[..length].copy_from_slice(&given[..length]);
                    self.scalar(variable.ty, u128::from_le_bytes(bytes));
                }
            }
            let closed = if at + 1 == count {
                shape.len()
            } else {
                let whole = |(&n, &stride): (&u64, &u64)| n != 0 && (at + 1) % n.saturating_mul(stride) == 0;
                shape.iter().zip(&strides).filter(|&pair| whole(pair)).count()
            };
            self.out.extend(std::iter::repeat_n('}', closed));
        }
    }

    fn scalar(&mut self, ty: ScalarType, bits: u128) {
        let _ = match ty {
            ScalarType::F32 => write!(self.out, "0f{:08X}", bits as u32),
            ScalarType::F64 => write!(self.out, "0d{:016X}", bits as u64),
            _ if bits >> 64 != 0 => write!(self.out, "{}", bits as i64),
            _ => write!(self.out, "{}", bits as u64),
        };
    }

    fn relocation(&mut self, relocation: &Relocation, names: Option<&Names<'_>>) {
        let name = match relocation.target {
            Symbol::Variable(id) => {
                let variable = &self.module.variables[id.index()];
                names.map_or(&*variable.name, |names| names.variable(id, variable))
            }
            Symbol::Function(id) => &self.module.functions[id.index()].name,
        };
        if let Some(byte) = relocation.byte {
            put!(self.out, "{:#x}(", 0xffu64 << (u32::from(byte) * 8));
        }
        let _ =
            if relocation.generic { write!(self.out, "generic({name})") } else { write!(self.out, "{name}") };
        if relocation.addend != 0 {
            put!(self.out, "+{}", relocation.addend);
        }
        if relocation.byte.is_some() {
            self.out.push(')');
        }
    }

    /// A function: its header, and its body if wanted.
    fn function(&mut self, id: FuncId, function: &'m Function, with_body: bool) {
        self.out.push_str(linkage(function.linkage));
        let names = Names::new(self.module, function);
        self.out.push_str(if function.kind == FunctionKind::Entry { ".entry " } else { ".func " });
        if !function.returns.is_empty() {
            self.params(function, &names, &function.returns);
            self.out.push(' ');
        }
        put!(self.out, "{} ", function.name);
        self.params(function, &names, &function.params);
        if function.noreturn {
            self.out.push_str(" .noreturn");
        }
        match &function.body {
            Some(body) if with_body => {
                self.tuning(&function.tuning);
                self.out.push_str("\n{\n");
                self.body(id, function, body, &names);
                self.out.push_str("}\n\n");
            }
            Some(_) => self.out.push_str(";\n"),
            None => {
                self.tuning(&function.tuning);
                self.out.push_str(";\n");
            }
        }
    }

    fn params(&mut self, function: &Function, names: &Names<'_>, list: &[Param]) {
        self.out.push('(');
        for (at, param) in list.iter().filter(|param| !is_further_component(function, param)).enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            match *param {
                Param::Variable(id) => {
                    let variable = &self.module.variables[id.index()];
                    self.declarator(variable, names.variable(id, variable));
                }
                Param::Register(id) => {
                    let (name, vector) = names.whole_register(id, &function.registers);
                    let ty = function.registers[id.index()].ty;
                    let _ = match vector {
                        1 => write!(self.out, ".reg {ty} {name}"),
                        n => write!(self.out, ".reg .v{n} {ty} {name}"),
                    };
                }
            }
        }
        self.out.push(')');
    }

    fn tuning(&mut self, tuning: &Tuning) {
        let mut extent = |name: &str, value: Option<[u32; 3]>| {
            if let Some([x, y, z]) = value {
                put!(self.out, "\n.{name} {x}, {y}, {z}");
            }
        };
        extent("maxntid", tuning.max_threads);
        extent("reqntid", tuning.required_threads);
        extent("reqnctapercluster", tuning.required_cluster);
        let mut number = |name: &str, value: Option<u32>| {
            if let Some(value) = value {
                put!(self.out, "\n.{name} {value}");
            }
        };
        number("minnctapersm", tuning.min_ctas_per_sm);
        number("maxnreg", tuning.max_registers);
        number("maxclusterrank", tuning.max_cluster_rank);
        if tuning.explicit_cluster {
            self.out.push_str("\n.explicitcluster");
        }
        if tuning.blocks_are_clusters {
            self.out.push_str("\n.blocksareclusters");
        }
    }
}

/// A linking directive with a blank after it.
fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    }
}
