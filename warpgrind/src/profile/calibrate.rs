//! What a chip is like, measured on one: chains of instructions that wait for each other, walks through memory, and streams.
//!
//! A chain's cycles hold more than the number that is wanted: the sum of addresses, a loop. What a known chip showed with the
//! same chain, and the number that its file has, say how much more; so numbers move as far from the known chip's as chains do.

use std::collections::HashMap;

use sim_core::{Backend, DevicePtr, Dim3, Error, Launch, Outcome, RunOptions};
use thiserror::Error;
use toml_edit::{DocumentMut, Value};

use crate::module::{Module, ModuleError};
use crate::plan::{Arg, LaunchPlan, Plan};
use crate::run::{RunError, packed};

/// Why a chip was not measured.
#[derive(Error, Debug)]
pub enum CalibrateError {
    /// The device does not do what it is asked for.
    #[error(transparent)]
    Device(#[from] Error),
    /// A launch is refused.
    #[error(transparent)]
    Launch(#[from] RunError),
    /// The microbenchmarks are none that the front end takes.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A microbenchmark did not end well.
    #[error("the microbenchmark `{0}` did not complete on the device")]
    Ended(String),
    /// The device has no clock that counts.
    #[error("the device's clock does not count: is it one?")]
    NoClock,
    /// The file of the chip that is known is none.
    #[error("the chip to begin with: {0}")]
    Chip(String),
}

/// How a measured number becomes one of the chip's.
#[derive(Clone, Copy, Debug)]
enum How {
    /// It is as much more as the chain takes more cycles than on the chip that is known, where it takes so many.
    Shift(f64),
    /// It is in the same proportion.
    Scale(f64),
    /// It is itself one.
    Itself,
}

/// A number of a chip: where it stands in its file, how it follows from what was measured, and what that is.
type Number = (&'static [&'static str], How, &'static str);

/// Instructions of which each waits for the one before.
struct Chain {
    name: &'static str,
    /// Registers, and what comes before.
    declares: &'static str,
    begins: &'static str,
    /// One of them, and how many there are.
    instruction: &'static str,
    count: u32,
    /// What is stored so that it is not left out.
    keeps: &'static str,
    threads: u32,
    /// On so many lines, of which the fastest counts: that at home nearby.
    lines: u32,
    number: Number,
}

/// The cycles beside each are what the same chain took on an H200.
const CHAINS: &[Chain] = &[
    Chain {
        name: "products",
        declares: ".reg .f32 %x;",
        begins: "mov.f32 %x, 0f3F800000;",
        instruction: "fma.rn.f32 %x, %x, %x, 0f3FC00000;",
        count: 256,
        keeps: "st.global.f32 [%out+8192], %x;",
        threads: 1024,
        lines: 1,
        number: (&["units", "fma", "interval"], How::Scale(8.10), "products of floats, 32 warps"),
    },
    Chain {
        name: "integers",
        declares: ".reg .u32 %x;",
        begins: "add.u32 %x, %one, %lane;",
        instruction: "mad.lo.u32 %x, %x, %x, 7;",
        count: 256,
        keeps: "st.global.u32 [%out+8192], %x;",
        threads: 1024,
        lines: 1,
        number: (&["units", "integer", "interval"], How::Scale(15.95), "products of integers, 32 warps"),
    },
    Chain {
        name: "doubles",
        declares: ".reg .f64 %x;",
        begins: "cvt.rn.f64.u32 %x, %one;",
        instruction: "fma.rn.f64 %x, %x, %x, 0d3FF8000000000000;",
        count: 128,
        keeps: "st.global.f64 [%out+8192], %x;",
        threads: 1024,
        lines: 1,
        number: (&["units", "double", "interval"], How::Scale(16.03), "products of doubles, 32 warps"),
    },
    Chain {
        name: "powers",
        declares: ".reg .f32 %x;",
        begins: "cvt.rn.f32.u32 %x, %one;",
        instruction: "ex2.approx.ftz.f32 %x, %x;",
        count: 64,
        keeps: "st.global.f32 [%out+8192], %x;",
        threads: 1024,
        lines: 1,
        number: (&["units", "special", "interval"], How::Scale(63.48), "powers of two, 32 warps"),
    },
    Chain {
        name: "bits",
        declares: ".reg .u32 %x;",
        begins: "add.u32 %x, %one, %lane;",
        instruction: "popc.b32 %x, %x;",
        count: 64,
        keeps: "st.global.u32 [%out+8192], %x;",
        threads: 1024,
        lines: 1,
        number: (&["units", "bits", "interval"], How::Scale(63.3), "counts of bits, 32 warps"),
    },
    Chain {
        name: "shared",
        declares: ".reg .u32 %x; .shared .align 4 .u32 word[64];",
        begins: "mov.u32 %x, word; st.shared.u32 [%x], %x; bar.sync 0;",
        instruction: "ld.volatile.shared.u32 %x, [%x];",
        count: 64,
        keeps: "st.global.u32 [%out+8192], %x;",
        threads: 32,
        lines: 1,
        number: (&["shared", "latency"], How::Shift(22.69), "a chain of loads from shared memory"),
    },
    Chain {
        name: "exchange",
        declares: ".reg .u32 %x, %a; .shared .align 4 .u32 words[64];",
        begins: "mov.u32 %a, words; mad.lo.u32 %a, %lane, 4, %a; mov.u32 %x, 0; st.shared.u32 [%a], %x; bar.sync 0;",
        instruction: "atom.shared.exch.b32 %x, [%a], %x;",
        count: 64,
        keeps: "st.global.u32 [%out+8192], %x;",
        threads: 32,
        lines: 1,
        number: (&["shared", "atomic"], How::Shift(25.64), "a chain of exchanges in shared memory"),
    },
    Chain {
        name: "barrier",
        declares: "",
        begins: "",
        instruction: "bar.sync 0;",
        count: 64,
        keeps: "",
        threads: 32,
        lines: 1,
        number: (&["barrier", "latency"], How::Shift(13.92), "barriers of one warp"),
    },
    Chain {
        name: "fence",
        declares: "",
        begins: "",
        instruction: "membar.gl;",
        count: 32,
        keeps: "",
        threads: 32,
        lines: 1,
        number: (&["barrier", "fence", "1"], How::Shift(270.56), "fences for the device"),
    },
    Chain {
        name: "atomic",
        declares: ".reg .u32 %x;",
        begins: "mov.u32 %x, 0;",
        instruction: "atom.global.add.u32 %x, [%data], %x;",
        count: 64,
        keeps: "st.global.u32 [%out+8192], %x;",
        threads: 1,
        lines: 16,
        number: (&["l2", "atomic_latency"], How::Shift(263.1), "a chain of sums in global memory"),
    },
];

/// A walk from line to line of so many bytes, in no order.
struct Walk {
    name: &'static str,
    /// Of the load: `ca` stays in the first level.
    cache: &'static str,
    bytes: u64,
    steps: u32,
    /// How often it is done; the last one counts.
    rounds: u32,
    number: Number,
}

const WALKS: &[Walk] = &[
    Walk {
        name: "near",
        cache: "ca",
        bytes: 4 << 10,
        steps: 32,
        rounds: 3,
        number: (&["l1", "latency"], How::Shift(31.53), "a walk through 4 KiB"),
    },
    Walk {
        name: "level",
        cache: "cg",
        bytes: 1 << 20,
        steps: 8192,
        rounds: 2,
        number: (&["l2", "latency"], How::Shift(280.93), "a walk through 1 MiB past the first level"),
    },
    Walk {
        name: "far",
        cache: "cg",
        bytes: 512 << 20,
        steps: 4000,
        rounds: 1,
        number: (&["dram", "latency"], How::Shift(648.8), "a walk through 512 MiB"),
    },
];

/// Bytes of a line, and those that streams read and write.
const LINE: u64 = 128;
const STREAM: u64 = 1 << 30;
/// Cycles of the loop that the clock is read off.
const SPIN: u32 = 4_000_000;
/// Streams, and the numbers that they are.
const STREAMS: [(&str, &str, Number); 2] = [
    (
        "reads",
        "ld.global.v4.f32 {%v0, %v1, %v2, %v3}, [%at]; add.f32 %s, %s, %v0;",
        (&["dram", "read"], How::Itself, "1 GiB read"),
    ),
    (
        "writes",
        "st.global.v4.f32 [%at], {%s, %s, %s, %s};",
        (&["dram", "write"], How::Itself, "1 GiB written"),
    ),
];

/// The text of all microbenchmarks.
fn text() -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    let entry = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 p0, .param .u64 p1, .param .u32 p2)\n{{\n\
             .reg .pred %p; .reg .u32 %one, %lane, %t, %u, %turn; .reg .u64 %out, %data, %place;\n{body}\nret;\n}}\n"
        )
    };
    let arguments = "ld.param.u64 %out, [p0]; ld.param.u64 %data, [p1]; ld.param.u32 %one, [p2]; mov.u32 %lane, %tid.x;\n\
                     mul.wide.u32 %place, %lane, 4; add.u64 %place, %out, %place; mov.u32 %turn, 0;";
    let end = "mov.u32 %u, %clock; sub.u32 %u, %u, %t; st.global.u32 [%place], %u;";
    for Chain { name, declares, begins, instruction, count, keeps, .. } in CHAINS {
        let chain = format!("{instruction}\n").repeat(*count as usize);
        // The first time fetches the instructions.
        let again = "add.u32 %turn, %turn, 1; setp.lt.u32 %p, %turn, 2; @%p bra AGAIN;";
        let body = format!(
            "{declares}\n{arguments}\n{begins}\nAGAIN:\nbar.sync 0;\nmov.u32 %t, %clock;\n{chain}{end}\n{again}\n{keeps}"
        );
        text += &entry(name, &body);
    }
    for Walk { name, cache, steps, rounds, .. } in WALKS {
        // A round goes on where the one before ended: nobody would want to know what another one read.
        let body = format!(
            ".reg .u64 %x; .reg .u32 %k;\n{arguments}\nmov.u64 %x, %data;\nAGAIN:\nmov.u32 %k, 0; mov.u32 %t, %clock;\nSTEP:\n\
             ld.global.{cache}.u64 %x, [%x];\nadd.u32 %k, %k, 1; setp.lt.u32 %p, %k, {steps}; @%p bra STEP;\n{end}\n\
             add.u32 %turn, %turn, 1; setp.lt.u32 %p, %turn, {rounds}; @%p bra AGAIN;\nst.global.u64 [%out+8192], %x;"
        );
        text += &entry(name, &body);
    }
    for (name, access, _) in STREAMS {
        let body = format!(
            ".reg .u64 %at, %end, %step, %from, %to, %wide; .reg .f32 %s, %v<4>; .reg .u32 %b, %n, %g;\n{arguments}\n\
             mov.u64 %from, %globaltimer;\nmov.f32 %s, 0f00000000; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %g, %nctaid.x;\n\
             mad.lo.u32 %u, %b, %n, %lane; mul.wide.u32 %at, %u, 16; add.u64 %at, %data, %at;\n\
             mul.lo.u32 %u, %n, %g; mul.wide.u32 %step, %u, 16; cvt.u64.u32 %wide, %one; shl.b64 %wide, %wide, 4;\n\
             add.u64 %end, %data, %wide;\nNEXT:\nsetp.ge.u64 %p, %at, %end; @%p bra DONE;\n{access}\nadd.u64 %at, %at, %step; bra NEXT;\nDONE:\n\
             mov.u64 %to, %globaltimer; mul.wide.u32 %place, %b, 16; add.u64 %place, %out, %place;\n\
             setp.ne.u32 %p, %lane, 0; @%p bra KEEP; st.global.u64 [%place], %from; st.global.u64 [%place+8], %to;\nKEEP:\n\
             setp.neu.f32 %p, %s, 0f449A5225; @%p bra OVER; st.global.f32 [%data], %s;\nOVER:"
        );
        text += &entry(name, &body);
    }
    let body = format!(
        ".reg .u64 %from, %to, %c, %d;\n{arguments}\nmov.u64 %from, %globaltimer; mov.u64 %c, %clock64;\nTURN:\n\
         mov.u64 %d, %clock64; sub.u64 %d, %d, %c; cvt.u64.u32 %to, %one; setp.lt.u64 %p, %d, %to; @%p bra TURN;\n\
         mov.u64 %to, %globaltimer; sub.u64 %to, %to, %from; st.global.u64 [%out], %d; st.global.u64 [%out+8], %to;"
    );
    text + &entry("spin", &body)
}

