//! Contraction of products and sums, as NVIDIA's compiler does it.
//!
//! Where a `mul` and an `add` or `sub` leave their rounding open, a compiler may make one `fma` of them
//! (ISA 9.7.3, 9.7.4), which rounds once. ptxas does so at every level of optimisation but 0, by a rule that small
//! kernels show (13.0, sm_90): a product disappears into its sums if each of its uses is a sum of the same type and
//! `.ftz` in the same basic block, and none takes it twice; of two products in one sum, that with fewer uses goes in, of
//! equals the first. A product with any other use is computed and rounded, and so are its sums. What is a use is a
//! matter of values, not of registers: a factor that is overwritten before the sum, by the product itself too, is no
//! hindrance, and what computes values that nothing needs uses nothing. So a `mov` or `neg` of a product is that product
//! still, and an f32's `abs` of a square the square. The approximate quotients of `div.approx.f32`
//! and `div.full.f32` end with a product. What ptxas replaces by code with branches ends a basic block.
//!
//! The rewritten body keeps all instructions at their places: a sum that took a product in has four operands, `d, a, b,
//! c` for a * b + c, with [`Operand::Negated`] where a sign changes, and a fifth for a quotient. The product has no
//! operands left, or copies the factors that its sums would find overwritten: `{new registers}, factors`.

use std::borrow::Cow;

use ptx_frontend::{
    Body, Function, Instruction, Modifier, Modifiers, Module, Op, Opcode, Operand, OperandList, RegId,
    Register, ScalarType,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::flow::Flow;
use super::liveness::{Live, Uses};
use super::patience::Patience;
use semantics::{CONTRACTED_DIV_APPROX, CONTRACTED_DIV_FULL};

/// A product whose every use so far is a sum that can take it in.
struct Product {
    instruction: u32,
    factors: [Operand; 2],
    /// Versions of the factors' registers when it was computed.
    versions: [u32; 2],
    /// Factors that are overwritten before a sum.
    stale: [bool; 2],
    kind: Kind,
    /// The fifth operand of its sums, for a quotient.
    quotient: Option<u64>,
    /// The sums, which of their operands it is, and whether negated.
    uses: SmallVec<[(u32, u8, bool); 2]>,
    whole: bool,
}

/// What a product and a sum must have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    ty: ScalarType,
    ftz: bool,
}

/// The kind of a sum or product that leaves its rounding open.
fn open(op: &Op) -> Option<Kind> {
    let ty = op.ty(0)?;
    let floating = matches!(
        ty,
        ScalarType::F32
            | ScalarType::F64
            | ScalarType::F16
            | ScalarType::F16x2
            | ScalarType::Bf16
            | ScalarType::Bf16x2
    );
    (floating && op.ty(1).is_none() && op.rounding().is_none())
        .then(|| Kind { ty, ftz: op.has(Modifier::Ftz) })
}

fn product(op: &Op, inst: &Instruction) -> Option<Kind> {
    let multiplies = op.opcode == Opcode::Mul || quotient(op).is_some();
    let plain = multiplies && inst.guard.is_none() && !op.has(Modifier::Sat);
    plain.then(|| open(op)).flatten()
}

/// What a quotient that ends with a product is to its sums.
fn quotient(op: &Op) -> Option<u64> {
    match op.opcode {
        Opcode::Div if op.has(Modifier::Approx) => Some(CONTRACTED_DIV_APPROX),
        Opcode::Div if op.has(Modifier::Full) => Some(CONTRACTED_DIV_FULL),
        _ => None,
    }
}

fn sum(op: &Op) -> Option<Kind> {
    matches!(op.opcode, Opcode::Add | Opcode::Sub).then(|| open(op)).flatten()
}

/// What a register holds of a product.
#[derive(Clone, Copy, Default)]
struct Held {
    /// Its index and one; 0 for none.
    product: u32,
    negated: bool,
    /// Its absolute value, of which ptxas makes no `fma` if it is negated or subtracted.
    absolute: bool,
}

/// Operands that a rewritten sum can have: registers, and constants whose sign can change.
fn movable(operand: Operand, kind: Kind) -> bool {
    match operand {
        Operand::Register(_) => true,
        Operand::F32(_) => kind.ty == ScalarType::F32,
        Operand::F64(_) => matches!(kind.ty, ScalarType::F32 | ScalarType::F64),
        _ => false,
    }
}

