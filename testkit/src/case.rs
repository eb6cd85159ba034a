//! The format of the instruction tests in `testdata/instructions/`; its README describes it.
//!
//! Parsing and comparing only: what runs a [`Case`] is somebody else's business, the simulator's or a device's.

/// One test: a launch with its buffers and what must come of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Kernel to launch.
    pub entry: String,
    /// Words after the colon, empty if there are none.
    pub label: String,
    /// 1-based line of `//@ case`.
    pub line: usize,
    /// Blocks by dimension.
    pub grid: [u32; 3],
    /// Threads a block by dimension.
    pub block: [u32; 3],
    /// Blocks a cluster by dimension; `None` is no launch with clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// All blocks must be resident at once.
    pub cooperative: bool,
    /// Kernel parameters in order.
    pub params: Vec<Param>,
    /// Name of the fault that must end it.
    pub fault: Option<String>,
    /// What it must print.
    pub prints: Option<Vec<u8>>,
    /// Limit on warp instructions.
    pub limit: Option<u64>,
    /// What is known of a real device, and why.
    pub device: Option<(OnDevice, String)>,
}

/// What a real device makes of a case that is not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDevice {
    /// It does something else, always.
    Differs,
    /// It may do anything.
    Undefined,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name, as in the kernel's parameter list.
    pub name: String,
    /// Type of the elements.
    pub element: Element,
    /// What it is and must become.
    pub role: Role,
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// A value: these bytes go into the parameter buffer, aligned to the element.
    Value(Vec<u8>),
    /// A pointer to a buffer of exactly these bytes.
    Buffer {
        /// Contents before the launch.
        before: Vec<u8>,
        /// Elements after it.
        after: Vec<Want>,
        /// The order of the elements is free.
        sorted: bool,
    },
}

/// What an element must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Exactly these bits.
    Bits(u64),
    /// Any NaN.
    Nan,
    /// Anything.
    Any,
}

/// Type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    class: Class,
    /// Size in bytes: 1, 2, 4 or 8.
    pub size: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Bits,
    Signed,
    Float,
    Brain,
}

/// Byte that fills buffers whose contents before the launch are not given.
pub const POISON: u8 = 0xa5;

