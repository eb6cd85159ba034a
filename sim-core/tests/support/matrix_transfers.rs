//! Every form of `wmma.load`, `wmma.store`, `ldmatrix`, `stmatrix` and `movmatrix` that ptxas accepts for
//! `sm_90`, each in a kernel of one warp that takes [`BYTES`] bytes and gives as many.

/// Size of both buffers.
pub(crate) const BYTES: usize = 4096;

/// Rows of a matrix are this much further apart than they must be, in bits.
const SLACK: usize = 256;

/// The input of the recording: numbers of SplitMix64, whose state grows from 0.
pub(crate) fn input() -> Vec<u8> {
    (1..=BYTES as u64 / 8)
        .flat_map(|at| {
            let mut z = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31).to_le_bytes()
        })
        .collect()
}

/// The hash of an output: FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// One form and the kernel around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    /// Opcode and modifiers.
    pub(crate) name: String,
    /// Bits of an element.
    pub(crate) bits: usize,
    /// Registers a lane.
    pub(crate) registers: usize,
    /// Elements from one row (or column) to the next, for `wmma`.
    pub(crate) stride: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    WmmaLoad,
    WmmaStore,
    Ldmatrix,
    Stmatrix,
    Movmatrix,
}

fn wmma(
    list: &mut Vec<Transfer>,
    which: char,
    layout: &str,
    shape: (usize, usize, usize),
    ty: &str,
    bits: usize,
) {
    let (m, n, k) = shape;
    let (rows, columns) = match which {
        'a' => (m, k),
        'b' => (k, n),
        _ => (m, n),
    };
    let count = rows * columns;
    let registers = match (ty, which) {
        ("f16", 'a' | 'b') => 8,
        ("f64", _) => (count / 32).max(1),
        _ => (count * bits / 1024).max(1),
    };
    let stride = if layout == "row" { columns } else { rows } + SLACK / bits;
    let (op, kind) = if which == 'd' { ("store", Kind::WmmaStore) } else { ("load", Kind::WmmaLoad) };
    let name = format!("wmma.{op}.{which}.sync.aligned.{layout}.m{m}n{n}k{k}.{ty}");
    list.push(Transfer { name, bits, registers, stride: Some(stride), kind });
}

/// All forms, in the order of the recording.
pub(crate) fn transfers() -> Vec<Transfer> {
    let mut list = Vec::new();
    let l = &mut list;
    for layout in ["row", "col"] {
        for shape in [(16, 16, 16), (8, 32, 16), (32, 8, 16)] {
            for which in ['a', 'b'] {
                for (ty, bits) in [("f16", 16), ("bf16", 16), ("u8", 8), ("s8", 8)] {
                    wmma(l, which, layout, shape, ty, bits);
                }
            }
            for which in ['c', 'd'] {
                for (ty, bits) in [("f16", 16), ("f32", 32), ("s32", 32)] {
                    wmma(l, which, layout, shape, ty, bits);
                }
            }
        }
        for (shape, ab, c, bits, c_bits) in
            [((16, 16, 8), "tf32", "f32", 32, 32), ((8, 8, 4), "f64", "f64", 64, 64)]
        {
            wmma(l, 'a', layout, shape, ab, bits);
            wmma(l, 'b', layout, shape, ab, bits);
            wmma(l, 'c', layout, shape, c, c_bits);
            wmma(l, 'd', layout, shape, c, c_bits);
        }
        for shape in [(8, 8, 32), (8, 8, 128)] {
            wmma(l, 'c', layout, shape, "s32", 32);
            wmma(l, 'd', layout, shape, "s32", 32);
        }
    }
    for (shape, ty, bits) in [((8, 8, 32), "u4", 4), ((8, 8, 32), "s4", 4), ((8, 8, 128), "b1", 1)] {
        wmma(l, 'a', "row", shape, ty, bits);
        wmma(l, 'b', "col", shape, ty, bits);
    }
    for (op, kind) in [("ldmatrix", Kind::Ldmatrix), ("stmatrix", Kind::Stmatrix)] {
        for registers in [1, 2, 4] {
            for trans in ["", ".trans"] {
                let name = format!("{op}.sync.aligned.m8n8.x{registers}{trans}.shared.b16");
                l.push(Transfer { name, bits: 16, registers, stride: None, kind });
            }
        }
    }
    let name = "movmatrix.sync.aligned.m8n8.trans.b16".into();
    l.push(Transfer { name, bits: 16, registers: 1, stride: None, kind: Kind::Movmatrix });
    list
}

