//! Every form of `mma`, `mma.sp` and `wmma.mma` that ptxas accepts for `sm_90`, a kernel for each, and
//! operands that a seed determines: the same on a device and here.
//!
//! A tile is one warp's instruction. Register `r` of an operand in lane `l` of tile `t` lies at element
//! `(t * registers + r) * 32 + l` of the operand's buffer. `testdata/h200/README.md` describes the
//! recording that these tiles are compared with.

/// What an element of a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S32,
    /// Integers of 8, 4 or 1 bits.
    Int(u32),
}

impl Ty {
    /// Bits of an element.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Ty::F16 | Ty::Bf16 => 16,
            Ty::Tf32 | Ty::F32 | Ty::S32 => 32,
            Ty::F64 => 64,
            Ty::E4m3 | Ty::E5m2 => 8,
            Ty::Int(bits) => bits,
        }
    }

    /// Exponent and fraction bits of a float.
    pub(crate) fn float(self) -> Option<(u32, u32)> {
        Some(match self {
            Ty::F16 => (5, 10),
            Ty::Bf16 => (8, 7),
            Ty::Tf32 | Ty::F32 => (8, 23),
            Ty::F64 => (11, 52),
            Ty::E4m3 => (4, 3),
            Ty::E5m2 => (5, 2),
            Ty::S32 | Ty::Int(_) => return None,
        })
    }

    pub(crate) fn named(name: &str) -> Ty {
        match name {
            "f16" => Ty::F16,
            "bf16" => Ty::Bf16,
            "tf32" => Ty::Tf32,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            "e4m3" => Ty::E4m3,
            "e5m2" => Ty::E5m2,
            "s32" => Ty::S32,
            "u8" | "s8" => Ty::Int(8),
            "u4" | "s4" => Ty::Int(4),
            "b1" => Ty::Int(1),
            _ => panic!("no type {name}"),
        }
    }
}

/// One operand: its elements and its registers a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operand {
    pub(crate) ty: Ty,
    pub(crate) registers: usize,
}

impl Operand {
    /// Bytes of a register.
    pub(crate) fn width(self) -> usize {
        if self.ty == Ty::F64 { 8 } else { 4 }
    }
}

/// Metadata of a sparse form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sparse {
    pub(crate) selector: u32,
    /// One of two elements is kept (`.tf32`), not two of four.
    pub(crate) one_of_two: bool,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// Opcode and modifiers.
    pub(crate) name: String,
    /// A, B, C.
    pub(crate) operands: [Operand; 3],
    pub(crate) result: Operand,
    pub(crate) sparse: Option<Sparse>,
    /// Tiles of the recording.
    pub(crate) tiles: usize,
}

/// Tiles of a form whose arithmetic no other form has, and of the others.
pub(crate) const MANY: usize = 1 << 17;
pub(crate) const FEW: usize = 1 << 13;
/// Tiles that one hash covers.
pub(crate) const RUN: usize = 512;
/// Warps of a block of the kernels.
pub(crate) const WARPS: usize = 4;

/// Registers that hold `count` elements of a type, over a warp.
fn registers(ty: Ty, count: usize) -> usize {
    (count * ty.bits() as usize / if ty == Ty::F64 { 64 } else { 32 } / 32).max(1)
}

fn shape_of(name: &str) -> (usize, usize, usize) {
    let shape = name
        .split('.')
        .find(|p| p.starts_with('m') && p.contains('n') && p.contains('k') && !p.starts_with("mma"))
        .expect("a shape");
    let n: Vec<usize> = shape.split(['m', 'n', 'k']).filter_map(|n| n.parse().ok()).collect();
    (n[0], n[1], n[2])
}

pub(crate) fn types_of(name: &str) -> Vec<&str> {
    let known = ["f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s32", "u8", "s8", "u4", "s4", "b1"];
    name.split('.').filter(|p| known.contains(p)).collect()
}

fn operand(ty: Ty, count: usize) -> Operand {
    Operand { ty, registers: registers(ty, count) }
}

