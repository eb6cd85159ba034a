//! Integer arithmetic (ISA 9.7.1) and extended precision (ISA 9.7.2).

use super::{Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "integer",
    sets: &[
        ("signed", ".s16 .s32 .s64"),
        ("word", ".u32 .s32"),
        ("long", ".u64 .s64"),
        ("packed8", ".u8x4 .s8x4"),
        ("packed16", ".u16x2 .s16x2"),
    ],
    sections: &[
        section("9.7.1.1", &[
            row("add.int d, a, b", "1.0"),
            row("add.sat.s32 d, a, b", "1.0"),
            row("add.packed16 d, a, b", "8.0 sm_90"),
            row("add.sat.{u32,u16x2,s16x2} d, a, b", "9.2 sm_107f|sm_120f"),
            row("add{.sat}.packed8 d, a, b", "9.2 sm_107f|sm_120f"),
        ]),
        section("9.7.1.2", &[
            row("sub.int d, a, b", "1.0"),
            row("sub.sat.s32 d, a, b", "1.0"),
            row("sub{.sat}.packed8 d, a, b", "9.2 sm_107f|sm_120f"),
        ]),
        section("9.7.1.3", &[
            row("mul.{lo,hi}.int d, a, b", "1.0"),
            row("mul.wide.{u16,u32,s16,s32} d:1w, a, b", "1.0"),
        ]),
        section("9.7.1.4", &[
            row("mad.{lo,hi}.int d, a, b, c", "1.0"),
            row("mad.wide.{u16,u32,s16,s32} d:1w, a, b, c:1w", "1.0"),
            row("mad.hi.sat.s32 d, a, b, c", "1.0"),
        ]),
        section("9.7.1.5", &[
            row("mul24.{lo,hi}.word d, a, b", "1.0"),
        ]),
        section("9.7.1.6", &[
            row("mad24.{lo,hi}.word d, a, b, c", "1.0"),
            row("mad24.hi.sat.s32 d, a, b, c", "1.0"),
        ]),
        section("9.7.1.7", &[
            row("sad.int d, a, b, c", "1.0"),
        ]),
        section("9.7.1.8", &[
            row("div.int d, a, b", "1.0"),
        ]),
        section("9.7.1.9", &[
            row("rem.int d, a, b", "1.0"),
        ]),
        section("9.7.1.10", &[
            row("abs.signed d, a", "1.0"),
        ]),
        section("9.7.1.11", &[
            row("neg.signed d, a", "1.0"),
            row("neg.s8x4 d, a", "9.2 sm_107f|sm_120f"),
        ]),
        section("9.7.1.12", &[
            row("min|max.int d, a, b", "1.0"),
            row("min|max.packed16 d, a, b", "8.0 sm_90"),
            row("min|max.relu.{s16x2,s32} d, a, b", "8.0 sm_90"),
            row("min|max.packed8 d, a, b", "9.2 sm_107f|sm_120f"),
            row("min|max.relu.s8x4 d, a, b", "9.2 sm_107f|sm_120f"),
        ]),
        section("9.7.1.14", &[
            row("popc.{b32,b64} d:u32, a", "2.0 sm_20"),
        ]).work(Work::Bits),
        section("9.7.1.15", &[
            row("clz.{b32,b64} d:u32, a", "2.0 sm_20"),
        ]).work(Work::Bits),
        section("9.7.1.16", &[
            row("bfind{.shiftamt}.{u32,u64,s32,s64} d:u32, a", "2.0 sm_20"),
        ]).work(Work::Bits),
        section("9.7.1.17", &[
            row("fns.b32 d, mask, base, offset", "6.0 sm_30"),
        ]).work(Work::Bits),
        section("9.7.1.18", &[
            row("brev.{b32,b64} d, a", "2.0 sm_20"),
        ]).work(Work::Bits),
        section("9.7.1.19", &[
            row("bfe.{u32,u64,s32,s64} d, a, b:u32=0..255, c:u32=0..255", "2.0 sm_20"),
        ]).work(Work::Bits),
        section("9.7.1.20", &[
            row("bfi.{b32,b64} d, a, b, c:u32=0..255, len:u32=0..255", "2.0 sm_20"),
        ]).work(Work::Bits),
        section("9.7.1.21", &[
            row("szext.{clamp,wrap}.word d, a, b:u32", "7.6 sm_70"),
        ]),
        section("9.7.1.22", &[
            row("bmsk.{clamp,wrap}.b32 d:u32, a:u32, b:u32", "7.6 sm_70"),
        ]).work(Work::Bits),
        section("9.7.1.23", &[
            row("dp4a.word.word d:u32, a:u32, b:u32, c:u32", "5.0 sm_61"),
        ]),
        section("9.7.1.24", &[
            row("dp2a.{lo,hi}.word.word d:u32, a:u32, b:u32, c:u32", "5.0 sm_61"),
        ]),
        section("9.7.1", &[
            row("clmad.{lo,hi}.u64 d, a, b, c", "9.3 sm_80"),
        ]),
        section("9.7.2", &[
            row("add|sub.cc.word d, a, b", "1.2"),
            row("add|sub.cc.long d, a, b", "4.3 sm_20"),
            row("addc|subc{.cc}.word d, a, b", "1.2"),
            row("addc|subc{.cc<4.3>}.long d, a, b", "1.2 sm_20"),
            row("mad.{lo,hi}.cc.word d, a, b, c", "3.0 sm_20"),
            row("mad.{lo,hi}.cc.long d, a, b, c", "4.3 sm_20"),
            row("madc.{lo,hi}{.cc}.word d, a, b, c", "3.0 sm_20"),
            row("madc.{lo,hi}{.cc<4.3>}.long d, a, b, c", "3.0 sm_20"),
        ]),
    ],
};
