//! The instructions of the dialect, one cell at a time.

use super::diagnostic::{Code, Diagnostic, Span};
use super::lexer::Kind;
use super::parser::{Parse, Parser, is_register};
use crate::program::{
    Access, BarMode, Base, BinOp, Cmp, LocId, MemOrder, Op, Operand, Proxy, ProxyFence, RegId, Region, RmwOp,
    Scope,
};

/// The dotted parts of an instruction's name, the qualifiers not yet used, and where it stands.
struct Name<'a> {
    base: &'a str,
    qualifiers: Vec<&'a str>,
    span: Span,
}

impl<'a> Name<'a> {
    /// Removes and returns the first qualifier for which `read` gives a value.
    fn take<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (index, value) = self.qualifiers.iter().enumerate().find_map(|(i, q)| Some((i, read(q)?)))?;
        self.qualifiers.remove(index);
        Some(value)
    }

    fn flag(&mut self, qualifier: &str) -> bool {
        self.take(|q| (q == qualifier).then_some(())).is_some()
    }

    /// Refuses what no reader took.
    fn finish(&self) -> Parse<()> {
        match self.qualifiers.first() {
            None => Ok(()),
            Some(q) => Err(self.error(format!("`{}` does not take `.{q}`", self.base))),
        }
    }

    fn error(&self, message: String) -> Diagnostic {
        Diagnostic::new(Code::Qualifier, self.span, message)
    }
}

/// Names of the source dialect.
mod source {
    use super::{BarMode, Code, Diagnostic, MemOrder, Name, Op, Parse, Region, arithmetic};

    /// The scope of a thread alone.
    pub(super) const ALONE: &str = "work_item";

    /// What a fence or a barrier orders, if that is said.
    pub(super) fn region(name: &mut Name<'_>) -> Option<Region> {
        match (name.flag("global"), name.flag("local")) {
            (false, false) => None,
            (true, false) => Some(Region::Global),
            (false, true) => Some(Region::Local),
            (true, true) => Some(Region::All),
        }
    }

    /// `work_group_barrier.local`: all threads of a block meet, and what they did in a region before happens before what they do
    /// there behind it.
    pub(super) fn barrier(name: &mut Name<'_>) -> Parse<Op> {
        let region = region(name).ok_or_else(|| {
            name.error("`work_group_barrier` without a region".to_owned()).with_help(
                "`.global`, `.local` or both: what CLK_GLOBAL_MEM_FENCE and CLK_LOCAL_MEM_FENCE say",
            )
        })?;
        Ok(Op::Bar { mode: BarMode::Sync, instance: 0, id: None, count: None, region })
    }