fn mma(list: &mut Vec<Form>, name: String, selector: Option<u32>, tiles: usize) {
    let (m, n, k) = shape_of(&name);
    let types: Vec<Ty> = types_of(&name).into_iter().map(Ty::named).collect();
    let [d, a, b, c] = types[..] else { panic!("{name}") };
    // Four products at a time in m8n8k4 on f16.
    let four = if (m, k) == (8, 4) && a == Ty::F16 { 4 } else { 1 };
    let stored = if selector.is_some() { k / 2 } else { k };
    list.push(Form {
        operands: [operand(a, four * m * stored), operand(b, four * k * n), operand(c, four * m * n)],
        result: operand(d, four * m * n),
        sparse: selector.map(|selector| Sparse { selector, one_of_two: a == Ty::Tf32 }),
        name,
        tiles,
    });
}

fn wmma(list: &mut Vec<Form>, name: String, types: [Ty; 4], tiles: usize) {
    let (m, n, k) = shape_of(&name);
    let [d, a, b, c] = types;
    // Fragments of f16 have eight registers whatever the shape.
    let factor = |ty: Ty, count: usize| match ty {
        Ty::F16 => Operand { ty, registers: 8 },
        _ => operand(ty, count),
    };
    list.push(Form {
        operands: [factor(a, m * k), factor(b, k * n), operand(c, m * n)],
        result: operand(d, m * n),
        sparse: None,
        name,
        tiles,
    });
}

