//! Tensor maps and copies against what an H200 gave: the lines of `programs/h200/tensor_maps.txt` that the program beside it
//! printed there for maps, loads and stores, here without a CUDA compiler.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use support::copies::{Aligned, REDUCTIONS, module};
use support::{at, call, driver, out};

/// What the program printed on an H200.
const RECORDED: &str = include_str!("programs/h200/tensor_maps.txt");

/// Bytes of elements, in the order of `CUtensorMapDataType`.
const SIZES: [i32; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];
/// Bytes of global memory that maps describe.
const AREA: usize = 1 << 20;

/// What the driver is asked to encode.
#[derive(Clone)]
struct Map {
    element: i32,
    rank: u32,
    address: u64,
    extents: [u64; 5],
    strides: [u64; 4],
    mode: Mode,
    steps: [u32; 5],
    options: [u32; 4],
}

#[derive(Clone)]
enum Mode {
    Tiled([u32; 5]),
    Im2col { lower: [i32; 3], upper: [i32; 3], channels: u32, pixels: u32 },
}

/// A list in which the rest is `rest`.
fn list<T: Copy, const N: usize>(from: &[T], rest: T) -> [T; N] {
    std::array::from_fn(|at| from.get(at).copied().unwrap_or(rest))
}

impl Map {
    fn tiled(element: i32, address: u64, extents: &[u64], strides: &[u64], tile: &[u32]) -> Map {
        Map {
            element,
            rank: extents.len() as u32,
            address,
            extents: list(extents, 1),
            strides: list(strides, 0),
            mode: Mode::Tiled(list(tile, 1)),
            steps: [1; 5],
            options: [0; 4],
        }
    }

    fn im2col(
        element: i32,
        address: u64,
        [extents, strides]: [&[u64]; 2],
        [lower, upper]: [&[i32]; 2],
        [channels, pixels]: [u32; 2],
    ) -> Map {
        let mode = Mode::Im2col { lower: list(lower, 0), upper: list(upper, 0), channels, pixels };
        Map { mode, ..Map::tiled(element, address, extents, strides, &[]) }
    }

    fn swizzled(mut self, swizzle: u32) -> Map {
        self.options[1] = swizzle;
        self
    }

    fn filled(mut self, fill: u32) -> Map {
        self.options[3] = fill;
        self
    }

    /// The code of the driver and the map.
    fn encode(&self) -> (u32, Aligned) {
        let mut map = Aligned([0; 128]);
        let [interleave, swizzle, promotion, fill] = self.options.map(u64::from);
        let (element, rank) = (u64::from(self.element as u32), u64::from(self.rank));
        let tensor = [out(&mut map), element, rank, self.address, at(&self.extents), at(&self.strides)];
        let options = [at(&self.steps), interleave, swizzle, promotion, fill];
        let code = match &self.mode {
            Mode::Tiled(tile) => {
                call(driver(), "cuTensorMapEncodeTiled", &[&tensor[..], &[at(tile)], &options].concat())
            }
            Mode::Im2col { lower, upper, channels, pixels } => {
                let pixels = [at(lower), at(upper), u64::from(*channels), u64::from(*pixels)];
                call(driver(), "cuTensorMapEncodeIm2col", &[&tensor[..], &pixels, &options].concat())
            }
        };
        (code, map)
    }
}

/// Calls a function that succeeds.
fn good(name: &str, arguments: &[u64]) {
    assert_eq!(call(driver(), name, arguments), 0, "{name}");
}

/// FNV-1a from the program's own start.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    bytes.iter().fold(1_469_598_103_934_665_603, step)
}

/// The program's numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
}

