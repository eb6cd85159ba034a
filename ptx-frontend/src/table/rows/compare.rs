//! Comparison and selection (ISA 9.7.6 and 9.7.7).

use super::{Group, row, section};

pub(super) static GROUP: Group = Group {
    name: "compare",
    sets: &[
        ("equal", ".eq .ne"),
        ("order", ".eq .ne .lt .le .gt .ge"),
        ("unsigned", ".eq .ne .lt .le .gt .ge .lo .ls .hi .hs"),
        ("floatcmp", ".eq .ne .lt .le .gt .ge .equ .neu .ltu .leu .gtu .geu .num .nan"),
        (
            "plain",
            ".equal.{b16,b32,b64} .unsigned.{u16,u32,u64} .order.{s16,s32,s64} .floatcmp.f64 .floatcmp{.ftz}.f32",
        ),
        ("dtype", ".u32 .s32 .f32"),
        ("any", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64"),
    ],
    sections: &[
        section(
            "9.7.6.1",
            &[
                row("set.equal.dtype.{b16,b32,b64} d:1, a:2, b:2", "1.0"),
                row("set.unsigned.dtype.{u16,u32,u64} d:1, a:2, b:2", "1.0"),
                row("set.order.dtype.{s16,s32,s64} d:1, a:2, b:2", "1.0"),
                row("set.floatcmp{.ftz}.dtype.f32 d:1, a:2, b:2", "1.0"),
                row("set.floatcmp.dtype.f64 d:1, a:2, b:2", "1.0 sm_13"),
                row("set.equal.boolop.dtype.{b16,b32,b64} d:1, a:2, b:2, {!}c:pred", "1.0"),
                row("set.unsigned.boolop.dtype.{u16,u32,u64} d:1, a:2, b:2, {!}c:pred", "1.0"),
                row("set.order.boolop.dtype.{s16,s32,s64} d:1, a:2, b:2, {!}c:pred", "1.0"),
                row("set.floatcmp.boolop{.ftz}.dtype.f32 d:1, a:2, b:2, {!}c:pred", "1.0"),
                row("set.floatcmp.boolop.dtype.f64 d:1, a:2, b:2, {!}c:pred", "1.0 sm_13"),
            ],
        ),
        section(
            "9.7.7.1",
            &[
                row("set.floatcmp{.ftz}.f16.f16 d:1, a:2, b:2", "4.2 sm_53"),
                row("set.floatcmp.boolop{.ftz}.f16.f16 d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.equal.f16.{b16,b32,b64} d:1, a:2, b:2", "4.2 sm_53"),
                row("set.unsigned.f16.{u16,u32,u64} d:1, a:2, b:2", "4.2 sm_53"),
                row("set.order.f16.{s16,s32,s64} d:1, a:2, b:2", "4.2 sm_53"),
                row("set.floatcmp{.ftz}.f16.f32 d:1, a:2, b:2", "4.2 sm_53"),
                row("set.floatcmp.f16.f64 d:1, a:2, b:2", "4.2 sm_53"),
                row("set.equal.boolop.f16.{b16,b32,b64} d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.unsigned.boolop.f16.{u16,u32,u64} d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.order.boolop.f16.{s16,s32,s64} d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.floatcmp.boolop{.ftz}.f16.f32 d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.floatcmp.boolop.f16.f64 d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.floatcmp{.ftz}.{u16,s16,u32,s32}.f16 d:1, a:2, b:2", "6.5 sm_53"),
                row("set.floatcmp.boolop{.ftz}.{u16,s16,u32,s32}.f16 d:1, a:2, b:2, {!}c:pred", "6.5 sm_53"),
                row("set.floatcmp{.ftz}.f16x2.f16x2 d:1, a:2, b:2", "4.2 sm_53"),
                row("set.floatcmp.boolop{.ftz}.f16x2.f16x2 d:1, a:2, b:2, {!}c:pred", "4.2 sm_53"),
                row("set.floatcmp{.ftz}.{u32,s32}.f16x2 d:1, a:2, b:2", "6.5 sm_53"),
                row("set.floatcmp.boolop{.ftz}.{u32,s32}.f16x2 d:1, a:2, b:2, {!}c:pred", "6.5 sm_53"),
                row("set.floatcmp.{bf16,u16,s16,u32,s32}.bf16 d:1, a:2, b:2", "7.8 sm_90"),
                row("set.floatcmp.boolop.{bf16,u16,s16,u32,s32}.bf16 d:1, a:2, b:2, {!}c:pred", "7.8 sm_90"),
                row("set.floatcmp.{bf16x2,u32,s32}.bf16x2 d:1, a:2, b:2", "7.8 sm_90"),
                row("set.floatcmp.boolop.{bf16x2,u32,s32}.bf16x2 d:1, a:2, b:2, {!}c:pred", "7.8 sm_90"),
                row("set.equal.bf16.{b16,b32,b64} d:1, a:2, b:2", "7.8 sm_90"),
                row("set.unsigned.bf16.{u16,u32,u64} d:1, a:2, b:2", "7.8 sm_90"),
                row("set.order.bf16.{s16,s32,s64} d:1, a:2, b:2", "7.8 sm_90"),
                row("set.floatcmp.bf16.{f16,f32,f64} d:1, a:2, b:2", "7.8 sm_90"),
                row("set.equal.boolop.bf16.{b16,b32,b64} d:1, a:2, b:2, {!}c:pred", "7.8 sm_90"),
                row("set.unsigned.boolop.bf16.{u16,u32,u64} d:1, a:2, b:2, {!}c:pred", "7.8 sm_90"),
                row("set.order.boolop.bf16.{s16,s32,s64} d:1, a:2, b:2, {!}c:pred", "7.8 sm_90"),
                row("set.floatcmp.boolop.bf16.{f16,f32,f64} d:1, a:2, b:2, {!}c:pred", "7.8 sm_90"),
            ],
        ),
        section(
            "9.7.6.2",
            &[
                row("setp.plain p:pred_{|q_}, a, b", "1.0"),
                row("setp.plain.boolop p:pred_{|q_}, a, b, {!}c:pred", "1.0"),
            ],
        ),
        section(
            "9.7.7.2",
            &[
                row("setp.floatcmp{.ftz}.f16 p:pred, a, b", "4.2 sm_53"),
                row("setp.floatcmp.boolop{.ftz}.f16 p:pred, a, b, {!}c:pred", "4.2 sm_53"),
                row("setp.floatcmp{.ftz}.f16x2 p:pred_|q_, a, b", "4.2 sm_53"),
                row("setp.floatcmp.boolop{.ftz}.f16x2 p:pred_|q_, a, b, {!}c:pred", "4.2 sm_53"),
                row("setp.floatcmp.bf16 p:pred, a, b", "7.8 sm_90"),
                row("setp.floatcmp.boolop.bf16 p:pred, a, b, {!}c:pred", "7.8 sm_90"),
                row("setp.floatcmp.bf16x2 p:pred_|q_, a, b", "7.8 sm_90"),
                row("setp.floatcmp.boolop.bf16x2 p:pred_|q_, a, b, {!}c:pred", "7.8 sm_90"),
            ],
        ),
        section("9.7.6.3", &[row("selp.any d, a, b, {!}c:pred", "1.0")]),
        section(
            "9.7.6.4",
            &[
                row("slct.any.s32 d:1, a:1, b:1, c:2", "1.0"),
                row("slct{.ftz}.any.f32 d:1, a:1, b:1, c:2", "1.0"),
            ],
        ),
    ],
};
