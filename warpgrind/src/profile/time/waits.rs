//! Who waits for whose writes in loops that do nothing else ([`spins`]): the last turn of such a loop read what somebody had
//! written, and cannot end before that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_frontend::{Modifier, Modifiers, Opcode};
use sim_core::tools::{Context, InstructionView};
use sim_core::{AccessKind, Memory};
use timing::work::{Access, Phase};

use super::asked::{Asked, Author, Place, Seen, Source};
use crate::profile::machine::spins;

/// A warp, and the number of one of its accesses.
type Number = (u32, u32);

/// What all workers know.
#[derive(Default, Debug)]
pub(super) struct Shared {
    /// By memory (0 is global, a block's number more than 0 its own) and word: who wrote it.
    words: HashMap<Place, Word>,
    /// By block: phases that its accesses complete, by warp and number.
    releases: BTreeMap<u64, Vec<(Number, Phase)>>,
}

/// Who wrote a word. At a barrier each warp writes once a round; who writes again has been let go on.
#[derive(Default, Debug)]
struct Word {
    /// The last author of each round.
    rounds: Vec<Author>,
    /// Who has written in this round.
    members: BTreeSet<(u64, u32)>,
    /// The round in which each wrote last.
    own: HashMap<(u64, u32), usize>,
    /// How far others are who write none.
    looked: HashMap<(u64, u32), Looked>,
}

/// How many rounds of a word somebody has done with, as what it waited for came in the last of them; and how many there were when
/// it last looked.
#[derive(Clone, Copy, Default, Debug)]
struct Looked {
    done: usize,
    all: usize,
}

/// Rounds of a word that are told apart.
const MOST_ROUNDS: usize = 1 << 12;

impl Word {
    fn written(&mut self, author: Author) {
        let id = (author.block, author.warp);
        let again = !self.members.insert(id);
        if again {
            self.members = BTreeSet::from([id]);
        }
        let full = self.rounds.len() >= MOST_ROUNDS;
        match self.rounds.last_mut() {
            Some(last) if !again || full => *last = author,
            _ => self.rounds.push(author),
        }
        self.own.insert(id, self.rounds.len() - 1);
    }

    /// What a warp waited for that saw the word as it is, perhaps `again` as it waits still: what the last of its own round wrote. Who
    /// wrote none waits for the first round that it has not seen: here blocks run one after the other, and what the word is to
    /// them is what it becomes in the end, where others go on with what is there first.
    fn read(&mut self, place: Place, (block, warp): (u64, u32), again: bool) -> Option<Source> {
        if let Some(&round) = self.own.get(&(block, warp)) {
            return Some(Source::Round(place, round));
        }
        let last = self.rounds.len().checked_sub(1)?;
        let looked = self.looked.entry((block, warp)).or_default();
        // What it saw before was not it, if it looks again.
        let first = if again { looked.all } else { looked.done };
        let round = first.min(last);
        *looked = Looked { done: round + 1, all: last + 1 };
        Some(Source::Author(self.rounds[round]))
    }
}

/// What an instruction is to those that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// None of it.
    None,
    /// It waits.
    Waits,
    /// It may write what others wait for.
    Writes,
}

/// What a worker hears of.
#[derive(Default, Debug)]
pub(super) struct Waits {
    shared: Arc<Mutex<Shared>>,
    /// By position, as far as they were met.
    parts: Vec<Option<Part>>,
    /// Loops by function, as the address of its body.
    loops: Vec<(usize, Vec<Range<usize>>)>,
}

impl Waits {
    pub(super) fn new(shared: &Arc<Mutex<Shared>>) -> Self {
        Waits { shared: Arc::clone(shared), ..Waits::default() }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&mut self, position: u32, context: &dyn Context) -> Part {
        let at = position as usize;
        if let Some(Some(known)) = self.parts.get(at) {
            return *known;
        }
        let part = context.instruction(position).map_or(Part::None, |of| self.part_of(of));
        if self.parts.len() <= at {
            self.parts.resize(at + 1, None);
        }
        self.parts[at] = Some(part);
        part
    }

    fn part_of(&mut self, of: InstructionView<'_>) -> Part {
        let body = std::ptr::from_ref(of.body).addr();
        let known = self.loops.iter().position(|(own, _)| *own == body);
        let known = known.unwrap_or_else(|| {
            self.loops.push((body, spins::loops(of.module, of.body)));
            self.loops.len() - 1
        });
        let loops = &self.loops[known].1;
        if loops.is_empty() {
            return Part::None;
        }
        let op = of.op();
        let place = of.body.instructions.iter().position(|own| std::ptr::eq(own, of.instruction));
        if place.is_some_and(|place| loops.iter().any(|turn| turn.contains(&place))) {
            return Part::Waits;
        }
        let strong = [Modifier::Volatile, Modifier::Relaxed, Modifier::Release];
        match op.opcode {
            Opcode::Atom | Opcode::Red => Part::Writes,
            Opcode::St if strong.iter().any(|&modifier| op.modifiers.has(modifier)) => Part::Writes,
            _ => Part::None,
        }
    }

