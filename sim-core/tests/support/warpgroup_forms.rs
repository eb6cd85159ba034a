//! Forms of `wgmma.mma_async`, a kernel for each, and operands that a seed determines: the same on a device and here.
//!
//! A tile is one warpgroup's instruction, a block of 128 threads. Matrices in shared memory are images of random words
//! in whose middle nothing needs to know where an element lies; their descriptors go through the swizzles, and through
//! starts within a swizzled row, tile by tile. `testdata/h200/README.md` describes the recording.

use crate::forms::{self, Operand, Sparse, Ty};

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// Opcode and modifiers.
    pub(crate) name: String,
    n: usize,
    /// D, A, B.
    types: [Ty; 3],
    /// A comes from shared memory.
    shared: bool,
    /// `imm-trans-a`, `imm-trans-b`
    across: [bool; 2],
    /// `imm-scale-a`, `imm-scale-b`; of integers nothing is written.
    scales: [i32; 2],
    /// `scale-d`
    kept: bool,
    sparse: Option<Sparse>,
    /// Tiles of the recording.
    pub(crate) tiles: usize,
}

/// Tiles after which kinds of numbers repeat; each has another layout then.
pub(crate) const CYCLE: usize = 16;
/// Bytes of the image of A, and of that of B behind it.
const IMAGES: [usize; 2] = [8 << 10, 32 << 10];
/// Bytes of shared memory.
pub(crate) const SHARED: u32 = 40 << 10;
/// Threads of a block.
pub(crate) const THREADS: u32 = 128;
/// The head of a module.
pub(crate) const HEADER: &str =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 image[];\n";

const DENSE: [&str; 21] = [
    "f16.f16.f16",
    "f32.f16.f16",
    "f32.bf16.bf16",
    "f32.tf32.tf32",
    "f32.e4m3.e4m3",
    "f32.e4m3.e5m2",
    "f32.e5m2.e4m3",
    "f32.e5m2.e5m2",
    "f16.e4m3.e4m3",
    "f16.e4m3.e5m2",
    "f16.e5m2.e4m3",
    "f16.e5m2.e5m2",
    "s32.s8.s8",
    "s32.s8.u8",
    "s32.u8.s8",
    "s32.u8.u8",
    "satfinite.s32.s8.s8",
    "satfinite.s32.s8.u8",
    "satfinite.s32.u8.s8",
    "satfinite.s32.u8.u8",
    "s32.b1.b1.and.popc",
];

/// A form of these types, with all there is to choose as most programs have it.
fn plain(types: &str, n: usize, sparse: Option<u32>) -> Form {
    let named: Vec<Ty> = forms::types_of(types).into_iter().map(Ty::named).collect();
    let [d, a, b] = named[..] else { panic!("{types}") };
    let k = 256 / a.bits() as usize * if sparse.is_some() { 2 } else { 1 };
    let sp = if sparse.is_some() { ".sp" } else { "" };
    Form {
        name: format!("wgmma.mma_async{sp}.sync.aligned.m64n{n}k{k}.{types}"),
        n,
        types: [d, a, b],
        shared: true,
        across: [false; 2],
        scales: [1; 2],
        kept: true,
        sparse: sparse.map(|selector| Sparse { selector, one_of_two: a == Ty::Tf32 }),
        tiles: 4 * CYCLE,
    }
}

/// Widths of a type: those of integers are fewer.
fn widths(types: &str) -> Vec<usize> {
    let all = (1..=32).map(|i| 8 * i);
    all.filter(|n| !types.contains("s32") || *n <= 32 || n % 16 == 0).collect()
}

/// All forms, in the order of the recording.
pub(crate) fn forms() -> Vec<Form> {
    let mut list = Vec::new();
    for (at, types) in DENSE.into_iter().enumerate() {
        let float = !types.contains("s32");
        for sparse in [false, true] {
            if sparse && types.contains("b1") {
                continue;
            }
            // Only fp8 and bytes need all four threads for their metadata.
            let second = !types.contains("8") && !types.contains("e4m3") && !types.contains("e5m2");
            let selector = |which: usize| sparse.then_some(if second { which as u32 % 2 } else { 0 });
            let many = if sparse { 2048 } else { 8192 };
            list.push(Form { tiles: many, ..plain(types, 8, selector(0)) });
            list.push(Form { tiles: 2048, shared: false, ..plain(types, 16, selector(1)) });
            // Every third width, others for each type.
            for (which, n) in widths(types).into_iter().enumerate().skip(2) {
                if which % 3 == at % 3 {
                    list.push(Form { shared: which % 2 == 0, ..plain(types, n, selector(which)) });
                }
            }
            list.push(Form { tiles: 512, kept: false, ..plain(types, 8, selector(1)) });
            if float {
                for scales in [[-1, 1], [1, -1], [-1, -1]] {
                    list.push(Form { tiles: 256, scales, ..plain(types, 8, selector(0)) });
                    list.push(Form { scales, shared: false, ..plain(types, 8, selector(0)) });
                }
            }
            if types.contains("f16.f16") || types.contains("bf16.bf16") {
                for across in [[true, false], [false, true], [true, true]] {
                    for n in [8, 24, 64, 136, 256] {
                        list.push(Form { across, tiles: 256, ..plain(types, n, selector(n / 8)) });
                    }
                }
                let across = [false, true];
                list.push(Form { across, shared: false, tiles: 256, ..plain(types, 72, selector(1)) });
            }
        }
    }
    list
}

