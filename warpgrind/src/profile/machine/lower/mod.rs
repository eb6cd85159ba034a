//! Machine code of our own, where NVIDIA's assembler is not there: what each instruction of the PTX is likely made into, in
//! an order that hides latencies, with control information. It is for estimates of time alone; nothing executes it.

mod flow;
mod fuse;
mod merge;
mod pressure;
mod schedule;
mod table;

use std::collections::HashMap;

use ptx_frontend::{
    AddressBase, Body, FuncId, Function, FunctionKind, Instruction as Ptx, Module, Operand, RegId,
};
use timing::code::{Op, PRINTS, Unit};

use super::listing::{Guard, Instruction, Listing};
use super::operands::registers;
use super::spins::prints;
use flow::Region;
use fuse::{Kind, Part};
use pressure::Pressure;
use schedule::{is_late, order};
use table::{Shape, held, is_tried, opcodes};

/// The machine code of a kernel, and of the functions that it calls behind it; nothing if there is no such kernel.
pub fn lower(module: &Module, kernel: &str) -> Option<Listing> {
    let entry = module.kernel(kernel)?;
    let mut order = vec![entry];
    let mut listing = Listing::default();
    let mut starts: HashMap<FuncId, u32> = HashMap::new();
    let mut calls: Vec<(usize, FuncId)> = Vec::new();
    let mut at = 0;
    while let Some(&id) = order.get(at) {
        at += 1;
        let function = &module.functions[id.0 as usize];
        starts.insert(id, listing.instructions.len() as u32);
        let Some(body) = &function.body else { continue };
        for (place, callee) in Lowering::new(module, function, body).run(&mut listing) {
            calls.push((place, callee));
            if !order.contains(&callee) {
                order.push(callee);
            }
        }
    }
    for (place, callee) in calls {
        listing.instructions[place].targets = starts.get(&callee).copied().into_iter().collect();
    }
    Some(listing)
}

/// An instruction before it has its place.
struct Made {
    machine: Instruction,
    reads: Vec<Value>,
    writes: Vec<Value>,
    /// Whether it keeps its place among others of which that is said: memory, barriers, control.
    ordered: Order,
    unit: Unit,
    /// Cycles until what is behind it begins, if nothing passes it.
    hold: u32,
    /// Of a load of shared memory that others may be made one with: its word.
    word: Option<merge::Word>,
    /// What of the PTX it is.
    part: Part,
}

impl Made {
    /// One of control that no register is read or written by.
    fn of_control(machine: Instruction) -> Made {
        Made {
            machine,
            reads: Vec::new(),
            writes: Vec::new(),
            ordered: Order::All,
            unit: Unit::Branch,
            hold: 0,
            word: None,
            part: Part { kind: Kind::Other, group: u32::MAX, said: 0 },
        }
    }
}

/// What may not be exchanged: accesses to one space, of which one writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Free,
    Reads(Space),
    Writes(Space),
    All,
}

/// Memory whose accesses are no concern of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Space {
    Global,
    Shared,
    Local,
}

/// A register, or a value between the instructions that one is made into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Value {
    Register(RegId),
    /// What it is in a turn of an unrolled loop.
    Turn(RegId, u32),
    Between(u32),
    Carry,
}

struct Lowering<'a> {
    module: &'a Module,
    function: &'a Function,
    body: &'a Body,
    between: u32,
    /// Registers that are copies of others: what takes one takes the other.
    copies: HashMap<RegId, RegId>,
    /// By value that comes late: the scoreboard.
    boards: HashMap<Value, u8>,
    next_board: u8,
    predicates: HashMap<RegId, u8>,
    /// Instructions of the PTX so far, those of each turn that is made.
    groups: u32,
    /// Registers that are what the launch was given, and where that lies.
    given: HashMap<RegId, u32>,
}

/// Where what a launch is given begins in the bank of its constants, and what the assembler reads there first.
const GIVEN: u32 = 0x210;
const STACK: &str = "R1, c[0x0][0x28]";

/// Turns of a loop that are made at once, and instructions that it may have for that.
const TURNS: u32 = 4;
const LONGEST: usize = 48;

/// Instructions that are rather guarded than branched around.
const MOST_GUARDED: usize = 6;

/// Marks a target that is the number of a block, and no place of the PTX.
const OWN: u32 = 1 << 31;

/// The number of the block that a target is, by the places at which blocks begin.
fn block_at(target: u32, mut places: impl Iterator<Item = usize>) -> usize {
    if target & OWN != 0 {
        return (target & !OWN) as usize;
    }
    places.position(|at| at as u32 >= target).unwrap_or(usize::MAX)
}

/// The scoreboard of copies from global to shared memory.
const COPIES: u8 = 5;

impl<'a> Lowering<'a> {
    fn new(module: &'a Module, function: &'a Function, body: &'a Body) -> Self {
        Lowering {
            module,
            function,
            body,
            between: 0,
            copies: HashMap::new(),
            boards: HashMap::new(),
            next_board: 0,
            predicates: HashMap::new(),
            groups: 0,
            given: HashMap::new(),
        }
    }

