//! Machine code of a kernel as nvdisasm lists it, with the PTX line that each instruction was made of.

use std::collections::BTreeMap;
use std::fmt::Write;

/// How a guard chooses lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Number of the predicate; of a uniform one, 8 more.
    pub predicate: u8,
    /// Whether lanes take part in which it is false.
    pub negated: bool,
}

/// A machine instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Line of the PTX that it was made of, from 1; 0 is none, as in functions that ptxas brings along.
    pub line: u32,
    /// Which lanes take part; all, without one.
    pub guard: Option<Guard>,
    /// With its modifiers: `LDG.E.64`.
    pub opcode: String,
    /// Its operands, as they are listed; where only counts matter, none but barriers.
    pub operands: String,
    /// Where it jumps to, by index: one place, or those of a table.
    pub targets: Vec<u32>,
    /// Its control information, 21 bits: what it waits for, and what waits for it.
    pub control: u32,
}

impl Instruction {
    /// The opcode without modifiers.
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or("")
    }

    /// Whether the opcode has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|own| own == modifier)
    }

    /// Whether some lanes may go on behind it, and others elsewhere, or end.
    pub fn is_conditional(&self) -> bool {
        self.guard.is_some() || self.chooses()
    }

    /// Whether it is a branch that has a second predicate.
    pub fn chooses(&self) -> bool {
        self.operands.trim_start_matches('!').starts_with(['P', 'U']) && self.base() == "BRA"
    }

    /// The special register that it reads: `SR_TID.X`.
    pub fn special(&self) -> Option<&str> {
        let at = self.operands.find("SR_")?;
        self.operands[at..].split([' ', ',', ';']).next()
    }

    /// What of its operands time depends on: barriers, scoreboards, constants.
    fn timed_operands(&self) -> Option<String> {
        if matches!(self.base(), "BAR" | "DEPBAR" | "LDL" | "STL") {
            return Some(self.operands.replace(' ', ""));
        }
        let at = self.operands.find("c[0x0][").filter(|_| !converges(self.base()))?;
        let end = self.operands[at..].match_indices(']').nth(1)?.0;
        Some(self.operands[at..=at + end].to_owned())
    }

    /// The convergence barrier that it names.
    pub fn barrier(&self) -> Option<u8> {
        let (_, rest) = self.operands.split_once('B').filter(|_| converges(self.base()))?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }
}

/// The machine code of a kernel.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Listing {
    /// Its instructions, those of its functions behind it.
    pub instructions: Vec<Instruction>,
}

/// Reads what `nvdisasm -c -gp` prints: the listing of each kernel.
pub fn read_disassembly(text: &str) -> BTreeMap<String, Listing> {
    let mut kernels = BTreeMap::new();
    let mut name = None;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with("//-----") {
            if let Some(name) = name.take() {
                kernels.insert(name, section(&lines));
            }
            lines.clear();
            let title = line.trim_start_matches("//").trim_matches(['-', ' ']);
            name = title
                .split_whitespace()
                .next()
                .and_then(|title| title.strip_prefix(".text."))
                .map(str::to_owned);
        } else if name.is_some() {
            lines.push(line);
        }
    }
    if let Some(name) = name {
        kernels.insert(name, section(&lines));
    }
    kernels
}

/// The name in `(.L_x_1)`.
fn referenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("`(")?;
    rest.split(')').next()
}

