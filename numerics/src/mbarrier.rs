//! The mbarrier object (ISA 9.7.13.15): how its 64 bits change. What they mean is opaque to programs.
//!
//! Bits 0 to 19 hold the pending arrivals, 20 to 39 the arrivals that each phase expects, 40 to 60 the
//! transaction count as a signed number, bit 61 is the layout (`.layout::v1`), bit 62 marks a valid object, bit 63 is the phase's parity.

/// What an operation does to the object; its operand is a number of arrivals or of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MbarrierOp {
    /// `init`: the expected arrivals of each phase.
    Init,
    /// `init.layout::v1`
    InitV1,
    /// `inval`
    Invalidate,
    /// `arrive`
    Arrive,
    /// The arrival that follows copies (`cp.async.mbarrier.arrive`).
    ArriveOnCopies,
    /// `arrive_drop`: also expects that many fewer from the next phase on.
    Drop,
    /// `arrive.expect_tx`: bytes, then one arrival.
    ArriveExpectTx,
    /// `arrive_drop.expect_tx`
    DropExpectTx,
    /// One more pending arrival in this phase (`cp.async.mbarrier.arrive` without `.noinc`).
    Expect,
    /// `expect_tx`
    ExpectTx,
    /// `complete_tx`
    CompleteTx,
    /// `test_wait`, `try_wait`: nothing changes.
    Ask,
}

impl MbarrierOp {
    /// The instruction, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            MbarrierOp::Init | MbarrierOp::InitV1 => "`mbarrier.init`",
            MbarrierOp::Invalidate => "`mbarrier.inval`",
            MbarrierOp::Arrive | MbarrierOp::ArriveExpectTx => "an arrive",
            MbarrierOp::Drop | MbarrierOp::DropExpectTx => "`mbarrier.arrive_drop`",
            MbarrierOp::ArriveOnCopies | MbarrierOp::Expect => "`cp.async.mbarrier.arrive`",
            MbarrierOp::ExpectTx => "`expect_tx`",
            MbarrierOp::CompleteTx => "`complete_tx`",
            MbarrierOp::Ask => "a test or wait",
        }
    }
}

const COUNT: u64 = 0xf_ffff;
/// The largest transaction count, of either sign.
const MOST_BYTES: i64 = 0xf_ffff;
const EXPECTED: u32 = 20;
const TRANSACTIONS: u32 = 40;
const LAYOUT: u64 = 1 << 61;
const VALID: u64 = 1 << 62;
const PHASE: u64 = 1 << 63;
/// What is no object any more, beside its phase: neither valid nor what memory is likely to hold.
const INVALIDATED: u64 = 0x001f_ffff_fff0_0000 | LAYOUT;

#[derive(Clone, Copy)]
struct Object {
    pending: u64,
    expected: u64,
    transactions: i64,
    layout: u64,
    phase: u64,
}

impl Object {
    fn new(bits: u64) -> Self {
        Self {
            pending: bits & COUNT,
            expected: bits >> EXPECTED & COUNT,
            transactions: (bits << (64 - TRANSACTIONS - 21)) as i64 >> (64 - 21),
            layout: bits & LAYOUT,
            phase: bits & PHASE,
        }
    }

    fn bits(self) -> u64 {
        self.pending & COUNT
            | (self.expected & COUNT) << EXPECTED
            | (self.transactions as u64 & 0x1f_ffff) << TRANSACTIONS
            | self.layout
            | VALID
            | self.phase
    }

    /// A phase is complete when no arrivals and no transactions are pending; the next one begins.
    fn complete(&mut self) {
        if self.pending == 0 && self.transactions == 0 {
            self.phase ^= PHASE;
            self.pending = self.expected;
        }
    }
}

/// The object after an operation.
pub fn apply(op: MbarrierOp, bits: u64, operand: u32) -> u64 {
    use MbarrierOp as M;
    let mut object = Object::new(bits);
    let n = u64::from(operand);
    let bytes = i64::from(operand as i32);
    let (arrivals, dropped) = match op {
        M::Arrive | M::ArriveOnCopies => (n, 0),
        M::Drop => (n, n),
        M::ArriveExpectTx => (1, 0),
        M::DropExpectTx => (1, 1),
        M::Init | M::InitV1 => {
            let layout = if op == M::InitV1 { LAYOUT } else { 0 };
            // A phase that expects nobody is over.
            let phase = if n == 0 { PHASE } else { 0 };
            return Object { pending: n, expected: n, transactions: 0, layout, phase }.bits();
        }
        // Threads that look late still find the last phase complete.
        M::Invalidate => return object.phase | INVALIDATED,
        M::Ask => return bits,
        M::Expect => {
            object.pending += n;
            return object.bits();
        }
        M::ExpectTx => {
            object.transactions += bytes;
            return object.bits();
        }
        M::CompleteTx => {
            object.transactions -= bytes;
            object.complete();
            return object.bits();
        }
    };
    if matches!(op, M::ArriveExpectTx | M::DropExpectTx) {
        object.transactions += bytes;
    }
    object.expected = object.expected.saturating_sub(dropped);
    object.pending = object.pending.saturating_sub(arrivals);
    object.complete();
    object.bits()
}