fn negated(operand: Operand) -> Operand {
    match operand {
        Operand::Register(id) => Operand::Negated(id),
        Operand::Negated(id) => Operand::Register(id),
        Operand::F32(bits) => Operand::F32(bits ^ 1 << 31),
        Operand::F64(bits) => Operand::F64(bits ^ 1 << 63),
        other => other,
    }
}

/// The first instructions of basic blocks: labels that something names, and what follows a jump.
pub(super) fn leaders(module: &Module, body: &Body) -> Vec<bool> {
    let mut leader = vec![false; body.instructions.len() + 1];
    for operand in &body.operand_pool {
        match *operand {
            Operand::Label(label) => leader[body.labels[label.index()].target as usize] = true,
            Operand::BranchTargets(list) => {
                for label in &body.branch_targets[list.index()] {
                    leader[body.labels[label.index()].target as usize] = true;
                }
            }
            _ => {}
        }
    }
    for (at, inst) in body.instructions.iter().enumerate() {
        leader[at + 1] |= ends_block(module.op(inst), inst);
    }
    leader
}

/// Whether ptxas ends a basic block with an instruction: jumps, fences, what becomes code with branches, and guarded
/// instructions that more than compute.
pub(super) fn ends_block(op: &Op, inst: &Instruction) -> bool {
    let wide = op.ty(0).is_some_and(|ty| ty.bits() == 64);
    match op.opcode {
        Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap | Opcode::Call => true,
        Opcode::Brkpt | Opcode::Pmevent | Opcode::Membar => true,
        Opcode::Fence => !op.has(Modifier::Proxy),
        Opcode::Div | Opcode::Rcp | Opcode::Sqrt if op.rounding().is_some() => true,
        Opcode::Div | Opcode::Rem => wide,
        Opcode::Rsqrt => wide && !op.has(Modifier::Ftz),
        Opcode::Ld
        | Opcode::Ldu
        | Opcode::St
        | Opcode::Atom
        | Opcode::Red
        | Opcode::Cp
        | Opcode::Tex
        | Opcode::Suld
        | Opcode::Sust
        | Opcode::Mbarrier
        | Opcode::Bar
        | Opcode::Barrier
        | Opcode::Prefetch => inst.guard.is_some(),
        _ => false,
    }
}

/// The body with sums that took their products in, and registers that it has beyond the function's; the body itself if
/// there are no such sums.
pub(super) fn contract<'a, P: Patience>(
    module: &Module,
    function: &Function,
    body: &'a Body,
    patience: &P,
) -> Result<(Cow<'a, Body>, Vec<Register>), P::Ended> {
    let any = |find: fn(&Op, &Instruction) -> bool| {
        body.instructions.iter().any(|inst| find(module.op(inst), inst))
    };
    let debugged = module.target_options.iter().any(|option| &**option == "debug");
    if debugged || !any(|op, inst| product(op, inst).is_some()) || !any(|op, _| sum(op).is_some()) {
        return Ok((Cow::Borrowed(body), Vec::new()));
    }
    let mut products = Finder::new(module, function, body, patience)?.find();
    let sums = choose(&mut products, patience)?;
    if sums.is_empty() {
        return Ok((Cow::Borrowed(body), Vec::new()));
    }
    Ok(rewrite(module, function, body, &products, &sums))
}

/// Walks a body and collects products and their uses.
struct Finder<'a> {
    module: &'a Module,
    body: &'a Body,
    leader: Vec<bool>,
    products: Vec<Product>,
    /// The product that each register holds.
    holds: Vec<Held>,
    held: Vec<RegId>,
    /// How often each register was written in the text so far.
    version: Vec<u32>,
    /// Registers that are live where blocks end.
    live: Live,
}

impl<'a> Finder<'a> {
    fn new<P: Patience>(
        module: &'a Module,
        function: &Function,
        body: &'a Body,
        patience: &P,
    ) -> Result<Self, P::Ended> {
        let leader = leaders(module, body);
        let registers = function.registers.len();
        let flow = Flow::new(module, body, patience)?;
        let live = Live::behind(module, body, &flow, registers, &leader, patience)?;
        Ok(Finder {
            module,
            body,
            leader,
            products: Vec::new(),
            holds: vec![Held::default(); registers],
            held: Vec::new(),
            version: vec![0; registers],
            live,
        })
    }

    fn version_of(&self, operand: Operand) -> u32 {
        if let Operand::Register(id) = operand { self.version[id.index()] } else { 0 }
    }

