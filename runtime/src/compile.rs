//! PTX texts as checked and linked modules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use cuda_abi::Status;
use ptx_frontend::render::render;
use ptx_frontend::{Modifier, Modifiers, Opcode, PtxVersion, ScalarType, Severity, Source, TargetKind};

use crate::lock;

/// A checked and linked module, shared by all contexts that load the same texts.
pub type Linked = Arc<ptx_frontend::Module>;

/// Parses and links PTX texts with their names for devices of an architecture; equal texts are parsed once per process.
///
/// # Errors
/// Those of [`check`] and [`runs_on`] with the rendered errors, or those of the linker.
pub fn compile(texts: &[(String, Vec<u8>)], sm: u16) -> std::result::Result<Linked, (Status, String)> {
    type Cache = Mutex<HashMap<Vec<Vec<u8>>, Linked>>;
    static CACHE: OnceLock<Cache> = OnceLock::new();
    let cache = CACHE.get_or_init(Cache::default);
    let key: Vec<Vec<u8>> = texts.iter().map(|(_, text)| text.clone()).collect();
    let bytes = |key: &[Vec<u8>]| key.iter().map(Vec::len).sum::<usize>();
    if let Some(module) = lock(cache).get(&key) {
        return Ok(module.clone());
    }
    let mut modules = Vec::new();
    let mut log = String::new();
    let mut status = Status::INVALID_PTX;
    for (name, text) in texts {
        match check(name, text).and_then(|module| runs_on(sm, module)) {
            Ok(module) => modules.push(module),
            Err((worse, text)) => {
                status = status.max(worse);
                log += &text;
            }
        }
    }
    if !log.is_empty() {
        return Err((status, log));
    }
    if let [module] = &mut modules[..] {
        ptx_frontend::define_externs(module);
    }
    ptx_frontend::add_device_runtime(&mut modules);
    let module = ptx_frontend::link(modules).map_err(|errors| {
        let text =
            |e: &ptx_frontend::LinkError| render(&e.diagnostic, &e.source, &e.elsewhere, false) + "\n\n";
        (Status::INVALID_PTX, errors.iter().map(text).collect::<String>())
    })?;
    let module = Arc::new(module);
    let mut cache = lock(cache);
    // Programs that compile at run time load texts without end.
    if bytes(&key) + cache.keys().map(|key| bytes(key)).sum::<usize>() > MOST_KEPT {
        cache.retain(|_, module| Arc::strong_count(module) > 1);
    }
    cache.insert(key, module.clone());
    Ok(module)
}

/// Bytes of texts beyond which modules that nobody has loaded are forgotten.
const MOST_KEPT: usize = 16 << 20;

/// Checks one PTX text; it may refer to others.
///
/// # Errors
/// `INVALID_PTX` or `UNSUPPORTED_PTX_VERSION`, with the rendered errors.
pub fn check(name: &str, text: &[u8]) -> std::result::Result<ptx_frontend::Module, (Status, String)> {
    let parsed = ptx_frontend::parse(Source::new(name, as_known(text)));
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let (mut log, mut status) = (String::new(), Status::INVALID_PTX);
    for diagnostic in errors {
        if diagnostic.code == ptx_frontend::codes::VERSION {
            status = Status::UNSUPPORTED_PTX_VERSION;
        }
        log += &(render(diagnostic, &parsed.source, &[], false) + "\n\n");
    }
    parsed.module.filter(|_| log.is_empty()).ok_or((status, log))
}

/// What a surface is asked of which no device of sm_90 knows the answer: its driver takes no module that asks.
const UNKNOWN_OF_SURFACES: [Modifier; 4] =
    [Modifier::ChannelDataType, Modifier::ChannelOrder, Modifier::ArraySize, Modifier::MemoryLayout];

