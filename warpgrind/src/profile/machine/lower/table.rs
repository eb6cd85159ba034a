//! What the instructions of the PTX are made into.

use ptx_frontend::Work;

/// What of an instruction's operands says into what it is made.
pub(super) struct Shape {
    pub(super) kernel: bool,
    pub(super) elements: u32,
    pub(super) special: bool,
    /// What kind of work it is.
    pub(super) work: Work,
    /// Whether one that it reads is a constant.
    pub(super) constant: bool,
}

/// Quotients and roots that are rounded branch over a function for operands that are no usual numbers: the test of that, the
/// branch, and where lanes come together behind it. Nothing passes them.
const TEST: &str = "test";
const OVER: &str = "over";
const TOGETHER: &str = "together";

/// The machine instruction that stands for a name of [`opcodes`], and cycles until what is behind it begins, if it passes nothing.
pub(super) fn held(name: &str) -> (&str, u32) {
    match name {
        TEST => ("ISETP", 13),
        OVER => ("IMAD.MOV.U32", 10),
        TOGETHER => ("IMAD.MOV.U32", 14),
        opcode => (opcode, 0),
    }
}

/// Whether an instruction is made into a loop around a compare-and-swap: an atomic operation on shared memory, of other than words.
pub(super) fn is_tried(text: &str) -> bool {
    let mut parts = text.split('.');
    matches!(parts.next(), Some("atom" | "red"))
        && text.contains(".shared")
        && !parts.any(|part| matches!(part, "u32" | "s32" | "b32" | "exch" | "cas"))
}

