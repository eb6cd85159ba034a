//! From a checked module to [`Code`]: once a kernel.
//!
//! Every function the kernel can reach is laid out, its registers get rows, its operands slots. What
//! the interpreter does not support becomes [`Action::Unsupported`]: refused when reached, by name.

use ptx_frontend::{
    Body, FuncId, Function, FunctionKind, Instruction, Modifier, Modifiers, Module, Opcode, Operand, Param,
    ScalarType, SpecialRegister, StateSpace, Symbol, VarId, Variable,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

use crate::code::*;
use semantics::formula::Formula;
use semantics::lanes::{Pred, SimdLevel, Slot};
use semantics::window;

mod accumulators;
mod asynchronous;
mod bulk;
mod compiler;
mod contract;
mod control;
mod fixed;
mod flow;
mod liveness;
mod matrix;
mod memory;
mod operands;
mod optimise;
mod patience;
mod pressure;
mod registers;
mod rewrite;
mod spinning;
mod strides;
mod sync;
mod texture;
mod under_copies;
mod uniform;
mod warpgroup;

use accumulators::Accumulators;
use fixed::Fixed;
use flow::Flow;
pub(crate) use liveness::Uses;
use liveness::{Sets, intervals};
pub(crate) use patience::{Endless, Patience};
use registers::Allocation;
pub use rewrite::Rewrite;
use spinning::spinning;
use strides::Strides;
use under_copies::stores_under_copies;
use uniform::{Among, Divergence};

/// Why an instruction cannot be decoded; the text names what is not supported.
pub(crate) type Refusal = String;

/// Decodes a kernel for a SIMD level.
///
/// ```
/// # let source = ptx_frontend::Source::new("k.ptx", b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }".to_vec());
/// # let Some(module) = ptx_frontend::parse(source).module else { return };
/// let kernel = module.kernel("k").unwrap();
/// let compiler = sim_core::Compiler::default();
/// let code = sim_core::decode(&std::sync::Arc::new(module), kernel, sim_core::SimdLevel::detect(), compiler);
/// assert_eq!(code.functions.len(), 1);
/// ```
///
/// What `compiler` says is done as NVIDIA's compiler does it.
pub fn decode(module: &Arc<Module>, kernel: FuncId, level: SimdLevel, compiler: Compiler) -> Code {
    let Ok(code) = decode_for(module, kernel, level, compiler, &Endless);
    code
}

/// The same for somebody who may not wait until it is done.
pub(crate) fn decode_for<P: Patience>(
    module: &Arc<Module>,
    kernel: FuncId,
    level: SimdLevel,
    compiler: Compiler,
    patience: &P,
) -> Result<Code, P::Ended> {
    let reachable = reachable(module, kernel);
    let shared = shared_layout(module, &reachable);
    let mut code = Code {
        insts: Vec::new(),
        meta: Vec::new(),
        functions: Vec::new(),
        constants: Vec::new(),
        warp_specials: Vec::new(),
        slots: Vec::new(),
        call_sites: Vec::new(),
        copies: Vec::new(),
        copies_again: false,
        bulk_copies: Vec::new(),
        multimems: Vec::new(),
        replacements: Vec::new(),
        branch_tables: Vec::new(),
        unsupported: Vec::new(),
        matrices: Vec::new(),
        warpgroups: Vec::new(),
        touches: Vec::new(),
        accumulators: Vec::new(),
        textures: Vec::new(),
        launches: launches(module, &reachable),
        shared,
        clustered: is_clustered(module, &reachable),
        waits_for_blocks: false,
        registers: 0,
        module: module.clone(),
    };
    let indices: FxHashMap<FuncId, u32> =
        reachable.iter().enumerate().map(|(at, &id)| (id, at as u32)).collect();
    let mut pools = Pools::default();
    for &id in &reachable {
        let function = &module.functions[id.index()];
        if let Some(body) = &function.body {
            // What goes once through the instructions.
            patience.spend(body.instructions.len())?;
            let converted = compiler::conversions(module, function, body);
            let (body, more) = match compiler.contraction {
                true => contract::contract(module, function, body, patience)?,
                false => (Cow::Borrowed(body), Vec::new()),
            };
            let mut function = Cow::Borrowed(function);
            if !more.is_empty() {
                function.to_mut().registers.extend(more);
            }
            let (body, replaced) = match compiler.as_optimised {
                true => optimise::optimise(module, body),
                false => (body, FxHashMap::default()),
            };
            let mut decoder =
                Decoder::new(module, id, &function, &body, level, &indices, &mut code, &mut pools);
            decoder.converted = converted;
            decoder.replaced = replaced;
            decoder.inspectable = compiler.inspectable;
            decoder.run(patience)?;
        }
    }
    code.waits_for_blocks = code.insts.iter().any(|inst| inst.action.awaits_block());
    Ok(code)
}

/// What is done as NVIDIA's compiler does it; see [`crate::DeviceConfig`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compiler {
    /// [`crate::DeviceConfig::contraction`].
    pub contraction: bool,
    /// [`crate::DeviceConfig::as_optimised`].
    pub as_optimised: bool,
    /// [`crate::DeviceConfig::inspectable`].
    pub inspectable: bool,
}

