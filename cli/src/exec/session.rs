//! What the processes of a program leave in the session's folder.

use protocol::Counts;
use reports::triage::Found;

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
    format!("warpgrind: {launches}{processes}{picked}, {findings}\n")
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
        let counts = Counts { processes: 1, launches: 3, picked: 3, findings: 2, known: 1, suppressed: 4 };
        assert_eq!(line(&counts), "warpgrind: 3 launches, 2 findings, 1 known, 4 suppressed\n");
        assert!(line(&Counts::default()).contains("no CUDA device"));
    }
}
