//! Pairs of instructions of the PTX that the assembler makes one of, where nobody else wants what the first of them gives: logic of three
//! operands, sums of three, products and shifts that are added to, tests that are joined, signs of floats.

use std::collections::{HashMap, HashSet};

use ptx_frontend::Operand;
use timing::code::Op;

use super::{Made, Value};

/// What an instruction of the PTX is, as far as another may take it in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It is none of these.
    Other,
    /// Of integers, of 32 and of 64 bits.
    Logic(Width),
    Sum(Width),
    /// To the left, by a number that the instruction says.
    Shift(Width),
    Product,
    /// Of two words, twice as wide as they are.
    WideProduct,
    /// Its result is a predicate.
    Test,
    /// Of predicates.
    Joint,
    /// Of floats: a change of signs, and what changes those of its operands by itself.
    Sign,
    Floats,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    Word,
    Two,
}

/// What is made of one instruction of the PTX.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Which one that is.
    pub(super) group: u32,
    /// Operands that it says itself.
    pub(super) said: usize,
}

impl Part {
    pub(super) fn of(text: &str, operands: &[Operand], group: u32) -> Self {
        let said = operands.iter().skip(1).filter(|of| matches!(of, Operand::Integer(_))).count();
        Part { kind: kind(text, operands), group, said }
    }
}

fn kind(text: &str, operands: &[Operand]) -> Kind {
    let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
    let ty = modifiers.rsplit('.').next().unwrap_or("");
    let has = |part: &str| modifiers.split('.').any(|of| of == part);
    let width = match ty {
        "b32" | "u32" | "s32" => Some(Width::Word),
        "b64" | "u64" | "s64" => Some(Width::Two),
        _ => None,
    };
    let is_float = matches!(ty, "f32" | "f64");
    match (name, width) {
        ("and" | "or" | "xor", _) if ty == "pred" => Kind::Joint,
        ("and" | "or" | "xor" | "not", Some(width)) => Kind::Logic(width),
        ("add" | "sub", Some(width)) if !has("cc") && !has("sat") => Kind::Sum(width),
        ("shl", Some(width)) if matches!(operands.get(2), Some(Operand::Integer(_))) => Kind::Shift(width),
        ("mul", Some(Width::Word)) if has("wide") => Kind::WideProduct,
        ("mul", Some(Width::Word)) if has("lo") => Kind::Product,
        ("setp", _) if operands.len() == 3 => Kind::Test,
        ("neg" | "abs", None) if is_float => Kind::Sign,
        ("add" | "sub" | "mul" | "fma", None) if is_float => Kind::Floats,
        _ => Kind::Other,
    }
}

/// How one takes in another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// With its operands, as it is.
    Takes,
    /// As what is said, instead of two.
    Becomes(&'static str),
    /// As the last instruction of the other.
    AsOther,
}

/// Whether one takes in another, by what they are, the registers that both read then, and the operands that they say.
fn taken(first: Kind, second: Kind, reads: usize, said: usize) -> Option<How> {
    let few = said <= 1 && reads + said <= 3;
    match (first, second) {
        (Kind::Logic(a), Kind::Logic(b)) | (Kind::Shift(a), Kind::Sum(b)) if a == b && few => {
            Some(How::Takes)
        }
        (Kind::Sum(Width::Word), Kind::Sum(Width::Word)) if few => Some(How::Takes),
        (Kind::Product, Kind::Sum(Width::Word)) if few => Some(How::Becomes("IMAD")),
        (Kind::WideProduct, Kind::Sum(Width::Two)) if few => Some(How::Becomes("IMAD.WIDE")),
        (Kind::Test, Kind::Joint) => Some(How::AsOther),
        (Kind::Sign, Kind::Floats) => Some(How::Takes),
        _ => None,
    }
}

/// Values that some block reads which others, or an earlier turn, have written.
pub(super) fn carried(blocks: &[(usize, Vec<Made>)]) -> HashSet<Value> {
    let mut carried = HashSet::new();
    for (_, made) in blocks {
        let mut own: HashSet<Value> = HashSet::new();
        for of in made {
            carried.extend(of.reads.iter().filter(|value| !own.contains(*value)));
            if of.machine.guard.is_none() {
                own.extend(&of.writes);
            }
        }
    }
    carried
}

/// What is known of an instruction of the PTX within a block.
#[derive(Default)]
struct Group {
    /// Its machine instructions.
    made: Vec<usize>,
    /// Values that it reads, each with which of those written before it is.
    reads: Vec<(Value, usize)>,
    /// Its one result, if it has one, and by whom that is read.
    result: Option<Value>,
    readers: Vec<u32>,
}

