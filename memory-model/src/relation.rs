//! Sets of events and relations between them as bit rows: `W` words of 64 events each.
//!
//! Everything that is done once per candidate execution runs on these, so rows are fixed arrays and the
//! operations are word-wise. An execution of at most 64 events uses `W = 1`.

/// A set of events.
pub type Row<const W: usize> = [u64; W];

/// The elements of a row in ascending order.
pub fn elements<const W: usize>(row: &Row<W>) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(word, &bits)| {
        let mut bits = bits;
        std::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            Some(word * 64 + bit)
        })
    })
}

/// Whether a row holds the element.
pub fn contains<const W: usize>(row: &Row<W>, i: usize) -> bool {
    row[i / 64] >> (i % 64) & 1 != 0
}

/// Adds an element to a row.
pub fn insert<const W: usize>(row: &mut Row<W>, i: usize) {
    row[i / 64] |= 1 << (i % 64);
}

/// A binary relation over `0..n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation<const W: usize> {
    rows: Vec<Row<W>>,
}

impl<const W: usize> Relation<W> {
    /// The empty relation over `n` events, `n` at most `64 * W`.
    pub fn empty(n: usize) -> Self {
        assert!(n <= 64 * W, "{n} events do not fit in {W} words");
        Self { rows: vec![[0; W]; n] }
    }

    /// Makes the relation empty over `n` events, keeping its memory.
    pub fn reset(&mut self, n: usize) {
        assert!(n <= 64 * W, "{n} events do not fit in {W} words");
        self.rows.clear();
        self.rows.resize(n, [0; W]);
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no pair is related.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.iter().all(|&w| w == 0))
    }

    /// The events that `a` is related to.
    pub fn row(&self, a: usize) -> &Row<W> {
        &self.rows[a]
    }

    /// Whether `a` is related to `b`.
    pub fn has(&self, a: usize, b: usize) -> bool {
        contains(&self.rows[a], b)
    }

    /// Relates `a` to `b`.
    pub fn add(&mut self, a: usize, b: usize) {
        insert(&mut self.rows[a], b);
    }

    /// All pairs, in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows.iter().enumerate().flat_map(|(a, row)| elements(row).map(move |b| (a, b)))
    }

    /// `self = from`, reusing memory.
    pub fn copy_from(&mut self, from: &Self) {
        self.rows.clone_from(&from.rows);
    }

    /// `self = self ∪ other`.
    pub fn union(&mut self, other: &Self) {
        for (row, o) in self.rows.iter_mut().zip(&other.rows) {
            for (w, o) in row.iter_mut().zip(o) {
                *w |= o;
            }
        }
    }

    /// `self = self ∩ other`.
    pub fn intersect(&mut self, other: &Self) {
        for (row, o) in self.rows.iter_mut().zip(&other.rows) {
            for (w, o) in row.iter_mut().zip(o) {
                *w &= o;
            }
        }
    }

    /// `self = self \ other`.
    pub fn subtract(&mut self, other: &Self) {
        for (row, o) in self.rows.iter_mut().zip(&other.rows) {
            for (w, o) in row.iter_mut().zip(o) {
                *w &= !o;
            }
        }
    }

    /// Relates every event to itself.
    pub fn add_identity(&mut self) {
        for a in 0..self.rows.len() {
            self.add(a, a);
        }
    }

    /// `self = first ; second`.
    pub fn compose(&mut self, first: &Self, second: &Self) {
        self.reset(first.len());
        for (row, f) in self.rows.iter_mut().zip(&first.rows) {
            for m in elements(f) {
                for (w, s) in row.iter_mut().zip(&second.rows[m]) {
                    *w |= s;
                }
            }
        }
    }

    /// `self = of⁻¹`.
    pub fn invert(&mut self, of: &Self) {
        self.reset(of.len());
        for (a, b) in of.pairs() {
            self.add(b, a);
        }
    }

    /// Replaces the relation by its transitive closure.
    pub fn close(&mut self) {
        let n = self.rows.len();
        for m in 0..n {
            let through = self.rows[m];
            if through.iter().all(|&w| w == 0) {
                continue;
            }
            for row in &mut self.rows {
                if contains(row, m) {
                    for (w, t) in row.iter_mut().zip(&through) {
                        *w |= t;
                    }
                }
            }
        }
    }

    /// The events related to themselves.
    pub fn reflexive_points(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows.len()).filter(|&a| self.has(a, a))
    }

    /// A shortest path of at least one step from `from` to `to`, both ends included.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let n = self.rows.len();
        let mut parent = vec![usize::MAX; n];
        let mut queue = vec![from];
        let mut seen = [0u64; W];
        let mut head = 0;
        while head < queue.len() {
            let at = queue[head];
            head += 1;
            if self.has(at, to) {
                let mut path = vec![to, at];
                let mut node = at;
                while node != from {
                    node = parent[node];
                    path.push(node);
                }
                path.reverse();
                return Some(path);
            }
            for next in elements(&self.rows[at]) {
                if next != from && !contains(&seen, next) {
                    insert(&mut seen, next);
                    parent[next] = at;
                    queue.push(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pairs = Vec<(usize, usize)>;

    fn relation(pairs: &Pairs) -> Relation<2> {
        let mut r = Relation::empty(100);
        for &(a, b) in pairs {
            r.add(a, b);
        }
        r
    }

    fn pairs() -> impl Strategy<Value = Pairs> {
        proptest::collection::vec((0usize..100, 0usize..100), 0..60)
    }

    proptest! {
        #[test]
        fn composition_and_inverse_agree_with_their_definitions(p in pairs(), q in pairs()) {
            let (r, s) = (relation(&p), relation(&q));
            let mut composed = Relation::empty(0);
            composed.compose(&r, &s);
            for a in 0..100 {
                for b in 0..100 {
                    let by_definition = p.iter().any(|&(x, m)| x == a && q.contains(&(m, b)));
                    prop_assert_eq!(composed.has(a, b), by_definition);
                }
            }
            let mut inverse = Relation::empty(0);
            inverse.invert(&r);
            prop_assert!(p.iter().all(|&(a, b)| inverse.has(b, a)));
            prop_assert_eq!(inverse.pairs().count(), r.pairs().count());
        }

        #[test]
        fn closure_is_reachability_and_paths_are_paths(p in pairs()) {
            let r = relation(&p);
            let mut closed = r.clone();
            closed.close();
            for a in 0..100 {
                for b in 0..100 {
                    let path = r.path(a, b);
                    prop_assert_eq!(path.is_some(), closed.has(a, b));
                    if let Some(path) = path {
                        prop_assert_eq!((path[0], path[path.len() - 1]), (a, b));
                        prop_assert!(path.len() >= 2);
                        prop_assert!(path.windows(2).all(|w| r.has(w[0], w[1])));
                    }
                }
            }
        }
    }
}