impl Element {
    fn parse(text: &str) -> Result<Self, String> {
        let (class, bits) = match text {
            "bf16" => (Class::Brain, "16"),
            _ => match text.split_at_checked(1) {
                Some(("u" | "b", bits)) => (Class::Bits, bits),
                Some(("s", bits)) => (Class::Signed, bits),
                Some(("f", bits)) if bits != "8" => (Class::Float, bits),
                _ => return Err(format!("`{text}` is no element type")),
            },
        };
        let size = match bits {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => return Err(format!("`{text}` is no element type")),
        };
        Ok(Self { class, size })
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.size)
    }

    fn is_nan(self, bits: u64) -> bool {
        let infinity = match (self.class, self.size) {
            (Class::Brain, _) => 0x7f80,
            (Class::Float, 2) => 0x7c00,
            (Class::Float, 4) => 0x7f80_0000,
            (Class::Float, 8) => 0x7ff0_0000_0000_0000,
            _ => return false,
        };
        bits & (self.mask() >> 1) > infinity
    }

    /// One value: decimal, hexadecimal bits, `inf`, `-inf`.
    fn value(self, text: &str) -> Result<u64, String> {
        let wrong = || format!("`{text}` is no value of this type");
        if let Some(hex) = text.strip_prefix("0x") {
            let bits = u64::from_str_radix(hex, 16).map_err(|_| wrong())?;
            return if bits <= self.mask() {
                Ok(bits)
            } else {
                Err(format!("`{text}` is too wide for this type"))
            };
        }
        match (self.class, self.size) {
            (Class::Float, 4) => text.parse::<f32>().map(|v| v.to_bits().into()).map_err(|_| wrong()),
            (Class::Float, 8) => text.parse::<f64>().map(f64::to_bits).map_err(|_| wrong()),
            (Class::Float | Class::Brain, _) => {
                Err(format!("`{text}`: halves are given as bits in hexadecimal"))
            }
            _ => {
                let value: i128 = text.parse().map_err(|_| wrong())?;
                let fits = -i128::from(self.mask() / 2) - 1 <= value && value <= i128::from(self.mask());
                if fits {
                    Ok(value as u64 & self.mask())
                } else {
                    Err(format!("`{text}` is too wide for this type"))
                }
            }
        }
    }

    /// One item of a list: a value, `_`, `nan`, with `*count`; or `first..last`, with `/step`.
    fn items(self, text: &str, out: &mut Vec<Want>) -> Result<(), String> {
        let number = |t: &str| t.parse::<i64>().map_err(|_| format!("`{t}` in `{text}` is no number"));
        if let Some((first, last)) = text.split_once("..") {
            let (last, step) = last.split_once('/').unwrap_or((last, "1"));
            let (first, last, step) = (number(first)?, number(last)?, number(step)?.max(1));
            let count = first.abs_diff(last) / step as u64;
            let step = if last < first { -step } else { step };
            for k in 0..=count as i64 {
                out.push(Want::Bits(self.value(&(first + k * step).to_string())?));
            }
            return Ok(());
        }
        let (one, count) = text.split_once('*').unwrap_or((text, "1"));
        let want = match one {
            "_" => Want::Any,
            "nan" => Want::Nan,
            _ => Want::Bits(self.value(one)?),
        };
        out.extend(std::iter::repeat_n(want, number(count)?.clamp(0, 1 << 20) as usize));
        Ok(())
    }

    fn list(self, text: &str) -> Result<Vec<Want>, String> {
        let mut out = Vec::new();
        text.split_whitespace().try_for_each(|item| self.items(item, &mut out))?;
        Ok(out)
    }

    /// A list that says every bit, as bytes.
    fn bytes(self, list: &[Want]) -> Result<Vec<u8>, String> {
        let mut out = Vec::with_capacity(list.len() * self.size);
        for want in list {
            let Want::Bits(bits) = want else { return Err("`_` and `nan` are for outputs".into()) };
            out.extend_from_slice(&bits.to_le_bytes()[..self.size]);
        }
        Ok(out)
    }

    fn show(self, bits: u64) -> String {
        let hex = format!("0x{bits:0width$x}", width = 2 * self.size);
        match (self.class, self.size) {
            (Class::Float, 4) => format!("{hex} ({:e})", f32::from_bits(bits as u32)),
            (Class::Float, 8) => format!("{hex} ({:e})", f64::from_bits(bits)),
            (Class::Signed, _) => {
                let shift = 64 - 8 * self.size;
                format!("{hex} ({})", (bits << shift) as i64 >> shift)
            }
            (Class::Bits, _) if bits < 1 << 20 => format!("{hex} ({bits})"),
            _ => hex,
        }
    }
}

impl Case {
    fn new(head: &str, line: usize) -> Self {
        let (entry, label) = head.split_once(':').unwrap_or((head, ""));
        Self {
            entry: entry.trim().into(),
            label: label.trim().into(),
            line,
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            shared: 0,
            cooperative: false,
            params: Vec::new(),
            fault: None,
            prints: None,
            limit: None,
            device: None,
        }
    }

