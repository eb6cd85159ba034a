//! Machine instructions of sm_90, as far as time depends on them.

/// The control information of an instruction: bits 105 to 125 of its 128.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Cycles before the warp may issue its next instruction.
    pub stall: u8,
    /// The scoreboard that says when its result is there.
    pub write: Option<u8>,
    /// The scoreboard that says when its operands were read.
    pub read: Option<u8>,
    /// Scoreboards that must be clear before it is issued, as bits.
    pub wait: u8,
}

impl Control {
    /// Of the 21 bits.
    pub fn of(bits: u32) -> Self {
        let board = |number: u32| (number < 6).then_some(number as u8);
        Control {
            stall: (bits & 15) as u8,
            write: board(bits >> 5 & 7),
            read: board(bits >> 8 & 7),
            wait: (bits >> 11 & 63) as u8,
        }
    }
}

/// What executes an instruction, in each of the four sub-cores of a multiprocessor, or shared by them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// Sums and products of `.f32`.
    Fma,
    /// Products of integers, which half of that has.
    Integer,
    /// Logic, comparisons, selection.
    Alu,
    /// Pairs of `.f16`.
    Half,
    /// `.f64`.
    Double,
    /// Transcendental functions and conversions.
    Special,
    /// Counting bits.
    Bits,
    /// The uniform datapath.
    Uniform,
    /// Matrix products.
    Tensor,
    /// Branches.
    Branch,
    /// Everything that goes to memory, and shuffles.
    Memory,
    /// Constants.
    Constant,
    /// What needs no unit.
    None,
}

impl Unit {
    /// How many there are.
    pub const COUNT: usize = 13;

    /// All of them, with the names by which a chip's file knows them.
    pub const ALL: [(Unit, &'static str); Unit::COUNT] = [
        (Unit::Fma, "fma"),
        (Unit::Integer, "integer"),
        (Unit::Alu, "alu"),
        (Unit::Half, "half"),
        (Unit::Double, "double"),
        (Unit::Special, "special"),
        (Unit::Bits, "bits"),
        (Unit::Uniform, "uniform"),
        (Unit::Tensor, "tensor"),
        (Unit::Branch, "branch"),
        (Unit::Memory, "memory"),
        (Unit::Constant, "constant"),
        (Unit::None, "none"),
    ];
}

/// What an instruction does beyond computing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    /// Nothing: its result is there after the latency of its unit.
    Compute,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Changes memory, with a result (`ATOM`) or without (`RED`).
    Atomic {
        /// Whether somebody waits for what was there.
        returns: bool,
    },
    /// Copies from global to shared memory: `LDGSTS`.
    Copy,
    /// Has a warpgroup's matrix unit compute, which does it by itself.
    Product,
    /// Waits for all of these.
    ProductsDone,
    /// Exchanges values between lanes.
    Shuffle,
    /// Waits for the other warps of the block, or for so many.
    Barrier {
        /// Number of the barrier.
        number: u8,
        /// Threads that meet; all of the block, if it does not say.
        threads: Option<u32>,
        /// Whether it waits there.
        waits: bool,
    },
    /// A scoreboard is clear when all `LDGSTS` of the warp are done.
    CopiesDone,
    /// Waits until at most so many results of a scoreboard are missing.
    Missing {
        /// The scoreboard.
        board: u8,
        /// How many may be missing.
        most: u8,
    },
    /// Waits until what the warp wrote can be seen: by its block or cluster, or by the whole device.
    Fence {
        /// By the device.
        device: bool,
    },
    /// The first level of the multiprocessor forgets what it has of global memory (`CCTL.IVALL`, behind fences and loads that acquire).
    Forgets,
    /// Reads texels, or bytes of surfaces.
    Texture {
        /// With coordinates that are no numbers of texels.
        samples: bool,
    },
    /// Has the unit for bulk copies copy: bytes that follow each other, or a box of a tensor.
    Bulk {
        /// A box.
        tensor: bool,
    },
    /// A scoreboard is clear when what the bulk copies of the warp read is read.
    BulkDone,
    /// Arrives at an mbarrier.
    Arrives,
    /// The same, once the copies of the warp (`LDGSTS`) are done.
    ArrivesCopied,
    /// Waits for a phase of an mbarrier.
    Awaits,
    /// Arrives at the barrier of the cluster.
    ClusterArrives,
    /// Waits there.
    ClusterWaits,
    /// Prints (`vprintf`), by code of the driver's.
    Prints,
    /// Lanes of the warp come together.
    Meets,
    /// Jumps to where a register says.
    JumpsFar,
    /// The threads end.
    Exit,
}

