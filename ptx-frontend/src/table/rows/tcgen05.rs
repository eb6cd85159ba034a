//! Fifth-generation tensor core instructions (ISA 9.7.16).

use super::{Does, Group, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "tcgen05",
    sets: &[
        ("cta", ".cta_group::1 .cta_group::2"),
        ("num", ".x1 .x2 .x4 .x8 .x16 .x32 .x64 .x128"),
        ("num2", ".x2 .x4 .x8 .x16 .x32 .x64 .x128"),
        ("sized", ".{32x32b,16x64b}.num .16x128b.{x1,x2,x4,x8,x16,x32,x64} .16x256b.{x1,x2,x4,x8,x16,x32}"),
        ("kind", ".kind::f16 .kind::tf32 .kind::f8f6f4 .kind::i8<8.6 sm_100a|sm_101a|sm_110a>"),
        ("scaled", ".kind::f16<8.6 sm_100f> .kind::tf32<8.6 sm_100f> .kind::i8<8.6 sm_100a|sm_101a|sm_110a>"),
        ("spscaled", ".kind::f16<8.6 sm_100f> .kind::tf32<8.6 sm_100f>"),
        ("use", ".collector::a::fill .collector::a::use .collector::a::lastuse .collector::a::discard"),
        ("shiftuse", ".collector::a::lastuse .collector::a::discard"),
        ("wsuse", ".collector::b0::fill .collector::b0::use .collector::b0::lastuse .collector::b0::discard .collector::b1::fill .collector::b1::use .collector::b1::lastuse .collector::b1::discard .collector::b2::fill .collector::b2::use .collector::b2::lastuse .collector::b2::discard .collector::b3::fill .collector::b3::use .collector::b3::lastuse .collector::b3::discard"),
        ("block", ".kind::mxf8f6f4.block_scale{.{scale_vec::1X<8.6 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>,block32<8.8>}} .kind::mxf4.block_scale .kind::mxf4.block_scale.{scale_vec::2X<8.6 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>,block32<8.8>} .kind::mxf4nvf4<8.7>.block_scale.{scale_vec::2X<8.7 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>,scale_vec::4X<8.7 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>,block16<8.8>,block32<8.8>}"),
        ("spblock", ".kind::mxf8f6f4.block_scale{.{scale_vec::1X<8.6 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>,block32<8.8>}} .kind::mxf4<8.6 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>.block_scale .kind::mxf4<8.6 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>.block_scale.{scale_vec::2X,block32<8.8>} .kind::mxf4nvf4<8.7 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a>.block_scale.{scale_vec::2X,scale_vec::4X,block16<8.8>,block32<8.8>}"),
        ("formats", ".b6x16_p32 .b4x16_p64"),
    ],
    sections: &[
        section("9.7.16.7.1", &[
            row("tcgen05.alloc.cta.sync.aligned{.shared::cta}.b32 [a], nCols:u32=32..512/32", "8.6 sm_100f|sm_110f"),
            row("tcgen05.dealloc.cta.sync.aligned.b32 taddr:u32, nCols:u32=32..512/32", "8.6 sm_100f|sm_110f"),
            row("tcgen05.relinquish_alloc_permit.cta.sync.aligned", "8.6 sm_100f|sm_110f"),
        ]).does(Does::WRITES.and(Does::SYNCHRONIZES)),
        section("9.7.16.8.3", &[
            row("tcgen05.ld.sync.aligned.sized{.pack::16b}.b32 d:b32*num, [taddr:tmem]", "8.6 sm_100f|sm_110f"),
            row("tcgen05.ld.sync.aligned.16x32bx2.num{.pack::16b}.b32 d:b32*num, [taddr:tmem], #immHalfSplitoff", "8.6 sm_100f|sm_110f"),
            row("tcgen05.ld.red.sync.aligned.32x32b.num2.(.{min,max}{.abs}{.NaN}.f32|.{min,max}.{u32,s32}) d:b32*num, redval:b32, [taddr:tmem]", "8.8 sm_103f|sm_110f"),
            row("tcgen05.ld.red.sync.aligned.16x32bx2.num2.(.{min,max}{.abs}{.NaN}.f32|.{min,max}.{u32,s32}) d:b32*num, redval:b32, [taddr:tmem], #immHalfSplitoff", "8.8 sm_103f|sm_110f"),
        ]).does(Does::READS.and(Does::ASYNCHRONOUS)),
        section("9.7.16.8.4", &[
            row("tcgen05.st.sync.aligned.sized{.unpack::16b}.b32 [taddr:tmem], r:b32*num", "8.6 sm_100f|sm_110f"),
            row("tcgen05.st.sync.aligned.16x32bx2.num{.unpack::16b}.b32 [taddr:tmem], #immHalfSplitoff, r:b32*num", "8.6 sm_100f|sm_110f"),
        ]).does(Does::WRITES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.8.5", &[
            row("tcgen05.{wait::ld,wait::st}.sync.aligned", "8.6 sm_100f|sm_110f"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.16.9.2", &[
            row("tcgen05.cp.cta.(.{128x256b,4x256b,128x128b}|.64x128b.{warpx2::02_13,warpx2::01_23}|.32x128b.warpx4){.b8x16.formats} [taddr:tmem], s-desc:u64", "8.6 sm_100f|sm_110f"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.9.3", &[
            row("tcgen05.shift.cta.down [taddr:tmem]", "8.6 sm_100a|sm_101a|sm_103a|sm_107a|sm_110a"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.10.9.1", &[
            row("tcgen05.mma.cta.kind{.use} [d:tmem], a-desc:u64, b-desc:u64, idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.scaled{.use} [d:tmem], a-desc:u64, b-desc:u64, idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred, #scale-input-d:0..15", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.kind{.use} [d:tmem], [a:tmem], b-desc:u64, idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.scaled{.use} [d:tmem], [a:tmem], b-desc:u64, idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred, #scale-input-d:0..15", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.kind.ashift{.shiftuse} [d:tmem], [a:tmem], b-desc:u64, idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.scaled.ashift{.shiftuse} [d:tmem], [a:tmem], b-desc:u64, idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred, #scale-input-d:0..15", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.block{.use} [d:tmem], a-desc:u64, b-desc:u64, idesc:u32, [scale-a:tmem], [scale-b:tmem], {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.cta.block{.use} [d:tmem], [a:tmem], b-desc:u64, idesc:u32, [scale-a:tmem], [scale-b:tmem], {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.10.9.2", &[
            row("tcgen05.mma.sp.cta.kind{.use} [d:tmem], a-desc:u64, b-desc:u64, [sp-meta:tmem], idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.spscaled{.use} [d:tmem], a-desc:u64, b-desc:u64, [sp-meta:tmem], idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred, #scale-input-d:0..15", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.kind{.use} [d:tmem], [a:tmem], b-desc:u64, [sp-meta:tmem], idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.spscaled{.use} [d:tmem], [a:tmem], b-desc:u64, [sp-meta:tmem], idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred, #scale-input-d:0..15", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.kind.ashift{.shiftuse} [d:tmem], [a:tmem], b-desc:u64, [sp-meta:tmem], idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.spscaled.ashift{.shiftuse} [d:tmem], [a:tmem], b-desc:u64, [sp-meta:tmem], idesc:u32{, lanes:b32*lanes}, {!}enable-input-d:pred, #scale-input-d:0..15", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.spblock{.use} [d:tmem], a-desc:u64, b-desc:u64, [sp-meta:tmem], idesc:u32, [scale-a:tmem], [scale-b:tmem], {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.sp.cta.spblock{.use} [d:tmem], [a:tmem], b-desc:u64, [sp-meta:tmem], idesc:u32, [scale-a:tmem], [scale-b:tmem], {!}enable-input-d:pred", "8.6 sm_100f|sm_110f"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.10.9.3", &[
            row("tcgen05.mma.ws.cta_group::1.kind{.wsuse} [d:tmem], a-desc:u64, b-desc:u64, idesc:u32, {!}enable-input-d:pred{, zero-column-mask-desc:u64}", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.ws.cta_group::1.kind{.wsuse} [d:tmem], [a:tmem], b-desc:u64, idesc:u32, {!}enable-input-d:pred{, zero-column-mask-desc:u64}", "8.6 sm_100f|sm_110f"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.10.9.4", &[
            row("tcgen05.mma.ws.sp.cta_group::1.kind{.wsuse} [d:tmem], a-desc:u64, b-desc:u64, [sp-meta:tmem], idesc:u32, {!}enable-input-d:pred{, zero-column-mask-desc:u64}", "8.6 sm_100f|sm_110f"),
            row("tcgen05.mma.ws.sp.cta_group::1.kind{.wsuse} [d:tmem], [a:tmem], b-desc:u64, [sp-meta:tmem], idesc:u32, {!}enable-input-d:pred{, zero-column-mask-desc:u64}", "8.6 sm_100f|sm_110f"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.16.11.1", &[
            row("tcgen05.{fence::before_thread_sync,fence::after_thread_sync}", "8.6 sm_100f|sm_110f"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.16.12.1", &[
            row("tcgen05.commit.cta.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbar]{, ctaMask:u16 if .multicast::cluster}", "8.6 sm_100f|sm_110f"),
        ]).does(Does::WRITES.and(Does::ASYNCHRONOUS)),
    ],
};
