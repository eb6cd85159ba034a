//! `.version`, `.target`, `.address_size` (ISA 11.1) and `.pragma` (11.4.7).

use nom::multi::separated_list1;

use super::declaration::count;
use super::tokens::{Name, directive, name, token};
use super::{Done, Parser, closest};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::target::{PtxVersion, Target, TargetKind};

/// Targets with the versions of PTX that introduced the plain, `f` and `a` forms (ISA 11.1.2).
const TARGETS: &[(u16, [Option<PtxVersion>; 3])] = {
    const fn v(major: u8, minor: u8) -> Option<PtxVersion> {
        Some(PtxVersion::new(major, minor))
    }
    &[
        (10, [v(1, 0), None, None]),
        (11, [v(1, 0), None, None]),
        (12, [v(1, 2), None, None]),
        (13, [v(1, 2), None, None]),
        (20, [v(2, 0), None, None]),
        (30, [v(3, 0), None, None]),
        (32, [v(4, 0), None, None]),
        (35, [v(3, 1), None, None]),
        (37, [v(4, 1), None, None]),
        (50, [v(4, 0), None, None]),
        (52, [v(4, 1), None, None]),
        (53, [v(4, 2), None, None]),
        (60, [v(5, 0), None, None]),
        (61, [v(5, 0), None, None]),
        (62, [v(5, 0), None, None]),
        (70, [v(6, 0), None, None]),
        (72, [v(6, 1), None, None]),
        (75, [v(6, 3), None, None]),
        (80, [v(7, 0), None, None]),
        (86, [v(7, 1), None, None]),
        (87, [v(7, 4), None, None]),
        (88, [v(9, 0), None, None]),
        (89, [v(7, 8), None, None]),
        (90, [v(7, 8), None, v(8, 0)]),
        (100, [v(8, 6), v(8, 8), v(8, 6)]),
        (101, [v(8, 6), v(8, 8), v(8, 6)]),
        (103, [v(8, 8), v(8, 8), v(8, 8)]),
        (107, [v(9, 4), v(9, 4), v(9, 4)]),
        (110, [v(9, 0), v(9, 0), v(9, 0)]),
        (120, [v(8, 7), v(8, 8), v(8, 7)]),
        (121, [v(8, 8), v(8, 8), v(8, 8)]),
    ]
};

const OPTIONS: &[&str] =
    &["texmode_unified", "texmode_independent", "texmode_raw", "debug", "map_f64_to_f32"];

impl<'a> Parser<'a> {
    /// The directives that every module begins with.
    pub(super) fn header(&mut self) {
        if self.kind() == TokenKind::Directive && self.word() == ".version" {
            if self.version().is_err() {
                self.skip_line();
            }
        } else {
            self.missing(".version", "every module begins with `.version`, for example `.version 8.8`");
        }
        if self.kind() == TokenKind::Directive && self.word() == ".target" {
            if self.target().is_err() {
                self.skip_line();
            }
        } else {
            self.missing(".target", "`.target` must follow `.version`, for example `.target sm_90`");
        }
        while self.kind() == TokenKind::Directive && self.word() == ".target" {
            if self.target().is_err() {
                self.skip_line();
            }
        }
        if self.kind() == TokenKind::Directive
            && self.word() == ".address_size"
            && self.address_size().is_err()
        {
            self.skip_line();
        }
    }

    fn missing(&mut self, what: &str, help: &str) {
        let span = self.span();
        let error = Diagnostic::error(codes::HEADER, span, format!("the module has no `{what}`"));
        self.error(error.caption(format!("expected `{what}` before this")).help(help));
    }

    fn skip_line(&mut self) {
        while self.kind() != TokenKind::End && !self.first_on_line(self.at) {
            self.bump();
        }
    }

    fn version(&mut self) -> Done {
        let start = self.bump().span;
        let number = self.rule(token(TokenKind::Number))?.span;
        let text = self.slice(number);
        let parsed = text.split_once('.').and_then(|(major, minor)| {
            let part =
                |s: &str| if s.bytes().all(|b| b.is_ascii_digit()) { s.parse::<u8>().ok() } else { None };
            Some(PtxVersion::new(part(major)?, part(minor)?))
        });
        let Some(version) = parsed else {
            self.error(
                Diagnostic::error(codes::HEADER, number, "a version consists of two numbers, major.minor")
                    .help("for example `.version 8.8`"),
            );
            return Ok(());
        };
        if version > PtxVersion::NEWEST {
            self.error(
                Diagnostic::error(
                    codes::VERSION,
                    number,
                    format!("PTX {version} is newer than what is known here"),
                )
                .caption(format!("versions up to {} are understood", PtxVersion::NEWEST))
                .label(start, "the version is declared here"),
            );
            return Ok(());
        }
        self.module.version = version;
        self.context.version = version;
        Ok(())
    }

