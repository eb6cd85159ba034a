//! The way of a thread through machine code, from its way through the PTX: the cheapest that does what the PTX does, in its
//! order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::super::limit::Limit;
use super::anchors::{Anchors, Cover};
use super::graph::{Block, Graph, Leave};
use super::listing::Listing;

/// A block of machine code that a thread executes, and which of what it may do behind guards it does: bits by the block's
/// covers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The block.
    pub block: u32,
    /// Of its optional covers, those that are done.
    pub done: u32,
    /// Those of which one does not know whether it is here that they are done: blocks come before them that may be anywhere.
    pub perhaps: u32,
}

/// A way through machine code.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Path {
    /// The blocks.
    pub steps: Vec<Step>,
    /// How often there was another way that does the same, and the cheaper one was taken.
    pub guesses: u64,
}

/// Why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// How much of the trace was done at the most.
    pub at: u32,
    /// Blocks of the PTX of which one is not where it is thought to be, that of which the least is known first.
    pub suspects: Vec<u32>,
}

/// What a branch costs that no branch of the PTX is behind: ptxas leaves the way of an unrolled loop where it is too short.
const UNLIKELY: u64 = 1 << 8;
/// What a function costs that ptxas brings along, for operands that are no usual numbers.
const LAST_RESORT: u64 = 1 << 20;

/// States between looks at the limit.
const LOOK: u32 = 1 << 10;

/// States that are looked at before one is found that all ways lead through.
const MOST_STATES: usize = 1 << 18;
/// Steps that a way may take one after the other without any that does what the PTX does, by blocks of machine code. More are a loop
/// that one does not come out of.
const MOST_IDLE: usize = 1 << 6;
const END: u32 = u32::MAX;
const DEEPEST: u32 = 1 << 12;

/// What is known of a kernel.
pub struct Follower<'a> {
    graph: &'a Graph,
    /// By block.
    covers: Vec<Vec<Cover>>,
    free: Vec<bool>,
    /// How much is known of where each block of the PTX is.
    weights: Vec<u32>,
    /// By block: where it branches to, if no branch of the PTX is behind that.
    forks: Vec<Option<u32>>,
    /// By block: whether it is of no line of the PTX.
    brought: Vec<bool>,
    limit: &'a Limit,
}

/// A place in machine code after which so much of the way through the PTX is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct State {
    done: u32,
    block: u32,
    stack: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    state: State,
    cost: u64,
    step: Step,
    /// The best of the nodes that lead here, and the first of the edges from others; none of the first node.
    best: u32,
    others: u32,
    closed: bool,
}

/// From a node, and the next edge to where it leads.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    next: u32,
}

/// No node, or no edge.
const NONE: u32 = u32::MAX;

/// Callers: the block to return to, the rest, and how many there are.
#[derive(Default)]
struct Stacks {
    list: Vec<(u32, u32, u32)>,
    known: FxHashMap<(u32, u32), u32>,
}

impl Stacks {
    fn push(&mut self, back: u32, rest: u32) -> Option<u32> {
        if let Some(&known) = self.known.get(&(back, rest)) {
            return Some(known);
        }
        let depth = if rest == 0 { 1 } else { self.list[rest as usize - 1].2 + 1 };
        if depth > DEEPEST {
            return None;
        }
        self.list.push((back, rest, depth));
        let number = self.list.len() as u32;
        self.known.insert((back, rest), number);
        Some(number)
    }

    fn pop(&self, stack: u32) -> Option<(u32, u32)> {
        let (back, rest, _) = *self.list.get(stack.checked_sub(1)? as usize)?;
        Some((back, rest))
    }
}

/// The search for one way.
struct Search<'a> {
    of: &'a Follower<'a>,
    trace: &'a [u32],
    /// What all ways lead through, and what comes behind it.
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// By state: the node, but of the first.
    known: FxHashMap<State, u32>,
    heap: BinaryHeap<Reverse<(u32, u64, u32)>>,
    stacks: Stacks,
    path: Path,
    /// How long the path was when it last did what the PTX does.
    busy: usize,
    /// How far one came, and what was missing there.
    furthest: (u32, Vec<u32>),
    /// Where the node leads that is looked at.
    next: Vec<Arrival>,
    room: Room,
}

