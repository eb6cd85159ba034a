//! Going to any time of a launch: checkpoints on the way, and what lies between two done again.

use std::time::{Duration, Instant};

use sim_core::{Change, Checkpoint, Error, Session, Until};

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
    /// Changes that were made by hand, with their times, in order: they are part of what is done again.
    changes: Vec<(u64, Change)>,
    /// How many of them the launch has, where it stands; of each checkpoint likewise.
    changed: usize,
    of_kept: Vec<usize>,
    spacing: u64,
    bytes: u64,
    /// When the last one was made.
    made: Instant,
}

impl Timeline {
    /// That of a launch before its first instruction.
    pub fn new(session: &mut Session<'_, '_>) -> Self {
        let first = session.checkpoint();
        let changes = Vec::new();
        Timeline {
            changes,
            changed: 0,
            of_kept: vec![0],
            bytes: first.bytes(),
            kept: vec![first],
            spacing: SPACING,
            made: Instant::now(),
        }
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
        self.of_kept.push(self.changed);
        let (took, since) = (before.elapsed(), before - self.made);
        if took > since / PART && took > Duration::from_millis(1) {
            self.spacing = self.spacing.saturating_mul(2);
        }
        while self.kept.len() > MOST || self.bytes > BYTES && self.kept.len() > 2 {
            let (mut at, mut of) = (0, 0);
            let every_second = |at: &mut usize| {
                *at += 1;
                *at % 2 == 1
            };
            self.kept.retain(|_| every_second(&mut at));
            self.of_kept.retain(|_| every_second(&mut of));
            self.bytes = self.kept.iter().map(Checkpoint::bytes).sum();
            self.spacing = self.spacing.saturating_mul(2);
        }
        self.made = Instant::now();
    }

    /// Changes what the launch holds, from now on: what was to come is forgotten, as it is another future.
    ///
    /// # Errors
    /// Those of [`Session::change`].
    pub fn change(&mut self, session: &mut Session<'_, '_>, change: Change) -> Result<(), Error> {
        session.change(&change)?;
        let now = session.instructions();
        self.changes.truncate(self.changed);
        self.changes.push((now, change));
        self.changed = self.changes.len();
        // The first one stays: what was changed before the first instruction is changed again.
        let kept = self.kept.iter().take_while(|kept| kept.instructions() < now).count().max(1);
        self.kept.truncate(kept);
        self.of_kept.truncate(kept);
        self.bytes = self.kept.iter().map(Checkpoint::bytes).sum();
        Ok(())
    }

    /// How many changes the launch has, where it stands.
    pub fn changes(&self) -> usize {
        self.changed
    }

    /// When the next change is made again, if there is one.
    pub fn next_change(&self) -> Option<u64> {
        self.changes.get(self.changed).map(|(time, _)| *time)
    }

    /// Makes those changes again whose time it is.
    pub fn pass_changes(&mut self, session: &mut Session<'_, '_>) {
        while let Some((time, change)) = self.changes.get(self.changed)
            && *time <= session.instructions()
        {
            // What could be changed then can be changed now: it is the same state.
            let _ = session.change(change);
            self.changed += 1;
        }
    }

    /// The time of the last checkpoint at or before another one.
    pub fn before(&self, time: u64) -> u64 {
        self.kept[self.index(time)].instructions()
    }

    fn index(&self, time: u64) -> usize {
        self.kept.partition_point(|kept| kept.instructions() <= time).saturating_sub(1)
    }

    /// Has the launch stand where it stood when so many warp instructions had run. What it stands still for is not looked at.
    pub fn go(&mut self, session: &mut Session<'_, '_>, time: u64) {
        let now = session.instructions();
        if now > time || session.is_over() || now < self.before(time) {
            return self.back(session, time);
        }
        self.run(session, time);
    }

    /// The same, from a checkpoint on: at the first moment of that time, before anything that happens between two
    /// instructions.
    pub fn back(&mut self, session: &mut Session<'_, '_>, time: u64) {
        let index = self.index(time);
        session.restore(&self.kept[index]);
        self.changed = self.of_kept[index];
        self.run(session, time);
    }

    fn run(&mut self, session: &mut Session<'_, '_>, time: u64) {
        session.break_at(&[]);
        session.follow(None);
        session.pause_at_findings(false);
        loop {
            self.pass_changes(session);
            let next = self.next_change().map_or(time, |next| next.min(time));
            if session.instructions() >= time
                || session.run(Until::Instructions(next)) == sim_core::Stop::Ended
            {
                return;
            }
        }
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
