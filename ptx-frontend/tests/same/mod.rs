//! Whether two modules are the same program: everything but spans, sources and the numbers of ids.

use std::collections::HashMap;

use ptx_frontend::{
    Address, AddressBase, Body, FuncId, Function, Instruction, LocationId, Module, Operand, OperandList,
    Param, RegId, Register, Relocation, Symbol, VarId, Variable,
};

type Result = std::result::Result<(), String>;

macro_rules! equal {
    ($what:expr, $a:expr, $b:expr) => {
        if $a != $b {
            return Err(format!("{}: {:?} and {:?}", $what, $a, $b));
        }
    };
}

struct Pair<'m> {
    a: &'m Module,
    b: &'m Module,
    /// Variables of the one that were found to correspond to variables of the other.
    variables: HashMap<VarId, VarId>,
    back: HashMap<VarId, VarId>,
    /// The same of registers of the function that is compared.
    registers: HashMap<RegId, RegId>,
    registers_back: HashMap<RegId, RegId>,
    files: [Vec<Register>; 2],
}

/// Compares two modules; says what differs.
pub(crate) fn same(a: &Module, b: &Module) -> Result {
    equal!("version", a.version, b.version);
    equal!("target", a.target, b.target);
    equal!("options", a.target_options, b.target_options);
    equal!("address size", a.address_size, b.address_size);
    equal!("pragmas", a.pragmas, b.pragmas);
    let names = |m: &Module| m.files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    equal!("files", names(a), names(b));
    let mut left: Vec<_> = a.symbols.keys().collect();
    let mut right: Vec<_> = b.symbols.keys().collect();
    left.sort();
    right.sort();
    equal!("symbols", left, right);
    let mut pair = Pair {
        a,
        b,
        variables: HashMap::new(),
        back: HashMap::new(),
        registers: HashMap::new(),
        registers_back: HashMap::new(),
        files: [Vec::new(), Vec::new()],
    };
    for (name, &symbol) in &a.symbols {
        pair.symbol(symbol, b.symbols[name]).map_err(|error| format!("{name}: {error}"))?;
        if let (Symbol::Function(x), Symbol::Function(y)) = (symbol, b.symbols[name]) {
            pair.function(&a.functions[x.index()], &b.functions[y.index()])
                .map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

impl Pair<'_> {
    fn symbol(&mut self, x: Symbol, y: Symbol) -> Result {
        match (x, y) {
            (Symbol::Variable(x), Symbol::Variable(y)) => self.variable(x, y),
            (Symbol::Function(x), Symbol::Function(y)) => self.callee(x, y),
            _ => Err(format!("{x:?} and {y:?}")),
        }
    }

    fn callee(&self, x: FuncId, y: FuncId) -> Result {
        equal!("function", self.a.functions[x.index()].name, self.b.functions[y.index()].name);
        Ok(())
    }

    fn variable(&mut self, x: VarId, y: VarId) -> Result {
        let known = (self.variables.insert(x, y), self.back.insert(y, x));
        match known {
            (None, None) => {}
            (Some(old), Some(back)) if old == y && back == x => return Ok(()),
            _ => return Err(format!("{x:?} stands for several variables")),
        }
        let (v, w) = (&self.a.variables[x.index()], &self.b.variables[y.index()]);
        let key = |v: &Variable| {
            (
                v.space,
                v.ty,
                v.vector,
                v.dimensions.clone(),
                v.size,
                v.align,
                v.linkage,
                v.managed,
                v.unified,
                v.pointer,
            )
        };
        equal!(v.name, format!("{:?}", key(v)), format!("{:?}", key(w)));
        equal!(v.name, v.offset, w.offset);
        equal!(v.name, v.owner.is_some(), w.owner.is_some());
        let trimmed = |v: &Variable| {
            v.initializer.as_ref().map(|initializer| {
                let mut bytes = initializer.bytes.clone();
                while bytes.last() == Some(&0) {
                    bytes.pop();
                }
                bytes
            })
        };
        equal!(format!("value of {}", v.name), trimmed(v), trimmed(w));
        let (empty_v, empty_w) = (Vec::new(), Vec::new());
        let left: &Vec<Relocation> = v.initializer.as_ref().map_or(&empty_v, |i| &i.relocations);
        let right: &Vec<Relocation> = w.initializer.as_ref().map_or(&empty_w, |i| &i.relocations);
        equal!(format!("addresses in {}", v.name), left.len(), right.len());
        for (r, s) in left.iter().zip(right) {
            let key = |r: &Relocation| (r.offset, r.width, r.addend, r.generic, r.byte);
            equal!(format!("addresses in {}", v.name), key(r), key(s));
            self.symbol(r.target, s.target)?;
        }
        Ok(())
    }

    fn register(&mut self, x: RegId, y: RegId) -> Result {
        let [left, right] = &self.files;
        equal!("register", left[x.index()].ty, right[y.index()].ty);
        match (self.registers.insert(x, y), self.registers_back.insert(y, x)) {
            (None, None) => Ok(()),
            (Some(old), Some(back)) if old == y && back == x => Ok(()),
            _ => Err(format!("{x:?} stands for several registers")),
        }
    }

    fn function(&mut self, f: &Function, g: &Function) -> Result {
        equal!("kind", f.kind, g.kind);
        equal!("linkage", f.linkage, g.linkage);
        equal!("parameter bytes", f.param_bytes, g.param_bytes);
        equal!("noreturn", f.noreturn, g.noreturn);
        equal!("tuning", format!("{:?}", f.tuning), format!("{:?}", g.tuning));
        equal!("registers", f.registers.len(), g.registers.len());
        self.registers.clear();
        self.registers_back.clear();
        self.files = [f.registers.clone(), g.registers.clone()];
        for (x, y) in [(&f.returns, &g.returns), (&f.params, &g.params), (&variables(f), &variables(g))] {
            equal!("parameters and variables", x.len(), y.len());
            for (x, y) in x.iter().zip(y) {
                match (*x, *y) {
                    (Param::Variable(x), Param::Variable(y)) => self.variable(x, y)?,
                    (Param::Register(x), Param::Register(y)) => self.register(x, y)?,
                    (x, y) => equal!("parameters", x, y),
                }
            }
        }
        match (&f.body, &g.body) {
            (None, None) => Ok(()),
            (Some(x), Some(y)) => self.body(x, y),
            _ => Err("only one has a body".to_owned()),
        }
    }

    fn body(&mut self, x: &Body, y: &Body) -> Result {
        equal!("instructions", x.instructions.len(), y.instructions.len());
        let mut targets = [x, y].map(|body| body.labels.iter().map(|label| label.target).collect::<Vec<_>>());
        targets.iter_mut().for_each(|list| list.sort_unstable());
        equal!("labels", targets[0], targets[1]);
        equal!("prototypes", x.prototypes.len(), y.prototypes.len());
        for (p, q) in x.prototypes.iter().zip(&y.prototypes) {
            equal!("prototype", (&p.returns, &p.params, p.noreturn), (&q.returns, &q.params, q.noreturn));
            let names = |m: &Module, targets: &Option<Vec<FuncId>>| {
                targets.as_ref().map(|list| {
                    list.iter().map(|id| m.functions[id.index()].name.clone()).collect::<Vec<_>>()
                })
            };
            equal!("call targets", names(self.a, &p.targets), names(self.b, &q.targets));
        }
        let lists = |body: &Body| -> Vec<Vec<u32>> {
            let target = |list: &Vec<ptx_frontend::LabelId>| {
                list.iter().map(|id| body.labels[id.index()].target).collect()
            };
            body.branch_targets.iter().map(target).collect()
        };
        equal!("branch targets", lists(x), lists(y));
        for (at, (i, j)) in x.instructions.iter().zip(&y.instructions).enumerate() {
            self.instruction(x, y, i, j).map_err(|error| format!("instruction {at}: {error}"))?;
        }
        Ok(())
    }

    fn instruction(&mut self, x: &Body, y: &Body, i: &Instruction, j: &Instruction) -> Result {
        let (op, other) = (self.a.op(i), self.b.op(j));
        equal!("op", (op.to_string(), op.form), (other.to_string(), other.form));
        match (i.guard, j.guard) {
            (Some(x), Some(y)) => {
                equal!("guard", x.negated, y.negated);
                self.register(x.register, y.register)?;
            }
            (x, y) => equal!("guard", x, y),
        }
        equal!("location", place(x, i.location, 0), place(y, j.location, 0));
        self.list(x, y, i.operands, j.operands).map_err(|error| format!("{op}: {error}"))
    }

    fn list(&mut self, x: &Body, y: &Body, i: OperandList, j: OperandList) -> Result {
        equal!("number of operands", i.len, j.len);
        for (p, q) in x.elements(i).iter().zip(y.elements(j)) {
            self.operand(x, y, p, q)?;
        }
        Ok(())
    }

    fn operand(&mut self, x: &Body, y: &Body, p: &Operand, q: &Operand) -> Result {
        match (*p, *q) {
            (Operand::Variable(v, o), Operand::Variable(w, r)) => {
                equal!("offset", o, r);
                self.variable(v, w)
            }
            (Operand::Register(r), Operand::Register(s)) | (Operand::Negated(r), Operand::Negated(s)) => {
                self.register(r, s)
            }
            (Operand::Part(r, p), Operand::Part(s, q))
            | (Operand::NegatedPart(r, p), Operand::NegatedPart(s, q)) => {
                equal!("part", p, q);
                self.register(r, s)
            }
            (Operand::Function(f), Operand::Function(g)) => self.callee(f, g),
            (Operand::Vector(i), Operand::Vector(j))
            | (Operand::Pair(i), Operand::Pair(j))
            | (Operand::AddressList(i), Operand::AddressList(j)) => self.list(x, y, i, j),
            (Operand::Address(a), Operand::Address(b)) => self.address(a, b),
            (Operand::Label(l), Operand::Label(m)) => {
                equal!("label", x.labels[l.index()].target, y.labels[m.index()].target);
                Ok(())
            }
            (p, q) => {
                equal!("operand", p, q);
                Ok(())
            }
        }
    }

    fn address(&mut self, a: Address, b: Address) -> Result {
        equal!("offset", a.offset, b.offset);
        match (a.base, b.base) {
            (AddressBase::Variable(v), AddressBase::Variable(w)) => self.variable(v, w),
            (AddressBase::Register(r), AddressBase::Register(s)) => self.register(r, s),
            (p, q) => {
                equal!("base", p, q);
                Ok(())
            }
        }
    }
}

fn variables(function: &Function) -> Vec<Param> {
    function.variables.iter().map(|&id| Param::Variable(id)).collect()
}

/// File, line, column, function, and the same of the places it was inlined at.
fn place(body: &Body, id: Option<LocationId>, depth: u32) -> String {
    let Some(id) = id.filter(|_| depth < 100) else { return String::new() };
    let location = &body.locations[id.index()];
    let own = (location.file, location.line, location.column, &location.function);
    format!("{own:?} {}", place(body, location.inlined_at, depth + 1))
}
