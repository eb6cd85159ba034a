//! Accesses to memory, atomics and mbarriers.

use ptx_frontend::{
    Instruction, MemOrder, Modifier, Modifiers, Op, Opcode, Operand, ScalarType, Scope, StateSpace,
};

use super::Translated;
use super::column::Column;
use super::values::{Known, State};

/// Atomic operations that the dialect has.
const ATOMICS: [(Modifier, &str); 10] = [
    (Modifier::Add, "add"),
    (Modifier::And, "and"),
    (Modifier::Or, "or"),
    (Modifier::Xor, "xor"),
    (Modifier::Min, "min"),
    (Modifier::Max, "max"),
    (Modifier::Inc, "inc"),
    (Modifier::Dec, "dec"),
    (Modifier::Exch, "exch"),
    (Modifier::Cas, "cas"),
];

/// `.relaxed.gpu`, `.volatile`, nothing for weak.
fn order(op: &Op) -> String {
    match op.order() {
        _ if op.has(Modifier::Volatile) => ".volatile".to_owned(),
        None | Some(MemOrder::Weak) => String::new(),
        Some(order) => format!(".{}.{}", order.text(), scope(op)),
    }
}

/// The scope of a strong operation; of the device if none is named.
fn scope(op: &Op) -> &'static str {
    op.scope().unwrap_or(Scope::Gpu).text()
}

/// `.v2`, nothing for scalars.
fn vector(op: &Op) -> String {
    match op.vector() {
        1 => String::new(),
        n => format!(".v{n}"),
    }
}

