//! What an H200 gave for the kernels of `matrix_forms` and `matrix_transfers`: `testdata/h200/mma.txt` and
//! `fragments.txt`.

/// Hashes of one form.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    /// [`Form::title`](crate::forms::Form::title)
    pub(crate) name: &'static str,
    /// Runs of the device.
    pub(crate) runs: usize,
    /// All their hashes, folded.
    pub(crate) total: u64,
    /// The first of them.
    pub(crate) first: u64,
    /// The first [`TILES`] tiles.
    pub(crate) tiles: u64,
}

/// Tiles of which each form has a hash of its own, for a test of all forms in little time.
pub(crate) const TILES: usize = 16;

/// Folds hashes of runs.
pub(crate) fn fold(hashes: &[u64]) -> u64 {
    hashes.iter().fold(0, |total, hash| total.wrapping_mul(1_099_511_628_211).wrapping_add(*hash))
}

impl Recording {
    /// How many of the first runs are equal; all if the total is.
    pub(crate) fn equal(&self, hashes: &[u64]) -> usize {
        if hashes.len() == self.runs {
            return if fold(hashes) == self.total { self.runs } else { 0 };
        }
        // Between the first run and all of them nothing can be compared.
        usize::from(hashes.first() == Some(&self.first))
    }
}

fn hexadecimal(word: &str) -> u64 {
    u64::from_str_radix(word, 16).expect("a hexadecimal number")
}

/// The recordings in order of the forms.
pub(crate) fn forms() -> Vec<Recording> {
    include_str!("../../../testdata/h200/mma.txt")
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            let mut field = || fields.next().expect("five fields");
            let (name, runs) = (field(), field().parse().expect("a number of runs"));
            let [total, first, tiles] = std::array::from_fn(|_| hexadecimal(field()));
            Recording { name, runs, total, first, tiles }
        })
        .collect()
}

/// Names and hashes of the transfers.
pub(crate) fn transfers() -> Vec<(&'static str, u64)> {
    let lines = include_str!("../../../testdata/h200/fragments.txt").lines();
    lines
        .map(|line| line.split_once('\t').map(|(name, hash)| (name, hexadecimal(hash))).expect("a hash"))
        .collect()
}