/// All forms, in the order of the recording.
pub(crate) fn forms() -> Vec<Form> {
    let mut list = Vec::new();
    let l = &mut list;
    let head = "mma.sync.aligned";
    for shape in ["m16n8k8", "m16n8k16"] {
        mma(l, format!("{head}.{shape}.row.col.f16.f16.f16.f16"), None, MANY);
        mma(l, format!("{head}.{shape}.row.col.f32.f16.f16.f32"), None, MANY);
        mma(l, format!("{head}.{shape}.row.col.f32.bf16.bf16.f32"), None, MANY);
    }
    for shape in ["m16n8k4", "m16n8k8"] {
        mma(l, format!("{head}.{shape}.row.col.f32.tf32.tf32.f32"), None, MANY);
    }
    for a in ["row", "col"] {
        for b in ["row", "col"] {
            for types in ["f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"] {
                let tiles = if (a, b) == ("row", "col") { MANY / 2 } else { FEW };
                mma(l, format!("{head}.m8n8k4.{a}.{b}.{types}"), None, tiles);
            }
        }
    }
    for shape in ["m16n8k16", "m16n8k32"] {
        for c in ["f32", "f16"] {
            for a in ["e4m3", "e5m2"] {
                for b in ["e4m3", "e5m2"] {
                    mma(l, format!("{head}.{shape}.row.col.{c}.{a}.{b}.{c}"), None, MANY);
                }
            }
        }
    }
    for shape in ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"] {
        for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
            let tiles = if matches!(rounding, "" | ".rz") { MANY } else { FEW };
            mma(l, format!("{head}.{shape}.row.col{rounding}.f64.f64.f64.f64"), None, tiles);
        }
    }
    for (shapes, types) in [
        (["m8n8k16", "m16n8k16", "m16n8k32"], ["u8", "s8"]),
        (["m8n8k32", "m16n8k32", "m16n8k64"], ["u4", "s4"]),
    ] {
        for shape in shapes {
            for sat in ["", ".satfinite"] {
                for a in types {
                    for b in types {
                        mma(l, format!("{head}.{shape}.row.col{sat}.s32.{a}.{b}.s32"), None, MANY);
                    }
                }
            }
        }
    }
    for shape in ["m8n8k128", "m16n8k128", "m16n8k256"] {
        for op in ["xor", "and"] {
            mma(l, format!("{head}.{shape}.row.col.s32.b1.b1.s32.{op}.popc"), None, MANY);
        }
    }
    for variant in ["sp", "sp::ordered_metadata"] {
        let head = format!("mma.{variant}.sync.aligned");
        let tiles = |first: bool| if variant == "sp" && first { MANY } else { FEW };
        for types in ["f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"] {
            for selector in 0..4 {
                mma(l, format!("{head}.m16n8k16.row.col.{types}"), Some(selector), tiles(selector == 0));
            }
            for selector in 0..2 {
                mma(l, format!("{head}.m16n8k32.row.col.{types}"), Some(selector), tiles(selector == 0));
            }
        }
        for selector in 0..4 {
            mma(l, format!("{head}.m16n8k8.row.col.f32.tf32.tf32.f32"), Some(selector), tiles(selector == 0));
        }
        for selector in 0..2 {
            mma(
                l,
                format!("{head}.m16n8k16.row.col.f32.tf32.tf32.f32"),
                Some(selector),
                tiles(selector == 0),
            );
        }
        for a in ["e4m3", "e5m2"] {
            for b in ["e4m3", "e5m2"] {
                mma(l, format!("{head}.m16n8k64.row.col.f32.{a}.{b}.f32"), Some(0), tiles(true));
            }
        }
        for (shapes, types) in
            [(["m16n8k32", "m16n8k64"], ["u8", "s8"]), (["m16n8k64", "m16n8k128"], ["u4", "s4"])]
        {
            for (shape, selectors) in shapes.into_iter().zip([2, 1]) {
                for sat in ["", ".satfinite"] {
                    for a in types {
                        for b in types {
                            for selector in 0..selectors {
                                let name = format!("{head}.{shape}.row.col{sat}.s32.{a}.{b}.s32");
                                mma(l, name, Some(selector), tiles(selector == 0 && a == b));
                            }
                        }
                    }
                }
            }
        }
    }
    let head = "wmma.mma.sync.aligned";
    for a in ["row", "col"] {
        for b in ["row", "col"] {
            let tiles = if (a, b) == ("row", "col") { MANY / 2 } else { FEW };
            for shape in ["m16n16k16", "m8n32k16", "m32n8k16"] {
                for d in ["f16", "f32"] {
                    for c in ["f16", "f32"] {
                        let types = [Ty::named(d), Ty::F16, Ty::F16, Ty::named(c)];
                        wmma(l, format!("{head}.{a}.{b}.{shape}.{d}.{c}"), types, tiles);
                    }
                }
                wmma(
                    l,
                    format!("{head}.{a}.{b}.{shape}.f32.bf16.bf16.f32"),
                    [Ty::F32, Ty::Bf16, Ty::Bf16, Ty::F32],
                    tiles,
                );
                for ty in ["u8", "s8"] {
                    for sat in ["", ".satfinite"] {
                        let types = [Ty::S32, Ty::Int(8), Ty::Int(8), Ty::S32];
                        wmma(l, format!("{head}.{a}.{b}.{shape}.s32.{ty}.{ty}.s32{sat}"), types, tiles);
                    }
                }
            }
            wmma(
                l,
                format!("{head}.{a}.{b}.m16n16k8.f32.tf32.tf32.f32"),
                [Ty::F32, Ty::Tf32, Ty::Tf32, Ty::F32],
                tiles,
            );
            for rounding in ["", ".rz", ".rm", ".rp"] {
                wmma(l, format!("{head}.{a}.{b}.m8n8k4{rounding}.f64.f64.f64.f64"), [Ty::F64; 4], FEW);
            }
        }
    }
    for ty in ["u4", "s4"] {
        for sat in ["", ".satfinite"] {
            let types = [Ty::S32, Ty::Int(4), Ty::Int(4), Ty::S32];
            wmma(l, format!("{head}.row.col.m8n8k32.s32.{ty}.{ty}.s32{sat}"), types, MANY);
        }
    }
    for op in ["xor", "and"] {
        let types = [Ty::S32, Ty::Int(1), Ty::Int(1), Ty::S32];
        wmma(l, format!("wmma.mma.{op}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"), types, MANY);
    }
    list
}

impl Form {
    /// The name, and for sparse forms the selector.
    pub(crate) fn title(&self) -> String {
        match self.sparse {
            Some(sparse) => format!("{} {}", self.name, sparse.selector),
            None => self.name.clone(),
        }
    }

