//! Moves, shuffles and addresses (ISA 9.7.9.3 to 9.7.9.6, 9.7.9.18 to 9.7.9.24).

use super::{Does, Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "move",
    sets: &[
        ("space", ".const<3.1> .global .local .shared .shared::cta<7.8> .shared::cluster<7.8 sm_90> .param<7.7 sm_70> .param::entry<8.3 sm_70>"),
        ("mode", ".up .down .bfly .idx"),
        ("primary", ".L2::evict_last .L2::evict_normal .L2::evict_first .L2::evict_unchanged"),
        ("secondary", ".L2::evict_first .L2::evict_unchanged"),
    ],
    sections: &[
        section("9.7.9.3", &[
            row("mov.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64} d, a:1$&", "1.0"),
            row("mov.pred d, {!}a:1$", "1.0"),
            row("mov.v2.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64} d:1_*vec, a:1$*vec", "1.0"),
            row("mov.v4.{b16,b32,u16,u32,s16,s32,f32} d:1_*vec, a:1$*vec", "1.0"),
            row("mov.b128 d, a", "8.3 sm_70"),
        ]).work(Work::Move),
        section("9.7.9.4", &[
            row("mov.{b16,b32,b64,b128<8.3 sm_70>} d, a:pack", "1.0"),
            row("mov.{b16,b32,b64,b128<8.3 sm_70>} d:pack_, a", "1.0"),
        ]).work(Work::Move),
        section("9.7.9.5", &[
            row("shfl.mode.b32 d:1{|p_}, a, b, c", "3.0 sm_30 !6.4:sm_70"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.9.6", &[
            row("shfl.sync.mode.b32 d:1{|p_}, a, b, c, membermask:u32", "6.0 sm_30"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.9.18", &[
            row("createpolicy.range{.global}.primary{.secondary}.b64 d:u64, [a:global], primary-size:u32, total-size:u32", "7.4 sm_80"),
            row("createpolicy.fractional.primary{.secondary}.b64 d:u64{, fraction:f32}", "7.4 sm_80"),
            row("createpolicy.cvt.L2.b64 d:u64, access-property:u64", "7.4 sm_80"),
        ]).work(Work::Other),
        section("9.7.9.19", &[
            row("isspacep.space p:pred, a:size", "2.0 sm_20"),
            row("isspacep.space p:pred, %a:u32", "2.0 sm_20"),
        ]).work(Work::Address),
        section("9.7.9.20", &[
            row("cvta.space.{u32,u64} d, a:1^", "2.0 sm_20"),
            row("cvta.to.space.{u32,u64} d, a", "2.0 sm_20"),
        ]).work(Work::Address),
        section("9.7.9.23", &[
            row("mapa{.shared::cluster}.{u32,u64} d, a:1^, b:u32", "7.8 sm_90"),
        ]).work(Work::Address),
        section("9.7.9.24", &[
            row("getctarank{.shared::cluster}.{u32,u64} d:u32, a:1^", "7.8 sm_90"),
        ]).work(Work::Address),
    ],
};
