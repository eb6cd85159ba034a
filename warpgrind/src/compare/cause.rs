//! Whose doing it is that the simulator and a device differ.

use super::verdict;
use crate::run::Outputs;

/// How often a device that differs runs again, to see whether it differs from itself.
const REPEATS: usize = 3;

/// Whose doing a difference is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The device gives the same with its optimiser off, or something else again.
    Simulator {
        /// The optimiser changes the results too.
        optimiser_too: bool,
    },
    /// With the optimiser off both agree.
    Optimiser,
    /// The device differs from itself, run by run.
    Order,
}

/// Another run of the device.
pub enum Evidence {
    /// In the same manner.
    Again,
    /// With the optimiser off; there is none if it was off.
    Unoptimised,
}

/// Whether two runs of a device left the same, bit for bit.
pub fn same(one: &Outputs, other: &Outputs) -> bool {
    verdict::compare(one, other, None).agrees()
}

/// That the device differs from itself, if it differs from the simulator.
pub fn order(simulator: &Outputs, device: &Outputs, tolerance: Option<u64>) -> Option<Cause> {
    (!verdict::compare(simulator, device, tolerance).agrees()).then_some(Cause::Order)
}

/// The cause, by further runs of the device and, as a device without optimisation, of the simulator; `None` if nothing
/// differs.
///
/// # Errors
/// Those of the runs.
pub fn find<E>(
    simulator: &Outputs,
    device: &Outputs,
    tolerance: Option<u64>,
    mut run: impl FnMut(Evidence) -> Result<Option<Outputs>, E>,
    simulate_unoptimised: impl FnOnce() -> Result<Outputs, E>,
) -> Result<Option<Cause>, E> {
    let agree = |one: &Outputs, other: &Outputs| verdict::compare(one, other, tolerance).agrees();
    if agree(simulator, device) {
        return Ok(None);
    }
    for _ in 0..REPEATS {
        match run(Evidence::Again)? {
            Some(again) if !same(device, &again) => return Ok(Some(Cause::Order)),
            Some(_) => {}
            None => break,
        }
    }
    let Some(unoptimised) = run(Evidence::Unoptimised)? else {
        return Ok(Some(Cause::Simulator { optimiser_too: false }));
    };
    Ok(Some(match agree(&simulate_unoptimised()?, &unoptimised) {
        true => Cause::Optimiser,
        false => Cause::Simulator { optimiser_too: !same(device, &unoptimised) },
    }))
}

impl Cause {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator { .. } => "simulator",
            Self::Optimiser => "optimiser",
            Self::Order => "order",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::LaunchEnd;

    fn printed(text: &str) -> Outputs {
        let ended =
            LaunchEnd { kernel: "k".into(), fault: None, message: String::new(), output: text.into() };
        Outputs { inputs: Vec::new(), launches: vec![ended], buffers: None }
    }

    /// What the simulator and the device print, the device again, and without its optimiser.
    fn cause(simulator: &str, device: &str, again: &[&str], unoptimised: Option<&str>) -> Option<Cause> {
        let mut again = again.iter();
        let found: Result<_, ()> = find(
            &printed(simulator),
            &printed(device),
            None,
            |evidence| {
                Ok(match evidence {
                    Evidence::Again => again.next().map(|text| printed(text)),
                    Evidence::Unoptimised => unoptimised.map(printed),
                })
            },
            || Ok(printed(simulator)),
        );
        found.unwrap()
    }

    #[test]
    fn each_cause_is_found() {
        assert_eq!(cause("a", "a", &["b"], Some("b")), None);
        assert_eq!(cause("a", "b", &["b", "b", "c"], Some("a")), Some(Cause::Order));
        assert_eq!(cause("a", "b", &["b", "b", "b", "c"], Some("a")), Some(Cause::Optimiser));
        assert_eq!(cause("a", "b", &[], Some("a")), Some(Cause::Optimiser));
        assert_eq!(cause("a", "b", &["b"], Some("b")), Some(Cause::Simulator { optimiser_too: false }));
        assert_eq!(cause("a", "b", &["b"], Some("c")), Some(Cause::Simulator { optimiser_too: true }));
        assert_eq!(cause("a", "b", &["b"], None), Some(Cause::Simulator { optimiser_too: false }));
    }
}