    /// Appends the function; its calls, by place.
    fn run(&mut self, listing: &mut Listing) -> Vec<(usize, FuncId)> {
        let body = self.body;
        let instructions = self.guarded();
        let mut leads = vec![false; body.instructions.len() + 1];
        leads[0] = true;
        let mut blocks: Vec<(usize, Vec<Made>)> = Vec::new();
        for target in instructions.iter().flatten().flat_map(|ptx| self.targets(ptx)) {
            leads[(target as usize).min(body.instructions.len())] = true;
        }
        let mut calls: Vec<(usize, FuncId)> = Vec::new();
        let mut rest = None;
        for (at, ptx) in instructions.iter().enumerate() {
            let Some(ptx) = ptx else {
                // Who comes to a branch that is not there comes to what is behind it.
                leads[at + 1] |= leads[at];
                continue;
            };
            let tried = self.is_tried(ptx);
            if leads[at] || tried || blocks.is_empty() {
                if let Some(end) = self.turns(at, &leads) {
                    self.unroll(at, end, &mut blocks);
                    rest = Some(blocks.len() as u32);
                }
                blocks.push((at, Vec::new()));
            }
            let mut list = self.made(ptx);
            if let Some(back) = list.last_mut().filter(|_| tried) {
                back.machine.guard = Some(Guard { predicate: 6, negated: true });
                back.machine.targets = vec![at as u32];
            }
            if let Some(callee) = self.callee(ptx) {
                calls.push((blocks.len() - 1, callee));
            }
            // What is left of a loop of which four turns are made at once is a loop of its own.
            let own = blocks.len() as u32 - 1;
            if let Some(last) = list.last_mut().filter(|_| rest == Some(own)) {
                last.machine.targets.iter_mut().for_each(|target| *target = OWN | own);
            }
            let ends = list.last().is_some_and(|made| leaves(made.machine.base()));
            if let Some((_, made)) = blocks.last_mut() {
                made.append(&mut list);
            }
            leads[at + 1] |= ends;
        }
        if !blocks.last().is_some_and(|(_, made)| {
            made.last().is_some_and(|made| leaves(made.machine.base()) && made.machine.guard.is_none())
        }) {
            let end = if self.is_kernel() { "EXIT" } else { "RET.REL.NODEC" };
            let end = Made::of_control(instruction(self.line(None), None, end));
            blocks.push((body.instructions.len(), vec![end]));
        }
        let carried = fuse::carried(&blocks);
        blocks.iter_mut().for_each(|(_, made)| fuse::fuse(made, &carried));
        let mut multiples = merge::Multiples::new(self.module, body);
        blocks.iter_mut().for_each(|(_, made)| merge::merge(made, &mut multiples));
        self.converge(&mut blocks);
        self.assign_boards(&blocks);
        let widths = self.function.registers.iter().map(|register| pressure::width(register.ty)).collect();
        let pressure = Pressure::new(widths, &blocks, &next_of(&blocks));
        // Where each instruction of the PTX begins, as far as blocks do.
        let mut starts: Vec<(usize, u32)> = Vec::new();
        let first = listing.instructions.len();
        let mut found = Vec::new();
        if self.is_kernel() {
            let stack = instruction(self.line(None), None, "LDC");
            let stack = Instruction { operands: STACK.into(), control: schedule::NO_WAIT, ..stack };
            listing.instructions.push(stack);
        }
        for (number, (at, made)) in blocks.into_iter().enumerate() {
            starts.push((at, listing.instructions.len() as u32));
            let call = calls.iter().find(|(block, _)| *block == number);
            let own = schedule::scheduled(made, &self.boards, &pressure, number);
            listing.instructions.extend(own);
            if let Some((_, callee)) = call {
                found.push((listing.instructions.len() - 1, *callee));
            }
        }
        let last = listing.instructions.len() as u32 - 1;
        for of in &mut listing.instructions[first..] {
            for target in &mut of.targets {
                let block = block_at(*target, starts.iter().map(|(at, _)| *at));
                *target = starts.get(block).map_or(last, |(_, start)| *start);
            }
        }
        found
    }

    fn is_kernel(&self) -> bool {
        self.function.kind == FunctionKind::Entry
    }

    fn line(&self, ptx: Option<&Ptx>) -> u32 {
        let Some(ptx) = ptx else { return 0 };
        let source = &self.module.sources[self.function.source.0 as usize];
        source.line_column(ptx.span.start).0
    }

    /// Whether an instruction is made into a loop.
    fn is_tried(&self, ptx: &Ptx) -> bool {
        is_tried(&self.module.op(ptx).to_string())
    }

    /// The function that an instruction calls, if its body is there.
    fn callee(&self, ptx: &Ptx) -> Option<FuncId> {
        self.called(ptx).filter(|id| self.module.functions[id.0 as usize].body.is_some())
    }

    fn called(&self, ptx: &Ptx) -> Option<FuncId> {
        let mut functions = self.body.operands(ptx).iter().filter_map(|operand| match operand {
            Operand::Function(id) => Some(*id),
            _ => None,
        });
        functions.next_back().filter(|_| self.module.op(ptx).opcode.text() == "call")
    }

