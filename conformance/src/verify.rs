//! Compares what a backend gives with a recording.

use std::collections::{BTreeMap, HashSet};

use ptx_frontend::ScalarType;
use rayon::prelude::*;
use sim_core::Backend;

use crate::case::{Case, Role};
use crate::catalog::{Catalog, NotCovered};
use crate::known::Known;
use crate::recording::{Entry, Layout, Recording, value};
use crate::run::{Refusal, run};
use crate::syndrome::Compared;

/// Differing tuples that are kept of a case.
const EXAMPLES: usize = 4;

/// A tuple for which both results are known, or the first of a run in which several differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// The thread.
    pub thread: usize,
    /// Names, types and bits of the operands.
    pub operands: Vec<(String, ScalarType, u128)>,
    /// Names of the results, with the recorded bits (`None` where they are not known) and the given ones.
    pub results: Vec<(String, Option<u128>, u128)>,
}

/// How the results of a case differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Runs of tuples with a difference, and all.
    pub runs: (usize, usize),
    /// Sampled tuples with a difference, and all.
    pub samples: (usize, usize),
    /// Some.
    pub examples: Vec<Example>,
}

/// What came of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All results are equal.
    Equal,
    /// They are not; with the reason if that is known.
    Differs(Box<Difference>, Option<String>),
    /// It could not be compared, and why.
    NotCovered(String),
}

/// What came of all cases.
#[derive(Clone, Debug)]
pub struct Report {
    /// The cases, in order.
    pub cases: Vec<(Case, Verdict)>,
    /// What has no case.
    pub not_covered: Vec<NotCovered>,
    /// Lines of the list of known differences for which no case differs.
    pub stale: Vec<String>,
    /// Recorded cases that the instruction table does not give.
    pub unknown: usize,
}

impl Report {
    /// Cases that are equal.
    pub fn equal(&self) -> usize {
        self.cases.iter().filter(|(_, verdict)| *verdict == Verdict::Equal).count()
    }

    /// Cases that differ, with the reason if it is known.
    pub fn differing(&self) -> impl Iterator<Item = (&Case, &Difference, Option<&str>)> {
        self.cases.iter().filter_map(|(case, verdict)| match verdict {
            Verdict::Differs(difference, reason) => Some((case, &**difference, reason.as_deref())),
            _ => None,
        })
    }

    /// Whether nothing differs without a reason, and no reason is left over.
    pub fn passed(&self) -> bool {
        self.stale.is_empty() && self.differing().all(|(_, _, reason)| reason.is_some())
    }
}

/// Runs all cases on a backend and compares them with a recording. `whole` says that the catalog holds
/// all cases, so that what is left over in the recording or the list is reported. `progress` is called
/// with the number of cases that were run.
///
/// Runs on the threads of the current rayon pool.
pub fn verify(
    catalog: &Catalog,
    recording: &Recording,
    known: &Known,
    backend: &dyn Backend,
    whole: bool,
    progress: &(dyn Fn(usize) + Sync),
) -> Report {
    let verdicts: Vec<Vec<(Case, Verdict)>> = catalog
        .batches
        .par_iter()
        .map(|batch| {
            let mut verdicts = Vec::with_capacity(batch.cases.len());
            run(backend, batch, |case, result| {
                verdicts.push((case.clone(), judge(case, result, recording)));
                progress(1);
            });
            verdicts
        })
        .collect();
    let mut cases: Vec<(Case, Verdict)> = verdicts.into_iter().flatten().collect();
    let mut used = HashSet::new();
    for (case, verdict) in &mut cases {
        if let (Verdict::Differs(_, reason), Some(line)) = (verdict, known.find(&case.text)) {
            used.insert(line);
            *reason = Some(known.lines()[line].1.clone());
        }
    }
    let (mut stale, mut unknown) = (Vec::new(), 0);
    if whole {
        let lines = known.lines().iter().enumerate();
        stale.extend(lines.filter(|(at, _)| !used.contains(at)).map(|(_, (text, _))| text.clone()));
        unknown = recording.unknown(&cases.iter().map(|(case, _)| case.key()).collect());
    }
    Report { cases, not_covered: catalog.not_covered.clone(), stale, unknown }
}

fn judge(case: &Case, result: Result<(Vec<u8>, Vec<u8>), Refusal>, recording: &Recording) -> Verdict {
    let layout = Layout::new(case);
    let Some(entry) = recording.find(case.key()).filter(|entry| entry.fits(&layout)) else {
        return Verdict::NotCovered("not in the recording".into());
    };
    match result {
        Err(Refusal::Unsupported(text)) => Verdict::NotCovered(format!("the simulator: {text}")),
        Err(Refusal::Failed(text)) => Verdict::NotCovered(format!("failed: {text}")),
        Ok((input, output)) => match compare(case, &layout, entry, &input, &output) {
            None => Verdict::Equal,
            Some(difference) => Verdict::Differs(Box::new(difference), None),
        },
    }
}