/// Why an operation stops a device, if it does; read off an H200.
pub fn stop(op: MbarrierOp, bits: u64, operand: u32) -> Option<&'static str> {
    use MbarrierOp as M;
    let object = Object::new(bits);
    let arrivals = match op {
        M::Arrive | M::Drop => Some(operand),
        M::ArriveExpectTx | M::DropExpectTx => Some(1),
        _ => None,
    };
    if bits & VALID == 0 {
        // What is left of an object that was one takes arrivals.
        let is_left = bits & !PHASE == INVALIDATED;
        return (arrivals.is_some() && !is_left).then_some("there is none: it was not initialized");
    }
    if arrivals.is_some_and(|arrivals| u64::from(arrivals) > object.pending) {
        return Some("more threads arrive than its phase expects");
    }
    let bytes = i64::from(operand);
    let after = match op {
        M::ExpectTx | M::ArriveExpectTx | M::DropExpectTx => object.transactions + bytes,
        M::CompleteTx => object.transactions - bytes,
        _ => return None,
    };
    (bytes > MOST_BYTES || after.abs() > MOST_BYTES).then_some("more bytes than it can count")
}

/// What is undefined about an operation that stops no device, if something is.
pub fn misuse(op: MbarrierOp, bits: u64, operand: u32) -> Option<&'static str> {
    use MbarrierOp as M;
    let valid = bits & VALID != 0;
    match op {
        M::Init | M::InitV1 if operand == 0 || u64::from(operand) > COUNT => {
            Some("its count is not 1 to 1048575")
        }
        M::Init | M::InitV1 if valid => Some("it is one already, and was not invalidated"),
        M::Init | M::InitV1 => None,
        _ if stop(op, bits, operand).is_some() => None,
        _ if !valid => Some("it was not initialized, or was invalidated"),
        M::ArriveOnCopies if u64::from(operand) > Object::new(bits).pending => {
            Some("more threads arrive than this phase expects")
        }
        _ => None,
    }
}

/// What the current phase of an object lacks, in words; `None` if it never was an object.
pub fn lacks(bits: u64) -> Option<String> {
    if bits & !PHASE == INVALIDATED {
        return Some("which `mbarrier.inval` ended while a thread waits on it".into());
    }
    if bits & VALID == 0 {
        return None;
    }
    let object = Object::new(bits);
    let count = |number: u64, what: &str| {
        let s = if number == 1 { "" } else { "s" };
        format!("{number} {what}{s}")
    };
    let arrivals = count(object.pending, "arrival");
    Some(match object.transactions {
        0 => format!("whose phase lacks {arrivals}"),
        bytes if bytes > 0 => {
            format!(
                "whose phase lacks {arrivals} and {} that copies bring",
                count(bytes.unsigned_abs(), "byte")
            )
        }
        bytes => format!(
            "whose phase lacks {arrivals} and has got {} that nobody expects (`expect_tx`)",
            count(bytes.unsigned_abs(), "byte")
        ),
    })
}

/// `pending_count` of a state that an arrival returned.
pub fn pending(state: u64) -> u32 {
    Object::new(state).pending as u32
}

/// `check_layout`: whether the object has layout `v1`, else `v0`.
pub fn is_v1(bits: u64) -> bool {
    bits & LAYOUT != 0
}

/// Whether the phase of a state that an arrival returned is complete in the object as it is now.
pub fn phase_complete(now: u64, state: u64) -> bool {
    (now ^ state) & PHASE != 0
}

