//! Atomics and reductions (ISA 9.7.13.5 to 9.7.13.7).

use super::{Does, Group, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "atomic",
    sets: &[
        ("sem", ".relaxed<6.0 sm_70> .acquire<6.0 sm_70> .release<6.0 sm_70> .acq_rel<6.0 sm_70>"),
        ("redsem", ".relaxed<6.0 sm_70> .release<6.0 sm_70>"),
        ("where", ".cta<5.0 sm_60> .cluster<7.8 sm_90> .gpu<5.0 sm_60> .sys<5.0 sm_60>"),
        ("where128", ".cta .cluster .gpu .sys<8.4>"),
        ("place", "{.global}{.hint} .shared .shared::cta<7.8> .shared::cluster<7.8 sm_90>"),
        ("space", ".global .shared .shared::cta<7.8> .shared::cluster<7.8 sm_90>"),
        ("half", ".f16<6.3 sm_70> .f16x2<6.2 sm_60> .bf16<7.8 sm_90> .bf16x2<7.8 sm_90>"),
        ("op", ".add .min .max"),
        ("asyncspace", ".shared::cluster"),
    ],
    sections: &[
        section("9.7.13.5", &[
            row("atom{.sem}{.where}.place.{and,or,xor}.b32 d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "1.1 sm_11"),
            row("atom{.sem}{.where}.place.{and,or,xor}.b64 d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "3.1 sm_32"),
            row("atom{.sem}{.where}.place.exch.{b32,b64} d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "1.1 sm_11"),
            row("atom{.sem}{.where128}.place.exch.b128 d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "8.3 sm_90"),
            row("atom{.sem}{.where}{.space}.cas.{b16<6.3 sm_70>,b32,b64} d:1_, [a], b, c", "1.1 sm_11"),
            row("atom{.sem}{.where128}{.space}.cas.b128 d:1_, [a], b, c", "8.3 sm_90"),
            row("atom{.sem}{.where}.place.add.(.{u32,s32,u64<1.2 sm_12>,f64<5.0 sm_60>}|{.noftz<9.4 sm_90>}.f32<2.0 sm_20>) d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "1.1 sm_11"),
            row("atom{.sem}{.where}.place.{inc,dec}.u32 d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "1.1 sm_11"),
            row("atom{.sem}{.where}.place.{min,max}.{u32,s32,u64<3.1 sm_32>,s64<3.1 sm_32>} d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "1.1 sm_11"),
            row("atom{.sem}{.where}.place.add.noftz.half d:1_, [a], b{, policy:u64 if .L2::cache_hint}", "6.2 sm_60"),
            row("atom{.sem}{.where}{.global}.add{.noftz<9.4>}{.hint}.{v2,v4}.f32 d:1_*vec, [a], b:1*vec{, policy:u64 if .L2::cache_hint}", "8.1 sm_90"),
            row("atom{.sem}{.where}{.global}.op.noftz{.hint}.{v2,v4,v8}.{f16,bf16} d:1_*vec, [a], b:1*vec{, policy:u64 if .L2::cache_hint}", "8.1 sm_90"),
            row("atom{.sem}{.where}{.global}.op.noftz{.hint}.{v2,v4}.{f16x2,bf16x2} d:1_*vec, [a], b:1*vec{, policy:u64 if .L2::cache_hint}", "8.1 sm_90"),
        ]).does(Does::UPDATES),
        section("9.7.13.6", &[
            row("red{.redsem}{.where}.place.{and,or,xor}.{b32,b64<3.1 sm_32>} [a], b{, policy:u64 if .L2::cache_hint}", "1.2 sm_11"),
            row("red{.redsem}{.where}.place.add.(.{u32,s32,u64<1.2 sm_12>,f64<5.0 sm_60>}|{.noftz<9.4 sm_90>}.f32<2.0 sm_20>) [a], b{, policy:u64 if .L2::cache_hint}", "1.2 sm_11"),
            row("red{.redsem}{.where}.place.{inc,dec}.u32 [a], b{, policy:u64 if .L2::cache_hint}", "1.2 sm_11"),
            row("red{.redsem}{.where}.place.{min,max}.{u32,s32,u64<3.1 sm_32>,s64<3.1 sm_32>} [a], b{, policy:u64 if .L2::cache_hint}", "1.2 sm_11"),
            row("red{.redsem}{.where}.place.add.noftz.half [a], b{, policy:u64 if .L2::cache_hint}", "6.2 sm_60"),
            row("red{.redsem}{.where}{.global}.add{.noftz<9.4>}{.hint}.{v2,v4}.f32 [a], b:1*vec{, policy:u64 if .L2::cache_hint}", "8.1 sm_90"),
            row("red{.redsem}{.where}{.global}.op.noftz{.hint}.{v2,v4,v8}.{f16,bf16} [a], b:1*vec{, policy:u64 if .L2::cache_hint}", "8.1 sm_90"),
            row("red{.redsem}{.where}{.global}.op.noftz{.hint}.{v2,v4}.{f16x2,bf16x2} [a], b:1*vec{, policy:u64 if .L2::cache_hint}", "8.1 sm_90"),
        ]).does(Does::UPDATES),
        section("9.7.13.7", &[
            row("red.async.relaxed.cluster{.asyncspace}.bytes.{inc,dec}.u32 [a], b, [mbar:1]", "8.1 sm_90"),
            row("red.async.relaxed.cluster{.asyncspace}.bytes.{min,max}.{u32,s32} [a], b, [mbar:1]", "8.1 sm_90"),
            row("red.async.relaxed.cluster{.asyncspace}.bytes.{and,or,xor}.b32 [a], b, [mbar:1]", "8.1 sm_90"),
            row("red.async.relaxed.cluster{.asyncspace}.bytes.add.{u32,s32,u64} [a], b, [mbar:1]", "8.1 sm_90"),
            row("red.async{.mmio}.release.{gpu,sys}{.global}.add.{u32,s32,u64,s64} [a], b", "8.7 sm_100"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
    ],
};