/// A machine instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Op {
    /// Where it is executed.
    pub unit: Unit,
    /// What it does.
    pub does: Does,
    /// What the assembler says of its dependences.
    pub control: Control,
    /// The constant that it reads.
    pub constant: Option<Constant>,
    /// Bytes a lane that it moves.
    pub bytes: u8,
    /// By how much its unit is busier with it than with others.
    pub weight: f32,
    /// Of memory that each thread has for itself, where it is there, if the instruction says so.
    pub local: Option<u32>,
    /// Whether it does not look into the first level.
    pub past: bool,
    /// Whether nobody reads again what it reads (`LDL.LU`): the first level need not keep that.
    pub last_use: bool,
    /// Whether the assembler may have put it where a value is wanted again: then it reads what it read before.
    pub repeats: bool,
    /// Whether it is a compare-and-swap of a loop that is none in the PTX: each lane at a word takes a turn of it.
    pub tries: bool,
    /// Of a compare-and-swap on shared memory that is tried again until it succeeds: the first instruction of the loop, and that
    /// behind its last one.
    pub again: Option<(u32, u32)>,
    /// Whether it is an atomic operation that computes with floats.
    pub floats: bool,
    /// Whether these are of eight bytes.
    pub doubles: bool,
}

/// A constant that an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constant {
    /// One of the launch (bank 0), at an offset.
    Launch(u16),
    /// One of the program (bank 3): at an offset, where the instruction says which.
    Program(Option<u16>),
}

/// Which unit has an opcode.
fn unit(base: &str, opcode: &str) -> Unit {
    match base {
        "FFMA" | "FADD" | "FMUL" | "FFMA32I" | "FADD32I" | "FMUL32I" | "FSWZADD" => Unit::Fma,
        "IMAD" | "IMUL" | "IDP" | "IDP4A" | "XMAD" => Unit::Integer,
        "HFMA2" | "HADD2" | "HMUL2" | "HSETP2" | "HSET2" | "HMNMX2" | "HFMA2_32I" | "HADD2_32I" => Unit::Half,
        "DFMA" | "DADD" | "DMUL" | "DSETP" | "DMNMX" => Unit::Double,
        "MUFU" | "I2F" | "F2I" | "F2F" | "FRND" | "I2I" | "FCHK" => Unit::Special,
        "POPC" | "FLO" | "BREV" => Unit::Bits,
        "HMMA" | "IMMA" | "DMMA" | "BMMA" | "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => Unit::Tensor,
        "BRA" | "BRX" | "JMP" | "JMX" | "CALL" | "RET" | "EXIT" | "BSSY" | "BSYNC" | "BREAK" | "BMOV"
        | "WARPSYNC" | "YIELD" | "BPT" | "KILL" => Unit::Branch,
        "LDC" | "LDCU" => Unit::Constant,
        "LDG" | "LD" | "LDL" | "LDS" | "LDSM" | "STG" | "ST" | "STL" | "STS" | "STSM" | "ATOM" | "ATOMG"
        | "ATOMS" | "RED" | "REDG" | "REDS" | "LDGSTS" | "SHFL" | "MATCH" | "REDUX" | "CREDUX" | "TEX"
        | "TLD" | "TLD4" | "TXQ" | "SULD" | "SUST" | "SURED" | "SUATOM" | "CCTL" | "SYNCS" | "UBLKCP"
        | "UBLKRED" | "UTMALDG" | "UTMASTG" | "UTMAREDG" | "STAS" | "REDAS" | "LDGMC" | "ISBERD"
        | "ATOMSWS" | "UBLKPF" | "UTMAPF" => Unit::Memory,
        "MOVM" | "BAR" | "DEPBAR" | "LDGDEPBAR" | "NOP" | "MEMBAR" | "ERRBAR" | "NANOSLEEP"
        | "UTMACMDFLUSH" | "CS2R" | "UCGABAR_ARV" | "UCGABAR_WAIT" | "USETMAXREG" | "WARPGROUP"
        | "WARPGROUPSET" | "ARRIVES" | "FENCE" | "S2R" | "S2UR" => Unit::None,
        _ if opcode.starts_with('U') => Unit::Uniform,
        _ => Unit::Alu,
    }
}