    /// What PTX and this parser call an operation, an order or a scope of the source dialect.
    pub(super) fn translate(name: &mut Name<'_>) -> Parse<()> {
        let mut operation = None;
        let access = match name.base {
            "load" => Some("ld"),
            "store" => Some("st"),
            "exchange" => {
                operation = Some("exch");
                Some("atom")
            }
            "compare_exchange" => {
                operation = Some("cas");
                Some("atom")
            }
            "fence" => Some("fence"),
            base => match base.strip_prefix("fetch_") {
                Some(op) if arithmetic(op).is_some() => {
                    operation = Some(op);
                    Some("atom")
                }
                _ => None,
            },
        };
        let Some(access) = access else {
            // Moves, arithmetic and branches are those of tests in PTX.
            let is_access = ["ld", "st", "atom", "red", "bar", "barrier", "mbarrier", "membar"]
                .contains(&name.base)
                || name.base.len() > 3 && (name.base.ends_with("ld") || name.base.ends_with("st"));
            return match is_access {
                false => Ok(()),
                true => {
                    let message = format!("`{}` is not an operation of the source dialect", name.base);
                    Err(Diagnostic::new(Code::UnknownInstruction, name.span, message)
                        .with_help("load, store, exchange, compare_exchange, fetch_add and the like, fence, work_group_barrier"))
                }
            };
        };
        for qualifier in &mut name.qualifiers {
            *qualifier = match *qualifier {
                "na" => "weak",
                "seq_cst" => "sc",
                "block" | "work_group" => "cta",
                "device" => "gpu",
                "system" | "all_devices" | "all_svm_devices" => "sys",
                "thread" => ALONE,
                known @ (ALONE | "relaxed" | "acquire" | "release" | "acq_rel" | "cluster") => known,
                known @ ("global" | "local") if name.base == "fence" => known,
                other => {
                    return Err(name
                        .error(format!("`.{other}` is neither an order nor a scope of the source dialect"))
                        .with_help(
                            "na, relaxed, acquire, release, acq_rel, seq_cst; work_item, block, cluster, device, system; of fences global, local",
                        ));
                }
            };
        }
        if !name.qualifiers.iter().any(|q| MemOrder::from_text(q).is_some()) {
            return Err(name
                .error(format!("`{}` without an order", name.base))
                .with_help("na, relaxed, acquire, release, acq_rel or seq_cst"));
        }
        let scoped = name.qualifiers.iter().any(|q| [ALONE, "cta", "cluster", "gpu", "sys"].contains(q));
        if !scoped && !name.qualifiers.contains(&"weak") {
            name.qualifiers.push("sys");
        }
        name.base = access;
        name.qualifiers.extend(operation);
        Ok(())
    }
}

fn arithmetic(q: &str) -> Option<BinOp> {
    match q {
        "add" => Some(BinOp::Add),
        "sub" => Some(BinOp::Sub),
        "mul" => Some(BinOp::Mul),
        "div" => Some(BinOp::Div),
        "and" => Some(BinOp::And),
        "or" => Some(BinOp::Or),
        "xor" => Some(BinOp::Xor),
        "min" => Some(BinOp::Min),
        "max" => Some(BinOp::Max),
        _ => None,
    }
}

/// Size in bytes of a scalar type.
fn scalar(q: &str) -> Option<u8> {
    let digits = q.strip_prefix(['u', 's', 'b', 'f'])?;
    match digits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        _ => None,
    }
}

/// State spaces do not matter to the relations (PTX ISA 8.3).
fn state_space(q: &str) -> Option<()> {
    matches!(q, "global" | "shared" | "shared::cta" | "shared::cluster").then_some(())
}

impl<'a> Parser<'a> {
    /// One instruction, up to the end of its cell.
    pub(super) fn instruction(&mut self, thread: usize) -> Parse<Op> {
        let mut name = self.dotted_name()?;
        if self.source {
            source::translate(&mut name)?;
        }
        let foreign =
            |q: &&&str| **q == source::ALONE || name.base == "fence" && ["global", "local"].contains(*q);
        if let Some(q) = name.qualifiers.iter().find(foreign).filter(|_| !self.source) {
            return Err(name.error(format!("`{}` does not take `.{q}`", name.base)));
        }
        let op = match name.base {
            "work_group_barrier" if self.source => source::barrier(&mut name)?,
            "ld" | "tld" | "suld" | "cold" | "ldc" | "ald" | "tmld" => self.load(thread, &mut name)?,
            "st" | "sust" | "ast" => self.store(thread, &mut name)?,
            "atom" | "suatom" | "red" | "sured" => self.rmw(thread, &mut name)?,
            "fence" | "membar" => fence(&mut name)?,
            "bar" | "barrier" => self.barrier(thread, &mut name)?,
            "mbarrier" => self.mbarrier(thread, &mut name)?,
            "mov" => {
                name.take(scalar);
                let dst = self.register_operand(thread)?;
                self.expect(",")?;
                Op::Mov { dst, src: self.value(thread)? }
            }
            "beq" => self.branch(thread, Cmp::Eq)?,
            "bne" => self.branch(thread, Cmp::Ne)?,
            "bge" => self.branch(thread, Cmp::Ge)?,
            "ble" => self.branch(thread, Cmp::Le)?,
            "bgt" => self.branch(thread, Cmp::Gt)?,
            "blt" => self.branch(thread, Cmp::Lt)?,
            "goto" | "bra" => {
                let label = self.label(thread)?;
                self.jumps.push(label);
                Op::Goto { target: usize::MAX }
            }
            base => match arithmetic(base) {
                Some(op) => {
                    name.take(scalar);
                    let dst = self.register_operand(thread)?;
                    self.expect(",")?;
                    let a = self.value(thread)?;
                    self.expect(",")?;
                    Op::Bin { op, dst, a, b: self.value(thread)? }
                }
                None => {
                    let message = format!("`{base}` is not an instruction of the litmus dialect");
                    return Err(Diagnostic::new(Code::UnknownInstruction, name.span, message));
                }
            },
        };
        name.finish()?;
        Ok(op)
    }