    /// A warp has accessed memory, which is the last that was told of it.
    pub(super) fn accessed(&mut self, of: &Seen<'_>, asked: &mut Asked, context: &dyn Context) {
        let part = self.part(of.position, context);
        if !matches!(part, Part::Waits | Part::Writes) {
            return;
        }
        let told = asked.told(of.warp.warp);
        let memory = if of.memory == Memory::Shared { of.warp.block + 1 } else { 0 };
        let words = (0..32u32)
            .filter(|lane| of.lanes >> lane & 1 != 0)
            .map(|lane| (lane, (memory, of.addresses[lane as usize] / 4)));
        if part == Part::Writes {
            if of.kind != AccessKind::Read
                && let Some(number) = told.len().checked_sub(1)
            {
                let author = Author { block: of.warp.block, warp: of.warp.warp, number: number as u32 };
                let mut shared = self.shared();
                words.for_each(|(_, word)| shared.words.entry(word).or_default().written(author));
            }
            return;
        }
        // Another turn is the same access again.
        let mut again = false;
        if let [.., (before, _), (last, access)] = told[..]
            && before == last
        {
            again = true;
            told.pop();
            if let Access::Lines { first, .. } = access {
                asked.pieces.truncate(first as usize);
            }
        }
        let (of_block, of_warp) = (of.warp.block, of.warp.warp);
        let Some(number) = asked.told(of_warp).len().checked_sub(1) else { return };
        let read = asked.spun.entry((of.warp.warp, number as u32)).or_default();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        for (lane, word) in words {
            let of = shared.words.get_mut(&word);
            match of.and_then(|of| of.read(word, (of_block, of_warp), again)) {
                Some(source) => read.insert(lane, source),
                None => read.remove(&lane),
            };
        }
    }

    /// A block has finished: what it waited for are phases of its own, behind those that it has.
    pub(super) fn finished(&self, block: u64, asked: &mut Asked, phases: &mut Vec<u32>) {
        let mut shared = self.shared();
        for ((warp, number), read) in std::mem::take(&mut asked.spun) {
            let author = |source| match source {
                Source::Author(author) => Some(author),
                Source::Round(place, round) => shared.words.get(&place)?.rounds.get(round).copied(),
            };
            let authors: BTreeSet<Author> = read.into_values().filter_map(author).collect();
            if authors.is_empty() {
                continue;
            }
            let phase = Phase { block, number: phases.len() as u32 };
            phases.push(authors.len() as u32);
            asked.awaits.insert((warp, number), phase);
            for author in authors {
                let of = shared.releases.entry(author.block).or_default();
                of.push(((author.warp, author.number), phase));
            }
        }
    }

    /// All blocks have finished.
    pub(super) fn complete(&self, blocks: &mut BTreeMap<u64, Asked>) {
        let Shared { releases, .. } = std::mem::take(&mut *self.shared());
        for (block, list) in releases {
            match blocks.get_mut(&block) {
                Some(asked) => {
                    list.into_iter()
                        .for_each(|(access, phase)| asked.releases.entry(access).or_default().push(phase));
                }
                // Nobody need wait for a block that is not timed.
                None => list.into_iter().for_each(|(_, phase)| {
                    if let Some(wanted) =
                        blocks.get_mut(&phase.block).and_then(|of| of.phases.get_mut(phase.number as usize))
                    {
                        *wanted = wanted.saturating_sub(1);
                    }
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_at_a_barrier_waits_for_the_last_of_the_round() {
        let author = |block, number| Author { block, warp: 0, number };
        let (place, mut word) = ((0, 7), Word::default());
        word.written(author(0, 1));
        word.written(author(1, 1));
        // The second block is the last one, and is at the next barrier before the first one looks.
        word.written(author(1, 2));
        let Some(Source::Round(_, round)) = word.read(place, (0, 0), false) else { panic!("a round") };
        assert_eq!(word.rounds[round], author(1, 1));
        // Who has not written waits for the same, and then for the next.
        assert_eq!(word.read(place, (5, 0), false), Some(Source::Author(author(1, 1))));
    }

    #[test]
    fn who_writes_nothing_waits_for_what_it_has_not_seen() {
        let author = |block, number| Author { block, warp: 0, number };
        let (place, mut word) = ((0, 7), Word::default());
        let read = |word: &mut Word, warp, again| match word.read(place, (5, warp), again) {
            Some(Source::Author(of)) => of.number,
            of => panic!("{of:?}"),
        };
        // A part is known, then all of it, before anybody looks.
        word.written(author(0, 1));
        word.written(author(0, 2));
        assert_eq!(
            (read(&mut word, 0, false), read(&mut word, 0, false), read(&mut word, 0, false)),
            (1, 2, 2)
        );
        // One that has seen both and looks again waits for another.
        assert_eq!((read(&mut word, 1, false), read(&mut word, 1, true)), (1, 2));
        word.written(author(0, 3));
        word.written(author(0, 4));
        assert_eq!((read(&mut word, 1, true), read(&mut word, 1, false)), (3, 4));
    }
}
