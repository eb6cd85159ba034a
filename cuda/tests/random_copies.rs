//! Tensor copies by maps of all kinds, and bulk copies without: to the byte what an H200 moves, and which maps its driver
//! refuses (`testdata/h200/tensor_copies.txt`).

mod support;

use std::fmt::Write as _;

use support::copies::{Aligned, BULK, REDUCTIONS, module};
use support::recorded::{Driver, Given, check};
use support::{at, out};
use testkit::random::Random;

/// Bytes of elements, in the order of `CUtensorMapDataType`.
const SIZES: [u64; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];
/// Bytes of shared memory that a kernel shows, or fills.
const SHOWN: u32 = 16 << 10;
/// Bytes of shared memory of a launch.
const SHARED: u32 = 40 << 10;
/// Bytes of global memory, and where in them a tensor begins.
const AREA: usize = 2 << 20;
const BASE: u64 = 256 << 10;
/// Tensors that are written are no larger.
const WRITTEN: u64 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Load,
    Store,
    Reduce(usize),
}

/// A copy by a map.
struct Copy {
    what: What,
    im2col: bool,
    element: usize,
    rank: usize,
    address: u64,
    extents: [u64; 5],
    strides: [u64; 4],
    tile: [u32; 5],
    lower: [i32; 3],
    upper: [i32; 3],
    channels: u32,
    pixels: u32,
    steps: [u32; 5],
    interleave: u32,
    swizzle: u32,
    fill: u32,
    coordinates: [i32; 5],
    offsets: [u16; 3],
    shared: u32,
}

enum Case {
    Map(Box<Copy>),
    /// A reduction of [`BULK`]; a copy to global memory beyond them, then one to shared memory.
    Bulk {
        which: usize,
        bytes: u32,
        skip: u32,
    },
}

impl Copy {
    fn size(&self) -> u64 {
        SIZES[self.element]
    }

    /// Bytes of a slice of channels, if they are interleaved.
    fn slice(&self) -> u64 {
        [0, 16, 32][self.interleave as usize]
    }

    /// Bytes side by side in shared memory, and how many of them a copy moves.
    fn rows(&self) -> (u64, u64) {
        let slices = self.slice() != 0;
        let inner = u64::from(if self.im2col { self.channels } else { self.tile[0] }) * self.size();
        let row = if slices { self.slice() } else { inner };
        if self.im2col {
            return (row, self.pixels.into());
        }
        // Of slices one is copied.
        let counted = (usize::from(!slices)..self.rank).filter(|&at| !slices || at + 2 != self.rank);
        (row, counted.map(|at| u64::from(self.tile[at].div_ceil(self.steps[at].max(1)))).product())
    }

    /// Bytes that a copy moves.
    fn bytes(&self) -> u64 {
        let (row, rows) = self.rows();
        row * rows
    }

    /// Bytes that it takes in shared memory: rows of a swizzle's span, but for slices.
    fn room(&self) -> u64 {
        let (row, rows) = self.rows();
        let span = [0, 32, 64, 128][self.swizzle as usize & 3];
        rows * if self.slice() == 0 { row.max(span) } else { row }
    }

    /// Bytes from the tensor's first to behind its last.
    fn extent(&self) -> u64 {
        let steps = self.strides.iter().zip(&self.extents[1..]).take(self.rank - 1);
        let inner = if self.slice() == 0 { self.size() } else { self.slice() };
        steps.map(|(stride, extent)| stride * (extent - 1)).sum::<u64>() + self.extents[0] * inner
    }

    /// Any copy that is no fault, with a map that the driver may refuse.
    fn any(random: &mut Random) -> Copy {
        loop {
            let copy = Copy::random(random);
            let fits = u64::from(copy.shared) + copy.room() <= u64::from(SHOWN);
            if fits && copy.extent() <= if copy.what == What::Load { BASE } else { WRITTEN } {
                return copy;
            }
        }
    }