    /// `st.release.gpu`, with `shared::cta` as one part.
    fn dotted_name(&mut self) -> Parse<Name<'a>> {
        let (base, mut span) = self.expect_word("an instruction")?;
        let mut qualifiers = Vec::new();
        while self.eat(".") {
            let (_, mut part) = self.expect_word("a qualifier")?;
            while self.eat("::") {
                part = part.to(self.expect_word("a qualifier")?.1);
            }
            qualifiers.push(self.slice(part));
            span = span.to(part);
        }
        Ok(Name { base, qualifiers, span })
    }

    // ---- operands -----------------------------------------------------------------------------------------

    fn at_register(&self) -> bool {
        let token = self.peek();
        self.is("%") || (token.kind == Kind::Word && is_register(self.slice(token.span)))
    }

    fn register_operand(&mut self, thread: usize) -> Parse<RegId> {
        let (name, span) = self.register_name()?;
        self.register(thread, name, span)
    }

    /// A register, an integer or `&location`.
    fn value(&mut self, thread: usize) -> Parse<Operand> {
        if self.at_register() {
            return Ok(Operand::Reg(self.register_operand(thread)?));
        }
        if self.eat("&") {
            let (name, span) = self.expect_word("a location")?;
            return Ok(Operand::Address(self.location(name, span)?));
        }
        match self.peek().kind {
            Kind::Number(_) | Kind::Punct("-") => Ok(Operand::Const(self.integer()?.0)),
            _ => Err(self.unexpected("a register or an integer")),
        }
    }

    /// `x`, `[x]`, `[x+4]`, `[r1]`, `[r1+4]`: object and byte offset.
    fn address(&mut self, thread: usize) -> Parse<(Base, u32)> {
        let bracketed = self.eat("[");
        let base = if self.at_register() {
            if !bracketed {
                return Err(self
                    .unexpected("a location")
                    .with_help("an address held by a register is written in brackets, `[r1]`"));
            }
            Base::Reg(self.register_operand(thread)?)
        } else {
            let (name, span) = self.expect_word("a location")?;
            Base::Loc(self.location(name, span)?)
        };
        let mut offset = 0;
        if self.eat("+") {
            let (value, span) = self.integer()?;
            offset = u32::try_from(value)
                .ok()
                .filter(|&v| v <= 4096)
                .ok_or_else(|| Diagnostic::new(Code::Range, span, "a byte offset is between 0 and 4096"))?;
        }
        if bracketed {
            self.expect("]")?;
        }
        Ok((base, offset))
    }

    fn label(&mut self, thread: usize) -> Parse<(usize, usize, String, Span)> {
        let (label, span) = self.expect_word("a label")?;
        Ok((thread, self.program.threads[thread].code.len(), label.to_owned(), span))
    }

    /// `{a, b}` for a vector, one operand otherwise.
    fn list<T>(&mut self, count: usize, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        if count == 1 {
            return Ok(vec![item(self)?]);
        }
        self.expect("{")?;
        let mut out = vec![item(self)?];
        while self.eat(",") {
            out.push(item(self)?);
        }
        let close = self.expect("}")?;
        if out.len() != count {
            return Err(Diagnostic::new(
                Code::Syntax,
                close.span,
                format!("this vector has {count} elements, {} are given", out.len()),
            ));
        }
        Ok(out)
    }

    // ---- memory -------------------------------------------------------------------------------------------

    fn load(&mut self, thread: usize, name: &mut Name<'a>) -> Parse<Op> {
        if name.qualifiers.is_empty() || (name.qualifiers.len() == 1 && scalar(name.qualifiers[0]).is_some())
        {
            // The dialect writes register moves as loads: `ld r0, 1`.
            let second_is_value = {
                let after = if self.is("%") { 3 } else { 2 };
                let token = self.peek_at(after);
                self.at_register()
                    && self.is_at(after - 1, ",")
                    && match token.kind {
                        Kind::Number(_) | Kind::Punct("-" | "%" | "&") => true,
                        Kind::Word => is_register(self.slice(token.span)),
                        _ => false,
                    }
            };
            if second_is_value {
                name.take(scalar);
                let dst = self.register_operand(thread)?;
                self.expect(",")?;
                return Ok(Op::Mov { dst, src: self.value(thread)? });
            }
        }
        let (mut access, count) = access_qualifiers(name, MemOrder::Weak)?;
        let sc = self.source && access.order == MemOrder::Sc;
        if !sc && !matches!(access.order, MemOrder::Weak | MemOrder::Relaxed | MemOrder::Acquire) {
            return Err(name.error("a load is weak, relaxed or acquire".to_owned()));
        }
        access.proxy = match name.base {
            "tld" => Proxy::Texture,
            "suld" => Proxy::Surface,
            "cold" | "ldc" => Proxy::Constant,
            "ald" => Proxy::Async,
            "tmld" => Proxy::TensorMap,
            _ => Proxy::Generic,
        };
        let dst = self.list(count, |p| p.register_operand(thread))?;
        self.expect(",")?;
        (access.base, access.offset) = self.address(thread)?;
        Ok(Op::Load { dst, access })
    }

    fn store(&mut self, thread: usize, name: &mut Name<'a>) -> Parse<Op> {
        let (mut access, count) = access_qualifiers(name, MemOrder::Weak)?;
        let sc = self.source && access.order == MemOrder::Sc;
        if !sc && !matches!(access.order, MemOrder::Weak | MemOrder::Relaxed | MemOrder::Release) {
            return Err(name.error("a store is weak, relaxed or release".to_owned()));
        }
        access.proxy = match name.base {
            "sust" => Proxy::Surface,
            "ast" => Proxy::Async,
            _ => Proxy::Generic,
        };
        (access.base, access.offset) = self.address(thread)?;
        self.expect(",")?;
        let src = self.list(count, |p| p.value(thread))?;
        Ok(Op::Store { access, src })
    }

    fn rmw(&mut self, thread: usize, name: &mut Name<'a>) -> Parse<Op> {
        let reduction = matches!(name.base, "red" | "sured");
        let cas = name.flag("cas");
        let exchange = name.flag("exch");
        let op = name.take(|q| match q {
            "inc" => Some(BinOp::Inc),
            "dec" => Some(BinOp::Dec),
            _ => arithmetic(q),
        });
        let float = name.qualifiers.iter().find_map(|q| match *q {
            "f32" => Some(4),
            "f64" => Some(8),
            _ => None,
        });
        let shared = name.qualifiers.iter().any(|q| q.starts_with("shared"));
        // PTX 9.7.13.5: without qualifiers an atomic is relaxed at gpu scope.
        let (mut access, count) = access_qualifiers(name, MemOrder::Relaxed)?;
        let op = op.map(|op| match (op, float) {
            (BinOp::Add, Some(4)) if shared => BinOp::AddF32,
            (BinOp::Add, Some(4)) => BinOp::AddF32Ftz,
            (BinOp::Add, Some(_)) => BinOp::AddF64,
            (op, _) => op,
        });
        if count != 1 && (cas || access.bytes != Some(4)) {
            let message = "a vector atomic adds, exchanges or the like, with elements of 4 bytes".to_owned();
            return Err(name.error(message));
        }
        if float.is_some() && !matches!(op, None | Some(BinOp::AddF32 | BinOp::AddF32Ftz | BinOp::AddF64)) {
            return Err(
                name.error("of the atomics of floating-point numbers, add and exch are read".to_owned())
            );
        }
        if access.order == MemOrder::Weak || !self.source && access.order == MemOrder::Sc {
            return Err(name.error("an atomic is relaxed, acquire, release or acq_rel".to_owned()));
        }
        if matches!(name.base, "suatom" | "sured") {
            access.proxy = Proxy::Surface;
        }
        if u8::from(cas) + u8::from(exchange) + u8::from(op.is_some()) != 1 {
            return Err(name
                .error("an atomic has exactly one operation".to_owned())
                .with_help("add, sub, mul, div, and, or, xor, min, max, inc, dec, exch or cas"));
        }
        if reduction && (cas || exchange) {
            return Err(name.error(format!("`{}` takes neither cas nor exch", name.base)));
        }
        let dst = match reduction {
            true => Vec::new(),
            false => {
                let dst = self.list(count, |p| p.register_operand(thread))?;
                self.expect(",")?;
                dst
            }
        };
        (access.base, access.offset) = self.address(thread)?;
        self.expect(",")?;
        let operands = self.list(count, |p| p.value(thread))?;
        let ops = match (cas, &operands[..]) {
            (true, &[expected]) => {
                self.expect(",")?;
                vec![RmwOp::Cas(expected, self.value(thread)?)]
            }
            _ => operands.iter().map(|&o| RmwOp::Apply(op.unwrap_or(BinOp::Second), o)).collect(),
        };
        Ok(Op::Rmw { dst, access, ops })
    }

    /// `mbarrier.arrive [r0,] b[, count]`, `mbarrier.test_wait r0, b, parity`; with `.b64`, an object is 8 bytes
    /// of its location, otherwise all of it.
    fn mbarrier(&mut self, thread: usize, name: &mut Name<'a>) -> Parse<Op> {
        let bytes = name.take(|q| (q == "b64").then_some(8));
        let arrive = name.flag("arrive");
        let test = name.flag("test_wait") || name.flag("try_wait");
        name.flag("parity");
        name.take(state_space);
        if arrive == test {
            return Err(name
                .error("of mbarrier instructions, arrive and test_wait are supported".to_owned())
                .with_help("an object is declared in the initial state, `b = mbarrier 2`"));
        }
        let default = if arrive { MemOrder::Release } else { MemOrder::Acquire };
        let order = name.take(MemOrder::from_text).unwrap_or(default);
        if order != default && order != MemOrder::Relaxed {
            return Err(name.error("arrive is release or relaxed, test_wait acquire or relaxed".to_owned()));
        }
        let mut access = Access {
            base: Base::Loc(LocId(0)),
            offset: 0,
            bytes,
            proxy: Proxy::Generic,
            order,
            scope: Some(name.take(Scope::from_text).unwrap_or(Scope::Cta)),
        };
        if arrive {
            let mut dst = Vec::new();
            if self.at_register() {
                dst.push(self.register_operand(thread)?);
                self.expect(",")?;
            }
            (access.base, access.offset) = self.address(thread)?;
            let count = if self.eat(",") { self.value(thread)? } else { Operand::Const(1) };
            return Ok(Op::Rmw { dst, access, ops: vec![RmwOp::Apply(BinOp::MbarrierArrive, count)] });
        }
        let dst = self.register_operand(thread)?;
        self.expect(",")?;
        (access.base, access.offset) = self.address(thread)?;
        self.expect(",")?;
        Ok(Op::MbarrierTest { dst, access, parity: self.value(thread)? })
    }

    // ---- control ------------------------------------------------------------------------------------------

    fn branch(&mut self, thread: usize, cmp: Cmp) -> Parse<Op> {
        let a = self.value(thread)?;
        self.expect(",")?;
        let b = self.value(thread)?;
        self.expect(",")?;
        let label = self.label(thread)?;
        self.jumps.push(label);
        Ok(Op::Branch { cmp, a, b, target: usize::MAX })
    }

    /// `bar.cta.sync LABEL[, ID[, COUNT]]` as the dialect has it; without `.cta`, `bar.sync ID[, COUNT]` as
    /// PTX has it.
    fn barrier(&mut self, thread: usize, name: &mut Name<'a>) -> Parse<Op> {
        if name.flag("cluster") {
            return cluster_barrier(name);
        }
        let labelled = name.flag("cta");
        name.flag("aligned");
        let mode = name.take(|q| match q {
            "sync" => Some(BarMode::Sync),
            "red" => Some(BarMode::Red),
            "arrive" => Some(BarMode::Arrive),
            _ => None,
        });
        let mode = mode.ok_or_else(|| name.error("a barrier is sync, red or arrive".to_owned()))?;
        if !labelled {
            let id = self.value(thread)?;
            let count = if self.eat(",") { Some(self.value(thread)?) } else { None };
            return Ok(match (id, count) {
                (Operand::Const(instance), None) => {
                    Op::Bar { mode, instance, id: None, count: None, region: Region::All }
                }
                _ => Op::Bar { mode, instance: 0, id: Some(id), count, region: Region::All },
            });
        }
        let (instance, _) = self.integer()?;
        let id = if self.eat(",") { Some(self.value(thread)?) } else { None };
        let count = if id.is_some() && self.eat(",") { Some(self.value(thread)?) } else { None };
        Ok(Op::Bar { mode, instance, id, count, region: Region::All })
    }
}