fn does(base: &str, opcode: &str, operands: &str) -> Does {
    let has = |part: &str| opcode.split('.').any(|own| own == part);
    let words = || operands.split(',').map(str::trim);
    let hexadecimal = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    match base {
        "CCTL" if has("IVALL") => Does::Forgets,
        "LDG" | "LD" | "LDL" | "LDS" | "LDSM" | "LDGMC" => Does::Load,
        "TEX" | "TLD" | "TLD4" | "SULD" => Does::Texture { samples: matches!(base, "TEX" | "TLD4") },
        "STG" | "ST" | "STL" | "STS" | "STSM" | "SUST" | "STAS" | "CCTL" => Does::Store,
        "UBLKCP" | "UBLKRED" | "UBLKPF" | "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" => {
            Does::Bulk { tensor: base.starts_with("UT") }
        }
        "UTMACMDFLUSH" => Does::BulkDone,
        "SYNCS" if has("ARRIVE") => Does::Arrives,
        "ARRIVES" => Does::ArrivesCopied,
        "SYNCS" if has("PHASECHK") => Does::Awaits,
        "SYNCS" => Does::Store,
        "UCGABAR_ARV" => Does::ClusterArrives,
        "UCGABAR_WAIT" => Does::ClusterWaits,
        "ATOM" | "ATOMG" | "ATOMS" | "SUATOM" => Does::Atomic { returns: true },
        "RED" | "REDG" | "REDS" | "REDAS" | "SURED" => Does::Atomic { returns: false },
        "LDGSTS" => Does::Copy,
        "SHFL" | "MATCH" | "REDUX" | "CREDUX" => Does::Shuffle,
        "BAR" if has("SYNC") || has("ARV") || has("RED") => {
            let mut words = words().skip(usize::from(has("RED")));
            let number = words.next().and_then(hexadecimal).unwrap_or(0) as u8 & 15;
            let threads = words.next().and_then(hexadecimal).filter(|&threads| threads > 0);
            Does::Barrier { number, threads, waits: !has("ARV") }
        }
        "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => Does::Product,
        "WARPGROUP" if has("DEPBAR") => Does::ProductsDone,
        "LDGDEPBAR" => Does::CopiesDone,
        "DEPBAR" => {
            let mut words = words();
            let board =
                words.next().and_then(|word| word.strip_prefix("SB")).and_then(|word| word.parse().ok());
            let most = words.next().and_then(hexadecimal).unwrap_or(0) as u8;
            board.map_or(Does::Compute, |board: u8| Does::Missing { board: board.min(5), most })
        }
        "MEMBAR" => Does::Fence { device: !has("CTA") },
        "BSYNC" => Does::Meets,
        "CALL" | "NOP" if operands == PRINTS => Does::Prints,
        "RET" | "BRX" | "JMX" => Does::JumpsFar,
        "EXIT" | "KILL" => Does::Exit,
        _ => Does::Compute,
    }
}

/// What stands for operands of a call that prints.
pub const PRINTS: &str = "vprintf";

/// What the model does not know of: changing maps of tensors, asynchronous stores, atomics of surfaces.
const UNKNOWN: [&str; 4] = ["STAS", "REDAS", "SURED", "SUATOM"];

/// Whether the model knows what an opcode takes.
pub fn is_known(opcode: &str) -> bool {
    !UNKNOWN.contains(&opcode.split('.').next().unwrap_or(""))
}

