//! An access of a word, past or about to be made, and what the one means to the other.

use super::clock::{Clock, Shape};

/// How an access was made, as far as races go: bytes of the word, size of the whole access, strength and scope,
/// and whether a read observes (8.9.2) the newest write of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Class(u16);

impl Class {
    const OBSERVES: u16 = 1 << 13;
    const STRONG: u16 = 1 << 12;

    /// `mask` says which of the word's bytes; `size_log` is the logarithm of the access's size in bytes.
    pub(super) fn new(mask: u8, size_log: u8, strong: Option<usize>) -> Self {
        let strength = strong.map_or(0, |scope| Self::STRONG | ((scope as u16 & 3) << 10));
        Self(strength | (u16::from(size_log & 7) << 4) | u16::from(mask & 15))
    }

    pub(super) fn bits(self) -> u16 {
        self.0
    }

    pub(super) fn mask(self) -> u8 {
        (self.0 & 15) as u8
    }

    /// Size of the whole access in bytes.
    pub(super) fn bytes(self) -> u8 {
        1 << (self.0 >> 4 & 7)
    }

    pub(super) fn is_strong(self) -> bool {
        self.0 & Self::STRONG != 0
    }

    pub(super) fn scope(self) -> usize {
        usize::from(self.0 >> 10 & 3)
    }

    pub(super) fn observes(self) -> bool {
        self.0 & Self::OBSERVES != 0
    }

    pub(super) fn with_observes(self, observes: bool) -> Self {
        Self(if observes { self.0 | Self::OBSERVES } else { self.0 & !Self::OBSERVES })
    }

    /// The same bytes as part of accesses of the same size, which alignment makes the same access range.
    pub(super) fn same_range(self, other: Class) -> bool {
        (self.0 ^ other.0) & 0x7f == 0
    }
}

/// Accesses that are remembered: the same lanes of some warps of a CTA made them alike, in epochs of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Past {
    pub(super) cta: u32,
    /// Warps of the CTA.
    pub(super) warps: u32,
    /// Lanes of each, counted from the cell's shift. None: there is no such access.
    pub(super) lanes: u32,
    pub(super) epoch: u32,
    pub(super) class: Class,
    pub(super) site: u16,
}

impl Past {
    pub(super) fn is_some(&self) -> bool {
        self.lanes != 0
    }

    /// Whether an access was made in the same way by the same warps.
    pub(super) fn is_like(&self, other: &Past) -> bool {
        (self.class, self.cta, self.warps) == (other.class, other.cta, other.warps)
    }

    /// Whether the same threads made an access in the same way before.
    pub(super) fn supersedes(&self, other: &Past) -> bool {
        self.is_some() && self.is_like(other) && other.lanes & !self.lanes == 0 && self.epoch >= other.epoch
    }

    /// The same, observing nothing.
    pub(super) fn unobserving(self) -> Self {
        Self { class: self.class.with_observes(false), ..self }
    }

    /// Whether a read is one of these, or can be put together with them.
    pub(super) fn merges(&self, read: &Past) -> bool {
        self.cta == read.cta
            && self.epoch == read.epoch
            && self.class == read.class
            && self.site == read.site
            && (self.lanes == read.lanes || self.warps == read.warps)
    }
}

/// An access about to be made, by some lanes of a warp at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) cta: u32,
    pub(super) warp: u32,
    /// Lanes, as they are.
    pub(super) lanes: u32,
    pub(super) epoch: u32,
    /// What the clock says of its own CTA, and whether it says nothing of others.
    pub(super) floor: u32,
    pub(super) solitary: bool,
    pub(super) clock: &'a Clock,
    pub(super) class: Class,
    pub(super) site: u16,
    pub(super) shape: Shape,
}

/// The kinds of access that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// An atomic that writes.
    Atomic,
}

/// A past access that races with the new one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conflict {
    pub(super) past: Past,
    /// One warp and lane of it that is not ordered.
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) writes: bool,
}

/// An access as it looks from a cell.
pub(super) struct Eye<'a> {
    pub(super) now: &'a Now<'a>,
    pub(super) shift: u32,
    /// Its lanes, counted from the shift.
    lanes: u32,
}

impl<'a> Eye<'a> {
    pub(super) fn new(now: &'a Now<'a>, shift: u32) -> Self {
        Self { now, shift, lanes: now.lanes.rotate_right(shift) }
    }

    /// The access as it will be remembered.
    pub(super) fn past(&self) -> Past {
        let now = self.now;
        Past {
            cta: now.cta,
            warps: 1 << now.warp,
            lanes: self.lanes,
            epoch: now.epoch,
            class: now.class,
            site: now.site,
        }
    }

    /// Of several lanes that write a word at once, the last one's write stays.
    pub(super) fn newest(&self) -> Past {
        let last = 1u32 << (31 - self.now.lanes.leading_zeros().min(31));
        Past { lanes: last.rotate_right(self.shift), ..self.past() }
    }

    /// Whether an earlier read has to be remembered beside this one.
    pub(super) fn outlasts(&self, read: &Past) -> bool {
        read.class.observes() || !self.stands_for(read) || !self.covers(read)
    }