/// A way into a block.
#[derive(Clone, Copy)]
struct Arrival {
    state: State,
    step: Step,
    cost: u64,
}

/// What [`Search::commit`] works with.
#[derive(Default)]
struct Room {
    /// By node: whether it leads where all ways do, and how many ways there are from it.
    leads: Vec<bool>,
    ways_on: Vec<u32>,
    open: Vec<u32>,
}

impl<'a> Follower<'a> {
    /// Of a kernel with what its blocks are thought to do. When the limit is over, no way is found.
    pub fn new(graph: &'a Graph, listing: &Listing, anchors: &Anchors, limit: &'a Limit) -> Self {
        let covers = anchors.covers(graph.blocks.len());
        let most = anchors.block_of.last().map_or(0, |last| last + 1);
        let weights = (0..most).map(|ptx| anchors.weight(ptx)).collect();
        let last = |block: &Block| &listing.instructions[block.end as usize - 1];
        let fork = |block: &Block| match &block.leave {
            Leave::To(list) if list.len() == 2 && !anchors.branches.contains(&last(block).line) => {
                list.get(1).copied()
            }
            _ => None,
        };
        let free = (0..most).map(|ptx| anchors.is_free(ptx)).collect();
        let forks = graph.blocks.iter().map(fork).collect();
        let brought = (0..graph.blocks.len() as u32).map(|block| graph.is_brought(block, listing)).collect();
        Follower { graph, covers, free, weights, forks, brought, limit }
    }

    /// What a block does.
    pub fn covers(&self, block: u32) -> &[Cover] {
        self.covers.get(block as usize).map_or(&[], |covers| covers)
    }

    /// The way that does what a trace of PTX blocks does.
    ///
    /// # Errors
    /// There is none.
    pub fn follow(&self, trace: &[u32]) -> Result<Path, Stuck> {
        let mut search = Search {
            of: self,
            trace,
            nodes: Vec::new(),
            edges: Vec::new(),
            known: FxHashMap::default(),
            heap: BinaryHeap::new(),
            stacks: Stacks::default(),
            path: Path::default(),
            busy: 0,
            furthest: (0, Vec::new()),
            next: Vec::new(),
            room: Room::default(),
        };
        search.enter(0, 0, 0, 0);
        if let Some(Arrival { state, step, cost }) = search.next.pop() {
            search.nodes.push(Node { state, cost, step, best: NONE, others: NONE, closed: false });
            search.heap.push(Reverse((state.done, cost, 0)));
        }
        search.run()
    }

    /// Does what a block does from a place of a trace on: the place behind, and which optional covers were done; or how far one
    /// comes, and what is missing there.
    fn consume(&self, trace: &[u32], mut at: u32, block: u32) -> Result<(u32, Step), (u32, u32)> {
        let covers = self.covers(block);
        let mut left = [0u32; 64];
        if covers.len() > left.len() {
            return Err((at, covers[0].ptx));
        }
        covers.iter().zip(&mut left).for_each(|(cover, left)| *left = cover.times);
        let mut step = Step { block, done: 0, perhaps: 0 };
        let mut skipped = false;
        while let Some(&ptx) = trace.get(at as usize) {
            match covers.iter().position(|cover| cover.ptx == ptx) {
                Some(cover) if left[cover] > 0 => {
                    left[cover] -= 1;
                    step.done |= 1 << cover.min(31);
                    step.perhaps |= u32::from(skipped) << cover.min(31);
                    skipped = false;
                }
                _ if self.free.get(ptx as usize).copied().unwrap_or(true) => skipped = true,
                _ => break,
            }
            at += 1;
        }
        let missing = covers.iter().zip(left).find(|(cover, left)| !cover.optional && *left > 0);
        missing.map_or(Ok((at, step)), |(cover, _)| Err((at, cover.ptx)))
    }
}