    fn find(mut self) -> Vec<Product> {
        let mut uses = Uses::default();
        for (at, inst) in self.body.instructions.iter().enumerate() {
            if self.leader[at] {
                self.end_block(at);
            }
            if self.live.dead(at) {
                uses.collect(self.module, self.body, inst);
                for &register in &uses.writes {
                    self.version[register.index()] += 1;
                    if inst.guard.is_none() {
                        self.holds[register.index()] = Held::default();
                    }
                }
                continue;
            }
            let op = self.module.op(inst);
            uses.collect(self.module, self.body, inst);
            let same = self.same(op, inst);
            if same.is_none() {
                self.reads(at as u32, op, inst, &uses);
            }
            let read = match *self.body.operands(inst) {
                [_, a, b] => [a, b].map(|factor| self.version_of(factor)),
                _ => [0; 2],
            };
            for &register in &uses.writes {
                self.version[register.index()] += 1;
                let Held { product, .. } = std::mem::take(&mut self.holds[register.index()]);
                if product != 0 && inst.guard.is_some() {
                    self.products[product as usize - 1].whole = false;
                }
            }
            if let Some((to, held)) = same {
                self.holds[to.index()] = held;
                self.held.push(to);
            }
            self.computes(at as u32, op, inst, read);
        }
        self.end_block(self.body.instructions.len());
        self.products
    }

    /// Products that are needed beyond a block are computed.
    fn end_block(&mut self, at: usize) {
        for register in self.held.drain(..) {
            let Held { product, .. } = std::mem::take(&mut self.holds[register.index()]);
            if product != 0 && self.live.at(at, register) {
                self.products[product as usize - 1].whole = false;
            }
        }
    }

    /// The register that an instruction only gives what another holds of a product, but for its sign.
    fn same(&self, op: &Op, inst: &Instruction) -> Option<(RegId, Held)> {
        let [Operand::Register(to), Operand::Register(from)] = *self.body.operands(inst) else { return None };
        let held = self.holds[from.index()];
        let product = &self.products[(held.product as usize).checked_sub(1)?];
        let Kind { ty, ftz } = product.kind;
        let kept = inst.guard.is_none() && (ftz || !op.has(Modifier::Ftz));
        let square = product.quotient.is_none() && product.factors[0] == product.factors[1];
        let held = match op.opcode {
            Opcode::Mov => (op.ty(0)?.bits() == ty.bits()).then_some(held),
            Opcode::Neg => {
                (op.ty(0) == Some(ty) && !held.absolute).then_some(Held { negated: !held.negated, ..held })
            }
            Opcode::Abs => (op.ty(0) == Some(ScalarType::F32) && square).then_some(Held {
                negated: false,
                absolute: true,
                ..held
            }),
            _ => None,
        };
        held.filter(|_| kept).map(|held| (to, held))
    }

    /// What an instruction reads ends products, unless it is a sum that can take one in.
    fn reads(&mut self, at: u32, op: &Op, inst: &Instruction, uses: &Uses) {
        if let Some(kind) = sum(op)
            && let [_, x, y] = *self.body.operands(inst)
            && x != y
            && movable(x, kind)
            && movable(y, kind)
            && !self.twice(x, y)
        {
            for (side, operand) in [x, y].into_iter().enumerate() {
                let Operand::Register(id) = operand else { continue };
                let held = self.holds[id.index()];
                let Some(index) = (held.product as usize).checked_sub(1) else { continue };
                let factors = self.products[index].factors.map(|factor| self.version_of(factor));
                let product = &mut self.products[index];
                let subtracted = side == 1 && op.opcode == Opcode::Sub;
                product.whole &= product.kind == kind && !(held.absolute && subtracted);
                for (stale, (then, now)) in product.stale.iter_mut().zip(product.versions.iter().zip(factors))
                {
                    *stale |= *then != now;
                }
                product.uses.push((at, side as u8, held.negated));
            }
            return;
        }
        for register in &uses.reads {
            if let Some(index) = (self.holds[register.index()].product as usize).checked_sub(1) {
                self.products[index].whole = false;
            }
        }
    }

    /// Whether both operands hold the same product.
    fn twice(&self, x: Operand, y: Operand) -> bool {
        let (Operand::Register(x), Operand::Register(y)) = (x, y) else { return false };
        let [x, y] = [x, y].map(|id| self.holds[id.index()].product);
        x == y && x != 0
    }

