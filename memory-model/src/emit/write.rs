//! The text of a kernel.

use super::frame::{LEFT, addresses, entry};
use super::{DISCARDED, DONE, GAVE_UP, Groups, Kernel, Memory, NAME, SPACED, Unsupported, WARP};
use crate::program::{
    Access, BarMode, Base, BinOp, Cmp, Litmus, LocId, MemOrder, Op, Operand, Proxy, ProxyFence, RegId, RmwOp,
    Scope,
};
use std::fmt::Write as _;

/// The PTX of the kernel, whose threads wait between their instructions or not.
pub(super) fn text(
    litmus: &Litmus,
    kernel: &Kernel,
    groups: &Groups,
    spaced: bool,
) -> Result<String, Unsupported> {
    let mut out = entry(if spaced { SPACED } else { NAME });
    let registers = litmus.program.threads.iter().map(|t| t.registers.len()).max().unwrap_or(0);
    let _ = write!(
        out,
        "    .reg .pred %p<2>;\n    .reg .b32 %t<13>;\n    .reg .b64 %d<8>;\n    .reg .b32 %w<4>;\n    \
         .reg .b64 %l<{}>;\n    .reg .b64 %r<{}>;\n",
        kernel.memory.len().max(1),
        registers.max(1),
    );
    prologue(&mut out, kernel);
    for (thread, &(block, warp)) in groups.places.iter().enumerate() {
        let _ = write!(out, "    setp.eq.u32 %p0, %t5, {};\n    @%p0 bra T{thread};\n", block * WARP + warp);
    }
    out.push_str("    bra LEFT;\n");
    for thread in 0..litmus.program.threads.len() {
        Writer { litmus, kernel, groups, spaced, thread, out: &mut out }.thread()?;
    }
    stress(&mut out, kernel);
    Ok(out)
}

/// From the block's number to the instance, which differs from round to round: `%t0` block of the batch, `%t1` batch, `%t2` lane
/// among all groups, `%t4` instance, `%t5` block and warp of the group as one number, `%t10` round, `%t11` lanes of all groups less
/// one, `%t12` the lanes that take part; `%l` addresses of locations, `%d0` results, `%d1` gate, `%t6` patience, `%t7` random number.
fn prologue(out: &mut String, kernel: &Kernel) {
    let (blocks, warps) = (kernel.blocks, kernel.warps);
    let _ = write!(
        out,
        "    mov.u32 %t0, %ctaid.x;
    ld.param.u32 %t8, [batches];
    mul.lo.u32 %t9, %t8, {blocks};
    setp.ge.u32 %p0, %t0, %t9;
    @%p0 bra STRESS;
    ld.param.u32 %t9, [spread];
    setp.ne.u32 %p0, %t9, 0;
    div.u32 %t1, %t0, {blocks};
    rem.u32 %t2, %t0, {blocks};
    @%p0 rem.u32 %t1, %t0, %t8;
    @%p0 div.u32 %t2, %t0, %t8;
    mov.u32 %t0, %t2;
    mov.u32 %t3, %tid.x;
    and.b32 %t2, %t3, {mask};
    shr.u32 %t3, %t3, 5;
    ld.param.u32 %t9, [groups];
    mul.lo.u32 %t10, %t9, {warps};
    setp.ge.u32 %p0, %t3, %t10;
    @%p0 bra STRESS;
{lanes}    mov.u32 %t10, 0;
ROUND:
    bar.warp.sync %t12;
    ld.param.u32 %t8, [turn];
    mul.lo.u32 %t8, %t8, %t10;
    mul.lo.u32 %t8, %t8, %t0;
    ld.param.u32 %t9, [batches];
    add.u32 %t3, %t1, %t8;
    rem.u32 %t3, %t3, %t9;
    mad.lo.u32 %t3, %t10, %t9, %t3;
    add.u32 %t8, %t2, %t8;
    and.b32 %t8, %t8, %t11;
    add.u32 %t9, %t11, 1;
    mad.lo.u32 %t4, %t3, %t9, %t8;
",
        mask = WARP - 1,
        lanes = if kernel.one_warp { threads_as_lanes(kernel.threads) } else { threads_as_warps(warps) },
    );
    addresses(out, kernel);
    let _ = write!(
        out,
        "    ld.param.u32 %t6, [patience];
    ld.param.u32 %t7, [seed];
    mad.lo.u32 %t7, %t4, 0x9e3779b1, %t7;
    mad.lo.u32 %t7, %t5, 0x85ebca6b, %t7;
    shr.u32 %t8, %t7, 15;
    xor.b32 %t7, %t7, %t8;
    mul.lo.u32 %t7, %t7, 0x2c1b3c6d;
    shr.u32 %t8, %t7, 12;
    xor.b32 %t7, %t7, %t8;
",
    );
}

