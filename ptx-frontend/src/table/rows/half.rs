//! Half-precision arithmetic (ISA 9.7.4).

use super::{Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "half",
    sets: &[
        ("f16s", ".f16 .f16x2"),
        ("bf16s", ".bf16 .bf16x2"),
    ],
    sections: &[
        section("9.7.4.1", &[
            row("add|sub|mul{.rn}{.ftz}{.sat}.f16s d, a, b", "4.2 sm_53"),
            row("add|sub|mul{.rn}.bf16s d, a, b", "7.8 sm_90"),
        ]),
        section("9.7.4.4", &[
            row("fma.rn{.ftz}{.sat}.f16s d, a, b, c", "4.2 sm_53"),
            row("fma.rn{.ftz}.relu.f16s d, a, b, c", "7.0 sm_80"),
            row("fma.rn{.relu}.bf16s d, a, b, c", "7.0 sm_80"),
            row("fma.rn.oob{.relu}.{f16,f16x2,bf16,bf16x2} d, a, b, c", "8.1 sm_90"),
        ]),
        section("9.7.4.5", &[
            row("neg{.ftz}.f16s d, a", "6.0 sm_53"),
            row("abs{.ftz}.f16s d, a", "6.5 sm_53"),
            row("neg|abs.bf16s d, a", "7.0 sm_80"),
        ]),
        section("9.7.4.7", &[
            row("min|max{.ftz}{.NaN}{.xorsign<7.2 sm_86>.abs}.f16s d, a, b", "7.0 sm_80"),
            row("min|max{.NaN}{.xorsign<7.2 sm_86>.abs}.bf16s d, a, b", "7.0 sm_80"),
        ]),
        section("9.7.4.9", &[
            row("tanh|ex2.approx.f16s d, a", "7.0 sm_75"),
            row("tanh.approx.bf16s d, a", "7.8 sm_90"),
            row("ex2.approx.ftz.bf16s d, a", "7.8 sm_90"),
        ]).work(Work::Elementary),
    ],
};
