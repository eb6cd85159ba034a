//! The notation that rows are written in, and its compiled form.
//!
//! It is the manual's: `{.x}` is optional, a name such as `.rnd` stands for one of a set. Added are:
//!
//! * `.{a,b}` one of these; `.(.a.b|.c)` one of these sequences; `.m64n8*k16` every multiple of 8;
//! * `a|b` as opcode: one row each;
//! * `.x<7.8 sm_90>` this alternative needs more than its row (see [`Need`]), after `}` this
//!   optional operand;
//! * after an operand's name its constraint: `:2` has the second type of the instruction (`:1` is
//!   the default), `:u32` this type, `:1w` twice as wide, `:size` the address size; then `+` may be
//!   wider, `_` may be a sink, `$` may be a special register, `&` may be an address of a symbol (`^`
//!   in the instruction's space),
//!   `.` may select part of a register, `=0..15` and `/32` range and multiple of a constant in its
//!   place, `*n` a vector of n (`*vec`, `*num`, `*dim`: by modifier);
//!   `:A` to `:D` the fragment of that matrix; `:pack` a register or the vector that makes it up;
//! * `%a` must be a register, `#n:0..255` and `#n:4/8/16` must be a constant;
//! * `[a:2]` address in the second space named, `[a:shared]` in this one, `!` with a base register
//!   of the address size;
//! * `{, x if .m}` present exactly when the modifier is.
//!
//! Destinations are the operands named `d`, `p`, `q` and `redval`.

use smallvec::SmallVec;

use isa::{Modifier, Opcode};
use isa::{ScalarType, StateSpace};

use super::model::{
    Alternative, Count, Flags, Limit, Notation, OperandSpec, Sets, Shape, Signature, Slot, SpaceRule,
    TypeRule, Variant,
};
use super::need::Need;
use super::words::WORDS;

enum Item {
    Slot(SmallVec<[Alternative; 2]>),
    Optional(Vec<Item>),
    Choice(Vec<Vec<Item>>),
}

/// The opcode words of a row, and the rest.
pub(super) fn split_opcodes(row: &'static str) -> (&'static str, &'static str) {
    row.split_at(row.find(['.', '{', ' ']).unwrap_or(row.len()))
}

/// Parses a row for one of its opcodes.
pub(super) fn parse(row: &'static str, opcode: Opcode, sets: &Sets) -> Result<Notation, String> {
    let (_, rest) = split_opcodes(row);
    let mut cursor = Cursor { rest, sets, row };
    let items = cursor.sequence()?;
    let operands = cursor.rest.trim_start();
    let mut variants = vec![Variant::default()];
    expand(&items, None, &mut variants);
    for variant in &mut variants {
        variant.anchored = anchored(opcode, &variant.slots);
    }
    let mut cursor = Cursor { rest: operands, sets, row };
    let mut signatures = vec![Signature::default()];
    cursor.operands(&mut signatures)?;
    if !cursor.rest.trim().is_empty() {
        return Err(cursor.error("trailing text"));
    }
    Ok(Notation { variants, signatures })
}

fn expand(items: &[Item], group: Option<u8>, variants: &mut Vec<Variant>) {
    for item in items {
        match item {
            Item::Slot(alternatives) => {
                for variant in variants.iter_mut() {
                    variant.slots.push(Slot { alternatives: alternatives.clone(), group });
                }
            }
            Item::Optional(inner) => {
                let inner_group = variants[0].parents.len() as u8;
                for variant in variants.iter_mut() {
                    variant.parents.push(group);
                }
                expand(inner, Some(inner_group), variants);
            }
            Item::Choice(sequences) => {
                let before = std::mem::take(variants);
                for sequence in sequences {
                    let mut one = before.clone();
                    expand(sequence, group, &mut one);
                    variants.append(&mut one);
                }
                // Later groups need one number in all variants.
                let groups = variants.iter().map(|variant| variant.parents.len()).max().unwrap_or(0);
                for variant in variants.iter_mut() {
                    variant.parents.resize(groups, group);
                }
            }
        }
    }
}

fn anchored(opcode: Opcode, slots: &[Slot]) -> usize {
    let mut word = opcode.text().to_owned();
    slots
        .iter()
        .take_while(|slot| {
            let Some(first) = slot.alternatives.first() else { return false };
            word.push_str(&first.modifier.to_string());
            slot.group.is_none() && WORDS.contains(&word.as_str())
        })
        .count()
}

struct Cursor<'a> {
    rest: &'static str,
    sets: &'a Sets,
    row: &'static str,
}

