//! Maps from small numbers that share what they have in common.
//!
//! What a thread knows is mostly what another one knew, and a little more. A map is a tree whose branches are shared with
//! the maps that it came from: copies, comparisons and joins look only at branches that differ, so that a chain of
//! threads that each take in what all before them knew costs each of them little.

use std::sync::Arc;

/// What maps hold: values of which one can know all that another one knows.
pub(super) trait Value: Clone + Default + Eq {
    /// Whether another value holds nothing more.
    fn knows(&self, other: &Self) -> bool;
    /// Takes in another value.
    fn join(&mut self, other: &Self);
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize;
}

/// Bits of a key that tell the branches of a node apart.
const BITS: u32 = 5;

/// A node; its keys have all bits above its height in common, and ascend.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node<V> {
    Leaf(Vec<(u32, V)>),
    Inner(Vec<(u32, Arc<Node<V>>)>),
}

/// A map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree<V> {
    root: Node<V>,
    /// Bits of the keys below the root, and what all have above them.
    height: u32,
    prefix: u32,
}

impl<V> Default for Tree<V> {
    fn default() -> Self {
        Self { root: Node::Leaf(Vec::new()), height: BITS, prefix: 0 }
    }
}

fn above(key: u32, height: u32) -> u32 {
    key.checked_shr(height).unwrap_or(0)
}

/// The branch of a node of some height that a key is in.
fn branch(key: u32, height: u32) -> u32 {
    above(key, height - BITS)
}

impl<V: Value> Node<V> {
    fn get(&self, key: u32, height: u32) -> Option<&V> {
        match self {
            Node::Leaf(entries) => match &entries[..] {
                [(only, value)] => (*only == key).then_some(value),
                _ => entries.binary_search_by_key(&key, |e| e.0).ok().map(|i| &entries[i].1),
            },
            Node::Inner(children) => {
                let at = children.binary_search_by_key(&branch(key, height), |e| e.0).ok()?;
                children[at].1.get(key, height - BITS)
            }
        }
    }

    fn entry(&mut self, key: u32, height: u32) -> &mut V {
        match self {
            Node::Leaf(entries) => {
                let at = entries.binary_search_by_key(&key, |e| e.0).unwrap_or_else(|at| {
                    entries.insert(at, (key, V::default()));
                    at
                });
                &mut entries[at].1
            }
            Node::Inner(children) => {
                let number = branch(key, height);
                let at = children.binary_search_by_key(&number, |e| e.0).unwrap_or_else(|at| {
                    children.insert(at, (number, Arc::new(Node::empty(height - BITS))));
                    at
                });
                Arc::make_mut(&mut children[at].1).entry(key, height - BITS)
            }
        }
    }

    fn find<R>(&self, look: &mut impl FnMut(u32, &V) -> Option<R>) -> Option<R> {
        match self {
            Node::Leaf(entries) => entries.iter().find_map(|(key, value)| look(*key, value)),
            Node::Inner(children) => children.iter().find_map(|(_, child)| child.find(look)),
        }
    }

    fn empty(height: u32) -> Self {
        if height == BITS { Node::Leaf(Vec::new()) } else { Node::Inner(Vec::new()) }
    }

    /// Whether another node of the same height and prefix knows nothing more.
    fn knows(&self, other: &Self) -> bool {
        match (self, other) {
            (Node::Leaf(mine), Node::Leaf(theirs)) => {
                all_known(mine, theirs, V::knows, |value| V::default().knows(value))
            }
            (Node::Inner(mine), Node::Inner(theirs)) => {
                let knows = |a: &Arc<Self>, b: &Arc<Self>| Arc::ptr_eq(a, b) || a.knows(b);
                all_known(mine, theirs, knows, |_| false)
            }
            // What holds nothing, of any height.
            (_, Node::Leaf(theirs)) => theirs.is_empty(),
            (_, Node::Inner(theirs)) => theirs.is_empty(),
        }
    }

    /// Whether this node knows all of the other, and the other all of this.
    fn compare(&self, other: &Self) -> (bool, bool) {
        match (self, other) {
            (Node::Leaf(mine), Node::Leaf(theirs)) => {
                compare_all(mine, theirs, |a, b| if a == b { (true, true) } else { (a.knows(b), b.knows(a)) })
            }
            (Node::Inner(mine), Node::Inner(theirs)) => {
                compare_all(mine, theirs, |a, b| if Arc::ptr_eq(a, b) { (true, true) } else { a.compare(b) })
            }
            _ => (self.knows(other), other.knows(self)),
        }
    }

