//! A text of PTX in which each instruction has a line of its own: machine code says by lines what it was made of.

use ptx_frontend::Source;

use crate::module::Module;

/// A module of the same texts with a line for each statement, if there is a line with several instructions.
pub fn apart(module: &Module) -> Option<Module> {
    let given = || module.checked().sources.iter().filter(|source| &*source.name != "device_runtime.ptx");
    let texts: Vec<Option<String>> = given().map(|source| on_lines_of_their_own(&source.text)).collect();
    if texts.iter().all(Option::is_none) {
        return None;
    }
    let sources = given().zip(texts).map(|(source, text)| match text {
        Some(text) => Source::new(&*source.name, text.into_bytes()),
        None => source.clone(),
    });
    Module::link(sources.collect()).ok()
}

/// What is between two places of a text where the lexer of PTX is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    Line,
    Comment,
    Text,
}

/// The text with a line for each statement, if there is a line with several instructions.
fn on_lines_of_their_own(text: &str) -> Option<String> {
    let mut apart = String::with_capacity(text.len() + text.len() / 16);
    let mut within = Within::Code;
    // Instructions of the line so far, whether something of a statement was seen, whether that is an instruction, and whether a
    // statement ended behind which nothing came yet.
    let (mut instructions, mut several) = (0, false);
    let (mut begun, mut instruction, mut ended) = (false, false, false);
    let mut before = '\n';
    let mut rest = text.chars().peekable();
    while let Some(of) = rest.next() {
        let next = rest.peek().copied();
        match within {
            Within::Line if of == '\n' => within = Within::Code,
            Within::Comment if before == '*' && of == '/' => within = Within::Code,
            Within::Text if of == '"' && before != '\\' => within = Within::Code,
            Within::Code => match (of, next) {
                ('/', Some('/')) => within = Within::Line,
                ('/', Some('*')) => within = Within::Comment,
                ('"', _) => within = Within::Text,
                _ => {}
            },
            _ => {}
        }
        if of == '\n' {
            (instructions, ended) = (0, false);
            // Nothing ends where a line of the source is said.
            begun &= instruction;
        } else if within == Within::Code && !of.is_whitespace() && before_is_code(before, of) {
            // A brace may stay where the statement before it is.
            if ended && of != '}' {
                apart.push('\n');
                ended = false;
            }
            match of {
                ';' => {
                    instructions += usize::from(instruction);
                    several |= instructions > 1;
                    (begun, instruction, ended) = (false, false, true);
                }
                '{' | '}' | ':' => (begun, instruction) = (false, false),
                _ if !begun => (begun, instruction) = (true, of != '.'),
                _ => {}
            }
        }
        // What closes a comment opens none.
        before = if within == Within::Code && of == '/' && before == '*' { ' ' } else { of };
        apart.push(of);
    }
    several.then_some(apart)
}

/// The slash behind a comment's star is none of the code's.
fn before_is_code(before: char, of: char) -> bool {
    !(before == '*' && of == '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_instructions_become_several() {
        let text = "{ .reg .u32 %r<3>; .reg .pred %p;\nmov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; // a; b\n@%p bra L; ret; }\n";
        let apart = "{ .reg .u32 %r<3>; \n.reg .pred %p;\nmov.u32 %r1, 0; \nL: add.u32 %r1, %r1, 1; // a; b\n@%p bra L; \nret; }\n";
        assert_eq!(on_lines_of_their_own(text).as_deref(), Some(apart));
        assert_eq!(on_lines_of_their_own(apart), None);
        let behind = ".loc 1 2 3\nmov.u32 %r1, 0; ret;\n";
        assert_eq!(on_lines_of_their_own(behind).as_deref(), Some(".loc 1 2 3\nmov.u32 %r1, 0; \nret;\n"));
    }

    #[test]
    fn declarations_comments_and_texts_are_no_instructions() {
        for text in [
            ".reg .u32 %r<3>; .reg .pred %p; ret;\n",
            "mov.u32 %r1, 0; // add; ret;\nret;\n",
            "mov.u32 %r1, 0; /* add; \n ret; */ /* ret; */\nret;\n",
            ".pragma \"a; b; \\\" c;\"; ret;\n",
        ] {
            assert_eq!(on_lines_of_their_own(text), None, "{text}");
        }
        assert!(on_lines_of_their_own("/**/ add; /* */ ret; \"\"\n").is_some());
    }

    #[test]
    fn the_module_is_the_same() {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
        let one = |text: &str| Module::from_ptx("a.ptx", &format!("{head}{text}")).unwrap();
        let together =
            one(".visible .entry k() { .reg .u32 %r<2>; mov.u32 %r0, 1; add.u32 %r1, %r0, 2; ret; }\n");
        let apart = apart(&together).unwrap();
        assert_eq!(apart.checked().sources[0].text.lines().count(), 7);
        assert!(super::apart(&apart).is_none());
        assert_eq!(apart.kernel(None).unwrap().name, together.kernel(None).unwrap().name);
    }
}
