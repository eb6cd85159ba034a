//! The `.test` files of NVIDIA's mixed-proxy study: declarations, threads in braces, `assert` and `permit`,
//! and templates with a table after `$$` whose rows fill in `$0`, `$1`, ...

use super::diagnostic::{Code, Diagnostic, Span};
use super::lexer::{Kind, lex};
use super::parser::{Parse, Parser};
use crate::program::{
    Assertion, Cmp, Cond, Instr, Litmus, Observable, Op, Operand, Placement, Quantifier, RegId, Term, Thread,
};

const MAX_DEPTH: u32 = 100;
const MAX_ROWS: usize = 10_000;

/// Reads a `.test` file. Every row of its table and every command makes one litmus test: `assert(c)` asks
/// whether all executions satisfy `c`, `permit(c)` and `check(c)` whether some execution does. An expected
/// value after a load is an assumption. Spans in a file with a table point to the row that was filled in.
///
/// # Errors
/// The first mistake.
pub fn parse_nvlitmus(text: &str) -> Result<Vec<Litmus>, Vec<Diagnostic>> {
    let Some((template, table)) = text.split_once("$$") else {
        return one(text, "").map_err(|d| vec![d]);
    };
    let mut out = Vec::new();
    let mut at = template.len() + 2;
    for (number, line) in table.split_inclusive('\n').enumerate() {
        let span = Span::new(at, at + line.trim_end().len());
        at += line.len();
        let row = line.split("//").next().unwrap_or("").trim();
        if row.is_empty() {
            continue;
        }
        if number > MAX_ROWS {
            return Err(vec![Diagnostic::new(Code::Limit, span, format!("more than {MAX_ROWS} rows"))]);
        }
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let filled = fill(template, &cells).map_err(|hole| {
            vec![Diagnostic::new(
                Code::Syntax,
                span,
                format!("the template uses ${hole}, the row has no such cell"),
            )]
        })?;
        let tests = one(&filled, &format!("-{}", out.len() + 1));
        out.extend(tests.map_err(|d| vec![Diagnostic { span, ..d }])?);
    }
    Ok(out)
}