    fn join(&mut self, other: &Self) {
        match (self, other) {
            (Node::Leaf(mine), Node::Leaf(theirs)) => join_all(mine, theirs, |a, b| {
                if a != b && !a.knows(b) {
                    a.join(b);
                }
            }),
            (Node::Inner(mine), Node::Inner(theirs)) => join_all(mine, theirs, join_nodes),
            _ => {}
        }
    }

    /// Bytes on the heap of what is shared with nobody.
    fn heap_bytes(&self) -> usize {
        match self {
            Node::Leaf(entries) => {
                entries.capacity() * size_of::<(u32, V)>()
                    + entries.iter().map(|(_, value)| value.heap_bytes()).sum::<usize>()
            }
            Node::Inner(children) => {
                let own = children.iter().filter(|(_, child)| Arc::strong_count(child) == 1);
                children.capacity() * size_of::<(u32, Arc<Self>)>()
                    + own.map(|(_, child)| child.heap_bytes() + size_of::<Self>()).sum::<usize>()
            }
        }
    }
}

fn join_nodes<V: Value>(mine: &mut Arc<Node<V>>, theirs: &Arc<Node<V>>) {
    if Arc::ptr_eq(mine, theirs) {
        return;
    }
    match mine.compare(theirs) {
        (true, _) => {}
        (_, true) => *mine = Arc::clone(theirs),
        _ => Arc::make_mut(mine).join(theirs),
    }
}

/// Compares by key both ways; what only one side has, the other does not know.
fn compare_all<T>(
    mine: &[(u32, T)],
    theirs: &[(u32, T)],
    compare: impl Fn(&T, &T) -> (bool, bool),
) -> (bool, bool) {
    let (mut i, mut j) = (0, 0);
    let (mut forth, mut back) = (true, true);
    while (forth || back) && (i < mine.len() || j < theirs.len()) {
        match (mine.get(i), theirs.get(j)) {
            (Some((a, mine)), Some((b, theirs))) if a == b => {
                let (f, b) = compare(mine, theirs);
                (forth, back) = (forth && f, back && b);
                (i, j) = (i + 1, j + 1);
            }
            (Some((a, _)), Some((b, _))) if a > b => (forth, j) = (false, j + 1),
            (None, _) => (forth, j) = (false, j + 1),
            _ => (back, i) = (false, i + 1),
        }
    }
    (forth, back)
}

/// Whether for each of theirs, mine of that key knows it; of some it may be that nobody need know them.
fn all_known<T>(
    mine: &[(u32, T)],
    theirs: &[(u32, T)],
    knows: impl Fn(&T, &T) -> bool,
    says_nothing: impl Fn(&T) -> bool,
) -> bool {
    let mut rest = mine;
    theirs.iter().all(|(key, theirs)| {
        while let [(other, _), further @ ..] = rest
            && other < key
        {
            rest = further;
        }
        match rest.first() {
            Some((other, mine)) if other == key => knows(mine, theirs),
            _ => says_nothing(theirs),
        }
    })
}

/// Takes in all of theirs.
fn join_all<T: Clone>(mine: &mut Vec<(u32, T)>, theirs: &[(u32, T)], join: impl Fn(&mut T, &T)) {
    let mut at = 0;
    for (key, value) in theirs {
        while at < mine.len() && mine[at].0 < *key {
            at += 1;
        }
        match mine.get_mut(at) {
            Some((other, mine)) if other == key => join(mine, value),
            _ => mine.insert(at, (*key, value.clone())),
        }
    }
}

impl<V: Value> Tree<V> {
    fn is_empty(&self) -> bool {
        matches!(&self.root, Node::Leaf(entries) if entries.is_empty())
    }

    /// The value of a key.
    #[inline]
    pub(super) fn get(&self, key: u32) -> Option<&V> {
        (above(key, self.height) == self.prefix).then(|| self.root.get(key, self.height)).flatten()
    }

    /// The first thing found among keys and values, which ascend.
    pub(super) fn find<R>(&self, mut look: impl FnMut(u32, &V) -> Option<R>) -> Option<R> {
        self.root.find(&mut look)
    }

    /// The value of a key, to change; nothing if there was none.
    pub(super) fn entry(&mut self, key: u32) -> &mut V {
        self.reach(key, BITS);
        self.root.entry(key, self.height)
    }

    /// Whether no other key has a value.
    pub(super) fn holds_only(&self, key: u32) -> bool {
        match &self.root {
            Node::Leaf(entries) => entries.iter().all(|(other, _)| *other == key),
            Node::Inner(_) => false,
        }
    }

