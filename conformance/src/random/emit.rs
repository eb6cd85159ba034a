//! From statements to PTX.

use std::fmt::Write;

use super::{BLOCK, GRID, OWN, REGISTERS, STRIDE, Statement, Trips};
use crate::case::{PTX_VERSION, TARGET};

/// A random kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// What it was made from.
    pub seed: u64,
    /// Whether divergent threads may work together, by masks.
    pub(crate) masks: bool,
    pub(crate) body: Vec<Statement>,
    pub(crate) functions: Vec<Vec<Statement>>,
}

impl Kernel {
    /// The kernel of a seed.
    pub fn new(seed: u64) -> Self {
        super::generate::kernel(seed)
    }

    /// Its module: the kernel is called `k`.
    pub fn ptx(&self) -> String {
        let mut emitter = Emitter { text: String::new(), labels: 0, masks: self.masks, depth: 0 };
        // Writing to a string cannot fail.
        let _ = emitter.module(self);
        emitter.text
    }
}

struct Emitter {
    text: String,
    labels: u32,
    masks: bool,
    /// How deep statements are nested, which numbers masks and counters.
    depth: usize,
}

/// Masks and counters of nested statements.
const DEEPEST: usize = 12;

impl Emitter {
    fn module(&mut self, kernel: &Kernel) -> std::fmt::Result {
        let cells = BLOCK * GRID * OWN;
        write!(
            self.text,
            "// warpgrind conformance random {}\n.version {PTX_VERSION}\n.target {TARGET}\n.address_size 64\n\
             .const .align 16 .b32 table[16] = {{0, 1, 0x3f800000, 0x80000000, 0x7fffffff, 0xbf000000, 31, 0xffffffff, \
             0x00800000, 0x3c003c00, 0x40490fdb, 0x7f7fffff, 0x55555555, 0x3dcccccd, 0x0000ffff, 0x12345678}};\n",
            kernel.seed
        )?;
        let signature = |name: &str| {
            format!(
                ".func (.param .b64 o) {name}(.param .b32 i0, .param .b32 i1, .param .b32 i2, \
                 .param .b32 i3, .param .b64 i4, .param .b64 i5)"
            )
        };
        for at in 0..kernel.functions.len() {
            writeln!(self.text, "{};", signature(&format!("f{at}")))?;
        }
        for (at, body) in kernel.functions.iter().enumerate() {
            writeln!(self.text, "{}\n{{", signature(&format!("f{at}")))?;
            self.declarations()?;
            self.text.push_str(
                "ld.param.b32 %r0, [i0];\nld.param.b32 %r1, [i1];\nld.param.b32 %f0, [i2];\nld.param.b32 %m0, [i3];\n\
                 ld.param.b64 %own, [i4];\nld.param.b64 %cells, [i5];\n",
            );
            self.derive()?;
            self.statements(body, "%m0")?;
            self.gather()?;
            self.text.push_str("mov.b64 %a0, {%t0, %t1};\nst.param.b64 [o], %a0;\nret;\n}\n");
        }
        self.text.push_str(
            ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 own)\n.maxntid 128\n{\n\
             .shared .align 16 .b8 exchange[2048];\n.shared .align 16 .b8 sums[64];\n",
        );
        self.declarations()?;
        write!(
            self.text,
            "mov.u32 %me, %tid.x;\nmov.u32 %t0, %ctaid.x;\nmad.lo.u32 %t1, %t0, {BLOCK}, %me;\nmov.b32 %m0, -1;\n\
             ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u64 %own, [own];\n\
             mad.wide.u32 %in, %t1, {STRIDE}, %in;\nmad.wide.u32 %out, %t1, {STRIDE}, %out;\n\
             add.u64 %cells, %own, {cells};\nmad.wide.u32 %own, %t1, {OWN}, %own;\n\
             mov.u32 %base, exchange;\nmov.u32 %sums, sums;\nshl.b32 %far, %me, 4;\nadd.u32 %mine, %base, %far;\n\
             mov.b32 %t0, 0;\nsetp.lt.u32 %q0, %me, 16;\nshl.b32 %t1, %me, 2;\nadd.u32 %t1, %t1, %sums;\n\
             @%q0 st.shared.b32 [%t1], %t0;\nst.shared.v4.b32 [%mine], {{%t0, %t0, %t0, %t0}};\n\
             setp.lt.u32 %part, %me, 64;\nbar.sync 0;\n"
        )?;
        let mut offset = 0;
        for (letter, ty, count) in REGISTERS {
            for at in 0..count {
                match ty {
                    "pred" => {
                        let bit = 1 << at;
                        writeln!(self.text, "and.b32 %t0, %r7, {bit};\nsetp.ne.b32 %p{at}, %t0, 0;")?;
                    }
                    _ => {
                        let bytes = bytes(ty);
                        writeln!(self.text, "ld.global.b{} %{letter}{at}, [%in+{offset}];", 8 * bytes)?;
                        offset += bytes;
                    }
                }
            }
        }
        self.locals()?;
        self.statements(&kernel.body, "-1")?;
        let mut offset = 0;
        for (letter, ty, count) in REGISTERS {
            if ty == "pred" {
                self.text.push_str("mov.b32 %t0, 0;\n");
                for at in 0..count {
                    let bit = 1 << at;
                    writeln!(self.text, "@%p{at} or.b32 %t0, %t0, {bit};")?;
                }
                writeln!(self.text, "st.global.b32 [%out+{offset}], %t0;")?;
                continue;
            }
            for at in 0..count {
                let bytes = bytes(ty);
                writeln!(self.text, "st.global.b{} [%out+{offset}], %{letter}{at};", 8 * bytes)?;
                offset += bytes;
            }
        }
        // What shared memory and the stack hold at the end.
        self.text.push_str(
            "bar.sync 0;\nand.b32 %t0, %me, 15;\nshl.b32 %t0, %t0, 2;\nadd.u32 %t1, %t0, %sums;\n\
             ld.shared.b32 %t2, [%t1];\nst.global.b32 [%own+60], %t2;\nmov.u64 %a0, stack;\ncvt.u64.u32 %a1, %t0;\n\
             add.u64 %a0, %a0, %a1;\nld.local.b32 %t2, [%a0];\nst.global.b32 [%own+56], %t2;\nret;\n}\n",
        );
        Ok(())
    }

