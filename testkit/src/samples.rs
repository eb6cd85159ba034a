//! Instructions made from the instruction table, and modules to try them in.

use ptx_frontend::{Form, OperandKind, OperandRole, PtxVersion, ScalarType, StateSpace, forms};

/// `8.0`
pub fn version(text: &str) -> PtxVersion {
    let (major, minor) = text.split_once('.').expect("major.minor");
    PtxVersion::new(major.parse().expect("a number"), minor.parse().expect("a number"))
}

/// 90 for `sm_90a`.
pub fn sm(target: &str) -> u32 {
    let digits = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    digits.parse().expect("a target such as sm_90a")
}

/// A module that declares everything the instructions name, with one instruction a line, and the
/// line of the first, from 1.
pub fn wrap(lines: &[&str], ptx: &str, target: &str) -> (String, u32) {
    let at = version(ptx);
    let mut text = format!(".version {ptx}\n.target {target}\n");
    if at >= PtxVersion::new(2, 3) {
        text.push_str(".address_size 64\n");
    }
    text.push_str(
        ".global .align 128 .b8 gbuf[256];\n.shared .align 128 .b8 sbuf[256];\n\
         .const .align 16 .b8 cbuf[64];\n.global .texref txr;\n.global .surfref sfr;\n\
         .visible .entry k(.param .u64 parm, .param .b32 parm32) {\n\
         .reg .pred %p<9>;\n.reg .b8 %xb<4>;\n.reg .u8 %xu<4>;\n.reg .s8 %xs<4>;\n\
         .reg .b16 %h<9>;\n.reg .u16 %hu<9>;\n.reg .s16 %hs<9>;\n.reg .b32 %r<300>;\n\
         .reg .u32 %ru<9>;\n.reg .s32 %rs<9>;\n.reg .f32 %f<300>;\n.reg .b64 %d<40>;\n\
         .reg .u64 %du<9>;\n.reg .s64 %ds<9>;\n.reg .f64 %fd<9>;\n",
    );
    if at >= PtxVersion::new(4, 2) && sm(target) >= 53 {
        text.push_str(".reg .f16 %hf<9>;\n.reg .f16x2 %hh<9>;\n");
    }
    if at >= PtxVersion::new(8, 3) && sm(target) >= 70 {
        text.push_str(".reg .b128 %q<9>;\n");
    }
    text.push_str(".local .align 16 .b8 lbuf[64];\n");
    let first_line = text.lines().count() as u32 + 1;
    for line in lines {
        if line.starts_with("ts:") {
            text.push_str(&format!("{line};\n"));
        } else {
            text.push_str(&format!("{{ {line}; }}\n"));
        }
    }
    text.push_str("L0: ret;\n}\n");
    (text, first_line)
}

/// Operands that fit an [`OperandKind`], from the names that [`wrap`] declares.
fn operand(kind: &OperandKind, at: &mut usize) -> String {
    *at += 1;
    let register = |at: usize| match (kind.ty, kind.ty.bits().next_multiple_of(8)) {
        (ScalarType::Pred, _) => format!("%p{}", at % 8 + 1),
        (_, 8) => format!("%xb{}", at % 4),
        (_, 16) => format!("%h{}", at % 8 + 1),
        (_, 32) => format!("%r{}", at % 250),
        (_, 64) => format!("%d{}", at % 39),
        _ => format!("%q{}", at % 8),
    };
    match &kind.role {
        OperandRole::Destination | OperandRole::Source { .. } => {
            let value = if kind.elements == 0 {
                register(*at)
            } else {
                let elements: Vec<String> = (0..kind.elements as usize).map(|n| register(*at + n)).collect();
                format!("{{{}}}", elements.join(","))
            };
            if kind.paired { format!("{value}|%p7") } else { value }
        }
        OperandRole::Constant { low, high } => {
            if *low == i64::MIN { 0 } else { *high.min(&128).max(low) }.to_string()
        }
        OperandRole::Address(StateSpace::Shared | StateSpace::SharedCluster) => "[%r0]".to_owned(),
        OperandRole::Address(_) => "[%d0]".to_owned(),
        OperandRole::TensorAddress => "[%r0]".to_owned(),
        OperandRole::Handle => "%d0".to_owned(),
        OperandRole::List(inner) => {
            let inner: Vec<String> = inner.iter().map(|kind| operand(kind, at)).collect();
            let inner: Vec<&str> = inner.iter().map(|text| text.trim_matches(['[', ']'])).collect();
            format!("[{}]", inner.join(","))
        }
        OperandRole::Label => "L0".to_owned(),
        OperandRole::Sink => "_".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A target that has the form.
fn target(form: Form) -> &'static str {
    let targets = form.minimum().targets;
    let has = |start: &str| targets.iter().any(|target| target.starts_with(start));
    if targets.is_empty() || has("sm_100") {
        "sm_100a"
    } else if has("sm_103") {
        "sm_103a"
    } else if has("sm_12") {
        "sm_120a"
    } else if has("sm_90a") {
        "sm_90a"
    } else {
        "sm_100a"
    }
}

/// An instruction that a form accepts.
pub struct Instruction {
    /// The form.
    pub form: Form,
    /// `.version` and `.target` of a module that has it.
    pub version: &'static str,
    /// See `version`.
    pub target: &'static str,
    /// Opcode and modifiers, a space, operands; no semicolon.
    pub text: String,
}

/// Groups of the table in which few modifiers go together, so that all combinations can be tried.
const SMALL: [&str; 7] = ["integer", "float", "half", "compare", "logic", "convert", "video"];

/// For every form but calls and indexed branches all combinations of modifiers, or, where they are
/// too many, a few with each modifier in one.
pub fn instructions() -> Vec<Instruction> {
    let mut list = Vec::new();
    for form in forms() {
        let opcode = form.opcode().text();
        if matches!(opcode, "call" | "brx") {
            continue;
        }
        let all = SMALL.contains(&form.group());
        for modifiers in if all { form.instances() } else { form.samples() } {
            let op = modifiers.iter().fold(opcode.to_owned(), |op, modifier| op + &modifier.to_string());
            let (version, target) = match opcode {
                "shfl" | "vote" if !op.contains(".sync") => ("6.3", "sm_62"),
                "mad" if op.ends_with("f32") && !op.contains(".r") => ("3.1", "sm_30"),
                "wmma" if !op.contains(".aligned") => ("6.2", "sm_70"),
                _ => ("9.5", target(form)),
            };
            let lists = form.operand_kinds(&modifiers);
            assert!(!lists.is_empty(), "{}: {op}", form.notation());
            for kinds in lists {
                let mut at = 0;
                let operands: Vec<String> = kinds.iter().map(|kind| operand(kind, &mut at)).collect();
                let text = format!("{op} {}", operands.join(","));
                list.push(Instruction { form, version, target, text });
            }
        }
    }
    list
}