fn section(lines: &[&str]) -> Listing {
    let mut labels: BTreeMap<&str, u32> = BTreeMap::new();
    let mut instructions: Vec<Instruction> = Vec::new();
    let mut wanted: Vec<(usize, Vec<&str>)> = Vec::new();
    let (mut line, mut own) = (0, true);
    for text in lines.iter().map(|text| text.trim()) {
        if let Some((_, rest)) = text.split_once("\".nv_debug_ptx_txt") {
            let number = rest.split_once("line ").and_then(|(_, rest)| rest.split_whitespace().next());
            line = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        } else if let Some((number, body)) = text.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
            let Some((body, after)) = body.split_once(';') else {
                // The upper half of the instruction before.
                let upper = number.trim().strip_prefix("0x").filter(|_| body.is_empty());
                let upper = upper.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                if let Some((of, upper)) = instructions.last_mut().zip(upper) {
                    of.control = (upper >> 41 & 0x1f_ffff) as u32;
                }
                continue;
            };
            let (guard, body) = guard(body.trim());
            let (opcode, operands) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
            let tables = after.split_once("BRANCH_TARGETS").or(operands.split_once("BRANCH_TARGETS"));
            let mut to: Vec<&str> = tables
                .map(|(_, list)| {
                    list.split([',', ' ', '*', '(', ')', '"']).filter(|name| name.starts_with(".L")).collect()
                })
                .unwrap_or_default();
            let returns = opcode.starts_with("RET");
            to.extend(referenced(operands).filter(|_| !returns && !opcode.starts_with("BSSY")));
            if !to.is_empty() {
                wanted.push((instructions.len(), to));
            }
            let line = if own { line } else { 0 };
            let (opcode, operands) = (opcode.to_owned(), operands.trim().to_owned());
            instructions.push(Instruction { line, guard, opcode, operands, targets: Vec::new(), control: 0 });
        } else if let Some(label) = text.strip_suffix(':') {
            labels.insert(label, instructions.len() as u32);
            // What ptxas brings along has no lines; those before it do not go on.
            own &= !label.starts_with("$__internal");
            own |= label.starts_with('$') && !label.starts_with("$__internal");
        }
    }
    for (at, names) in wanted {
        instructions[at].targets = names.iter().filter_map(|name| labels.get(name).copied()).collect();
    }
    // What fills the last line of instructions is never reached: a jump to itself, and what follows.
    while let Some(last) = instructions.last() {
        let itself = last.targets == [instructions.len() as u32 - 1] && last.opcode == "BRA";
        if !itself && last.opcode != "NOP" {
            break;
        }
        instructions.pop();
    }
    Listing { instructions }
}