impl Default for Compiler {
    fn default() -> Self {
        Self { contraction: true, as_optimised: false, inspectable: false }
    }
}

/// Instructions of a function of which NVIDIA's compiler is known to make something else than the manual says.
pub fn rewrites(module: &Module, function: &Function) -> Vec<(u32, Rewrite)> {
    function.body.as_ref().map(|body| compiler::find(module, function, body)).unwrap_or_default()
}

/// The kernel and every function with a body that it may call, the kernel first.
fn reachable(module: &Module, kernel: FuncId) -> Vec<FuncId> {
    let mut list = vec![kernel];
    let mut seen = vec![false; module.functions.len()];
    seen[kernel.index()] = true;
    let mut tables_added = false;
    let mut at = 0;
    while at < list.len() {
        let mut add = |id: FuncId, list: &mut Vec<FuncId>| {
            let function = &module.functions[id.index()];
            let callable = function.kind == FunctionKind::Func && function.body.is_some();
            if callable && !std::mem::replace(&mut seen[id.index()], true) {
                list.push(id);
            }
        };
        let Some(body) = &module.functions[list[at].index()].body else { continue };
        let mut indirect = false;
        for inst in &body.instructions {
            if module.op(inst).opcode == Opcode::Call {
                indirect |= !body.operands(inst).iter().any(|o| matches!(o, Operand::Function(_)));
            }
        }
        for operand in &body.operand_pool {
            if let Operand::Function(id) = *operand {
                add(id, &mut list);
            }
        }
        for prototype in &body.prototypes {
            for &id in prototype.targets.iter().flatten() {
                add(id, &mut list);
            }
        }
        // Any function whose address is in memory may be the target of an indirect call.
        if indirect && !std::mem::replace(&mut tables_added, true) {
            for variable in &module.variables {
                for relocation in variable.initializer.iter().flat_map(|init| &init.relocations) {
                    if let Symbol::Function(id) = relocation.target {
                        add(id, &mut list);
                    }
                }
            }
            for function in &module.functions {
                for operand in function.body.iter().flat_map(|body| &body.operand_pool) {
                    if let Operand::Function(id) = *operand {
                        add(id, &mut list);
                    }
                }
            }
        }
        at += 1;
    }
    list
}

/// What functions may launch: what they name of the device runtime.
fn launches(module: &Module, functions: &[FuncId]) -> Launches {
    let mut launches = Launches::default();
    let bodies = functions.iter().filter_map(|id| module.functions[id.index()].body.as_ref());
    for operand in bodies.flat_map(|body| &body.operand_pool) {
        let Operand::Function(id) = *operand else { continue };
        use LaunchFunction as F;
        let Some(function) = F::named(&module.functions[id.index()].name) else { continue };
        match function {
            F::LaunchGraph => launches.graphs = true,
            F::SetCondition
            | F::NodeParameter
            | F::NodeGrid
            | F::NodeEnabled
            | F::ErrorName
            | F::ErrorText => {}
            F::Launch | F::LaunchKernel => (launches.kernels, launches.uses_runtime) = (true, true),
            _ => launches.uses_runtime = true,
        }
    }
    launches
}

