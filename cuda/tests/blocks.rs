//! Block-compressed textures against what an H100 gave (`testdata/h100/blocks.txt`): arrays of all formats, copies of blocks,
//! views of arrays of plain elements, mipmaps, and reads of random blocks of every mode.

mod support;

use std::ffi::CString;
use std::fmt::Write as _;

use support::recorded::hash;
use support::{alone, at, call, driver, out, runtime};

/// A format's name, the bits of its channels, and bytes of a block. CUDA numbers them from 17 on.
const FORMATS: [(&str, [i32; 4], usize); 14] = [
    ("bc1", [8, 8, 8, 8], 8),
    ("bc1srgb", [8, 8, 8, 8], 8),
    ("bc2", [8, 8, 8, 8], 16),
    ("bc2srgb", [8, 8, 8, 8], 16),
    ("bc3", [8, 8, 8, 8], 16),
    ("bc3srgb", [8, 8, 8, 8], 16),
    ("bc4", [8, 0, 0, 0], 8),
    ("bc4s", [8, 0, 0, 0], 8),
    ("bc5", [8, 8, 0, 0], 16),
    ("bc5s", [8, 8, 0, 0], 16),
    ("bc6", [16, 16, 16, 0], 16),
    ("bc6s", [16, 16, 16, 0], 16),
    ("bc7", [8, 8, 8, 8], 16),
    ("bc7srgb", [8, 8, 8, 8], 16),
];

/// `cudaResViewFormat`s of them: those of sRGB have none of their own.
const VIEWS: [u64; 14] = [0x19, 0x19, 0x1a, 0x1a, 0x1b, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x22];

/// Texels of a side of the arrays that are read.
const SIDE: u64 = 32;

/// Kernels that read at four floats a thread: x, y, a level of detail, nothing.
const READS: [(&str, &str); 2] = [
    ("plain", "tex.2d.v4.f32.f32 {%x, %y, %z, %w}, [%t, {%x, %y}]"),
    ("level", "tex.level.2d.v4.f32.f32 {%x, %y, %z, %w}, [%t, {%x, %y}], %z"),
];

/// A module with them.
fn module() -> CString {
    let kernel = |(name, read): (&str, &str)| {
        format!(
            "
.visible .entry {name}(.param .u64 texture, .param .u64 from, .param .u64 to)
{{
    .reg .b64 %t, %from, %to, %at; .reg .f32 %x, %y, %z, %w; .reg .b32 %i, %b;
    ld.param.u64 %t, [texture];
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    mov.u32 %b, %ctaid.x;
    mad.lo.u32 %i, %b, 128, %i;
    mul.wide.u32 %at, %i, 16;
    add.u64 %from, %from, %at;
    add.u64 %to, %to, %at;
    ld.global.v4.f32 {{%x, %y, %z, %w}}, [%from];
    {read};
    st.global.v4.f32 [%to], {{%x, %y, %z, %w}};
    ret;
}}"
        )
    };
    let text: String = READS.map(kernel).concat();
    CString::new(format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}")).expect("no NUL")
}

/// The bytes of the blocks (Xorshift).
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u8
    }
}

struct Program {
    runtime: usize,
    from: u64,
    to: u64,
    plain: u64,
    level: u64,
    text: String,
}

/// Whether a texture reads fractions, sRGB, and with weights.
const HOW: [[bool; 3]; 8] = {
    let mut how = [[false; 3]; 8];
    let mut number = 0;
    while number < 8 {
        how[number] = [number & 4 != 0, number & 2 != 0, number & 1 != 0];
        number += 1;
    }
    how
};

impl Program {
    fn new() -> Program {
        let runtime = runtime(13);
        let good = |library: usize, name: &str, arguments: &[u64]| {
            assert_eq!(call(library, name, arguments), 0, "{name}");
        };
        let (mut from, mut to, mut module, mut plain, mut level) = (0u64, 0u64, 0u64, 0u64, 0u64);
        good(runtime, "cudaMalloc", &[out(&mut from), 16 << 10]);
        good(runtime, "cudaMalloc", &[out(&mut to), 16 << 10]);
        let ptx = self::module();
        good(driver(), "cuModuleLoadData", &[out(&mut module), ptx.as_ptr() as u64]);
        good(driver(), "cuModuleGetFunction", &[out(&mut plain), module, c"plain".as_ptr() as u64]);
        good(driver(), "cuModuleGetFunction", &[out(&mut level), module, c"level".as_ptr() as u64]);
        Program { runtime, from, to, plain, level, text: String::new() }
    }