/// Order, scope, type and vector length of a memory instruction.
fn access_qualifiers(name: &mut Name<'_>, default: MemOrder) -> Parse<(Access, usize)> {
    let strongest = name.flag("volatile") | name.flag("mmio");
    let given = name.take(MemOrder::from_text);
    let alone = name.flag(source::ALONE);
    let given_scope = name.take(Scope::from_text);
    name.take(state_space);
    let bytes = name.take(scalar);
    let count = name.take(|q| match q {
        "v2" => Some(2),
        "v4" => Some(4),
        _ => None,
    });
    // PTX 8.4.2: volatile is relaxed at system scope; mmio likewise for our purpose (8.4.1).
    let (order, scope) = match (given, given_scope) {
        (None | Some(MemOrder::Relaxed), None | Some(Scope::Sys)) if strongest => {
            (MemOrder::Relaxed, Some(Scope::Sys))
        }
        (Some(MemOrder::Weak), None) if !alone => (MemOrder::Weak, None),
        (Some(order), None) if alone && order != MemOrder::Weak => (order, None),
        (Some(MemOrder::Weak), _) => {
            return Err(name.error("a weak access takes no scope".to_owned()));
        }
        (None, None) if default == MemOrder::Weak => (MemOrder::Weak, None),
        (None, scope) if default != MemOrder::Weak => (default, Some(scope.unwrap_or(Scope::Gpu))),
        (Some(order), scope) if default != MemOrder::Weak => (order, Some(scope.unwrap_or(Scope::Gpu))),
        (Some(order), Some(scope)) => (order, Some(scope)),
        (Some(_), None) => {
            return Err(name
                .error("a relaxed, acquire or release access needs a scope".to_owned())
                .with_help("one of cta, cluster, gpu, sys"));
        }
        (None, _) => return Err(name.error("a scope without an order".to_owned())),
    };
    if count.is_some() && bytes.is_none() {
        return Err(name.error("a vector access needs the type of its elements".to_owned()));
    }
    let access = Access { base: Base::Loc(LocId(0)), offset: 0, bytes, proxy: Proxy::Generic, order, scope };
    Ok((access, count.unwrap_or(1)))
}