impl Cursor<'_> {
    fn error(&self, what: &str) -> String {
        format!("row `{}`: {what} at `{}`", self.row, self.rest)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, prefix: &str) -> Result<(), String> {
        if self.eat(prefix) { Ok(()) } else { Err(self.error(&format!("expected `{prefix}`"))) }
    }

    fn until(&mut self, stop: impl Fn(char) -> bool) -> &'static str {
        let (word, rest) = self.rest.split_at(self.rest.find(stop).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn sequence(&mut self) -> Result<Vec<Item>, String> {
        let mut items = Vec::new();
        loop {
            if self.eat(".{") {
                let mut alternatives = SmallVec::new();
                loop {
                    self.eat(".");
                    self.alternative(&mut alternatives)?;
                    if !self.eat(",") {
                        break;
                    }
                    self.rest = self.rest.trim_start();
                }
                self.expect("}")?;
                items.push(Item::Slot(alternatives));
            } else if self.eat(".(") {
                let mut sequences = Vec::new();
                loop {
                    sequences.push(self.sequence()?);
                    if !self.eat("|") {
                        break;
                    }
                }
                self.expect(")")?;
                items.push(Item::Choice(sequences));
            } else if self.eat(".") {
                items.push(self.word()?);
            } else if self.rest.starts_with("{.") {
                self.eat("{");
                let inner = self.sequence()?;
                self.expect("}")?;
                items.push(Item::Optional(inner));
            } else {
                return Ok(items);
            }
        }
    }

    fn word(&mut self) -> Result<Item, String> {
        let stop = |c: char| ".{}()|<, ".contains(c);
        let name = &self.rest[..self.rest.find(stop).unwrap_or(self.rest.len())];
        let sets = self.sets.iter().chain(super::rows::SHARED_SETS);
        let Some((_, set)) = sets.into_iter().find(|(key, _)| *key == name) else {
            let mut alternatives = SmallVec::new();
            self.alternative(&mut alternatives)?;
            return Ok(Item::Slot(alternatives));
        };
        self.until(stop);
        let mut inner = Cursor { rest: set, sets: self.sets, row: self.row };
        let mut sequences = Vec::new();
        loop {
            inner.rest = inner.rest.trim_start();
            if inner.rest.is_empty() {
                break;
            }
            sequences.push(inner.sequence()?);
            if !inner.rest.is_empty() && !inner.rest.starts_with(' ') {
                return Err(inner.error("bad set"));
            }
        }
        let singles = sequences.iter().all(|sequence| matches!(sequence.as_slice(), [Item::Slot(_)]));
        if !singles {
            return Ok(Item::Choice(sequences));
        }
        let slots = sequences.into_iter().flatten().filter_map(|item| match item {
            Item::Slot(alternatives) => Some(alternatives),
            _ => None,
        });
        Ok(Item::Slot(slots.flatten().collect()))
    }

    fn alternative(&mut self, out: &mut SmallVec<[Alternative; 2]>) -> Result<(), String> {
        let name = self.until(|c| ".{}()|<, ".contains(c));
        let need = self.need()?;
        if let Some((before, after)) = name.split_once('*') {
            // `m64n8*k16`: every multiple of 8; `m64n16*k32`: 8, 24 and every multiple of 16.
            let step: u16 = if before.ends_with("16") { 16 } else { 8 };
            let k = after.strip_prefix('k').and_then(|k| k.parse().ok());
            let k: u16 = k.ok_or_else(|| self.error("bad shape"))?;
            let n = (1..=32u16).map(|at| at * 8).filter(|n| n % step == 0 || *n == 8 || *n == 24);
            out.extend(n.map(|n| Alternative { modifier: Modifier::Shape(64, n, k), need: need.clone() }));
            return Ok(());
        }
        let modifier =
            Modifier::from_text(name).ok_or_else(|| self.error(&format!("unknown modifier `{name}`")))?;
        out.push(Alternative { modifier, need });
        Ok(())
    }

    /// `<7.8 sm_90>`, if there is one.
    fn need(&mut self) -> Result<Option<Need>, String> {
        if !self.eat("<") {
            return Ok(None);
        }
        let text = self.until(|c| c == '>');
        self.expect(">")?;
        Need::parse(text).map(Some).ok_or_else(|| self.error("bad requirement"))
    }

    fn operands(&mut self, signatures: &mut Vec<Signature>) -> Result<(), String> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with('}') || self.rest.starts_with("if ") {
                return Ok(());
            }
            if self.eat("{, ") || self.eat("{,") {
                let mut with = signatures.clone();
                self.operands(&mut with)?;
                self.rest = self.rest.trim_start();
                if self.eat("if ") {
                    self.rest = self.rest.trim_start_matches('.');
                    let name = self.until(|c| c == '}' || c == ' ');
                    let condition = Modifier::from_text(name)
                        .ok_or_else(|| self.error(&format!("unknown modifier `{name}`")))?;
                    with.iter_mut().for_each(|s| s.conditions.push((condition, true)));
                    signatures.iter_mut().for_each(|s| s.conditions.push((condition, false)));
                }
                self.expect("}")?;
                if let Some(need) = self.need()? {
                    with.iter_mut().for_each(|s| s.needs.push(need.clone()));
                }
                signatures.append(&mut with);
                continue;
            }
            self.eat(",");
            self.rest = self.rest.trim_start();
            let before = self.rest.len();
            let operand = self.operand()?;
            if self.rest.len() == before {
                return Err(self.error("expected an operand"));
            }
            // An optional second destination that needs more makes a list of its own.
            if let (Shape::Pair { sink, .. }, Some(need)) = (&operand.shape, self.need()?) {
                let mut with = signatures.clone();
                let pair = Shape::Pair { optional: false, sink: *sink };
                let alone = OperandSpec { shape: Shape::Value, ..operand.clone() };
                signatures.iter_mut().for_each(|s| s.operands.push(alone.clone()));
                with.iter_mut().for_each(|s| {
                    s.operands.push(OperandSpec { shape: pair.clone(), ..operand.clone() });
                    s.needs.push(need.clone());
                });
                signatures.append(&mut with);
                continue;
            }
            signatures.iter_mut().for_each(|s| s.operands.push(operand.clone()));
        }
    }

    fn operand(&mut self) -> Result<OperandSpec, String> {
        let mut spec = OperandSpec {
            name: "",
            shape: Shape::Value,
            ty: TypeRule::Nth(0),
            count: Count::One,
            flags: Flags::default(),
            limit: Limit::NONE,
        };
        if self.eat("[") {
            let inner = self.bracket()?;
            spec.name = inner.name;
            spec.shape = inner.shape;
            return Ok(spec);
        }
        spec.flags.negatable = self.eat("{!}");
        spec.flags.register_only = self.eat("%");
        let constant = self.eat("#");
        spec.name = self.name();
        if spec.name.is_empty() && self.eat("_") {
            spec.shape = Shape::Sink;
            spec.name = "_";
            return Ok(spec);
        }
        spec.flags.destination = matches!(spec.name, "d" | "p" | "q" | "redval");
        if constant {
            spec.shape = self.constant()?;
            return Ok(spec);
        }
        if self.eat(":") {
            self.constraint(&mut spec)?;
        }
        let optional = self.eat("{");
        if self.eat("|p") || self.eat("|q") {
            spec.shape = Shape::Pair { optional, sink: self.eat("_") };
            if optional {
                self.expect("}")?;
            }
        } else if optional {
            self.rest = &self.row[self.row.len() - self.rest.len() - 1..];
        }
        Ok(spec)
    }

    fn name(&mut self) -> &'static str {
        self.until(|c| !(c.is_ascii_alphanumeric() || c == '-'))
    }

    fn bracket(&mut self) -> Result<OperandSpec, String> {
        let name = self.name();
        let mut space = SpaceRule::Nth(0);
        let mut handle = None;
        if self.eat(":") {
            match self.until(|c| !(c.is_ascii_alphanumeric() || c == ':')) {
                "1" => space = SpaceRule::Nth(0),
                "2" => space = SpaceRule::Nth(1),
                "global" => space = SpaceRule::Fixed(StateSpace::Global),
                "shared" => space = SpaceRule::Fixed(StateSpace::Shared),
                "generic" => space = SpaceRule::Fixed(StateSpace::Generic),
                "tmem" => space = SpaceRule::Tensor,
                word => match ScalarType::from_text(word) {
                    Some(ty) => handle = Some(ty),
                    None => return Err(self.error("unknown space")),
                },
            }
        }
        let sized = self.eat("!");
        let shape = match handle {
            Some(ty) => Shape::Handle(ty),
            None => Shape::Address { space, sized },
        };
        let first = OperandSpec {
            name,
            shape,
            ty: TypeRule::Address,
            count: Count::One,
            flags: Flags { register_only: true, ..Flags::default() },
            limit: Limit::NONE,
        };
        if self.eat("]") {
            return Ok(match handle {
                Some(_) => OperandSpec { shape: Shape::List(vec![first.clone()]), ..first },
                None => first,
            });
        }
        let mut list = vec![first.clone()];
        while self.eat(", ") || self.eat(",") {
            if self.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let mut probe = Cursor { rest: self.rest, sets: self.sets, row: self.row };
                probe.name();
                if probe.eat(":samplerref") {
                    self.rest = probe.rest;
                    list.push(OperandSpec {
                        name: "b",
                        shape: Shape::Handle(ScalarType::Samplerref),
                        ..first.clone()
                    });
                    continue;
                }
            }
            list.push(self.operand()?);
        }
        self.expect("]")?;
        Ok(OperandSpec { shape: Shape::List(list), ..first })
    }

    fn constant(&mut self) -> Result<Shape, String> {
        let (mut low, mut high, mut list) = (i64::MIN, i64::MAX, Vec::new());
        if self.eat(":") {
            let text = self.until(|c| !(c.is_ascii_digit() || ".-/".contains(c)));
            let number = |text: &str| text.parse::<i64>().map_err(|_| self.error("bad number"));
            if let Some((from, to)) = text.split_once("..") {
                (low, high) = (number(from)?, number(to)?);
            } else {
                list = text.split('/').map(number).collect::<Result<_, _>>()?;
            }
        }
        Ok(Shape::Constant { low, high, list })
    }

    fn constraint(&mut self, spec: &mut OperandSpec) -> Result<(), String> {
        let word = self.until(|c| !c.is_ascii_alphanumeric());
        let nth = |digit: &str| digit.parse::<u8>().ok().and_then(|n| n.checked_sub(1));
        match word {
            "A" | "B" | "C" | "D" => spec.ty = TypeRule::Fragment(word.as_bytes()[0] - b'A'),
            "size" => spec.ty = TypeRule::Address,
            "pack" => spec.ty = TypeRule::Pack,
            "label" => spec.shape = Shape::Label,
            "targets" => spec.shape = Shape::Targets,
            "callee" => spec.shape = Shape::Callee,
            "arguments" => spec.shape = Shape::Arguments,
            "prototype" => spec.shape = Shape::Prototype,
            _ => {
                let wide = word.strip_suffix('w').and_then(nth).map(TypeRule::Wide);
                let fixed = || ScalarType::from_text(word).map(TypeRule::Fixed);
                let rule = nth(word).map(TypeRule::Nth).or(wide).or_else(fixed);
                spec.ty = rule.ok_or_else(|| self.error(&format!("unknown constraint `{word}`")))?;
            }
        }
        loop {
            let flags = &mut spec.flags;
            match self.rest.chars().next() {
                Some('+') => flags.wider = true,
                Some('_') => flags.sink = true,
                Some('$') => flags.special = true,
                Some('&') => flags.symbol = true,
                Some('^') => (flags.symbol, flags.own_space) = (true, true),
                Some('.') => flags.part = true,
                _ => break,
            }
            self.rest = &self.rest[1..];
        }
        if self.eat("=") {
            let range = self.until(|c| !(c.is_ascii_digit() || ".-".contains(c)));
            let bounds = range.split_once("..");
            let bounds = bounds.and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
            (spec.limit.low, spec.limit.high) = bounds.ok_or_else(|| self.error("bad range"))?;
        }
        if self.eat("/") {
            let multiple = self.until(|c| !c.is_ascii_digit()).parse().ok().filter(|n| *n > 0);
            spec.limit.multiple = multiple.ok_or_else(|| self.error("bad multiple"))?;
        }
        if self.eat("*") {
            spec.count = match self.until(|c| !c.is_ascii_alphanumeric()) {
                "vec" => Count::Vector,
                "num" => Count::Number,
                "dim" => Count::Dimension,
                "im2col" => Count::Im2col,
                "geom" => Count::Geometry,
                "grad" => Count::Gradient,
                "off" => Count::Offset,
                "lanes" => Count::Lanes,
                digits => Count::Fixed(digits.parse().map_err(|_| self.error("bad count"))?),
            };
        }
        Ok(())
    }
}

/// The row as the manual would write it: opcode, modifiers and operands without our additions.
pub(super) fn display(row: &str, opcode: Opcode) -> String {
    let rest = strip(&row[row.find(['.', '{', ' ']).unwrap_or(row.len())..]);
    let (modifiers, operands) = rest.split_once(' ').unwrap_or((&rest, ""));
    let mut text = format!("{}{modifiers}", opcode.text());
    if !operands.is_empty() {
        text.push(' ');
        let mut chars = operands.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if operands[at..].starts_with(" if ") {
                while chars.peek().is_some_and(|&(_, c)| c != '}') {
                    chars.next();
                }
            } else if c == ':' {
                // The constraint ends where the operand does.
                while chars.peek().is_some_and(|&(_, c)| !",]|{} ".contains(c)) {
                    chars.next();
                }
            } else if !"%#!".contains(c) || operands[..at].ends_with('{') {
                text.push(c);
            }
        }
    }
    text
}

/// Without what stands in angle brackets.
fn strip(row: &str) -> String {
    let mut inside = false;
    let mut text = String::new();
    for c in row.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => text.push(c),
            _ => {}
        }
    }
    text
}