    fn registers(&self, operand: &Operand, into: &mut Vec<Value>) {
        registers(self.body, operand, &mut |id| into.push(Value::Register(id)));
    }

    /// What an instruction is made into.
    fn made(&mut self, ptx: &Ptx) -> Vec<Made> {
        let op = self.module.op(ptx);
        let text = op.to_string();
        let operands = self.body.operands(ptx);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (at, operand) in operands.iter().enumerate() {
            let list = if op.effects.writes_operand(at) { &mut writes } else { &mut reads };
            self.registers(operand, list);
        }
        if op.effects.accumulates() {
            reads.extend(writes.iter().copied());
        }
        if op.effects.reads_carry() {
            reads.push(Value::Carry);
        }
        if op.effects.writes_carry() {
            writes.push(Value::Carry);
        }
        let line = self.line(Some(ptx));
        let guard = ptx.guard.map(|guard| {
            reads.push(Value::Register(guard.register));
            let next = self.predicates.len() as u8 % 7;
            let predicate = *self.predicates.entry(guard.register).or_insert(next);
            Guard { predicate, negated: guard.negated }
        });
        let elements = operands.iter().find_map(|operand| match operand {
            Operand::Vector(list) => Some(self.body.elements(*list).len() as u32),
            _ => None,
        });
        let special = operands.iter().any(|operand| matches!(operand, Operand::Special(_)));
        let constant = operands.iter().skip(1).any(|operand| matches!(operand, Operand::Integer(_)));
        let shape = Shape {
            kernel: self.is_kernel(),
            elements: elements.unwrap_or(1),
            special,
            work: op.effects.work(),
            constant,
        };
        // What others have, as `printf`, is no part of it.
        let foreign = self.called(ptx).is_some() && self.callee(ptx).is_none();
        let mut opcodes = if foreign { vec!["NOP".into()] } else { opcodes(&text, &shape) };
        for value in &mut reads {
            if let Value::Register(id) = value {
                *value = Value::Register(self.copies.get(id).copied().unwrap_or(*id));
            }
        }
        for value in &writes {
            if let Value::Register(id) = value {
                self.copies.remove(id);
            }
        }
        if opcodes.is_empty() && guard.is_some() && !writes.is_empty() {
            opcodes.push("MOV".into());
        }
        if opcodes.is_empty() {
            if let ([Value::Register(to)], [Value::Register(from), ..]) = (&writes[..], &reads[..]) {
                self.copies.insert(*to, *from);
            }
            self.note_given(&text, operands, &writes);
            return Vec::new();
        }
        self.groups += 1;
        let part = Part::of(&text, operands, self.groups);
        let given = reads.iter().find_map(|value| match value {
            Value::Register(id) => self.given.get(id).copied(),
            _ => None,
        });
        let count = opcodes.len();
        let mut list = Vec::with_capacity(count);
        let mut before: Option<Value> = None;
        for (at, opcode) in opcodes.into_iter().enumerate() {
            let last = at + 1 == count;
            let (opcode, hold) = held(&opcode);
            let mut machine = instruction(line, guard, opcode);
            self.fill(&mut machine, &text, ptx);
            if foreign && self.called(ptx).is_some_and(|id| prints(&self.module.functions[id.0 as usize])) {
                machine.operands = PRINTS.into();
            }
            if let Some(offset) = given.filter(|_| at == 0 && takes_constant(&machine)) {
                machine.operands = format!("c[0x0][{:#x}]", GIVEN + offset);
            }
            let own: Vec<Value> = if last {
                writes.clone()
            } else {
                self.between += 1;
                vec![Value::Between(self.between)]
            };
            let mut of: Vec<Value> = before.into_iter().collect();
            if at == 0 || last {
                of.extend(reads.iter().copied());
            }
            before = own.first().copied();
            let unit = Op::new(opcode, "", 0).unit;
            let base = |id| Value::Register(self.copies.get(&id).copied().unwrap_or(id));
            let word = merge::word(&text, operands, base).filter(|_| count == 1);
            list.push(Made {
                ordered: order(&machine),
                machine,
                reads: of,
                writes: own,
                unit,
                hold,
                word,
                part,
            });
        }
        list
    }

