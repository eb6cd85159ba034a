//! One PTX instruction in a kernel of its own, run over many tuples of operands.
//!
//! Each thread loads its operands, runs the instruction, runs it again under a guard into registers
//! that hold something else, and stores all results. Instructions that use the carry flag get one
//! beforehand and have it stored afterwards.

use std::sync::Arc;

use ptx_frontend::{Module, ScalarType, Source, TypeClass, parse};
use sim_core::{Backend, Dim3, Launch, Outcome, RunOptions, Simulator};

/// Threads, a tuple each.
pub(crate) const THREADS: usize = 512;
/// Bytes of a value in memory.
const SLOT: usize = 16;

/// An operand of the instruction.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// A destination; the second of a pair `d|p` stands alone here.
    Destination(ScalarType),
    /// A source.
    Source(ScalarType),
    /// A constant.
    Constant(i64),
}

/// An instruction to try.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// Opcode and modifiers.
    pub(crate) op: String,
    /// Destinations first.
    pub(crate) operands: Vec<Operand>,
}

/// What came of the instruction: a row a thread, destinations in order, then the carry flag.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Results {
    /// Without a guard.
    pub(crate) plain: Vec<Vec<u128>>,
    /// With one.
    pub(crate) guarded: Vec<Vec<u128>>,
}

/// Everything that goes in: a row a thread.
pub(crate) struct Inputs {
    /// Sources in order.
    pub(crate) sources: Vec<Vec<u128>>,
    /// Whether the guard is true.
    pub(crate) guard: Vec<bool>,
    /// The carry flag before.
    pub(crate) carry: Vec<bool>,
}

/// What destinations hold before the guarded run.
const BEFORE: u128 = 0xa5a5_5a5a_1234_8765_a5a5_5a5a_1234_8765;

impl Instruction {
    /// `op` with a destination and sources of these types, as `u32 u32 f64`; constants as they are.
    pub(crate) fn new(op: &str, types: &str) -> Instruction {
        let mut operands: Vec<Operand> = types
            .split_whitespace()
            .map(|word| match ScalarType::from_text(word) {
                Some(ty) => Operand::Source(ty),
                None => Operand::Constant(word.parse().unwrap_or_else(|_| panic!("{word}"))),
            })
            .collect();
        if let Operand::Source(ty) = operands[0] {
            operands[0] = Operand::Destination(ty);
        }
        Instruction { op: op.into(), operands }
    }

    /// Makes the second operand the other half of the destination `d|p`.
    pub(crate) fn paired(mut self) -> Instruction {
        if let Operand::Source(ty) = self.operands[1] {
            self.operands[1] = Operand::Destination(ty);
        }
        self
    }

    /// Types of the sources.
    pub(crate) fn sources(&self) -> Vec<ScalarType> {
        let sources = self.operands.iter();
        sources.filter_map(|o| if let Operand::Source(ty) = o { Some(*ty) } else { None }).collect()
    }

    /// Types of the destinations.
    pub(crate) fn destinations(&self) -> Vec<ScalarType> {
        let all = self.operands.iter();
        all.filter_map(|o| if let Operand::Destination(ty) = o { Some(*ty) } else { None }).collect()
    }

    /// Whether the carry flag is read or written.
    fn carries(&self) -> bool {
        let opcode = self.op.split('.').next();
        matches!(opcode, Some("addc" | "subc" | "madc")) || self.op.contains(".cc")
    }