    /// A kernel that runs the form once a warp: parameters are the buffers A, B, C, metadata and D.
    pub(crate) fn kernel(&self, entry: &str) -> String {
        let class = |operand: Operand| match operand.ty {
            Ty::F32 => "f32",
            Ty::F64 => "f64",
            _ => "b32",
        };
        let [a, b, c] = self.operands;
        let all = [("a", a), ("b", b), ("c", c), ("d", self.result)];
        let mut text = format!(
            ".visible .entry {entry}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, .param .u64 pd)\n{{\n"
        );
        for (name, operand) in all {
            text += &format!("\t.reg .{} %{name}<{}>;\n", class(operand), operand.registers);
        }
        text += "\t.reg .b32 %t, %e, %x;\n\t.reg .b64 %p, %tile, %q;\n";
        text +=
            "\tmov.u32 %t, %ctaid.x;\n\tshl.b32 %t, %t, 2;\n\tmov.u32 %x, %tid.x;\n\tshr.u32 %x, %x, 5;\n";
        text +=
            "\tadd.u32 %t, %t, %x;\n\tcvt.u64.u32 %tile, %t;\n\tmov.u32 %x, %tid.x;\n\tand.b32 %x, %x, 31;\n";
        let place = |text: &mut String, name: &str, registers: usize, width: usize| {
            *text += &format!("\tmad.wide.u32 %q, %x, {width}, 0;\n");
            *text += &format!("\tld.param.u64 %p, [p{name}];\n\tadd.u64 %p, %p, %q;\n");
            *text += &format!("\tmad.lo.u64 %p, %tile, {}, %p;\n", registers * width * 32);
        };
        for (name, operand) in &all[..3] {
            place(&mut text, name, operand.registers, operand.width());
            for r in 0..operand.registers {
                let at = r * operand.width() * 32;
                text += &format!("\tld.global.{} %{name}{r}, [%p+{at}];\n", class(*operand));
            }
        }
        let vector = |name: &str, operand: Operand| {
            let list: Vec<String> = (0..operand.registers).map(|r| format!("%{name}{r}")).collect();
            format!("{{{}}}", list.join(", "))
        };
        let operands: Vec<String> = [("d", self.result), ("a", a), ("b", b), ("c", c)]
            .into_iter()
            .map(|(name, operand)| vector(name, operand))
            .collect();
        if let Some(sparse) = self.sparse {
            place(&mut text, "e", 1, 4);
            text += "\tld.global.b32 %e, [%p];\n";
            text += &format!("\t{} {}, %e, {};\n", self.name, operands.join(", "), sparse.selector);
        } else {
            text += &format!("\t{} {};\n", self.name, operands.join(", "));
        }
        place(&mut text, "d", self.result.registers, self.result.width());
        for r in 0..self.result.registers {
            let at = r * self.result.width() * 32;
            text += &format!("\tst.global.{} [%p+{at}], %d{r};\n", class(self.result));
        }
        text + "\tret;\n}\n"
    }
}

/// The head of a module.
pub(crate) const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n\n";

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random bits of one element.
fn draw(key: u64, operand: usize, register: usize, lane: usize, element: u32) -> u64 {
    let at = (operand as u64) << 24 | (register as u64) << 16 | (lane as u64) << 8 | u64::from(element);
    mix(key.wrapping_add(at.wrapping_mul(GOLDEN)))
}

/// What a form and a tile give to [`draw`].
fn key(form: usize, tile: usize) -> u64 {
    mix((form as u64 + 1) << 32 | tile as u64)
}

/// A float: `mode` says of what kind, `operand` is 0 to 2 for A, B, C.
fn float(ty: (u32, u32), mode: usize, operand: usize, r: u64) -> u64 {
    let (exponent_bits, fraction_bits) = ty;
    let sign = (r & 1) << (exponent_bits + fraction_bits);
    let mut fraction = r >> 1 & ((1 << fraction_bits) - 1);
    let x = (r >> 54) as i64;
    let top = (1i64 << exponent_bits) - 1;
    let bias = top >> 1;
    let width = (bias - 1).min(14);
    let near = bias - 2 + x % 5;
    let wide = bias - width + x % (2 * width + 1);
    let c = operand == 2;
    let field = match mode {
        0 => x % top,
        1 | 3 => near,
        2 => wide,
        4 if x & 63 == 0 => {
            if x & 64 != 0 {
                fraction = 0;
            }
            return sign | (top as u64) << fraction_bits | fraction;
        }
        4 => near,
        5 => x % 4,
        6 => top - 1 - x % 3,
        7 if x & 512 != 0 => return sign,
        7 => wide,
        8 if c => bias + 18 + x % 12,
        9 if c => bias - 24 - x % 12,
        8 | 9 => near,
        10 if c => x % 4,
        10 => bias - 66 + x % 8,
        11 if c && x & 1 != 0 => return sign,
        11 if c => return sign | fraction & 15,
        11 => bias - 77 + operand as i64 + x % 4,
        12 if x & 3 == 0 => return sign,
        12 => {
            fraction = if x & 3 == 3 { 1 << (fraction_bits - 1) } else { 0 };
            bias + (x >> 1 & 1)
        }
        13 if operand == 0 => wide,
        13 => x % top,
        14 => return sign | (x as u64 & top as u64) << fraction_bits | fraction,
        _ if x & 7 != 0 => return sign,
        _ => wide,
    };
    sign | (field.clamp(0, top - 1) as u64) << fraction_bits | fraction
}

