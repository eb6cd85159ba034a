//! Barriers, votes, fences (ISA 9.7.13.1 to 9.7.13.4, 9.7.13.8 to 9.7.13.14).

use super::{Does, Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "sync",
    sets: &[
        ("restrict", ".acquire.sync_restrict::shared::cluster .release.sync_restrict::shared::cta"),
        ("proxykind", ".async .async.global .async.shared::cta .async.shared::cluster"),
    ],
    sections: &[
        section("9.7.13.1", &[
            row("bar.sync a:u32=0..15{, b:u32/32}", "1.0"),
            row("bar.cta<7.8>.sync a:u32=0..15{, b:u32/32}", "1.0"),
            row("bar.arrive a:u32=0..15, b:u32/32", "2.0 sm_20"),
            row("bar.cta<7.8>.arrive a:u32=0..15, b:u32/32", "2.0 sm_20"),
            row("bar.red.popc.u32 d, a:u32=0..15{, b:u32/32}, {!}c:pred", "2.0 sm_20"),
            row("bar.cta<7.8>.red.popc.u32 d, a:u32=0..15{, b:u32/32}, {!}c:pred", "2.0 sm_20"),
            row("bar.red.{and,or}.pred p, a:u32=0..15{, b:u32/32}, {!}c:pred", "2.0 sm_20"),
            row("bar.cta<7.8>.red.{and,or}.pred p, a:u32=0..15{, b:u32/32}, {!}c:pred", "2.0 sm_20"),
            row("barrier.sync{.aligned} a:u32=0..15{, b:u32/32}", "6.0 sm_30"),
            row("barrier.cta<7.8>.sync{.aligned} a:u32=0..15{, b:u32/32}", "6.0 sm_30"),
            row("barrier.arrive{.aligned} a:u32=0..15, b:u32/32", "6.0 sm_30"),
            row("barrier.cta<7.8>.arrive{.aligned} a:u32=0..15, b:u32/32", "6.0 sm_30"),
            row("barrier.red.popc{.aligned}.u32 d, a:u32=0..15{, b:u32/32}, {!}c:pred", "6.0 sm_30"),
            row("barrier.cta<7.8>.red.popc{.aligned}.u32 d, a:u32=0..15{, b:u32/32}, {!}c:pred", "6.0 sm_30"),
            row("barrier.red.{and,or}{.aligned}.pred p, a:u32=0..15{, b:u32/32}, {!}c:pred", "6.0 sm_30"),
            row("barrier.cta<7.8>.red.{and,or}{.aligned}.pred p, a:u32=0..15{, b:u32/32}, {!}c:pred", "6.0 sm_30"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.13.2", &[
            row("bar.warp.sync membermask:u32", "6.0 sm_30"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.13.3", &[
            row("barrier.cluster.arrive{.{release<8.0>,relaxed<8.0>}}{.aligned}", "7.8 sm_90"),
            row("barrier.cluster.wait{.acquire<8.0>}{.aligned}", "7.8 sm_90"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.13.4", &[
            row("fence{.{sc,acq_rel,acquire,release}}.scope", "6.0 sm_70"),
            row("fence.restrict.cluster", "8.6 sm_90"),
            row("fence.mbarrier_init.release.cluster", "8.0 sm_90"),
            row("fence.alias.sync_restrict::read.release.sys", "9.5 sm_90"),
            row("fence.proxy.alias{.{acquire<9.4 sm_90>,release<9.4 sm_90>}.sys}", "7.5 sm_70"),
            row("fence.proxy.proxykind", "8.0 sm_90"),
            row("fence.proxy.tensormap::generic.release.scope", "8.3 sm_90"),
            row("fence.proxy.tensormap::generic.acquire.scope [addr:generic], #size:128", "8.3 sm_90"),
            row("fence.proxy.async::generic.restrict.cluster", "8.6 sm_90"),
            row("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.{cta,cluster}", "9.4 sm_90"),
            row("membar.{cta,gl,sys<2.0 sm_20>}", "1.4"),
            row("membar.proxy.alias", "7.5 sm_60"),
            row("membar.proxy.async", "8.0 sm_90"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.13.8", &[
            row("vote.{all,any,uni}.pred d, {!}a", "1.2 sm_12 !6.4:sm_70"),
            row("vote.ballot.b32 d, {!}a:pred", "2.0 sm_20 !6.4:sm_70"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.13.9", &[
            row("vote.sync.{all,any,uni}.pred d, {!}a, membermask:u32", "6.0 sm_30"),
            row("vote.sync.ballot.b32 d, {!}a:pred, membermask:u32", "6.0 sm_30"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.13.10", &[
            row("match.any.sync.b32 d:u32, a:u32, membermask:u32", "6.0 sm_70"),
            row("match.any.sync.b64 d:u32, a:u64, membermask:u32", "6.0 sm_70"),
            row("match.all.sync.b32 d:u32_{|p_}, a:u32, membermask:u32", "6.0 sm_70"),
            row("match.all.sync.b64 d:u32_{|p_}, a:u64, membermask:u32", "6.0 sm_70"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.13.11", &[
            row("activemask.b32 d", "6.2 sm_30"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.13.12", &[
            row("redux.sync.{add,min,max}.{u32,s32} d, a, membermask:u32", "7.0 sm_80"),
            row("redux.sync.{and,or,xor}.b32 d:u32, a:u32, membermask:u32", "7.0 sm_80"),
            row("redux.sync.{min,max}{.abs}{.NaN}.f32 d, a, membermask:u32", "8.6 sm_100f"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
        section("9.7.13.13", &[
            row("griddepcontrol.{launch_dependents,wait}", "7.8 sm_90"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.13.14", &[
            row("elect.sync d:b32_|p, membermask:u32", "8.0 sm_90"),
        ]).does(Does::SYNCHRONIZES).work(Work::Exchange),
    ],
};
