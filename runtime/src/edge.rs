//! Edges between the nodes of graphs.

/// An edge into a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The number of the node that it comes from.
    pub from: u64,
    /// What it waits for.
    pub kind: EdgeKind,
}

/// What an edge waits for, as `CUgraphEdgeData` says it. All of the node before it is one of the ways in which a
/// device may take every kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct EdgeKind {
    /// Where it leaves the node: 0 is its end; of a kernel 1 is the point that it triggers, 2 its launch.
    pub port: u8,
    /// Whether the kernel behind it waits for the one before by itself.
    pub programmatic: bool,
}

impl Edge {
    /// An edge that waits for the end of a node.
    pub fn full(from: u64) -> Edge {
        Edge { from, kind: EdgeKind::default() }
    }
}