/// An integer of 8, 4 or 1 bits.
fn small_integer(bits: u32, mode: usize, r: u64) -> u64 {
    let all = (1u64 << bits) - 1;
    match mode % 4 {
        1 if bits == 1 => r >> 8 & 1,
        1 => [1 << (bits - 1), all >> 1, all, 0][(r >> 60) as usize & 3],
        2 => r & r >> 32 & all,
        _ => r & all,
    }
}

/// An accumulator of 32 bits.
fn accumulator(mode: usize, r: u64) -> u64 {
    let (low, high) = (0x8000_0000u64, 0x7fff_ffffu64);
    let edge = |mask: u64| if r >> 32 & 1 != 0 { high - (r & mask) } else { low + (r & mask) };
    match mode % 4 {
        0 => r & 0xffff_ffff,
        1 => edge(0xffff),
        2 => (((r & 0xfff) as i64 - 0x800) as u64) & 0xffff_ffff,
        _ => edge(0xfff),
    }
}

/// The register `register` of an operand in a lane of a tile.
pub(crate) fn register(
    form: usize,
    operand: Operand,
    which: usize,
    tile: usize,
    register: usize,
    lane: usize,
) -> u64 {
    let key = key(form, tile);
    let bits = operand.ty.bits();
    let count = if bits == 64 { 1 } else { 32 / bits };
    let mode = tile % 16;
    let Some(float_type) = operand.ty.float() else {
        if operand.ty == Ty::S32 {
            return accumulator(mode, draw(key, which, register, lane, 0));
        }
        let mut word = 0;
        for element in 0..count {
            let r = draw(key, which, register, lane, if bits == 1 { element / 4 } else { element });
            let r = if bits == 1 { r >> (element % 4 * 2) } else { r };
            word |= small_integer(bits, mode, r) << (element * bits);
        }
        return word;
    };
    let mut word = 0;
    for element in 0..count {
        // Neighbours in K hold the same numbers in B and opposite ones in A: the products cancel.
        let cancel = mode == 3 && which < 2;
        let (from_lane, from_element, odd) = match (cancel, count) {
            (true, 1) => (lane & !1, element, lane & 1 != 0),
            (true, _) => (lane, element & !1, element & 1 != 0),
            _ => (lane, element, false),
        };
        let r = draw(key, which, register, from_lane, from_element);
        let value = float(float_type, mode, which, r);
        let flip = if odd && which == 0 { 1 << (bits - 1) } else { 0 };
        word |= (value ^ flip) << (element * bits);
    }
    word
}

/// The metadata register of a lane of a tile.
pub(crate) fn metadata(form: usize, sparse: Sparse, tile: usize, lane: usize) -> u32 {
    let key = key(form, tile);
    let mut word = 0;
    for element in 0..8 {
        let r = draw(key, 3, 0, lane, element);
        let nibble = if sparse.one_of_two {
            [0b0100, 0b1110][(r & 1) as usize]
        } else {
            [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110][(r % 6) as usize]
        };
        word |= nibble << (element * 4);
    }
    word
}

/// The hash of consecutive tiles from the first on, of so many words each.
pub(crate) fn hash_all(words: &[u64], per_tile: usize) -> u64 {
    words
        .chunks_exact(per_tile)
        .enumerate()
        .fold(0u64, |sum, (tile, words)| sum.wrapping_add(hash(tile, words.iter().copied())))
}

/// The hash of a tile's results, `registers * 32` words.
pub(crate) fn hash(tile: usize, results: impl Iterator<Item = u64>) -> u64 {
    results.enumerate().fold(0, |sum: u64, (at, word)| {
        let place = (tile as u64) << 16 | at as u64;
        sum.wrapping_add(mix(word.wrapping_add(place.wrapping_mul(GOLDEN))))
    })
}