    /// Notes what registers take of what the launch was given.
    fn note_given(&mut self, text: &str, operands: &[Operand], writes: &[Value]) {
        if !(self.is_kernel() && text.starts_with("ld.param")) {
            return;
        }
        let given = |operand: &Operand| match operand {
            Operand::Address(of) => match of.base {
                AddressBase::Variable(id) => {
                    Some(self.module.variables[id.0 as usize].offset as u32 + of.offset as u32)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(offset) = operands.iter().find_map(given) else { return };
        for value in writes {
            if let Value::Register(id) = value {
                self.given.insert(*id, offset);
            }
        }
    }

    /// Where a branch may lead, as positions of the PTX.
    fn targets(&self, ptx: &Ptx) -> Vec<u32> {
        let place = |label: &ptx_frontend::LabelId| self.body.labels[label.0 as usize].target;
        let of = |operand: &Operand| match operand {
            Operand::Label(label) => vec![place(label)],
            Operand::BranchTargets(list) => {
                self.body.branch_targets[list.0 as usize].iter().map(place).collect()
            }
            _ => Vec::new(),
        };
        self.body.operands(ptx).iter().flat_map(of).collect()
    }

    /// The instructions. The few that a branch leads around have its predicate for a guard, and the branch is not there.
    fn guarded(&self) -> Vec<Option<Ptx>> {
        let all = &self.body.instructions;
        let mut made: Vec<Option<Ptx>> = all.iter().copied().map(Some).collect();
        let mut lead = vec![false; all.len() + 1];
        for target in all.iter().flat_map(|ptx| self.targets(ptx)) {
            lead[(target as usize).min(all.len())] = true;
        }
        let stays = |ptx: &Ptx| {
            let name = self.module.op(ptx).opcode.text();
            ptx.guard.is_some()
                || self.is_tried(ptx)
                || matches!(name, "bra" | "brx" | "call" | "ret" | "exit" | "bar" | "barrier" | "trap")
        };
        for (at, ptx) in all.iter().enumerate() {
            let targets = self.targets(ptx);
            let (Some(guard), &[target]) = (ptx.guard, &targets[..]) else { continue };
            let around = at + 1..target as usize;
            let few = !around.is_empty() && around.len() <= MOST_GUARDED && around.end <= all.len();
            if !few || around.clone().any(|at| lead[at] || stays(&all[at])) {
                continue;
            }
            made[at] = None;
            let guard = ptx_frontend::Guard { negated: !guard.negated, ..guard };
            for ptx in made[around].iter_mut().flatten() {
                ptx.guard = Some(guard);
            }
        }
        made
    }

    /// Operands on which time depends, and targets of branches as positions of the PTX.
    fn fill(&self, machine: &mut Instruction, text: &str, ptx: &Ptx) {
        let operands = self.body.operands(ptx);
        let number = |at: usize| match operands.get(at) {
            Some(Operand::Integer(number)) => Some(*number),
            _ => None,
        };
        match machine.base() {
            "BAR" => {
                let threads = number(1).map_or(String::new(), |threads| format!(",{threads:#x}"));
                machine.operands = format!("{:#x}{threads}", number(0).unwrap_or(0));
            }
            "DEPBAR" => {
                let most = if text.contains("wait_all") { 0 } else { number(0).unwrap_or(0) };
                machine.operands = format!("SB{COPIES},{most:#x}");
            }
            "BRA" | "BRX" => machine.targets.extend(self.targets(ptx)),
            _ => {}
        }
    }

    /// Where a loop of one block ends that begins at a place, if it is one of which several turns are made at once.
    fn turns(&self, first: usize, leads: &[bool]) -> Option<usize> {
        let body = self.body;
        for (at, ptx) in body.instructions.iter().enumerate().skip(first).take(LONGEST) {
            let op = self.module.op(ptx);
            let operands = body.operands(ptx);
            match op.opcode.text() {
                "bra" => {
                    let [Operand::Label(label)] = operands else { return None };
                    let back = body.labels[label.0 as usize].target as usize == first;
                    return (back && self.is_counted(first, at)).then_some(at);
                }
                "call" | "brx" | "ret" | "exit" | "bar" | "barrier" => return None,
                // What calls a function in machine code.
                "div" | "rem" | "sqrt" | "rcp"
                    if op.to_string().contains(".rn") || op.to_string().ends_with("64") =>
                {
                    return None;
                }
                _ if self.is_tried(ptx) => return None,
                _ if at > first && leads[at] => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether a loop goes on until what it steps through by a constant is at its end, so that it is known how many turns are left,
    /// and its text does not say that it is to be left as it is (`testdata/timing/recordings/unrolled.txt`).
    fn is_counted(&self, first: usize, end: usize) -> bool {
        let body = self.body;
        let turn = &body.instructions[first..=end];
        let before = first.checked_sub(1).map_or(turn[0].span.start, |at| body.instructions[at].span.end);
        let text = &self.module.sources[self.function.source.0 as usize].text;
        let said = text.get(before as usize..turn[turn.len() - 1].span.start as usize).unwrap_or("");
        if said.contains("\"nounroll\"") {
            return false;
        }
        let writer = |register: RegId| {
            let writes = |ptx: &&Ptx| matches!(body.operands(ptx).first(), Some(Operand::Register(own)) if *own == register);
            turn.iter().rev().find(writes)
        };
        let Some(guard) = turn[turn.len() - 1].guard else { return false };
        let Some(compares) = writer(guard.register) else { return false };
        let steps = |operand: &Operand| {
            let Operand::Register(register) = operand else { return false };
            // What is stepped may have a name for each turn.
            let copied = |ptx: &Ptx| match body.operands(ptx) {
                [_, Operand::Register(from)] if self.module.op(ptx).opcode.text() == "mov" => Some(*from),
                _ => None,
            };
            let by = writer(*register).and_then(|ptx| copied(ptx).map_or(Some(ptx), writer));
            by.is_some_and(|ptx| {
                matches!(self.module.op(ptx).opcode.text(), "add" | "sub")
                    && matches!(body.operands(ptx), [_, Operand::Register(_), Operand::Integer(_)])
            })
        };
        self.module.op(compares).opcode.text() == "setp" && body.operands(compares).iter().skip(1).any(steps)
    }

    /// A loop whose turns are made four at once as long as there are so many; what is left follows behind.
    fn unroll(&mut self, first: usize, end: usize, blocks: &mut Vec<(usize, Vec<Made>)>) {
        let body = self.body;
        let branch = |target: u32, line: u32| {
            let guard = Some(Guard { predicate: 6, negated: false });
            let machine = Instruction { targets: vec![target], ..instruction(line, guard, "BRA") };
            Made::of_control(machine)
        };
        let number = blocks.len() as u32;
        let (all, rest) = (OWN | (number + 1), OWN | (number + 3));
        let turn = &body.instructions[first..=end];
        let condition = turn.last().and_then(|branch| branch.guard).map(|guard| guard.register);
        let writes = |ptx: &Ptx, register: RegId| matches!(body.operands(ptx).first(), Some(Operand::Register(own)) if *own == register);
        // What counts turns, or steps through memory, does so once for all of them.
        let steps = |ptx: &Ptx| {
            let [Operand::Register(to), Operand::Register(from), Operand::Integer(_)] = body.operands(ptx)
            else {
                return false;
            };
            let back = |other: &Ptx| {
                self.module.op(other).opcode.text() == "mov"
                    && matches!(body.operands(other), [Operand::Register(a), Operand::Register(b)] if a == from && b == to)
            };
            self.module.op(ptx).opcode.text() == "add" && (to == from || turn.iter().any(back))
        };
        let once: Vec<bool> = turn
            .iter()
            .map(|ptx| steps(ptx) || condition.is_some_and(|register| writes(ptx, register)))
            .collect();
        let mut made = Vec::new();
        let mut known: HashMap<RegId, u32> = HashMap::new();
        for number in 0..TURNS {
            let last = number + 1 == TURNS;
            for (ptx, once) in turn.iter().zip(&once) {
                if !last && (*once || self.module.op(ptx).opcode.text() == "bra") {
                    continue;
                }
                let mut list = self.made(ptx);
                for of in &mut list {
                    let base = of.word.as_mut().map(merge::Word::base_mut);
                    for value in of.reads.iter_mut().chain(base) {
                        if let Value::Register(id) = value
                            && let Some(&turn) = known.get(id)
                        {
                            *value = Value::Turn(*id, turn);
                        }
                    }
                }
                for value in list.iter_mut().flat_map(|of| &mut of.writes) {
                    if let Value::Register(id) = *value {
                        if last {
                            known.remove(&id);
                        } else {
                            known.insert(id, number);
                            *value = Value::Turn(id, number);
                        }
                    }
                }
                made.append(&mut list);
            }
        }
        if let Some(back) = made.last_mut().filter(|made| made.machine.base() == "BRA") {
            back.machine.targets = vec![all];
        }
        blocks.push((first, vec![branch(rest, 0)]));
        blocks.push((first, made));
        blocks.push((first, vec![branch(end as u32 + 1, 0)]));
    }

    /// Adds the barriers at which lanes come together that part at branches.
    fn converge(&self, blocks: &mut [(usize, Vec<Made>)]) {
        let next = next_of(blocks);
        let parts: Vec<bool> = blocks
            .iter()
            .zip(&next)
            .map(|((_, made), next)| {
                let conditional = made
                    .last()
                    .is_some_and(|last| last.machine.guard.is_some() || last.machine.base() == "BRX");
                conditional && next.len() > 1
            })
            .collect();
        for (number, Region { from, to }) in flow::regions(&next, &parts).into_iter().enumerate() {
            let operands = format!("B{}", number % 16);
            let make = |base: &str| {
                let machine = Instruction { operands: operands.clone(), ..instruction(0, None, base) };
                Made::of_control(machine)
            };
            let made = &mut blocks[from].1;
            let end = made.len() - usize::from(made.last().is_some_and(|made| leaves(made.machine.base())));
            made.insert(end, make("BSSY"));
            blocks[to].1.insert(0, make("BSYNC"));
        }
    }

    /// Results that come late get scoreboards, in turn.
    fn assign_boards(&mut self, blocks: &[(usize, Vec<Made>)]) {
        for made in blocks.iter().flat_map(|(_, made)| made).filter(|made| is_late(made.unit)) {
            let Some(&first) = made.writes.first() else { continue };
            let board = match self.boards.get(&first) {
                Some(&board) => board,
                None => {
                    self.next_board = (self.next_board + 1) % COPIES;
                    self.next_board
                }
            };
            made.writes.iter().for_each(|&value| {
                self.boards.insert(value, board);
            });
        }
    }
}

/// The blocks that each may go on at.
fn next_of(blocks: &[(usize, Vec<Made>)]) -> Vec<Vec<usize>> {
    let end = blocks.len() - 1;
    let block_of = |place: u32| block_at(place, blocks.iter().map(|(at, _)| *at)).min(end);
    let next = blocks.iter().enumerate().map(|(at, (_, made))| {
        let Some(last) = made.last().map(|made| &made.machine) else { return vec![(at + 1).min(end)] };
        let through = (at < end).then_some(at + 1);
        let mut next: Vec<usize> = match last.base() {
            "BRA" | "BRX" => last.targets.iter().map(|&place| block_of(place)).collect(),
            "EXIT" | "RET" => Vec::new(),
            _ => through.into_iter().collect(),
        };
        next.extend(through.filter(|_| last.guard.is_some()));
        next.dedup();
        next
    });
    next.collect()
}

fn instruction(line: u32, guard: Option<Guard>, opcode: &str) -> Instruction {
    Instruction {
        line,
        guard,
        opcode: opcode.to_owned(),
        operands: String::new(),
        targets: Vec::new(),
        control: 0,
    }
}

/// Whether an operand may be a constant of the launch without further ado.
fn takes_constant(machine: &Instruction) -> bool {
    machine.operands.is_empty()
        && !matches!(machine.base(), "LDL" | "STL" | "BAR" | "DEPBAR" | "BRA" | "BRX" | "S2R")
}

/// Whether control may go elsewhere behind it.
fn leaves(base: &str) -> bool {
    matches!(base, "BRA" | "BRX" | "EXIT" | "RET" | "CALL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<80>; .reg .b64 %rd<8>;\n{body}\nret;\n}}"
        );
        let module = crate::Module::from_ptx("k.ptx", &text).expect("right PTX");
        let listing = lower(module.checked(), "k").expect("a kernel");
        // All kernels begin alike.
        let text = |of: &Instruction| {
            let to: Vec<String> = of.targets.iter().map(|to| format!(" {}", to - 1)).collect();
            format!("{}{}", of.opcode, to.concat())
        };
        assert_eq!(listing.instructions[0].opcode, "LDC");
        listing.instructions[1..].iter().map(text).collect()
    }

    #[test]
    fn one_takes_in_another_that_nobody_else_wants() {
        let given = "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;";
        let of = |body: &str| {
            let all = lowered(&format!("{given} {body}"));
            let own = all.into_iter().filter(|of| !matches!(&**of, "S2R" | "STG.E" | "EXIT"));
            own.collect::<Vec<_>>()
        };
        let place = "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;";
        assert_eq!(of(place), ["IMAD.WIDE"]);
        // Its place is wanted, too.
        let twice = format!("{place} st.global.u64 [%rd3+8], %rd2;");
        assert_eq!(of(&twice).len(), 4, "{:?}", of(&twice));
        let last = "st.global.u32 [%rd1], %r5;";
        let word = |body: &str| of(&format!("{body} {last}"));
        assert_eq!(word("and.b32 %r4, %r1, %r2; xor.b32 %r5, %r4, %r3;"), ["LOP3.LUT"]);
        assert_eq!(word("and.b32 %r4, %r1, 255; xor.b32 %r5, %r4, 7;").len(), 2, "two numbers");
        assert_eq!(word("shl.b32 %r4, %r1, 3; add.u32 %r5, %r4, %r2;"), ["IADD3"]);
        assert_eq!(word("add.u32 %r4, %r1, %r3; add.u32 %r5, %r4, %r2;"), ["IADD3"]);
        assert_eq!(word("mul.lo.u32 %r4, %r1, %r3; add.u32 %r5, %r4, %r2;"), ["IMAD"]);
        assert_eq!(word("add.u32 %r4, %r1, %r3; add.u32 %r1, %r1, 1; add.u32 %r5, %r4, %r1;").len(), 3);
        let both = "setp.lt.u32 %p1, %r1, 9; setp.gt.u32 %p2, %r2, 7; and.pred %p3, %p1, %p2; selp.u32 %r5, %r1, %r2, %p3;";
        assert_eq!(word(both), ["ISETP", "ISETP", "SEL"]);
        assert_eq!(
            of("neg.f32 %f1, %f2; fma.rn.f32 %f3, %f1, %f4, %f5; st.global.f32 [%rd1], %f3;"),
            ["FFMA"]
        );
    }

    #[test]
    fn what_a_launch_is_given_is_a_constant() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n) {\n\
                    .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];\n\
                    add.u32 %r2, %r1, 5; st.global.u32 [%rd1], %r2; ret;\n}";
        let module = crate::Module::from_ptx("k.ptx", text).expect("right PTX");
        let listing = lower(module.checked(), "k").expect("a kernel");
        let constants: Vec<&str> = listing.instructions.iter().map(|of| &*of.operands).collect();
        assert_eq!(constants, [STACK, "c[0x0][0x218]", "c[0x0][0x210]", ""]);
    }

    #[test]
    fn loads_come_before_what_takes_them() {
        let body = "ld.param.u64 %rd1, [a]; ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1;\n\
                    ld.global.f32 %f3, [%rd1+4]; add.f32 %f4, %f3, %f2; st.global.f32 [%rd1+8], %f4;\n\
                    ld.global.f32 %f5, [%rd1+12]; st.global.f32 [%rd1+16], %f5;";
        let all = ["LDG.E", "LDG.E", "FADD", "FADD", "STG.E", "LDG.E", "STG.E", "EXIT"];
        assert_eq!(lowered(body), all);
    }

    #[test]
    fn loads_begin_early_as_long_as_there_is_room() {
        let of = |ty: &str, width: usize| {
            let each = |number: usize| {
                format!(
                    "ld.global.{ty} %{ty}{number}, [%rd1+{}]; add.{ty} %{ty}0, %{ty}0, %{ty}{number};\n",
                    8 * number
                )
            };
            let all: String = (1..60).map(each).collect();
            let registers = if ty == "f64" { ".reg .f64 %f64<80>;" } else { ".reg .f32 %f32<80>;" };
            let found = lowered(&format!(
                "{registers} ld.param.u64 %rd1, [a];\n{all} st.global.{ty} [%rd1], %{ty}0;"
            ));
            let first = found.iter().position(|of| of.contains("ADD")).expect("a sum");
            // A load follows each sum that takes the result of one.
            let loads = found[first..].iter().skip(1).step_by(2).take(20).all(|of| of.starts_with("LDG"));
            assert!(loads, "{found:?}");
            found[..first].iter().filter(|of| of.starts_with("LDG")).count() * width
        };
        for taken in [of("f32", 1), of("f64", 2)] {
            assert!((20..=pressure::ROOM as usize).contains(&taken), "{taken}");
        }
    }

    #[test]
    fn nothing_passes_what_a_rounded_root_branches_over() {
        let body = "ld.param.u64 %rd1, [a]; sqrt.rn.f32 %f2, %f1; ld.global.f32 %f3, [%rd1]; sqrt.rn.f32 %f4, %f3;\n\
                    sqrt.approx.f32 %f5, %f1; st.global.f32 [%rd1], %f4;";
        let found = lowered(body);
        let tests: Vec<usize> = (0..found.len()).filter(|&at| found[at] == "ISETP").collect();
        let load = found.iter().position(|of| of == "LDG.E").expect("a load");
        assert!(tests.len() == 2 && tests[0] < load && load < tests[1], "{found:?}");
    }

    #[test]
    fn words_beside_each_other_are_loaded_at_once() {
        let loads = |base: &str| {
            let body = format!(
                "mov.u32 %r1, %tid.x; {base} ld.shared.f32 %f1, [%r2+16]; ld.shared.f32 %f2, [%r2+20]; add.f32 %f9, %f1, %f2;\n\
                 ld.shared.f32 %f3, [%r2+24]; ld.shared.f32 %f4, [%r2+28]; ld.shared.f32 %f5, [%r2+32];\n\
                 ld.shared.f32 %f6, [%r2+36]; st.shared.f32 [%r2], %f9; ld.shared.f32 %f7, [%r2+40];"
            );
            let all = lowered(&body).into_iter().filter(|of| of.starts_with("LDS"));
            all.collect::<Vec<_>>()
        };
        assert_eq!(loads("shl.b32 %r2, %r1, 5;"), ["LDS.128", "LDS.64", "LDS.E"]);
        assert_eq!(loads("mad.lo.u32 %r2, %r1, 24, 64;"), ["LDS.64", "LDS.64", "LDS.64", "LDS.E"]);
        // Nothing says that four bytes are not the most that it is a multiple of.
        assert_eq!(loads("shl.b32 %r2, %r1, 2;"), ["LDS.E"; 7]);
    }

    #[test]
    fn turns_of_a_loop_are_made_four_at_once() {
        let body = "mov.u32 %r1, 0; mov.f32 %f1, 0f00000000;\n\
                    again: mul.f32 %f1, %f1, %f1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra again;";
        let all = lowered(body);
        // One branch leads to what is left, one back to the four, one past what is left, which has its own.
        let branches: Vec<&str> =
            all.iter().filter(|opcode| opcode.starts_with("BRA")).map(|opcode| &**opcode).collect();
        let turn = |opcode: &str| all.iter().filter(|own| *own == opcode).count();
        assert_eq!((turn("FMUL"), turn("ISETP"), turn("BSSY"), turn("BSYNC")), (5, 2, 2, 2), "{all:?}");
        assert_eq!(branches, ["BRA 12", "BRA 3", "BRA 16", "BRA 12"], "{all:?}");
        // Not where that is said, or how many turns are left is not known, or a function is called.
        let compares = |body: &str| lowered(body).iter().filter(|opcode| *opcode == "ISETP").count();
        for other in [
            body.replace("again:", "again: .pragma \"nounroll\";"),
            body.replace("add.u32 %r1, %r1, 1;", "add.u32 %r1, %r1, %r2;"),
            body.replace("setp.lt.u32 %p1, %r1, 100;", "add.u32 %r3, %r1, %r2; setp.lt.u32 %p1, %r3, 100;"),
        ] {
            assert_eq!(compares(&other), 1, "{other}");
        }
        // A quotient has a comparison of its own.
        assert_eq!(compares(&body.replace("again:", "again: div.rn.f32 %f2, %f2, %f1;")), 2);
        let copied = body.replace("add.u32 %r1, %r1, 1;", "add.u32 %r2, %r1, 1; mov.u32 %r1, %r2;");
        assert_eq!(compares(&copied), 2);
    }

    #[test]
    fn loads_that_few_branch_around_begin_together() {
        let body = "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;\n\
                    ld.global.f32 %f1, [%rd1]; @%p1 bra one; ld.global.f32 %f1, [%rd1+4]; one: st.shared.f32 [%rd1], %f1;\n\
                    ld.global.f32 %f2, [%rd1+8]; @!%p1 bra two; ld.global.f32 %f2, [%rd1+12]; two: st.shared.f32 [%rd1+4], %f2;";
        let found = lowered(body);
        let last_load = found.iter().rposition(|opcode| opcode.starts_with("LDG"));
        assert!(last_load < found.iter().position(|opcode| opcode.starts_with("STS")), "{found:?}");
        assert!(!found.iter().any(|opcode| opcode.starts_with("BRA")), "{found:?}");
    }

    #[test]
    fn sums_in_memory_say_of_what_they_are() {
        let body = "ld.param.u64 %rd1, [a]; red.global.add.f32 [%rd1], %f1; red.global.add.u32 [%rd1], %r1;\n\
                    red.global.add.u64 [%rd1], %rd1; red.global.add.f64 [%rd1], 0d3FF0000000000000;";
        let sums: Vec<String> =
            lowered(body).into_iter().filter(|opcode| opcode.starts_with("RED")).collect();
        let of = |ty: &str| format!("RED.E.ADD{ty}.STRONG.GPU");
        assert_eq!(sums, [".F32.FTZ.RN", "", ".64", ".F64.RN"].map(of));
    }

    #[test]
    fn sums_of_floats_in_shared_memory_are_tried_again() {
        let body = "mov.u32 %r1, %tid.x; mul.lo.u32 %r1, %r1, 4; red.shared.add.f32 [%r1], %f1; atom.shared.add.u32 %r2, [%r1], 3;\n\
                    mul.lo.u32 %r3, %r2, %r2;";
        let all = [
            "S2R",
            "BSSY",
            "IMAD",
            "LDS",
            "FADD",
            "ATOMS.CAST.SPIN",
            "ISETP",
            "BRA 3",
            "BSYNC",
            "ATOMS.ADD",
            "IMAD",
            "EXIT",
        ];
        assert_eq!(lowered(body), all);
    }

    #[test]
    fn who_jumps_to_a_branch_that_is_guarded_away_comes_behind_it() {
        let body = format!(
            "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra one; {} one: @%p1 bra two; add.u32 %r3, %r1, 2;\n\
             two: mul.lo.u32 %r4, %r1, %r1;",
            "add.u32 %r2, %r1, 1;".repeat(MOST_GUARDED + 1)
        );
        let found = lowered(&body);
        let branch = found.iter().find_map(|of| of.strip_prefix("BRA ")).expect("a branch");
        let behind: Vec<&str> =
            found[branch.parse::<usize>().expect("a place")..].iter().map(|of| &**of).collect();
        assert_eq!(behind, ["BSYNC", "IADD3", "IMAD", "EXIT"]);
    }

    #[test]
    fn lanes_that_leave_an_unrolled_loop_come_together_behind_it() {
        // Between the loop and the end of all there is a barrier for those that are there first.
        let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, 0;\n\
                    again: mul.lo.u32 %r1, %r1, %r1; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra again;\n\
                    mul.lo.u32 %r4, %r1, %r1; setp.eq.u32 %p2, %r4, 0; @%p2 bra out; bar.sync 0; out: add.u32 %r5, %r4, 1;";
        let found = lowered(body);
        let place = |text: &str| found.iter().position(|of| of.starts_with(text));
        let (sync, barrier) = (place("BSYNC").expect("one"), place("BAR").expect("one"));
        assert!(sync < barrier, "{found:?}");
    }

    #[test]
    fn lanes_come_together_behind_a_branch() {
        let around = |body: &str| {
            lowered(&format!(
                "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra one; {body} one: mul.lo.u32 %r3, %r2, 2;"
            ))
        };
        // A few are guarded instead.
        let add = "add.u32 %r2, %r1, 1;";
        assert_eq!(around(add), ["S2R", "ISETP", "IADD3", "IMAD", "EXIT"]);
        let adds = add.repeat(MOST_GUARDED + 1);
        let found: Vec<String> = around(&adds);
        let mut all = vec!["S2R", "BSSY", "ISETP", "BRA 11"];
        all.extend(vec!["IADD3"; MOST_GUARDED + 1]);
        all.extend(["BSYNC", "IMAD", "EXIT"]);
        let mut sorted = (found.clone(), all.iter().map(|&opcode| opcode.to_owned()).collect::<Vec<_>>());
        sorted.0[..3].sort();
        sorted.1[..3].sort();
        assert_eq!(sorted.0, sorted.1);
    }
}