/// Whether the current or previous phase of this parity is complete in the object as it is now.
pub fn parity_complete(now: u64, parity: u32) -> bool {
    now >> 63 != u64::from(parity & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_stays_through_phases() {
        for (init, v1) in [(MbarrierOp::Init, false), (MbarrierOp::InitV1, true)] {
            let start = apply(init, 0, 1);
            let next = apply(MbarrierOp::Arrive, apply(MbarrierOp::ArriveExpectTx, start, 32), 1);
            assert_eq!((is_v1(start), is_v1(next)), (v1, v1));
            assert!(phase_complete(
                apply(MbarrierOp::CompleteTx, apply(MbarrierOp::ArriveExpectTx, start, 32), 32),
                start
            ));
        }
    }

    #[test]
    fn an_invalidated_object_keeps_its_phase() {
        let start = apply(MbarrierOp::Init, 0, 1);
        let early = apply(MbarrierOp::Invalidate, start, 0);
        assert!(!parity_complete(early, 0) && parity_complete(early, 1) && !phase_complete(early, start));
        let late = apply(MbarrierOp::Invalidate, apply(MbarrierOp::Arrive, start, 1), 0);
        assert!(parity_complete(late, 0) && phase_complete(late, start));
        assert!(lacks(late).is_some_and(|text| text.contains("mbarrier.inval")) && lacks(0).is_none());
        assert!(misuse(MbarrierOp::Arrive, late, 1).is_some() && misuse(MbarrierOp::Init, late, 1).is_none());
    }

    /// Read off an H200.
    #[test]
    fn some_operations_stop_a_device() {
        use MbarrierOp as M;
        // What is done first, and whether the last one stops.
        let cases: &[(&[(M, u32)], bool)] = &[
            (&[(M::Init, 3), (M::Arrive, 3), (M::Arrive, 3)], false),
            (&[(M::Init, 3), (M::Arrive, 2), (M::Arrive, 2)], true),
            (&[(M::Init, 3), (M::Arrive, 4)], true),
            (&[(M::Init, 1), (M::ArriveExpectTx, 64), (M::Arrive, 1)], true),
            (&[(M::Init, 1), (M::ArriveExpectTx, 64), (M::ArriveExpectTx, 64)], true),
            (&[(M::Init, 1), (M::ArriveExpectTx, 64), (M::Drop, 1)], true),
            (&[(M::Init, 1), (M::ArriveExpectTx, 64), (M::ArriveOnCopies, 1)], false),
            (&[(M::Init, 1), (M::Drop, 1), (M::Arrive, 1)], true),
            (&[(M::Init, 2), (M::Drop, 3)], true),
            (&[(M::Init, 0), (M::Arrive, 1)], true),
            (&[(M::Init, 1), (M::Arrive, 0)], false),
            (&[(M::Init, 1), (M::ExpectTx, 1_048_575), (M::ExpectTx, 1_048_575)], true),
            (&[(M::Init, 1), (M::ArriveExpectTx, 1_048_576)], true),
            (&[(M::Init, 1), (M::CompleteTx, 1_048_575)], false),
            (&[(M::Init, 1), (M::CompleteTx, 1_048_575), (M::CompleteTx, 1)], true),
            (&[(M::Init, 1), (M::Invalidate, 0), (M::Arrive, 1)], false),
            (&[(M::Init, 1), (M::Invalidate, 0), (M::Drop, 1)], false),
            (&[(M::Arrive, 1)], true),
            (&[(M::ArriveExpectTx, 64)], true),
        ];
        for (steps, stops) in cases {
            let (last, before) = steps.split_last().expect("at least one");
            let bits = before.iter().fold(0, |bits, &(op, operand)| {
                assert_eq!(stop(op, bits, operand), None, "{steps:?}");
                apply(op, bits, operand)
            });
            assert_eq!(stop(last.0, bits, last.1).is_some(), *stops, "{steps:?}");
        }
        assert!(parity_complete(apply(M::Init, 0, 0), 0), "a phase without arrivals is over");
    }

    #[test]
    fn a_phase_completes_with_the_last_arrival() {
        let start = apply(MbarrierOp::Init, 0xdead_beef, 3);
        assert_eq!((pending(start), start >> 63), (3, 0));
        assert!(parity_complete(start, 1) && !parity_complete(start, 0));
        let one = apply(MbarrierOp::Arrive, start, 2);
        assert_eq!(pending(one), 1);
        assert!(!phase_complete(one, start));
        let two = apply(MbarrierOp::Drop, one, 1);
        assert!(phase_complete(two, start) && parity_complete(two, 0));
        assert_eq!(pending(two), 2, "the dropped arrival is not expected again");
    }

    #[test]
    fn a_phase_waits_for_its_bytes() {
        let start = apply(MbarrierOp::Init, 0, 1);
        let early = apply(MbarrierOp::CompleteTx, start, 64);
        let armed = apply(MbarrierOp::ArriveExpectTx, early, 128);
        assert!(!phase_complete(armed, start));
        let done = apply(MbarrierOp::CompleteTx, armed, 64);
        assert!(phase_complete(done, start));
        assert_eq!(pending(done), 1);
    }

    #[test]
    fn an_expected_arrival_keeps_the_phase_open() {
        let start = apply(MbarrierOp::Init, 0, 1);
        let more = apply(MbarrierOp::Expect, start, 1);
        let one = apply(MbarrierOp::Arrive, more, 1);
        assert!(!phase_complete(one, start));
        assert!(phase_complete(apply(MbarrierOp::Arrive, one, 1), start));
    }
}