    fn random(random: &mut Random) -> Copy {
        let what = match random.below(8) {
            0..5 => What::Load,
            5 => What::Store,
            _ => What::Reduce(random.below(REDUCTIONS.len() as u64) as usize),
        };
        let outwards = what == What::Load;
        let im2col = random.once_in(4);
        let interleave = if random.once_in(4) { random.pick(&[1, 2]) } else { 0 };
        let rank = random.within(if im2col || interleave != 0 { 3 } else { 1 }, 5) as usize;
        let element = match what {
            What::Reduce(which) => random.pick(REDUCTIONS[which].1),
            _ => random.below(13) as usize,
        };
        let size = SIZES[element];
        let swizzle = random.pick(&[0, 0, 1, 2, 3]);
        let span = [256u64, 32, 64, 128][swizzle as usize];
        // Sixteen bytes and more.
        let row = (16 * random.within(1, (span / 16) as i64) as u64).min(256 * size);
        let unit = [16, 16, 32][interleave as usize];
        let inner = if interleave == 0 { size } else { unit };
        let mut copy = Copy {
            what,
            im2col,
            element,
            rank,
            address: BASE + unit * random.below(9),
            extents: [1; 5],
            strides: [0; 4],
            tile: [1; 5],
            lower: [0; 3],
            upper: [0; 3],
            channels: (row / size) as u32,
            pixels: random.within(1, 70) as u32,
            steps: [1; 5],
            interleave,
            swizzle,
            fill: u32::from(random.once_in(3) && matches!(element, 6..13)),
            coordinates: [0; 5],
            offsets: std::array::from_fn(|_| random.below(4) as u16),
            shared: 128 * random.below(9) as u32,
        };
        copy.extents[0] = random.within(1, (300 / inner) as i64) as u64;
        let mut stride = (copy.extents[0] * inner).next_multiple_of(unit) + unit * random.below(3);
        for dimension in 1..rank {
            copy.extents[dimension] = random.within(1, 9) as u64;
            copy.strides[dimension - 1] = stride;
            stride = stride * copy.extents[dimension] + unit * random.below(4);
        }
        copy.tile[0] = (row / size) as u32;
        for dimension in 1..rank {
            copy.tile[dimension] = random.within(1, 10) as u32;
        }
        for dimension in 0..rank {
            if random.once_in(4) {
                copy.steps[dimension] = random.within(1, 8) as u32;
            }
        }
        let first = random.within(if outwards { -2 } else { 0 }, (copy.extents[0] * inner / 16) as i64 + 1);
        copy.coordinates[0] = if interleave == 0 { (first * 16 / size as i64) as i32 } else { first as i32 };
        for dimension in 1..rank {
            let low = if outwards { -3 } else { 0 };
            let last = copy.extents[dimension] as i64 - i64::from(!random.once_in(8));
            copy.coordinates[dimension] = random.within(low, last) as i32;
        }
        for corner in 0..if im2col { rank - 2 } else { 0 } {
            let dimension = corner + usize::from(interleave == 0);
            copy.lower[corner] = random.within(-2 * i64::from(outwards), 2) as i32;
            copy.upper[corner] = random.within(-2, 2 * i64::from(outwards)) as i32;
            // It begins in the bounding box, if there is one.
            let last = copy.extents[dimension] as i64 - 1 + i64::from(copy.upper[corner]);
            let first = i64::from(copy.lower[corner]);
            copy.coordinates[dimension] = random.within(first, last.max(first)) as i32;
        }
        // One that the driver may refuse.
        if random.once_in(24) {
            match random.below(9) {
                0 => copy.address += 8,
                1 => copy.strides[0] += 8,
                2 => copy.tile[0] += 1,
                3 => copy.fill = 1,
                4 => copy.steps[random.below(5) as usize] = random.pick(&[0, 9]),
                5 => copy.tile[random.below(5) as usize] = random.pick(&[0, 257]),
                6 => {
                    let limit = [1 << 15, 1 << 7, 1 << 4][rank.max(3) - 3];
                    copy.lower[0] = random.pick(&[-limit - 1, limit]);
                }
                7 => copy.pixels = random.pick(&[0, 1025]),
                _ => copy.swizzle = random.pick(&[1, 4, 7]),
            }
        }
        copy
    }

    fn text(&self) -> String {
        let what = match self.what {
            What::Load => "load",
            What::Store => "store",
            What::Reduce(which) => REDUCTIONS[which].0,
        };
        let rank = self.rank;
        let mut text = format!(
            "{what} type {} at {:#x} extents {:?} strides {:?} steps {:?} interleave {} swizzle {} fill {} from {:?} shared {}",
            self.element,
            self.address,
            &self.extents[..rank],
            &self.strides[..rank - 1],
            &self.steps[..rank],
            self.interleave,
            self.swizzle,
            self.fill,
            &self.coordinates[..rank],
            self.shared,
        );
        if self.im2col {
            let (lower, upper, offsets) = (self.lower, self.upper, self.offsets);
            let (channels, pixels) = (self.channels, self.pixels);
            write!(
                text,
                " im2col {lower:?} {upper:?} {channels} channels {pixels} pixels offsets {offsets:?}"
            )
        } else {
            write!(text, " box {:?}", &self.tile[..rank])
        }
        .expect("a string");
        text
    }

    /// The code of the driver and its map.
    fn encode(&self, driver: &Driver, area: u64) -> (u32, Aligned) {
        let mut map = Aligned([0; 128]);
        let (element, rank) = (self.element as u64, self.rank as u64);
        let tensor =
            [out(&mut map), element, rank, area + self.address, at(&self.extents), at(&self.strides)];
        let [interleave, swizzle, fill] = [self.interleave, self.swizzle, self.fill].map(u64::from);
        let options = [at(&self.steps), interleave, swizzle, 0, fill];
        let code = if self.im2col {
            let pixels = [at(&self.lower), at(&self.upper), u64::from(self.channels), u64::from(self.pixels)];
            driver.call("cuTensorMapEncodeIm2col", &[&tensor[..], &pixels, &options].concat())
        } else {
            driver.call("cuTensorMapEncodeTiled", &[&tensor[..], &[at(&self.tile)], &options].concat())
        };
        (code, map)
    }

