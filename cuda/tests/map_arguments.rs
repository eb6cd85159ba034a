//! Which arguments of `cuTensorMapEncode*` NVIDIA's driver refuses, and with which code (`testdata/h200/map_arguments.txt`).

mod support;

use support::copies::Aligned;
use support::recorded::{Driver, Given, check};
use support::{at, out};
use testkit::random::Random;

/// Bytes of elements, in the order of `CUtensorMapDataType`.
const SIZES: [u64; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Tiled,
    Im2col,
    Im2colWide,
}

/// Pointers among the arguments, by their bit in [`Call::null`].
const MAP: u32 = 0;
const EXTENTS: u32 = 1;
const STRIDES: u32 = 2;
const TILE: u32 = 3;
const UPPER: u32 = 4;
const STEPS: u32 = 5;
const POINTERS: u64 = 6;

/// The arguments of a call. What the function does not have is left out of its arguments alone.
#[derive(Debug)]
struct Call {
    function: Function,
    element: u32,
    rank: u32,
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
    mode: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
    /// Bits of pointers that are null.
    null: u32,
}

impl Call {
    /// A call that a driver takes, mostly.
    fn good(random: &mut Random, function: Function) -> Call {
        let images = function != Function::Tiled;
        let interleave = if random.once_in(4) { random.pick(&[1, 2]) } else { 0 };
        let rank = random.within(if images || interleave != 0 { 3 } else { 1 }, 5) as usize;
        let element = random.below(13) as usize;
        let size = SIZES[element];
        let swizzle = random.pick(&[0, 0, 1, 2, 3]);
        let span = [256u64, 32, 64, 128][swizzle as usize];
        let row = (16 * random.within(1, (span / 16) as i64) as u64).min(256 * size);
        let mut call = Call {
            function,
            element: element as u32,
            rank: rank as u32,
            address: 0x7f00_0000_0000,
            extents: std::array::from_fn(|_| random.within(9, 300) as u64),
            strides: [0; 4],
            tile: std::array::from_fn(|_| random.within(1, 8) as u32),
            lower: std::array::from_fn(|_| random.within(-3, 2) as i32),
            upper: std::array::from_fn(|_| random.within(-3, 2) as i32),
            channels: (row / size) as u32,
            pixels: random.within(1, 200) as u32,
            steps: [1; 5],
            interleave,
            mode: random.below(2) as u32,
            swizzle,
            promotion: random.below(4) as u32,
            fill: u32::from(random.once_in(3) && element >= 6),
            null: 0,
        };
        call.tile[0] = call.channels;
        let mut stride = (call.extents[0] * size).next_multiple_of(32);
        for (to, extent) in call.strides.iter_mut().zip(&call.extents[1..]) {
            *to = stride;
            stride *= extent;
        }
        call
    }

