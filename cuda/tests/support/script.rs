//! Scripts of calls, as `tests/calls/README.md` describes them.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// A line of a script: its number, its words, and what follows ` = `.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub line: usize,
    pub words: Vec<String>,
    /// What the device answered.
    pub recorded: Option<String>,
    /// What is answered here instead, on purpose.
    pub here: Option<String>,
    /// The same, where the null stream is the thread's own.
    pub own: Option<String>,
}

impl Step {
    /// What must be answered here; `None` if anything will do.
    pub(crate) fn expected(&self, per_thread: bool) -> Option<&str> {
        let own = self.own.as_deref().filter(|_| per_thread);
        let expected = own.or(self.here.as_deref()).or(self.recorded.as_deref())?;
        (!matches!(expected, "*" | "crash" | "hang")).then_some(expected)
    }

    /// The function that it calls.
    pub(crate) fn function(&self) -> Option<&str> {
        let name = match self.words[0].as_str() {
            "thread" | "inside" => &self.words[1],
            "handle" => &self.words[2],
            _ => &self.words[0],
        };
        (name.starts_with("cu") || name.starts_with("__cuda")).then_some(name)
    }
}

/// A case of a script.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub file: String,
    pub name: String,
    pub runtime: u32,
    /// Whether it means the legacy stream where it names none.
    pub legacy: bool,
    /// Devices that the process has.
    pub devices: u32,
    pub steps: Vec<Step>,
}

/// The folder with the scripts.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls")
}

/// The words of a line: blanks separate, quotes group, `#` starts a comment.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.push(letter);
            }
            '#' if !quoted && word.is_empty() => break,
            _ if letter.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn step(line: usize, mut words: Vec<String>) -> Step {
    let mut after = Vec::new();
    if let Some(at) = words.iter().position(|word| word == "=") {
        after = words.split_off(at);
    }
    let after_word = |name: &str| after.iter().position(|word| word == name).map(|at| after[at + 1].clone());
    Step { line, words, recorded: after.get(1).cloned(), here: after_word("here"), own: after_word("own") }
}

/// All cases of all scripts.
pub(crate) fn cases() -> Vec<Case> {
    let read = |path: &Path| std::fs::read_to_string(path).expect("a script");
    let mut preludes: HashMap<String, Vec<Step>> = HashMap::new();
    let mut prelude = String::new();
    for line in read(&scripts().join("preludes.txt")).lines() {
        let words = split(line);
        match words.first().map(String::as_str) {
            None => {}
            Some("prelude") => prelude = words[1].clone(),
            Some(_) => preludes.entry(prelude.clone()).or_default().push(step(0, words)),
        }
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(scripts())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "calls"));
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for path in files {
        for (at, line) in read(&path).lines().enumerate() {
            let words = split(line);
            match words.first().map(String::as_str) {
                None => {}
                Some("case") => cases.push(Case {
                    file: path.file_name().expect("a name").to_string_lossy().into_owned(),
                    name: words[1].clone(),
                    runtime: if words.iter().any(|word| word == "runtime12") { 12 } else { 13 },
                    devices: if words.iter().any(|word| word == "devices2") { 2 } else { 1 },
                    legacy: words.iter().any(|word| word == "legacy"),
                    steps: Vec::new(),
                }),
                Some("with") => {
                    let case = cases.last_mut().expect("a case");
                    case.steps.extend(preludes[&words[1]].iter().cloned());
                }
                Some(_) => cases.last_mut().expect("a case").steps.push(step(at + 1, words)),
            }
        }
    }
    cases
}

unsafe extern "C" fn count(at: *mut u32) {
    // SAFETY: scripts pass the address of a word.
    unsafe { *at += 1 };
}

unsafe extern "C" fn callback(_stream: u64, status: u32, at: *mut u32) {
    // SAFETY: as above.
    unsafe { *at = status + 1 };
}

unsafe extern "C" fn size(_threads: i32) -> usize {
    0
}

/// A call for `inside`: the function, its arguments, its answer.
struct Inside(usize, Vec<u64>, u64);

unsafe extern "C" fn inside(call: *mut Inside) {
    // SAFETY: `inside` lines pass one, and wait until it is over.
    unsafe { (*call).2 = super::call_at((*call).0, &(*call).1) };
}

unsafe extern "C" fn inside_callback(_stream: u64, _status: u32, call: *mut Inside) {
    // SAFETY: as above.
    unsafe { inside(call) };
}

/// Where a call is made.
#[derive(Clone, Copy)]
enum Where {
    Here,
    /// On another thread.
    Thread,
    /// In a host function of the null stream, and in a callback.
    Inside,
}

