//! Reads of textures against what an H200 gave: the lines of `programs/h200/textures.txt` that the program beside it printed
//! there for reads, here without a CUDA compiler.

mod support;

use std::fmt::Write as _;

use support::{at, call, driver, out};

/// What the program printed on an H200.
const RECORDED: &str = include_str!("programs/h200/textures.txt");

/// `CUarray_format`s.
const U8: u32 = 0x01;
const U16: u32 = 0x02;
const S8: u32 = 0x08;
const S16: u32 = 0x09;
const HALF: u32 = 0x10;
const FLOAT: u32 = 0x20;

/// Flags of `CUDA_TEXTURE_DESC`.
const AS_INTEGER: u32 = 1;
const NORMALIZED: u32 = 2;
const SRGB: u32 = 0x10;

/// The program's numbers: a linear congruence.
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493))
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as u32).wrapping_mul(2).wrapping_add((self.0 >> 63) as u32)
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 8) as f32 * (1.0 / 16_777_216.0)
    }
}

/// FNV-1a from the program's own start.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    bytes.iter().fold(1_469_598_103_934_665_603, step)
}

/// Four coordinates a thread.
fn coordinates(count: usize, [low, high]: [f32; 2], borders: bool, seed: u64) -> Vec<[f32; 4]> {
    let mut numbers = Numbers::new(seed);
    let mut one = |last: bool| {
        if last {
            return numbers.unit();
        }
        let value = low + (high - low) * numbers.unit();
        if borders && numbers.next() & 1 != 0 { (value * 512.0).floor() / 512.0 } else { value }
    };
    (0..count).map(|_| [one(false), one(false), one(false), one(true)]).collect()
}

/// Calls a function that succeeds.
fn good(name: &str, arguments: &[u64]) {
    assert_eq!(call(driver(), name, arguments), 0, "{name}");
}

/// An array, or mipmapped arrays: `CUDA_ARRAY3D_DESCRIPTOR`.
struct Array {
    format: u32,
    channels: u32,
    extent: [u64; 3],
    flags: u32,
    levels: u32,
}

const PLANE: Array = Array { format: FLOAT, channels: 4, extent: [13, 7, 0], flags: 0, levels: 0 };
const LAYERED: u32 = 1;
const CUBE: u32 = 4;
const GATHER: u32 = 8;

impl Array {
    fn texel(&self) -> u64 {
        let bytes = match self.format {
            U8 | S8 => 1,
            FLOAT => 4,
            _ => 2,
        };
        bytes * u64::from(self.channels)
    }

    /// Copies rows without gaps into an array of this extent.
    fn fill(&self, array: u64, extent: [u64; 3], bytes: &[u8]) {
        let [width, height, depth] = extent.map(|extent| extent.max(1));
        let row = width * self.texel();
        assert!(row * height * depth <= bytes.len() as u64);
        let mut words = [0u64; 25];
        words[4] = 1;
        words[5] = at(bytes);
        words[9..11].copy_from_slice(&[row, height]);
        words[15] = 3;
        words[18] = array;
        words[22..].copy_from_slice(&[row, height, depth]);
        good("cuMemcpy3D_v2", &[at(&words)]);
    }

    /// Makes it; each level begins so many bytes later in what it holds. The kind of the resource, and its handle.
    fn make(&self, bytes: &[u8], step: usize) -> [u64; 2] {
        let [width, height, depth] = self.extent;
        let kind = u64::from(self.format) | u64::from(self.channels) << 32;
        let descriptor = [width, height, depth, kind, u64::from(self.flags)];
        let mut array = 0u64;
        if self.levels == 0 {
            good("cuArray3DCreate_v2", &[out(&mut array), at(&descriptor)]);
            self.fill(array, self.extent, bytes);
            return [0, array];
        }
        good("cuMipmappedArrayCreate", &[out(&mut array), at(&descriptor), self.levels.into()]);
        for number in 0..self.levels {
            let mut level = 0u64;
            good("cuMipmappedArrayGetLevel", &[out(&mut level), array, number.into()]);
            let extent = [(width >> number).max(1), (height >> number).max(1), 0];
            self.fill(level, extent, &bytes[step * number as usize..]);
        }
        [1, array]
    }
}

/// What a texture does, as far as the program varies it.
#[derive(Clone, Copy, Default)]
struct Sampling {
    address: u32,
    filter: u32,
    flags: u32,
    mipmap_filter: u32,
    bias: f32,
    clamp: [f32; 2],
}

/// A texture object of a resource.
fn texture(resource: &[u64], sampling: Sampling) -> u64 {
    let mut said = [0u64; 18];
    said[..resource.len()].copy_from_slice(resource);
    let Sampling { address, filter, flags, mipmap_filter, bias, clamp } = sampling;
    let mut texture = [0u32; 26];
    texture[..5].copy_from_slice(&[address, address, address, filter, flags]);
    texture[6] = mipmap_filter;
    texture[7..10].copy_from_slice(&[bias, clamp[0], clamp[1]].map(f32::to_bits));
    texture[10..14].copy_from_slice(&[-2.5f32, 0.25, 0.0, 1.0].map(f32::to_bits));
    let mut object = 0u64;
    good("cuTexObjectCreate", &[out(&mut object), at(&said), at(&texture), 0]);
    object
}

