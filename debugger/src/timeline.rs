//! Going to any time of a launch: checkpoints on the way, and what lies between two done again.

use std::time::{Duration, Instant};

use sim_core::{Checkpoint, Session, Until};

/// Warp instructions between two checkpoints at first.
const SPACING: u64 = 1 << 16;
/// Most checkpoints.
const MOST: usize = 64;
/// Most bytes that they take.
const BYTES: u64 = 1 << 30;
/// The part of the time that checkpoints may take: one of so many.
const PART: u32 = 10;

/// Checkpoints of a launch, of bounded memory: when they are too many, every second one goes.
#[derive(Debug)]
pub struct Timeline {
    kept: Vec<Checkpoint>,
    spacing: u64,
    bytes: u64,
    /// When the last one was made.
    made: Instant,
}

impl Timeline {
    /// That of a launch before its first instruction.
    pub fn new(session: &mut Session<'_, '_>) -> Self {
        let first = session.checkpoint();
        Timeline { bytes: first.bytes(), kept: vec![first], spacing: SPACING, made: Instant::now() }
    }

    /// When the next one is due.
    pub fn due(&self) -> u64 {
        self.kept.last().map_or(0, |last| last.instructions()).saturating_add(self.spacing)
    }

    /// Makes one, if it is time.
    pub fn pass(&mut self, session: &mut Session<'_, '_>) {
        if session.instructions() < self.due() || session.is_over() {
            return;
        }
        let before = Instant::now();
        let made = session.checkpoint();
        self.bytes += made.bytes();
        self.kept.push(made);
        let (took, since) = (before.elapsed(), before - self.made);
        if took > since / PART && took > Duration::from_millis(1) {
            self.spacing = self.spacing.saturating_mul(2);
        }
        while self.kept.len() > MOST || self.bytes > BYTES && self.kept.len() > 2 {
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.bytes = self.kept.iter().map(Checkpoint::bytes).sum();
            self.spacing = self.spacing.saturating_mul(2);
        }
        self.made = Instant::now();
    }

    /// The time of the last checkpoint at or before another one.
    pub fn before(&self, time: u64) -> u64 {
        self.kept[self.index(time)].instructions()
    }

    fn index(&self, time: u64) -> usize {
        self.kept.partition_point(|kept| kept.instructions() <= time).saturating_sub(1)
    }

    /// Has the launch stand where it stood when so many warp instructions had run. What it stands still for is not looked at.
    pub fn go(&self, session: &mut Session<'_, '_>, time: u64) {
        let now = session.instructions();
        if now > time || session.is_over() || now < self.before(time) {
            return self.back(session, time);
        }
        self.run(session, time);
    }

    /// The same, from a checkpoint on: at the first moment of that time, before anything that happens between two
    /// instructions.
    pub fn back(&self, session: &mut Session<'_, '_>, time: u64) {
        session.restore(&self.kept[self.index(time)]);
        self.run(session, time);
    }

    fn run(&self, session: &mut Session<'_, '_>, time: u64) {
        session.break_at(&[]);
        session.follow(None);
        session.pause_at_findings(false);
        while session.instructions() < time
            && session.run(Until::Instructions(time)) == sim_core::Stop::Paused
        {}
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many checkpoints there are.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// There is always the first one.
    pub fn is_empty(&self) -> bool {
        false
    }
}