/// A device on which microbenchmarks run.
struct Bench<'a> {
    device: &'a dyn Backend,
    module: Module,
    id: sim_core::ModuleId,
    out: DevicePtr,
    data: DevicePtr,
}

impl Bench<'_> {
    fn run(&self, kernel: &str, grid: u32, block: u32, last: u32) -> Result<(), CalibrateError> {
        self.run_at(self.data, kernel, grid, block, last)
    }

    fn run_at(
        &self,
        data: DevicePtr,
        kernel: &str,
        grid: u32,
        block: u32,
        last: u32,
    ) -> Result<(), CalibrateError> {
        let pointer = |of: DevicePtr| (Arg::Scalar(of.into()), None);
        let plan = LaunchPlan {
            kernel: Some(kernel.into()),
            grid: Dim3::new(grid, 1, 1),
            block: Dim3::new(block, 1, 1),
            args: vec![pointer(self.out), pointer(data), (Arg::Scalar(last.into()), None)],
            ..LaunchPlan::default()
        };
        let id = self.module.kernel(Some(kernel))?;
        let launch = packed(self.module.checked(), id, &Plan::default(), &plan, &HashMap::new());
        let launch: Launch = launch.map_err(RunError::from)?;
        let report = self.device.launch(self.id, &launch, &RunOptions::default())?;
        match report.outcome {
            Outcome::Completed => Ok(()),
            _ => Err(CalibrateError::Ended(kernel.into())),
        }
    }

    fn words<const N: usize>(&self) -> Result<[u64; N], CalibrateError> {
        let mut bytes = vec![0; 8 * N];
        self.device.read(self.out, &mut bytes)?;
        Ok(std::array::from_fn(|at| {
            bytes[8 * at..][..8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        }))
    }

    /// Cycles of the first thread.
    fn cycles(&self) -> Result<f64, CalibrateError> {
        let [word] = self.words()?;
        Ok(f64::from(word as u32))
    }

    /// Cycles a second.
    fn clock(&self) -> Result<f64, CalibrateError> {
        self.run("spin", 1, 1, SPIN)?;
        let [cycles, time] = self.words()?;
        if cycles == 0 || time == 0 {
            return Err(CalibrateError::NoClock);
        }
        Ok((cycles as f64 / time as f64 * 1e3).round() * 1e6)
    }

    /// Writes a ring of lines in no order.
    fn ring(&self, bytes: u64) -> Result<(), CalibrateError> {
        let lines = bytes / LINE;
        let mut order: Vec<u64> = (0..lines).collect();
        let mut state = 88_172_645_463_325_252u64;
        for at in (1..lines).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(at as usize, (state % at) as usize);
        }
        // The walk begins at the first line of the buffer.
        let first = order.iter().position(|&line| line == 0).unwrap_or(0);
        order.rotate_left(first);
        let mut image = vec![0u8; bytes as usize];
        for (at, line) in order.iter().enumerate() {
            let next = order[(at + 1) % order.len()];
            let address = self.data + next * LINE;
            image[(line * LINE) as usize..][..8].copy_from_slice(&address.to_le_bytes());
        }
        Ok(self.device.write(self.data, &image)?)
    }
}