fn compare(case: &Case, layout: &Layout, entry: &Entry, input: &[u8], output: &[u8]) -> Option<Difference> {
    let runs = layout.tuples / layout.run;
    let words: Vec<(usize, usize)> = layout.words().collect();
    let mut wrong = Vec::new();
    for run in 0..runs {
        let compared: Vec<Compared> = words
            .iter()
            .enumerate()
            .map(|(at, &(column, word))| {
                let rows = run * layout.run..(run + 1) * layout.run;
                entry.code(layout, at, run).compare(rows.map(|row| layout.word(output, column, word, row)))
            })
            .collect();
        if compared.iter().any(|&compared| compared != Compared::Equal) {
            wrong.push((run, compared));
        }
    }
    // The samples are among the rows of the runs.
    if wrong.is_empty() {
        return None;
    }
    let operands = |row: usize| operands(case, layout.tuples, input, row);
    let columns = layout.widths.len();
    let name = |column: usize| case.results[column].name.clone();
    let mut examples = Vec::new();
    let mut samples = 0;
    for (at, row) in layout.sampled().enumerate() {
        let recorded = |column: usize| entry.sample(layout, column, at);
        let given = |column: usize| layout.element(output, column, row);
        if (0..columns).all(|column| recorded(column) == given(column)) {
            continue;
        }
        samples += 1;
        if examples.len() < EXAMPLES {
            let results = (0..columns).map(|c| (name(c), Some(recorded(c)), given(c))).collect();
            examples.push(Example { thread: row, operands: operands(row), results });
        }
    }
    for (run, compared) in &wrong {
        if examples.len() >= EXAMPLES {
            break;
        }
        examples.extend(located(layout, output, &words, *run, compared).into_iter().map(
            |(row, recorded)| {
                let given = |column: usize| layout.element(output, column, row);
                let results = recorded.into_iter().enumerate();
                Example {
                    thread: row,
                    operands: operands(row),
                    results: results.map(|(c, recorded)| (name(c), recorded, given(c))).collect(),
                }
            },
        ));
    }
    // Where nothing could be located, the beginning of the first run shows what is computed there.
    if examples.is_empty() {
        let first = wrong[0].0 * layout.run;
        examples.extend((first..first + EXAMPLES).map(|row| Example {
            thread: row,
            operands: operands(row),
            results: (0..columns).map(|c| (name(c), None, layout.element(output, c, row))).collect(),
        }));
    }
    examples.truncate(EXAMPLES);
    Some(Difference { runs: (wrong.len(), runs), samples: (samples, layout.samples), examples })
}

/// The rows of a run that differ, by what the codes say, with the recorded elements.
fn located(
    layout: &Layout,
    output: &[u8],
    words: &[(usize, usize)],
    run: usize,
    compared: &[Compared],
) -> BTreeMap<usize, Vec<Option<u128>>> {
    let mut rows: BTreeMap<usize, Vec<Option<u128>>> = BTreeMap::new();
    for (&(column, word), &compared) in words.iter().zip(compared) {
        if let Compared::One { at, recorded } = compared {
            let row = run * layout.run + at;
            let elements = rows.entry(row).or_insert_with(|| {
                (0..layout.widths.len()).map(|column| Some(layout.element(output, column, row))).collect()
            });
            if let Some(element) = &mut elements[column] {
                let shift = 32 * word;
                *element = *element & !(0xffff_ffff << shift) | u128::from(recorded) << shift;
            }
        }
    }
    // An element is known only if all of its words are.
    for (&(column, _), &compared) in words.iter().zip(compared) {
        if compared == Compared::Several {
            rows.values_mut().for_each(|elements| elements[column] = None);
        }
    }
    rows
}

/// The operands of a thread.
fn operands(case: &Case, tuples: usize, input: &[u8], row: usize) -> Vec<(String, ScalarType, u128)> {
    let mut start = 0;
    let mut operands = Vec::new();
    for source in &case.sources {
        let at = start + row * source.bytes;
        start += source.bytes * tuples;
        let name = match source.role {
            Role::Guard => "active".to_owned(),
            Role::Carry => "carry".to_owned(),
            _ => source.name.clone(),
        };
        operands.push((name, source.ty, value(&input[at..at + source.bytes])));
    }
    operands
}
