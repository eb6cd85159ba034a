//! Loads of shared memory whose words lie beside each other: the assembler makes one of two or four, where it can tell that the
//! place of the first is a multiple of their bytes.

use std::collections::HashMap;

use ptx_frontend::{AddressBase, Body, Module, Operand, RegId};

use super::{Made, Order, Space, Value};

/// Where a load of a word has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word {
    base: Value,
    offset: i64,
}

impl Word {
    /// The register that its place is counted from.
    pub(super) fn base_mut(&mut self) -> &mut Value {
        &mut self.base
    }
}

/// The word that a load of 32 bits of shared memory has, by its opcode and its address.
pub(super) fn word(text: &str, operands: &[Operand], base: impl Fn(RegId) -> Value) -> Option<Word> {
    let mut parts = text.split('.');
    let is_word = |part: &str| matches!(part, "b32" | "u32" | "s32" | "f32");
    let is_plain = parts.next() == Some("ld")
        && parts.all(|part| matches!(part, "shared" | "shared::cta") || is_word(part));
    match operands {
        [Operand::Register(_), Operand::Address(of)] if is_plain && text.contains(".shared") => match of.base
        {
            AddressBase::Register(id) => Some(Word { base: base(id), offset: of.offset }),
            _ => None,
        },
        _ => None,
    }
}

/// Of how many a register is a multiple, as a power of two, as far as what it is computed from says.
pub(super) struct Multiples<'a> {
    module: &'a Module,
    body: &'a Body,
    /// By register: the instructions that write it.
    writers: HashMap<RegId, Vec<usize>>,
    known: HashMap<RegId, u32>,
}

/// What is not looked into is a multiple of everything: only what all say counts.
const ANY: u32 = 32;
/// Variables in shared memory lie at multiples of 16.
const VARIABLE: u32 = 4;
/// Instructions that are looked at for one register.
const DEEPEST: u32 = 16;

impl<'a> Multiples<'a> {
    pub(super) fn new(module: &'a Module, body: &'a Body) -> Self {
        let mut writers: HashMap<RegId, Vec<usize>> = HashMap::new();
        for (at, ptx) in body.instructions.iter().enumerate() {
            let effects = &module.op(ptx).effects;
            for (place, operand) in body.operands(ptx).iter().enumerate() {
                if effects.writes_operand(place) {
                    super::registers(body, operand, &mut |id| writers.entry(id).or_default().push(at));
                }
            }
        }
        Multiples { module, body, writers, known: HashMap::new() }
    }

    fn of(&mut self, id: RegId, depth: u32) -> u32 {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        if depth > DEEPEST {
            return 0;
        }
        // Where it is computed from itself, its other values say what it is.
        self.known.insert(id, ANY);
        let writers = self.writers.get(&id).cloned().unwrap_or_default();
        let all = writers.into_iter().map(|at| self.written(at, depth + 1)).min().unwrap_or(0);
        if depth == 0 {
            // What was found on the way may have stood on what was not known yet.
            self.known.clear();
        }
        self.known.insert(id, all);
        all
    }

    fn written(&mut self, at: usize, depth: u32) -> u32 {
        let ptx = &self.body.instructions[at];
        let operands = self.body.operands(ptx);
        let op = self.module.op(ptx);
        let value = |this: &mut Self, place: usize| match operands.get(place) {
            Some(Operand::Register(id)) => this.of(*id, depth),
            Some(Operand::Integer(number)) => number.trailing_zeros().min(ANY),
            Some(Operand::Variable(_, offset)) => VARIABLE.min(offset.trailing_zeros()),
            _ => 0,
        };
        match op.opcode.text() {
            "mov" | "cvt" | "cvta" => value(self, 1),
            "add" | "sub" | "or" | "xor" | "min" | "max" => value(self, 1).min(value(self, 2)),
            "selp" => value(self, 1).min(value(self, 2)),
            "and" => value(self, 1).max(value(self, 2)),
            "mul" => (value(self, 1) + value(self, 2)).min(ANY),
            "mad" => (value(self, 1) + value(self, 2)).min(value(self, 3)),
            "shl" => match operands.get(2) {
                Some(Operand::Integer(by)) => (value(self, 1) + (*by).min(ANY.into()) as u32).min(ANY),
                _ => value(self, 1),
            },
            _ => 0,
        }
    }
}

/// Makes one of the loads of a block that lie beside each other, where the first of them is.
pub(super) fn merge(made: &mut Vec<Made>, multiples: &mut Multiples<'_>) {
    for (width, opcode) in [(4usize, "LDS.128"), (2, "LDS.64")] {
        let bytes = 4 * width as i64;
        // By base and place: the loads that are open, by word.
        let mut open: HashMap<(Value, i64), Vec<Option<usize>>> = HashMap::new();
        let mut gone = vec![false; made.len()];
        for at in 0..made.len() {
            let is_barrier = matches!(made[at].ordered, Order::Writes(Space::Shared) | Order::All);
            if is_barrier {
                open.clear();
            }
            let word = made[at].word.filter(|_| made[at].machine.guard.is_none());
            open.retain(|(base, _), _| !made[at].writes.contains(base));
            let Some(Word { base, offset }) = word else { continue };
            let (Value::Register(id) | Value::Turn(id, _)) = base else { continue };
            if made[at].writes.contains(&base) || multiples.of(id, 0) < bytes.trailing_zeros() {
                continue;
            }
            let list = open.entry((base, offset.div_euclid(bytes))).or_insert_with(|| vec![None; width]);
            list[(offset.rem_euclid(bytes) / 4) as usize] = Some(at);
            let Some(all) = list.iter().copied().collect::<Option<Vec<usize>>>() else { continue };
            open.remove(&(base, offset.div_euclid(bytes)));
            let first = all.iter().copied().min().unwrap_or(at);
            // What is loaded earlier then must not be wanted as it was.
            let is_free = |&load: &usize| {
                let own = &made[load].writes;
                made[first..load]
                    .iter()
                    .all(|of| own.iter().all(|value| !of.reads.contains(value) && !of.writes.contains(value)))
            };
            if !all.iter().all(is_free) {
                continue;
            }
            let writes = all.iter().flat_map(|&load| made[load].writes.clone()).collect();
            opcode.clone_into(&mut made[first].machine.opcode);
            (made[first].writes, made[first].word) = (writes, None);
            all.into_iter().filter(|&load| load != first).for_each(|load| gone[load] = true);
        }
        let mut gone = gone.into_iter();
        made.retain(|_| !gone.next().unwrap_or(false));
    }
}
