//! Loads, stores, prefetches (ISA 9.7.9.8 to 9.7.9.17) and multimem (ISA 9.7.9.14).

use super::{Group, row, section};

pub(super) static GROUP: Group = Group {
    name: "memory",
    sets: &[
        ("near", ".shared .shared::cta<7.8> .shared::cluster<7.8 sm_90>"),
        ("ldspace", ".const .local .param .param::entry<8.3> .param::func<8.3> .near"),
        ("stspace", ".local .param .param::func<8.3> .near"),
        ("word", ".b8 .b16 .b32 .u8 .u16 .u32 .s8 .s16 .s32 .f32"),
        ("access", ".memory .v2.memory .v4.word .b128<8.3 sm_70>"),
        ("wide", ".v8<8.8 sm_100>.{b32,u32,s32,f32} .v4<8.8 sm_100>.{b64,u64,s64,f64}"),
        ("any", ".access .wide"),
        (
            "evict",
            ".L1::evict_normal<7.4 sm_70> .L1::evict_unchanged<7.4 sm_70> .L1::evict_first<7.4 sm_70> .L1::evict_last<7.4 sm_70> .L1::no_allocate<7.4 sm_70>",
        ),
        ("evict2", ".L2::evict_normal<8.8 sm_100> .L2::evict_first<8.8 sm_100> .L2::evict_last<8.8 sm_100>"),
        ("evicting", "{.evict}.access {.evict}{.evict2}.wide"),
        ("ldcop", ".ca .cg .cs .lu .cv"),
        ("stcop", ".wb .cg .cs .wt"),
        ("fetch", ".L2::64B<7.4 sm_75> .L2::128B<7.4 sm_75> .L2::256B<7.4 sm_80>"),
        ("loadsem", ".relaxed.scope .acquire.scope"),
        ("storesem", ".relaxed.scope .release.scope"),
        ("intred", ".add.{u32,s32,u64} .{min,max}.{u32,s32,u64,s64} .{and,or,xor}.{b32,b64}"),
        ("f8", ".e4m3<8.6 sm_100f|sm_110f|sm_120f> .e5m2<8.6 sm_100f|sm_110f|sm_120f>"),
        ("f8x2", ".e4m3x2<8.6 sm_100f|sm_110f|sm_120f> .e5m2x2<8.6 sm_100f|sm_110f|sm_120f>"),
        ("f8x4", ".e4m3x4<8.6 sm_100f|sm_110f|sm_120f> .e5m2x4<8.6 sm_100f|sm_110f|sm_120f>"),
        ("half", ".{v2,v4,v8}.{f16,bf16} {.{v2,v4}}.{f16x2,bf16x2}"),
        ("eighth", ".{v4,v8}.f8 .{v2,v4,v8}.f8x2 {.{v2,v4}}.f8x4"),
        (
            "floatload",
            ".add{.{v2,v4}}.f32 .add.f64 .{min,max}.half .add{.acc::f32<8.2>}.half .{min,max}.eighth .add{.acc::f16}.eighth",
        ),
        ("floatstore", "{.{v2,v4}}.f32 .f64 .half .eighth"),
        (
            "floatred",
            ".add{.{v2,v4}}.f32 .add.f64 .add.{f16x2,bf16x2} .{add,min,max}.{v2,v4,v8}.{f16,bf16} .{add,min,max}.{v2,v4}.{f16x2,bf16x2}",
        ),
        ("memory32", ".b32 .b64 .u32 .u64 .s32 .s64"),
    ],
    sections: &[
        section(
            "9.7.9.8",
            &[
                row("ld{.weak<6.0 sm_70>}.ldspace{.ldcop}.access d:1+_*vec, [a]", "1.0"),
                row(
                    "ld{.weak<6.0 sm_70>}{.global}.ldcop{.hint}{.fetch}.any d:1+_*vec, [a]{, policy:b64 if .L2::cache_hint}",
                    "1.0",
                ),
                row(
                    "ld{.weak<6.0 sm_70>}{.global}{.hint}{.fetch}.evicting d:1+_*vec, [a]{, policy:b64 if .L2::cache_hint}",
                    "1.0",
                ),
                row(
                    "ld.volatile.{local,shared,shared::cta<7.8>,shared::cluster<7.8 sm_90>}.access d:1+_*vec, [a]",
                    "1.1",
                ),
                row("ld.volatile{.global}{.fetch}.any d:1+_*vec, [a]", "1.1"),
                row("ld.loadsem.near.access d:1+_*vec, [a]", "6.0 sm_70"),
                row(
                    "ld.loadsem{.global}{.hint}{.fetch}.evicting d:1+_*vec, [a]{, policy:b64 if .L2::cache_hint}",
                    "6.0 sm_70",
                ),
                row("ld.mmio.{relaxed,acquire}.sys{.global}.memory d:1+_, [a]", "8.2 sm_70"),
            ],
        ),
        section(
            "9.7.9.9",
            &[
                row(
                    "ld.global.{ca,cg,cs}.nc{.hint}{.fetch}.any d:1+_*vec, [a]{, policy:b64 if .L2::cache_hint}",
                    "3.1 sm_32",
                ),
                row(
                    "ld.global.nc{.hint}{.fetch}.evicting d:1+_*vec, [a]{, policy:b64 if .L2::cache_hint}",
                    "3.1 sm_32",
                ),
            ],
        ),
        section("9.7.9.10", &[row("ldu{.global}.access d:1+_*vec, [a]", "2.0 sm_20")]),
        section(
            "9.7.9.11",
            &[
                row("st{.weak<6.0 sm_70>}.stspace{.stcop}.access [a], b:1+*vec", "1.0"),
                row(
                    "st{.weak<6.0 sm_70>}{.global}.stcop{.hint}.any [a], b:1+*vec{, policy:b64 if .L2::cache_hint}",
                    "1.0",
                ),
                row(
                    "st{.weak<6.0 sm_70>}{.global}{.hint}.evicting [a], b:1+*vec{, policy:b64 if .L2::cache_hint}",
                    "1.0",
                ),
                row(
                    "st.volatile.{local,shared,shared::cta<7.8>,shared::cluster<7.8 sm_90>}.access [a], b:1+*vec",
                    "1.1",
                ),
                row("st.volatile{.global}.any [a], b:1+*vec", "1.1"),
                row("st.storesem.near.access [a], b:1+*vec", "6.0 sm_70"),
                row(
                    "st.storesem{.global}{.hint}.evicting [a], b:1+*vec{, policy:b64 if .L2::cache_hint}",
                    "6.0 sm_70",
                ),
                row("st.mmio.{relaxed,release}.sys{.global}.memory [a], b:1+", "8.2 sm_70"),
            ],
        ),
        section(
            "9.7.9.12",
            &[
                row(
                    "st.async{.{weak,cluster}}{.shared::cluster}.bytes{.{v2,v4}}.{b32,u32,s32,f32} [a:shared], b:1*vec, [mbar:shared]",
                    "8.1 sm_90",
                ),
                row(
                    "st.async{.{weak,cluster}}{.shared::cluster}.bytes{.v2}.{b64,u64,s64,f64} [a:shared], b:1*vec, [mbar:shared]",
                    "8.1 sm_90",
                ),
                row(
                    "st.async{.{weak,cluster}}{.shared::cluster}.bytes.b128 [a:shared], b, [mbar:shared]",
                    "9.2 sm_90",
                ),
                row("st.async{.mmio}.release.{gpu,sys}{.global}.memory [a], b:1+", "8.7 sm_100"),
            ],
        ),
        section("9.7.9.13", &[row("st.bulk{.weak}{.shared::cta} [a], size:u64, #initval:0", "8.6 sm_100")]),
        section(
            "9.7.9.14",
            &[
                row("multimem.ld_reduce{.loadsem}{.global}.intred d, [a]", "8.1 sm_90"),
                row("multimem.ld_reduce{.loadsem}{.global}.floatload d:1_*vec, [a]", "8.1 sm_90"),
                row("multimem.ld_reduce.weak{.global}.intred d, [a]", "8.1 sm_90"),
                row("multimem.ld_reduce.weak{.global}.floatload d:1_*vec, [a]", "8.1 sm_90"),
                row("multimem.st{.storesem}{.global}.memory32 [a], b", "8.1 sm_90"),
                row("multimem.st{.storesem}{.global}.floatstore [a], b:1*vec", "8.1 sm_90"),
                row("multimem.st.weak{.global}.memory32 [a], b", "8.1 sm_90"),
                row("multimem.st.weak{.global}.floatstore [a], b:1*vec", "8.1 sm_90"),
                row("multimem.red{.storesem}{.global}.intred [a], b", "8.1 sm_90"),
                row("multimem.red{.storesem}{.global}.floatred [a], b:1*vec", "8.1 sm_90"),
            ],
        ),
        section(
            "9.7.9.15",
            &[
                row("prefetch{.{global,local}}.{L1,L2} [a]", "2.0 sm_20"),
                row("prefetch.global.{L2::evict_last,L2::evict_normal} [a]", "7.4 sm_80"),
                row("prefetchu.L1 [a:global]", "2.0 sm_20"),
                row("prefetch{.{const,param}}.tensormap [a]", "8.0 sm_90"),
            ],
        ),
        section("9.7.9.16", &[row("applypriority{.global}.L2::evict_normal [a], #size:128", "7.4 sm_80")]),
        section("9.7.9.17", &[row("discard{.global}.L2 [a], #size:128", "7.4 sm_80")]),
    ],
};