/// Makes one of pairs in a block, where that is said of them.
pub(super) fn fuse(made: &mut Vec<Made>, carried: &HashSet<Value>) {
    let mut groups: HashMap<u32, Group> = HashMap::new();
    let mut order: Vec<u32> = Vec::new();
    // By value: who wrote it last, and how often it was written.
    let mut written: HashMap<Value, (u32, usize)> = HashMap::new();
    for (at, of) in made.iter().enumerate() {
        let number = of.part.group;
        for &value in &of.reads {
            let (writer, count) = written.get(&value).copied().unwrap_or((u32::MAX, 0));
            if writer != number
                && let Some(writer) = groups.get_mut(&writer)
                && !writer.readers.contains(&number)
            {
                writer.readers.push(number);
            }
            let own = groups.entry(number).or_default();
            if !matches!(value, Value::Between(_)) && !own.reads.iter().any(|read| read.0 == value) {
                own.reads.push((value, count));
            }
        }
        let own = groups.entry(number).or_default();
        if own.made.is_empty() {
            order.push(number);
        }
        own.made.push(at);
        let lasts: Vec<Value> =
            of.writes.iter().copied().filter(|value| !matches!(value, Value::Between(_))).collect();
        if !lasts.is_empty() {
            own.result = (lasts.len() == 1).then(|| lasts[0]);
        }
        for value in lasts {
            let count = written.get(&value).map_or(0, |of| of.1);
            written.insert(value, (number, count + 1));
        }
    }
    let mut gone = vec![false; made.len()];
    // Counts what is written up to where the second one is.
    let mut counts: HashMap<Value, usize> = HashMap::new();
    let mut counted = 0;
    let mut wanted: HashMap<u32, Vec<u32>> = HashMap::new();
    for &number in &order {
        let group = &groups[&number];
        let first = group.made[0];
        while counted < first {
            for value in &made[counted].writes {
                *counts.entry(*value).or_default() += 1;
            }
            counted += 1;
        }
        for other in wanted.remove(&number).unwrap_or_default() {
            let (one, two) = (&groups[&other], &groups[&number]);
            let Some(result) = one.result else { continue };
            let unchanged =
                one.reads.iter().all(|(value, count)| counts.get(value).copied().unwrap_or(0) == *count);
            let (Some(&from), Some(&to)) = (one.made.last(), two.made.last()) else { continue };
            if !unchanged || gone[from] {
                continue;
            }
            let mut reads: Vec<Value> = two.reads.iter().map(|of| of.0).filter(|of| *of != result).collect();
            for (value, _) in &one.reads {
                if !reads.contains(value) {
                    reads.push(*value);
                }
            }
            let said = made[from].part.said + made[to].part.said;
            let Some(how) = taken(made[from].part.kind, made[to].part.kind, reads.len(), said) else {
                continue;
            };
            let mut opcode = None;
            match how {
                How::Takes => one.made.iter().for_each(|&at| gone[at] = true),
                How::Becomes(name) => {
                    one.made.iter().chain(&two.made[..two.made.len() - 1]).for_each(|&at| gone[at] = true);
                    opcode = Some(name.to_owned());
                }
                How::AsOther => {
                    gone[from] = true;
                    opcode = Some(made[from].machine.opcode.clone());
                }
            }
            let between: Vec<Value> = made[from].reads.clone();
            for &at in &two.made {
                let of = &mut made[at];
                of.part.kind = Kind::Other;
                if of.reads.contains(&result) {
                    of.reads.retain(|value| *value != result);
                    match how {
                        How::AsOther => of.reads.extend(between.iter().copied()),
                        _ => of.reads.extend(one.reads.iter().map(|of| of.0)),
                    }
                }
            }
            if let Some(opcode) = opcode {
                let of = &mut made[to];
                of.unit = Op::new(&opcode, "", 0).unit;
                of.machine.opcode = opcode;
                if let How::Becomes(_) = how {
                    of.reads = reads;
                }
            }
        }
        let group = &groups[&number];
        let last = group.made.last().map(|&at| &made[at]);
        let is_free = last.is_some_and(|last| last.machine.guard.is_none() && last.part.kind != Kind::Other)
            && group.result.is_some_and(|value| !carried.contains(&value));
        if let [reader] = group.readers[..]
            && is_free
        {
            wanted.entry(reader).or_default().push(number);
        }
    }
    let mut gone = gone.into_iter();
    made.retain(|_| !gone.next().unwrap_or(false));
}
