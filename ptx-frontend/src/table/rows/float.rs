//! Floating-point arithmetic in single and double precision (ISA 9.7.3), and mixed (ISA 9.7.5).

use super::{Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "float",
    sets: &[
        ("half", ".f16 .bf16"),
    ],
    sections: &[
        section("9.7.3.1", &[
            row("testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64} p:pred, a", "2.0 sm_20"),
        ]),
        section("9.7.3.2", &[
            row("copysign.{f32,f64} d, a, b", "2.0 sm_20"),
        ]),
        section("9.7.3.3", &[
            row("add|sub|mul{.rnd}{.ftz}{.sat}.f32 d, a, b", "1.0"),
            row("add|sub|mul{.rnd}{.ftz}.f32x2 d, a, b", "8.6 sm_100"),
            row("add|sub|mul{.rnd}.f64 d, a, b", "1.0 sm_13"),
        ]),
        section("9.7.3.6", &[
            row("fma.rnd{.ftz}{.sat}.f32 d, a, b, c", "2.0 sm_20"),
            row("fma.rnd{.ftz}.f32x2 d, a, b, c", "8.6 sm_100"),
            row("fma.rnd.f64 d, a, b, c", "1.4 sm_13"),
        ]),
        section("9.7.3.7", &[
            row("mad.rnd{.ftz}{.sat}.f32 d, a, b, c", "1.4"),
            row("mad{.ftz}{.sat}.f32 d, a, b, c", "1.0 !3.2:sm_10"),
            row("mad.rnd.f64 d, a, b, c", "1.4 sm_13"),
        ]),
        section("9.7.3.8", &[
            row("div.full{.ftz}.f32 d, a, b", "1.4"),
            row("div.approx{.ftz}.f32 d, a, b", "1.4"),
            row("div.rnd{.ftz}.f32 d, a, b", "2.0 sm_20"),
            row("div.rnd.f64 d, a, b", "1.4 sm_13"),
        ]).work(Work::Elementary),
        section("9.7.3.9", &[
            row("abs|neg{.ftz}.f32 d, a", "1.0"),
            row("abs|neg.f64 d, a", "1.0 sm_13"),
        ]),
        section("9.7.3.11", &[
            row("min|max{.ftz}{.NaN<7.0 sm_80>}{.xorsign<7.2 sm_86>.abs}.f32 d, a, b", "1.0"),
            row("min|max{.ftz}{.NaN}{.abs}.f32 d, a, b, c", "8.8 sm_100"),
            row("min|max.f64 d, a, b", "1.0 sm_13"),
        ]),
        section("9.7.3.13", &[
            row("rcp|sqrt.approx{.ftz}.f32 d, a", "1.4"),
            row("rcp|sqrt.rnd{.ftz}.f32 d, a", "2.0 sm_20"),
            row("rcp|sqrt.rnd.f64 d, a", "1.4 sm_13"),
            row("rcp.approx.ftz.f64 d, a", "2.1 sm_20"),
        ]).work(Work::Elementary),
        section("9.7.3.16", &[
            row("rsqrt.approx{.ftz}.f32 d, a", "1.4"),
            row("rsqrt.approx.f64 d, a", "1.4 sm_13"),
            row("rsqrt.approx.ftz.f64 d, a", "4.0 sm_20"),
        ]).work(Work::Elementary),
        section("9.7.3.18", &[
            row("sin|cos|lg2|ex2.approx{.ftz}.f32 d, a", "1.4"),
        ]).work(Work::Elementary),
        section("9.7.3.22", &[
            row("tanh.approx.f32 d, a", "7.0 sm_75"),
        ]).work(Work::Elementary),
        section("9.7.5", &[
            row("add|sub{.rnd}{.sat}.f32.half d:1, a:2, c:1", "8.6 sm_100"),
            row("fma.rnd{.sat}.f32.half d:1, a:2, b:2, c:1", "8.6 sm_100"),
        ]),
    ],
};