    /// The only value, if there is just one.
    pub(super) fn only(&self) -> Option<&V> {
        match &self.root {
            Node::Leaf(entries) => match &entries[..] {
                [(_, value)] => Some(value),
                _ => None,
            },
            Node::Inner(_) => None,
        }
    }

    /// Grows until nodes of some height around a key are below the root, or the root is one.
    fn reach(&mut self, key: u32, height: u32) {
        if self.is_empty() {
            (self.root, self.height, self.prefix) = (Node::empty(height), height, above(key, height));
        }
        while self.height < height || above(key, self.height) != self.prefix {
            let root = std::mem::replace(&mut self.root, Node::Inner(Vec::new()));
            self.root = Node::Inner(vec![(self.prefix, Arc::new(root))]);
            self.height += BITS;
            self.prefix = above(self.prefix, BITS);
        }
    }

    /// Whether another map holds nothing more.
    pub(super) fn knows(&self, other: &Self) -> bool {
        if other.is_empty() {
            return true;
        }
        let mut node = &self.root;
        let mut height = self.height;
        // A root that is not a leaf has several branches: what is higher holds more.
        if height < other.height || above(other.prefix, height - other.height) != self.prefix {
            return false;
        }
        while height > other.height {
            let Node::Inner(children) = node else { return false };
            let number = above(other.prefix, height - BITS - other.height);
            let Ok(at) = children.binary_search_by_key(&number, |e| e.0) else { return false };
            node = &children[at].1;
            height -= BITS;
        }
        node.knows(&other.root)
    }

    /// Whether this map knows all of the other, and the other all of this; of values that say nothing it may be wrongly
    /// no.
    pub(super) fn compare(&self, other: &Self) -> (bool, bool) {
        if (self.height, self.prefix) == (other.height, other.prefix) {
            self.root.compare(&other.root)
        } else {
            (self.knows(other), other.knows(self))
        }
    }

    /// Takes in another map.
    pub(super) fn join(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        // Any key below the other root.
        self.reach(other.prefix.checked_shl(other.height).unwrap_or(0), other.height);
        let (mut node, mut height) = (&mut self.root, self.height);
        while height > other.height {
            let Node::Inner(children) = node else { return };
            let number = above(other.prefix, height - BITS - other.height);
            height -= BITS;
            let at = children.binary_search_by_key(&number, |e| e.0).unwrap_or_else(|at| {
                children.insert(at, (number, Arc::new(Node::empty(height))));
                at
            });
            node = Arc::make_mut(&mut children[at].1);
        }
        node.join(&other.root);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.root.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    struct Most(u32);

    impl Value for Most {
        fn knows(&self, other: &Self) -> bool {
            self.0 >= other.0
        }
        fn join(&mut self, other: &Self) {
            self.0 = self.0.max(other.0);
        }
        fn heap_bytes(&self) -> usize {
            0
        }
    }

    type Maps = [(Tree<Most>, BTreeMap<u32, u32>); 3];

    proptest! {
        /// Against maps of the standard library: near keys, far keys, and maps that are copies of each other.
        #[test]
        fn trees_are_maps(steps in proptest::collection::vec((0usize..3, 0usize..3, 0u32..40, 0u8..5, 1u32..4), 0..60)) {
            let mut maps = Maps::default();
            for (to, from, key, what, value) in steps {
                let key = [key, key << 3, key << 9, key << 26][key as usize % 4];
                match what {
                    0 => maps[to] = maps[from].clone(),
                    1 => {
                        let (tree, map) = maps[from].clone();
                        maps[to].0.join(&tree);
                        for (key, value) in map {
                            let mine = maps[to].1.entry(key).or_default();
                            *mine = value.max(*mine);
                        }
                    }
                    _ => {
                        maps[to].0.entry(key).join(&Most(value));
                        let mine = maps[to].1.entry(key).or_default();
                        *mine = value.max(*mine);
                    }
                }
                let found = maps[to].0.get(key).map(|value| value.0);
                prop_assert_eq!(found, maps[to].1.get(&key).copied());
                for ((a, map_a), (b, map_b)) in maps.iter().zip(&maps[1..]) {
                    let knows = map_b.iter().all(|(key, value)| map_a.get(key).is_some_and(|mine| mine >= value));
                    prop_assert_eq!(a.knows(b), knows);
                    prop_assert_eq!(a == b, map_a == map_b);
                }
            }
        }
    }
}
