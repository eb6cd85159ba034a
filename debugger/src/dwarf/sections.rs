//! The bytes of `.section` directives in a PTX text (ISA 11.5.4).

use std::collections::HashMap;

/// Addresses from here on are those of symbols that are no labels of code.
const SYMBOLS: u64 = 1 << 62;

/// The sections of a text.
pub(super) struct Sections<'a> {
    bytes: HashMap<&'a str, Vec<u8>>,
    symbols: Vec<&'a str>,
}

/// A word or sign of a section.
fn next_token<'a>(text: &'a str, at: &mut usize) -> Option<&'a str> {
    loop {
        let rest = &text[*at..];
        let skipped = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
        *at += skipped;
        let rest = &text[*at..];
        if rest.starts_with("//") {
            *at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            *at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            let end = match rest.chars().next()? {
                '{' | '}' => 1,
                _ => rest
                    .find(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}'))
                    .unwrap_or(rest.len()),
            };
            *at += end;
            return Some(&rest[..end]);
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

impl<'a> Sections<'a> {
    /// Reads those of a text; nothing if it has none of debug information.
    pub(super) fn read(text: &'a str) -> Option<Sections<'a>> {
        let starts: Vec<usize> = text
            .match_indices(".section")
            .map(|(at, _)| at)
            .filter(|&at| text[..at].rsplit('\n').next().is_some_and(|before| before.trim().is_empty()))
            .collect();
        let is_information = |&at: &usize| text[at..].split_whitespace().nth(1) == Some(".debug_info");
        if !starts.iter().any(is_information) {
            return None;
        }
        let labels = labels(text);
        let mut sections = Sections { bytes: HashMap::new(), symbols: Vec::new() };
        let mut numbers = HashMap::new();
        let mut own: HashMap<&str, u64> = HashMap::new();
        // Labels inside of sections are known before they are used.
        for pass in 0..2 {
            for &start in &starts {
                let mut at = start + ".section".len();
                let (Some(name), Some("{")) = (next_token(text, &mut at), next_token(text, &mut at)) else {
                    continue;
                };
                let mut bytes = Vec::new();
                let mut width = 1;
                while let Some(token) = next_token(text, &mut at) {
                    match token {
                        "}" => break,
                        ".b8" => width = 1,
                        ".b16" => width = 2,
                        ".b32" => width = 4,
                        ".b64" => width = 8,
                        _ if token.ends_with(':') => {
                            own.insert(&token[..token.len() - 1], bytes.len() as u64);
                        }
                        _ if pass == 0 => bytes.resize(bytes.len() + width, 0),
                        _ => {
                            let mut of = |name: &'a str| match (number(name), labels.get(name), own.get(name))
                            {
                                (Some(value), ..) | (_, Some(&value), _) | (_, _, Some(&value)) => value,
                                _ if name.starts_with('.') => 0,
                                _ => *numbers.entry(name).or_insert_with(|| {
                                    sections.symbols.push(name);
                                    SYMBOLS + sections.symbols.len() as u64 - 1
                                }),
                            };
                            let sign = token.char_indices().skip(1).find(|(_, c)| matches!(c, '+' | '-'));
                            let value = match sign {
                                Some((at, '+')) => of(&token[..at]).wrapping_add(of(&token[at + 1..])),
                                Some((at, _)) => of(&token[..at]).wrapping_sub(of(&token[at + 1..])),
                                None => of(token),
                            };
                            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
                        }
                    }
                }
                if pass == 1 {
                    sections.bytes.entry(name).or_insert(bytes);
                }
            }
        }
        Some(sections)
    }

    /// The bytes of a section; none if there is none.
    pub(super) fn bytes(&self, name: &str) -> &[u8] {
        self.bytes.get(name).map_or(&[], Vec::as_slice)
    }

    /// The symbol that an address is of.
    pub(super) fn symbol(&self, address: u64) -> Option<&'a str> {
        let at = usize::try_from(address.checked_sub(SYMBOLS)?).ok()?;
        self.symbols.get(at).copied()
    }
}

/// Where labels stand in a text.
fn labels(text: &str) -> HashMap<&str, u64> {
    let mut found = HashMap::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let own = line.trim_start();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | '_' | '%');
        let end = own.find(|c| !is_name(c)).unwrap_or(own.len());
        if end > 0 && own[end..].starts_with(':') {
            found.entry(&own[..end]).or_insert((start + line.len() - own.len()) as u64);
        }
        start += line.len();
    }
    found
}
