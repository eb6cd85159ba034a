//! Textures (ISA 9.7.10) and surfaces (ISA 9.7.11).

use super::{Does, Group, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "texture",
    sets: &[
        ("geom", ".1d .2d .3d .a1d<2.3> .a2d<2.3>"),
        ("flats", ".1d .2d .a1d<2.3> .a2d<2.3>"),
        ("cubes", ".cube<3.0> .acube<3.0 sm_20>"),
        ("gradcubes", ".cube<4.3 sm_20> .acube<4.3 sm_20>"),
        ("ms", ".2dms<3.2 sm_30> .a2dms<3.2 sm_30>"),
        ("dtype", ".v4.{u32,s32,f32} .v4.f16<4.2 sm_53> .v2.f16x2<4.2 sm_53>"),
        ("comp", ".r .g .b .a"),
        ("flat", ".2d .a2d<4.3 sm_30>"),
        ("gathercubes", ".cube<4.3 sm_30> .acube<4.3 sm_30>"),
        ("sgeom", ".1d .2d .3d<3.0 sm_20> .a1d<3.0 sm_20> .a2d<3.0 sm_20>"),
        ("clamping", ".trap .clamp<2.0 sm_20> .zero<2.0 sm_20>"),
        ("ldcop", ".ca<2.0 sm_20> .cg<2.0 sm_20> .cs<2.0 sm_20> .cv<2.0 sm_20>"),
        ("stcop", ".wb<2.0 sm_20> .cg<2.0 sm_20> .cs<2.0 sm_20> .wt<2.0 sm_20>"),
        ("surfred", ".add.{u32,s32,u64} .{min,max}.{u32,s32,u64<8.1 sm_50>,s64<8.1 sm_50>} .{and,or}.b32"),
        ("samplered", ".{add,and,or}.b32 .{min,max}.{b32,b64<8.1 sm_50>}"),
        ("units", "{.v2}.{b8,b16,b32,b64} .v4.{b8,b16,b32}"),
        ("formatted", ".b32"),
    ],
    sections: &[
        section("9.7.10.3", &[
            row("tex.flats.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>{, f:f32}<4.3 sm_30>", "1.0"),
            row("tex.3d.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>", "1.0"),
            row("tex.geom.dtype.s32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>", "1.0"),
            row("tex.cubes.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, f:f32}<4.3 sm_30>", "3.0"),
            row("tex.ms.dtype.s32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>", "3.2 sm_30"),
            row("tex.base.flats.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>{, f:f32}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.base.3d.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.base.geom.dtype.s32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.base.cubes.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, f:f32}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.base.ms.dtype.s32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>", "3.2 sm_30"),
            row("tex.level.flats.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], lod:2{, e:s32*off}<4.3 sm_30>{, f:f32}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.level.3d.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], lod:2{, e:s32*off}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.level.geom.dtype.s32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], lod:2{, e:s32*off}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.level.cubes.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], lod:2{, f:f32}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.grad.flats.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], dPdx:f32*grad, dPdy:f32*grad{, e:s32*off}<4.3 sm_30>{, f:f32}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.grad.3d.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], dPdx:f32*grad, dPdy:f32*grad{, e:s32*off}<4.3 sm_30>", "3.1 sm_20"),
            row("tex.grad.gradcubes.dtype.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom], dPdx:f32*grad, dPdy:f32*grad{, f:f32}<4.3 sm_30>", "4.3 sm_20"),
        ]).does(Does::READS),
        section("9.7.10.4", &[
            row("tld4.comp.flat.v4.{u32,s32,f32}.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, e:s32*off}<4.3 sm_30>{, f:f32}<4.3 sm_30>", "2.2 sm_20"),
            row("tld4.comp.gathercubes.v4.{u32,s32,f32}.f32 d:1_*vec{|p}<7.1 sm_60>, [a:texref, c:2*geom]{, f:f32}<4.3 sm_30>", "4.3 sm_30"),
        ]).does(Does::READS),
        section("9.7.10.5", &[
            row("txq.{width,height,depth,channel_data_type<2.1>,channel_order<2.1>,normalized_coords,array_size<4.1>,num_mipmap_levels<4.1 sm_20>,num_samples<4.1 sm_30>}.b32 d, [a:texref]", "1.5"),
            row("txq.level.{width,height,depth}.b32 d, [a:texref], lod:u32", "4.3 sm_30"),
            row("txq.{force_unnormalized_coords<2.2>,filter_mode,addr_mode_0,addr_mode_1,addr_mode_2}.b32 d, [a:samplerref]", "1.5"),
        ]),
        section("9.7.10.6", &[
            row("istypep.{texref,samplerref,surfref} p:pred, a:u64", "4.0 sm_30"),
        ]),
        section("9.7.11.1", &[
            row("suld.b.sgeom{.ldcop}.units.clamping d:1+_*vec, [a:surfref, c:b32*geom]", "1.5"),
        ]).does(Does::READS),
        section("9.7.11.2", &[
            row("sust.b.sgeom{.stcop}.units.clamping [a:surfref, c:b32*geom], b:1+*vec", "1.5"),
            row("sust.p.{1d,2d,3d,a1d<4.1>,a2d<4.1>}{.stcop}{.{v2,v4}}.formatted.clamping [a:surfref, c:b32*geom], b:1+*vec", "2.0 sm_20"),
        ]).does(Does::WRITES),
        section("9.7.11.3", &[
            row("sured.b.surfred.{1d,2d,3d}.clamping [a:surfref, c:b32*geom], b:1+", "2.0 sm_20"),
            row("sured.p.samplered.{1d,2d,3d}.clamping [a:surfref, c:b32*geom], b:1+", "2.0 sm_20"),
        ]).does(Does::UPDATES),
        section("9.7.11.4", &[
            row("suq.{width,height,depth,channel_data_type<2.1>,channel_order<2.1>,array_size<4.1>,memory_layout<4.2>}.b32 d, [a:surfref]", "1.5"),
        ]),
    ],
};
