//! Settings in the environment of a program: names, and how values are written.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// Whether messages have colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On terminals.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How a setting is written.
trait Word: Sized {
    fn write(&self) -> OsString;

    /// `None` if the text is no such value.
    fn read(text: &OsStr) -> Option<Self>;
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(impl Word for $ty {
        fn write(&self) -> OsString {
            self.to_string().into()
        }
        fn read(text: &OsStr) -> Option<Self> {
            text.to_str()?.parse().ok()
        }
    })*};
}

numbers! { u16 u32 u64 usize }

impl Word for PathBuf {
    fn write(&self) -> OsString {
        self.into()
    }
    fn read(text: &OsStr) -> Option<Self> {
        Some(text.into())
    }
}

impl Word for String {
    fn write(&self) -> OsString {
        self.into()
    }
    fn read(text: &OsStr) -> Option<Self> {
        text.to_str().map(str::to_owned)
    }
}

/// Set or not, whatever the text is.
impl Word for () {
    fn write(&self) -> OsString {
        "1".into()
    }
    fn read(_: &OsStr) -> Option<Self> {
        Some(())
    }
}

/// Milliseconds.
impl Word for Duration {
    fn write(&self) -> OsString {
        self.as_millis().to_string().into()
    }
    fn read(text: &OsStr) -> Option<Self> {
        text.to_str()?.parse().ok().map(Duration::from_millis)
    }
}

/// Names with commas between them.
impl Word for Vec<String> {
    fn write(&self) -> OsString {
        self.join(",").into()
    }
    fn read(text: &OsStr) -> Option<Self> {
        Some(text.to_str()?.split(',').map(str::to_owned).collect())
    }
}

impl Word for Color {
    fn write(&self) -> OsString {
        match self {
            Color::Auto => "auto".into(),
            Color::Always => "always".into(),
            Color::Never => "never".into(),
        }
    }
    fn read(text: &OsStr) -> Option<Self> {
        [Color::Auto, Color::Always, Color::Never].into_iter().find(|color| color.write() == text)
    }
}

macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $ty:ty = $name:literal;)*) => {
        /// What a program's environment says to the library, each value if it is set.
        #[derive(Clone, Default, PartialEq, Eq, Debug)]
        pub struct Settings {
            $($(#[$doc])* pub $field: Option<$ty>,)*
        }

        impl Settings {
            /// The variables that say so.
            pub fn variables(&self) -> Vec<(&'static str, OsString)> {
                let mut list = Vec::new();
                $(list.extend(self.$field.as_ref().map(|value| ($name, value.write())));)*
                list
            }

            /// Reads variables; what is empty counts as not set. `refuse` is told of values that are none.
            pub fn read(
                variable: impl Fn(&str) -> Option<OsString>,
                mut refuse: impl FnMut(&'static str, &OsStr),
            ) -> Settings {
                Settings {$(
                    $field: variable($name).filter(|text| !text.is_empty()).and_then(|text| {
                        let value = Word::read(&text);
                        if value.is_none() {
                            refuse($name, &text);
                        }
                        value
                    }),
                )*}
            }
        }
    };
}

settings! {
    /// The session's folder.
    session: PathBuf = "WARPGRIND_SESSION";
    /// Names of the tools that look on at picked launches; those of none count for nothing.
    tools: Vec<String> = "WARPGRIND_TOOL";
    /// What picked launches executed is printed.
    stats: () = "WARPGRIND_STATS";
    /// Picked launches are noted, and others with findings.
    record: () = "WARPGRIND_RECORD";
    /// Part of the names of the kernels that are picked.
    filter: String = "WARPGRIND_FILTER";
    /// How many of those are passed over first.
    launch_skip: u64 = "WARPGRIND_LAUNCH_SKIP";
    /// How many are taken then.
    launch_count: u64 = "WARPGRIND_LAUNCH_COUNT";
    /// The program ends when they are over.
    kill: () = "WARPGRIND_KILL";
    /// Seed of the schedule.
    seed: u64 = "WARPGRIND_SEED";
    /// When asynchronous operations are done: the policy's name.
    asynchrony: String = "WARPGRIND_ASYNC";
    /// What runs instructions: the engine's name.
    engine: String = "WARPGRIND_ENGINE";
    /// How long a launch may take, in milliseconds.
    timeout: Duration = "WARPGRIND_TIMEOUT_MS";
    /// Workers of a launch.
    jobs: usize = "WARPGRIND_JOBS";
    /// Devices.
    devices: u32 = "WARPGRIND_DEVICES";
    /// Their compute capability, times ten.
    sm: u16 = "WARPGRIND_SM";
    /// Their multiprocessors.
    multiprocessors: u32 = "WARPGRIND_MULTIPROCESSORS";
    /// Bytes of their memory.
    memory: u64 = "WARPGRIND_MEMORY";
    /// Bytes of the host's memory that a process may have.
    host_memory: u64 = "WARPGRIND_HOST_MEMORY";
    /// Colours of messages.
    color: Color = "WARPGRIND_COLOR";
    /// Where picked launches are written as launch files.
    save_launches: PathBuf = "WARPGRIND_SAVE_LAUNCHES";
    /// Bytes that they may take, all together.
    save_most: u64 = "WARPGRIND_SAVE_MOST";
    /// Where it is noted what devices are to do.
    operations: PathBuf = "WARPGRIND_OPERATIONS";
    /// The socket of whoever debugs picked launches: each is written first, and waits until its connection ends.
    hold: PathBuf = "WARPGRIND_HOLD";
    /// The file that says which findings are expected, as the reports write it.
    triage: PathBuf = "WARPGRIND_TRIAGE";
    /// A suppression is printed for each finding.
    print_suppressions: () = "WARPGRIND_PRINT_SUPPRESSIONS";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let mut refused = Vec::new();
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, text)| text.into());
        let settings = Settings::read(find, |name, text| refused.push(format!("{name}={}", text.display())));
        (settings, refused)
    }

    #[test]
    fn settings_arrive_as_they_were_written() {
        let all = Settings {
            session: Some("/tmp/session".into()),
            tools: Some(vec!["racecheck".into(), "initcheck".into()]),
            stats: Some(()),
            record: Some(()),
            filter: Some("scale".into()),
            launch_skip: Some(1),
            launch_count: Some(2),
            kill: Some(()),
            seed: Some(u64::MAX),
            asynchrony: Some("late".into()),
            engine: Some("compiled".into()),
            timeout: Some(Duration::from_millis(1500)),
            jobs: Some(3),
            devices: Some(4),
            sm: Some(90),
            multiprocessors: Some(5),
            memory: Some(6),
            host_memory: Some(7),
            color: Some(Color::Never),
            save_launches: Some("launches".into()),
            save_most: Some(7),
            operations: Some("/tmp/session/operations".into()),
            hold: Some("/tmp/session/held".into()),
            triage: Some("/tmp/session/triage".into()),
            print_suppressions: Some(()),
        };
        let variables = all.variables();
        assert_eq!(variables.len(), 25);
        let texts: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
        assert_eq!(read(&texts), (all, vec![]));
        assert_eq!(Settings::default().variables(), []);
    }

    #[test]
    fn what_is_no_value_counts_for_nothing() {
        let (settings, refused) =
            read(&[("WARPGRIND_SEED", "x"), ("WARPGRIND_JOBS", ""), ("WARPGRIND_COLOR", "red")]);
        assert_eq!(settings, Settings::default());
        assert_eq!(refused, ["WARPGRIND_SEED=x", "WARPGRIND_COLOR=red"]);
    }
}