    /// The parameter buffer, with a device address for each [`Role::Buffer`] in order.
    pub fn param_bytes(&self, addresses: &[u64]) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        let mut addresses = addresses.iter();
        for param in &self.params {
            let (align, bytes) = match &param.role {
                // A structure is aligned to 8, as nvcc does for those with a 64-bit member.
                Role::Value(bytes) if bytes.len() > param.element.size => (8, bytes.clone()),
                Role::Value(bytes) => (param.element.size, bytes.clone()),
                Role::Buffer { .. } => (8, addresses.next().copied().unwrap_or(0).to_le_bytes().into()),
            };
            out.resize(out.len().next_multiple_of(align), 0);
            out.extend(bytes);
        }
        out
    }

    /// Compares a buffer after the launch; the error shows the first elements that differ.
    pub fn compare(&self, param: &Param, actual: &[u8]) -> Result<(), String> {
        let Role::Buffer { after, sorted, .. } = &param.role else { return Ok(()) };
        let element = param.element;
        let mut actual: Vec<u64> = actual
            .chunks_exact(element.size)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..element.size].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            })
            .collect();
        let mut after = after.clone();
        if *sorted {
            actual.sort_unstable();
            after.sort_unstable();
        }
        let mut wrong = Vec::new();
        for (at, (&got, &want)) in actual.iter().zip(&after).enumerate() {
            let expected = match want {
                Want::Bits(bits) if bits != got => element.show(bits),
                Want::Nan if !element.is_nan(got) => "a NaN".into(),
                _ => continue,
            };
            let given = self.row(at, after.len());
            wrong.push(format!("{}[{at}]{given} is {}, not {expected}", param.name, element.show(got)));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let more = wrong.len().saturating_sub(4);
        wrong.truncate(4);
        Err(wrong.join("\n  ") + &if more > 0 { format!("\n  and {more} more") } else { String::new() })
    }

    /// The inputs of the same row of a table, for messages.
    fn row(&self, at: usize, rows: usize) -> String {
        let mut inputs = Vec::new();
        for param in &self.params {
            if let Role::Buffer { before, after, .. } = &param.role
                && after.len() == rows
                && element_bits(before, at, param.element.size) == after.get(at).copied()
            {
                let Some(Want::Bits(bits)) = after.get(at).copied() else { continue };
                inputs.push(format!("{}={}", param.name, param.element.show(bits)));
            }
        }
        if inputs.is_empty() { String::new() } else { format!(" for {}", inputs.join(" ")) }
    }

    fn directive(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "launch" => self.launch(rest)?,
            "table" => self.table(rest)?,
            "in" | "out" | "inout" | "scalar" | "bytes" => self.data(word, rest)?,
            "sorted" => {
                let name = rest.trim();
                let param = self.params.iter_mut().find(|p| p.name == name);
                let Some(Param { role: Role::Buffer { sorted, .. }, .. }) = param else {
                    return Err(format!("no buffer `{name}` before this line"));
                };
                *sorted = true;
            }
            "fault" => self.fault = Some(rest.trim().into()),
            "prints" => self.prints = Some(unescape(rest.trim())?),
            "limit" => self.limit = Some(rest.trim().parse().map_err(|_| "a number is wanted")?),
            "device" => {
                let (what, reason) =
                    rest.split_once(": ").ok_or("`device differs|undefined: reason` is wanted")?;
                let what = match what {
                    "differs" => OnDevice::Differs,
                    "undefined" => OnDevice::Undefined,
                    _ => return Err(format!("`{what}` is neither differs nor undefined")),
                };
                self.device = Some((what, reason.into()));
            }
            _ => return Err(format!("unknown directive `{word}`")),
        }
        Ok(())
    }

    fn launch(&mut self, rest: &str) -> Result<(), String> {
        for item in rest.split_whitespace() {
            let number = |t: &str| t.parse::<u32>().map_err(|_| format!("`{item}`: a number is wanted"));
            let extent = |t: &str| {
                let mut out = [1; 3];
                let parts: Vec<&str> = t.split(',').collect();
                if parts.len() > 3 {
                    return Err(format!("`{item}`: at most three dimensions"));
                }
                for (o, p) in out.iter_mut().zip(parts) {
                    *o = number(p)?;
                }
                Ok(out)
            };
            match item.split_once('=') {
                Some(("grid", v)) => self.grid = extent(v)?,
                Some(("block", v)) => self.block = extent(v)?,
                Some(("cluster", v)) => self.cluster = Some(extent(v)?),
                Some(("shared", v)) => self.shared = number(v)?,
                None if item == "cooperative" => self.cooperative = true,
                _ => return Err(format!("unknown launch setting `{item}`")),
            }
        }
        Ok(())
    }

    /// `name:type … -> name:type …`, then a row a line, in the same order.
    fn table(&mut self, text: &str) -> Result<(), String> {
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        let (inputs, outputs) = head.split_once("->").ok_or("a table has inputs -> outputs")?;
        let columns = |text: &str| -> Result<Vec<(String, Element, Vec<Want>)>, String> {
            text.split_whitespace()
                .map(|column| {
                    let (name, ty) = column.split_once(':').ok_or(format!("`{column}` is no name:type"))?;
                    Ok((name.to_string(), Element::parse(ty)?, Vec::new()))
                })
                .collect()
        };
        let (mut inputs, mut outputs) = (columns(inputs)?, columns(outputs)?);
        let mut rows = 0;
        for line in lines {
            let (given, wanted) = line.split_once("->").ok_or(format!("`{line}` has no ->"))?;
            for (columns, values) in [(&mut inputs, given), (&mut outputs, wanted)] {
                let values: Vec<&str> = values.split_whitespace().collect();
                if values.len() != columns.len() {
                    return Err(format!(
                        "`{}` has {} values for {} columns",
                        line.trim(),
                        values.len(),
                        columns.len()
                    ));
                }
                for ((_, element, list), value) in columns.iter_mut().zip(values) {
                    element.items(value, list)?;
                }
            }
            rows += 1;
        }
        self.block = [rows, 1, 1];
        for (name, element, after) in inputs {
            let before = element.bytes(&after)?;
            self.params.push(Param { name, element, role: Role::Buffer { before, after, sorted: false } });
        }
        for (name, element, after) in outputs {
            let before = vec![POISON; after.len() * element.size];
            self.params.push(Param { name, element, role: Role::Buffer { before, after, sorted: false } });
        }
        Ok(())
    }

    /// `name type = values`, or for inout `name type = values -> values`.
    fn data(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let (head, values) = rest.split_once('=').ok_or("`name type = values` is wanted")?;
        let mut head = head.split_whitespace();
        let (Some(name), Some(ty), None) = (head.next(), head.next(), head.next()) else {
            return Err("`name type = values` is wanted".into());
        };
        let element = Element::parse(ty)?;
        let role = if word == "inout" {
            let (before, after) = values.split_once("->").ok_or("inout has values -> values")?;
            let (before, after) = (element.bytes(&element.list(before)?)?, element.list(after)?);
            if before.len() != after.len() * element.size {
                return Err(format!(
                    "{} elements before, {} after",
                    before.len() / element.size,
                    after.len()
                ));
            }
            Role::Buffer { before, after, sorted: false }
        } else {
            let list = element.list(values)?;
            match word {
                "in" => Role::Buffer { before: element.bytes(&list)?, after: list, sorted: false },
                "out" => Role::Buffer {
                    before: vec![POISON; list.len() * element.size],
                    after: list,
                    sorted: false,
                },
                "scalar" if list.len() != 1 => return Err("a scalar is one value".into()),
                _ => Role::Value(element.bytes(&list)?),
            }
        };
        self.params.push(Param { name: name.into(), element, role });
        Ok(())
    }
}

