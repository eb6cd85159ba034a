//! The random schedule: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), seeded by launch and block.

/// A small generator; the same seed gives the same schedule for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, block: u64) -> Random {
        let mut random = Random(seed ^ block.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

/// An order in which each number below `count` comes once, without memory for it: a Feistel network over the
/// next power of four, followed as long as it leads beyond the end (Black, Rogaway, CT-RSA 2002).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    count: u64,
    first: u64,
    half: u32,
    keys: [u64; 4],
}

impl Order {
    /// The order of a seed. Seeds that follow each other begin with numbers that follow each other.
    pub(crate) fn new(seed: u64, count: u64) -> Order {
        let mut random = Random::new(seed, !0);
        let bits = u64::BITS - count.saturating_sub(2).leading_zeros();
        Order {
            count,
            first: seed % count.max(1),
            half: bits.div_ceil(2),
            keys: std::array::from_fn(|_| random.next()),
        }
    }

    /// Number `at`, which is below the count.
    pub(crate) fn number(&self, at: u64) -> u64 {
        let Some(mut other) = at.checked_sub(1) else { return self.first };
        loop {
            other = self.network(other);
            if other < self.count - 1 {
                return ((u128::from(self.first) + u128::from(other) + 1) % u128::from(self.count)) as u64;
            }
        }
    }

    fn network(&self, value: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut high, mut low) = (value >> self.half, value & mask);
        for key in self.keys {
            (high, low) = (low, high ^ Random(key ^ low).next() & mask);
        }
        high << self.half | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_number_once() {
        for count in [1, 2, 3, 4, 5, 8, 17, 100, 1000] {
            let mut firsts = std::collections::BTreeSet::new();
            for seed in 1..=count.min(20) {
                let order = Order::new(seed, count);
                let mut all: Vec<u64> = (0..count).map(|at| order.number(at)).collect();
                firsts.insert(all[0]);
                assert!(
                    count < 17
                        || all.windows(2).filter(|pair| pair[0] < pair[1]).count() < count as usize - 4
                );
                all.sort_unstable();
                assert_eq!(all, (0..count).collect::<Vec<_>>(), "seed {seed}");
            }
            assert_eq!(firsts.len() as u64, count.min(20));
        }
        let order = Order::new(7, 1 << 62);
        assert_ne!(order.number(0), order.number(1));
    }
}