    fn declarations(&mut self) -> std::fmt::Result {
        for (letter, ty, count) in REGISTERS {
            writeln!(self.text, ".reg .{ty} %{letter}<{count}>;")?;
        }
        write!(
            self.text,
            ".reg .pred %q<4>, %part;\n.reg .b16 %s<4>;\n.reg .b32 %t<8>, %me, %base, %sums, %mine, %far, %m<{DEEPEST}>, \
             %n<{DEEPEST}>, %c<{DEEPEST}>;\n.reg .f32 %u<4>;\n.reg .b64 %in, %out, %own, %cells, %a<4>;\n\
             .local .align 16 .b8 stack[64];\n"
        )
    }

    /// The stack's contents.
    fn locals(&mut self) -> std::fmt::Result {
        self.text.push_str("mov.b32 %t0, 0;\n");
        (0..4).try_for_each(|at| {
            writeln!(self.text, "st.local.v4.b32 [stack+{}], {{%t0, %t0, %t0, %t0}};", 16 * at)
        })
    }

    /// A function's registers, from its arguments.
    fn derive(&mut self) -> std::fmt::Result {
        for at in 2..8 {
            writeln!(self.text, "mad.lo.u32 %r{at}, %r{}, 0x9e3779b1, %r1;", at - 2)?;
        }
        for at in 1..6 {
            writeln!(self.text, "cvt.rn.f32.s32 %f{at}, %r{at};")?;
        }
        for at in 0..4 {
            writeln!(self.text, "mov.b64 %d{at}, {{%r{at}, %r{}}};", at + 1)?;
        }
        for at in 0..3 {
            writeln!(self.text, "cvt.f64.f32 %g{at}, %f{at};")?;
        }
        for at in 0..3 {
            writeln!(self.text, "mov.b32 {{%h{}, %h{}}}, %r{at};", 2 * at, 2 * at + 1)?;
        }
        for at in 0..4 {
            writeln!(self.text, "setp.lt.s32 %p{at}, %r{at}, %r{};", at + 2)?;
        }
        self.locals()
    }

    /// All registers of a function in two words.
    fn gather(&mut self) -> std::fmt::Result {
        self.text.push_str("mov.b32 %t0, 0;\nmov.b32 %t1, 0;\n");
        for (letter, ty, count) in REGISTERS {
            for at in 0..count {
                match ty {
                    "b32" | "f32" => writeln!(self.text, "mov.b32 %t2, %{letter}{at};")?,
                    "b16" => writeln!(self.text, "cvt.u32.u16 %t2, %{letter}{at};")?,
                    "pred" => writeln!(self.text, "selp.b32 %t2, 1, 0, %{letter}{at};")?,
                    _ => writeln!(
                        self.text,
                        "mov.b64 {{%t2, %t3}}, %{letter}{at};\nshf.l.wrap.b32 %t1, %t1, %t1, 5;\nxor.b32 %t1, %t1, %t3;"
                    )?,
                }
                self.text.push_str("shf.l.wrap.b32 %t0, %t0, %t0, 3;\nxor.b32 %t0, %t0, %t2;\n");
            }
        }
        Ok(())
    }

