//! Random numbers that are the same everywhere, so that a failure names its seed.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), by its state.
///
/// ```
/// use testkit::random::Random;
///
/// let mut random = Random(7);
/// let picked = random.pick(&["load", "store"]);
/// assert!(["load", "store"].contains(&picked) && random.below(3) < 3);
/// assert_eq!(Random(7).next(), Random(7).next());
/// ```
#[derive(Clone, Debug)]
pub struct Random(pub u64);

#[allow(clippy::should_implement_trait, reason = "it never ends")]
impl Random {
    /// Of seeds that follow each other, whose numbers then have nothing in common.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From `first` to `last`, both possible.
    pub fn within(&mut self, first: i64, last: i64) -> i64 {
        self.range(first, last + 1)
    }

    /// From `low` on, below `high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as u64) as i64
    }

    /// In [low, high).
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// So often in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// So many of what a function makes.
    pub fn list<T>(&mut self, count: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| make(self)).collect()
    }
}
