//! Logic and shift (ISA 9.7.8), and byte permutation (ISA 9.7.9.7).

use super::{Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "logic",
    sets: &[],
    sections: &[
        section("9.7.8.1", &[
            row("and|or|xor.bits d, a, b", "1.0"),
            row("and|or|xor.pred d, {!}a, {!}b", "1.0"),
        ]).work(Work::Bits),
        section("9.7.8.4", &[
            row("not.bits d, a", "1.0"),
            row("not.pred d, {!}a", "1.0"),
        ]).work(Work::Bits),
        section("9.7.8.5", &[
            row("cnot.bits d, a", "1.0"),
        ]).work(Work::Bits),
        section("9.7.8.6", &[
            row("lop3.b32 d, a, b, c, #immLut:0..255", "4.3 sm_50"),
            row("lop3.{or,and}.b32 d:1_|p, a, b, c, #immLut:0..255, {!}q2:pred", "8.2 sm_70"),
        ]).work(Work::Bits),
        section("9.7.8.7", &[
            row("shf.{l,r}.{clamp,wrap}.b32 d, a, b, c:u32", "3.1 sm_32"),
        ]).work(Work::Bits),
        section("9.7.8.8", &[
            row("shl.bits d, a, b:u32", "1.0"),
        ]).work(Work::Bits),
        section("9.7.8.9", &[
            row("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64} d, a, b:u32", "1.0"),
        ]).work(Work::Bits),
        section("9.7.9.7", &[
            row("prmt.b32{.{f4e,b4e,rc8,ecl,ecr,rc16}} d, a, b, c", "2.0 sm_20"),
        ]).work(Work::Bits),
    ],
};