/// Measures what can be measured of a device that has so many multiprocessors: the file of the chip that is known, with what
/// was measured in its place and its source beside it. `told` hears of each number: its name, the old and the new one.
///
/// # Errors
/// A microbenchmark does not run, or the known chip's file is none.
pub fn calibrate(
    device: &dyn Backend,
    multiprocessors: u32,
    known: &str,
    mut told: impl FnMut(&str, f64, f64),
) -> Result<String, CalibrateError> {
    let mut file: DocumentMut = known.parse().map_err(|error| CalibrateError::Chip(format!("{error}")))?;
    let module = Module::from_ptx("calibrate.ptx", &text())?;
    let id = device.load(module.checked().clone())?;
    let (out, data) = (device.alloc(1 << 20, "out")?, device.alloc(STREAM, "data")?);
    let bench = Bench { device, module, id, out, data };
    let mut note = |number: &Number, measured: f64| -> Result<(), CalibrateError> {
        let (path, how, what) = number;
        let (old, new) = set(
            &mut file,
            path,
            |old| match how {
                How::Shift(known) => old + measured - known,
                How::Scale(known) => old * measured / known,
                How::Itself => measured,
            },
            what,
        )?;
        told(&path.join("."), old, new);
        Ok(())
    };
    let clock = bench.clock()?;
    note(&(&["clock"], How::Itself, "a loop of 4,000,000 cycles"), clock)?;
    note(&(&["multiprocessors"], How::Itself, "the driver"), f64::from(multiprocessors))?;
    for chain in CHAINS {
        let mut least = f64::INFINITY;
        for line in 0..u64::from(chain.lines) {
            bench.run_at(data + line * 4096, chain.name, 1, chain.threads, 1)?;
            least = least.min(bench.cycles()?);
        }
        note(&chain.number, least / f64::from(chain.count))?;
    }
    for walk in WALKS {
        bench.ring(walk.bytes)?;
        bench.run(walk.name, 1, 1, 1)?;
        note(&walk.number, bench.cycles()? / f64::from(walk.steps))?;
    }
    let blocks = multiprocessors * 8;
    for (name, _, number) in &STREAMS {
        bench.run(name, blocks, 256, (STREAM / 16) as u32)?;
        let mut bytes = vec![0; 16 * blocks as usize];
        device.read(out, &mut bytes)?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        let (from, to) = (0..blocks as usize).fold((u64::MAX, 0), |(from, to), block| {
            (from.min(word(2 * block)), to.max(word(2 * block + 1)))
        });
        let cycles = to.saturating_sub(from) as f64 / 1e9 * clock;
        if cycles > 0.0 {
            note(number, (STREAM as f64 / cycles).round())?;
        }
    }
    device.free(data)?;
    device.free(out)?;
    device.unload(bench.id)?;
    file["name"] = toml_edit::value(device.name());
    let text = file.to_string();
    timing::chip::Chip::from_toml(&text).map_err(|error| CalibrateError::Chip(error.to_string()))?;
    Ok(text)
}