fn element_bits(bytes: &[u8], at: usize, size: usize) -> Option<Want> {
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes.get(at * size..(at + 1) * size)?);
    Some(Want::Bits(u64::from_le_bytes(word)))
}

/// A quoted text with `\n`, `\t`, `\\` and `\"`.
fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).ok_or("a quoted text is wanted")?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        out.push(match (c, c == '\\') {
            (c, false) => c,
            _ => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(c @ ('\\' | '"')) => c,
                _ => return Err("unknown escape".into()),
            },
        });
    }
    Ok(out.into_bytes())
}

/// All cases of a file; the error names the line.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let Some(rest) = line.strip_prefix("//@ ") else { continue };
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        // Lines indented by two or more blanks continue the one before.
        let mut whole = rest.to_string();
        while let Some(more) = lines.peek().and_then(|(_, l)| l.strip_prefix("//@  ")) {
            whole = whole + "\n" + more;
            lines.next();
        }
        let done = match (word, cases.last_mut()) {
            ("case", _) => {
                cases.push(Case::new(&whole, at + 1));
                Ok(())
            }
            (_, None) => Err("no `//@ case` before this line".into()),
            (_, Some(case)) => case.directive(word, &whole),
        };
        done.map_err(|message| format!("line {}: {message}", at + 1))?;
    }
    Ok(cases)
}