/// Offsets of the shared variables that the functions name; unsized ones start where the rest ends.
fn shared_layout(module: &Module, functions: &[FuncId]) -> SharedLayout {
    let mut named: Vec<VarId> = Vec::new();
    let mut first = window::SHARED_START;
    for id in functions {
        let Some(body) = &module.functions[id.index()].body else { continue };
        for operand in &body.operand_pool {
            let variable = match *operand {
                Operand::Variable(id, _) => id,
                Operand::Address(ptx_frontend::Address {
                    base: ptx_frontend::AddressBase::Variable(id),
                    ..
                }) => id,
                Operand::Special(SpecialRegister::ReservedSmemOffset(_)) => {
                    first = 0;
                    continue;
                }
                _ => continue,
            };
            if module.variables[variable.index()].space == StateSpace::Shared {
                named.push(variable);
            }
        }
    }
    named.sort();
    named.dedup();
    let mut layout = SharedLayout { first, ..SharedLayout::default() };
    // From the start of what a program may use, which is how a device aligns. Whoever has more than fits a
    // `u32` is refused at the launch.
    let mut end = 0u64;
    let mut dynamic_align = 1;
    let place = |end: u64| cut(end.saturating_add(window::SHARED_START.into()));
    for &id in &named {
        let variable = &module.variables[id.index()];
        if variable.size == 0 {
            dynamic_align = dynamic_align.max(variable.align).max(16);
            continue;
        }
        end = end.checked_next_multiple_of(variable.align).unwrap_or(u64::MAX);
        layout.offsets.insert(id, place(end));
        end = end.saturating_add(variable.size);
    }
    layout.static_bytes = cut(end);
    layout.static_end = place(end.checked_next_multiple_of(dynamic_align).unwrap_or(u64::MAX));
    for &id in &named {
        layout.offsets.entry(id).or_insert(layout.static_end);
    }
    layout
}

/// Whether the functions name anything of clusters: other blocks' shared memory, their barrier, a rank.
fn is_clustered(module: &Module, functions: &[FuncId]) -> bool {
    let bodies = || functions.iter().filter_map(|id| module.functions[id.index()].body.as_ref());
    let instructions = || bodies().flat_map(|body| &body.instructions);
    let words = [Modifier::Cluster, Modifier::SharedCluster];
    instructions().any(|instruction| {
        let op = &module.ops[instruction.op.index()];
        matches!(op.opcode, Opcode::Mapa | Opcode::Getctarank) || words.iter().any(|&word| op.has(word))
    }) || bodies().flat_map(|body| &body.operand_pool).any(|operand| {
        matches!(
            operand,
            Operand::Special(SpecialRegister::ClusterCtarank | SpecialRegister::ClusterCtaid(_))
        )
    })
}

/// A number of bytes; the largest there is where it has more bits.
fn cut(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Rows of a register of this type.
pub(crate) fn rows_of(ty: ScalarType) -> u8 {
    match ty.bits() {
        128 => 4,
        64 => 2,
        _ => 1,
    }
}

/// Deduplicates constants and special registers over all functions of a kernel.
#[derive(Default)]
struct Pools {
    constants: FxHashMap<Constant, Slot>,
    constant_rows: u32,
    specials: FxHashMap<ptx_frontend::SpecialRegister, Slot>,
}

/// Decodes one function.
struct Decoder<'a> {
    module: &'a Module,
    function: &'a Function,
    body: &'a Body,
    level: SimdLevel,
    indices: &'a FxHashMap<FuncId, u32>,
    code: &'a mut Code,
    pools: &'a mut Pools,
    allocation: Allocation,
    fixed: Fixed,
    /// Frame offsets of `.local` variables and of `.param` variables of calls.
    locals: FxHashMap<VarId, u32>,
    local_bytes: u32,
    /// Rows in use beyond the registers, within one PTX instruction.
    temporaries: u32,
    most_temporaries: u32,
    /// The PTX instruction being decoded.
    at: u32,
    /// Floats that are converted where they are used.
    converted: FxHashMap<(u32, compiler::Part), ScalarType>,
    /// Registers of `wgmma`, and the number of the first of them in the kernel.
    accumulators: Accumulators,
    first_accumulator: u32,
    /// Stores may come between a copy and the wait for it.
    stores_under_copies: bool,
    /// Instructions that are another one's: an optimiser's.
    replaced: FxHashMap<u32, ptx_frontend::Op>,
    /// Each register has a place of its own, each instruction can be stopped at.
    inspectable: bool,
    /// By instruction: see [`Access::spins`].
    spinning: Vec<bool>,
    /// How registers of a kernel lie.
    strides: Option<Strides<'a>>,
}