fn fence(name: &mut Name<'_>) -> Parse<Op> {
    if name.flag("proxy") || name.qualifiers == ["alias"] {
        return proxy_fence(name);
    }
    if name.base == "membar" {
        // PTX 9.7.13.4: on sm_70 and later membar is fence.sc.
        let scope = name.take(|q| match q {
            "cta" => Some(Scope::Cta),
            "gl" => Some(Scope::Gpu),
            "sys" => Some(Scope::Sys),
            _ => None,
        });
        let scope = scope.ok_or_else(|| name.error("membar is cta, gl or sys".to_owned()))?;
        return Ok(Op::Fence { order: MemOrder::Sc, scope: Some(scope), region: Region::All });
    }
    let order = name.take(MemOrder::from_text).unwrap_or(MemOrder::AcqRel);
    if matches!(order, MemOrder::Weak | MemOrder::Relaxed) {
        return Err(name.error("a fence is sc, acq_rel, acquire or release".to_owned()));
    }
    let region = source::region(name).unwrap_or_default();
    if name.flag(source::ALONE) {
        return Ok(Op::Fence { order, scope: None, region });
    }
    let scope = name.take(Scope::from_text).ok_or_else(|| {
        name.error("a fence needs a scope".to_owned()).with_help("one of cta, cluster, gpu, sys")
    })?;
    Ok(Op::Fence { order, scope: Some(scope), region })
}