    fn kernel(&self) -> String {
        let mode = if self.im2col { "im2col" } else { "tile" };
        match self.what {
            What::Load => format!("load_{mode}_{}", self.rank),
            What::Store => format!("store_{mode}_{}", self.rank),
            What::Reduce(which) => format!("{}_{mode}_{}", REDUCTIONS[which].0, self.rank),
        }
    }
}

/// What stays the same from case to case.
struct Fixture {
    module: u64,
    /// Any bytes, and floats among them.
    bytes: Vec<u8>,
    /// They, in global memory: read, and written.
    read: u64,
    written: u64,
}

fn fixture(driver: &Driver) -> Fixture {
    let mut random = Random::new(1);
    let mut words: Vec<u32> = (0..AREA / 4).map(|_| random.next() as u32).collect();
    // Numbers that can be added, subnormals and zeros among them.
    for word in words.iter_mut().step_by(3) {
        *word = (random.within(-1000, 1000) as f32 + 0.37).to_bits();
    }
    words.iter_mut().step_by(31).for_each(|word| *word &= 0x807f_ffff);
    words.iter_mut().step_by(37).for_each(|word| *word = 0);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let [read, written] = [0; 2].map(|_| driver.alloc(AREA));
    driver.write(read, &bytes);
    Fixture { module: driver.module(&module()), bytes, read, written }
}

fn run(driver: &Driver, fixture: &mut Fixture, case: &Case) -> Given {
    let mut arguments = [0u32; 12];
    let (map, kernel, shown) = match case {
        Case::Bulk { which, bytes, skip } => {
            arguments[7] = *bytes;
            arguments[8] = *skip;
            (Aligned([0; 128]), format!("bulk_{which}"), 0..SHOWN as usize + 16)
        }
        Case::Map(copy) => {
            let loads = copy.what == What::Load;
            let area = if loads { fixture.read } else { fixture.written };
            let (code, map) = copy.encode(driver, area);
            if code != 0 {
                return Ok(code.to_le_bytes().into());
            }
            for (to, from) in arguments.iter_mut().zip(copy.coordinates) {
                *to = from as u32;
            }
            arguments[5] = u32::from(copy.offsets[0]) | u32::from(copy.offsets[1]) << 16;
            arguments[6] = copy.offsets[2].into();
            arguments[7] = copy.bytes() as u32;
            arguments[8] = copy.shared;
            let first = copy.address as usize - 256;
            let shown = if loads { 0..SHOWN as usize + 16 } else { first..first + WRITTEN as usize + 1024 };
            (map, copy.kernel(), shown)
        }
    };
    arguments[9] = SHOWN;
    let stays = &fixture.bytes[AREA - (shown.end - shown.start)..];
    driver.write(fixture.written + shown.start as u64, stays);
    let function = driver.function(fixture.module, &kernel);
    let arguments: Vec<u8> = arguments.iter().flat_map(|word| word.to_le_bytes()).collect();
    let source = fixture.read + BASE;
    let parameters: [&[u8]; 4] = [&map.0, &arguments, &source.to_le_bytes(), &fixture.written.to_le_bytes()];
    match driver.launch(function, 1, SHARED, &parameters) {
        0 => Ok(driver.read(fixture.written + shown.start as u64, shown.end - shown.start)),
        code => Err(code),
    }
}

fn cases() -> Vec<Case> {
    let maps = (0..2000).map(|seed| Case::Map(Box::new(Copy::any(&mut Random::new(2 + seed)))));
    let bulk = (0..BULK.len() + 2).flat_map(|which| {
        let case = move |seed: u64| {
            let mut random = Random::new(100_000 + seed + 10 * which as u64);
            let skip = 16 * random.below(20) as u32;
            Case::Bulk { which, bytes: 16 * random.within(1, 200) as u32, skip }
        };
        (0..3).map(case)
    });
    maps.chain(bulk).collect()
}

fn text(case: &Case) -> String {
    match case {
        Case::Map(copy) => copy.text(),
        Case::Bulk { which, bytes, skip } => {
            let what = BULK.get(*which).copied().unwrap_or("copy");
            format!("bulk {which} {what} of {bytes} bytes at {skip}")
        }
    }
}

#[test]
fn tensors_are_copied_as_on_an_h200() {
    check(include_str!("../../testdata/h200/tensor_copies.txt"), &cases(), &[], fixture, text, run);
}
