//! The kernels: load a tuple, execute the instruction, store its results.
//!
//! A column of the input is an array with an element a thread; the columns of a case follow each other
//! in the order of its sources, those of the output in that of its results.

use std::collections::BTreeSet;
use std::fmt::Write;

use ptx_frontend::ScalarType;

use crate::case::{Case, Class, PTX_VERSION, Register, Role, TARGET};

/// Threads of a block.
pub(crate) const BLOCK: u32 = 128;

/// A module with the kernels `k0`, `k1`, …, and the line at which each begins, from 1.
pub(crate) fn module(cases: &[Case]) -> (String, Vec<u32>) {
    let mut text = format!(".version {PTX_VERSION}\n.target {TARGET}\n.address_size 64\n");
    let mut lines = Vec::new();
    let mut line = 4;
    for (at, case) in cases.iter().enumerate() {
        let start = text.len();
        kernel(&mut text, case, at);
        lines.push(line);
        line += text[start..].bytes().filter(|&byte| byte == b'\n').count() as u32;
    }
    (text, lines)
}

/// Bytes of a case's columns.
pub(crate) fn bytes(columns: &[Register], tuples: usize) -> usize {
    columns.iter().map(|column| column.bytes * tuples).sum()
}

fn kernel(text: &mut String, case: &Case, at: usize) {
    // Writing to a string cannot fail.
    let _ = write_kernel(text, case, at);
}

fn write_kernel(text: &mut String, case: &Case, at: usize) -> std::fmt::Result {
    let tuples = case.tuples();
    write!(
        text,
        ".visible .entry k{at}(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .pred %g, %carry;\n.reg .b32 %i, %j, %t, %m;\n.reg .b64 %in, %out, %lo, %hi;\n"
    )?;
    for register in case.sources.iter().chain(&case.results) {
        if !matches!(register.role, Role::Guard | Role::Carry) {
            writeln!(text, ".reg .{} {};", register.class(), register.name)?;
        }
    }
    let widths = |registers: &[Register]| registers.iter().map(|r| r.bytes).collect::<BTreeSet<_>>();
    let (inputs, outputs) = (widths(&case.sources), widths(&case.results));
    for (side, widths) in [("in", &inputs), ("out", &outputs)] {
        for width in widths {
            writeln!(text, ".reg .b64 %{side}{width};")?;
        }
    }
    write!(
        text,
        "ld.param.b64 %in, [in];\nld.param.b64 %out, [out];\n\
         mov.u32 %i, %ctaid.x;\nmov.u32 %j, %tid.x;\nmad.lo.u32 %i, %i, {BLOCK}, %j;\n"
    )?;
    for (side, widths) in [("in", &inputs), ("out", &outputs)] {
        for width in widths {
            writeln!(
                text,
                "mul.wide.u32 %{side}{width}, %i, {width};\nadd.s64 %{side}{width}, %{side}{width}, %{side};"
            )?;
        }
    }
    let mut offset = 0;
    for source in &case.sources {
        load(text, source, offset)?;
        offset += source.bytes * tuples;
    }
    if case.class == Class::Warp {
        // What inactive threads keep.
        for result in &case.results {
            initialise(text, result)?;
        }
        writeln!(text, "vote.sync.ballot.b32 %m, %g, 0xffffffff;\n@%g {};", case.text)?;
    } else {
        if case.carries() {
            writeln!(text, "selp.b32 %t, 1, 0, %carry;\nadd.cc.u32 %t, %t, 0xffffffff;")?;
        }
        writeln!(text, "{};", case.text)?;
    }
    let mut offset = 0;
    for result in &case.results {
        store(text, result, offset)?;
        offset += result.bytes * tuples;
    }
    text.push_str("ret;\n}\n");
    Ok(())
}

fn load(text: &mut String, register: &Register, offset: usize) -> std::fmt::Result {
    let Register { name, bytes, .. } = register;
    let from = format!("[%in{bytes}+{offset}]");
    match (register.ty, bytes) {
        (ScalarType::Pred, _) => writeln!(text, "ld.global.u8 %t, {from};\nsetp.ne.u32 {name}, %t, 0;"),
        (_, 16) => writeln!(text, "ld.global.v2.b64 {{%lo, %hi}}, {from};\nmov.b128 {name}, {{%lo, %hi}};"),
        _ => writeln!(text, "ld.global.b{} {name}, {from};", 8 * bytes),
    }
}

fn store(text: &mut String, register: &Register, offset: usize) -> std::fmt::Result {
    let Register { name, bytes, .. } = register;
    let to = format!("[%out{bytes}+{offset}]");
    match (register.ty, bytes) {
        (_, _) if register.role == Role::Carry => {
            writeln!(text, "addc.u32 %t, 0, 0;\nst.global.u8 {to}, %t;")
        }
        (ScalarType::Pred, _) => writeln!(text, "selp.b32 %t, 1, 0, {name};\nst.global.u8 {to}, %t;"),
        (_, 16) => writeln!(text, "mov.b128 {{%lo, %hi}}, {name};\nst.global.v2.b64 {to}, {{%lo, %hi}};"),
        _ => writeln!(text, "st.global.b{} {to}, {name};", 8 * bytes),
    }
}

fn initialise(text: &mut String, register: &Register) -> std::fmt::Result {
    let name = &register.name;
    match (register.ty, register.bytes) {
        (ScalarType::Pred, _) => writeln!(text, "setp.ne.u32 {name}, %i, %i;"),
        (_, bytes) => writeln!(text, "mov.b{} {name}, 0x5a5a;", 8 * bytes),
    }
}