impl Form {
    /// What tells it from others.
    pub(crate) fn title(&self) -> String {
        let a = if self.shared { "shared" } else { "registers" };
        let selector = self.sparse.map_or(String::new(), |sparse| format!(" selector {}", sparse.selector));
        let [across_a, across_b] = self.across.map(u8::from);
        let [scale_a, scale_b] = self.scales;
        let kept = u8::from(self.kept);
        format!("{} {a}{selector} d{kept} scale {scale_a} {scale_b} trans {across_a} {across_b}", self.name)
    }

    /// Registers of D in a thread.
    pub(crate) fn results(&self) -> usize {
        self.n / if self.types[0] == Ty::F16 { 4 } else { 2 }
    }

    /// Words of a tile's D.
    pub(crate) fn words(&self) -> usize {
        self.results() * THREADS as usize
    }

    /// Columns of B.
    pub(crate) fn columns(&self) -> usize {
        self.n
    }

    /// D, A, B.
    pub(crate) fn element_types(&self) -> [Ty; 3] {
        self.types
    }

    /// Bits of an element of A or B.
    pub(crate) fn element_bits(&self, which: usize) -> usize {
        self.types[1 + which].bits() as usize
    }

    /// Whether the elements of A or B are `.s8`.
    pub(crate) fn is_signed(&self, which: usize) -> bool {
        let types = forms::types_of(&self.name);
        types[1 + which].starts_with('s')
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(crate) fn is_across(&self, which: usize) -> bool {
        self.across[which]
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    pub(crate) fn negations(&self) -> [bool; 2] {
        self.scales.map(|scale| scale < 0)
    }

    pub(crate) fn selector(&self) -> Option<u32> {
        self.sparse.map(|sparse| sparse.selector)
    }

    fn operand(&self, which: usize) -> Operand {
        Operand { ty: self.types[[1, 2, 0][which]], registers: 0 }
    }

    /// Words of K as it is stored: of a row of A, of a column of B.
    fn row(&self, which: usize) -> usize {
        if which == 1 && self.sparse.is_some() { 16 } else { 8 }
    }

    /// A descriptor less the start of its image.
    fn descriptor(&self, which: usize, tile: usize) -> u64 {
        // By number: none, 32, 64, 128 bytes.
        let mut swizzle = (tile + tile / CYCLE) as u64 % 4;
        let bytes = 4 * self.row(which) as u64;
        let (start, leading, stride);
        if self.across[which] {
            let k = bytes / 2;
            start = 0;
            if swizzle == 0 {
                (leading, stride) = (128, 128 * (k / 8));
            } else {
                (leading, stride) = ((128 << swizzle) * (k / 8), 128 << swizzle);
            }
        } else {
            // A row that is wider than the swizzle does not fit.
            if swizzle != 0 && bytes > 16 << swizzle {
                swizzle = 0;
            }
            if swizzle == 0 {
                (start, leading, stride) = (0, 128, 8 * bytes);
            } else {
                let places = (16 << swizzle) / bytes;
                (start, leading, stride) = (tile as u64 / 4 % places * bytes, 16, 128 << swizzle);
            }
        }
        let mode = [0, 3, 2, 1][swizzle as usize];
        start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62
    }

    /// Bytes of an image that are filled.
    pub(crate) fn filled(&self, which: usize) -> usize {
        if which == 0 && !self.shared {
            return 0;
        }
        // A row takes 128 bytes at most, whatever the swizzle; what lies across takes no more than it has.
        let rows = if which == 0 { 64 } else { self.n };
        let bytes = rows * if self.across[which] { 4 * self.row(which) } else { 128 };
        // Of groups of swizzled chunks the last is whole.
        if self.across[which] { bytes.next_multiple_of(1024 * self.row(which) / 4) } else { bytes }
            .min(IMAGES[which])
    }

    /// The buffers of some tiles: A, B, C, metadata, descriptors.
    pub(crate) fn buffers(&self, index: usize, tiles: std::ops::Range<usize>) -> Vec<Vec<u8>> {
        let mut buffers = vec![Vec::new(); 5];
        let bytes = |word: u64| (word as u32).to_le_bytes();
        for tile in tiles {
            for (which, buffer) in buffers.iter_mut().enumerate().take(2) {
                let words = if which == 0 && !self.shared { 512 } else { self.filled(which) / 4 };
                let operand = self.operand(which);
                for at in 0..words {
                    let word = forms::register(index, operand, which, tile, at / 32, at % 32);
                    buffer.extend(bytes(word));
                }
            }
            for at in 0..self.words() {
                let word = forms::register(index, self.operand(2), 2, tile, at / 32, at % 32);
                buffers[2].extend(bytes(word));
            }
            for at in 0..THREADS as usize {
                let sparse = self.sparse.unwrap_or(Sparse { selector: 0, one_of_two: false });
                let word = forms::metadata(index, sparse, 4 * tile + at / 32, at % 32);
                buffers[3].extend(word.to_le_bytes());
            }
            for which in 0..2 {
                buffers[4].extend(self.descriptor(which, tile).to_le_bytes());
            }
        }
        buffers
    }

    /// A kernel that runs the form once a block: parameters are the buffers and D.
    pub(crate) fn kernel(&self, entry: &str) -> String {
        let results = self.results();
        let class = if self.types[0] == Ty::F32 { "f32" } else { "b32" };
        let mut text = format!(
            ".visible .entry {entry}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, \
             .param .u64 ps, .param .u64 pd)\n{{\n\
             \t.reg .b32 %a<4>;\n\t.reg .{class} %d<{results}>;\n\t.reg .b32 %tile, %thread, %lane, %warp, %e, %i, %s, %x;\n\
             \t.reg .b64 %p, %q, %sa, %sb;\n\t.reg .pred %more, %kept;\n\
             \tmov.u32 %tile, %ctaid.x;\n\tmov.u32 %thread, %tid.x;\n\tand.b32 %lane, %thread, 31;\n\
             \tshr.u32 %warp, %thread, 5;\n"
        );
        // The address of this thread's first word of a buffer, where a warp has so many.
        let place = |text: &mut String, name: &str, per_warp: usize| {
            *text += &format!(
                "\tld.param.u64 %p, [p{name}];\n\tmad.lo.u32 %x, %tile, 4, %warp;\n\
                 \tmad.wide.u32 %p, %x, {}, %p;\n\tmad.wide.u32 %p, %lane, 4, %p;\n",
                4 * per_warp
            );
        };
        for (which, name) in ["a", "b"].into_iter().enumerate() {
            let bytes = self.filled(which);
            if bytes == 0 {
                continue;
            }
            let start = if which == 0 { 0 } else { IMAGES[0] };
            text += &format!(
                "\tld.param.u64 %p, [p{name}];\n\tmad.wide.u32 %p, %tile, {bytes}, %p;\n\
                 \tmov.u32 %s, image;\n\tadd.u32 %s, %s, {start};\n\tshl.b32 %i, %thread, 2;\n\
                 F{name}:\n\tcvt.u64.u32 %q, %i;\n\tadd.u64 %q, %p, %q;\n\tld.global.b32 %e, [%q];\n\
                 \tadd.u32 %x, %s, %i;\n\tst.shared.b32 [%x], %e;\n\tadd.u32 %i, %i, {};\n\
                 \tsetp.lt.u32 %more, %i, {bytes};\n\t@%more bra F{name};\n",
                4 * THREADS
            );
        }
        text += "\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n";
        text += "\tld.param.u64 %p, [ps];\n\tmad.wide.u32 %p, %tile, 16, %p;\n\tld.global.v2.b64 {%sa, %sb}, [%p];\n";
        text +=
            "\tmov.u32 %s, image;\n\tshr.u32 %s, %s, 4;\n\tcvt.u64.u32 %q, %s;\n\tadd.u64 %sa, %sa, %q;\n";
        text += &format!("\tadd.u64 %sb, %sb, %q;\n\tadd.u64 %sb, %sb, {};\n", IMAGES[0] / 16);
        if !self.shared {
            place(&mut text, "a", 128);
            for r in 0..4 {
                text += &format!("\tld.global.b32 %a{r}, [%p+{}];\n", 128 * r);
            }
        }
        place(&mut text, "e", 32);
        text += "\tld.global.b32 %e, [%p];\n";
        place(&mut text, "c", 32 * results);
        for r in 0..results {
            text += &format!("\tld.global.{class} %d{r}, [%p+{}];\n", 128 * r);
        }
        let list = |name: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|r| format!("%{name}{r}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let a = if self.shared { "%sa".into() } else { list("a", 4) };
        let mut operands = vec![list("d", results), a, "%sb".into()];
        if let Some(sparse) = self.sparse {
            operands.extend(["%e".into(), sparse.selector.to_string()]);
        }
        operands.push("%kept".into());
        if self.types[0] != Ty::S32 {
            operands.extend(self.scales.map(|scale| scale.to_string()));
        }
        if self.types[1].bits() == 16 {
            let across = &self.across[usize::from(!self.shared)..];
            operands.extend(across.iter().map(|&across| u8::from(across).to_string()));
        }
        text += &format!("\tsetp.ne.u32 %kept, {}, 0;\n", u8::from(self.kept));
        text += &format!(
            "\twgmma.fence.sync.aligned;\n\t{} {};\n\twgmma.commit_group.sync.aligned;\n\
             \twgmma.wait_group.sync.aligned 0;\n",
            self.name,
            operands.join(", ")
        );
        place(&mut text, "d", 32 * results);
        for r in 0..results {
            text += &format!("\tst.global.{class} [%p+{}], %d{r};\n", 128 * r);
        }
        text + "\tret;\n}\n"
    }
}
