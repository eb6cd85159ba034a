//! Tests for a machine that has less than they speak of: one device, one address a location, one proxy.
//!
//! Each change leaves executions out and adds none, since every axiom only forbids: what the changed test shows,
//! the original allows.

use crate::program::{Access, Base, Litmus, LocId, Op, Operand, Placement, ProxyFence, RmwOp, Scope};

/// The test with what the simulator does not tell apart made one: each device a cluster, aliases and other
/// proxies the location itself. Where that is not possible the test stays as it is.
#[must_use]
pub fn folded(litmus: &Litmus) -> Litmus {
    let mut out = litmus.clone();
    devices_as_clusters(&mut out);
    aliases_as_one(&mut out);
    out
}

fn access_of(op: &mut Op) -> Option<&mut Access> {
    match op {
        Op::Load { access, .. }
        | Op::Store { access, .. }
        | Op::Rmw { access, .. }
        | Op::MbarrierTest { access, .. } => Some(access),
        _ => None,
    }
}

/// Scopes that hold the same threads as before: that of the device becomes that of the cluster.
fn devices_as_clusters(litmus: &mut Litmus) {
    let threads = &mut litmus.program.threads;
    let first = threads.first().map(|t| t.placement.gpu);
    let one_device = threads.iter().all(|t| Some(t.placement.gpu) == first);
    let clusters = threads.iter().any(|t| t.placement.cluster.is_some())
        || threads
            .iter()
            .flat_map(|t| &t.code)
            .any(|i| matches!(i.op, Op::ClusterArrive { .. } | Op::ClusterWait));
    if one_device || clusters {
        return;
    }
    let ctas: Vec<(u32, u32)> = threads.iter().map(|t| (t.placement.gpu, t.placement.cta)).collect();
    for thread in threads {
        let Placement { gpu, cta, .. } = thread.placement;
        // CTAs of two devices may have the same number.
        let number = ctas.iter().position(|&other| other == (gpu, cta)).unwrap_or(0) as u32;
        thread.placement = Placement { gpu: 0, cluster: Some(gpu), cta: number };
        for instruction in &mut thread.code {
            let narrow = |scope: Scope| match scope {
                // Without clusters each CTA is its own.
                Scope::Cta | Scope::Cluster => Scope::Cta,
                Scope::Gpu => Scope::Cluster,
                Scope::Sys => Scope::Sys,
            };
            match &mut instruction.op {
                Op::Fence { scope, .. } => *scope = scope.map(narrow),
                op => {
                    if let Some(access) = access_of(op) {
                        access.scope = access.scope.map(narrow);
                    }
                }
            }
        }
    }
}

fn aliases_as_one(litmus: &mut Litmus) {
    let program = &mut litmus.program;
    let physical: Vec<LocId> = program.locations.iter().map(|l| l.physical).collect();
    let alias = |loc: LocId| physical[usize::from(loc.0)] != loc;
    // What speaks of an alias itself stays.
    let spoken_of = |operand: &Operand| matches!(*operand, Operand::Address(loc) if alias(loc));
    let code = || program.threads.iter().flat_map(|t| &t.code);
    let values = program.locations.iter().any(|l| spoken_of(&l.initial))
        || program.threads.iter().any(|t| t.initial.iter().any(spoken_of))
        || code().any(|i| match &i.op {
            Op::Mov { src, .. } => spoken_of(src),
            Op::Bin { a, b, .. } | Op::Branch { a, b, .. } | Op::Assume { a, b, .. } => {
                spoken_of(a) || spoken_of(b)
            }
            Op::Store { src, .. } => src.iter().any(spoken_of),
            Op::Rmw { ops, .. } => ops.iter().any(|op| match op {
                RmwOp::Apply(_, a) => spoken_of(a),
                RmwOp::Cas(a, b) => spoken_of(a) || spoken_of(b),
            }),
            _ => false,
        });
    let observed = litmus.observables();
    let program = &mut litmus.program;
    let observed =
        observed.iter().any(|v| matches!(*v, crate::program::Observable::Mem(loc, _) if alias(loc)));
    if values || observed {
        return;
    }
    for (index, location) in program.locations.iter_mut().enumerate() {
        let itself = LocId(index as u16);
        (location.physical, location.address) = (itself, itself);
    }
    for thread in &mut program.threads {
        for instruction in &mut thread.code {
            if let Some(access) = access_of(&mut instruction.op) {
                access.proxy = crate::program::Proxy::Generic;
                if let Base::Loc(loc) = access.base {
                    access.base = Base::Loc(physical[usize::from(loc.0)]);
                }
            }
            // Without other proxies such a fence does nothing; one of one direction also synchronises, and stays.
            if matches!(instruction.op, Op::ProxyFence(ProxyFence::To(_))) {
                instruction.op = Op::ProxyFence(ProxyFence::Alias);
            }
        }
    }
}
