//! Any bytes through the whole front end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_frontend::{Source, link, parse, render::render_all};

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse(Source::new("fuzz.ptx", bytes.to_vec()));
    render_all(&parsed.diagnostics, &parsed.source, false);
    let Some(module) = parsed.module else { return };
    let _ = link(vec![module.clone(), module.clone()]);
    let printed = module.to_ptx();
    let again = parse(Source::new("printed.ptx", printed.clone().into_bytes()));
    assert!(again.module.is_some(), "{}\n{printed}", render_all(&again.diagnostics, &again.source, false));
});
