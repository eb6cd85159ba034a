//! From choices (a path for each thread, a write for each read, ...) to an [`Execution`].

use crate::event::{Edge, Execution, Kind};
use crate::model::BarrierSemantics;
use crate::program::Scope;
use crate::skeleton::{Guard, Leaf, Skeleton, Value, ValueId};
use rustc_hash::FxHashMap;

/// One path for each thread, and what follows from that alone.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The last node of each thread's path.
    pub leaves: Vec<usize>,
    /// The events, as indices into [`Skeleton::events`], in the order of the execution's events.
    pub universe: Vec<usize>,
    /// The inverse of `universe`.
    pub local: FxHashMap<usize, usize>,
    /// Events, scopes and dependencies; the choices are empty and values are zero.
    pub execution: Execution,
}

impl Assembly {
    /// The execution with these paths.
    pub fn new(skeleton: &Skeleton, leaves: &[usize]) -> Self {
        let initial = skeleton.events.iter().take_while(|t| t.node.is_none()).count();
        let mut universe: Vec<usize> = (0..initial).collect();
        let mut spinning = Vec::new();
        for (thread, &leaf) in leaves.iter().enumerate() {
            let nodes = &skeleton.trees[thread].nodes;
            let mut path = Vec::new();
            let mut at = Some(leaf);
            while let Some(node) = at {
                path.push(node);
                at = nodes[node].parent;
            }
            let before = universe.len();
            universe.extend(path.iter().rev().flat_map(|&n| &nodes[n].events));
            if let Some(Leaf::Spin { reads, dropped }) = &nodes[leaf].leaf {
                spinning.extend_from_slice(reads);
                let kept = universe.split_off(before);
                universe.extend(kept.into_iter().filter(|e| !dropped.contains(e)));
            }
        }
        let local: FxHashMap<usize, usize> = universe.iter().enumerate().map(|(l, &u)| (u, l)).collect();
        let mut execution = Execution { common_scope: skeleton.common_scope.clone(), ..Execution::default() };
        for (to, &u) in universe.iter().enumerate() {
            let template = &skeleton.events[u];
            let mut event = template.event.clone();
            event.spinning = spinning.contains(&u);
            execution.events.push(event);
            let edges = |from: &[usize]| -> Vec<Edge> {
                from.iter().filter_map(|r| local.get(r)).map(|&from| (from, to)).collect()
            };
            execution.rmw.extend(edges(template.rmw_read.as_slice()));
            execution.addr.extend(edges(&template.addr));
            execution.data.extend(edges(&template.data));
            execution.ctrl.extend(edges(&template.ctrl));
        }
        Self { leaves: leaves.to_vec(), universe, local, execution }
    }

    /// Whether an event of the skeleton happens.
    pub fn has(&self, event: usize) -> bool {
        self.local.contains_key(&event)
    }
}

/// The number that a symbolic value stands for, given what the reads return; `None` if it needs a read that
/// does not happen.
pub fn evaluate(skeleton: &Skeleton, read: &dyn Fn(usize) -> Option<i64>, value: ValueId) -> Option<i64> {
    match skeleton.values[value] {
        Value::Const(c) => Some(c),
        Value::Read(event) => read(event),
        Value::Bin(op, a, b) => Some(op.eval(evaluate(skeleton, read, a)?, evaluate(skeleton, read, b)?)),
    }
}

/// Whether every comparison on the paths to the leaves turns out as it must (barriers are not looked at).
pub fn guards_hold(skeleton: &Skeleton, leaves: &[usize], read: &dyn Fn(usize) -> Option<i64>) -> bool {
    leaves.iter().enumerate().all(|(thread, &leaf)| {
        let nodes = &skeleton.trees[thread].nodes;
        let mut at = Some(leaf);
        while let Some(node) = at {
            if let Guard::Compare(compares) = &nodes[node].guard {
                let holds = compares.iter().all(|c| {
                    let a = evaluate(skeleton, read, c.a);
                    let b = evaluate(skeleton, read, c.b);
                    matches!((a, b), (Some(a), Some(b)) if c.cmp.eval(a, b) == c.holds)
                });
                if !holds {
                    return false;
                }
            }
            at = nodes[node].parent;
        }
        true
    })
}

/// The barrier operations that share one barrier object in the sense of the semantics, apart from numbers
/// held by registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierGroup {
    /// Every barrier operation of the group that can happen, as indices into [`Skeleton::events`].
    pub members: Vec<usize>,
    /// How they come together.
    pub kind: GroupKind,
}

/// How the operations of a [`BarrierGroup`] come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// CTA barriers by phases, told apart by number.
    Phases,
    /// Published semantics, no number: opens once all members are reached.
    AllReached,
    /// Published semantics with numbers, and perhaps counts.
    Quorum,
    /// Cluster barrier: the n-th wait opens once every thread has made its n-th arrival.
    Cluster,
}

/// Groups the barrier operations of a program.
pub fn barrier_groups(skeleton: &Skeleton, semantics: BarrierSemantics) -> Vec<BarrierGroup> {
    let mut groups: Vec<(GroupKey, BarrierGroup)> = Vec::new();
    for (index, template) in skeleton.events.iter().enumerate() {
        let (Some(barrier), Some((thread, _))) = (&template.barrier, template.node) else { continue };
        let home = |scope: Scope| {
            (0..=thread).find(|&t| skeleton.common_scope[t][thread] <= scope).unwrap_or(thread)
        };
        let (kind, key) = if barrier.cluster {
            (GroupKind::Cluster, GroupKey { home: home(Scope::Cluster), ..GroupKey::default() })
        } else {
            let cta = GroupKey { home: home(Scope::Cta), ..GroupKey::default() };
            match (semantics, barrier.id) {
                (BarrierSemantics::Phases, _) => (GroupKind::Phases, cta),
                (BarrierSemantics::Quorum, None) => (
                    GroupKind::AllReached,
                    GroupKey { label: Some(barrier.instance), occurrence: barrier.occurrence, ..cta },
                ),
                (BarrierSemantics::Quorum, Some(_)) => {
                    (GroupKind::Quorum, GroupKey { label: Some(barrier.instance), ..cta })
                }
            }
        };
        match groups.iter_mut().find(|(k, g)| *k == key && g.kind == kind) {
            Some((_, group)) => group.members.push(index),
            None => groups.push((key, BarrierGroup { members: vec![index], kind })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct GroupKey {
    home: usize,
    label: Option<i64>,
    occurrence: u32,
}

/// Whether a read may return the value of a write as far as the two alone tell: the same bytes, possible in
/// one execution, and not a later write of the same thread through the same address and proxy.
pub fn may_read_from(skeleton: &Skeleton, write: usize, read: usize) -> bool {
    let (w, r) = (&skeleton.events[write], &skeleton.events[read]);
    let (Some(cw), Some(cr)) = (w.event.cell, r.event.cell) else { return false };
    if !w.event.is_write() || r.event.kind != Kind::Read {
        return false;
    }
    if cw.physical != cr.physical || cw.offset != cr.offset || !skeleton.compatible(write, read) {
        return false;
    }
    let same_thread = w.event.thread.is_some() && w.event.thread == r.event.thread;
    let same_way = cw.address == cr.address && w.event.proxy == r.event.proxy;
    !(same_thread && same_way && w.event.position > r.event.position)
}