/// Bytes between two local variables, so that running over one's end hits nothing.
const LOCAL_GAP: u32 = 16;

impl<'a> Decoder<'a> {
    fn new(
        module: &'a Module,
        id: FuncId,
        function: &'a Function,
        body: &'a Body,
        level: SimdLevel,
        indices: &'a FxHashMap<FuncId, u32>,
        code: &'a mut Code,
        pools: &'a mut Pools,
    ) -> Self {
        let mut locals = FxHashMap::default();
        let mut places = Vec::new();
        let (mut end, mut align) = (0u64, 16u64);
        let mut place = |id: VarId, variable: &Variable| {
            let start = end.checked_next_multiple_of(variable.align.max(4)).unwrap_or(u64::MAX);
            let stop = start.saturating_add(variable.size);
            end = stop.saturating_add(LOCAL_GAP.into());
            align = align.max(variable.align);
            locals.insert(id, cut(start));
            places.push((cut(start), cut(stop), id));
        };
        let is_entry = function.kind == FunctionKind::Entry;
        let formals = function.returns.iter().chain(&function.params).filter(|_| !is_entry);
        for param in formals {
            if let Param::Variable(id) = *param {
                place(id, &module.variables[id.index()]);
            }
        }
        for &id in &function.variables {
            let variable = &module.variables[id.index()];
            if matches!(variable.space, StateSpace::Local | StateSpace::Param) {
                place(id, variable);
            }
        }
        // What has no place is refused when the kernel is launched or the function called.
        let local_bytes = cut(end).min(u32::MAX - 15).next_multiple_of(16);
        let local_align = cut(align).min(1 << 30);
        code.functions.push(CodeFunction {
            id,
            start: code.insts.len() as u32,
            end: 0,
            rows: 0,
            uniform_rows: Vec::new(),
            exposed_rows: Vec::new(),
            exposed_predicates: Vec::new(),
            predicates: 0,
            local_bytes,
            local_align,
            locals: places,
            params: Vec::new(),
            returns: Vec::new(),
            registers: Vec::new(),
        });
        Decoder {
            module,
            function,
            body,
            level,
            indices,
            code,
            pools,
            allocation: Allocation::default(),
            fixed: Fixed::default(),
            locals,
            local_bytes,
            temporaries: 0,
            most_temporaries: 0,
            at: 0,
            converted: FxHashMap::default(),
            accumulators: Accumulators::default(),
            first_accumulator: 0,
            stores_under_copies: false,
            replaced: FxHashMap::default(),
            inspectable: false,
            spinning: Vec::new(),
            strides: None,
        }
    }