/// What runs the lines of a case.
pub(crate) struct Machine {
    memory: HashMap<String, u64>,
    runtime: u32,
    per_thread: bool,
}

impl Machine {
    /// With a runtime library of a version, in the form for the thread's own default stream or not.
    pub(crate) fn new(runtime: u32, per_thread: bool) -> Machine {
        Machine { memory: HashMap::new(), runtime, per_thread }
    }

    fn keep(bytes: &[u8]) -> u64 {
        // Words, for their alignment; programs may hold on to what they passed.
        let mut words = vec![0u64; bytes.len().div_ceil(8).max(1)];
        for (word, piece) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut eight = [0; 8];
            eight[..piece.len()].copy_from_slice(piece);
            *word = u64::from_le_bytes(eight);
        }
        words.leak().as_mut_ptr() as u64
    }

    fn place(&mut self, name: &str, bytes: usize) -> u64 {
        *self.memory.entry(name.into()).or_insert_with(|| Self::keep(&vec![0; bytes]))
    }

    fn number(text: &str) -> u64 {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let digits = digits.strip_prefix('+').unwrap_or(digits);
        let value = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        let value = value.unwrap_or_else(|_| panic!("{text} is no number"));
        if negative { value.wrapping_neg() } else { value }
    }

    fn ptx() -> Vec<u8> {
        let mut text = std::fs::read(scripts().join("kernels.ptx")).expect("kernels.ptx");
        text.resize((text.len() + 1).next_multiple_of(8), 0);
        text
    }

    /// A text in a fatbin with a wrapper, as nvcc registers it.
    fn wrapper() -> u64 {
        let text = Self::ptx();
        let mut entry = vec![0u8; 80];
        entry[..4].copy_from_slice(&[1, 0, 1, 1]);
        entry[4] = 80;
        entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
        (entry[20], entry[26], entry[28], entry[40], entry[64]) = (64, 8, 90, 0x11, 0x48);
        entry.extend(text);
        let mut image = 0xba55_ed50u32.to_le_bytes().to_vec();
        image.extend([1, 0, 16, 0]);
        image.extend((entry.len() as u64).to_le_bytes());
        image.extend(entry);
        let mut wrapper = 0x1_4662_43b1u64.to_le_bytes().to_vec();
        wrapper.extend(Self::keep(&image).to_le_bytes());
        wrapper.extend([0; 8]);
        Self::keep(&wrapper)
    }

    fn value(&mut self, word: &str) -> u64 {
        let text = |text: &str| Self::keep(CString::new(text).expect("no zero byte").as_bytes_with_nul());
        if let Some(quoted) = word.strip_prefix('"') {
            return text(quoted.trim_end_matches('"'));
        }
        if let Some(inner) = word.strip_prefix("loc(") {
            let (kind, id) = inner.trim_end_matches(')').split_once(',').expect("two numbers");
            return Self::number(kind) | (Self::number(id) & 0xffff_ffff) << 32;
        }
        match word {
            "@ptx" => return Self::keep(&Self::ptx()),
            "@ptxfile" => return text(&scripts().join("kernels.ptx").display().to_string()),
            "@wrapper" => return Self::wrapper(),
            "@host" => return count as *const () as u64,
            "@callback" => return callback as *const () as u64,
            "@size" => return size as *const () as u64,
            _ => {}
        }
        let Some(rest) = word.strip_prefix(['&', '$']) else { return Self::number(word) };
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let (name, offset) = rest.split_at(end);
        let offset = if offset.is_empty() { 0 } else { Self::number(offset) };
        let at = self.place(name, 256);
        let base = if word.starts_with('&') { at } else { read::<u64>(at) };
        base.wrapping_add(offset)
    }

    fn arguments(&mut self, words: &[String]) -> Vec<u64> {
        let mut values = Vec::new();
        for word in words {
            match word.strip_prefix("dim(") {
                Some(inner) => {
                    let mut numbers = inner.trim_end_matches(')').split(',').map(Self::number);
                    let mut next = || numbers.next().expect("three numbers");
                    values.push(next() | next() << 32);
                    values.push(next());
                }
                None => values.push(self.value(word)),
            }
        }
        values
    }

    fn call(&mut self, name: &str, words: &[String], place: Where) -> u64 {
        let is_driver = name.starts_with("cu") && !name.starts_with("cuda");
        let library = if is_driver { super::driver() } else { super::runtime(self.runtime) };
        let own = ["_ptsz", "_ptds"].map(|suffix| super::symbol(library, &format!("{name}{suffix}")));
        let own = own.into_iter().flatten().next().filter(|_| self.per_thread);
        let address = own.or_else(|| super::symbol(library, name)).unwrap_or_else(|| panic!("no {name}"));
        let arguments = self.arguments(words);
        match place {
            // SAFETY: scripts give what functions need, or what they must refuse.
            Where::Thread => std::thread::spawn(move || unsafe { super::call_at(address, &arguments) })
                .join()
                .expect("a result"),
            Where::Inside => {
                let driver = super::driver();
                let answers = [
                    ("cuLaunchHostFunc", inside as *const () as u64),
                    ("cuStreamAddCallback", inside_callback as *const () as u64),
                ]
                .map(|(way, function)| {
                    let mut call = Inside(address, arguments.clone(), 0);
                    let added = super::call(driver, way, &[0, function, super::out(&mut call), 0]);
                    assert_eq!((added, super::call(driver, "cuStreamSynchronize", &[0])), (0, 0), "{way}");
                    std::hint::black_box(&mut call).2
                });
                assert_eq!(
                    answers[0] as u32, answers[1] as u32,
                    "{name} in a host function and in a callback"
                );
                answers[0]
            }
            // SAFETY: as above.
            Where::Here => unsafe { super::call_at(address, &arguments) },
        }
    }

    /// Does what a line says; its answer, if it has one.
    pub(crate) fn step(&mut self, words: &[String]) -> Option<String> {
        let rest = &words[1..];
        match words[0].as_str() {
            "let" => {
                let (at, value) = (self.place(&rest[0], 256), self.value(&rest[1]));
                write(at, &value.to_le_bytes());
            }
            "bytes" => {
                let bytes = Self::number(&rest[1]) as usize;
                let at = self.place(&rest[0], bytes);
                if let Some(fill) = rest.get(2) {
                    write(at, &vec![Self::number(fill) as u8; bytes]);
                }
            }
            "data" => {
                let mut bytes: Vec<u8> = Vec::new();
                for pair in rest[1..].chunks(2) {
                    let size = match pair[0].as_str() {
                        "u8" => 1,
                        "u16" => 2,
                        "u32" | "i32" => 4,
                        _ => 8,
                    };
                    bytes.resize(bytes.len().next_multiple_of(size), 0);
                    bytes.extend(&self.value(&pair[1]).to_le_bytes()[..size]);
                }
                let at = self.place(&rest[0], bytes.len().max(256));
                write(at, &bytes);
            }
            "copy" => {
                let (at, from) = (self.place(&rest[0], 256), self.value(&rest[1]));
                write(at, &read::<u64>(from).to_le_bytes());
            }
            "set32" => {
                let (at, value) = (self.value(&rest[0]), self.value(&rest[1]) as u32);
                // SAFETY: as in `write`; a kernel may wait for the word.
                unsafe { (at as *mut u32).write_volatile(value) };
            }
            "show" => {
                let at = self.value(&rest[1]);
                return Some(match rest[0].as_str() {
                    "u8" => read::<u8>(at).to_string(),
                    "u32" => read::<u32>(at).to_string(),
                    "i32" => read::<i32>(at).to_string(),
                    _ => read::<u64>(at).to_string(),
                });
            }
            "hex" => {
                let (at, count) = (self.value(&rest[0]), Self::number(&rest[1]));
                return Some((at..at + count).map(|at| format!("{:02x}", read::<u8>(at))).collect());
            }
            "text" => {
                let at = self.value(&rest[0]);
                if at == 0 {
                    return Some("null".into());
                }
                // SAFETY: scripts name texts.
                let text = unsafe { CStr::from_ptr(at as *const _) };
                return Some(text.to_string_lossy().replace(' ', "_"));
            }
            "minus" => {
                let difference = self.value(&rest[0]).wrapping_sub(self.value(&rest[1]));
                return Some((difference as i64).to_string());
            }
            "mod" => return Some((self.value(&rest[0]) % Self::number(&rest[1])).to_string()),
            "sleep" => std::thread::sleep(std::time::Duration::from_millis(Self::number(&rest[0]))),
            "isnull" => return Some(u32::from(self.value(&rest[0]) == 0).to_string()),
            "handle" => {
                let result = self.call(&rest[1], &rest[2..], Where::Here);
                let at = self.place(&rest[0], 256);
                write(at, &result.to_le_bytes());
            }
            "thread" => return Some((self.call(&rest[0], &rest[1..], Where::Thread) as u32).to_string()),
            "inside" => return Some((self.call(&rest[0], &rest[1..], Where::Inside) as u32).to_string()),
            name => return Some((self.call(name, rest, Where::Here) as u32).to_string()),
        }
        None
    }
}

fn read<T: Copy>(at: u64) -> T {
    // SAFETY: scripts name memory that is there.
    unsafe { (at as *const T).read_unaligned() }
}

fn write(at: u64, bytes: &[u8]) {
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
}
