//! What the processes of a program leave in the session's folder.

use protocol::Counts;
use reports::plural;
use reports::triage::Found;
use serde_json::Value;

use crate::exit::Failure;

/// The counters for people.
pub(super) fn line(counts: &Counts) -> String {
    if counts.processes == 0 {
        return "warpgrind: the program used no CUDA device\n".into();
    }
    let found = Found { new: counts.findings, known: counts.known, suppressed: counts.suppressed };
    let findings = found.words().unwrap_or_else(|| "no findings".into());
    let launches = match counts.launches {
        1 => "1 launch".into(),
        count => format!("{count} launches"),
    };
    let picked = match counts.picked == counts.launches {
        true => String::new(),
        false => format!(", {} of them picked", counts.picked),
    };
    let processes = match counts.processes {
        1 => String::new(),
        count => format!(" in {count} processes"),
    };
    let unsaved = match counts.unsaved {
        0 => String::new(),
        count => format!(", {count} not saved"),
    };
    format!("warpgrind: {launches}{processes}{picked}{unsaved}, {findings}\n")
}

/// Why there is nothing to show of a program that ended, by the document that `exec` writes: it launched nothing, or nothing of
/// the kernels that were asked for.
pub(crate) fn none_launched(summary: &Value, kernel: Option<&str>) -> Failure {
    let count = |name: &str| summary["counts"][name].as_u64().unwrap_or(0);
    match (count("processes"), count("launches")) {
        (0, _) => Failure::usage("the program used no CUDA device")
            .help("a program that has CUDA's runtime in it uses the device once `libcuda.so.1` is asked for"),
        (_, 0) => Failure::usage("the program launched no kernel"),
        (_, launched) => {
            let launched = plural(launched, "kernel");
            let message = match kernel {
                Some(name) => {
                    format!("the program launched {launched}, none of which was picked by `{name}`")
                }
                None => format!("the program launched {launched}, and all were passed over"),
            };
            Failure::usage(message).help("--kernel, --launch-skip and --launch-count say which are picked")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_words() {
        let counts = Counts { processes: 1, launches: 1, picked: 1, findings: 1, ..Counts::default() };
        assert_eq!(line(&counts), "warpgrind: 1 launch, 1 finding\n");
        let counts = Counts { processes: 2, launches: 30, picked: 4, ..Counts::default() };
        assert_eq!(line(&counts), "warpgrind: 30 launches in 2 processes, 4 of them picked, no findings\n");
        let counts = Counts { processes: 1, launches: 9, picked: 9, unsaved: 2, ..Counts::default() };
        assert_eq!(line(&counts), "warpgrind: 9 launches, 2 not saved, no findings\n");
        let counts = Counts {
            findings: 2,
            known: 1,
            suppressed: 4,
            processes: 1,
            launches: 3,
            picked: 3,
            ..Counts::default()
        };
        assert_eq!(line(&counts), "warpgrind: 3 launches, 2 findings, 1 known, 4 suppressed\n");
        assert!(line(&Counts::default()).contains("no CUDA device"));
    }
}