/// The machine instructions that an instruction is made into, each of which takes the result of the one before; none where
/// what takes its result takes its operand.
pub(super) fn opcodes(text: &str, shape: &Shape) -> Vec<String> {
    let parts: Vec<&str> = text.split('.').collect();
    let name = parts[0];
    let has = |part: &str| parts[1..].contains(&part);
    let bits = |part: &str| match part {
        "pred" => Some(1),
        "bf16" | "f16" => Some(16),
        "f16x2" | "bf16x2" => Some(32),
        _ => part.strip_prefix(['f', 's', 'u', 'b']).and_then(|digits| digits.parse::<u32>().ok()),
    };
    let kind = parts[1..].iter().rev().find(|part| bits(part).is_some()).copied().unwrap_or("b32");
    let wide = bits(kind) == Some(64);
    let float = kind.starts_with('f') || kind.starts_with("bf");
    let half = float && matches!(kind, "f16" | "bf16" | "f16x2" | "bf16x2");
    let one = |opcode: &str| vec![opcode.to_owned()];
    let several = |list: &[&str]| list.iter().map(|opcode| (*opcode).to_owned()).collect::<Vec<String>>();
    let by = |f32: &str, f64: &str, f16: &str, narrow: &[&str], both: &[&str]| match () {
        () if half => one(f16),
        () if float && wide => one(f64),
        () if float => one(f32),
        () if wide => several(both),
        () => several(narrow),
    };
    let memory = |prefix: &str, global: &str| {
        let base = match () {
            () if has("shared") => format!("{prefix}S"),
            () if has("local") || has("param") => format!("{prefix}L"),
            () if has("global") || has("const") => global.to_owned(),
            () => prefix.to_owned(),
        };
        let width = match bits(kind).unwrap_or(32).max(8) * shape.elements {
            128.. => ".128",
            64.. => ".64",
            _ => "",
        };
        let strong = if has("relaxed") || has("acquire") || has("volatile") || has("release") {
            ".STRONG.GPU"
        } else {
            ""
        };
        let constant = if has("nc") { ".CONSTANT" } else { "" };
        one(&format!("{base}.E{width}{strong}{constant}"))
    };
    let divide = || match () {
        () if float && wide => {
            let list = ["MUFU.RCP64H", "DFMA", "DFMA", "DFMA", "DFMA", "DMUL", "DFMA", "DFMA"];
            several(&[&list[..], &[TEST, OVER, TOGETHER]].concat())
        }
        () if float && has("approx") => several(&["MUFU.RCP", "FMUL"]),
        () if float && has("full") => several(&["FSETP", "FMUL", "MUFU.RCP", "FMUL", "FMUL"]),
        () if float => {
            several(&["MUFU.RCP", "FCHK", "FFMA", "FFMA", "FFMA", "FFMA", "FFMA", TEST, OVER, TOGETHER])
        }
        () if shape.constant => several(&["IMAD.HI", "SHF.R.U32.HI", "IADD3"]),
        () if wide => {
            let turn = ["IMAD.WIDE.U32", "IMAD.WIDE.U32", "IADD3", "IADD3.X", "IMAD", "IADD3"];
            let mut list = several(&["I2F.U64", "MUFU.RCP", "F2I.U64.TRUNC"]);
            (0..10).for_each(|_| list.extend(turn.iter().map(|opcode| (*opcode).to_owned())));
            list
        }
        () => several(&[
            "IABS",
            "I2F.RP",
            "MUFU.RCP",
            "IADD3",
            "F2I.FTZ.U32.TRUNC.NTZ",
            "IMAD",
            "IMAD.HI.U32",
            "IMAD.HI.U32",
            "IMAD",
            "ISETP",
            "IADD3",
            "ISETP",
            "IADD3",
            "LOP3.LUT",
        ]),
    };
    // What orders accesses for the device: a fence before it, and a first level that forgets behind it.
    let ordered = |list: Vec<String>| {
        let far = !has("cta") && !has("shared");
        let before = far && (has("release") || has("acq_rel"));
        let behind = far && (has("acquire") || has("acq_rel"));
        let fence = before.then(|| "MEMBAR.ALL.GPU".to_owned());
        fence.into_iter().chain(list).chain(behind.then(|| "CCTL.IVALL".to_owned())).collect()
    };
    match name {
        "ld" if has("param") && shape.kernel => Vec::new(),
        "ld" if has("const") => one("LDC"),
        "ld" | "ldu" => ordered(memory("LD", "LDG")),
        "st" if has("param") && shape.kernel => one("IMAD.MOV.U32"),
        "st" => ordered(memory("ST", "STG")),
        "atom" | "red" if is_tried(text) => {
            let wide = if wide { ".64" } else { "" };
            let (load, swap) = (format!("LDS{wide}"), format!("ATOMS.CAST.SPIN{wide}"));
            let changed = by("FADD", "DADD", "HADD2", &["IADD3"], &["IADD3", "IADD3.X"]);
            [vec![load], changed, vec![swap], several(&["ISETP", "BRA"])].concat()
        }
        "atom" if has("shared") => one("ATOMS.ADD"),
        "atom" => ordered(one(&format!("ATOMG.E.ADD{}.STRONG.GPU", added(&parts)))),
        "red" if has("shared") => one("ATOMS.ADD"),
        "red" => ordered(one(&format!("RED.E.ADD{}.STRONG.GPU", added(&parts)))),
        "mov" if shape.special => one("S2R"),
        "mov" | "cvta" | "isspacep" if shape.elements <= 1 => Vec::new(),
        "mov" => one("IMAD.MOV.U32"),
        "add" | "sub" => by("FADD", "DADD", "HADD2", &["IADD3"], &["IADD3", "IADD3.X"]),
        "addc" | "subc" => one("IADD3.X"),
        "mul" if !float && has("wide") => one("IMAD.WIDE"),
        "mul" if !float && has("hi") && !wide => one("IMAD.HI"),
        "mul" => by("FMUL", "DMUL", "HMUL2", &["IMAD"], &["IMAD", "IMAD", "IMAD.WIDE.U32", "IADD3"]),
        "mad" | "madc" if !float && has("wide") => one("IMAD.WIDE"),
        "mad" | "madc" | "fma" => {
            by("FFMA", "DFMA", "HFMA2", &["IMAD"], &["IMAD", "IMAD", "IMAD.WIDE.U32", "IADD3", "IADD3.X"])
        }
        "mul24" | "mad24" | "sad" | "dp4a" | "dp2a" => one("IMAD"),
        "div" | "rem" => divide(),
        "rcp" | "sqrt" | "rsqrt" if wide => {
            let list = ["MUFU.RCP64H", "DFMA", "DFMA", "DFMA", "DFMA", "DMUL", "DFMA"];
            several(&[&list[..], &[TEST, OVER, TOGETHER]].concat())
        }
        "rcp" | "rsqrt" | "sqrt" if has("approx") => one("MUFU.RCP"),
        "sqrt" => several(&["MUFU.RSQ", "IADD3", TEST, OVER, "FMUL", "FMUL", "FFMA", "FFMA", TOGETHER]),
        "rcp" => several(&["IADD3", "LOP3.LUT", TEST, OVER, "MUFU.RCP", "FFMA", "FADD", "FFMA", TOGETHER]),
        "sin" | "cos" => several(&["FMUL.RZ", "MUFU.SIN"]),
        "ex2" | "lg2" | "tanh" if has("ftz") || half => one("MUFU.EX2"),
        "ex2" | "lg2" | "tanh" => several(&["FSETP", "FMUL", "MUFU.EX2", "FMUL"]),
        "min" | "max" => by("FMNMX", "DSETP", "HMNMX2", &["VIMNMX"], &["ISETP", "ISETP.EX", "SEL", "SEL"]),
        "abs" | "neg" if float && wide => one("DADD"),
        "abs" | "neg" => by("FADD", "DADD", "HADD2", &["IADD3"], &["IADD3", "IADD3.X"]),
        "and" | "or" | "xor" | "not" | "lop3" | "cnot" if kind == "pred" => one("PLOP3.LUT"),
        "and" | "or" | "xor" | "not" | "lop3" | "cnot" if wide => several(&["LOP3.LUT", "LOP3.LUT"]),
        "and" | "or" | "xor" | "not" | "lop3" | "cnot" => one("LOP3.LUT"),
        "shl" | "shr" | "shf" if wide => several(&["SHF.L.U64.HI", "SHF.L.U32"]),
        "shl" | "shr" | "shf" => one("SHF.L.U32"),
        "bfe" => several(&["SHF.R.U32.HI", "LOP3.LUT"]),
        "bfi" => several(&["SHF.L.U32", "LOP3.LUT", "LOP3.LUT"]),
        "setp" | "testp" => by("FSETP", "DSETP", "HSETP2", &["ISETP"], &["ISETP", "ISETP.EX"]),
        "set" | "slct" => by("FSET", "DSETP", "HSET2", &["ISETP", "SEL"], &["ISETP", "SEL"]),
        "selp" if wide => several(&["SEL", "SEL"]),
        "selp" => one("SEL"),
        "cvt" => convert(&parts, bits, kind),
        "popc" => one("POPC"),
        "clz" | "bfind" | "fns" => one("FLO.U32"),
        "brev" => one("BREV"),
        "shfl" => one("SHFL.IDX"),
        "vote" | "activemask" => one("VOTE.ANY"),
        "match" => one("MATCH.ANY"),
        "redux" => one("REDUX"),
        "bar" | "barrier" if has("cluster") => one("UCGABAR_WAIT"),
        "bar" | "barrier" if has("warp") => one("WARPSYNC"),
        "bar" | "barrier" if has("arrive") => one("BAR.ARV"),
        "bar" | "barrier" if has("red") => one("BAR.RED.POPC"),
        "bar" | "barrier" => one("BAR.SYNC.DEFER_BLOCKING"),
        "membar" | "fence" if has("cta") => one("MEMBAR.ALL.CTA"),
        "fence" if has("proxy") || has("mbarrier_init") => one("MEMBAR.SC.GPU"),
        "membar" | "fence" => several(&["MEMBAR.SC.GPU", "CCTL.IVALL"]),
        "mma" | "wmma" if name == "wmma" && (has("load") || has("store")) => {
            let (prefix, global) = if has("load") { ("LD", "LDG") } else { ("ST", "STG") };
            (0..4).flat_map(|_| memory(prefix, global)).collect()
        }
        "mma" | "wmma" => matrix(&parts),
        "ldmatrix" => one("LDSM.16.M88.4"),
        "stmatrix" => one("STSM.16.M88.4"),
        "cp" if has("bulk") => one("UBLKCP"),
        "cp" if has("commit_group") => one("LDGDEPBAR"),
        "cp" if has("wait_group") || has("wait_all") => one("DEPBAR.LE"),
        "cp" if has("mbarrier") => one("SYNCS"),
        "cp" => one("LDGSTS.E.128"),
        "mbarrier" => one("SYNCS"),
        "wgmma" => one("SYNCS"),
        "tex" | "tld4" => one("TEX"),
        "suld" => one("SULD"),
        "sust" => one("SUST"),
        "sured" => one("SURED"),
        "bra" => one("BRA"),
        "brx" => one("BRX"),
        "call" => one("CALL.REL.NOINC"),
        "ret" if shape.kernel => one("EXIT"),
        "ret" => one("RET.REL.NODEC"),
        "exit" | "trap" => one("EXIT"),
        "prefetch" | "prefetchu" | "applypriority" | "discard" => one("CCTL"),
        "nanosleep" => one("NANOSLEEP"),
        "brkpt" | "pmevent" | "griddepcontrol" | "setmaxnreg" => one("NOP"),
        "prmt" => one("PRMT"),
        // What is not listed is what its kind is.
        _ => one(match shape.work {
            Work::Exchange => "VOTE.ANY",
            Work::Elementary => "MUFU.EX2",
            Work::Control | Work::Synchronization | Work::Other => "NOP",
            _ => "LOP3.LUT",
        }),
    }
}