impl Search<'_> {
    /// Comes into a block, if the way through the PTX goes on there.
    fn enter(&mut self, done: u32, block: u32, stack: u32, cost: u64) {
        let arrival = if block == END {
            if (done as usize) < self.trace.len() {
                self.stuck(done, None);
                return;
            }
            Arrival {
                state: State { done, block, stack: 0 },
                step: Step { block, done: 0, perhaps: 0 },
                cost,
            }
        } else {
            match self.of.consume(self.trace, done, block) {
                Err((at, missing)) => {
                    self.stuck(at, Some(missing));
                    return;
                }
                Ok((behind, step)) => {
                    let of = &self.of.graph.blocks[block as usize];
                    let state = State { done: behind, block, stack };
                    Arrival { state, step, cost: cost + u64::from(of.end - of.first) }
                }
            }
        };
        self.stuck(arrival.state.done, None);
        self.next.push(arrival);
    }

    /// A node leads to where one arrives.
    fn note(&mut self, Arrival { state, step, cost }: Arrival, from: u32) {
        // No way comes back to the first but round a loop that does nothing.
        if state == self.nodes[0].state {
            return;
        }
        if let Some(&known) = self.known.get(&state) {
            let node = &mut self.nodes[known as usize];
            let edge = self.edges.len() as u32;
            let mut other = from;
            if !node.closed && cost < node.cost {
                other = std::mem::replace(&mut node.best, from);
                (node.cost, node.step) = (cost, step);
                self.heap.push(Reverse((state.done, cost, known)));
            }
            self.edges.push(Edge { from: other, next: node.others });
            node.others = edge;
            return;
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(Node { state, cost, step, best: from, others: NONE, closed: false });
        self.known.insert(state, number);
        self.heap.push(Reverse((state.done, cost, number)));
    }

    fn stuck(&mut self, at: u32, missing: Option<u32>) {
        if at > self.furthest.0 {
            self.furthest = (at, missing.into_iter().collect());
        } else if at == self.furthest.0 {
            self.furthest.1.extend(missing.filter(|missing| !self.furthest.1.contains(missing)));
        }
    }

    fn run(mut self) -> Result<Path, Stuck> {
        let mut end = None;
        let mut steps = 0u32;
        'nodes: while let Some(Reverse((_, cost, at))) = self.heap.pop() {
            let node = &mut self.nodes[at as usize];
            if node.closed || node.cost != cost {
                continue;
            }
            node.closed = true;
            if node.state.block == END {
                end = Some(at);
                continue;
            }
            let is_alone = self.heap.is_empty() && end.is_none();
            let at = if is_alone { self.commit(at) } else { at };
            loop {
                steps = steps.wrapping_add(1);
                let is_over = steps.is_multiple_of(LOOK) && self.of.limit.is_over();
                if self.nodes.len() > MOST_STATES || self.is_idle() || is_over {
                    break 'nodes;
                }
                self.look(at);
                match self.next[..] {
                    // Where there is one way on, all lead through what is there, too.
                    [only] if is_alone && only.state.block != END && only.state != self.nodes[0].state => {
                        self.begin();
                        let Arrival { state, step, cost } = only;
                        self.path.steps.push(step);
                        self.came(self.nodes[0].state.done, state.done);
                        self.nodes[0] = Node { state, cost, step, best: NONE, others: NONE, closed: true };
                        self.next.clear();
                    }
                    _ => break,
                }
            }
            let mut next = std::mem::take(&mut self.next);
            next.drain(..).for_each(|arrival| self.note(arrival, at));
            self.next = next;
        }
        match end {
            Some(end) => {
                self.commit(end);
                self.path.steps.retain(|step| step.block != END);
                Ok(self.path)
            }
            None => {
                let (at, mut suspects) = self.furthest;
                // It may as well be what comes next that should have been done elsewhere.
                let next = self.trace.get(at as usize).or(self.trace.last()).copied().unwrap_or(0);
                if !suspects.contains(&next) {
                    suspects.push(next);
                }
                suspects.sort_by_key(|&ptx| self.of.weights.get(ptx as usize).copied().unwrap_or(0));
                Err(Stuck { at, suspects })
            }
        }
    }

    /// The path is longer, and so much is done.
    fn came(&mut self, before: u32, done: u32) {
        if done > before {
            self.busy = self.path.steps.len();
        }
    }

    /// Whether the path goes round a loop that does nothing of what the PTX does.
    fn is_idle(&self) -> bool {
        self.path.steps.len() - self.busy > MOST_IDLE * (MOST_IDLE + self.of.graph.blocks.len())
    }

    /// Looks where a node leads.
    fn look(&mut self, at: u32) {
        let Node { state: State { done, block, stack }, cost, .. } = self.nodes[at as usize];
        let graph = self.of.graph;
        match &graph.blocks[block as usize].leave {
            Leave::To(list) => {
                let fork = self.of.forks[block as usize];
                for &to in list {
                    let unlikely = u64::from(fork == Some(to)) * UNLIKELY;
                    self.enter(done, to, stack, cost + unlikely);
                }
            }
            Leave::Call { function, back, conditional } => {
                if let Some(inner) = self.stacks.push(*back, stack) {
                    let slow = u64::from(self.of.brought[*function as usize]) * LAST_RESORT;
                    self.enter(done, *function, inner, cost + slow);
                }
                if *conditional {
                    self.enter(done, *back, stack, cost);
                }
            }
            Leave::Return(through) => {
                if let Some((back, rest)) = self.stacks.pop(stack) {
                    self.enter(done, back, rest, cost);
                }
                through.iter().for_each(|&to| self.enter(done, to, stack, cost));
            }
            Leave::Exit(through) => {
                self.enter(done, END, 0, cost);
                through.iter().for_each(|&to| self.enter(done, to, stack, cost));
            }
        }
    }

    /// The first node of all is written.
    fn begin(&mut self) {
        if self.path.steps.is_empty() {
            self.path.steps.push(self.nodes[0].step);
        }
    }

    /// All ways lead through a node: what leads there is decided. Its number from here on.
    fn commit(&mut self, last: u32) -> u32 {
        if last == 0 {
            return 0;
        }
        let Room { leads, ways_on, open } = &mut self.room;
        // Nodes from which it is reached.
        leads.clear();
        leads.resize(self.nodes.len(), false);
        ways_on.clear();
        ways_on.resize(self.nodes.len(), 0);
        open.push(last);
        leads[last as usize] = true;
        while let Some(at) = open.pop().map(|at| self.nodes[at as usize]) {
            let mut other = at.others;
            let others = std::iter::from_fn(|| {
                let edge = self.edges.get(other as usize)?;
                other = edge.next;
                Some(edge.from)
            });
            for from in (at.best != NONE).then_some(at.best).into_iter().chain(others) {
                ways_on[from as usize] += 1;
                if !leads[from as usize] {
                    leads[from as usize] = true;
                    open.push(from);
                }
            }
        }
        self.begin();
        let first = self.path.steps.len();
        let mut at = last;
        while at != 0 {
            let Node { step, best, .. } = self.nodes[at as usize];
            self.path.steps.push(step);
            self.path.guesses += u64::from(self.room.ways_on[best as usize] > 1);
            at = best;
        }
        self.path.steps[first..].reverse();
        self.came(self.nodes[0].state.done, self.nodes[last as usize].state.done);
        let node = Node { best: NONE, others: NONE, ..self.nodes[last as usize] };
        self.known.clear();
        self.edges.clear();
        self.nodes.clear();
        self.nodes.push(node);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::follow;
    use super::super::listing;
    use super::super::ways::{Position, Ways};

    #[test]
    fn loops_that_one_does_not_come_out_of_are_left() {
        // Two blocks that lead to each other, and what the thread does is behind them.
        let text = "kernel k\n1 S2R\n1 IADD3\n0 BRA +2\n0 EXIT\n0 IADD3\n0 BRA -4\n3 STG.E\n0 EXIT\n";
        let listing = listing::read(text).unwrap().remove("k").unwrap();
        let position = |(line, op): (u32, &str)| Position { line, op: op.into() };
        let positions = [(1, "mov.u32"), (5, "st.global.u32"), (6, "ret")];
        let ways = Ways {
            ways: vec![vec![(0, 3)]],
            warps: vec![([1; 32], 1)],
            positions: positions.map(position).to_vec(),
            ..Ways::default()
        };
        assert_eq!(follow(&listing, &ways).warps, (0, 1));
    }
}