    fn call(&self, name: &str, arguments: &[u64]) -> u32 {
        call(self.runtime, name, arguments)
    }

    fn good(&self, name: &str, arguments: &[u64]) {
        assert_eq!(self.call(name, arguments), 0, "{name}");
    }

    fn say(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{text}").expect("a string");
    }

    /// Reads at places, and hashes the first `count` of the results; the rest of a line.
    fn read(&self, kernel: u64, texture: u64, places: &[[f32; 4]], count: usize) -> String {
        let bytes = 16 * places.len();
        self.good("cudaMemcpy", &[self.from, at(places), bytes as u64, 1]);
        let parameters = [at(&texture), at(&self.from), at(&self.to)];
        let shape = [kernel, places.len() as u64 / 128, 1, 1, 128, 1, 1, 0, 0, at(&parameters), 0];
        assert_eq!(call(driver(), "cuLaunchKernel", &shape), 0);
        let code = self.call("cudaDeviceSynchronize", &[]);
        let given = vec![0u8; bytes];
        self.good("cudaMemcpy", &[at(&given[..]), self.to, bytes as u64, 2]);
        format!(" read {code} {:016x}", hash(&given[..16 * count]))
    }

    /// Makes textures of an array in all ways and reads them.
    fn probe(&mut self, what: &str, array: u64, view: Option<&[u64; 8]>) {
        for [fraction, srgb, linear] in HOW {
            let mut resource = [0u64; 16];
            resource[1] = array;
            let mut texture = [0u32; 32];
            texture[..6].copy_from_slice(&[3, 3, 0, linear.into(), fraction.into(), srgb.into()]);
            (texture[6], texture[9]) = (0.3f32.to_bits(), 0.7f32.to_bits());
            let mut object = 0u64;
            let view = view.map_or(0, at);
            let arguments = [out(&mut object), at(&resource), at(&texture), view];
            let code = self.call("cudaCreateTextureObject", &arguments);
            let mut line =
                format!("{what} norm {} srgb {} linear {}: {code}", fraction as u8, srgb as u8, linear as u8);
            if code == 0 {
                let ([x, y], step) = if linear { ([-0.6, -0.4], 1.07) } else { ([0.5; 2], 1.0) };
                let place = |number: u16| {
                    [
                        f32::from(number % 32).mul_add(step, x),
                        f32::from(number / 32).mul_add(step, y),
                        0.0,
                        0.0,
                    ]
                };
                let places: Vec<[f32; 4]> = (0..1024).map(place).collect();
                let count = if view != 0 {
                    64
                } else if linear {
                    256
                } else {
                    1024
                };
                line += &self.read(self.plain, object, &places, count);
            }
            self.say(format_args!("{line}"));
        }
    }

    /// Copies rows of blocks into an array; the code.
    fn fill(&self, array: u64, blocks: &[u8], pitch: usize, width: usize, rows: usize) -> u32 {
        let (width, rows) = (width as u64, rows as u64);
        self.call("cudaMemcpy2DToArray", &[array, 0, 0, at(blocks), pitch as u64, width, rows, 1])
    }

    /// The description of an array, as text: bits, kind, extent; and its flags.
    fn described(&self, array: u64) -> ([i32; 5], [u64; 3], u32) {
        let (mut channels, mut extent, mut flags) = ([0i32; 5], [0u64; 3], 0u32);
        self.good("cudaArrayGetInfo", &[out(&mut channels), out(&mut extent), out(&mut flags), array]);
        (channels, extent, flags)
    }