/// Kernels whose threads read with four coordinates: `%x`, `%y`, `%z`, and a layer, or a level of detail.
const READS: [(&str, &str); 11] = [
    ("1d", "tex.1d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x}]"),
    ("2d", "tex.2d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x, %y}]"),
    ("integers", "tex.2d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%x, %y}]"),
    ("3d", "tex.3d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x, %y, %z, %z}]"),
    ("a1d", "tex.a1d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%layer, %x}]"),
    ("a2d", "tex.a2d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%layer, %x, %y, %y}]"),
    ("cube", "tex.cube.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x, %y, %z, %z}]"),
    ("acube", "tex.acube.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%layer, %x, %y, %z}]"),
    ("level", "tex.level.2d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x, %y}], %level"),
    ("gather", "tld4.g.2d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x, %y}]"),
    ("single", "tex.2d.v4.f32.f32 {%a, %b, %c, %d}, [%t, {%x, %y}]"),
];

/// A module with a kernel for each kind of read: blocks of 128 threads.
fn module() -> u64 {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for (name, read) in READS {
        write!(
            text,
            ".visible .entry read_{name}(.param .u64 texture, .param .u64 from, .param .u64 to)
{{
    .reg .b64 %t, %from, %to, %at; .reg .f32 %x, %y, %z, %w, %level; .reg .b32 %a, %b, %c, %d, %i, %layer;
    ld.param.u64 %t, [texture];
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    mov.u32 %layer, %ctaid.x;
    mad.lo.u32 %i, %layer, 128, %i;
    mul.wide.u32 %at, %i, 16;
    add.u64 %from, %from, %at;
    add.u64 %to, %to, %at;
    ld.global.v4.f32 {{%x, %y, %z, %w}}, [%from];
    mul.rn.f32 %w, %w, 0f40A00000;
    cvt.rzi.s32.f32 %layer, %w;
    mul.rn.f32 %level, %z, 0f40800000;
    {read};
    st.global.v4.b32 [%to], {{%a, %b, %c, %d}};
    ret;
}}
"
        )
        .expect("a string");
    }
    let text = std::ffi::CString::new(text).expect("no zero byte");
    let mut module = 0u64;
    good("cuModuleLoadData", &[out(&mut module), text.as_ptr() as u64]);
    module
}

/// Has threads read, and hashes what they get; of a texture of one channel the first word of each.
fn read(module: u64, name: &str, texture: u64, coordinates: &[[f32; 4]]) -> u64 {
    let bytes = 16 * coordinates.len();
    let [from, to] = [0; 2].map(|_| {
        let mut address = 0u64;
        good("cuMemAlloc_v2", &[out(&mut address), bytes as u64]);
        address
    });
    good("cuMemcpyHtoD_v2", &[from, at(coordinates), bytes as u64]);
    let kernel = std::ffi::CString::new(format!("read_{name}")).expect("no zero byte");
    let mut function = 0u64;
    good("cuModuleGetFunction", &[out(&mut function), module, kernel.as_ptr() as u64]);
    let places = [at(&texture), at(&from), at(&to)];
    let shape = [coordinates.len() as u64 / 128, 1, 1, 128, 1, 1, 0, 0, at(&places), 0];
    good("cuLaunchKernel", &[&[function][..], &shape].concat());
    let mut given = vec![0u8; bytes];
    good("cuMemcpyDtoH_v2", &[at(&given[..]), to, bytes as u64]);
    good("cuMemFree_v2", &[from]);
    good("cuMemFree_v2", &[to]);
    if name == "single" {
        given = given.as_chunks::<16>().0.iter().flat_map(|read| read[..4].to_vec()).collect();
    }
    hash(&given)
}

/// The texels that most textures of the program begin with: four floats each.
fn texels(numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..16 * 16 * 16 {
        // Its compiler evaluates arguments from the last one on.
        let w = -numbers.unit();
        let z = numbers.unit() * 1e-6;
        let y = numbers.unit() * 100.0;
        let x = numbers.unit() - 0.5;
        bytes.extend([x, y, z, w].iter().flat_map(|texel: &f32| texel.to_le_bytes()));
    }
    bytes
}