    /// Whether this read takes the place of an earlier one, as far as the lanes are the same.
    pub(super) fn repeats(&self, read: &Past) -> bool {
        let (now, class) = (self.now, self.now.class);
        read.cta == now.cta
            && read.warps == 1 << now.warp
            && read.epoch <= now.epoch
            && !read.class.observes()
            && read.class.mask() & !class.mask() == 0
            && (!class.is_strong() || read.class == class)
    }

    fn absolute(&self, lanes: u32) -> u32 {
        lanes.rotate_left(self.shift)
    }

    pub(super) fn tells_lanes_apart(&self, past: &Past) -> bool {
        let clock = self.now.clock;
        clock.floor(past.cta) < past.epoch
            && bits(past.warps).any(|warp| clock.tells_lanes_apart(past.cta, warp))
    }

    /// A thread of a past access that does not come before this one: its warp and lanes.
    fn missing(&self, past: &Past) -> Option<(u32, u32)> {
        let now = self.now;
        if past.cta == now.cta {
            if now.floor >= past.epoch {
                return None;
            }
        } else if now.solitary {
            return Some((past.warps.trailing_zeros(), self.absolute(past.lanes)));
        } else if now.clock.floor(past.cta) >= past.epoch {
            return None;
        }
        bits(past.warps).find_map(|warp| {
            let lanes = self.absolute(past.lanes);
            let mut missing = now.clock.missing(past.cta, warp, lanes, past.epoch);
            // A thread comes after itself; of several each must come after all others.
            if past.cta == now.cta && warp == now.warp && now.lanes.is_power_of_two() {
                missing &= !now.lanes;
            }
            (missing != 0).then_some((warp, missing))
        })
    }

    /// Whether everything about a past access comes before this one in causality, observation apart.
    pub(super) fn covers(&self, past: &Past) -> bool {
        self.missing(past).is_none()
    }

    /// Whether some thread of a past access had come that far before this one.
    pub(super) fn follows_one_of(&self, past: &Past) -> bool {
        let now = self.now;
        if past.cta == now.cta && past.warps >> now.warp & 1 != 0 && self.lanes & !past.lanes == 0 {
            return true;
        }
        let lanes = self.absolute(past.lanes);
        bits(past.warps).any(|warp| now.clock.missing(past.cta, warp, lanes, past.epoch) != lanes)
    }

    /// This thread's own.
    pub(super) fn is_own(&self, past: &Past) -> bool {
        past.cta == self.now.cta
            && past.warps == 1 << self.now.warp
            && past.lanes == self.lanes
            && self.lanes.is_power_of_two()
    }

    /// The other lanes of several that write a word at once.
    pub(super) fn others(&self) -> Past {
        Past { lanes: self.lanes & !self.newest().lanes, ..self.past() }
    }

    /// Whether the access is morally strong towards all of a class, wherever they are.
    pub(super) fn is_strong_to_all(&self, class: Class) -> bool {
        let own = self.now.class;
        class.is_strong() && own.is_strong() && class.same_range(own) && class.scope().min(own.scope()) >= 2
    }

    /// Whether some bytes are the same.
    pub(super) fn touches(&self, class: Class) -> bool {
        class.mask() & self.now.class.mask() != 0
    }

    /// Whether an access that touches the same bytes is neither morally strong towards this one nor before it in causality.
    pub(super) fn is_unordered(&self, past: &Past) -> bool {
        !self.morally_strong(past) && !self.covers(past)
    }

    /// Morally strong (8.7), program order apart.
    pub(super) fn morally_strong(&self, past: &Past) -> bool {
        let now = self.now;
        past.class.is_strong()
            && now.class.is_strong()
            && past.class.same_range(now.class)
            && now.shape.common_level(past.cta, now.cta) <= now.class.scope().min(past.class.scope())
    }

    /// Whether whatever races with the past access, which comes before this one, will also race with this one:
    /// the past one need not be remembered any longer.
    pub(super) fn stands_for(&self, past: &Past) -> bool {
        let class = self.now.class;
        if past.class.mask() & !class.mask() != 0 {
            return false;
        }
        if !class.is_strong() {
            return true;
        }
        // A later operation of narrow scope may be morally strong with this one and not with one of another CTA.
        past.class.is_strong()
            && past.class.same_range(class)
            && past.class.scope() >= class.scope()
            && past.cta == self.now.cta
    }

    /// The race with an access that touches the same bytes, if there is one.
    #[inline]
    pub(super) fn race_with(&self, past: &Past, writes: bool) -> Option<Conflict> {
        if !self.touches(past.class) || self.morally_strong(past) {
            return None;
        }
        let (warp, lanes) = self.missing(past)?;
        Some(Conflict { past: *past, warp, lane: lanes.trailing_zeros() & 31, writes })
    }

    pub(super) fn conflict(&self, past: &Past, writes: bool) -> Conflict {
        let (warp, lanes) = self.missing(past).unwrap_or((past.warps.trailing_zeros(), 1));
        Conflict { past: *past, warp, lane: lanes.trailing_zeros() & 31, writes }
    }
}

/// The numbers of the bits that are set.
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < 32).then_some(bit)
    })
}