    /// Notes the product that an instruction computes.
    fn computes(&mut self, at: u32, op: &Op, inst: &Instruction, versions: [u32; 2]) {
        if let Some(kind) = product(op, inst)
            && let [Operand::Register(to), a, b] = *self.body.operands(inst)
            && movable(a, kind)
            && movable(b, kind)
        {
            self.products.push(Product {
                instruction: at,
                factors: [a, b],
                versions,
                stale: [false; 2],
                kind,
                quotient: quotient(op),
                uses: SmallVec::new(),
                whole: true,
            });
            self.holds[to.index()] = Held { product: self.products.len() as u32, ..Held::default() };
            self.held.push(to);
        }
    }
}

/// By sum: the product that goes into it, which of its operands that is, and whether negated.
type Sums = FxHashMap<u32, (usize, u8, bool)>;

/// Settles which products go into their sums.
fn choose<P: Patience>(products: &mut [Product], patience: &P) -> Result<Sums, P::Ended> {
    let mut both: FxHashMap<u32, [Option<usize>; 2]> = FxHashMap::default();
    for (index, product) in products.iter_mut().enumerate() {
        product.whole &= !product.uses.is_empty();
        for &(at, side, _) in &product.uses {
            both.entry(at).or_default()[usize::from(side)] = Some(index);
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        patience.spend(products.len())?;
        for index in 0..products.len() {
            let loses = |&(at, side, _): &(u32, u8, bool)| {
                let Some(other) = both[&at][usize::from(1 - side)].filter(|&other| products[other].whole)
                else {
                    return false;
                };
                let (mine, theirs) = (products[index].uses.len(), products[other].uses.len());
                theirs < mine || theirs == mine && side == 1
            };
            if products[index].whole && products[index].uses.iter().any(loses) {
                products[index].whole = false;
                changed = true;
            }
        }
    }
    let whole = products.iter().enumerate().filter(|(_, product)| product.whole);
    let sums = whole.flat_map(|(index, product)| {
        product.uses.iter().map(move |&(at, side, negated)| (at, (index, side, negated)))
    });
    Ok(sums.collect())
}

fn rewrite<'a>(
    module: &Module,
    function: &Function,
    body: &Body,
    products: &[Product],
    sums: &Sums,
) -> (Cow<'a, Body>, Vec<Register>) {
    let mut new = body.clone();
    let mut registers: Vec<Register> = Vec::new();
    // The factors as the sums find them.
    let mut factors: Vec<[Operand; 2]> = products.iter().map(|product| product.factors).collect();
    for (index, product) in products.iter().enumerate().filter(|(_, product)| product.whole) {
        let mut copies: SmallVec<[(Operand, Operand); 2]> = SmallVec::new();
        for (factor, stale) in factors[index].iter_mut().zip(product.stale) {
            if let (&mut Operand::Register(from), true) = (&mut *factor, stale) {
                let copy = RegId((function.registers.len() + registers.len()) as u32);
                registers.push(function.registers[from.index()].clone());
                copies.push((Operand::Register(copy), *factor));
                *factor = Operand::Register(copy);
            }
        }
        let inst = &mut new.instructions[product.instruction as usize];
        inst.operands = OperandList::default();
        if !copies.is_empty() {
            let (start, count) = (new.operand_pool.len() as u32, copies.len() as u32);
            new.operand_pool.extend(copies.iter().map(|&(to, _)| to));
            new.operand_pool.push(Operand::Vector(OperandList { start, len: count }));
            new.operand_pool.extend(copies.iter().map(|&(_, from)| from));
            inst.operands = OperandList { start: start + count, len: 1 + count };
        }
    }
    for (&at, &(index, side, negate)) in sums {
        let inst = &mut new.instructions[at as usize];
        let [to, x, y] = *body.operands(inst) else { continue };
        let [mut a, b] = factors[index];
        let mut c = if side == 0 { y } else { x };
        if negate {
            a = negated(a);
        }
        if module.op(inst).opcode == Opcode::Sub {
            if side == 0 {
                c = negated(c);
            } else {
                a = negated(a);
            }
        }
        let quotient = products[index].quotient.map(Operand::Integer);
        inst.operands =
            OperandList { start: new.operand_pool.len() as u32, len: 4 + u32::from(quotient.is_some()) };
        new.operand_pool.extend([to, a, b, c].into_iter().chain(quotient));
    }
    (Cow::Owned(new), registers)
}
