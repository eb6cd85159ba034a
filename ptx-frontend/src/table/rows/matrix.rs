//! Warp-level matrix instructions (ISA 9.7.14).

use super::{Group, row, section};

pub(super) static GROUP: Group = Group {
    name: "matrix",
    sets: &[
        ("layout", ".row .col"),
        ("wshape", ".m16n16k16 .m8n32k16<6.1> .m32n8k16<6.1>"),
        ("ishape", ".m16n16k16 .m8n32k16 .m32n8k16"),
        ("ss", ".global .shared .shared::cta<7.8>"),
        ("byte", ".u8 .s8"),
        ("nibble", ".u4 .s4"),
        ("float", ".f16 .f32"),
        ("f8", ".e4m3 .e5m2"),
        ("f8f6f4", ".e4m3 .e5m2 .e3m2 .e2m3 .e2m1"),
        ("spv", ".sp .sp::ordered_metadata<8.5>"),
        ("num", ".x1 .x2 .x4"),
        ("byteshape", ".m8n8k16<6.5 sm_75> .m16n8k16<7.0 sm_80> .m16n8k32<7.0 sm_80>"),
        ("nibbleshape", ".m8n8k32<6.5 sm_75> .m16n8k32<7.0 sm_80> .m16n8k64<7.0 sm_80>"),
        ("bitshape", ".m8n8k128<7.0 sm_75> .m16n8k128<7.0 sm_80> .m16n8k256<7.0 sm_80>"),
    ],
    sections: &[
        section(
            "9.7.14.4.3",
            &[
                row(
                    "wmma.load.{a,b}.sync.aligned.layout.wshape{.ss}.f16 d:A, [p]{, stride:s32}",
                    "6.0 sm_70",
                ),
                row("wmma.load.c.sync.aligned.layout.wshape{.ss}.float d:C, [p]{, stride:s32}", "6.0 sm_70"),
                row("wmma.load.a.sync.aligned.layout.ishape{.ss}.byte d:A, [p]{, stride:s32}", "6.3 sm_72"),
                row("wmma.load.b.sync.aligned.layout.ishape{.ss}.byte d:B, [p]{, stride:s32}", "6.3 sm_72"),
                row("wmma.load.c.sync.aligned.layout.ishape{.ss}.s32 d:C, [p]{, stride:s32}", "6.3 sm_72"),
                row("wmma.load.a.sync.aligned.layout.ishape{.ss}.bf16 d:A, [p]{, stride:s32}", "7.0 sm_80"),
                row("wmma.load.b.sync.aligned.layout.ishape{.ss}.bf16 d:B, [p]{, stride:s32}", "7.0 sm_80"),
                row(
                    "wmma.load.{a,b}.sync.aligned.layout.m16n16k8{.ss}.tf32 d:A, [p]{, stride:s32}",
                    "7.0 sm_80",
                ),
                row("wmma.load.c.sync.aligned.layout.m16n16k8{.ss}.f32 d:C, [p]{, stride:s32}", "7.0 sm_80"),
                row(
                    "wmma.load.{a,b}.sync.aligned.layout.m8n8k4{.ss}.f64 d:A, [p]{, stride:s32}",
                    "7.0 sm_80",
                ),
                row("wmma.load.c.sync.aligned.layout.m8n8k4{.ss}.f64 d:C, [p]{, stride:s32}", "7.0 sm_80"),
                row("wmma.load.a.sync.aligned.row.m8n8k32{.ss}.nibble d:A, [p]{, stride:s32}", "6.3 sm_75"),
                row("wmma.load.b.sync.aligned.col.m8n8k32{.ss}.nibble d:A, [p]{, stride:s32}", "6.3 sm_75"),
                row("wmma.load.a.sync.aligned.row.m8n8k128{.ss}.b1 d:A, [p]{, stride:s32}", "6.3 sm_75"),
                row("wmma.load.b.sync.aligned.col.m8n8k128{.ss}.b1 d:A, [p]{, stride:s32}", "6.3 sm_75"),
                row(
                    "wmma.load.c.sync.aligned.layout.{m8n8k32,m8n8k128}{.ss}.s32 d:C, [p]{, stride:s32}",
                    "6.3 sm_75",
                ),
            ],
        ),
        section(
            "9.7.14.4.4",
            &[
                row("wmma.store.d.sync.aligned.layout.wshape{.ss}.float [p], r:D{, stride:s32}", "6.0 sm_70"),
                row("wmma.store.d.sync.aligned.layout.ishape{.ss}.s32 [p], r:D{, stride:s32}", "6.3 sm_72"),
                row(
                    "wmma.store.d.sync.aligned.layout.{m8n8k32,m8n8k128}{.ss}.s32 [p], r:D{, stride:s32}",
                    "6.3 sm_75",
                ),
                row("wmma.store.d.sync.aligned.layout.m16n16k8{.ss}.f32 [p], r:D{, stride:s32}", "7.0 sm_80"),
                row("wmma.store.d.sync.aligned.layout.m8n8k4{.ss}.f64 [p], r:D{, stride:s32}", "7.0 sm_80"),
            ],
        ),
        section(
            "9.7.14.4.5",
            &[
                row("wmma.mma.sync.aligned.layout.layout.wshape.float.float d:D, a:A, b:B, c:C", "6.0 sm_70"),
                row(
                    "wmma.mma.sync.aligned.layout.layout.ishape.(.s32.u8.u8.s32|.s32.s8.s8.s32){.satfinite} d:D, a:A, b:B, c:C",
                    "6.3 sm_72",
                ),
                row(
                    "wmma.mma.sync.aligned.layout.layout.ishape.f32.bf16.bf16.f32 d:D, a:A, b:B, c:C",
                    "7.0 sm_80",
                ),
                row(
                    "wmma.mma.sync.aligned.layout.layout.m16n16k8.f32.tf32.tf32.f32 d:D, a:A, b:B, c:C",
                    "7.0 sm_80",
                ),
                row(
                    "wmma.mma.sync.aligned.layout.layout.m8n8k4{.rnd}.f64.f64.f64.f64 d:D, a:A, b:B, c:C",
                    "7.0 sm_80",
                ),
                row(
                    "wmma.mma.sync.aligned.row.col.m8n8k32.(.s32.u4.u4.s32|.s32.s4.s4.s32){.satfinite} d:D, a:A, b:B, c:C",
                    "6.3 sm_75",
                ),
                row(
                    "wmma.mma.{xor,and<7.1 sm_80>}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d:D, a:A, b:B, c:C",
                    "6.3 sm_75",
                ),
            ],
        ),
        section(
            "9.7.14.5.14",
            &[
                row(
                    "mma.sync.aligned.m8n8k4.layout.layout.(.f16.f16.f16.f16|.f32.f16.f16.f16|.f32.f16.f16.f32) d:D, a:A, b:B, c:C",
                    "6.4 sm_70",
                ),
                row(
                    "mma.sync.aligned.{m16n8k8,m16n8k16<7.0 sm_80>}.row.col.(.f16.f16.f16.f16|.f32.f16.f16.f32) d:D, a:A, b:B, c:C",
                    "6.5 sm_75",
                ),
                row(
                    "mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.bf16.bf16.f32 d:D, a:A, b:B, c:C",
                    "7.0 sm_80",
                ),
                row(
                    "mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32 d:D, a:A, b:B, c:C",
                    "7.0 sm_80",
                ),
                row("mma.sync.aligned.m16n8k32.row.col.f32.f8.f8.f32 d:D, a:A, b:B, c:C", "8.4 sm_89"),
                row("mma.sync.aligned.m16n8k32.row.col.f16.f8.f8.f16 d:D, a:A, b:B, c:C", "8.7 sm_89"),
                row(
                    "mma.sync.aligned.m16n8k16.row.col.(.f32.f8.f8.f32|.f16.f8.f8.f16) d:D, a:A, b:B, c:C",
                    "8.7 sm_89",
                ),
                row(
                    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.(.f32.f8f6f4.f8f6f4.f32|.f16.f8f6f4.f8f6f4.f16) d:D, a:A, b:B, c:C",
                    "8.7 sm_120f",
                ),
                row(
                    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d:D, a:A, b:B, c:C, scale-a:b32, ids-a:u16*2, scale-b:b32, ids-b:u16*2",
                    "8.7 sm_120f",
                ),
                row(
                    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.(.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0|.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3|.scale_vec::4X<9.1>.f32.e2m1.e2m1.f32.ue8m0) d:D, a:A, b:B, c:C, scale-a:b32, ids-a:u16*2, scale-b:b32, ids-b:u16*2",
                    "8.7 sm_120f",
                ),
                row(
                    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.f8f6f4.f8f6f4.f32.ue8m0 d:D, a:A, b:B, c:C, scale-a:b32, ids-a:u16*2, scale-b:b32, ids-b:u16*2",
                    "8.7 sm_120f",
                ),
                row(
                    "mma.sync.aligned.{m8n8k4,m16n8k4<7.8 sm_90>,m16n8k8<7.8 sm_90>,m16n8k16<7.8 sm_90>}.row.col{.rnd}.f64.f64.f64.f64 d:D, a:A, b:B, c:C",
                    "7.0 sm_80",
                ),
                row(
                    "mma.sync.aligned.byteshape.row.col{.satfinite}.s32.byte.byte.s32 d:D, a:A, b:B, c:C",
                    "6.5 sm_75",
                ),
                row(
                    "mma.sync.aligned.nibbleshape.row.col{.satfinite}.s32.nibble.nibble.s32 d:D, a:A, b:B, c:C",
                    "6.5 sm_75",
                ),
                row(
                    "mma.sync.aligned.bitshape.row.col.s32.b1.b1.s32.{xor,and<7.1 sm_80>}.popc d:D, a:A, b:B, c:C",
                    "7.0 sm_75",
                ),
            ],
        ),
        section(
            "9.7.14.6.3",
            &[
                row(
                    "mma.spv.sync.aligned.{m16n8k16,m16n8k32}.row.col.(.f16.f16.f16.f16|.f32.f16.f16.f32|.f32.bf16.bf16.f32) d:D, a:A, b:B, c:C, e:b32, #f:0..3",
                    "7.1 sm_80",
                ),
                row(
                    "mma.spv.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.tf32.tf32.f32 d:D, a:A, b:B, c:C, e:b32, #f:0..3",
                    "7.1 sm_80",
                ),
                row(
                    "mma.spv.sync.aligned.m16n8k64.row.col.f32.f8.f8.f32 d:D, a:A, b:B, c:C, e:b32, #f:0..3",
                    "8.4 sm_89",
                ),
                row(
                    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.(.f32.f8f6f4.f8f6f4.f32|.f16.f8f6f4.f8f6f4.f16) d:D, a:A, b:B, c:C, e:b32, #f:0..3",
                    "8.7 sm_120f",
                ),
                row(
                    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d:D, a:A, b:B, c:C, e:b32, #f:0..3, scale-a:b32, ids-a:u16*2, scale-b:b32, ids-b:u16*2",
                    "8.7 sm_120a|sm_121a",
                ),
                row(
                    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.(.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0|.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3|.scale_vec::4X<9.1>.f32.e2m1.e2m1.f32.ue8m0) d:D, a:A, b:B, c:C, e:b32, #f:0..3, scale-a:b32, ids-a:u16*2, scale-b:b32, ids-b:u16*2",
                    "8.7 sm_120a|sm_121a",
                ),
                row(
                    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.f8f6f4.f8f6f4.f32.ue8m0 d:D, a:A, b:B, c:C, e:b32, #f:0..3, scale-a:b32, ids-a:u16*2, scale-b:b32, ids-b:u16*2",
                    "8.7 sm_120f",
                ),
                row(
                    "mma.spv.sync.aligned.{m16n8k32,m16n8k64}.row.col{.satfinite}.s32.byte.byte.s32 d:D, a:A, b:B, c:C, e:b32, #f:0..3",
                    "7.1 sm_80",
                ),
                row(
                    "mma.spv.sync.aligned.{m16n8k64,m16n8k128}.row.col{.satfinite}.s32.nibble.nibble.s32 d:D, a:A, b:B, c:C, e:b32, #f:0..3",
                    "7.1 sm_80",
                ),
            ],
        ),
        section(
            "9.7.14.5.15",
            &[
                row(
                    "ldmatrix.sync.aligned.m8n8.num{.trans}{.sharedcta}.b16 d:b32*num, [p:shared]",
                    "6.5 sm_75",
                ),
                row(
                    "ldmatrix.sync.aligned.m16n16.{x1,x2}.trans{.sharedcta}.b8 d:b32*num, [p:shared]",
                    "8.6 sm_100f|sm_110f|sm_120f",
                ),
                row(
                    "ldmatrix.sync.aligned.m8n16.num{.sharedcta}.b8x16.{b6x16_p32,b4x16_p64} d:b32*num, [p:shared]",
                    "8.6 sm_100f|sm_110f|sm_120f",
                ),
                row(
                    "ldmatrix.sync.aligned.m16n16.{x1,x2}.trans{.sharedcta}.b8x16.{b6x16_p32,b4x16_p64} d:b32*num, [p:shared]",
                    "8.6 sm_100f|sm_110f|sm_120f",
                ),
            ],
        ),
        section(
            "9.7.14.5.16",
            &[
                row(
                    "stmatrix.sync.aligned.m8n8.num{.trans}{.sharedcta}.b16 [p:shared], r:b32*num",
                    "7.8 sm_90",
                ),
                row(
                    "stmatrix.sync.aligned.m16n8.num.trans{.sharedcta}.b8 [p:shared], r:b32*num",
                    "8.6 sm_100f|sm_110f|sm_120f",
                ),
            ],
        ),
        section("9.7.14.5.17", &[row("movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32", "7.8 sm_75")]),
    ],
};