fn guard(body: &str) -> (Option<Guard>, &str) {
    let Some(rest) = body.strip_prefix('@') else { return (None, body) };
    let (name, body) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (negated, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
    let (uniform, name) = name.strip_prefix('U').map_or((0, name), |name| (8, name));
    let predicate = name.strip_prefix('P').and_then(|number| number.parse::<u8>().ok()).unwrap_or(7);
    (Some(Guard { predicate: (predicate & 7) + uniform, negated }), body.trim_start())
}

/// Writes listings so that counting and timing need nothing else: of each instruction its line (less that before it), guard,
/// opcode, barrier, control information, the operands that time depends on, and targets (less its own place).
pub fn write(kernels: &BTreeMap<String, Listing>) -> String {
    let mut text = String::new();
    for (name, listing) in kernels {
        let _ = writeln!(text, "kernel {name}");
        let mut before = 0i64;
        for (at, of) in listing.instructions.iter().enumerate() {
            let _ = write!(text, "{}", i64::from(of.line) - before);
            before = of.line.into();
            if let Some(guard) = of.guard {
                let _ = write!(text, " @{}{}", if guard.negated { "!" } else { "" }, guard.predicate);
            }
            let _ = write!(text, " {}", of.opcode);
            if let Some(barrier) = of.barrier() {
                let _ = write!(text, " B{barrier}");
            }
            if let Some(register) = of.special().filter(|_| of.base() == "S2R") {
                let _ = write!(text, " {register}");
            }
            if of.chooses() {
                text.push_str(" P");
            }
            if of.control != 0 {
                let _ = write!(text, " ={:x}", of.control);
            }
            if let Some(operands) = of.timed_operands() {
                let _ = write!(text, " ~{operands}");
            }
            for &target in &of.targets {
                let _ = write!(text, " {:+}", i64::from(target) - at as i64);
            }
            text.push('\n');
        }
    }
    text
}

/// Whether an instruction works on convergence barriers.
pub fn converges(base: &str) -> bool {
    matches!(base, "BSSY" | "BSYNC" | "BREAK" | "BMOV")
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// The first line that is none of it, by number.
pub fn read(text: &str) -> Result<BTreeMap<String, Listing>, String> {
    let mut kernels: BTreeMap<String, Listing> = BTreeMap::new();
    let mut kernel: Option<String> = None;
    let mut line = 0i64;
    for (number, row) in text.lines().enumerate() {
        let wrong = || format!("line {}: `{row}`", number + 1);
        if let Some(name) = row.strip_prefix("kernel ") {
            kernels.insert(name.to_owned(), Listing::default());
            kernel = Some(name.to_owned());
            line = 0;
            continue;
        }
        let listing = kernel.as_ref().and_then(|name| kernels.get_mut(name)).ok_or_else(wrong)?;
        let mut words = row.split(' ').peekable();
        let step: i64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
        line += step;
        let guard = words.next_if(|word| word.starts_with('@')).map(|word| {
            let (negated, number) =
                word[1..].strip_prefix('!').map_or((false, &word[1..]), |rest| (true, rest));
            Guard { predicate: number.parse().unwrap_or(7), negated }
        });
        let opcode = words.next().ok_or_else(wrong)?.to_owned();
        let mut operands = words.next_if(|word| word.starts_with(['B', 'P', 'S'])).unwrap_or("").to_owned();
        let control = words.next_if(|word| word.starts_with('='));
        let control = control.map(|word| u32::from_str_radix(&word[1..], 16).map_err(|_| wrong()));
        let control = control.transpose()?.unwrap_or(0);
        if let Some(timed) = words.next_if(|word| word.starts_with('~')) {
            operands = timed[1..].to_owned();
        }
        let at = listing.instructions.len() as i64;
        let target =
            |word: &str| word.parse::<i64>().ok().and_then(|step| u32::try_from(at.checked_add(step)?).ok());
        let targets =
            words.map(|word| target(word).ok_or_else(wrong)).collect::<Result<Vec<u32>, String>>()?;
        let line = u32::try_from(line).map_err(|_| wrong())?;
        listing.instructions.push(Instruction { line, guard, opcode, operands, targets, control });
    }
    for listing in kernels.values_mut() {
        let count = listing.instructions.len() as u32;
        listing.instructions.iter_mut().for_each(|of| of.targets.retain(|&target| target < count));
    }
    Ok(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
//--------------------- .text.k                   --------------------------
	.section	.text.k,"ax",@progbits
k:
.text.k:
	//## File ".nv_debug_ptx_txt", line 7
        /*0000*/                   LDC R1, c[0x0][0x28] ;                /* 0x00000a00ff017b82 */
                                                                         /* 0x000fe20000000800 */
	//## File ".nv_debug_ptx_txt", line 12
        /*0010*/                   BSSY B0, `(.L_x_1) ;
.L_x_0:
        /*0020*/              @!P0 BRA `(.L_x_0) ;
	//## File ".nv_debug_ptx_txt", line 9 inlined at ".nv_debug_ptx_txt", line 12
        /*0030*/                   BSYNC B0 ;
.L_x_1:
        /*0040*/               @P2 EXIT ;
        /*0050*/                   CALL.REL.NOINC `($__internal_0_$slow) ;
        /*0060*/                   EXIT ;
$__internal_0_$slow:
        /*0070*/                   RET.REL.NODEC R6 `(k) ;
.L_x_4:
        /*0080*/                   BRA `(.L_x_4);
        /*0090*/                   NOP;
"#;

    #[test]
    fn what_nvdisasm_prints() {
        let kernels = read_disassembly(TEXT);
        let listing = &kernels["k"].instructions;
        assert_eq!(listing.len(), 8);
        assert_eq!((listing[0].control, listing[1].control), (0x7f1, 0));
        assert_eq!((listing[0].line, listing[1].line, listing[7].line), (7, 12, 0));
        assert_eq!(listing[2].guard, Some(Guard { predicate: 0, negated: true }));
        assert_eq!((&listing[2].targets[..], &listing[5].targets[..]), (&[2][..], &[7][..]));
        assert_eq!((listing[1].barrier(), listing[3].barrier()), (Some(0), Some(0)));
        assert!(listing[1].targets.is_empty() && listing[7].targets.is_empty());
    }

    #[test]
    fn what_is_written_is_read() {
        let mut kernels = read_disassembly(TEXT);
        let text = write(&kernels);
        for of in kernels.values_mut().flat_map(|listing| &mut listing.instructions) {
            let barrier = of.barrier();
            let timed = of.timed_operands().unwrap_or_default();
            of.operands = barrier.map_or(timed, |barrier| format!("B{barrier}"));
        }
        assert_eq!(read(&text).unwrap(), kernels);
        assert_eq!(read("kernel k\n1 NOP\nx\n").unwrap_err(), "line 3: `x`");
    }
}