/// What machine code says of the type of sums in memory: those of floats take longer, those of doubles twice as long as words of 64 bits.
fn added(parts: &[&str]) -> &'static str {
    let types = parts.iter().rev().map(|part| match *part {
        "f32" => ".F32.FTZ.RN",
        "f64" => ".F64.RN",
        "f16x2" | "f16" => ".F16x2.RN",
        "bf16x2" | "bf16" => ".BF16x2.RN",
        "u64" | "s64" | "b64" => ".64",
        _ => "",
    });
    types.into_iter().find(|of| !of.is_empty()).unwrap_or("")
}

/// Conversions: those between integers are a part of what takes them, or one instruction.
fn convert(parts: &[&str], bits: impl Fn(&str) -> Option<u32>, from: &str) -> Vec<String> {
    let types: Vec<&str> = parts[1..].iter().copied().filter(|part| bits(part).is_some()).collect();
    let to = types.first().copied().unwrap_or(from);
    let float = |kind: &str| kind.starts_with('f') || kind.starts_with("bf") || kind.starts_with("tf");
    let (wide, was_wide) = (bits(to) == Some(64), bits(from) == Some(64));
    let one = |opcode: &str| vec![opcode.to_owned()];
    match (float(to), float(from)) {
        (false, false) if !wide && was_wide => Vec::new(),
        (false, false) if wide && from.starts_with('s') => one("SHF.R.S32.HI"),
        (false, false) if wide => Vec::new(),
        (false, false) => one("PRMT"),
        (true, false) if wide || was_wide => one("I2F.F64"),
        (true, false) => one("I2FP.F32.S32"),
        (false, true) if parts.iter().any(|part| matches!(*part, "f16" | "bf16")) => one("F2I.F16"),
        (false, true) => one("F2I.TRUNC.NTZ"),
        (true, true) if wide || was_wide => one("F2F.F32.F64"),
        (true, true) if to == from => one("FRND"),
        (true, true) => one("F2FP.F16.F32.PACK_AB"),
    }
}

