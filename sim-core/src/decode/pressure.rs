//! How many registers a thread ptxas would take: an estimate, from what lives at once.

use ptx_frontend::{Body, FuncId, Function, Instruction, Module, Opcode, Operand, Param, RegId, ScalarType};

use super::flow::Flow;
use super::liveness::{Block, Sets, Uses};
use super::patience::Patience;
use super::{Decoder, rows_of};

/// What ptxas takes beyond the values of the PTX, as is usual: the stack's address, parts of addresses, and loads that it puts
/// earlier.
const BEYOND: u32 = 6;
/// Registers at least, where calls remain: those that a callee may overwrite, and where it returns to.
const WITH_CALLS: u32 = 24;

/// Registers that may hold something, by what instructions need.
struct Counted {
    live: Vec<u64>,
    /// Registers of 32 bits, by register.
    rows: Vec<u8>,
    now: u32,
    most: u32,
}

impl Counted {
    fn begin(&mut self, live: &[u64]) {
        self.live.fill(0);
        self.now = 0;
        for (word, &bits) in live.iter().enumerate() {
            let mut rest = bits;
            while rest != 0 {
                self.set(64 * word + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    fn set(&mut self, register: usize) {
        let (word, bit) = (register / 64, 1u64 << (register % 64));
        if self.live[word] & bit == 0 {
            self.live[word] |= bit;
            self.now += u32::from(self.rows[register]);
        }
    }

    fn clear(&mut self, register: usize) {
        let (word, bit) = (register / 64, 1u64 << (register % 64));
        if self.live[word] & bit != 0 {
            self.live[word] &= !bit;
            self.now -= u32::from(self.rows[register]);
        }
    }

    fn look(&mut self) {
        self.most = self.most.max(self.now);
    }
}

/// The registers that the values of a function need at its fullest place, but for those that are `free`: parameters and
/// constants, which machine code reads where they lie. Without `sets` nothing is known, and all may live at once.
fn pressure<P: Patience>(
    module: &Module,
    function: &Function,
    body: &Body,
    flow: &Flow,
    sets: Option<&Sets>,
    free: impl Fn(usize) -> bool,
    patience: &P,
) -> Result<u32, P::Ended> {
    let rows = |(register, ty): (usize, ScalarType)| match ty {
        ScalarType::Pred => 0,
        _ if free(register) => 0,
        ty => rows_of(ty),
    };
    let mut rows: Vec<u8> =
        function.registers.iter().map(|register| register.ty).enumerate().map(rows).collect();
    // Register parameters are held from the outside all the while.
    let mut held = 0;
    for param in function.params.iter().chain(&function.returns) {
        if let Param::Register(id) = *param {
            held += u32::from(std::mem::take(&mut rows[id.index()]));
        }
    }
    let Some(sets) = sets else {
        return Ok(held + rows.iter().map(|&rows| u32::from(rows)).sum::<u32>());
    };
    let words = rows.len().div_ceil(64);
    let mut counted = Counted { live: vec![0; words], rows, now: 0, most: 0 };
    let mut uses = Uses::default();
    for &block in &flow.order {
        let Block { start, end } = Block::of(flow, block);
        patience.spend(words + end - start)?;
        counted.begin(&sets.live_out[block as usize * words..][..words]);
        counted.look();
        for inst in body.instructions[start..end].iter().rev() {
            uses.collect(module, body, inst);
            let index = |register: &RegId| register.index();
            // A result that nobody needs takes a register, too.
            uses.writes.iter().map(index).for_each(|register| counted.set(register));
            counted.look();
            if inst.guard.is_none() {
                uses.writes.iter().map(index).for_each(|register| counted.clear(register));
            }
            uses.reads.iter().map(index).for_each(|register| counted.set(register));
            counted.look();
        }
    }
    Ok(held + counted.most)
}

impl Decoder<'_> {
    /// Takes the registers of the function into account that is being decoded.
    pub(super) fn estimate_registers<P: Patience>(
        &mut self,
        flow: &Flow,
        sets: Option<&Sets>,
        patience: &P,
    ) -> Result<(), P::Ended> {
        let fixed = &self.fixed.places;
        let free = |register: usize| fixed[register].is_some_and(|place| place.slot.is_constant());
        let pressure = pressure(self.module, self.function, self.body, flow, sets, free, patience)?;
        let own = self.code.functions.last().map(|function| function.id);
        let calls = self.body.instructions.iter().any(|inst| self.stays_call(inst, own));
        let least = if calls { WITH_CALLS } else { 0 };
        self.code.registers = self.code.registers.max(pressure.saturating_add(BEYOND).max(least));
        Ok(())
    }

    /// Whether it calls what ptxas does not put in its place: itself, a function that is known by its address, or by its
    /// name alone.
    fn stays_call(&self, inst: &Instruction, own: Option<FuncId>) -> bool {
        let stays = |operand: &Operand| match *operand {
            Operand::Function(id) => {
                Some(own == Some(id) || self.module.functions[id.index()].body.is_none())
            }
            Operand::Register(_) => Some(true),
            _ => None,
        };
        let is_call = self.module.op(inst).opcode == Opcode::Call;
        is_call && self.body.operands(inst).iter().find_map(stays).unwrap_or(false)
    }
}