    /// The kernel.
    fn kernel(&self, version: &str, target: &str) -> String {
        let mut text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
             .reg .pred %g;\n.reg .b32 %i, %j, %n, %t;\n.reg .b64 %in, %out, %at;\n\
             ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n\
             mov.u32 %i, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %j, %tid.x;\nmad.lo.u32 %i, %i, %n, %j;\n\
             mul.wide.u32 %at, %i, {SLOT};\nadd.u64 %in, %in, %at;\nadd.u64 %out, %out, %at;\n"
        );
        let stride = SLOT * THREADS;
        // Slots: guard, carry, what destinations hold before, sources.
        let load = |text: &mut String, register: &str, ty: ScalarType, slot: usize| {
            let from = format!("[%in+{}]", slot * stride);
            text.push_str(&match width(ty) {
                None => format!("ld.global.u32 %t, {from};\nsetp.ne.u32 {register}, %t, 0;\n"),
                Some(width) => format!("ld.global.b{width} {register}, {from};\n"),
            });
        };
        load(&mut text, "%g", ScalarType::Pred, 0);
        let declare = |text: &mut String, name: &str, ty: ScalarType| {
            let class = width(ty).map_or("pred".to_owned(), |width| format!("b{width}"));
            text.push_str(&format!(".reg .{class} {name};\n"));
        };
        for (at, &ty) in self.sources().iter().enumerate() {
            declare(&mut text, &format!("%s{at}"), ty);
            load(&mut text, &format!("%s{at}"), ty, 3 + at);
        }
        let mut slot = 0;
        for (run, guard) in [("a", ""), ("b", "@%g ")] {
            let destinations = self.destinations();
            for (at, &ty) in destinations.iter().enumerate() {
                declare(&mut text, &format!("%{run}{at}"), ty);
                load(&mut text, &format!("%{run}{at}"), ty, 2);
            }
            if self.carries() {
                // The flag is set exactly where the slot is not zero.
                text.push_str(&format!(
                    "ld.global.u32 %t, [%in+{stride}];\nadd.cc.u32 %t, %t, 0xffffffff;\n"
                ));
            }
            let mut next = 0;
            let mut operands: Vec<String> = Vec::new();
            for operand in &self.operands {
                operands.push(match operand {
                    Operand::Destination(_) => String::new(),
                    Operand::Source(_) => {
                        next += 1;
                        format!("%s{}", next - 1)
                    }
                    Operand::Constant(value) => value.to_string(),
                });
            }
            operands.drain(..destinations.len());
            let written: Vec<String> = (0..destinations.len()).map(|at| format!("%{run}{at}")).collect();
            operands.insert(0, written.join("|"));
            text.push_str(&format!("{guard}{} {};\n", self.op, operands.join(", ")));
            for (at, &ty) in destinations.iter().enumerate() {
                let to = format!("[%out+{}]", slot * stride);
                text.push_str(&match width(ty) {
                    None => format!("selp.u32 %t, 1, 0, %{run}{at};\nst.global.u32 {to}, %t;\n"),
                    Some(width) => format!("st.global.b{width} {to}, %{run}{at};\n"),
                });
                slot += 1;
            }
            if self.carries() {
                text.push_str(&format!("addc.u32 %t, 0, 0;\nst.global.u32 [%out+{}], %t;\n", slot * stride));
                slot += 1;
            }
        }
        text.push_str("ret;\n}\n");
        text
    }

    /// The module, for the first target that has the instruction.
    pub(crate) fn module(&self) -> Arc<Module> {
        let mut messages = Vec::new();
        let newest = ["sm_100a", "sm_90a", "sm_120a", "sm_103a", "sm_107a"].map(|target| ("9.5", target));
        for (version, target) in newest.into_iter().chain([("3.1", "sm_30")]) {
            let parsed = parse(Source::new("instruction.ptx", self.kernel(version, target).into_bytes()));
            if let Some(module) = parsed.module {
                return module.into();
            }
            messages.extend(parsed.diagnostics.into_iter().map(|d| d.message));
        }
        panic!("{self:?}: {messages:?}")
    }

    /// Runs it.
    pub(crate) fn run(&self, simulator: &Simulator, module: Arc<Module>, inputs: &Inputs) -> Results {
        let mut bytes = Vec::new();
        let mut put = |values: &mut dyn Iterator<Item = u128>| {
            bytes.extend(values.flat_map(u128::to_le_bytes));
        };
        put(&mut inputs.guard.iter().map(|&flag| flag.into()));
        put(&mut inputs.carry.iter().map(|&flag| flag.into()));
        put(&mut std::iter::repeat_n(BEFORE, THREADS));
        for source in 0..self.sources().len() {
            put(&mut inputs.sources.iter().map(|row| row[source]));
        }
        let columns = self.destinations().len() + usize::from(self.carries());
        let id = simulator.load(module).unwrap();
        let from = simulator.alloc(bytes.len() as u64, "in").unwrap();
        simulator.write(from, &bytes).unwrap();
        let mut bytes = vec![0; 2 * columns * THREADS * SLOT];
        let to = simulator.alloc(bytes.len() as u64, "out").unwrap();
        simulator.write(to, &bytes).unwrap();
        let launch = Launch {
            kernel: "k".into(),
            grid: Dim3::new(THREADS as u32 / 128, 1, 1),
            cluster: None,
            block: Dim3::new(128, 1, 1),
            shared_bytes: 0,
            params: [from, to].iter().flat_map(|pointer| pointer.to_le_bytes()).collect(),
            cooperative: false,
        };
        let report = simulator.launch(id, &launch, &RunOptions { jobs: 1, ..RunOptions::default() }).unwrap();
        assert_eq!(report.outcome, Outcome::Completed, "{}: {:?}", self.op, report.findings);
        simulator.read(to, &mut bytes).unwrap();
        simulator.free(from).unwrap();
        simulator.free(to).unwrap();
        simulator.unload(id).unwrap();
        let value = |column: usize, thread: usize| {
            let start = (column * THREADS + thread) * SLOT;
            u128::from_le_bytes(bytes[start..start + SLOT].try_into().unwrap())
        };
        let rows = |first: usize| {
            (0..THREADS).map(|thread| (0..columns).map(|c| value(first + c, thread)).collect()).collect()
        };
        Results { plain: rows(0), guarded: rows(columns) }
    }

    /// Asserts that the guarded run wrote exactly where the guard was true.
    pub(crate) fn check_guard(&self, inputs: &Inputs, results: &Results) {
        let mut before: Vec<u128> = self.destinations().iter().map(|&ty| truncate(BEFORE, ty)).collect();
        for thread in 0..THREADS {
            if self.carries() {
                before.truncate(self.destinations().len());
                before.push(inputs.carry[thread].into());
            }
            // What ptxas makes of some instructions under a guard is followed (cli/PTXAS.md).
            let ignored = self.op.starts_with("testp.");
            let mut kept = before.clone();
            if self.op.starts_with("set.") {
                let types = self.destinations();
                kept.iter_mut().zip(types).for_each(|(bits, ty)| *bits = magnitude(*bits, ty));
            }
            let expected = if inputs.guard[thread] || ignored { &results.plain[thread] } else { &kept };
            assert_eq!(&results.guarded[thread], expected, "{} guarded, thread {thread}", self.op);
        }
    }
}