    pub(super) fn target(&mut self) -> Done {
        self.bump();
        let list = self.rule(separated_list1(token(TokenKind::Comma), name))?;
        for item in list {
            if item.text == "map_f64_to_f32" && self.module.target.sm >= 13 {
                let message = "`map_f64_to_f32` is for sm_10 to sm_12 only";
                self.error(Diagnostic::error(codes::TARGET, item.span, message));
            }
            if OPTIONS.contains(&item.text) {
                self.module.target_options.push(item.text.into());
                continue;
            }
            let Some(target) = parse_target(item.text) else {
                self.unknown_target(item);
                continue;
            };
            self.check_target(item, target);
            self.module.target = target;
            self.context.target = target;
        }
        Ok(())
    }

    fn unknown_target(&mut self, item: Name<'a>) {
        let mut error =
            Diagnostic::error(codes::TARGET, item.span, format!("unknown target `{}`", item.text));
        let known: Vec<String> = targets().map(|target| target.to_string()).collect();
        let candidates = known.iter().map(String::as_str).chain(OPTIONS.iter().copied());
        if let Some(near) = closest(item.text, candidates) {
            error = error.help(format!("did you mean `{near}`?"));
        }
        self.error(
            error.help("the targets of PTX go from `sm_10` to `sm_121`, some with the suffix `a` or `f`"),
        );
    }

    fn check_target(&mut self, item: Name<'a>, target: Target) {
        let row = TARGETS.iter().find(|row| row.0 == target.sm);
        let since = row.and_then(|row| row.1[target.kind as usize]);
        match since {
            Some(since) if since > self.module.version => {
                let version = self.module.version;
                self.error(
                    Diagnostic::error(codes::TARGET, item.span, format!("{target} needs PTX {since}"))
                        .caption(format!("the module says PTX {version}"))
                        .help(format!("write `.version {since}` or newer, or an older target")),
                );
            }
            Some(_) => {}
            None => self.unknown_target(item),
        }
    }

    fn address_size(&mut self) -> Done {
        let start = self.bump().span;
        self.require(".address_size", start);
        let (size, span) = self.rule(count)?;
        if size != 32 && size != 64 {
            self.error(
                Diagnostic::error(codes::HEADER, span, format!("an address size of {size} bits"))
                    .caption("must be 32 or 64"),
            );
            return Ok(());
        }
        if size == 32 && self.module.target.sm >= 90 {
            let message = format!("{} has no 32-bit addresses", self.module.target);
            self.error(Diagnostic::error(codes::TARGET, span, message).help("write `.address_size 64`"));
        }
        self.module.address_size = size as u32;
        self.context.address_size = size as u32;
        Ok(())
    }

    /// `.pragma "…", "…";`
    pub(super) fn pragma(&mut self) -> Done<Vec<Box<str>>> {
        let rule = nom::sequence::delimited(
            directive(".pragma", "`.pragma`"),
            separated_list1(token(TokenKind::Comma), super::tokens::string),
            token(TokenKind::Semicolon),
        );
        Ok(self.rule(rule)?.into_iter().map(|pragma| pragma.text.into()).collect())
    }
}

/// `sm_90a` or `compute_90a` as a target; it need not exist.
fn parse_target(text: &str) -> Option<Target> {
    let rest = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
    let (digits, kind) = match rest.as_bytes().last()? {
        b'a' => (&rest[..rest.len() - 1], TargetKind::Architecture),
        b'f' => (&rest[..rest.len() - 1], TargetKind::Family),
        _ => (rest, TargetKind::Portable),
    };
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain).map(|sm| Target { sm, kind })
}

fn targets() -> impl Iterator<Item = Target> {
    const KINDS: [TargetKind; 3] = [TargetKind::Portable, TargetKind::Family, TargetKind::Architecture];
    TARGETS.iter().flat_map(|&(sm, since)| {
        let known = KINDS.into_iter().zip(since).filter(|(_, since)| since.is_some());
        known.map(move |(kind, _)| Target { sm, kind })
    })
}
