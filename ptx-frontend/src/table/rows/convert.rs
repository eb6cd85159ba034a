//! Conversions (ISA 9.7.9.21 and 9.7.9.22).

use super::{Group, row, section};

pub(super) static GROUP: Group = Group {
    name: "convert",
    sets: &[
        ("irnd", ".rni .rzi .rmi .rpi"),
        ("integer", ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64"),
        (
            "narrowing",
            ".u8.{u16,u32,u64,s8,s16,s32,s64} .u16.{u32,u64,s8,s16,s32,s64} .u32.{u64,s8,s16,s32,s64} .u64.{s8,s16,s32,s64} .s8.{u8,u16,u32,u64,s16,s32,s64} .s16.{u16,u32,u64,s32,s64} .s32.{u32,u64,s64} .s64.u64",
        ),
        ("f8x2", ".e4m3x2 .e5m2x2"),
        ("f6x2", ".e2m3x2 .e3m2x2"),
        ("f4x2", ".e2m1x2"),
        ("narrow", ".e2m3x2 .e3m2x2 .e2m1x2"),
        ("x4", ".e4m3x4 .e5m2x4 .e2m3x4 .e3m2x4 .e2m1x4"),
    ],
    sections: &[
        section(
            "9.7.9.21",
            &[
                row("cvt.integer.integer d:1+, a:2+$", "1.0"),
                row("cvt.sat.narrowing d:1+, a:2+$", "1.0"),
                row("cvt.irnd{.ftz}{.sat}.integer.f32 d:1+, a:2+", "1.0"),
                row("cvt.irnd{.sat}.integer.{f16,f64<1.0 sm_13>} d:1+, a:2+", "1.0"),
                row("cvt.rnd{.ftz}{.sat}.f32.integer d:1+, a:2+", "1.0"),
                row("cvt.rnd{.sat}.{f16,f64<1.0 sm_13>}.integer d:1+, a:2+", "1.0"),
                row("cvt{.irnd}{.ftz}{.sat}.f32.f32 d:1+, a:2+", "1.0"),
                row("cvt{.irnd}{.sat}.(.f16.f16|.f64<1.0 sm_13>.f64) d:1+, a:2+", "1.0"),
                row("cvt.rnd{.ftz}{.sat}.(.f32.f64<1.0 sm_13>|.f16.f32) d:1+, a:2+", "1.0"),
                row("cvt.rnd{.sat}.f16.f64 d:1+, a:2+", "1.0 sm_13"),
                row("cvt{.ftz}{.sat}.(.f64<1.0 sm_13>.f32|.f32.f16) d:1+, a:2+", "1.0"),
                row("cvt{.sat}.f64.f16 d:1+, a:2+", "1.0 sm_13"),
                row("cvt.{rn,rz}{.relu}{.satfinite<8.1>}.f16.f32 d:1+, a:2+", "7.0 sm_80"),
                row("cvt.{rn,rz}{.relu}{.satfinite<8.1>}.f16x2.f32 d:1, a:2, b:2", "7.0 sm_80"),
                row(
                    "cvt.rs{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d:1, a:2, b:2, rbits:b32",
                    "8.7 sm_100a|sm_103a|sm_107a",
                ),
                row("cvt.rnd{.ftz}.bf16.f32 d:1, a:2", "7.0 sm_80"),
                row("cvt.{rn,rz}{.relu}{.satfinite<8.1>}.bf16.f32 d:1, a:2", "7.0 sm_80"),
                row("cvt.{rn,rz}{.relu}{.satfinite<8.1>}.bf16x2.f32 d:1, a:2, b:2", "7.0 sm_80"),
                row("cvt.rna{.satfinite<8.1>}.tf32.f32 d:1, a:2", "7.0 sm_80"),
                row("cvt.{rn,rz}{.satfinite<8.6 sm_100>}{.relu}.tf32.f32 d:1, a:2", "7.8 sm_90"),
                row("cvt{.rn<7.8 sm_90>}{.ftz<7.8 sm_90>}.f32.bf16 d:1, a:2", "7.1 sm_80"),
                row("cvt.irnd.integer.bf16 d:1+, a:2", "7.8 sm_90"),
                row("cvt.rnd.bf16.integer d:1, a:2+", "7.8 sm_90"),
                row("cvt.rnd.bf16.f64 d:1, a:2+", "7.8 sm_90"),
                row("cvt{.rnd}.bf16.f16 d:1, a:2+", "7.8 sm_90"),
                row("cvt{.irnd}.bf16.bf16 d:1, a:2", "7.8 sm_90"),
                row("cvt{.rnd}.{f16,f64}.bf16 d:1+, a:2", "7.8 sm_90"),
                row("cvt.rn.satfinite{.relu}.f8x2.f32 d:1, a:2, b:2", "7.8 sm_89"),
                row("cvt.rn.satfinite{.relu}.f8x2.f16x2 d:1, a:2", "7.8 sm_89"),
                row("cvt.rn{.relu}.f16x2.f8x2 d:1, a:2", "7.8 sm_89"),
                row("cvt.rn.satfinite{.relu}.narrow.f32 d:1, a:2, b:2", "8.6 sm_100f|sm_110f|sm_120f"),
                row("cvt.rn{.relu}.f16x2.narrow d:1, a:2", "8.6 sm_100f|sm_110f|sm_120f"),
                row("cvt.rs{.relu}.satfinite.x4.f32 d:1, a:2*4, rbits:b32", "8.7 sm_100a|sm_103a|sm_107a"),
                row("cvt.{rz,rp}{.satfinite}.ue8m0x2.f32 d:1, a:2, b:2", "8.6 sm_100f|sm_110f|sm_120f"),
                row("cvt.{rz,rp}{.satfinite}.ue8m0x2.bf16x2 d:1, a:2", "8.6 sm_100f|sm_110f|sm_120f"),
                row("cvt.rn.bf16x2.ue8m0x2 d:1, a:2", "8.6 sm_100f|sm_110f|sm_120f"),
            ],
        ),
        section(
            "9.7.9.22",
            &[
                row("cvt.pack.sat.{u16,s16}.s32 d:u32, a:2, b:2", "6.5 sm_72"),
                row("cvt.pack.sat.{u8,s8}.s32.b32 d:u32, a:2, b:2, c:b32", "6.5 sm_72"),
                row("cvt.pack.sat.{u4,s4,u2,s2}.s32.b32 d:u32, a:2, b:2, c:b32", "6.5 sm_75"),
            ],
        ),
    ],
};