/// The bits as an integer without its sign, converted to the type, if that is a floating-point one.
fn magnitude(bits: u128, ty: ScalarType) -> u128 {
    // Rounds an integer to so many significant bits, to nearest even; floats of 32 bits then hold it.
    let rounded = |value: u32, digits: u32| {
        let drop = (32 - value.leading_zeros()).saturating_sub(digits);
        let half = (1u32 << drop) >> 1;
        let odd = value >> drop & 1;
        (value + half.saturating_sub(1 - odd.min(half))) >> drop << drop
    };
    let narrow = u32::from((bits as u16 as i16).unsigned_abs());
    match ty {
        ScalarType::F32 => ((bits as u32 as i32).unsigned_abs() as f32).to_bits().into(),
        ScalarType::Bf16 => ((rounded(narrow, 8) as f32).to_bits() >> 16).into(),
        // From the exponent and mantissa of the same number in 32 bits.
        ScalarType::F16 => {
            let wide = (rounded(narrow, 11) as f32).to_bits();
            if wide == 0 { 0 } else { ((wide >> 13) - ((127 - 15) << 10)).into() }
        }
        _ => bits,
    }
}

/// Bits of the register that a value of this type lives in; predicates have none.
fn width(ty: ScalarType) -> Option<u32> {
    (ty != ScalarType::Pred).then(|| ty.bits().next_power_of_two().max(8))
}