impl Op {
    /// Of an opcode with its modifiers (`LDG.E.64`), its operands as nvdisasm lists them, and its control information.
    pub fn new(opcode: &str, operands: &str, control: u32) -> Self {
        let base = opcode.split('.').next().unwrap_or("");
        let has = |part: &str| opcode.split('.').any(|own| own == part);
        let bytes = match () {
            () if has("128") => 16,
            () if has("64") => 8,
            () if has("U8") || has("S8") => 1,
            () if has("U16") || has("S16") => 2,
            () => 4,
        };
        Op {
            unit: unit(base, opcode),
            does: does(base, opcode, operands),
            control: Control::of(control),
            constant: Constant::of(operands),
            bytes,
            weight: weight(base, opcode),
            local: matches!(base, "LDL" | "STL").then(|| offset(operands)),
            // What only the multiprocessor sees is in its first level.
            past: has("STRONG") && !has("SM"),
            last_use: base == "LDL" && has("LU"),
            repeats: base == "LDG" && has("CONSTANT"),
            tries: base == "ATOMS" && has("SPIN"),
            again: None,
            floats: matches!(base, "ATOM" | "ATOMG" | "ATOMS" | "RED" | "REDG")
                && ["F16x2", "BF16x2", "F32", "F64"].into_iter().any(has),
            doubles: has("F64"),
        }
    }
}

impl Constant {
    /// Of operands as nvdisasm lists them.
    fn of(operands: &str) -> Option<Self> {
        let (bank, rest) = operands.split_once("c[0x")?.1.split_once("][")?;
        let within = rest.split(']').next().unwrap_or("");
        let offset = within.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match bank {
            "0" => offset.map(Constant::Launch),
            "3" => Some(Constant::Program(offset)),
            _ => None,
        }
    }
}

/// The offset in `[R1+0x10]`.
fn offset(operands: &str) -> u32 {
    let inner = operands.split_once('[').and_then(|(_, rest)| rest.split(']').next()).unwrap_or("");
    let digits = inner.split_once("+0x").map_or("0", |(_, digits)| digits);
    u32::from_str_radix(digits, 16).unwrap_or(0)
}

/// By how much a unit is busier with an instruction than with the plainest that it has; of matrix products, how many times 512
/// products of `.f16` they are, or as many bytes.
fn weight(base: &str, opcode: &str) -> f32 {
    let mut parts = opcode.split('.').skip(1);
    let numbers =
        |part: &str| part.split('x').map(|word| word.parse::<f32>().ok()).collect::<Option<Vec<f32>>>();
    match base {
        // `mma.sync` reaches 65 % of what warpgroups do.
        "HMMA" | "IMMA" | "BMMA" => match parts.find(|part| part.starts_with(|c: char| c.is_ascii_digit())) {
            Some("16816" | "16832" | "168256") => 6.2,
            Some("16864") => 12.4,
            _ => 3.1,
        },
        "DMMA" => 8.0,
        // A warp has 16 of the 64 rows; whatever the type, a row of K is 32 bytes.
        "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => {
            let shape = parts.find_map(|part| numbers(part).filter(|shape| shape.len() == 3));
            shape.map_or(1.0, |shape| shape[1] / 2.0)
        }
        "IMAD" => match parts.next() {
            Some("WIDE" | "HI") => 2.0,
            _ => 1.0,
        },
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_information() {
        // LDG.E R2: 0x004ea2000c1e1900, bits 41 to 61 of the upper word.
        let control = Control::of((0x004e_a200_0c1e_1900_u64 >> 41 & 0x1f_ffff) as u32);
        assert_eq!((control.stall, control.write, control.read, control.wait), (1, Some(2), None, 4));
    }

    #[test]
    fn what_instructions_do() {
        let op = |opcode, operands| Op::new(opcode, operands, 0);
        assert_eq!(
            op("BAR.SYNC.DEFER_BLOCKING", "0x1, 0x80").does,
            Does::Barrier { number: 1, threads: Some(128), waits: true }
        );
        assert_eq!(op("DEPBAR.LE", "SB0, 0x2").does, Does::Missing { board: 0, most: 2 });
        assert_eq!(op("IMAD", "R0, R0, c[0x0][0x210], R3").constant, Some(Constant::Launch(0x210)));
        assert_eq!(op("HGMMA.64x256x16.F32", "").weight, 128.0);
        assert_eq!(op("LDL", "R2, [R1+0x10]").local, Some(16));
        let past = ["LDG.E.64.STRONG.GPU", "LDG.E.STRONG.SYS", "LDG.E.64.STRONG.SM", "LDG.E"];
        assert_eq!(past.map(|opcode| op(opcode, "").past), [true, true, false, false]);
        assert_eq!((op("LDG.E.128", "").bytes, op("UIADD3", "").unit), (16, Unit::Uniform));
    }
}
