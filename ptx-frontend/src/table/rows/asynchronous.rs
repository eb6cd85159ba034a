//! Asynchronous copies (ISA 9.7.9.25) and tensor maps (ISA 9.7.9.26, 9.7.13.16).

use super::{Does, Group, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "async",
    sets: &[
        ("fetch", ".L2::64B<7.4> .L2::128B<7.4> .L2::256B<7.4>"),
        ("dim", ".1d .2d .3d .4d .5d"),
        ("dim3", ".3d .4d .5d"),
        ("multicast", ".multicast::cluster"),
        ("group", ".cta_group::1<8.6 sm_100f|sm_110f> .cta_group::2<8.6 sm_100f|sm_110f>"),
        ("redop", ".and .or .xor .add .inc .dec .min .max"),
        ("w", ".im2col::w .im2col::w::128"),
        ("globalred", ".{and,or,xor}.{b32,b64} .add.{u32,s32,u64,f64} .add{.noftz<9.4>}.f32 .add.noftz.{f16,bf16} .{inc,dec}.u32 .{min,max}.{u32,s32,u64,s64,f16,bf16}"),
    ],
    sections: &[
        section("9.7.9.25.3", &[
            row("cp.async.ca.{shared,shared::cta}.global{.hint}{.fetch} [d:1], [a:global], #cp-size:4/8/16{, src-size:u32=0..16}{, policy:u64 if .L2::cache_hint}", "7.0 sm_80").does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
            row("cp.async.cg.{shared,shared::cta}.global{.hint}{.fetch} [d:1], [a:global], #cp-size:16{, src-size:u32=0..16}{, policy:u64 if .L2::cache_hint}", "7.0 sm_80").does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
            row("cp.async.ca.{shared,shared::cta}.global{.hint}{.fetch} [d:1], [a:global], #cp-size:4/8/16, {!}%ignore-src:pred{, policy:u64 if .L2::cache_hint}", "7.5 sm_80").does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
            row("cp.async.cg.{shared,shared::cta}.global{.hint}{.fetch} [d:1], [a:global], #cp-size:16, {!}%ignore-src:pred{, policy:u64 if .L2::cache_hint}", "7.5 sm_80").does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
            row("cp.async.commit_group", "7.0 sm_80").does(Does::SYNCHRONIZES),
            row("cp.async.wait_group #n:0..2147483647", "7.0 sm_80").does(Does::SYNCHRONIZES),
            row("cp.async.wait_all", "7.0 sm_80").does(Does::SYNCHRONIZES),
        ]),
        section("9.7.9.25.4.1", &[
            row("cp.async.bulk.shared::cta.global.bytes{.hint} [d:1], [a:global!], size:u32/16, [mbar:shared]{, policy:u64 if .L2::cache_hint}", "8.6 sm_90"),
            row("cp.async.bulk.shared::cta.global.bytes{.hint}.ignore_oob [d:1], [a:global], size:u32/16, left:u32, right:u32, [mbar:shared]{, policy:u64 if .L2::cache_hint}", "9.2 sm_90"),
            row("cp.async.bulk.shared::cluster.global.bytes{.multicast}{.hint} [d:1], [a:global!], size:u32/16, [mbar:shared]{, ctaMask:u16 if .multicast::cluster}{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.async.bulk.shared::cluster.shared::cta.bytes [d:1], [a:2], size:u32/16, [mbar:shared]", "8.0 sm_90"),
            row("cp.async.bulk.global.shared::cta.bulk_group{.hint}{.cp_mask<8.6 sm_100>} [d:1!], [a:2], size:u32/16{, policy:u64 if .L2::cache_hint}{, byteMask:u16 if .cp_mask}", "8.0 sm_90"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.9.25.4.2", &[
            row("cp.reduce.async.bulk.shared::cluster.shared::cta.bytes.{and,or,xor}.b32 [d:1], [a:2], size:u32/16, [mbar:shared]", "8.0 sm_90"),
            row("cp.reduce.async.bulk.shared::cluster.shared::cta.bytes.add.{u32,s32,u64} [d:1], [a:2], size:u32/16, [mbar:shared]", "8.0 sm_90"),
            row("cp.reduce.async.bulk.shared::cluster.shared::cta.bytes.{inc,dec}.u32 [d:1], [a:2], size:u32/16, [mbar:shared]", "8.0 sm_90"),
            row("cp.reduce.async.bulk.shared::cluster.shared::cta.bytes.{min,max}.{u32,s32} [d:1], [a:2], size:u32/16, [mbar:shared]", "8.0 sm_90"),
            row("cp.reduce.async.bulk.global.shared::cta.bulk_group{.hint}.globalred [d:1!], [a:2], size:u32/16{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.9.25.4.3", &[
            row("cp.async.bulk.prefetch.L2.global{.hint} [a:global!], size:u32/16{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
        ]).does(Does::OTHER),
        section("9.7.9.25.4.4", &[
            row("multimem.cp.async.bulk.global.shared::cta.bulk_group{.cp_mask<9.1 sm_100>} [d:1], [a:2], size:u32/16{, byteMask:u16 if .cp_mask}", "9.1 sm_90"),
            row("multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.globalred [d:1], [a:2], size:u32/16", "9.1 sm_90"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.9.25.5.2", &[
            row("cp.async.bulk.tensor.dim.shared::cta.global{.tile}.bytes{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared]{, policy:u64 if .L2::cache_hint}", "8.6 sm_90"),
            row("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.bytes{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared]{, policy:u64 if .L2::cache_hint}", "8.6 sm_100"),
            row("cp.async.bulk.tensor.dim3.shared::cta.global.im2col.bytes{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared], off:b16*im2col{, policy:u64 if .L2::cache_hint}", "8.6 sm_90"),
            row("cp.async.bulk.tensor.dim3.shared::cta.global.im2col::w.bytes{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared], off:b16*im2col{, policy:u64 if .L2::cache_hint}", "8.6 sm_100"),
            row("cp.async.bulk.tensor.dim3.shared::cta.global.im2col::w::128.bytes{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared], off:b16*im2col{, policy:u64 if .L2::cache_hint}", "8.6 sm_100f|sm_110f"),
            row("cp.async.bulk.tensor.dim.shared::cluster.global{.tile}.bytes{.multicast}{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared]{, ctaMask:u16 if .multicast::cluster}{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.bytes{.multicast}{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared]{, ctaMask:u16 if .multicast::cluster}{, policy:u64 if .L2::cache_hint}", "8.6 sm_100f|sm_110f"),
            row("cp.async.bulk.tensor.dim3.shared::cluster.global.im2col.bytes{.multicast}{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared], off:b16*im2col{, ctaMask:u16 if .multicast::cluster}{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.async.bulk.tensor.dim3.shared::cluster.global.w.bytes{.multicast}{.group}{.hint} [d:1], [map:global!, c:s32*dim], [mbar:shared], off:b16*im2col{, ctaMask:u16 if .multicast::cluster}{, policy:u64 if .L2::cache_hint}", "8.6 sm_100f|sm_110f"),
            row("cp.async.bulk.tensor.dim.global.shared::cta{.tile}.bulk_group{.hint} [map:global!, c:s32*dim], [a:2]{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{.hint} [map:global!, c:s32*dim], [a:2]{, policy:u64 if .L2::cache_hint}", "8.6 sm_100f|sm_110f"),
            row("cp.async.bulk.tensor.dim3.global.shared::cta.im2col_no_offs.bulk_group{.hint} [map:global!, c:s32*dim], [a:2]{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.9.25.5.3", &[
            row("cp.reduce.async.bulk.tensor.dim.global.shared::cta.redop{.tile}.bulk_group{.hint} [map:global!, c:s32*dim], [a:2]{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.reduce.async.bulk.tensor.dim3.global.shared::cta.redop.im2col_no_offs.bulk_group{.hint} [map:global!, c:s32*dim], [a:2]{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
        ]).does(Does::UPDATES.and(Does::ASYNCHRONOUS)),
        section("9.7.9.25.5.4", &[
            row("cp.async.bulk.prefetch.tensor.dim.L2.global{.tile}{.hint} [map:global!, c:s32*dim]{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{.hint} [map:global!, c:s32*dim]{, policy:u64 if .L2::cache_hint}", "8.6 sm_100f|sm_110f"),
            row("cp.async.bulk.prefetch.tensor.dim3.L2.global.im2col{.hint} [map:global!, c:s32*dim], off:b16*im2col{, policy:u64 if .L2::cache_hint}", "8.0 sm_90"),
            row("cp.async.bulk.prefetch.tensor.dim3.L2.global.w{.hint} [map:global!, c:s32*dim], off:b16*im2col{, policy:u64 if .L2::cache_hint}", "8.6 sm_100f|sm_110f"),
        ]).does(Does::OTHER),
        section("9.7.9.25.6", &[
            row("cp.async.bulk.commit_group", "8.0 sm_90"),
            row("cp.async.bulk.wait_group{.{read,sync_restrict::proxy::async<9.5 sm_90>}} #n:0..2147483647", "8.0 sm_90"),
        ]).does(Does::SYNCHRONIZES),
        section("9.7.9.26", &[
            row("tensormap.replace.tile.global_address{.{global,shared::cta}}.b1024.b64 [addr], new-val:b64", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.rank{.{global,shared::cta}}.b1024.b32 [addr], new-val:s32", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.{box_dim,global_dim,element_stride}{.{global,shared::cta}}.b1024.b32 [addr], #ord:0..4, new-val:s32", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.global_stride{.{global,shared::cta}}.b1024.b64 [addr], #ord:0..4, new-val:b64", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.elemtype{.{global,shared::cta}}.b1024.b32 [addr], #new-val:0..15", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.interleave_layout{.{global,shared::cta}}.b1024.b32 [addr], #new-val:0..2", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.swizzle_mode{.{global,shared::cta}}.b1024.b32 [addr], #new-val:0..4", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.fill_mode{.{global,shared::cta}}.b1024.b32 [addr], #new-val:0..1", "8.3 sm_90a|sm_100f|sm_110f|sm_120f"),
            row("tensormap.replace.tile.swizzle_atomicity{.{global,shared::cta}}.b1024.b32 [addr], #new-val:0..3", "8.6 sm_100f|sm_110f|sm_120f"),
        ]).does(Does::UPDATES),
        section("9.7.13.16", &[
            row("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [d:1], [a:2], #size:128", "8.3 sm_90"),
        ]).does(Does::UPDATES.and(Does::SYNCHRONIZES)),
    ],
};