/// From lane `%t2` and warp `%t3` of the block to the lane among all groups and the thread's place: an instance in each lane.
fn threads_as_warps(warps: u32) -> String {
    format!(
        "    ld.param.u32 %t8, [lanes];
    setp.ge.u32 %p0, %t2, %t8;
    @%p0 bra OVER;
    mov.u32 %t12, -1;
    sub.u32 %t10, {WARP}, %t8;
    shr.u32 %t12, %t12, %t10;
    mul.lo.u32 %t11, %t9, %t8;
    sub.u32 %t11, %t11, 1;
    div.u32 %t9, %t3, {warps};
    rem.u32 %t3, %t3, {warps};
    mad.lo.u32 %t2, %t9, %t8, %t2;
    mad.lo.u32 %t5, %t0, {WARP}, %t3;
"
    )
}

/// The same where each lane is a thread of the one instance.
fn threads_as_lanes(threads: u32) -> String {
    format!(
        "    setp.ge.u32 %p0, %t2, {threads};
    @%p0 bra OVER;
    mov.u32 %t12, {mask};
    mov.u32 %t11, 0;
    mad.lo.u32 %t5, %t0, {WARP}, %t2;
    mov.u32 %t2, 0;
",
        mask = u32::MAX.checked_shr(WARP - threads).unwrap_or(0),
    )
}

/// The next round; and what the blocks beyond the batches, and the warps beyond the test's, do: loads and stores all over the scratch
/// memory, until the test's warps are through.
fn stress(out: &mut String, kernel: &Kernel) {
    let warps = kernel.blocks * kernel.warps;
    let _ = write!(
        out,
        "NEXT:
    add.u32 %t10, %t10, 1;
    ld.param.u32 %t8, [rounds];
    setp.lt.u32 %p0, %t10, %t8;
    @%p0 bra ROUND;
LEFT:
    mov.u32 %t8, %laneid;
    setp.ne.u32 %p0, %t8, 0;
    @%p0 bra OVER;
    ld.param.u64 %d2, [table];
    cvta.to.global.u64 %d2, %d2;
    red.relaxed.gpu.global.add.u32 [%d2+{LEFT}], 1;
OVER:
    exit;
STRESS:
    ld.param.u64 %d2, [scratch];
    cvta.to.global.u64 %d2, %d2;
    ld.param.u64 %d4, [table];
    cvta.to.global.u64 %d4, %d4;
    ld.param.u32 %t8, [batches];
    ld.param.u32 %t9, [groups];
    mul.lo.u32 %t8, %t8, %t9;
    mul.lo.u32 %t8, %t8, {warps};
    ld.param.u32 %t1, [stress];
    ld.param.u32 %t2, [stress_mask];
    ld.param.u32 %t3, [seed];
    ld.param.u32 %t6, [stress_stride];
    ld.param.u32 %t7, [stress_stores];
    mov.u32 %t4, %tid.x;
    mov.u32 %t0, %ctaid.x;
    mad.lo.u32 %t3, %t0, 0x9e3779b1, %t3;
    mad.lo.u32 %t3, %t4, 0x85ebca6b, %t3;
STRESS_MORE:
    setp.eq.u32 %p0, %t1, 0;
    @%p0 bra OVER;
    sub.u32 %t1, %t1, 1;
    and.b32 %t4, %t1, 15;
    setp.ne.u32 %p0, %t4, 0;
    @%p0 bra STRESS_ON;
    ld.relaxed.gpu.global.u32 %t4, [%d4+{LEFT}];
    setp.ge.u32 %p0, %t4, %t8;
    @%p0 bra OVER;
STRESS_ON:
    mad.lo.u32 %t3, %t3, 0x19660d, 0x3c6ef35f;
    shr.u32 %t4, %t3, 8;
    and.b32 %t4, %t4, %t2;
    mul.wide.u32 %d3, %t4, %t6;
    add.u64 %d3, %d2, %d3;
    shr.u32 %t4, %t3, 27;
    setp.lt.u32 %p0, %t4, %t7;
    @%p0 st.volatile.global.u32 [%d3], %t3;
    @!%p0 ld.volatile.global.u32 %t5, [%d3];
    bra STRESS_MORE;
}}
",
    );
}