    fn run<P: Patience>(mut self, patience: &P) -> Result<(), P::Ended> {
        let flow = Flow::new(self.module, self.body, patience)?;
        let registers = self.function.registers.len();
        let sets = Sets::of(self.module, self.body, &flow, registers, patience)?;
        let live = intervals(self.module, self.body, &flow, registers, sets.as_ref());
        patience.spend(self.body.instructions.len())?;
        self.fixed = self.fixed(&live);
        self.estimate_registers(&flow, sets.as_ref(), patience)?;
        self.accumulators = Accumulators::new(self.module, self.body, &flow, patience)?;
        self.first_accumulator = self.code.accumulators.len() as u32;
        if let Some(&CodeFunction { id, .. }) = self.code.functions.last() {
            self.code.accumulators.extend(self.accumulators.registers.iter().map(|&register| (id, register)));
        }
        self.stores_under_copies = stores_under_copies(self.module, self.body, &flow, patience)?;
        self.code.copies_again |= self.stores_under_copies;
        self.allocation = Allocation::new(self.function, live, &self.fixed.places, self.inspectable);
        // Several warps run compiled code of a kernel's own instructions alone.
        let mut parts = Vec::new();
        if self.code.functions.len() == 1 {
            let divergence = Divergence::new(self.module, self.function, self.body, &flow, patience)?;
            parts = divergence.among(Among::Block, patience)?.parts;
            // Who debugs may give one lane another value.
            if !self.inspectable {
                let uniform = divergence.among(Among::Warp, patience)?;
                self.strides = Some(Strides::new(self.module, self.body, registers, uniform));
            }
        }
        self.spinning = spinning(self.module, self.body);
        let start = self.code.insts.len() as u32;
        let mut position_of_block = vec![u32::MAX; flow.blocks.len()];
        let mut fixups: Vec<(usize, u32)> = Vec::new();
        for (place, &block) in flow.order.iter().enumerate() {
            position_of_block[block as usize] = self.code.insts.len() as u32;
            let Block { start, end, falls_through } = Block::of(&flow, block);
            for index in start..end {
                patience.spend(1)?;
                self.at = index;
                self.temporaries = 0;
                let inst = self.body.instructions[index as usize];
                self.touch(self.guard(&inst));
                let before = self.code.insts.len();
                if let Err(refusal) = self.instruction(&inst) {
                    self.code.insts.truncate(before);
                    self.code.meta.truncate(before);
                    self.refuse(&inst, refusal);
                }
                for at in before..self.code.insts.len() {
                    if let Action::Branch(target) = self.code.insts[at].action {
                        self.code.meta[at].parts = parts.get(index as usize).copied().unwrap_or(false);
                        fixups.push((at, flow.block_of[target as usize]));
                    }
                }
            }
            self.before_branch(position_of_block[block as usize] as usize);
            let next = flow.order.get(place + 1).copied();
            if block as usize + 1 == flow.blocks.len() {
                self.at = self.body.instructions.len() as u32;
                self.emit(Pred::TRUE, Action::Return);
            } else if falls_through && next != Some(block + 1) {
                fixups.push((self.code.insts.len(), block + 1));
                self.emit(Pred::TRUE, Action::Branch(0));
            }
        }
        for (at, block) in fixups {
            if let Action::Branch(target) = &mut self.code.insts[at].action {
                *target = position_of_block[block as usize];
            }
        }
        self.branch_tables(&flow, &position_of_block);
        let params = self.formals(&self.function.params);
        let returns = self.formals(&self.function.returns);
        let end = self.code.insts.len() as u32;
        let rows = self.allocation.rows + self.most_temporaries;
        let predicates = self.allocation.predicates;
        let local_bytes = self.local_bytes;
        let uniform_rows = self.uniform_rows();
        if let Some(function) = self.code.functions.last_mut() {
            *function = CodeFunction {
                start,
                end,
                rows,
                uniform_rows,
                exposed_rows: std::mem::take(&mut self.allocation.exposed_rows),
                exposed_predicates: std::mem::take(&mut self.allocation.exposed_predicates),
                predicates,
                local_bytes,
                local_align: function.local_align,
                params,
                returns,
                locals: std::mem::take(&mut function.locals),
                registers: if self.inspectable { self.allocation.places() } else { Vec::new() },
                id: function.id,
            };
        }
        Ok(())
    }

    /// Rows whose registers are all uniform.
    fn uniform_rows(&self) -> Vec<u32> {
        let Some(strides) = &self.strides else { return Vec::new() };
        let mut uniform = vec![false; self.allocation.rows as usize];
        let mut varies = uniform.clone();
        for id in (0..self.function.registers.len()).map(|index| ptx_frontend::RegId(index as u32)) {
            let RegisterSlot { slot, rows } = self.allocation.slot(id);
            // Some are constants, and nowhere in the frame.
            if !slot.is_frame() {
                continue;
            }
            let of = if strides.has_one_value(id) { &mut uniform } else { &mut varies };
            (slot.row()..slot.row() + u32::from(rows)).for_each(|row| of[row as usize] = true);
        }
        (0..self.allocation.rows).filter(|&row| uniform[row as usize] && !varies[row as usize]).collect()
    }

    /// Marks the lane operation before the branch that ends a block, which starts at `start`: both run
    /// without going through the interpreter's loop in between.
    fn before_branch(&mut self, start: usize) {
        if !self.inspectable
            && let [.., Inst { action: first, .. }, Inst { action: Action::Branch(_), .. }] =
                &mut self.code.insts[start..]
            && let Action::Lanes(run, operands) = *first
        {
            *first = Action::BeforeBranch(run, operands);
        }
    }

    /// Formal parameters of a device function as the callee sees them.
    fn formals(&self, params: &[Param]) -> Vec<ParamSlot> {
        if self.function.kind == FunctionKind::Entry {
            return Vec::new();
        }
        params
            .iter()
            .map(|param| match *param {
                Param::Variable(id) => ParamSlot::Local {
                    offset: self.locals[&id],
                    size: self.module.variables[id.index()].size as u32,
                },
                Param::Register(id) => ParamSlot::Register(self.allocation.slot(id)),
            })
            .collect()
    }