/// Changes the number at a place of a file, and says where it comes from: the old and the new one.
fn set(
    file: &mut DocumentMut,
    path: &[&str],
    change: impl Fn(f64) -> f64,
    what: &str,
) -> Result<(f64, f64), CalibrateError> {
    let missing = || CalibrateError::Chip(format!("it has no `{}`", path.join(".")));
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|number| number as f64));
    // The comment stands behind the last thing that has a line of its own.
    let mut item = file.as_item_mut();
    let mut rest = path;
    while let ([name, tail @ ..], true) = (rest, item.is_table()) {
        item = item.get_mut(name).ok_or_else(missing)?;
        rest = tail;
    }
    let line = item.as_value_mut().ok_or_else(missing)?;
    let comment = line.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or("").to_owned();
    let inner = match (&mut *line, rest) {
        (value, []) => value,
        (Value::InlineTable(table), [name]) => table.get_mut(name).ok_or_else(missing)?,
        (Value::Array(list), [at]) => {
            at.parse().ok().and_then(|at: usize| list.get_mut(at)).ok_or_else(missing)?
        }
        _ => return Err(missing()),
    };
    let old = number(inner).ok_or_else(missing)?;
    let new = (change(old).max(0.0) * 1000.0).round() / 1000.0;
    let decor = inner.decor().clone();
    *inner = match new.fract() == 0.0 && inner.is_integer() {
        true => Value::from(new as i64),
        false => Value::from(new),
    };
    *inner.decor_mut() = decor;
    let field = rest.first().map_or(String::new(), |name| format!("{name}: "));
    let source = match (rest.is_empty(), comment.trim().is_empty()) {
        (false, false) => format!("{}; {field}(c) {what}", comment.trim_end()),
        _ => format!(" # (c) {what}"),
    };
    line.decor_mut().set_suffix(source);
    Ok((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::assemble::Assembler;
    use crate::profile::limit::Limit;

    #[test]
    fn microbenchmarks_are_ptx() {
        let module = Module::from_ptx("calibrate.ptx", &text()).expect("PTX");
        let names = CHAINS.iter().map(|of| of.name).chain(WALKS.iter().map(|of| of.name));
        for name in names.chain(STREAMS.map(|(name, _, _)| name)).chain(["spin"]) {
            assert!(module.checked().kernel(name).is_some(), "{name}");
        }
        match Assembler::find(None, &Limit::default()) {
            Ok(assembler) => assert!(!assembler.resources(text().as_bytes(), "sm_90").unwrap().is_empty()),
            Err(_) => eprintln!("skipped: ptxas is not found"),
        }
    }

    #[test]
    fn chains_and_walks_end() {
        let device = sim_core::Simulator::new(sim_core::DeviceConfig::h200());
        let module = Module::from_ptx("calibrate.ptx", &text()).unwrap();
        let id = device.load(module.checked().clone()).unwrap();
        let (out, data) = (device.alloc(1 << 20, "out").unwrap(), device.alloc(1 << 20, "data").unwrap());
        let bench = Bench { device: &device, module, id, out, data };
        for chain in CHAINS {
            bench.run(chain.name, 1, chain.threads, 1).unwrap();
        }
        bench.ring(1 << 20).unwrap();
        for walk in WALKS {
            bench.run(walk.name, 1, 1, 1).unwrap();
        }
        // 256 elements of 16 bytes, by 2 blocks of 32.
        for (name, _, _) in STREAMS {
            bench.run(name, 2, 32, 256).unwrap();
        }
    }

    #[test]
    fn numbers_stand_beside_their_source() {
        let mut file: DocumentMut = include_str!("../../../timing/chips/h200.toml").parse().unwrap();
        let mut set = |path: &[&str], new: f64| set(&mut file, path, |_| new, "here").unwrap();
        assert_eq!(set(&["units", "special", "interval"], 9.5), (8.0, 9.5));
        assert_eq!(set(&["barrier", "fence", "1"], 300.0), (270.0, 300.0));
        assert_eq!(set(&["clock"], 1.5e9).1, 1.5e9);
        let text = file.to_string();
        assert!(
            text.contains("special = { interval = 9.5, latency = 17 } # (m); interval: (c) here"),
            "{text}"
        );
        assert!(text.contains("fence = [8, 300] # (m); 1: (c) here"), "{text}");
        assert!(text.contains("clock = 1500000000.0 # (c) here"), "{text}");
        let chip = timing::chip::Chip::from_toml(&text).unwrap();
        assert_eq!((chip.units.special.interval, chip.barrier.fence[1]), (9.5, 300.0));
    }

    #[test]
    fn all_numbers_are_a_chips() {
        let mut file: DocumentMut = include_str!("../../../timing/chips/h200.toml").parse().unwrap();
        let numbers = CHAINS.iter().map(|of| &of.number).chain(WALKS.iter().map(|of| &of.number));
        for (path, _, what) in numbers.chain(STREAMS.iter().map(|(_, _, number)| number)) {
            set(&mut file, path, |old| old, what).expect("a number");
        }
    }
}