fn proxy_fence(name: &mut Name<'_>) -> Parse<Op> {
    let kind = name.take(|q| {
        let generic_pair = q.strip_suffix("::generic").unwrap_or(q);
        match generic_pair {
            "alias" => Some(ProxyFence::Alias),
            "generic" => Some(ProxyFence::To(Proxy::Generic)),
            "texture" => Some(ProxyFence::To(Proxy::Texture)),
            "surface" => Some(ProxyFence::To(Proxy::Surface)),
            "constant" => Some(ProxyFence::To(Proxy::Constant)),
            "async" => Some(ProxyFence::To(Proxy::Async)),
            "tensormap" => Some(ProxyFence::To(Proxy::TensorMap)),
            _ => None,
        }
    });
    let kind = kind.ok_or_else(|| {
        name.error("unknown kind of proxy fence".to_owned())
            .with_help("one of alias, async, generic, texture, surface, constant, tensormap::generic")
    })?;
    if name.take(|q| q.starts_with("sync_restrict").then_some(())).is_some() {
        return Err(name
            .error("state spaces are not told apart here, so a fence cannot be restricted to one".to_owned())
            .with_help("without `.sync_restrict` if all locations are meant to be in shared memory"));
    }
    name.take(state_space);
    // PTX 9.7.13.4: one direction, from the generic proxy.
    let kind = match (name.take(MemOrder::from_text), name.take(Scope::from_text), kind) {
        (None, None, kind) => kind,
        (Some(MemOrder::Release), Some(scope), ProxyFence::To(proxy @ (Proxy::Async | Proxy::TensorMap))) => {
            ProxyFence::Release(proxy, scope)
        }
        (Some(MemOrder::Acquire), Some(scope), ProxyFence::To(proxy @ (Proxy::Async | Proxy::TensorMap))) => {
            ProxyFence::Acquire(proxy, scope)
        }
        _ => {
            return Err(name
                .error("a proxy fence of one direction is a release or acquire and has a scope".to_owned())
                .with_help("fence.proxy.{tensormap,async}::generic.{release,acquire}.SCOPE"));
        }
    };
    Ok(Op::ProxyFence(kind))
}

fn cluster_barrier(name: &mut Name<'_>) -> Parse<Op> {
    name.flag("aligned");
    if name.flag("arrive") {
        let relaxed = name.flag("relaxed");
        if !relaxed {
            name.flag("release");
        }
        return Ok(Op::ClusterArrive { relaxed });
    }
    if name.flag("wait") {
        name.flag("acquire");
        return Ok(Op::ClusterWait);
    }
    Err(name.error("a cluster barrier is arrive or wait".to_owned()))
}
