//! Function bodies.

use rustc_hash::FxHashSet;
use std::fmt::Write as _;

use super::names::{Names, registers};
use super::{Printer, put};
use crate::module::{
    Address, AddressBase, Body, FuncId, Function, Instruction, Operand, OperandList, Param, ParamLayout,
    Prototype, RegId, RegisterPart,
};
use isa::Opcode;

/// Registers in one `.reg` statement.
const REGISTERS_PER_LINE: usize = 10;

impl<'m> Printer<'m> {
    pub(super) fn body(&mut self, id: FuncId, function: &'m Function, body: &'m Body, names: &Names<'m>) {
        // Some pragmas are allowed as statements only, none before the body of a device function.
        for pragma in &function.tuning.pragmas {
            put!(self.out, "\t.pragma \"{pragma}\";\n");
        }
        self.registers(function, names);
        for &variable in &function.variables {
            self.out.push('\t');
            let variable_data = &self.module.variables[variable.index()];
            debug_assert_eq!(variable_data.owner, Some(id));
            self.variable(variable_data, names.variable(variable, variable_data), Some(names));
        }
        for (at, prototype) in body.prototypes.iter().enumerate() {
            self.prototype(prototype, names.prototype(at));
        }
        for (at, list) in body.branch_targets.iter().enumerate() {
            let labels: Vec<&str> = list.iter().map(|label| names.label(label.index())).collect();
            put!(self.out, "{}: .branchtargets {};\n", names.targets(at), labels.join(", "));
        }
        let mut labels: Vec<(u32, usize)> =
            body.labels.iter().enumerate().map(|(at, label)| (label.target, at)).collect();
        labels.sort_unstable();
        let mut labels = labels.into_iter().peekable();
        let mut location = None;
        for (at, instruction) in body.instructions.iter().enumerate() {
            while let Some((_, label)) = labels.next_if(|&(target, _)| target as usize <= at) {
                put!(self.out, "{}:\n", names.label(label));
            }
            if instruction.location != location
                && let Some(id) = instruction.location
            {
                location = Some(id);
                self.strings.location(&mut self.out, body, id);
            }
            self.instruction(body, instruction, names);
        }
        for (_, label) in labels {
            put!(self.out, "{}:\n", names.label(label));
        }
    }

    /// Declares all registers but those of the parameters.
    fn registers(&mut self, function: &Function, names: &Names<'_>) {
        let all = function.returns.iter().chain(&function.params);
        let params: FxHashSet<u32> =
            all.filter_map(|param| if let Param::Register(id) = param { Some(id.0) } else { None }).collect();
        let mut line = None;
        let mut count = 0;
        for (first, length) in registers(&function.registers).filter(|(first, _)| !params.contains(first)) {
            let ty = function.registers[first as usize].ty;
            let (name, _) = names.whole_register(RegId(first), &function.registers);
            if line == Some((ty, length)) && count < REGISTERS_PER_LINE {
                put!(self.out, ", {name}");
                count += 1;
                continue;
            }
            if line.is_some() {
                self.out.push_str(";\n");
            }
            let _ = match length {
                1 => write!(self.out, "\t.reg {ty} {name}"),
                n => write!(self.out, "\t.reg .v{n} {ty} {name}"),
            };
            line = Some((ty, length));
            count = 1;
        }
        if line.is_some() {
            self.out.push_str(";\n");
        }
    }

    fn prototype(&mut self, prototype: &Prototype, name: &str) {
        if let Some(targets) = &prototype.targets {
            let functions: Vec<&str> =
                targets.iter().map(|id| &*self.module.functions[id.index()].name).collect();
            put!(self.out, "{name}: .calltargets {};\n", functions.join(", "));
            return;
        }
        put!(self.out, "{name}: .callprototype ");
        if !prototype.returns.is_empty() {
            self.layouts(&prototype.returns);
            self.out.push(' ');
        }
        self.out.push_str("_ ");
        self.layouts(&prototype.params);
        self.out.push_str(if prototype.noreturn { " .noreturn;\n" } else { ";\n" });
    }

