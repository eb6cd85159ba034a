//! Warpgroup-level matrix instructions (ISA 9.7.15).

use super::{Does, Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "wgmma",
    sets: &[
        ("k8", ".m64n8*k8"),
        ("k16", ".m64n8*k16"),
        ("k32", ".m64n8*k32"),
        ("k64", ".m64n8*k64"),
        ("i32", ".m64n16*k32"),
        ("i64", ".m64n16*k64"),
        ("i256", ".m64n16*k256"),
        ("f8", ".e4m3 .e5m2"),
        ("bytes4", ".u8.u8 .s8.s8 .u8<8.4>.s8 .s8<8.4>.u8"),
        ("float", ".f16 .f32"),
    ],
    sections: &[
        section("9.7.15.7", &[
            row("wgmma.fence.sync{.aligned}", "8.0 sm_90a"),
            row("wgmma.commit_group.sync{.aligned}", "8.0 sm_90a"),
            row("wgmma.wait_group.sync{.aligned} #n:0..2147483647", "8.0 sm_90a"),
        ]).does(Does::SYNCHRONIZES).work(Work::Matrix),
        section("9.7.15.5.2", &[
            row("wgmma.mma_async.sync{.aligned}.k16.(.float.f16.f16|.f32.bf16.bf16) d:D, a-desc:u64, b-desc:u64, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1, #trans-a:0/1, #trans-b:0/1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.k16.(.float.f16.f16|.f32.bf16.bf16) d:D, a:A, b-desc:u64, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1, #trans-b:0/1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.k8.f32.tf32.tf32 d:D, a-desc:u64, b-desc:u64, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.k8.f32.tf32.tf32 d:D, a:A, b-desc:u64, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.k32.float.f8.f8 d:D, a-desc:u64, b-desc:u64, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.k32.float.f8.f8 d:D, a:A, b-desc:u64, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.i32{.satfinite}.s32.bytes4 d:D, a-desc:u64, b-desc:u64, {!}scale-d:pred=0..1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.i32{.satfinite}.s32.bytes4 d:D, a:A, b-desc:u64, {!}scale-d:pred=0..1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.i256.s32.b1.b1.and.popc d:D, a-desc:u64, b-desc:u64, {!}scale-d:pred=0..1", "8.0 sm_90a"),
            row("wgmma.mma_async.sync{.aligned}.i256.s32.b1.b1.and.popc d:D, a:A, b-desc:u64, {!}scale-d:pred=0..1", "8.0 sm_90a"),
        ]).does(Does::READS.and(Does::ASYNCHRONOUS).and(Does::ACCUMULATES)).work(Work::Matrix),
        section("9.7.15.6.3", &[
            row("wgmma.mma_async.sp.sync{.aligned}.k32.(.float.f16.f16|.f32.bf16.bf16) d:D, a-desc:u64, b-desc:u64, %sp-meta:b32, #sp-sel:0..1, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1, #trans-a:0/1, #trans-b:0/1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.k32.(.float.f16.f16|.f32.bf16.bf16) d:D, a:A, b-desc:u64, %sp-meta:b32, #sp-sel:0..1, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1, #trans-b:0/1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.k16.f32.tf32.tf32 d:D, a-desc:u64, b-desc:u64, %sp-meta:b32, #sp-sel:0..1, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.k16.f32.tf32.tf32 d:D, a:A, b-desc:u64, %sp-meta:b32, #sp-sel:0..1, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.k64.float.f8.f8 d:D, a-desc:u64, b-desc:u64, %sp-meta:b32, #sp-sel:0..0, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.k64.float.f8.f8 d:D, a:A, b-desc:u64, %sp-meta:b32, #sp-sel:0..0, {!}scale-d:pred=0..1, #scale-a:-1/1, #scale-b:-1/1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.i64{.satfinite}.s32.bytes4 d:D, a-desc:u64, b-desc:u64, %sp-meta:b32, #sp-sel:0..0, {!}scale-d:pred=0..1", "8.2 sm_90a"),
            row("wgmma.mma_async.sp.sync{.aligned}.i64{.satfinite}.s32.bytes4 d:D, a:A, b-desc:u64, %sp-meta:b32, #sp-sel:0..0, {!}scale-d:pred=0..1", "8.2 sm_90a"),
        ]).does(Does::READS.and(Does::ASYNCHRONOUS).and(Does::ACCUMULATES)).work(Work::Matrix),
    ],
};
