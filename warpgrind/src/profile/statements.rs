//! A text of PTX in which each instruction has a line of its own: machine code says by lines what it was made of.

use ptx_frontend::{DEVICE_RUNTIME, Source, Span};

use crate::module::Module;

/// A module of the same texts with a line for each instruction, if there is a line with several.
pub fn apart(module: &Module) -> Option<Module> {
    let checked = module.checked();
    let mut several = false;
    let mut sources = Vec::new();
    for (number, source) in checked.sources.iter().enumerate() {
        if &*source.name == DEVICE_RUNTIME {
            continue;
        }
        let text = on_lines_of_their_own(&source.text, &spans(checked, number));
        several |= text.is_some();
        sources
            .push(text.map_or_else(|| source.clone(), |text| Source::new(&*source.name, text.into_bytes())));
    }
    if !several {
        return None;
    }
    Module::link(sources).ok()
}

/// Where the instructions of a text are, in order.
fn spans(module: &ptx_frontend::Module, source: usize) -> Vec<Span> {
    let functions = module.functions.iter().filter(|function| function.source.0 as usize == source);
    let bodies = functions.filter_map(|function| function.body.as_ref());
    let mut spans: Vec<Span> =
        bodies.flat_map(|body| body.instructions.iter().map(|instruction| instruction.span)).collect();
    spans.sort_by_key(|span| span.start);
    spans
}

/// The text with a line for each instruction, if there is a line with several.
fn on_lines_of_their_own(text: &str, instructions: &[Span]) -> Option<String> {
    let mut apart = String::with_capacity(text.len() + text.len() / 16);
    let mut written = 0;
    for pair in instructions.windows(2) {
        let (end, next) = (pair[0].end as usize, pair[1].start as usize);
        // What is between them, as a label, stays with the second one.
        if text.get(end..next).is_some_and(|between| !between.contains('\n')) {
            apart.push_str(&text[written..end]);
            apart.push('\n');
            written = end;
        }
    }
    apart.push_str(&text[written..]);
    (written > 0).then_some(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .reg .pred %p; .reg .u32 %r<3>;\n";

    /// What becomes of the text of a kernel.
    fn body_apart(text: &str) -> Option<String> {
        let module = Module::from_ptx("a.ptx", &format!("{HEAD}{text}}}\n")).unwrap();
        let text = apart(&module)?.checked().sources[0].text.to_string();
        Some(text.strip_prefix(HEAD).unwrap().strip_suffix("}\n").unwrap().to_owned())
    }

    #[test]
    fn lines_of_several_instructions_become_several() {
        let text = "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; // a; b\n@%p bra L; ret; ";
        let apart = "mov.u32 %r1, 0;\n L: add.u32 %r1, %r1, 1; // a; b\n@%p bra L;\n ret; ";
        assert_eq!(body_apart(text).as_deref(), Some(apart));
        assert_eq!(body_apart(apart), None);
        let behind = ".loc 1 2 3\nmov.u32 %r1, 0; ret;\n";
        assert_eq!(body_apart(behind).as_deref(), Some(".loc 1 2 3\nmov.u32 %r1, 0;\n ret;\n"));
    }

    #[test]
    fn declarations_comments_and_texts_are_no_instructions() {
        for text in [
            "{ .reg .u32 %q<3>; .reg .pred %o; ret; }\n",
            "mov.u32 %r1, 0; // add; ret;\nret;\n",
            "mov.u32 %r1, 0; /* add; \n ret; */ /* ret; */\nret;\n",
            ".pragma \"a; b; c;\"; ret;\n",
        ] {
            assert_eq!(body_apart(text), None, "{text}");
        }
        assert!(body_apart("/**/ mov.u32 %r1, 0; /* */ ret;\n").is_some());
    }

    #[test]
    fn the_module_is_the_same() {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
        let one = |text: &str| Module::from_ptx("a.ptx", &format!("{head}{text}")).unwrap();
        let together =
            one(".visible .entry k() {\n.reg .u32 %r<2>; mov.u32 %r0, 1; add.u32 %r1, %r0, 2; ret; }\n");
        let apart = apart(&together).unwrap();
        assert_eq!(apart.checked().sources[0].text.lines().count(), 7);
        assert!(super::apart(&apart).is_none());
        assert_eq!(apart.kernel(None).unwrap().name, together.kernel(None).unwrap().name);
    }
}