    fn layouts(&mut self, list: &[ParamLayout]) {
        self.out.push('(');
        for (at, layout) in list.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let _ = match *layout {
                ParamLayout { size: size @ (1 | 2 | 4 | 8), align } if align == size => {
                    write!(self.out, "{comma}.param .b{} _", size * 8)
                }
                ParamLayout { size: 0, align } => write!(self.out, "{comma}.param .align {align} .b8 _[]"),
                ParamLayout { size, align } => write!(self.out, "{comma}.param .align {align} .b8 _[{size}]"),
            };
        }
        self.out.push(')');
    }

    fn instruction(&mut self, body: &Body, instruction: &Instruction, names: &Names<'_>) {
        self.out.push('\t');
        if let Some(guard) = instruction.guard {
            let (name, component) = names.register(guard.register);
            put!(self.out, "@{}{name}{component} ", if guard.negated { "!" } else { "" });
        }
        let op = self.module.op(instruction);
        put!(self.out, "{op}");
        let operands = body.operands(instruction);
        if op.opcode == Opcode::Call {
            self.call(body, operands, names);
        } else {
            for (at, operand) in operands.iter().enumerate() {
                self.out.push_str(if at == 0 { " " } else { ", " });
                self.operand(body, operand, names);
            }
        }
        self.out.push_str(";\n");
    }

    fn call(&mut self, body: &Body, operands: &[Operand], names: &Names<'_>) {
        let mut before = " ";
        for (at, operand) in operands.iter().enumerate() {
            match *operand {
                Operand::Vector(list) if list.len == 0 => {}
                Operand::Vector(list) if at != 1 => {
                    put!(self.out, "{before}(");
                    self.arguments(body, list, names);
                    self.out.push(')');
                    before = ", ";
                }
                _ => {
                    self.out.push_str(before);
                    self.operand(body, operand, names);
                    before = ", ";
                }
            }
        }
    }

    /// As `elements`, with whole vectors for their components.
    fn arguments(&mut self, body: &Body, list: OperandList, names: &Names<'_>) {
        let elements = body.elements(list);
        let mut at = 0;
        while let Some(operand) = elements.get(at) {
            if at > 0 {
                self.out.push_str(", ");
            }
            at += match *operand {
                Operand::Register(id) => {
                    let (name, vector) = names.whole(id);
                    put!(self.out, "{name}");
                    vector as usize
                }
                _ => {
                    self.operand(body, operand, names);
                    1
                }
            };
        }
    }

    fn elements(&mut self, body: &Body, list: OperandList, names: &Names<'_>) {
        for (at, operand) in body.elements(list).iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.operand(body, operand, names);
        }
    }

    fn operand(&mut self, body: &Body, operand: &Operand, names: &Names<'_>) {
        match *operand {
            Operand::Register(id) => self.register(id, names),
            Operand::Negated(id) => {
                let predicate = names.ty(id) == crate::ScalarType::Pred;
                self.out.push(if predicate { '!' } else { '-' });
                self.register(id, names);
            }
            Operand::NegatedPart(id, part) => {
                self.out.push('-');
                self.register(id, names);
                self.part(part);
            }
            Operand::Part(id, part) => {
                self.register(id, names);
                self.part(part);
            }
            Operand::Integer(value) => {
                put!(self.out, "{}", value as i64);
            }
            Operand::F32(bits) => {
                put!(self.out, "0f{bits:08X}");
            }
            Operand::F64(bits) => {
                put!(self.out, "0d{bits:016X}");
            }
            Operand::Special(special) => {
                put!(self.out, "{special}");
            }
            Operand::Variable(id, offset) => {
                self.out.push_str(names.variable(id, &self.module.variables[id.index()]));
                self.offset(offset);
            }
            Operand::Function(id) => self.out.push_str(&self.module.functions[id.index()].name),
            Operand::Vector(list) => {
                self.out.push('{');
                self.elements(body, list, names);
                self.out.push('}');
            }
            Operand::Pair(list) => {
                for (at, operand) in body.elements(list).iter().enumerate() {
                    if at > 0 {
                        self.out.push('|');
                    }
                    self.operand(body, operand, names);
                }
            }
            Operand::Address(address) => {
                self.out.push('[');
                self.address(address, names);
                self.out.push(']');
            }
            Operand::AddressList(list) => {
                self.out.push('[');
                for (at, operand) in body.elements(list).iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(", ");
                    }
                    match *operand {
                        Operand::Address(address) => self.address(address, names),
                        _ => self.operand(body, operand, names),
                    }
                }
                self.out.push(']');
            }
            Operand::Sink => self.out.push('_'),
            Operand::Label(id) => self.out.push_str(names.label(id.index())),
            Operand::BranchTargets(id) => self.out.push_str(names.targets(id.index())),
            Operand::Prototype(id) => self.out.push_str(names.prototype(id.index())),
        }
    }

    fn register(&mut self, id: RegId, names: &Names<'_>) {
        let (name, component) = names.register(id);
        self.out.push_str(name);
        self.out.push_str(component);
    }

    fn offset(&mut self, offset: i64) {
        if offset != 0 {
            put!(self.out, "+{offset}");
        }
    }

    /// An address without its brackets.
    fn address(&mut self, address: Address, names: &Names<'_>) {
        match address.base {
            AddressBase::Register(id) => self.register(id, names),
            AddressBase::Variable(id) => {
                self.out.push_str(names.variable(id, &self.module.variables[id.index()]));
            }
            AddressBase::Absolute => {
                put!(self.out, "{}", address.offset);
                return;
            }
        }
        self.offset(address.offset);
    }

    fn part(&mut self, part: RegisterPart) {
        let _ = match part {
            RegisterPart::Byte(at) => write!(self.out, ".b{at}"),
            RegisterPart::Half(at) => write!(self.out, ".h{at}"),
            RegisterPart::HalfPair(low, high) => write!(self.out, ".h{high}{low}"),
            RegisterPart::BytePermutation([a, b, c, d]) => write!(self.out, ".b{d}{c}{b}{a}"),
            RegisterPart::ByteMask(mask) => {
                self.out.push_str(".b");
                (0..4).rev().filter(|at| mask >> at & 1 != 0).try_for_each(|at| write!(self.out, "{at}"))
            }
        };
    }
}