/// The bytes of the program's tensors: random ones, ordinary floats and subnormal ones among them.
fn bytes() -> Vec<u8> {
    let mut numbers = Numbers(88_172_645_463_325_252);
    let mut bytes: Vec<u8> = (0..AREA).map(|_| numbers.next() as u8).collect();
    let words = bytes.as_chunks_mut::<4>().0;
    for word in words.iter_mut().step_by(7) {
        *word = ((numbers.next() % 2000) as i32 as f32 - 1000.0 + 0.37).to_le_bytes();
    }
    for word in words.iter_mut().step_by(31) {
        *word = (numbers.next() & 0x807f_ffff).to_le_bytes();
    }
    bytes
}

/// A device with the program's memory.
struct Device {
    module: u64,
    bytes: Vec<u8>,
    /// Addresses: tensors that are read, one that is written, bytes 0xee, what loads show.
    read: u64,
    written: u64,
    marks: u64,
    shown: u64,
}

impl Device {
    fn start() -> Device {
        let mut context = 0u64;
        good("cuInit", &[0]);
        good("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
        good("cuCtxSetCurrent", &[context]);
        let text = std::ffi::CString::new(module()).expect("no zero byte");
        let mut module = 0u64;
        good("cuModuleLoadData", &[out(&mut module), text.as_ptr() as u64]);
        let [read, written, marks, shown] = [0; 4].map(|_| {
            let mut address = 0u64;
            good("cuMemAlloc_v2", &[out(&mut address), AREA as u64]);
            address
        });
        let bytes = bytes();
        good("cuMemcpyHtoD_v2", &[read, at(&bytes[..]), AREA as u64]);
        good("cuMemsetD8_v2", &[marks, 0xee, AREA as u64]);
        Device { module, bytes, read, written, marks, shown }
    }

    /// Runs a kernel; coordinates, offsets, bytes, where in shared memory, and how much of it.
    fn run(&self, kernel: &str, map: &Aligned, copy: &Start, shown: u32, source: u64) {
        let mut arguments = [0u32; 12];
        for (to, from) in arguments.iter_mut().zip(copy.coordinates) {
            *to = from as u32;
        }
        arguments[5] = u32::from(copy.offsets[0]) | u32::from(copy.offsets[1]) << 16;
        arguments[6] = copy.offsets[2].into();
        arguments[7..10].copy_from_slice(&[copy.bytes, copy.base, shown]);
        let name = std::ffi::CString::new(kernel).expect("no zero byte");
        let mut function = 0u64;
        good("cuModuleGetFunction", &[out(&mut function), self.module, name.as_ptr() as u64]);
        let places = [at(&map.0), at(&arguments), at(&source), at(&self.shown)];
        let shape = [1, 1, 1, 128, 1, 1, u64::from(shown), 0, at(&places), 0];
        good("cuLaunchKernel", &[&[function][..], &shape].concat());
        assert_eq!(call(driver(), "cuCtxSynchronize", &[]), 0, "{kernel}");
    }

    /// What shared memory holds behind a load, or the error of the driver.
    fn load(&self, map: &Map, copy: &Start) -> String {
        let (code, encoded) = map.encode();
        if code != 0 {
            return format!("encode {code}");
        }
        let mode = if matches!(map.mode, Mode::Tiled(_)) { "tile" } else { "im2col" };
        let shown = (copy.base + 8 * copy.bytes + 512).next_multiple_of(16);
        self.run(&format!("load_{mode}_{}", map.rank), &encoded, copy, shown, self.marks);
        let mut bytes = vec![0u8; shown as usize + 16];
        good("cuMemcpyDtoH_v2", &[at(&bytes[..]), self.shown, bytes.len() as u64]);
        assert_eq!(bytes[0], 1, "the mbarrier has the bytes that it expects");
        format!("{:016x}", hash(&bytes.split_off(16)))
    }

    /// What global memory holds behind a store or a reduction, or the error of the driver.
    fn store(&self, operation: usize, map: &Map, copy: &Start) -> String {
        const WRITTEN: u64 = 65536;
        let (code, encoded) = map.encode();
        if code != 0 {
            return format!("encode {code}");
        }
        good("cuMemcpyHtoD_v2", &[self.written, at(&self.bytes[4096..]), WRITTEN]);
        let name = if operation == 0 { "store" } else { REDUCTIONS[operation - 1].0 };
        self.run(&format!("{name}_tile_2"), &encoded, copy, 8192, self.read + 70000);
        let bytes = vec![0u8; WRITTEN as usize];
        good("cuMemcpyDtoH_v2", &[at(&bytes[..]), self.written, WRITTEN]);
        format!("{:016x}", hash(&bytes))
    }
}

/// A copy: where it begins, its bytes, and where in shared memory.
#[derive(Default)]
struct Start {
    coordinates: [i32; 5],
    offsets: [u16; 3],
    bytes: u32,
    base: u32,
}

fn copy(coordinates: &[i32], offsets: &[i32], bytes: i32, base: i32) -> Start {
    let offsets = list(offsets, 0).map(|offset| offset as u16);
    Start { coordinates: list(coordinates, 0), offsets, bytes: bytes as u32, base: base as u32 }
}

/// What a line's name asks for gives here; nothing for the names of other things that the program does.
fn answer(device: &Device, name: &str) -> Option<String> {
    let numbers: Vec<i32> = name.split(' ').filter_map(|word| word.parse().ok()).collect();
    let words: Vec<&str> = name.split(' ').filter(|word| word.parse::<i32>().is_err()).collect();
    let from = device.read;
    Some(match (&words[..], &numbers[..]) {
        (["1d", "at"], &[x]) => {
            device.load(&Map::tiled(7, from, &[128], &[], &[64]), &copy(&[x], &[], 256, 0))
        }
        (["2d", "type", "swizzle", "row", "base", "at"], &[element, swizzle, row, base, x]) => {
            let size = SIZES[element as usize];
            let extents = [(200 / size + 3) as u64, 13];
            let map = Map::tiled(element, from, &extents, &[240], &[(row / size) as u32, 10]);
            let start = [x * 16 / size * 3, x * 4];
            device.load(&map.swizzled(swizzle as u32), &copy(&start, &[], 10 * row, base))
        }
        (["nan", "type"], &[element]) => {
            let size = SIZES[element as usize];
            let map = Map::tiled(element, from, &[20, 6], &[160], &[(64 / size) as u32, 8]);
            device.load(&map.filled(1), &copy(&[-16 / size, -1], &[], 512, 0))
        }
        (["3d", "steps", "at"], &[one, two, at]) => {
            let mut map = Map::tiled(7, from, &[30, 17, 5], &[128, 2304], &[8, 9, 3]);
            map.steps = [two as u32, one as u32, two as u32, 1, 1];
            let bytes = (9 + one - 1) / one * ((3 + two - 1) / two) * 32;
            device.load(&map, &copy(&[4 * at, at, at / 2], &[], bytes, 0))
        }
        (["4d", "at"], &[at]) => {
            let map = Map::tiled(6, from, &[20, 7, 5, 3], &[48, 352, 1776], &[16, 3, 3, 2]);
            device.load(&map.swizzled(1), &copy(&[8 * at, at, at, at], &[], 32 * 18, 0))
        }
        (["5d", "at"], &[at]) => {
            let strides = [80, 560, 2800, 8400];
            let map = Map::tiled(2, from, &[20, 7, 5, 3, 4], &strides, &[8, 3, 3, 2, 2]);
            device.load(&map.swizzled(1), &copy(&[4 * at, at, at, at, at], &[], 32 * 36, 0))
        }
        (["im2col", "4d", "fill", "step", "box", "offset"], &[fill, step, lower, upper, o]) => {
            let tensor: [&[u64]; 2] = [&[24, 9, 7, 3], &[48, 432, 3024]];
            let mut map = Map::im2col(6, from, tensor, [&[lower; 2], &[upper; 2]], [16, 40]);
            map.steps[1..3].fill(step as u32);
            let map = map.swizzled(fill as u32).filled(fill as u32);
            device.load(&map, &copy(&[8 * o, 1 + lower, lower + o, o], &[o, 2 - o], 32 * 40, 0))
        }
        (["im2col", "3d", "offset"], &[o]) => {
            let mut map = Map::im2col(7, from, [&[8, 30, 4], &[32, 960]], [&[-2], &[1]], [8, 33]);
            map.steps[1] = 2;
            device.load(&map, &copy(&[0, o, 1], &[o], 32 * 33, 0))
        }
        (["im2col", "5d", "offset"], &[o]) => {
            let tensor: [&[u64]; 2] = [&[8, 6, 5, 4, 3], &[32, 192, 960, 3840]];
            let mut map = Map::im2col(7, from, tensor, [&[-1, 0, -1], &[0, -1, 1]], [8, 70]);
            map.steps[2] = 2;
            device.load(&map.swizzled(1), &copy(&[0, 2, 1, 0, o], &[o, 1, o], 32 * 70, 0))
        }
        (["store", "type", "swizzle", "at"], &[operation, element, swizzle, x]) => {
            let size = SIZES[element as usize];
            let extents = [(200 / size + 1) as u64, 13];
            let tile = [(128 / size) as u32, 10];
            let map = Map::tiled(element, device.written, &extents, &[240], &tile);
            let start = [x * 48 / size, x * 3];
            device.store(operation as usize, &map.swizzled(swizzle as u32), &copy(&start, &[], 0, 128))
        }
        _ => return None,
    })
}

/// The maps of the program's questions to the driver, in its order: tiled ones, and those of pixels.
fn questions(memory: u64) -> [Vec<Map>; 2] {
    let (mut tiled, mut pixels) = (Vec::new(), Vec::new());
    let (extents, strides) = ([64, 32, 8, 4, 2], [256, 8192, 65536, 262_144]);
    let tile = [16, 8, 2, 2, 1];
    let plain = |element: i32, rank: u32| {
        let map = Map::tiled(element, memory, &extents, &strides, &tile);
        Map { rank, ..map }
    };
    let with = |map: Map, change: &dyn Fn(&mut Map)| {
        let mut map = map;
        change(&mut map);
        map
    };
    let boxed = |map: Map, at: usize, extent: u32| {
        with(map, &|map| {
            if let Mode::Tiled(tile) = &mut map.mode {
                tile[at] = extent;
            }
        })
    };
    tiled.extend((-1..18).map(|element| plain(element, 2)));
    tiled.extend((0..7).map(|rank| plain(7, rank)));
    let shifted = |skip: u64, element, rank| with(plain(element, rank), &|map| map.address += skip);
    tiled.extend([0, 1, 2, 4, 8, 16, 32, 64].map(|skip| shifted(skip, 7, 2)));
    tiled.extend([0, 16].map(|address| Map { address, ..plain(7, 2) }));
    for swizzle in 0..8 {
        tiled.extend([4, 8, 16, 32, 64].map(|width| boxed(plain(7, 2), 0, width).swizzled(swizzle)));
    }
    tiled.extend((0..6).map(|promotion| with(plain(7, 2), &|map| map.options[2] = promotion)));
    for fill in 0..3 {
        tiled.extend([0, 2, 4, 6, 7, 8, 9, 10, 11, 12].map(|element| plain(element, 2).filled(fill)));
    }
    for extent in [0, 1, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40] {
        tiled.extend([0, 1].map(|at| with(plain(7, 2), &|map| map.extents[at] = extent)));
    }
    for stride in [0, 8, 16, 32, 240, 255, 1 << 39, (1 << 40) - 16, 1 << 40, 1 << 41] {
        tiled.extend([2, 3].map(|rank| with(plain(7, rank), &|map| map.strides[0] = stride)));
    }
    tiled.extend([0, 16, 256, 8192].map(|stride| with(plain(7, 3), &|map| map.strides[1] = stride)));
    for extent in [0, 1, 2, 3, 4, 255, 256, 257] {
        let all = [(7, 0), (0, 0), (7, 1)];
        tiled.extend(all.map(|(element, at)| boxed(plain(element, 2), at, extent)));
    }
    let large = |rank| boxed(boxed(plain(7, rank), 0, 256), 1, 256);
    tiled.extend([large(2), boxed(large(3), 2, 256)]);
    for step in [0, 1, 2, 7, 8, 9] {
        tiled.extend([0, 1].map(|at| with(plain(7, 2), &|map| map.steps[at] = step)));
    }
    for interleave in 0..4 {
        for swizzle in 0..5 {
            let map = |rank| with(plain(6, rank).swizzled(swizzle), &|map| map.options[0] = interleave);
            tiled.extend((2..6).map(map));
        }
    }
    for skip in [16, 32] {
        tiled.extend([(2, 1), (1, 0)].map(|(interleave, swizzle)| {
            with(shifted(skip, 6, 3).swizzled(swizzle), &|map| map.options[0] = interleave)
        }));
    }
    let image = |rank: u32, corners: [[i32; 3]; 2], channels: u32, count: u32| {
        let tensor: [&[u64]; 2] = [&[64, 9, 14, 6, 3], &[128, 1152, 16128, 96768]];
        let map = Map::im2col(6, memory, tensor, [&corners[0], &corners[1]], [channels, count]);
        Map { rank, ..map }
    };
    let corners = [[-1, -1, 0]; 2];
    pixels.extend((1..7).map(|rank| image(rank, corners, 8, 16)));
    pixels.extend([0, 1, 4, 8, 64, 128, 256, 264, 512].map(|channels| image(4, corners, channels, 16)));
    for channels in [8, 16, 32, 64, 128] {
        pixels.extend((0..4).map(|swizzle| image(4, corners, channels, 16).swizzled(swizzle)));
    }
    pixels.extend([0, 1, 255, 256, 257, 1023, 1024, 1025].map(|count| image(4, corners, 8, count)));
    for corner in [-129, -128, 127, 128, -17, -16, 15, 16, -32768, 32767, -32769] {
        for rank in 3..6 {
            for side in 0..2 {
                let mut corners = corners;
                corners[side][0] = corner;
                pixels.push(image(rank, corners, 8, 16));
            }
        }
    }
    pixels.push(image(4, [[3, -1, 0], [-8, -1, 0]], 8, 16));
    [tiled, pixels]
}

#[test]
fn tensors_are_copied_as_on_an_h200() {
    let device = Device::start();
    let questions = questions(device.read);
    let mut asked = [0; 2];
    let (mut wrong, mut counts) = (String::new(), BTreeMap::new());
    for line in RECORDED.lines() {
        let Some((name, expected)) = line.split_once(": ") else { continue };
        let words: Vec<&str> = name.split(' ').collect();
        let given = match words[..] {
            [kind @ ("tiled" | "im2col"), number] => {
                let kind = usize::from(kind == "im2col");
                asked[kind] += 1;
                assert_eq!(number.parse(), Ok(asked[kind] - 1));
                Some(questions[kind][asked[kind] - 1].encode().0.to_string())
            }
            _ => answer(&device, name),
        };
        let Some(given) = given else { continue };
        *counts.entry(words[0]).or_insert(0) += 1;
        if given != expected {
            writeln!(wrong, "{name}: {given}, on the device {expected}").expect("a string");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(asked, questions.map(|all| all.len()), "all questions are recorded");
    let all = [("1d", 9), ("2d", 1092), ("3d", 24), ("4d", 3), ("5d", 3), ("im2col", 331)];
    let more = [("nan", 7), ("store", 276), ("tiled", 270)];
    assert_eq!(counts, all.into_iter().chain(more).collect());
}
