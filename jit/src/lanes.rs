//! Lane operations that code calls.

use crate::context::{Context, Runner};
use crate::program::Lanes;
use semantics::lanes::{LaneMask, Registers};

/// Does a lane operation, from within compiled code.
///
/// # Safety
/// The context is the one that this code runs in, the operation one of its program.
pub(crate) unsafe extern "sysv64" fn call_lanes(
    context: *const Context,
    operation: *const Lanes,
    lanes: LaneMask,
) {
    // SAFETY: the caller's; rows and predicates are valid as `run_teams` says, and code keeps none of them in registers now.
    unsafe {
        let (context, operation) = (&*context, &*operation);
        let Runner { rows: [frame, warp], predicates, .. } = *context.runner;
        let mut registers = Registers::new(frame, warp, context.constants, predicates);
        (operation.run)(&mut registers, &operation.operands, lanes);
    }
}