/// Writes the code of one thread.
struct Writer<'a> {
    litmus: &'a Litmus,
    kernel: &'a Kernel,
    groups: &'a Groups,
    spaced: bool,
    thread: usize,
    out: &'a mut String,
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

/// `.release.gpu`, `.weak`
fn order(access: &Access) -> String {
    let name = match access.order {
        MemOrder::Weak => return ".weak".to_owned(),
        MemOrder::Relaxed => "relaxed",
        MemOrder::Acquire => "acquire",
        MemOrder::Release => "release",
        MemOrder::AcqRel => "acq_rel",
        MemOrder::Sc => "sc",
    };
    format!(".{name}.{}", access.scope.unwrap_or(Scope::Sys).text())
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text};");
    }

    fn label(&mut self, name: &str) {
        let _ = writeln!(self.out, "T{}_{name}:", self.thread);
    }

    fn target(&self, name: impl std::fmt::Display) -> String {
        format!("T{}_{name}", self.thread)
    }

    fn thread(mut self) -> Result<(), Unsupported> {
        let threads = self.kernel.threads;
        let thread = &self.litmus.program.threads[self.thread];
        let _ = writeln!(self.out, "T{}: // P{}", self.thread, thread.id);
        for (register, &initial) in thread.initial.iter().enumerate() {
            let value = self.value(initial);
            self.line(&format!("mov.b64 %r{register}, {value}"));
        }
        self.prime();
        let (open, ready, wait, go) =
            (self.target("OPEN"), self.target("READY"), self.target("WAIT"), self.target("GO"));
        let _ = write!(
            self.out,
            "    ld.param.u32 %t8, [gate];
    setp.eq.u32 %p0, %t8, 0;
    @%p0 bra {open};
    red.relaxed.gpu.global.add.u32 [%d1], 1;
{ready}:
    ld.relaxed.gpu.global.u32 %t9, [%d1];
    setp.ge.u32 %p0, %t9, {threads};
    @%p0 bra {open};
    sub.u32 %t8, %t8, 1;
    setp.ne.u32 %p0, %t8, 0;
    @%p0 bra {ready};
{open}:
    ld.param.u32 %t8, [delay];
    and.b32 %t8, %t8, %t7;
{wait}:
    setp.eq.u32 %p0, %t8, 0;
    @%p0 bra {go};
    sub.u32 %t8, %t8, 1;
    bra {wait};
{go}:
"
        );
        let code = &thread.code;
        for (at, instruction) in code.iter().enumerate() {
            if self.is_target(at) {
                self.label(&at.to_string());
            }
            let _ = writeln!(
                self.out,
                "    // line {}: {}",
                instruction.line,
                instruction.text.replace('\n', " ")
            );
            self.instruction(at, &instruction.op)?;
            if self.spaced {
                self.gap(at);
            }
        }
        self.label(&code.len().to_string());
        self.line(&format!("mov.b64 %d7, {DONE}"));
        self.label("END");
        for (slot, &(owner, RegId(register))) in (threads..).zip(&self.kernel.registers) {
            if owner == self.thread {
                self.line(&format!("st.global.b64 [%d0+{}], %r{register}", 8 * slot));
            }
        }
        let own = 8 * self.thread;
        self.line(&format!("st.global.b64 [%d0+{own}], %d7"));
        self.line("bra NEXT");
        for (name, status) in [("GAVE_UP", GAVE_UP), ("DISCARDED", DISCARDED)] {
            self.label(name);
            self.line(&format!("mov.b64 %d7, {status}"));
            let end = self.target("END");
            self.line(&format!("bra {end}"));
        }
        Ok(())
    }

    /// Brings the lines of the locations into the cache: weak loads of what lies behind each, which no access of the test
    /// touches and which stays zero.
    fn prime(&mut self) {
        let width = self.kernel.width();
        let free: Vec<usize> =
            (0..self.kernel.memory.len()).filter(|&at| self.kernel.memory[at].bytes <= width - 4).collect();
        if free.is_empty() {
            return;
        }
        let gate = self.target("GATE");
        self.line("ld.param.u32 %t8, [prime]");
        self.line("mov.u32 %t9, 0");
        for at in free {
            let bit = (self.thread * self.kernel.memory.len() + at) % 32;
            self.line(&format!("and.b32 %t3, %t8, {}", 1u32 << bit));
            self.line("setp.ne.u32 %p0, %t3, 0");
            self.line("mov.u32 %t3, 0");
            self.line(&format!("@%p0 ld.weak.global.u32 %t3, [%l{at}+{}]", width - 4));
            self.line("or.b32 %t9, %t9, %t3");
        }
        // Nobody goes on before the loads are done.
        self.line("setp.eq.u32 %p0, %t9, 0");
        self.line(&format!("@%p0 bra {gate}"));
        self.line("trap");
        self.label("GATE");
    }

    /// Waits at random.
    fn gap(&mut self, at: usize) {
        let (more, over) = (self.target(format_args!("GAP{at}")), self.target(format_args!("PAST{at}")));
        let _ = write!(
            self.out,
            "    mad.lo.u32 %t7, %t7, 0x19660d, 0x3c6ef35f;
    ld.param.u32 %t8, [gap];
    shr.u32 %t9, %t7, 8;
    and.b32 %t8, %t8, %t9;
{more}:
    setp.eq.u32 %p0, %t8, 0;
    @%p0 bra {over};
    sub.u32 %t8, %t8, 1;
    bra {more};
{over}:
"
        );
    }

    fn is_target(&self, at: usize) -> bool {
        let code = &self.litmus.program.threads[self.thread].code;
        code.iter().any(|i| matches!(i.op, Op::Branch { target, .. } | Op::Goto { target } if target == at))
    }

    // ---- operands -----------------------------------------------------------------------------------------

    /// A 64-bit operand.
    fn value(&self, operand: Operand) -> String {
        match operand {
            Operand::Const(c) => c.to_string(),
            Operand::Reg(RegId(r)) => format!("%r{r}"),
            Operand::Address(LocId(l)) => format!("%l{l}"),
        }
    }

    /// An operand of so many bytes; `spare` is the 32-bit register that may be used for it.
    fn narrow(&mut self, operand: Operand, bytes: u32, spare: usize) -> String {
        if bytes == 8 {
            return self.value(operand);
        }
        match operand {
            Operand::Const(c) => (c as i32).to_string(),
            other => {
                let value = self.value(other);
                self.line(&format!("cvt.u32.u64 %w{spare}, {value}"));
                format!("%w{spare}")
            }
        }
    }

    fn memory(&self, access: &Access) -> Memory {
        let index = match access.base {
            Base::Loc(LocId(l)) => usize::from(l),
            Base::Reg(_) => 0,
        };
        self.kernel.memory[index.min(self.kernel.memory.len() - 1)]
    }

    fn address(&self, access: &Access) -> String {
        let base = match access.base {
            Base::Loc(LocId(l)) => format!("%l{l}"),
            Base::Reg(RegId(r)) => format!("%r{r}"),
        };
        if access.offset > 0 { format!("[{base}+{}]", access.offset) } else { format!("[{base}]") }
    }

    /// Bytes of one scalar, and the type under which it is loaded.
    fn scalar(&self, access: &Access) -> Result<(u32, String), Unsupported> {
        if access.proxy != Proxy::Generic {
            return unsupported("an access through another proxy than the generic one");
        }
        let memory = self.memory(access);
        let bytes = access.bytes.map_or(memory.bytes.min(8), u32::from);
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return unsupported(format!("an access of {bytes} bytes"));
        }
        if memory.bytes < access.offset + bytes {
            return unsupported("an access beyond the end of its location");
        }
        let sign = if memory.signed && access.bytes.is_none() { 's' } else { 'u' };
        Ok((bytes, format!(".{sign}{}", bytes * 8)))
    }

    // ---- instructions -------------------------------------------------------------------------------------

    fn instruction(&mut self, at: usize, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Mov { dst, src } => {
                let src = self.value(*src);
                self.line(&format!("mov.b64 %r{}, {src}", dst.0));
            }
            Op::Bin { op, dst, a, b } => self.binary(*op, *dst, *a, *b)?,
            Op::Load { dst, access } => {
                let (_, ty) = self.scalar(access)?;
                let (vector, list) = vector(dst.iter().map(|r| format!("%r{}", r.0)).collect())?;
                let address = self.address(access);
                self.line(&format!("ld{}.global{vector}{ty} {list}, {address}", order(access)));
            }
            Op::Store { access, src } => {
                let (bytes, ty) = self.scalar(access)?;
                let mut values = Vec::new();
                for (spare, &operand) in src.iter().enumerate() {
                    // Stores take registers that are wider than the type.
                    values.push(match operand {
                        Operand::Const(c) if src.len() > 1 => {
                            let register =
                                if bytes == 8 { format!("%d{}", 2 + spare) } else { format!("%w{spare}") };
                            let value = if bytes == 8 { c } else { i64::from(c as i32) };
                            self.line(&format!(
                                "mov.b{} {register}, {value}",
                                if bytes == 8 { 64 } else { 32 }
                            ));
                            register
                        }
                        Operand::Const(c) => c.to_string(),
                        other => self.value(other),
                    });
                }
                let (vector, list) = vector(values)?;
                let address = self.address(access);
                self.line(&format!("st{}.global{vector}{ty} {address}, {list}", order(access)));
            }
            Op::Rmw { dst, access, ops } => match ops[..] {
                [op] => self.atomic(dst.first().copied(), access, &op)?,
                _ => self.vector_atomic(dst, access, ops)?,
            },
            Op::MbarrierTest { .. } => return unsupported("mbarrier objects, which live in shared memory"),
            Op::Fence { order, scope, .. } => {
                let order = match order {
                    MemOrder::Sc => "sc",
                    MemOrder::Acquire => "acquire",
                    MemOrder::Release => "release",
                    _ => "acq_rel",
                };
                self.line(&format!("fence.{order}.{}", scope.unwrap_or(Scope::Sys).text()));
            }
            Op::ProxyFence(ProxyFence::Alias) => self.line("fence.proxy.alias"),
            Op::ProxyFence(ProxyFence::To(Proxy::Async)) => self.line("fence.proxy.async"),
            Op::ProxyFence(ProxyFence::To(_)) => {
                return unsupported("a fence of a proxy that PTX has no fence for");
            }
            Op::ProxyFence(ProxyFence::Release(..) | ProxyFence::Acquire(..)) => {
                return unsupported(
                    "a proxy fence of one direction, whose proxy a kernel cannot load through",
                );
            }
            Op::Bar { mode, instance, id, count, .. } => self.barrier(*mode, *instance, *id, *count)?,
            Op::ClusterArrive { relaxed } => {
                self.line(if *relaxed { "barrier.cluster.arrive.relaxed" } else { "barrier.cluster.arrive" });
            }
            Op::ClusterWait => self.line("barrier.cluster.wait"),
            Op::Branch { cmp, a, b, target } => {
                self.compare(*cmp, *a, *b);
                self.jump("@%p0 ", at, *target);
            }
            Op::Goto { target } => self.jump("", at, *target),
            Op::Assume { cmp, a, b } => {
                self.compare(*cmp, *a, *b);
                let discarded = self.target("DISCARDED");
                self.line(&format!("@!%p0 bra {discarded}"));
            }
        }
        Ok(())
    }

    fn compare(&mut self, cmp: Cmp, a: Operand, b: Operand) {
        let name = match cmp {
            Cmp::Eq => "eq",
            Cmp::Ne => "ne",
            Cmp::Lt => "lt",
            Cmp::Le => "le",
            Cmp::Gt => "gt",
            Cmp::Ge => "ge",
        };
        let (a, b) = (self.value(a), self.value(b));
        self.line(&format!("mov.b64 %d2, {a}"));
        self.line(&format!("setp.{name}.s64 %p0, %d2, {b}"));
    }

    /// A jump; those backwards cost patience.
    fn jump(&mut self, guard: &str, at: usize, target: usize) {
        let label = self.target(target);
        if target > at {
            return self.line(&format!("{guard}bra {label}"));
        }
        let out = self.target("GAVE_UP");
        self.line(&format!("{guard}sub.u32 %t6, %t6, 1"));
        self.line("setp.eq.u32 %p1, %t6, 0");
        self.line(&format!("@%p1 bra {out}"));
        self.line(&format!("{guard}bra {label}"));
    }

    fn binary(&mut self, op: BinOp, dst: RegId, a: Operand, b: Operand) -> Result<(), Unsupported> {
        let (a, b) = (self.value(a), self.value(b));
        self.line(&format!("mov.b64 %d2, {a}"));
        let name = match op {
            BinOp::Add => "add.s64",
            BinOp::Sub => "sub.s64",
            BinOp::Mul => "mul.lo.s64",
            BinOp::And => "and.b64",
            BinOp::Or => "or.b64",
            BinOp::Xor => "xor.b64",
            BinOp::Min => "min.s64",
            BinOp::Max => "max.s64",
            BinOp::Div => {
                // Division by zero gives zero.
                self.line(&format!("mov.b64 %d3, {b}"));
                self.line("setp.eq.s64 %p0, %d3, 0");
                self.line("selp.b64 %d3, 1, %d3, %p0");
                self.line("selp.b64 %d2, 0, %d2, %p0");
                self.line(&format!("div.s64 %r{}, %d2, %d3", dst.0));
                return Ok(());
            }
            _ => return unsupported("an operation that only atomics have"),
        };
        self.line(&format!("{name} %r{}, %d2, {b}", dst.0));
        Ok(())
    }

    fn atomic(&mut self, dst: Option<RegId>, access: &Access, op: &RmwOp) -> Result<(), Unsupported> {
        let (bytes, _) = self.scalar(access)?;
        if bytes < 4 {
            return unsupported(format!("an atomic of {bytes} bytes"));
        }
        if dst.is_none() && access.order.acquires() {
            return unsupported("a reduction that acquires, which PTX does not have");
        }
        let bits = bytes * 8;
        let mut operands = Vec::new();
        let (name, ty) = match *op {
            RmwOp::Cas(old, new) => {
                operands.push(self.narrow(old, bytes, 1));
                operands.push(self.narrow(new, bytes, 2));
                ("cas", format!("b{bits}"))
            }
            RmwOp::Apply(op, operand) => {
                let operand = self.narrow(operand, bytes, 1);
                let (name, ty) = match op {
                    BinOp::Add | BinOp::Sub => ("add", format!("u{bits}")),
                    BinOp::And => ("and", format!("b{bits}")),
                    BinOp::Or => ("or", format!("b{bits}")),
                    BinOp::Xor => ("xor", format!("b{bits}")),
                    BinOp::Min => ("min", format!("s{bits}")),
                    BinOp::Max => ("max", format!("s{bits}")),
                    BinOp::Second => ("exch", format!("b{bits}")),
                    BinOp::AddF32 | BinOp::AddF32Ftz => ("add", "f32".to_owned()),
                    BinOp::AddF64 => ("add", "f64".to_owned()),
                    BinOp::Inc if bytes == 4 => ("inc", "u32".to_owned()),
                    BinOp::Dec if bytes == 4 => ("dec", "u32".to_owned()),
                    BinOp::Inc | BinOp::Dec => return unsupported("`inc` or `dec` of 8 bytes"),
                    BinOp::MbarrierArrive | BinOp::MbarrierTest => {
                        return unsupported("mbarrier objects, which live in shared memory");
                    }
                    BinOp::Mul | BinOp::Div | BinOp::Extract | BinOp::Shl => {
                        return unsupported("an atomic multiplication or division");
                    }
                };
                if op == BinOp::Sub {
                    let spare = if bytes == 8 { "%d3" } else { "%w1" };
                    self.line(&format!("mov.b{bits} {spare}, {operand}"));
                    self.line(&format!("neg.s{bits} {spare}, {spare}"));
                    operands.push(spare.to_owned());
                } else {
                    operands.push(operand);
                }
                (name, ty)
            }
        };
        if ty.starts_with('f') {
            // Operands of floating-point atomics are registers.
            let spare = if bytes == 8 { "%d3" } else { "%w1" };
            self.line(&format!("mov.b{bits} {spare}, {}", operands[0]));
            operands[0] = spare.to_owned();
        }
        let address = self.address(access);
        let qualifiers = format!("{}.global.{name}.{ty}", order(access));
        let operands = operands.join(", ");
        match dst {
            None => self.line(&format!("red{qualifiers} {address}, {operands}")),
            Some(RegId(r)) if bytes == 8 => {
                self.line(&format!("atom{qualifiers} %r{r}, {address}, {operands}"))
            }
            Some(RegId(r)) => {
                let sign = if self.memory(access).signed { "s64.s32" } else { "u64.u32" };
                self.line(&format!("atom{qualifiers} %w0, {address}, {operands}"));
                self.line(&format!("cvt.{sign} %r{r}, %w0"));
            }
        }
        Ok(())
    }

    /// The vector atomics that PTX has: sums of `.f32`.
    fn vector_atomic(&mut self, dst: &[RegId], access: &Access, ops: &[RmwOp]) -> Result<(), Unsupported> {
        self.scalar(access)?;
        if dst.is_empty() && access.order.acquires() {
            return unsupported("a reduction that acquires, which PTX does not have");
        }
        let mut operands = Vec::new();
        for (spare, op) in ops.iter().enumerate() {
            let RmwOp::Apply(BinOp::AddF32 | BinOp::AddF32Ftz, operand) = *op else {
                return unsupported("a vector atomic of integers, which PTX does not have");
            };
            let value = self.narrow(operand, 4, spare);
            self.line(&format!("mov.b32 %w{spare}, {value}"));
            operands.push(format!("%w{spare}"));
        }
        let (vector, list) = vector(operands)?;
        let (address, order) = (self.address(access), order(access));
        if dst.is_empty() {
            self.line(&format!("red{order}.global.add{vector}.f32 {address}, {list}"));
            return Ok(());
        }
        self.line(&format!("atom{order}.global.add{vector}.f32 {list}, {address}, {list}"));
        for (spare, RegId(r)) in dst.iter().enumerate() {
            self.line(&format!("cvt.u64.u32 %r{r}, %w{spare}"));
        }
        Ok(())
    }

    /// Each thread of the test is a warp; a count of threads is one of warps.
    fn barrier(
        &mut self,
        mode: BarMode,
        instance: i64,
        id: Option<Operand>,
        count: Option<Operand>,
    ) -> Result<(), Unsupported> {
        let number = match id {
            None => instance,
            Some(Operand::Const(id)) => id,
            Some(_) => return unsupported("a barrier whose number a register holds"),
        };
        if !(0..16).contains(&number) {
            return unsupported(format!("barrier {number}: PTX has barriers 0 to 15"));
        }
        let threads = &self.litmus.program.threads;
        let here = self.groups.places[self.thread].0;
        let count = match count {
            Some(Operand::Const(count)) => count,
            Some(_) => return unsupported("a barrier whose count a register holds"),
            // All threads of the CTA that use the barrier.
            None => (0..threads.len())
                .filter(|&t| self.groups.places[t].0 == here)
                .filter(|&t| threads[t].code.iter().any(|i| uses_barrier(&i.op, number)))
                .count() as i64,
        };
        if !(1..=i64::from(self.kernel.warps)).contains(&count) {
            return unsupported(format!("a barrier for {count} threads in a CTA of {}", self.kernel.warps));
        }
        let threads = count * i64::from(WARP);
        match mode {
            BarMode::Sync => self.line(&format!("barrier.sync {number}, {threads}")),
            BarMode::Arrive => self.line(&format!("barrier.arrive {number}, {threads}")),
            BarMode::Red => {
                self.line("setp.eq.u32 %p0, 0, 0");
                self.line(&format!("barrier.red.popc.u32 %w0, {number}, {threads}, %p0"));
            }
        }
        Ok(())
    }
}

fn uses_barrier(op: &Op, number: i64) -> bool {
    match op {
        Op::Bar { instance, id: None, .. } => *instance == number,
        Op::Bar { id: Some(Operand::Const(id)), .. } => *id == number,
        _ => false,
    }
}

/// `.v2` and `{a, b}`, or nothing and the single element.
fn vector(mut elements: Vec<String>) -> Result<(String, String), Unsupported> {
    match elements.len() {
        1 => Ok((String::new(), elements.remove(0))),
        n @ (2 | 4) => Ok((format!(".v{n}"), format!("{{{}}}", elements.join(", ")))),
        n => unsupported(format!("a vector of {n} elements")),
    }
}
