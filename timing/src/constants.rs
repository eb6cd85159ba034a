//! Where constants come from: those of the launch, which are ahead of it, and those of the program, of which a multiprocessor keeps a
//! few lines and its group all that it has had.

use std::collections::VecDeque;

use crate::chip::Chip;

/// Lines that groups and the second level have together.
const PIECE: u32 = 4;

/// What is behind the multiprocessors.
#[derive(Debug)]
pub(crate) struct Behind {
    /// By group: when the port is free through which they come.
    ports: Vec<f64>,
    /// By group: what it has had of the program's, and when that was there.
    groups: Vec<Vec<(u32, f64)>>,
    /// The same of the second level.
    fetched: Vec<(u32, f64)>,
}

impl Behind {
    pub(crate) fn new(chip: &Chip) -> Self {
        let groups = chip.l2.groups.max(1) as usize;
        Behind { ports: vec![0.0; groups], groups: vec![Vec::new(); groups], fetched: Vec::new() }
    }

    /// When a group has a line of the program's.
    fn line(&mut self, chip: &Chip, group: usize, line: u32, now: f64) -> f64 {
        let piece = line / PIECE;
        let of = &mut self.groups[group];
        let place = match of.binary_search_by_key(&piece, |of| of.0) {
            Ok(at) => return of[at].1.max(now),
            Err(place) => place,
        };
        let comes = now + chip.constant.far;
        let at = match self.fetched.binary_search_by_key(&piece, |of| of.0) {
            Ok(known) => self.fetched[known].1.max(comes),
            Err(place) => {
                let at = comes + chip.constant.cold - chip.constant.near;
                self.fetched.insert(place, (piece, at));
                at
            }
        };
        of.insert(place, (piece, at));
        at
    }
}

/// What a multiprocessor has.
#[derive(Debug)]
pub(crate) struct Constants {
    /// By line of the launch's: when it is there.
    launch: Vec<f64>,
    /// Lines of the program's, and when each is there; the one that was used last is at the end.
    program: VecDeque<(u32, f64)>,
    /// When the words of others are read.
    words: f64,
}

impl Constants {
    pub(crate) fn new(chip: &Chip) -> Self {
        let lines = (1 << 16) / usize::from(chip.constant.line) + 1;
        Constants { launch: vec![f64::INFINITY; lines], program: VecDeque::new(), words: 0.0 }
    }

    /// Reads so many different words for the lanes of a warp; when it begins.
    pub(crate) fn read(&mut self, chip: &Chip, words: u8, now: f64) -> f64 {
        let begins = self.words.max(now);
        self.words = begins + chip.constant.busy * f64::from(words.max(1));
        begins
    }

    /// When one of the launch is there, at an offset.
    pub(crate) fn of_launch(
        &mut self,
        chip: &Chip,
        behind: &mut Behind,
        group: usize,
        offset: u16,
        now: f64,
    ) -> f64 {
        let at = &mut self.launch[usize::from(offset / chip.constant.line)];
        if at.is_infinite() {
            let port = &mut behind.ports[group];
            let begins = port.max(now);
            *port = begins + chip.constant.interval;
            *at = begins + chip.constant.miss;
        }
        *at
    }

    /// When a line of the program's is there.
    pub(crate) fn of_program(
        &mut self,
        chip: &Chip,
        behind: &mut Behind,
        group: usize,
        line: u32,
        now: f64,
    ) -> f64 {
        let known = self.program.iter().rposition(|of| of.0 == line);
        let (_, at) = known
            .and_then(|at| self.program.remove(at))
            .unwrap_or_else(|| (line, behind.line(chip, group, line, now) + chip.constant.near));
        self.program.push_back((line, at));
        if self.program.len() > chip.constant.lines as usize {
            self.program.pop_front();
        }
        at.max(now)
    }
}