/// The bits of a value of this type.
pub(crate) fn truncate(value: u128, ty: ScalarType) -> u128 {
    match width(ty) {
        None => u128::from(value != 0),
        Some(width) => value & (u128::MAX >> (128 - width)),
    }
}

/// A small generator, so that every run tries the same.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A value of this type, more often than not an awkward one.
    fn value(&mut self, ty: ScalarType) -> u128 {
        let lanes = ty.lanes();
        let bits = if ty == ScalarType::Pred { 1 } else { ty.bits() / lanes };
        let mut value = 0;
        for lane in 0..lanes {
            value |= (self.element(ty, bits) & (u128::MAX >> (128 - bits))) << (lane * bits);
        }
        value
    }

    fn element(&mut self, ty: ScalarType, bits: u32) -> u128 {
        let random = u128::from(self.next()) << 64 | u128::from(self.next());
        let pick = self.next();
        if pick.is_multiple_of(4) {
            return random;
        }
        let pick = (pick >> 8) as usize;
        let fraction = match (ty.class(), bits) {
            (TypeClass::Float, 64) => 52,
            (TypeClass::Float, 32) => 23,
            (TypeClass::Float, 16) if matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2) => 7,
            (TypeClass::Float, 16) => 10,
            // Untyped bits may be anything.
            (TypeClass::Bits, 32) if pick.is_multiple_of(3) => 23,
            _ => {
                const INTEGERS: [i128; 20] =
                    [0, 1, -1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 255, -2, -31, 1000];
                let top = 1i128 << (bits - 1);
                let wide = [top, !top, top | 1, top >> 8, 0x5555_5555, 0x7fff, 0xffff, 0x8000];
                let all = INTEGERS.len() + wide.len();
                let at = pick % all;
                let value = if at < INTEGERS.len() { INTEGERS[at] } else { wide[at - INTEGERS.len()] };
                return value as u128;
            }
        };
        float(fraction, bits, pick)
    }
}

/// Awkward floats by index.
fn float(fraction: u32, bits: u32, pick: usize) -> u128 {
    let exponent_bits = bits - 1 - fraction;
    let bias = (1i128 << (exponent_bits - 1)) - 1;
    let infinity = ((1i128 << exponent_bits) - 1) << fraction;
    let normal = |exponent: i128| ((exponent + bias) << fraction).clamp(0, infinity);
    let one = normal(0);
    let magnitudes = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        one,
        one + 1,
        one - 1,
        one + (1 << (fraction - 1)),
        normal(1),
        normal(1) + (1 << (fraction - 2)),
        normal(-1),
        normal(-24),
        normal(7),
        normal(8),
        normal(15),
        normal(16),
        normal(23) + 1,
        normal(31),
        normal(31) - 1,
        normal(32),
        normal(63),
        normal(64),
        normal(bias / 2),
        normal(-bias / 2),
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + (1 << (fraction - 1)),
        infinity + (1 << fraction) - 1,
    ];
    let sign = (pick as i128 >> 16 & 1) << (bits - 1);
    (magnitudes[pick % magnitudes.len()] | sign) as u128
}

impl Inputs {
    /// Tuples for an instruction.
    pub(crate) fn new(instruction: &Instruction, seed: u64) -> Inputs {
        let mut random = Random(seed | 1);
        let types = instruction.sources();
        let sources =
            (0..THREADS).map(|_| types.iter().map(|&ty| random.value(ty)).collect::<Vec<_>>()).collect();
        // Whole warps on, whole warps off, and mixed ones.
        let guard = (0..THREADS)
            .map(|thread| match thread / 32 % 4 {
                0 => true,
                1 => false,
                _ => random.next() >> 20 & 1 != 0,
            })
            .collect();
        let carry = (0..THREADS).map(|_| random.next() >> 20 & 1 != 0).collect();
        Inputs { sources, guard, carry }
    }
}
