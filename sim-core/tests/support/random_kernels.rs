//! Random kernels with divergence, loops, barriers and atomics: the seed says all of one.

use std::fmt::Write;

/// A sequence of numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Registers of each kind, but predicates.
const COUNT: u64 = 6;
/// Words of the input, which all threads read.
pub(crate) const WORDS: u64 = 1024;
/// Words that each thread may write.
pub(crate) const OWN: u64 = 32;
pub(crate) const THREADS: usize = 512;

/// Writes a kernel.
struct Writer {
    random: Random,
    text: String,
    labels: u32,
    depth: u32,
    /// Whether threads race.
    racy: bool,
    /// Whether all warps have all lanes.
    whole: bool,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let guard = match self.random.below(8) {
            0 => format!("@%p{} ", self.random.below(4)),
            1 => format!("@!%p{} ", self.random.below(4)),
            _ => String::new(),
        };
        writeln!(self.text, "    {guard}{line}").unwrap();
    }

    fn register(&mut self, kind: &str) -> String {
        format!("%{kind}{}", self.random.below(COUNT))
    }

    /// A source: a register, now and then a constant.
    fn source(&mut self, kind: &str) -> String {
        if self.random.below(4) > 0 {
            return self.register(kind);
        }
        match kind {
            "f" => self
                .random
                .pick(&["0f3F800000", "0fC0490FDB", "0f00000000", "0f7F800000", "0f00000001"])
                .into(),
            "d" => {
                self.random.pick(&["0d3FF0000000000000", "0dC00921FB54442D18", "0d7FF0000000000000"]).into()
            }
            _ => self.random.pick(&["0", "1", "-1", "3", "31", "1664525", "-2147483648"]).into(),
        }
    }

    fn operation(&mut self) {
        let (r, rd, f, d) = ("r", "rd", "f", "d");
        if self.racy && self.random.below(4) == 0 {
            return self.race();
        }
        let float = |random: &mut Random| random.pick(&["add", "sub", "mul", "add.rn", "mul.rn"]);
        match self.random.below(32) {
            27 => self.flushed(),
            28 => self.rounded(),
            29 => self.bits(),
            30 | 31 => self.local(),
            22 | 23 => self.function(),
            24 | 25 => self.conversion(),
            26 => self.narrow(),
            0..=2 => {
                let op = self.random.pick(&[
                    "add.s32",
                    "sub.u32",
                    "mul.lo.s32",
                    "and.b32",
                    "or.b32",
                    "xor.b32",
                    "min.s32",
                    "max.u32",
                    "min.u32",
                    "max.s32",
                    "mul.hi.u32",
                    "add.u32",
                    "div.u32",
                ]);
                let (to, a, b) = (self.register(r), self.register(r), self.source(r));
                self.line(&format!("{op} {to}, {a}, {b};"));
            }
            3 => {
                let op = self.random.pick(&["shl.b32", "shr.u32", "shr.s32"]);
                let (to, a) = (self.register(r), self.register(r));
                let by = if self.random.below(2) == 0 {
                    self.register(r)
                } else {
                    self.random.below(40).to_string()
                };
                self.line(&format!("{op} {to}, {a}, {by};"));
            }
            4 => {
                let op = self.random.pick(&["shl.b64", "shr.u64", "shr.s64"]);
                let (to, a) = (self.register(rd), self.register(rd));
                let by = if self.random.below(2) == 0 {
                    self.register(r)
                } else {
                    self.random.below(70).to_string()
                };
                self.line(&format!("{op} {to}, {a}, {by};"));
            }
            5 | 6 => {
                let op = self.random.pick(&[
                    "add.s64",
                    "sub.u64",
                    "mul.lo.u64",
                    "and.b64",
                    "or.b64",
                    "xor.b64",
                    "min.s64",
                    "max.u64",
                    "min.u64",
                    "max.s64",
                ]);
                let (to, a, b) = (self.register(rd), self.register(rd), self.source(rd));
                self.line(&format!("{op} {to}, {a}, {b};"));
            }
            7 => {
                let op = self.random.pick(&["mad.lo.s32", "lop3.b32"]);
                let (to, a, b, c) = (self.register(r), self.register(r), self.source(r), self.source(r));
                let table =
                    if op == "lop3.b32" { format!(", {}", self.random.below(256)) } else { String::new() };
                self.line(&format!("{op} {to}, {a}, {b}, {c}{table};"));
            }
            8 => {
                let op = self.random.pick(&["mul.wide.s32", "mul.wide.u32"]);
                let (to, a, b) = (self.register(rd), self.register(r), self.source(r));
                self.line(&format!("{op} {to}, {a}, {b};"));
            }
            9 => {
                let op = self.random.pick(&["mad.wide.s32", "mad.wide.u32"]);
                let (to, a, b, c) = (self.register(rd), self.register(r), self.source(r), self.register(rd));
                self.line(&format!("{op} {to}, {a}, {b}, {c};"));
            }
            10 => {
                let (wide, low, high) = (self.register(rd), self.register(r), self.register(r));
                let line = match self.random.below(6) {
                    0 => format!("cvt.s64.s32 {wide}, {low};"),
                    1 => format!("cvt.u64.u32 {wide}, {low};"),
                    2 => format!("cvt.u32.u64 {low}, {wide};"),
                    3 => format!("mov.b64 {wide}, {{{low}, {high}}};"),
                    4 if low != high => format!("mov.b64 {{{low}, {high}}}, {wide};"),
                    _ => format!("not.b32 {low}, {high};"),
                };
                self.line(&line);
            }
            11..=13 => {
                let (op, to, a, b) =
                    (float(&mut self.random), self.register(f), self.register(f), self.source(f));
                self.line(&format!("{op}.f32 {to}, {a}, {b};"));
            }
            14 => {
                let (op, to, a, b) =
                    (float(&mut self.random), self.register(d), self.register(d), self.source(d));
                self.line(&format!("{op}.f64 {to}, {a}, {b};"));
            }
            15 => {
                let (kind, ty) = if self.random.below(2) == 0 { (f, "f32") } else { (d, "f64") };
                let (to, a, b, c) =
                    (self.register(kind), self.register(kind), self.source(kind), self.source(kind));
                self.line(&format!("fma.rn.{ty} {to}, {a}, {b}, {c};"));
            }
            16 => {
                let line = match self.random.below(4) {
                    0 => format!("cvt.rn.f32.s32 {}, {};", self.register(f), self.register(r)),
                    1 => format!("cvt.rzi.s32.f32 {}, {};", self.register(r), self.register(f)),
                    2 => format!("mov.b32 {}, {};", self.register(f), self.register(r)),
                    _ => format!("cvt.f64.f32 {}, {};", self.register(d), self.register(f)),
                };
                self.line(&line);
            }
            17 | 18 => self.comparison(),
            19 => {
                let p = self.random.below(4);
                let line = match self.random.below(3) {
                    0 => format!(
                        "selp.b32 {}, {}, {}, %p{p};",
                        self.register(r),
                        self.register(r),
                        self.source(r)
                    ),
                    1 => format!(
                        "selp.b64 {}, {}, {}, %p{p};",
                        self.register(rd),
                        self.register(rd),
                        self.source(rd)
                    ),
                    _ => format!(
                        "{} %p{}, %p{p}, %p{};",
                        self.random.pick(&["and.pred", "or.pred", "xor.pred"]),
                        self.random.below(4),
                        self.random.below(4)
                    ),
                };
                self.line(&line);
            }
            20 => self.vector(),
            _ => self.access(),
        }
    }

    /// Functions of one or two values.
    fn function(&mut self) {
        let (kind, types) = [
            (
                "f",
                "neg.f32 abs.f32 sqrt.rn.f32 rcp.rn.f32 min.f32 max.f32 div.rn.f32 ex2.approx.f32 min.NaN.f32",
            ),
            ("d", "neg.f64 abs.f64 sqrt.rn.f64 rcp.rn.f64 min.f64 max.f64 div.rn.f64 add.rz.f64"),
            ("r", "neg.s32 abs.s32 mul.hi.s32 mul.hi.u32 mul24.lo.u32 rem.s32 popc.b32 clz.b32"),
            ("rd", "neg.s64 abs.s64 not.b64 mul.hi.u64"),
        ][self.random.below(4) as usize];
        let all: Vec<_> = types.split(' ').collect();
        let op = self.random.pick(&all);
        let (to, a, b) = (self.register(kind), self.register(kind), self.source(kind));
        let two =
            ["min", "max", "div", "add", "mul", "mul24", "rem"].contains(&op.split('.').next().unwrap());
        let to = if op.starts_with("popc") || op.starts_with("clz") { self.register("r") } else { to };
        self.line(&if two { format!("{op} {to}, {a}, {b};") } else { format!("{op} {to}, {a};") });
    }

    /// Floats of which subnormal ones are zeros, some of them near those.
    fn flushed(&mut self) {
        let (to, a, b, c) = (self.register("f"), self.register("f"), self.source("f"), self.register("f"));
        let p = self.random.below(4);
        let near = self.random.pick(&["0f00800000", "0f807FFFFF", "0f3F000001", "0f00FFFFFF", "0f7F7FFFFF"]);
        let b = if self.random.below(3) == 0 { near.to_string() } else { b };
        let line = match self.random.below(8) {
            0 => format!(
                "{}.ftz.f32 {to}, {a}, {b};",
                self.random.pick(&["add", "sub", "mul", "add.rn", "mul.rn"])
            ),
            1 => format!("fma.rn.ftz.f32 {to}, {a}, {b}, {c};"),
            2 => format!("{}.ftz.f32 {to}, {a}, {b};", self.random.pick(&["min", "max"])),
            3 => format!("{}.ftz.f32 {to}, {a};", self.random.pick(&["neg", "abs", "sqrt.rn", "rcp.rn"])),
            4 => format!("setp.{}.ftz.f32 %p{p}, {a}, {b};", self.random.pick(&["lt", "eq", "geu", "nan"])),
            5 => format!(
                "cvt.{}.ftz.f32.f32 {to}, {a};",
                self.random.pick(&["rni", "rmi", "rpi", "rzi", "sat"])
            ),
            6 => format!("div.rn.ftz.f32 {to}, {a}, {b};"),
            _ => format!(
                "cvt.{}.ftz.s32.f32 {}, {a};",
                self.random.pick(&["rni", "rzi", "rmi"]),
                self.register("r")
            ),
        };
        self.line(&line.replace("sat.ftz.f32.f32", "ftz.sat.f32.f32"));
    }

    /// Floats rounded in any direction, and to integral values; sums that take products in.
    fn rounded(&mut self) {
        let (kind, ty) = if self.random.below(3) == 0 { ("d", "f64") } else { ("f", "f32") };
        let (to, a, b, c) = (self.register(kind), self.register(kind), self.source(kind), self.source(kind));
        let rounding = self.random.pick(&["rz", "rm", "rp"]);
        match self.random.below(6) {
            0 => {
                let op = self.random.pick(&["add", "sub", "mul", "div"]);
                self.line(&format!("{op}.{rounding}.{ty} {to}, {a}, {b};"));
            }
            1 => self.line(&format!("fma.{rounding}.{ty} {to}, {a}, {b}, {c};")),
            2 => {
                let rounding = self.random.pick(&["rni", "rmi", "rpi", "rzi"]);
                self.line(&format!("cvt.{rounding}.{ty}.{ty} {to}, {a};"));
            }
            3 => {
                let (to, from) = (self.register("f"), self.register("f"));
                self.line(&format!("cvt.sat.f32.f32 {to}, {from};"));
            }
            4 => self.line(&format!("copysign.{ty} {to}, {a}, {b};")),
            _ => {
                // The product is of no other use.
                let sum = self.random.pick(&["add", "sub"]);
                writeln!(self.text, "    mul.{ty} %m{kind}, {a}, {b};").unwrap();
                let line = match self.random.below(2) {
                    0 => format!("    {sum}.{ty} {to}, %m{kind}, {c};"),
                    _ => format!("    {sum}.{ty} {to}, {a}, %m{kind};"),
                };
                writeln!(self.text, "{line}").unwrap();
            }
        }
    }

    /// Quotients, parts of words, bits.
    fn bits(&mut self) {
        let (to, a, b) = (self.register("r"), self.register("r"), self.source("r"));
        let (low, high) = (self.register("h"), self.register("h"));
        let line = match self.random.below(7) {
            0 | 1 => {
                format!("{} {to}, {a}, {b};", self.random.pick(&["div.u32", "div.s32", "rem.u32", "rem.s32"]))
            }
            2 => format!("{}.b32 {to}, {a};", self.random.pick(&["popc", "clz"])),
            3 => format!("mov.b32 {to}, {{{low}, {high}}};"),
            4 if low != high => format!("mov.b32 {{{low}, {high}}}, {a};"),
            5 => {
                let op = self.random.pick(&["shr.u16", "shr.s16", "shl.b16"]);
                format!("{op} {low}, {high}, {a};")
            }
            _ => {
                let op = self.random.pick(&["mul.wide.s16", "mul.wide.u16"]);
                format!("{op} {to}, {low}, {high};")
            }
        };
        self.line(&line);
    }

    /// A thread's own array: at places that are known, the same for all, or any.
    fn local(&mut self) {
        let (r, f, rd, d) = (self.register("r"), self.register("f"), self.register("rd"), self.register("d"));
        let address = match self.random.below(4) {
            0 => self.random.pick(&["array", "other"]).to_string(),
            1 => "%array".to_string(),
            2 => {
                writeln!(self.text, "    shr.u32 %t0, %tid0, 5;\n    and.b32 %t0, %t0, 3;").unwrap();
                writeln!(self.text, "    mul.wide.u32 %a0, %t0, 8;\n    add.s64 %a0, %a0, %array;").unwrap();
                "%a0".to_string()
            }
            _ => {
                writeln!(self.text, "    and.b32 %t0, {r}, 3;").unwrap();
                writeln!(self.text, "    mul.wide.u32 %a0, %t0, 8;\n    add.s64 %a0, %a0, %array;").unwrap();
                "%a0".to_string()
            }
        };
        let place = self.random.below(4);
        let line = match self.random.below(12) {
            0 | 1 => format!("st.local.u32 [{address}+{}], {r};", 4 * place),
            2 | 3 => format!("ld.local.f32 {f}, [{address}+{}];", 4 * place),
            4 => format!("st.local.f64 [{address}+{}], {d};", 8 * place),
            5 => format!("ld.local.u64 {rd}, [{address}+{}];", 8 * place),
            6 => format!("st.local.u8 [{address}+{}], {r};", place),
            7 => format!("ld.local.s8 {r}, [{address}+{}];", place),
            8 => format!("ld.local.u16 {}, [{address}+{}];", self.register("h"), 2 * place),
            9 => format!("st.local.u16 [{address}+{}], {r};", 2 * place),
            10 => format!("ld.local.v2.f32 {{%f1, %f4}}, [{address}+{}];", 8 * place),
            _ => format!("st.local.v2.u32 [{address}+{}], {{%r1, %r4}};", 8 * place),
        };
        self.line(&line);
    }

    /// Between types.
    fn conversion(&mut self) {
        let all = [
            ("rn.f32.s32", "f", "r"),
            ("rn.f32.u32", "f", "r"),
            ("rn.f32.s64", "f", "rd"),
            ("rn.f32.u64", "f", "rd"),
            ("rn.f64.s32", "d", "r"),
            ("rn.f64.u32", "d", "r"),
            ("rn.f64.s64", "d", "rd"),
            ("rn.f64.u64", "d", "rd"),
            ("rzi.s32.f32", "r", "f"),
            ("rni.s32.f32", "r", "f"),
            ("rmi.s32.f32", "r", "f"),
            ("rzi.u32.f32", "r", "f"),
            ("rpi.u32.f32", "r", "f"),
            ("rzi.s32.f64", "r", "d"),
            ("rni.s32.f64", "r", "d"),
            ("rzi.u32.f64", "r", "d"),
            ("rmi.u32.f64", "r", "d"),
            ("rzi.s64.f64", "rd", "d"),
            ("rn.f32.f64", "f", "d"),
            ("f64.f32", "d", "f"),
            ("rz.f32.s32", "f", "r"),
            ("u32.u16", "r", "h"),
            ("s32.s16", "r", "h"),
            ("u32.u8", "r", "r"),
            ("s32.s8", "r", "r"),
            ("u8.u32", "r", "r"),
            ("s8.s32", "r", "r"),
            ("u16.u32", "h", "r"),
            ("s16.s32", "r", "r"),
            ("u16.u8", "h", "h"),
            ("rn.f32.u16", "f", "h"),
            ("sat.u8.s32", "r", "r"),
            ("rn.f16.f32", "h", "f"),
            ("f32.f16", "f", "h"),
            ("rn.bf16.f32", "h", "f"),
            ("f32.bf16", "f", "h"),
            ("rz.f16.f32", "h", "f"),
            ("s16.s8", "h", "h"),
            ("u64.u16", "rd", "h"),
            ("s64.s16", "rd", "h"),
            ("s64.s8", "rd", "r"),
            ("u16.u64", "h", "rd"),
            ("rn.f64.s16", "d", "h"),
            ("rn.f32.s8", "f", "r"),
            ("rn.f64.u8", "d", "r"),
            ("rzi.u8.f32", "r", "f"),
            ("rni.s8.f32", "r", "f"),
            ("rzi.s16.f32", "h", "f"),
            ("rpi.u16.f32", "h", "f"),
            ("rzi.u64.f64", "rd", "d"),
            ("rmi.s64.f64", "rd", "d"),
            ("rzi.s64.f32", "rd", "f"),
            ("rni.u64.f32", "rd", "f"),
        ];
        let (types, to, from) = all[self.random.below(all.len() as u64) as usize];
        let (to, from) = (self.register(to), self.register(from));
        self.line(&format!("cvt.{types} {to}, {from};"));
    }

    /// Halves of words, and words beside each other.
    fn narrow(&mut self) {
        let (to, a, b) = (self.register("h"), self.register("h"), self.register("h"));
        let (r, low, high) = (self.register("r"), self.register("r"), self.register("r"));
        match self.random.below(4) {
            0 => {
                let op = self.random.pick(&[
                    "add.s16",
                    "sub.u16",
                    "mul.lo.u16",
                    "and.b16",
                    "or.b16",
                    "xor.b16",
                    "min.s16",
                    "shl.b16",
                ]);
                let b = if op.starts_with("shl") { low } else { b };
                self.line(&format!("{op} {to}, {a}, {b};"));
            }
            1 => {
                let amount = if self.random.below(2) == 0 {
                    self.register("r")
                } else {
                    self.random.below(36).to_string()
                };
                let op = self.random.pick(&["l.wrap", "r.wrap", "l.clamp", "r.clamp"]);
                self.line(&format!("shf.{op}.b32 {r}, {low}, {high}, {amount};"));
            }
            2 => {
                let p = self.random.below(4);
                self.line(&format!("selp.b16 {to}, {a}, {b}, %p{p};"));
            }
            _ => {
                let p = self.random.below(4);
                let (cmp, ty) = (self.random.pick(&["eq", "lt", "ge"]), self.random.pick(&["s16", "u16"]));
                self.line(&format!("setp.{cmp}.{ty} %p{p}, {a}, {b};"));
            }
        }
    }

    fn comparison(&mut self) {
        let (kind, ty) =
            [("r", "s32"), ("r", "u32"), ("rd", "s64"), ("rd", "u64"), ("f", "f32"), ("d", "f64")]
                [self.random.below(6) as usize];
        let integers = ["eq", "ne", "lt", "le", "gt", "ge"];
        let floats = ["eq", "ne", "lt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
        let cmp = if kind.starts_with('r') { self.random.pick(&integers) } else { self.random.pick(&floats) };
        let (p, a, b) = (self.random.below(4), self.register(kind), self.source(kind));
        let line = match self.random.below(4) {
            0 => format!("setp.{cmp}.and.{ty} %p{p}, {a}, {b}, %p{};", self.random.below(4)),
            1 => format!("setp.{cmp}.{ty} %p{p}|%p{}, {a}, {b};", (p + 1) % 4),
            _ => format!("setp.{cmp}.{ty} %p{p}, {a}, {b};"),
        };
        self.line(&line);
    }

    /// Accesses what other threads access too, in whatever order.
    fn race(&mut self) {
        let (register, place) = (self.register("r"), 4 * self.random.below(4));
        let mask = self.random.pick(&["0", "28", "124"]);
        writeln!(self.text, "    and.b32 %t0, %tid0, {mask};\n    add.u32 %t0, %t0, %raced;").unwrap();
        match self.random.below(4) {
            0 => self.line(&format!("ld.shared.u32 {register}, [%t0+{place}];")),
            1 => self.line(&format!("st.shared.u32 [%t0+{place}], {register};")),
            2 => self.line(&format!("ld.shared.u8 {register}, [%t0+{place}];")),
            _ => {
                self.line(&format!("ld.shared.u32 %t1, [%t0+{place}];"));
                self.line("add.u32 %t1, %t1, 1;");
                self.line(&format!("st.shared.u32 [%t0+{place}], %t1;"));
            }
        }
    }

    /// Several elements a lane, and narrow ones, at any places, consecutive ones and the same for many lanes.
    fn vector(&mut self) {
        let register = self.register("r");
        let (place, kind) = (self.random.below(5), self.random.below(22));
        let text = match place {
            0 => format!(
                "    and.b32 %t0, {register}, 1008;\n    cvt.u64.u32 %a0, %t0;\n    add.s64 %a0, %a0, %in;"
            ),
            1 => {
                let shift = self.random.pick(&["1", "2", "3", "4"]);
                format!(
                    "    shl.b32 %t0, %tid0, {shift};\n    and.b32 %t0, %t0, 4095;\n    cvt.u64.u32 %a0, %t0;\n    add.s64 %a0, %a0, %in;"
                )
            }
            2 => "    shr.u32 %t0, %tid0, 5;\n    mul.wide.u32 %a0, %t0, 16;\n    add.s64 %a0, %a0, %in;"
                .into(),
            3 => "    mov.b64 %a0, %own;".into(),
            _ => "    mov.b32 %t0, %sown;".into(),
        };
        writeln!(self.text, "{text}").unwrap();
        let (space, address) = if place == 4 { ("shared", "%t0") } else { ("global", "%a0") };
        let own = place >= 3;
        let (bytes, four) = (self.random.below(12), 16 * u64::from(place == 3) * self.random.below(7));
        let line = match kind {
            0 => format!("ld.{space}.u8 {register}, [{address}+{bytes}];"),
            1 => format!("ld.{space}.s8 {register}, [{address}+{bytes}];"),
            2 => format!("ld.{space}.u16 {register}, [{address}+{}];", bytes & 14),
            3 => format!("ld.{space}.s16 {register}, [{address}+{}];", bytes & 14),
            4 => format!("ld.{space}.u16 {}, [{address}+{}];", self.register("h"), bytes & 14),
            // Only addresses that are multiples, now and then: others end in a fault.
            5 if place != 1 => format!("ld.{space}.v2.u32 {{%r1, %r4}}, [{address}+{four}];"),
            6 if place != 1 => format!("ld.{space}.v4.f32 {{%f0, %f1, %f5, %f2}}, [{address}+{four}];"),
            7 if place != 1 => format!("ld.{space}.v2.f64 {{%d3, %d1}}, [{address}+{four}];"),
            8 if place != 1 => format!("ld.{space}.v4.u32 {{%r1, _, %r0, %r2}}, [{address}+{four}];"),
            9 if own => format!("st.{space}.v2.f32 [{address}+{four}], {{%f3, %f1}};"),
            10 if own => format!("st.{space}.v4.u32 [{address}+{four}], {{%r3, %r1, %r5, %r5}};"),
            11 if own => format!("st.{space}.v2.u64 [{address}+{four}], {{%rd3, %rd1}};"),
            12 if own => format!("st.{space}.u8 [{address}+{bytes}], {register};"),
            13 if own => format!("st.{space}.u16 [{address}+{}], {};", bytes & 14, self.register("h")),
            14 if place != 1 => format!("ld.{space}.v4.u8 {{%h1, %h3, _, %h0}}, [{address}+{}];", bytes & 12),
            15 if place != 1 => format!("ld.{space}.v2.s16 {{%r4, %r2}}, [{address}+{}];", bytes & 12),
            16 if place != 1 => {
                format!("ld.{space}.v4.s16 {{%h4, %h2, %h5, %h1}}, [{address}+{}];", bytes & 8)
            }
            17 if own => format!("st.{space}.v4.u8 [{address}+{}], {{%h1, %h3, %h1, %h0}};", bytes & 12),
            18 if own => format!("st.{space}.v2.u8 [{address}+{}], {{%h2, %h3}};", bytes & 14),
            19 if own => format!("st.{space}.v4.u16 [{address}+{}], {{%h2, %h3, %h0, %h5}};", bytes & 8),
            20 => format!("ld.volatile.shared.u32 {register}, [%sown+{}];", bytes & 12),
            21 => format!("st.volatile.shared.u32 [%sown+{}], {register};", bytes & 12),
            _ => format!("ld.{space}.b32 {register}, [{address}];").replace("[%a0]", "[%in]"),
        };
        self.line(&line);
        // Each thread's own elements beside those of the others.
        if self.random.below(3) == 0 {
            let (shift, line) = [
                (0, "ld.global.s8 %r2, [%a0];"),
                (1, "ld.global.u16 %r3, [%a0];"),
                (3, "ld.global.v2.f32 {%f2, %f4}, [%a0];"),
                (4, "ld.global.v4.u32 {%r2, %r4, %r1, %r0}, [%a0];"),
                (4, "ld.global.v2.f64 {%d0, %d2}, [%a0];"),
            ][self.random.below(5) as usize];
            writeln!(self.text, "    and.b32 %t0, %tid0, 127;\n    shl.b32 %t0, %t0, {shift};").unwrap();
            writeln!(self.text, "    cvt.u64.u32 %a0, %t0;\n    add.s64 %a0, %a0, %in;").unwrap();
            self.line(line);
            let (shift, line) = [
                (0, "st.shared.u8 [%t0+12800], %r1;"),
                (1, "st.shared.u16 [%t0+12288], %h1;"),
                (3, "st.shared.v2.u32 [%t0+8192], {%r1, %r2};"),
                (4, "st.shared.v4.f32 [%t0], {%f1, %f2, %f3, %f0};"),
                (4, "st.shared.v2.f64 [%t0], {%d1, %d3};"),
            ][self.random.below(5) as usize];
            writeln!(self.text, "    shl.b32 %t0, %tid0, {shift};\n    add.u32 %t0, %t0, %wide;").unwrap();
            self.line(line);
            let load = line.replace("st.", "ld.").replace(';', "");
            let (op, rest) = load.split_once(' ').unwrap();
            let (address, registers) = rest.split_once(", ").unwrap();
            self.line(&format!("{op} {registers}, {address};"));
        }
    }

    fn access(&mut self) {
        let (register, wide) = (self.register("r"), self.register("rd"));
        let (f, d) = (self.register("f"), self.register("d"));
        let own = 4 * self.random.below(OWN - 2);
        match self.random.below(18) {
            16 | 17 => self.atomic(),
            // Anywhere in the input, at consecutive places, at one place for half a warp, for all.
            0 | 1 => {
                writeln!(self.text, "    and.b32 %t0, {register}, {};", WORDS - 2).unwrap();
                writeln!(self.text, "    mul.wide.u32 %a0, %t0, 4;\n    add.s64 %a0, %a0, %in;").unwrap();
                let line = match self.random.below(3) {
                    0 => format!("ld.global.u64 {wide}, [%a0];"),
                    1 => "ld.global.v2.u32 {%r0, %r1}, [%a0];".into(),
                    _ => format!("ld.global.f32 {f}, [%a0];"),
                };
                self.line(&line);
            }
            2 => self.line(&format!("ld.global.u32 {register}, [%inown+{own}];")),
            3 => {
                let shift = self.random.pick(&["4", "5", "1"]);
                writeln!(self.text, "    shr.u32 %t0, %tid0, {shift};\n    mul.wide.u32 %a0, %t0, 8;\n    add.s64 %a0, %a0, %in;").unwrap();
                let line = if self.random.below(2) == 0 {
                    format!("ld.global.f32 {f}, [%a0+{own}];")
                } else {
                    format!("ld.global.f64 {d}, [%a0+{}];", own / 8 * 8)
                };
                self.line(&line);
            }
            4 => self.line(&format!("st.global.u32 [%own+{own}], {register};")),
            5 => self.line(&format!("st.global.f64 [%own+{}], {d};", own / 8 * 8)),
            6 => self.line(&format!("st.shared.u32 [%sown+{}], {register};", own % 16)),
            7 => self.line(&format!("ld.shared.f32 {f}, [%sown+{}];", own % 16)),
            8 => self.line(&format!("st.shared.u64 [%sown+{}], {wide};", own % 16 / 8 * 8)),
            9 => self.line(&format!("ld.shared.u64 {wide}, [%sown+{}];", own % 16 / 8 * 8)),
            10 => self.line(&format!("ld.global.u8 {register}, [%inown+{own}];")),
            11 => {
                let op = self.random.pick(&["add.u32", "xor.b32", "max.s32", "exch.b32"]);
                let by = self.source("r");
                self.line(&format!("atom.global.{op} {register}, [%own+{own}], {by};"));
            }
            12 => {
                let op = self.random.pick(&["add.u32", "min.u32", "and.b32"]);
                let by = self.source("r");
                self.line(&format!("atom.shared.{op} {register}, [%sown+{}], {by};", own % 16));
            }
            13 => self.line(&format!("st.global.v2.u32 [%own+{}], {{%r2, {register}}};", own / 8 * 8)),
            14 => self.line(&format!("st.global.u16 [%own+{own}], {register};")),
            _ => {
                let place = 4 * self.random.below(8);
                self.line(&format!("red.global.add.u32 [%counts+{place}], {register};"));
            }
        }
    }

    /// Atomics, some of them of several lanes of a warp on one element.
    fn atomic(&mut self) {
        let (r, rd, f, d) = ("r", "rd", "f", "d");
        let (kind, types) = [
            (
                r,
                "add.u32 add.s32 min.u32 min.s32 max.u32 max.s32 and.b32 or.b32 xor.b32 exch.b32 inc.u32 dec.u32 cas.b32",
            ),
            (rd, "add.u64 min.u64 min.s64 max.u64 max.s64 and.b64 or.b64 xor.b64 exch.b64 cas.b64"),
            (f, "add.f32"),
            (d, "add.f64"),
        ][self.random.below(4) as usize];
        let all: Vec<_> = types.split(' ').collect();
        let (op, mask) = (self.random.pick(&all), self.random.pick(&["-1", "-1", "-4", "-32"]));
        let (to, by, other) = (self.register(kind), self.source(kind), self.source(kind));
        let operands = if op.starts_with("cas") { format!("{by}, {other}") } else { by };
        writeln!(self.text, "    and.b32 %t0, %tid0, {mask};\n    sub.u32 %t0, %tid0, %t0;").unwrap();
        let (space, address) = if self.random.below(2) == 0 {
            writeln!(self.text, "    shl.b32 %t0, %t0, 4;\n    sub.u32 %t0, %sown, %t0;").unwrap();
            ("shared", "%t0")
        } else {
            writeln!(self.text, "    mul.wide.u32 %a0, %t0, 128;\n    sub.s64 %a0, %own, %a0;").unwrap();
            ("global", "%a0")
        };
        let place = 8 * self.random.below(2);
        match self.random.below(4) {
            0 if !op.starts_with("cas") && !op.starts_with("exch") => {
                self.line(&format!("red.{space}.{op} [{address}+{place}], {operands};"));
            }
            // The old value where the address was.
            1 if kind == r && space == "shared" || kind == rd && space == "global" => {
                writeln!(self.text, "    atom.{space}.{op} {address}, [{address}+{place}], {operands};")
                    .unwrap();
                self.line(&format!("mov.b{} {to}, {address};", if kind == r { 32 } else { 64 }));
            }
            _ => self.line(&format!("atom.{space}.{op} {to}, [{address}+{place}], {operands};")),
        }
    }

    fn block(&mut self, statements: u64) {
        for _ in 0..statements {
            match self.random.below(10) {
                0 if self.depth < 3 => self.condition(),
                1 if self.depth < 3 => self.repetition(),
                2 if self.depth == 0 => writeln!(self.text, "    bar.sync 0;").unwrap(),
                3 if self.depth == 0 && self.whole => self.exchange(),
                _ => self.operation(),
            }
        }
    }

    /// What lanes of a warp tell each other.
    fn exchange(&mut self) {
        let (to, from, p) = (self.register("r"), self.register("r"), self.random.below(4));
        let (q, lane) = (self.random.below(4), self.random.below(32));
        let clamp = self.random.pick(&["31", "0", "0x1c1f", "0x1807", "0x101f"]);
        let line = match self.random.below(10) {
            4 => format!("shfl.sync.idx.b32 {to}, {from}, {lane}, {clamp}, -1;"),
            5 => format!("shfl.sync.up.b32 {to}|%p{p}, {from}, {lane}, {clamp}, -1;"),
            6 => format!("shfl.sync.bfly.b32 {to}|%p{p}, {from}, {lane}, {clamp}, -1;"),
            7 => format!("shfl.sync.idx.b32 {to}|%p{p}, {from}, {}, {clamp}, -1;", self.register("r")),
            8 => {
                let vote = self.random.pick(&["all", "any", "uni"]);
                let not = self.random.pick(&["", "!"]);
                format!("vote.sync.{vote}.pred %p{p}, {not}%p{q}, -1;")
            }
            9 => "bar.warp.sync -1;".into(),
            0 => format!("shfl.sync.bfly.b32 {to}, {from}, {}, 31, -1;", 1 << self.random.below(5)),
            1 => format!("shfl.sync.down.b32 {to}|%p{p}, {from}, {}, 31, -1;", self.random.below(32)),
            2 => format!("vote.sync.ballot.b32 {to}, %p{p}, -1;"),
            _ => format!("redux.sync.add.s32 {to}, {from}, -1;"),
        };
        writeln!(self.text, "    {line}").unwrap();
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn condition(&mut self) {
        let (other, end) = (self.label(), self.label());
        let not = self.random.pick(&["", "!"]);
        writeln!(self.text, "    @{not}%p{} bra L{other};", self.random.below(4)).unwrap();
        self.depth += 1;
        let statements = 1 + self.random.below(5);
        self.block(statements);
        if self.random.below(2) == 0 {
            writeln!(self.text, "    bra L{end};\nL{other}:").unwrap();
            self.block(statements);
            writeln!(self.text, "L{end}:").unwrap();
        } else {
            writeln!(self.text, "L{other}:").unwrap();
        }
        self.depth -= 1;
    }

    fn repetition(&mut self) {
        let (start, depth) = (self.label(), self.depth);
        let bound = match self.random.below(3) {
            0 => format!("    mov.u32 %n{depth}, {};", 1 + self.random.below(5)),
            1 => format!("    and.b32 %n{depth}, {}, 7;", self.register("r")),
            _ => format!("    shr.u32 %n{depth}, %tid0, 4;"),
        };
        writeln!(self.text, "{bound}\nL{start}:").unwrap();
        self.depth += 1;
        let statements = 1 + self.random.below(6);
        self.block(statements);
        self.depth -= 1;
        writeln!(
            self.text,
            "    setp.ne.u32 %q, %n{depth}, 0;\n    add.u32 %n{depth}, %n{depth}, -1;\n    @%q bra L{start};"
        )
        .unwrap();
    }
}

/// The kernel of a seed.
pub(crate) fn kernel(seed: u64, racy: bool, whole: bool) -> String {
    let mut writer = Writer {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        text: String::new(),
        labels: 0,
        depth: 0,
        racy,
        whole,
    };
    for _ in 0..8 {
        writer.random.next();
    }
    let text = &mut writer.text;
    text.push_str(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {
    .reg .b32 %r<6>, %t<2>, %tid0, %sown, %raced, %wide, %n<4>; .reg .b64 %rd<6>, %a0, %in, %inown, %own, %counts;
    .reg .b16 %h<6>; .reg .f32 %f<6>, %mf; .reg .f64 %d<6>, %md; .reg .pred %p<4>, %q; .reg .b64 %array;
    .local .align 8 .b8 other[32]; .local .align 16 .b8 array[64];
    mov.u64 %array, array;
    .shared .align 16 .b8 s[8192]; .shared .align 8 .b8 race[256];
    .shared .align 16 .b8 wide[13312];
    ld.param.u64 %in, [in]; ld.param.u64 %own, [out]; ld.param.u64 %counts, [counts];
    mov.u32 %tid0, %tid.x; mov.u32 %t0, %ctaid.x; mov.u32 %r0, %ntid.x; mad.lo.u32 %t0, %t0, %r0, %tid0;
    mul.wide.u32 %a0, %t0, 4; add.s64 %inown, %in, %a0;
    mul.wide.u32 %a0, %t0, 128; add.s64 %own, %own, %a0;
    shl.b32 %t0, %tid0, 4; mov.u32 %sown, s; mov.u32 %raced, race; mov.u32 %wide, wide; add.u32 %sown, %sown, %t0;
    st.shared.u64 [%sown], %own; st.shared.u64 [%sown+8], %own;\n",
    );
    for at in 0..COUNT {
        writeln!(text, "    ld.global.u32 %r{at}, [%inown+{}];", 4 * at).unwrap();
        writeln!(text, "    cvt.u16.u32 %h{at}, %r{at};").unwrap();
        writeln!(
            text,
            "    cvt.s64.s32 %rd{at}, %r{at}; mov.b32 %f{at}, %r{at}; cvt.rn.f64.s32 %d{at}, %r{at};"
        )
        .unwrap();
    }
    for at in 0..4 {
        writeln!(text, "    setp.lt.s32 %p{at}, %r{at}, %tid0;").unwrap();
    }
    let statements = 8 + writer.random.below(24);
    writer.block(statements);
    let text = &mut writer.text;
    for at in 0..COUNT {
        writeln!(
            text,
            "    st.global.u32 [%own+{}], %r{at}; st.global.f32 [%own+{}], %f{at};",
            4 * at,
            4 * at + 24
        )
        .unwrap();
        writeln!(
            text,
            "    st.global.u64 [%own+{}], %rd{at}; st.global.u16 [%own+{}], %h{at};",
            8 * at + 48,
            2 * at + 104
        )
        .unwrap();
    }
    text.push_str(
        "    add.f64 %d0, %d0, %d1; add.f64 %d0, %d0, %d2; st.global.f64 [%own+96], %d0;\n    ret;\n}\n",
    );
    writer.text
}