impl Column<'_> {
    /// `.u32`: values are bits, those of floating-point numbers too.
    fn ty(&self, instruction: &Instruction, op: &Op) -> Translated<String> {
        match op.ty(0) {
            Some(ty) if ty != ScalarType::Pred && matches!(ty.bits(), 8 | 16 | 32 | 64) => {
                Ok(format!(".u{}", ty.bits()))
            }
            _ => self.refuse(instruction, "only types of up to 64 bits have a counterpart"),
        }
    }

    /// Refuses state spaces without locations; whether the access is to shared memory, if that is certain.
    fn shared(
        &self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        address: Operand,
    ) -> Translated<Option<bool>> {
        let spaces = [StateSpace::Global, StateSpace::Generic, StateSpace::Shared];
        if !spaces.contains(&op.space()) {
            return self.refuse(instruction, "only global and shared memory have locations");
        }
        let Some((at, _)) = self.target(state, instruction, address)? else { return Ok(None) };
        let shared = self.places[at].shared.is_some();
        let fits = match op.space() {
            StateSpace::Global => !shared,
            StateSpace::Shared => shared,
            _ => true,
        };
        match fits {
            true => Ok(Some(shared)),
            false => self.refuse(instruction, "the address is in another state space"),
        }
    }

    pub(super) fn access(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        if op.has(Modifier::Nc) {
            return self.refuse(instruction, "the memory model does not speak of non-coherent loads");
        }
        let &[a, b] = operands else { return self.refuse(instruction, "these operands have no counterpart") };
        let load = op.opcode == Opcode::Ld;
        let (address, data) = if load { (b, a) } else { (a, b) };
        self.shared(state, instruction, op, address)?;
        let order = match order(op) {
            none if none.is_empty() => ".weak".to_owned(),
            order => order,
        };
        let name = format!("{}{order}{}{}", op.opcode.text(), vector(op), self.ty(instruction, op)?);
        let (address, data) =
            (self.address(state, instruction, address)?, self.list(state, instruction, data, load)?);
        let (first, second) = if load { (data, address) } else { (address, data) };
        self.line(instruction.span, format!("{name} {first}, {second}"));
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let Some(&(_, name)) = ATOMICS.iter().find(|(modifier, _)| op.has(*modifier)) else {
            return self.refuse(instruction, "its operation has no counterpart");
        };
        let ty = op.ty(0).unwrap_or(ScalarType::B32);
        let scalar = match (ty, name) {
            (ScalarType::F32 | ScalarType::F64, "add") => format!(".f{}", ty.bits()),
            (ty, _) if ty.is_float() || !matches!(ty.bits(), 32 | 64) => {
                return self.refuse(
                    instruction,
                    "of the atomics, those of integers and the additions of `.f32` and `.f64` have a counterpart",
                );
            }
            (ty, "min" | "max") if ty.is_signed() => {
                return self.refuse(instruction, "signed numbers are not ordered as in a test");
            }
            _ => self.ty(instruction, op)?,
        };
        let (dst, rest) = match operands {
            [dst, rest @ ..] if op.opcode == Opcode::Atom => (Some(*dst), rest),
            rest => (None, rest),
        };
        let (Some(&address), values) = (rest.first(), rest.get(1..).unwrap_or(&[])) else {
            return self.refuse(instruction, "these operands have no counterpart");
        };
        // Sums of `.f32` in shared memory are not flushed.
        let space = match self.shared(state, instruction, op, address)? {
            Some(true) => ".shared",
            _ => "",
        };
        let order = match op.order() {
            None => format!(".relaxed.{}", scope(op)),
            Some(_) => order(op),
        };
        let mut parts = Vec::new();
        match dst {
            Some(Operand::Sink) => {
                return self.refuse(instruction, "an atomic without a destination; use `red`");
            }
            Some(dst) => parts.push(self.list(state, instruction, dst, true)?),
            None => {}
        }
        parts.push(self.address(state, instruction, address)?);
        for &value in values {
            parts.push(self.list(state, instruction, value, false)?);
        }
        let name = format!("{}{order}{space}.{name}{}{scalar}", op.opcode.text(), vector(op));
        self.line(instruction.span, format!("{name} {}", parts.join(", ")));
        Ok(())
    }

    /// Objects are numbers of 8 bytes: phase, arrivals of a phase, arrivals that it still lacks.
    pub(super) fn mbarrier(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let transactions = [Modifier::ExpectTx, Modifier::NoComplete, Modifier::ArriveDrop];
        if transactions.iter().any(|&modifier| op.has(modifier)) {
            return self.refuse(instruction, "transactions and dropped arrivals have no counterpart");
        }
        let qualifiers = match (op.order(), op.scope()) {
            (None, None) => String::new(),
            (Some(MemOrder::Relaxed), scope) => format!(".relaxed.{}", scope.unwrap_or(Scope::Cta).text()),
            (_, scope) => format!(".{}", scope.unwrap_or(Scope::Cta).text()),
        };
        let span = instruction.span;
        if op.has(Modifier::Init) {
            let &[address, count] = operands else {
                return self.refuse(instruction, "these operands have no counterpart");
            };
            let Known::Number(count @ 1..=0xffff) = self.known(state, count) else {
                return self.refuse(instruction, "its count is not one number between 1 and 65535");
            };
            let address = self.address(state, instruction, address)?;
            let fresh = memory_model::program::Mbarrier::new(count as u16).to_bits();
            self.line(span, format!("st.weak.u64 {address}, {fresh}"));
        } else if op.has(Modifier::Arrive) {
            let &[dst, address, ref count @ ..] = operands else {
                return self.refuse(instruction, "these operands have no counterpart");
            };
            let dst = match dst {
                Operand::Register(id) => format!("{}, ", Self::register(id)),
                _ => String::new(),
            };
            let count = match count {
                [] => String::new(),
                [count, ..] => format!(", {}", self.value(state, instruction, *count)?),
            };
            let address = self.address(state, instruction, address)?;
            self.line(span, format!("mbarrier.arrive{qualifiers}.b64 {dst}{address}{count}"));
        } else if op.has(Modifier::TestWait) || op.has(Modifier::TryWait) {
            let &[Operand::Register(predicate), address, phase, ..] = operands else {
                return self.refuse(instruction, "these operands have no counterpart");
            };
            let address = self.address(state, instruction, address)?;
            let mut parity = self.value(state, instruction, phase)?;
            if !op.has(Modifier::Parity) {
                // The state before an arrival has the number of its phase in the upper half.
                let scratch = self.scratch();
                self.line(span, format!("div {scratch}, {parity}, {}", 1u64 << 32));
                self.line(span, format!("and {scratch}, {scratch}, 1"));
                parity = scratch;
            }
            let (result, zero) = (2 * predicate.index(), 2 * predicate.index() + 1);
            self.compares(instruction, predicate, "bne")?;
            self.line(
                span,
                format!("mbarrier.test_wait.parity{qualifiers}.b64 r{result}, {address}, {parity}"),
            );
            self.line(span, format!("mov r{zero}, 0"));
        } else {
            return self.refuse(
                instruction,
                "of the mbarriers' instructions, init, arrive and the waits have a counterpart",
            );
        }
        Ok(())
    }
}
