//! Video instructions (ISA 9.7.18).

use super::{Group, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "video",
    sets: &[
        ("t", ".u32 .s32"),
        ("second", ".add .min .max"),
        ("order", ".eq .ne .lt .le .gt .ge"),
    ],
    sections: &[
        section("9.7.18.1.1", &[
            row("vadd|vsub|vabsdiff|vmin|vmax.t.t.t{.sat} d:u32, a:u32., b:u32.", "2.0 sm_20"),
            row("vadd|vsub|vabsdiff|vmin|vmax.t.t.t{.sat}.second d:u32, a:u32., b:u32., c:u32", "2.0 sm_20"),
            row("vadd|vsub|vabsdiff|vmin|vmax.t.t.t{.sat} d:u32., a:u32., b:u32., c:u32", "2.0 sm_20"),
        ]),
        section("9.7.18.1.2", &[
            row("vshl|vshr.t.t.u32{.sat}.{clamp,wrap} d:u32, a:u32., b:u32.", "2.0 sm_20"),
            row("vshl|vshr.t.t.u32{.sat}.{clamp,wrap}.second d:u32, a:u32., b:u32., c:u32", "2.0 sm_20"),
            row("vshl|vshr.t.t.u32{.sat}.{clamp,wrap} d:u32., a:u32., b:u32., c:u32", "2.0 sm_20"),
        ]),
        section("9.7.18.1.3", &[
            row("vmad.t.t.t{.sat}{.{shr7,shr15}} d:u32, {!}a:u32., {!}b:u32., {!}c:u32", "2.0 sm_20"),
            row("vmad.t.t.t.po{.sat}{.{shr7,shr15}} d:u32, a:u32., b:u32., c:u32", "2.0 sm_20"),
        ]),
        section("9.7.18.1.4", &[
            row("vset.t.t.order d:u32, a:u32., b:u32.", "2.0 sm_20"),
            row("vset.t.t.order.second d:u32, a:u32., b:u32., c:u32", "2.0 sm_20"),
            row("vset.t.t.order d:u32., a:u32., b:u32., c:u32", "2.0 sm_20"),
        ]),
        section("9.7.18.2.1", &[
            row("vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2.t.t.t{.{sat,add}} d:u32., %a:u32., %b:u32., %c:u32", "3.0 sm_30"),
        ]),
        section("9.7.18.2.2", &[
            row("vset2.t.t.order{.add} d:u32., %a:u32., %b:u32., %c:u32", "3.0 sm_30"),
        ]),
        section("9.7.18.2.3", &[
            row("vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4.t.t.t{.{sat,add}} d:u32., %a:u32., %b:u32., %c:u32", "3.0 sm_30"),
        ]),
        section("9.7.18.2.4", &[
            row("vset4.t.t.order{.add} d:u32., %a:u32., %b:u32., %c:u32", "3.0 sm_30"),
        ]),
    ],
};