impl Transfer {
    fn width(&self) -> usize {
        if self.bits == 64 { 8 } else { 4 }
    }

    fn class(&self) -> &'static str {
        if self.name.ends_with("f32") && !self.name.ends_with("tf32") {
            "f32"
        } else if self.bits == 64 {
            "f64"
        } else {
            "b32"
        }
    }

    fn vector(&self) -> String {
        let list: Vec<String> = (0..self.registers).map(|r| format!("%r{r}")).collect();
        format!("{{{}}}", list.join(", "))
    }

    /// Moves registers from `%in` or to `%out`.
    fn registers_text(&self, load: bool) -> String {
        let (class, width) = (self.class(), self.width());
        let base = if load { "in" } else { "out" };
        let mut text = format!("\tmad.wide.u32 %p, %lane, {width}, %{base};\n");
        for r in 0..self.registers {
            let at = r * width * 32;
            text += &if load {
                format!("\tld.global.{class} %r{r}, [%p+{at}];\n")
            } else {
                format!("\tst.global.{class} [%p+{at}], %r{r};\n")
            };
        }
        text
    }

    /// Copies 512 bytes between shared memory and `%in` or `%out`.
    fn shared_text(&self, load: bool) -> String {
        let base = if load { "in" } else { "out" };
        let mut text = format!("\tmad.wide.u32 %p, %lane, 4, %{base};\n\tmov.u32 %s, tile;\n");
        text += "\tmad.lo.u32 %s, %lane, 4, %s;\n";
        for at in [0, 128, 256, 384] {
            text += &if load {
                format!("\tld.global.b32 %x, [%p+{at}];\n\tst.shared.b32 [%s+{at}], %x;\n")
            } else {
                format!("\tld.shared.b32 %x, [%s+{at}];\n\tst.global.b32 [%p+{at}], %x;\n")
            };
        }
        text + "\tbar.warp.sync 0xffffffff;\n"
    }

    /// The kernel: parameters are the input and the output.
    pub(crate) fn kernel(&self, entry: &str) -> String {
        let mut text = format!(".visible .entry {entry}(.param .u64 pin, .param .u64 pout)\n{{\n");
        text += "\t.shared .align 16 .b8 tile[512];\n";
        text += &format!("\t.reg .{} %r<{}>;\n", self.class(), self.registers);
        text += "\t.reg .b32 %lane, %s, %x, %row;\n\t.reg .b64 %in, %out, %p;\n";
        text += "\tmov.u32 %lane, %tid.x;\n\tld.param.u64 %in, [pin];\n\tld.param.u64 %out, [pout];\n";
        // Rows come in another order than lanes.
        let row = "\tmul.lo.u32 %row, %lane, 11;\n\tand.b32 %row, %row, 31;\n\tmov.u32 %s, tile;\n\tmad.lo.u32 %row, %row, 16, %s;\n";
        let (name, vector, stride) = (&self.name, self.vector(), self.stride.unwrap_or(0));
        text += &match self.kind {
            Kind::WmmaLoad => format!("\t{name} {vector}, [%in], {stride};\n") + &self.registers_text(false),
            Kind::WmmaStore => self.registers_text(true) + &format!("\t{name} [%out], {vector}, {stride};\n"),
            Kind::Ldmatrix => {
                self.shared_text(true)
                    + row
                    + &format!("\t{name} {vector}, [%row];\n")
                    + &self.registers_text(false)
            }
            Kind::Stmatrix => {
                self.shared_text(true)
                    + &self.registers_text(true)
                    + row
                    + &format!("\t{name} [%row], {vector};\n\tbar.warp.sync 0xffffffff;\n")
                    + &self.shared_text(false)
            }
            Kind::Movmatrix => {
                self.registers_text(true) + &format!("\t{name} %r0, %r0;\n") + &self.registers_text(false)
            }
        };
        text + "\tret;\n}\n"
    }
}
