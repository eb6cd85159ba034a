//! The rows, by group. Adding an instruction is adding a row; [`super::notation`] says how one is
//! written.

use super::effects::{Does, Work};
use super::model::Sets;

mod asynchronous;
mod atomic;
mod compare;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod sync;
mod tcgen05;
mod texture;
mod video;
mod wgmma;

/// One form: its notation, and the oldest PTX version and target that have it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) text: &'static str,
    pub(super) need: &'static str,
    does: Does,
}

impl Row {
    /// The same; its instructions do this besides what its section's do.
    const fn does(self, does: Does) -> Row {
        Row { does: self.does.and(does), ..self }
    }

    /// The same; its instructions are work of this kind.
    const fn work(self, work: Work) -> Row {
        Row { does: self.does.work(work), ..self }
    }
}

/// The rows of one section of the manual.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) number: &'static str,
    pub(super) rows: &'static [Row],
    does: Does,
}

impl Section {
    /// The same; the instructions of its rows do this besides computing registers.
    const fn does(self, does: Does) -> Section {
        Section { does: self.does.and(does), ..self }
    }

    /// The same; the instructions of its rows are work of this kind, where it does not follow from what they do.
    const fn work(self, work: Work) -> Section {
        Section { does: self.does.work(work), ..self }
    }

    /// What a row's instructions do.
    pub(super) const fn effects(&self, row: &Row) -> Does {
        self.does.and(row.does)
    }
}

/// Rows that belong together.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: &'static str,
    /// Sets of modifiers that its rows name, beside [`SHARED_SETS`].
    pub(super) sets: &'static Sets,
    pub(super) sections: &'static [Section],
}

const fn row(text: &'static str, need: &'static str) -> Row {
    Row { text, need, does: Does::NOTHING }
}

const fn section(number: &'static str, rows: &'static [Row]) -> Section {
    Section { number, rows, does: Does::NOTHING }
}

/// All groups.
pub(super) static GROUPS: &[&Group] = &[
    &integer::GROUP,
    &float::GROUP,
    &half::GROUP,
    &compare::GROUP,
    &logic::GROUP,
    &moves::GROUP,
    &memory::GROUP,
    &convert::GROUP,
    &asynchronous::GROUP,
    &texture::GROUP,
    &control::GROUP,
    &sync::GROUP,
    &atomic::GROUP,
    &mbarrier::GROUP,
    &matrix::GROUP,
    &wgmma::GROUP,
    &tcgen05::GROUP,
    &video::GROUP,
];

/// Sets that rows of every group may name.
pub(super) static SHARED_SETS: &Sets = &[
    ("rnd", ".rn .rz .rm .rp"),
    ("int", ".u16 .u32 .u64 .s16 .s32 .s64"),
    ("bits", ".b16 .b32 .b64"),
    ("memory", ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64"),
    ("boolop", ".and .or .xor"),
    ("scope", ".cta .cluster<7.8 sm_90> .gpu .sys"),
    ("sharedcta", ".shared .shared::cta<7.8>"),
    ("hint", ".L2::cache_hint<7.4 sm_80>"),
    ("bytes", ".mbarrier::complete_tx::bytes"),
    ("ctagroup", ".cta_group::1 .cta_group::2"),
];