    fn statements(&mut self, list: &[Statement], mask: &str) -> std::fmt::Result {
        list.iter().try_for_each(|statement| self.statement(statement, mask))
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// The register of a mask of nested threads.
    fn mask(&self, letter: char) -> String {
        if self.masks { format!("%{letter}{}", self.depth) } else { "-1".into() }
    }

    fn statement(&mut self, statement: &Statement, mask: &str) -> std::fmt::Result {
        let label = self.label();
        self.depth += 1;
        match statement {
            Statement::Text(text) => {
                self.text.push_str(&text.replace("MASK", mask).replace("L!", &format!("L{label}_")));
            }
            Statement::If { predicate, then, other } => {
                let (one, two) = (self.mask('m'), self.mask('n'));
                if self.masks {
                    writeln!(self.text, "vote.sync.ballot.b32 {one}, {predicate}, {mask};")?;
                    writeln!(self.text, "vote.sync.ballot.b32 {two}, !{predicate}, {mask};")?;
                }
                writeln!(self.text, "@!{predicate} bra L{label}_else;")?;
                self.statements(then, &one)?;
                writeln!(self.text, "bra L{label}_end;\nL{label}_else:")?;
                self.statements(other, &two)?;
                writeln!(self.text, "L{label}_end:")?;
            }
            Statement::Loop { trips, body } => {
                let counter = format!("%c{}", self.depth);
                let inner = self.mask('m');
                match trips {
                    Trips::Constant(_) => writeln!(self.text, "mov.b32 {counter}, 0;")?,
                    Trips::Register(register) => {
                        writeln!(self.text, "and.b32 {counter}, {register}, 7;")?;
                        if self.masks {
                            writeln!(self.text, "mov.b32 {inner}, {mask};")?;
                        }
                    }
                }
                writeln!(self.text, "L{label}_loop:")?;
                match trips {
                    Trips::Constant(count) => {
                        self.statements(body, mask)?;
                        writeln!(
                            self.text,
                            "add.u32 {counter}, {counter}, 1;\nsetp.lt.u32 %q0, {counter}, {count};"
                        )?;
                    }
                    Trips::Register(_) => {
                        self.statements(body, &inner)?;
                        writeln!(
                            self.text,
                            "setp.ne.u32 %q0, {counter}, 0;\nsub.u32 {counter}, {counter}, 1;"
                        )?;
                        if self.masks {
                            writeln!(self.text, "vote.sync.ballot.b32 {inner}, %q0, {inner};")?;
                        }
                    }
                }
                writeln!(self.text, "@%q0 bra L{label}_loop;")?;
            }
            Statement::Switch { register, arms } => {
                let inner = self.mask('m');
                writeln!(self.text, "and.b32 %t0, {register}, {};", arms.len() - 1)?;
                if self.masks {
                    writeln!(self.text, "match.any.sync.b32 {inner}, %t0, {mask};")?;
                }
                let names: Vec<String> = (0..arms.len()).map(|at| format!("L{label}_arm{at}")).collect();
                let names = names.join(", ");
                writeln!(
                    self.text,
                    "L{label}_targets: .branchtargets {names};\nbrx.idx %t0, L{label}_targets;"
                )?;
                for (at, arm) in arms.iter().enumerate() {
                    writeln!(self.text, "L{label}_arm{at}:")?;
                    self.statements(arm, &inner)?;
                    writeln!(self.text, "bra L{label}_end;")?;
                }
                writeln!(self.text, "L{label}_end:")?;
            }
            Statement::Call { function, by, words: [one, two], float } => {
                let inner = if by.is_some() { self.mask('m') } else { mask.to_string() };
                let mut target = format!("f{function}");
                let mut prototype = String::new();
                if let Some(register) = by {
                    writeln!(self.text, "and.b32 %t0, {register}, 1;\nsetp.ne.b32 %q0, %t0, 0;")?;
                    if self.masks {
                        writeln!(self.text, "match.any.sync.b32 {inner}, %t0, {mask};")?;
                    }
                    writeln!(self.text, "mov.u64 %a0, f0;\nmov.u64 %a1, f1;\nselp.b64 %a0, %a0, %a1, %q0;")?;
                    writeln!(
                        self.text,
                        "L{label}_type: .callprototype (.param .b64 _) _ (.param .b32 _, .param .b32 _, \
                         .param .b32 _, .param .b32 _, .param .b64 _, .param .b64 _);"
                    )?;
                    target = "%a0".into();
                    prototype = format!(", L{label}_type");
                }
                writeln!(
                    self.text,
                    "mov.b32 %t1, {inner};\n{{\n.param .b32 x0;\n.param .b32 x1;\n.param .b32 x2;\n.param .b32 x3;\n\
                     .param .b64 x4;\n.param .b64 x5;\n.param .b64 y;\n\
                     st.param.b32 [x0], {one};\nst.param.b32 [x1], {two};\nst.param.b32 [x2], {float};\n\
                     st.param.b32 [x3], %t1;\nst.param.b64 [x4], %own;\nst.param.b64 [x5], %cells;\n\
                     call (y), {target}, (x0, x1, x2, x3, x4, x5){prototype};\n\
                     ld.param.b64 %a2, [y];\nmov.b64 {{{one}, {two}}}, %a2;\n}}"
                )?;
            }
        }
        self.depth -= 1;
        Ok(())
    }
}

fn bytes(ty: &str) -> usize {
    match ty {
        "b16" => 2,
        "b64" | "f64" => 8,
        _ => 4,
    }
}