/// Matrix products of a warp, by shape.
fn matrix(parts: &[&str]) -> Vec<String> {
    let shape = parts.iter().find(|part| part.starts_with('m') && part.contains('n') && part.contains('k'));
    let numbers = |text: &str| -> Vec<u32> {
        text.split(['m', 'n', 'k']).filter_map(|number| number.parse().ok()).collect()
    };
    let size = shape.map(|shape| numbers(shape)).unwrap_or_default();
    let [m, n, k] = size[..] else { return vec!["HMMA.16816.F32".into()] };
    let has = |part: &str| parts.contains(&part);
    let (base, rows, depth) = match () {
        () if has("f64") => ("DMMA.884", 8, 4),
        () if has("s32") && parts.iter().any(|part| matches!(*part, "s4" | "u4")) => {
            ("IMMA.16864.S4.S4", 16, 64)
        }
        () if has("s32") => ("IMMA.16832.S8.S8", 16, 32),
        () if has("tf32") => ("HMMA.1688.F32.TF32", 16, 8),
        () if k == 8 => ("HMMA.1688.F32", 16, 8),
        () => ("HMMA.16816.F32", 16, 16),
    };
    let count = (m * n * k).div_ceil(rows * 8 * depth).max(1);
    (0..count.min(64)).map(|_| base.to_owned()).collect()
}