/// The module, if a device of this architecture runs it.
///
/// # Errors
/// `INVALID_PTX` for a target that the device is not, `NOT_SUPPORTED` for instructions that its driver refuses, `NOT_FOUND` for samplers of
/// their own, which it does not know.
pub fn runs_on(
    sm: u16,
    module: ptx_frontend::Module,
) -> std::result::Result<ptx_frontend::Module, (Status, String)> {
    let target = module.target;
    let runs = match target.kind {
        TargetKind::Portable => target.sm <= sm,
        TargetKind::Family => target.sm <= sm && target.sm / 10 == sm / 10,
        TargetKind::Architecture => target.sm == sm,
    };
    if !runs {
        return Err((Status::INVALID_PTX, format!("a device of sm_{sm} runs no text for {target}\n\n")));
    }
    if module.variables.iter().any(|variable| variable.ty == ScalarType::Samplerref) {
        return Err((Status::NOT_FOUND, "a driver of sm_90 takes no module with a `.samplerref`\n\n".into()));
    }
    let refused = |op: &&ptx_frontend::Op| {
        op.opcode == Opcode::Suq && UNKNOWN_OF_SURFACES.iter().any(|&asked| op.has(asked))
    };
    match module.ops.iter().find(refused) {
        Some(op) => Err((Status::NOT_SUPPORTED, format!("a driver takes no module with `{op}`\n\n"))),
        None => Ok(module),
    }
}

/// A text of a newer PTX version as one of the newest that is known: compilers write the version of their
/// toolkit, whatever they use of it. What is new in it is refused where it stands, and so are versions far ahead.
fn as_known(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    let newest = PtxVersion::NEWEST.to_string();
    let directive = b".version";
    let Some(found) = text.windows(directive.len()).position(|part| part == directive) else { return text };
    let mut start = found + directive.len();
    while text.get(start).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        start += 1;
    }
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let said = std::str::from_utf8(&text[start..start + digits]).ok().and_then(|said| {
        let (major, minor) = said.split_once('.')?;
        Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?))
    });
    if said.is_some_and(|said| said > PtxVersion::NEWEST && said.major <= PtxVersion::NEWEST.major + 1) {
        text.splice(start..start + digits, newest.into_bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplers_of_their_own_are_not_found() {
        let head = ".version 8.0\n.target sm_90, texmode_independent\n.address_size 64\n";
        let taken = |more: &str| {
            let parsed = ptx_frontend::parse(Source::new("k.ptx", format!("{head}{more}").into_bytes()));
            runs_on(90, parsed.module.expect("a module")).map(|_| ()).map_err(|(status, _)| status)
        };
        assert_eq!(taken(".global .texref t;"), Ok(()));
        assert_eq!(taken(".global .samplerref s;"), Err(Status::NOT_FOUND));
    }

    #[test]
    fn the_device_runtime_is_linked_where_it_is_called() {
        let text = "
            .version 8.0\n.target sm_80\n.address_size 64
            .extern .func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
            .visible .entry k()
            {
                .reg .b64 %d<1>;
                .param .b64 handle; .param .b32 flags; .param .b32 status;
                mov.b64 %d0, 0;
                st.param.b64 [handle], %d0;
                st.param.b32 [flags], 0;
                call (status), cudaCGSynchronize, (handle, flags);
                ret;
            }";
        let linked = compile(&[("k.ptx".into(), text.into())], 90).unwrap();
        let defined = linked.functions.iter().filter(|function| function.body.is_some()).count();
        assert_eq!((defined, linked.sources.len()), (3, 2));
    }

    #[test]
    fn texts_of_newer_versions_are_read_as_the_newest() {
        let newest = format!(".version {}\n", PtxVersion::NEWEST);
        assert_eq!(as_known(b"// x\n.version 9.99\n.target"), format!("// x\n{newest}.target").as_bytes());
        assert_eq!(as_known(b".version\t10.0\n"), newest.replace(' ', "\t").as_bytes());
        for same in [".version 8.0\n.target sm_80", ".version", ".version x.y", ".version 99.0", ""] {
            assert_eq!(as_known(same.as_bytes()), same.as_bytes());
        }
    }
}