    fn format(&mut self, number: usize, random: &mut Bytes) {
        let (name, [x, y, z, w], bytes) = FORMATS[number];
        let kind = 17 + number as i32;
        let description = [x, y, z, w, kind];
        self.say(format_args!("format {name} bits {x} {y} {z} {w} kind {kind}"));
        let mut blocks: Vec<u8> = (0..64 * bytes).map(|_| random.next()).collect();
        if name.starts_with("bc7") {
            // All modes, and none.
            for (number, block) in blocks.chunks_mut(16).enumerate() {
                let mode = number % 9;
                block[0] = if mode == 8 { 0 } else { block[0] & !((2u32 << mode) - 1) as u8 | 1 << mode };
            }
        }
        self.say(format_args!("blocks {:016x}", hash(&blocks)));
        let mut array = 0u64;
        self.good("cudaMallocArray", &[out(&mut array), at(&description), SIDE, SIDE, 0]);
        let ([x, y, z, w, kind], [width, height, depth], flags) = self.described(array);
        self.say(format_args!("info {x} {y} {z} {w} kind {kind} {width} {height} {depth} flags {flags}"));
        let row = 8 * bytes;
        for texels in [32, 8, 16, 64] {
            for rows in [8, 32] {
                let width = texels * bytes / 4;
                // Rows behind the last one are not read where the copy is refused.
                let code = self.fill(array, &blocks, row, width, rows);
                if texels * rows != 256 {
                    self.say(format_args!("copy {width} x {rows}: {code}"));
                }
            }
        }
        assert_eq!(self.fill(array, &blocks, row, row, 8), 0);
        let back = vec![0u8; blocks.len()];
        let (pitch, rows) = (row as u64, 8);
        let code = self.call("cudaMemcpy2DFromArray", &[at(&back[..]), pitch, array, 0, 0, pitch, rows, 2]);
        self.say(format_args!("back {code} same {}", (back == blocks) as u8));
        self.probe("array", array, None);
        // The old way: a view of an array whose elements have the size of blocks.
        let words = if bytes == 8 { [32, 32, 0, 0, 1] } else { [32, 32, 32, 32, 1] };
        let mut plain = 0u64;
        self.good("cudaMallocArray", &[out(&mut plain), at(&words), 8, 8, 0]);
        assert_eq!(self.fill(plain, &blocks, row, row, 8), 0);
        self.probe("view", plain, Some(&[VIEWS[number], SIDE, SIDE, 0, 0, 0, 0, 0]));
        self.levels(name, &description, &blocks, bytes);
        for [width, height, depth] in [[30, 30, 0], [5, 7, 0], [32, 0, 0], [32, 32, 8]] {
            let codes = [0, 1, 2].map(|flags| {
                let mut array = 0u64;
                let arguments = [out(&mut array), at(&description), flags, 0, 0, 0, width, height, depth];
                self.call("cudaMalloc3DArray", &arguments)
            });
            let [plain, layered, surface] = codes;
            self.say(format_args!(
                "extent {width} {height} {depth}: {plain} layered {layered} surface {surface}"
            ));
        }
    }

    fn levels(&mut self, name: &str, description: &[i32; 5], blocks: &[u8], bytes: usize) {
        let mut levels = 0u64;
        let arguments = [out(&mut levels), at(description), 5, 0, 0, 0, SIDE, SIDE, 0];
        self.good("cudaMallocMipmappedArray", &arguments);
        for number in 0..5u32 {
            let mut level = 0u64;
            self.good("cudaGetMipmappedArrayLevel", &[out(&mut level), levels, number.into()]);
            let (_, [width, height, _], _) = self.described(level);
            let side = (SIDE as usize >> number).div_ceil(4);
            let code = self.fill(level, blocks, 8 * bytes, side * bytes, side);
            self.say(format_args!("level {number} {width} x {height} copy {code}"));
        }
        let mut resource = [0u64; 16];
        resource[..2].copy_from_slice(&[1, levels]);
        let mut texture = [0u32; 32];
        let (fraction, srgb) = (!name.starts_with("bc6"), name.ends_with("srgb"));
        texture[3..6].copy_from_slice(&[1, fraction.into(), srgb.into()]);
        (texture[10], texture[12], texture[15]) = (1, 1, 9.0f32.to_bits());
        let mut object = 0u64;
        let code = self.call("cudaCreateTextureObject", &[out(&mut object), at(&resource), at(&texture), 0]);
        let mut line = format!("mip {code}");
        if code == 0 {
            let place = |number: u16| {
                let [x, y] = [number, number * 37 % 256].map(|at| f32::from(at) / 256.0);
                [x, y, f32::from(number) / 90.0, 0.0]
            };
            let places: Vec<[f32; 4]> = (0..256).map(place).collect();
            line += &self.read(self.level, object, &places, 256);
        }
        self.say(format_args!("{line}"));
    }
}

#[test]
fn blocks_are_read_as_on_an_h100() {
    let _alone = alone();
    let mut program = Program::new();
    let mut random = Bytes(88_172_645_463_325_252);
    (0..FORMATS.len()).for_each(|number| program.format(number, &mut random));
    program.say(format_args!("end"));
    let recorded = include_str!("../../testdata/h100/blocks.txt");
    let differ: Vec<_> = program
        .text
        .lines()
        .zip(recorded.lines())
        .enumerate()
        .filter(|(_, (here, there))| here != there)
        .collect();
    assert!(differ.is_empty(), "{} lines differ from an H100: {differ:#?}", differ.len());
    assert_eq!(program.text.lines().count(), recorded.lines().count());
}