    /// Changes an argument to one at a limit, or beyond.
    fn spoil(&mut self, random: &mut Random) {
        let rank = self.rank.clamp(1, 5) as usize;
        let dimension = random.below(rank as u64) as usize;
        match random.below(16) {
            0 => self.element = random.pick(&[0, 4, 8, 12, 13, 14, 15, 16, 17, 100, u32::MAX]),
            1 => self.rank = random.pick(&[0, 1, 2, 3, 4, 5, 6, 100]),
            2 => {
                let offsets = [1, 4, 8, 16, 32, 1 << 40, 1 << 56, (1 << 63) + 8];
                self.address = random.pick(&[0, self.address]).wrapping_add(random.pick(&offsets));
            }
            3 => {
                let values = [0, 1, 1 << 31, u32::MAX.into(), 1 << 32, (1 << 32) + 1, 1 << 40, u64::MAX];
                self.extents[dimension] = random.pick(&values);
            }
            4 => {
                let values =
                    [0, 1, 8, 16, 32, 48, 240, 1 << 39, (1 << 40) - 32, (1 << 40) - 16, 1 << 40, 1 << 63];
                self.strides[dimension.saturating_sub(1)] = random.pick(&values);
            }
            5 => self.tile[dimension] = random.pick(&[0, 1, 2, 3, 16, 64, 255, 256, 257, 1 << 16, u32::MAX]),
            6 => self.steps[dimension] = random.pick(&[0, 1, 2, 3, 7, 8, 9, 16, u32::MAX]),
            7 => self.interleave = random.pick(&[0, 1, 2, 3, 100]),
            8 => self.swizzle = random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 100]),
            9 => self.promotion = random.pick(&[0, 1, 2, 3, 4, 100]),
            10 => self.fill = random.pick(&[0, 1, 2, 3, 100]),
            11 => {
                self.channels = random.pick(&[0, 1, 4, 8, 16, 48, 64, 128, 255, 256, 257, 1 << 16, u32::MAX])
            }
            12 => self.pixels = random.pick(&[0, 1, 255, 256, 257, 512, 1023, 1024, 1025, u32::MAX]),
            13 => {
                let limit = random.pick(&[1 << 3, 1 << 4, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 30]);
                let corner = random.pick(&[-limit - 1, -limit, limit - 1, limit]);
                let at = random.below(3) as usize;
                let corners = if random.once_in(2) { &mut self.lower } else { &mut self.upper };
                corners[at] = corner;
            }
            14 => self.mode = random.pick(&[0, 1, 2, 3, 100]),
            // NVIDIA's driver reads the lists of im2col even if they are null.
            _ if self.function == Function::Tiled => self.null |= 1 << random.below(POINTERS),
            _ => {}
        }
    }

    fn run(&self, driver: &Driver) -> u32 {
        let mut map = Aligned([0; 128]);
        let given = |pointer: u64, bit: u32| if self.null >> bit & 1 != 0 { 0 } else { pointer };
        let mut arguments = vec![
            given(out(&mut map), MAP),
            self.element.into(),
            self.rank.into(),
            self.address,
            given(at(&self.extents), EXTENTS),
            given(at(&self.strides), STRIDES),
        ];
        let images = [u64::from(self.channels), self.pixels.into()];
        let name = match self.function {
            Function::Tiled => {
                arguments.push(given(at(&self.tile), TILE));
                "cuTensorMapEncodeTiled"
            }
            Function::Im2col => {
                arguments.extend([given(at(&self.lower), TILE), given(at(&self.upper), UPPER)]);
                arguments.extend(images);
                "cuTensorMapEncodeIm2col"
            }
            Function::Im2colWide => {
                arguments.extend([self.lower[0] as u64, self.upper[0] as u64]);
                arguments.extend(images);
                "cuTensorMapEncodeIm2colWide"
            }
        };
        arguments.extend([given(at(&self.steps), STEPS), self.interleave.into()]);
        if self.function == Function::Im2colWide {
            arguments.push(self.mode.into());
        }
        arguments.extend([self.swizzle, self.promotion, self.fill].map(u64::from));
        driver.call(name, &arguments)
    }
}

fn cases() -> Vec<Call> {
    let of = |function, count: u64| {
        (0..count).map(move |seed| {
            let random = &mut Random::new(10_000 * function as u64 + seed);
            let mut call = Call::good(random, function);
            for _ in 0..random.below(4) {
                call.spoil(random);
            }
            call
        })
    };
    let images = of(Function::Im2col, 900).chain(of(Function::Im2colWide, 300));
    of(Function::Tiled, 1200).chain(images).collect()
}

#[test]
fn arguments_are_refused_as_on_an_h200() {
    let run =
        |driver: &Driver, _: &mut (), call: &Call| -> Given { Ok(call.run(driver).to_le_bytes().into()) };
    let text = |call: &Call| format!("{call:?}");
    check(include_str!("../../testdata/h200/map_arguments.txt"), &cases(), &[], |_| (), text, run);
}