/// The template with the cells of a row in its holes; the number of a hole for which there is no cell.
fn fill(template: &str, cells: &[&str]) -> Result<String, usize> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let hole: usize = after[..digits].parse().unwrap_or(usize::MAX);
        out.push_str(cells.get(hole).ok_or(hole)?);
        rest = &after[digits..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The tests of a file without holes.
fn one(text: &str, suffix: &str) -> Parse<Vec<Litmus>> {
    let mut parser = Parser::new(text, lex(text, 0)?);
    parser.addresses()?;
    parser.braced_threads()?;
    let mut out = Vec::new();
    while parser.peek().kind != Kind::End {
        let (command, span) = parser.expect_word("`assert`, `permit` or `check`")?;
        let quantifier = match command {
            "assert" => Quantifier::Forall,
            "permit" | "check" => Quantifier::Exists,
            _ => {
                return Err(Diagnostic::new(Code::Syntax, span, format!("unknown command `{command}`"))
                    .with_help("one of assert, permit, check"));
            }
        };
        parser.expect("(")?;
        let cond = parser.any_of(0)?;
        parser.expect(")")?;
        let (keyword, span) = parser.expect_word("`as`")?;
        if keyword != "as" {
            return Err(Diagnostic::new(Code::Syntax, span, format!("expected `as`, found `{keyword}`")));
        }
        let (name, _) = parser.expect_word("a name")?;
        parser.eat(";");
        out.push(Litmus {
            source: false,
            name: format!("{name}{suffix}"),
            program: parser.program.clone(),
            filter: None,
            assertion: Some(Assertion { quantifier, cond }),
            locations: Vec::new(),
        });
    }
    Ok(out)
}

impl Parser<'_> {
    /// `.global y physically aliases x;`, `.surfref s virtually aliases y;`
    fn addresses(&mut self) -> Parse<()> {
        while self.eat(".") {
            self.expect_word("a state space")?;
            let (name, span) = self.expect_word("a location")?;
            if self.eat(";") {
                self.declare(name, span, Operand::Const(0), None)?;
                continue;
            }
            let (how, how_span) = self.expect_word("`physically`, `virtually` or `;`")?;
            let (aliases, _) = self.expect_word("`aliases`")?;
            let (target, target_span) = self.expect_word("the location that is aliased")?;
            let target = self.known_location(target, target_span)?;
            let of = self.program.locations[usize::from(target.0)].clone();
            let address = match (how, aliases) {
                ("physically", "aliases") => None,
                ("virtually", "aliases") => Some(of.address),
                _ => {
                    let message = format!("`{how} {aliases}` is not a kind of alias");
                    return Err(Diagnostic::new(Code::Syntax, how_span, message)
                        .with_help("`physically aliases` or `virtually aliases`"));
                }
            };
            self.declare(name, span, of.initial, Some((of.physical, address)))?;
            self.expect(";")?;
        }
        Ok(())
    }

    /// `d0.b1.t0 { ... }`, at least one.
    fn braced_threads(&mut self) -> Parse<()> {
        loop {
            let number = |word: &str, letter: char| word.strip_prefix(letter)?.parse::<u32>().ok();
            let mut parts = [0; 3];
            for (i, letter) in ['d', 'b', 't'].into_iter().enumerate() {
                let (word, span) = self.expect_word("a thread such as `d0.b0.t0`")?;
                parts[i] = number(word, letter).ok_or_else(|| {
                    let message = format!("expected `{letter}` and a number, found `{word}`");
                    Diagnostic::new(Code::Syntax, span, message)
                })?;
                if i < 2 {
                    self.expect(".")?;
                }
            }
            let index = self.program.threads.len();
            self.program.threads.push(Thread {
                id: index as u32,
                placement: Placement { gpu: parts[0], cluster: None, cta: parts[1] },
                registers: Vec::new(),
                initial: Vec::new(),
                code: Vec::new(),
            });
            self.expect("{")?;
            while !self.eat("}") {
                self.statement(index)?;
            }
            let another = matches!(self.peek().kind, Kind::Word) && self.is_at(1, ".");
            if !another {
                return Ok(());
            }
        }
    }

    fn statement(&mut self, thread: usize) -> Parse<()> {
        if self.eat(";") {
            return Ok(());
        }
        let start = self.peek().span;
        let op = self.instruction(thread)?;
        let read = match &op {
            Op::Load { dst, .. } | Op::Rmw { dst, .. } => dst.first().copied(),
            _ => None,
        };
        let end = self.previous_end();
        self.push_instruction(thread, op, Span { end, ..start });
        if self.is("==") {
            self.advance();
            let (value, span) = self.integer()?;
            let Some(register) = read else {
                return Err(Diagnostic::new(Code::Syntax, span, "only a load has an expected value"));
            };
            let op = Op::Assume { cmp: Cmp::Eq, a: Operand::Reg(register), b: Operand::Const(value) };
            self.push_instruction(thread, op, span);
        }
        self.expect(";").map(|_| ())
    }

    fn push_instruction(&mut self, thread: usize, op: Op, span: Span) {
        let text = self.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let (line, _) = span.line_column(self.text);
        self.program.threads[thread].code.push(Instr { op, span, line, text });
    }

    fn any_of(&mut self, depth: u32) -> Parse<Cond> {
        let mut left = self.all_of(depth)?;
        while self.eat("||") {
            left = Cond::Or(Box::new(left), Box::new(self.all_of(depth)?));
        }
        Ok(left)
    }

    fn all_of(&mut self, depth: u32) -> Parse<Cond> {
        let mut left = self.comparison(depth)?;
        while self.eat("&&") {
            left = Cond::And(Box::new(left), Box::new(self.comparison(depth)?));
        }
        Ok(left)
    }

    fn comparison(&mut self, depth: u32) -> Parse<Cond> {
        if depth > MAX_DEPTH {
            let message = format!("a condition nested more than {MAX_DEPTH} deep");
            return Err(Diagnostic::new(Code::Limit, self.peek().span, message));
        }
        if matches!(self.peek().kind, Kind::Word) && self.slice(self.peek().span) == "not" {
            self.advance();
            return Ok(Cond::Not(Box::new(self.comparison(depth + 1)?)));
        }
        if self.eat("(") {
            let inner = self.any_of(depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let a = self.register_or_number()?;
        let cmp = if self.eat("==") {
            Cmp::Eq
        } else if self.eat("!=") {
            Cmp::Ne
        } else {
            return Err(self.unexpected("`==` or `!=`"));
        };
        Ok(Cond::Cmp(cmp, a, self.register_or_number()?))
    }

    /// An integer, or a register, which only one thread may have.
    fn register_or_number(&mut self) -> Parse<Term> {
        if self.peek().kind != Kind::Word {
            return Ok(Term::Const(self.integer()?.0));
        }
        let (name, span) = self.register_name()?;
        let found: Vec<(usize, usize)> = self
            .program
            .threads
            .iter()
            .enumerate()
            .filter_map(|(t, thread)| Some((t, thread.registers.iter().position(|r| r == name)?)))
            .collect();
        match found.as_slice() {
            [(thread, register)] => Ok(Term::Var(Observable::Reg(*thread, RegId(*register as u16)))),
            [] => Err(Diagnostic::new(Code::Undeclared, span, format!("no thread has a register `{name}`"))),
            _ => Err(Diagnostic::new(
                Code::Duplicate,
                span,
                format!("several threads have a register `{name}`"),
            )),
        }
    }
}
