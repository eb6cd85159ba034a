//! How control goes on.

use crate::machine::fault::Fault;
use semantics::lanes::LaneMask;

/// How control goes on after an operation. Where the group stands now and with which lanes, its group says, except
/// after [`Flow::Next`].
pub(crate) enum Flow {
    /// With the next instruction.
    Next,
    /// Where the group stands: elsewhere, in another frame, or with fewer lanes.
    Jump,
    /// There, once the engine has looked who comes next, and whether the launch is over.
    Switch,
    /// There: the launch stands still.
    Pause,
    /// There, once others had a turn.
    GiveWay,
    /// There, in another turn of the warp.
    EndTurn,
    /// It waits.
    Wait(On),
    /// Its lanes are gone, or in groups of their own.
    Exit,
    /// Lanes did what they must not; the group ends.
    Fault(Box<Fault>),
}

/// What a group waits for.
pub(crate) enum On {
    /// A barrier of the block, behind whose instruction it stands.
    Barrier(u8),
    /// The barrier of the cluster, behind whose `wait` it stands.
    Cluster,
    /// The barrier at which it stands, where these lanes have not yet arrived: see [`Machine::arrive`].
    Arrival(LaneMask),
    /// The other lanes of a member mask, at the instruction: see [`Machine::complete_collectives`].
    Members(LaneMask),
    /// The other warps of the warpgroup.
    Warpgroup,
}

impl Flow {
    pub(crate) fn fault(fault: Fault) -> Flow {
        Flow::Fault(Box::new(fault))
    }
}
