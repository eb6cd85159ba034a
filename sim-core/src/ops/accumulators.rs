//! Registers that `wgmma.mma_async` uses, between its issue and the wait for it, and fences before it (ISA 9.7.15.7).

use crate::code::TouchKind;
use crate::finding::{Finding, FindingKind};
use crate::machine::Machine;
use crate::machine::fault::{Fault, place};
use crate::machine::warp::Group;
use crate::machine::warpgroup::Used;
use crate::observer::Observer;
use semantics::lanes::LaneMask;
use semantics::matrix::panel::Product;
use semantics::matrix::warpgroup::Warpgroup;

/// What tells shapes apart whose accumulators may follow each other.
fn shape_of(op: &Warpgroup) -> u32 {
    let Product { a, selector, .. } = op.shape.product;
    u32::from(op.shape.n) << 16 | u32::from(selector.is_some()) << 8 | a.bits()
}

impl<O: Observer> Machine<'_, '_, O> {
    /// An instruction touches registers that an operation may be using, or that one will with no fence before it.
    pub(crate) fn touch(&mut self, group: &Group, active: LaneMask, index: u32) {
        let code = self.worker.grid.code;
        self.watch_registers();
        for touch in &code.touches[index as usize] {
            let (fences, done) = (self.warp().pending.fences, self.warp().pending.done);
            let at = touch.register as usize;
            let used = self.warp().pending.registers[at];
            let pending = used.operation > done;
            if let TouchKind::Copy(from) = touch.kind {
                if pending && at != from as usize {
                    self.too_early(group, active, (at, 0), &used, "written");
                }
                let known = self.warp().pending.registers[from as usize];
                self.warp_mut().pending.registers[at] = known;
                continue;
            }
            let writes = touch.kind == TouchKind::Write;
            if pending {
                self.too_early(group, active, (at, 0), &used, if writes { "written" } else { "read" });
            }
            let before = used.touched.is_some_and(|(_, of, wrote)| of == fences && wrote);
            if writes || !before {
                self.warp_mut().pending.registers[at].touched = Some((group.position, fences, writes));
            }
        }
    }

    /// An operation is issued that uses its registers from here on.
    pub(super) fn use_registers(&mut self, group: &Group, active: LaneMask, op: &Warpgroup) {
        self.watch_registers();
        let (fences, done, operation) =
            (self.warp().pending.fences, self.warp().pending.done, self.issued() + 1);
        if fences == 0 {
            let text = "no `wgmma.fence` comes before this `wgmma.mma_async`, the first of the warp";
            let fault = Fault::new(FindingKind::UndefinedBehavior, active, text)
                .note("what registers held before may not have reached them yet");
            self.note(group, fault);
            // Once is enough.
            self.warp_mut().pending.fences = 1;
        }
        let fences = fences.max(1);
        let shape = shape_of(op);
        let [d, a] = &op.registers;
        let mut registers = std::mem::take(&mut self.warp_mut().pending.registers);
        let (mut early, mut unfenced) = (Vec::new(), Vec::new());
        for (list, adds) in [(a, None), (d, Some(shape))] {
            let now = Used { operation, position: group.position, adds, fences, touched: None };
            for &at in list {
                let at = at as usize;
                let used = std::mem::replace(&mut registers[at], now);
                let again = used.operation == operation;
                let alike = used.adds == adds;
                if used.touched.is_none() && (again || alike) {
                    continue;
                }
                if !again && used.operation > done && !alike {
                    let how = if adds.is_some() { "added to" } else { "multiplied" };
                    early.push((at, used, how));
                } else if let Some((position, of, wrote)) = used.touched
                    && of == fences
                    && (wrote || adds.is_some())
                {
                    let how = if wrote { "written" } else { "read" };
                    unfenced.push((at, position, how));
                } else if adds.is_some() && used.operation != 0 && !again && !alike && used.fences == fences {
                    unfenced.push((at, used.position, "used in another shape"));
                }
            }
        }
        self.warp_mut().pending.registers = registers;
        // One finding for all registers of the operation: the first of them stands for the others.
        if let Some((at, used, how)) = early.first() {
            self.too_early(group, active, (*at, early.len() - 1), used, how);
        }
        if let Some(&(at, position, how)) = unfenced.first() {
            self.no_fence(group, active, (at, unfenced.len() - 1), position, how);
        }
    }

    /// Makes room for what is known of registers.
    fn watch_registers(&mut self) {
        let count = self.worker.grid.code.accumulators.len();
        self.warp_mut().pending.registers.resize(count, Used::default());
    }

    /// A register by its name, and how many others; whether it is one or they are several.
    fn named(&self, (at, others): (usize, usize), one: &str, several: &str) -> String {
        let code = self.worker.grid.code;
        let (function, register) = code.accumulators[at];
        let registers = &code.module.functions[function.index()].registers;
        let name = registers.get(register.index()).map_or("", |register| &*register.name);
        match others {
            0 => format!("`{name}` {one}"),
            1 => format!("`{name}` and another register {several}"),
            _ => format!("`{name}` and {others} other registers {several}"),
        }
    }

    /// A register is accessed while an operation may be using it.
    #[cold]
    fn too_early(&mut self, group: &Group, active: LaneMask, which: (usize, usize), used: &Used, how: &str) {
        let registers = self.named(which, "is", "are");
        let why = match (used.adds.is_some(), which.1) {
            (true, 0) => "still adds to it",
            (true, _) => "still adds to them",
            (false, 0) => "still reads it",
            (false, _) => "still reads them",
        };
        let text = format!("{registers} {how} while a `wgmma.mma_async` {why}");
        let note = "`wgmma.wait_group` for a group with that operation must come between the two";
        self.undefined(group, active, used.position, text, note);
    }

    /// A register is used by an operation after an access with no fence between them.
    #[cold]
    fn no_fence(&mut self, group: &Group, active: LaneMask, which: (usize, usize), other: u32, how: &str) {
        let registers = self.named(which, "was", "were");
        let text = format!("{registers} {how}, and no `wgmma.fence` comes before this `wgmma.mma_async`");
        self.undefined(
            group,
            active,
            other,
            text,
            "without one the operation may find what the register held before",
        );
    }

    fn undefined(&mut self, group: &Group, active: LaneMask, other: u32, text: String, note: &str) {
        let fault = Fault::new(FindingKind::UndefinedBehavior, active, text).note(note);
        let grid = self.worker.grid;
        let finding = grid.finding(self.cta, self.index, group.frame, group.position, fault);
        self.found(Finding { other_place: Some(place(grid.code, None, other)), ..finding });
    }
}