/// Has all of the program's textures read, in its order, and tells the line that each prints.
fn program(mut told: impl FnMut(String, u64)) {
    let mut context = 0u64;
    good("cuInit", &[0]);
    good("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    good("cuCtxSetCurrent", &[context]);
    let module = module();
    let mut numbers = Numbers::new(3);
    let data = texels(&mut numbers);
    let mut show = |name: String, kernel: &str, texture: u64, coordinates: &[[f32; 4]]| {
        told(name, read(module, kernel, texture, coordinates));
    };
    let filters = ["point", "linear"];
    for (flags, unit, range) in [(0, "texels", [-9.0, 22.0]), (NORMALIZED, "normalized", [-1.5, 2.5])] {
        for (address, mode) in (0u32..).zip(["wrap", "clamp", "mirror", "border"]) {
            for (filter, kind) in (0u32..).zip(filters) {
                let sampling = Sampling { address, filter, flags, ..Sampling::default() };
                let texture = texture(&PLANE.make(&data, 0), sampling);
                let coordinates = coordinates(4096, range, true, 10 + u64::from(address));
                show(format!("2d {unit} {mode} {kind}"), "2d", texture, &coordinates);
            }
        }
    }
    for (name, kernel, extent, flags) in [
        ("1d", "1d", [100, 0, 0], 0),
        ("3d", "3d", [8, 7, 6], 0),
        ("1d layered", "a1d", [33, 0, 4], LAYERED),
        ("2d layered", "a2d", [9, 8, 4], LAYERED),
        ("cube", "cube", [8, 8, 6], CUBE),
        ("cube layered", "acube", [5, 5, 12], CUBE | LAYERED),
        ("gather", "gather", [13, 7, 0], GATHER),
    ] {
        for (filter, kind) in (0u32..).zip(filters) {
            let sampling = Sampling { address: 1, filter, flags: NORMALIZED, ..Sampling::default() };
            let texture = texture(&Array { extent, flags, ..PLANE }.make(&data, 0), sampling);
            let coordinates = coordinates(4096, [-1.25, 1.75], flags & CUBE == 0, 20);
            show(format!("{name} {kind}"), kernel, texture, &coordinates);
        }
    }
    for (name, format, integers, seed) in [
        ("uchar4 integers", U8, true, 30),
        ("uchar4 fractions", U8, false, 31),
        ("char4 fractions", S8, false, 32),
        ("ushort4 fractions", U16, false, 33),
        ("short4 fractions", S16, false, 34),
        ("short4 integers", S16, true, 35),
        ("half4", HALF, false, 36),
    ] {
        let mut numbers = Numbers::new(seed);
        let array = Array { format, extent: [16, 16, 0], ..PLANE };
        let mut bytes: Vec<u8> = (0..256 * array.texel()).map(|_| (numbers.next() >> 9) as u8).collect();
        if format == HALF {
            bytes.iter_mut().skip(1).step_by(2).for_each(|byte| *byte &= 0xbf);
        }
        let coordinates = coordinates(4096, [-2.0, 18.0], true, seed);
        for (filter, kind) in (0u32..).zip(filters).take(if integers { 1 } else { 2 }) {
            let flags = if integers { AS_INTEGER } else { 0 };
            let sampling = Sampling { address: 1, filter, flags, ..Sampling::default() };
            let texture = texture(&array.make(&bytes, 0), sampling);
            let kernel = if integers { "integers" } else { "2d" };
            show(format!("{name} {kind}"), kernel, texture, &coordinates);
        }
    }
    let bytes: Vec<u8> = (0..256)
        .flat_map(|_| {
            // As above.
            let mut texel = [0; 4].map(|_| (numbers.next() >> 8) as u8);
            texel.reverse();
            texel
        })
        .collect();
    let array = Array { format: U8, extent: [16, 16, 0], ..PLANE };
    for (filter, kind) in (0u32..).zip(filters) {
        let sampling = Sampling { address: 1, filter, flags: SRGB, ..Sampling::default() };
        let texture = texture(&array.make(&bytes, 0), sampling);
        show(format!("srgb {kind}"), "2d", texture, &coordinates(8192, [-1.0, 17.0], true, 40));
    }
    for number in 0..4 {
        let sampling = Sampling {
            address: 0,
            filter: number & 1,
            flags: NORMALIZED,
            mipmap_filter: number >> 1,
            bias: 0.3,
            clamp: [0.125, 3.6],
        };
        let array = Array { extent: [16, 8, 0], levels: 5, ..PLANE };
        let texture = texture(&array.make(&data, 1600), sampling);
        show(format!("levels {number}"), "level", texture, &coordinates(8192, [-0.25, 1.25], true, 50));
    }
    let mut rows = 0u64;
    good("cuMemAlloc_v2", &[out(&mut rows), 512 * 9]);
    for (row, bytes) in data.chunks(21 * 4).take(9).enumerate() {
        good("cuMemcpyHtoD_v2", &[rows + 512 * row as u64, at(bytes), bytes.len() as u64]);
    }
    let resource = [3, rows, u64::from(FLOAT) | 1 << 32, 21, 9, 512];
    let texture = texture(&resource, Sampling { address: 1, filter: 1, ..Sampling::default() });
    show("pitch linear".into(), "single", texture, &coordinates(4096, [-2.0, 23.0], true, 60));
}

#[test]
fn textures_are_read_as_on_an_h200() {
    let mut lines = RECORDED.lines();
    let mut wrong = String::new();
    program(|name, hash| {
        let given = format!("{name} {hash:016x}");
        let recorded = lines.next().expect("a line for each texture");
        if given != recorded {
            writeln!(wrong, "{given}, on the device {recorded}").expect("a string");
        }
    });
    assert!(wrong.is_empty(), "{wrong}");
    // What surfaces hold the program itself compares.
    assert!(lines.next().is_some_and(|line| line.starts_with("surfaces ")) && lines.next().is_none());
}