    /// Copies of factors that the sums of a product would find overwritten.
    fn copies(&mut self, to: ptx_frontend::OperandList, from: &[Operand]) {
        let body = self.body;
        for (to, from) in body.elements(to).iter().zip(from) {
            if let (&Operand::Register(to), &Operand::Register(from)) = (to, from) {
                let (to, from) = (self.allocation.slot(to), self.allocation.slot(from));
                self.copy_register(Pred::TRUE, to.rows, to.slot, from.slot);
            }
        }
    }

    fn emit(&mut self, guard: Pred, action: Action) {
        self.code.insts.push(Inst { guard, action });
        let function = self.code.functions.len() as u32 - 1;
        let uniform = self.strides.as_ref().is_some_and(|strides| strides.is_uniform(self.at));
        let instruction = self.at;
        self.code.meta.push(Meta { function, instruction, formula: None, parts: false, uniform });
    }

    /// Says what the lane operation that was emitted last computes.
    fn computes(&mut self, formula: Option<Formula>) {
        if let Some(meta) = self.code.meta.last_mut() {
            meta.formula = formula;
        }
    }

    fn refuse(&mut self, inst: &Instruction, refusal: Refusal) {
        let guard = self.guard(inst);
        let index = self.code.unsupported.len() as u32;
        self.code.unsupported.push(refusal);
        self.emit(guard, Action::Unsupported(index));
    }

    fn guard(&self, inst: &Instruction) -> Pred {
        inst.guard.map_or(Pred::TRUE, |guard| {
            let pred = self.allocation.predicate(guard.register);
            if guard.negated { pred.negate() } else { pred }
        })
    }

    fn instruction(&mut self, inst: &Instruction) -> Result<(), Refusal> {
        let replaced = self.replaced.remove(&self.at);
        let op = replaced.as_ref().unwrap_or(&self.module.ops[inst.op.index()]);
        let operands = self.body.operands(inst);
        // A product that went into its sums.
        if matches!(op.opcode, Opcode::Mul | Opcode::Div) {
            match operands {
                [] => return Ok(()),
                [Operand::Vector(copies), factors @ ..] => {
                    self.copies(*copies, factors);
                    return Ok(());
                }
                _ => {}
            }
        }
        if self.fixed.moves[self.at as usize] {
            self.emit(Pred::TRUE, Action::Nothing);
            return Ok(());
        }
        let guard = self.guard(inst);
        if self.asynchronous(guard, op, operands)? {
            return Ok(());
        }
        match op.opcode {
            Opcode::Testp if inst.guard.is_some() => self.lane_operation(Pred::TRUE, op, operands),
            Opcode::Set if inst.guard.is_some() => self.guarded_set(guard, op, operands),
            Opcode::Ld | Opcode::Ldu => self.load(guard, op, operands),
            Opcode::St => self.store(guard, op, operands),
            Opcode::Atom | Opcode::Red => self.atomic(guard, op, operands),
            Opcode::Multimem => self.multimem(guard, op, operands),
            Opcode::Bra
            | Opcode::Brx
            | Opcode::Call
            | Opcode::Ret
            | Opcode::Exit
            | Opcode::Trap
            | Opcode::Brkpt => self.control(guard, op, operands),
            Opcode::Mov if operands.iter().any(|o| matches!(o, Operand::Vector(_))) => {
                self.vector_move(guard, op, operands)
            }
            Opcode::Mov if self.special_move(guard, op, operands)? => Ok(()),
            _ => {
                if self.synchronisation(guard, op, operands)?
                    || self.matrix(guard, op, operands)?
                    || self.warpgroup(guard, op, operands)?
                    || self.texture(guard, op, operands)?
                    || self.miscellaneous(guard, op, operands)?
                {
                    return Ok(());
                }
                self.lane_operation(guard, op, operands)
            }
        }
    }
}

struct Block {
    start: u32,
    end: u32,
    falls_through: bool,
}

impl Block {
    fn of(flow: &Flow, block: u32) -> Block {
        let block = &flow.blocks[block as usize];
        Block { start: block.start, end: block.end, falls_through: block.falls_through }
    }
}
