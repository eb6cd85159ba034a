//! The registry of tools: what `--tool` of `warpgrind run` and `warpgrind exec` lists, and what programs under `exec` and
//! the library `warpgrind` are given. A new tool is a row here.
//!
//! ```
//! use sim_core::RunOptions;
//! use tools::Tool;
//! let options = RunOptions { tools: tools::factories(&[Tool::Racecheck]), ..RunOptions::default() };
//! assert!(options.tools[0].is_ordered());
//! assert_eq!(Tool::named("initcheck"), Some(Tool::Initcheck));
//! ```
#![forbid(unsafe_code)]

use sim_core::tools::{Counters, Initcheck, Synccheck};
use sim_core::{AsyncPolicy, ToolFactory};

macro_rules! registry {
    ($($tool:ident $name:literal $about:literal $make:expr;)*) => {
        /// What looks on while kernels run.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Tool {
            $(#[doc = concat!($about, ".")] $tool,)*
        }

        impl Tool {
            /// All of them.
            pub const ALL: &'static [Tool] = &[$(Tool::$tool),*];

            /// Its name, on command lines and in the environment.
            pub const fn name(self) -> &'static str {
                match self { $(Tool::$tool => $name,)* }
            }

            /// What it is for, without a full stop.
            pub const fn about(self) -> &'static str {
                match self { $(Tool::$tool => $about,)* }
            }

            /// What makes it for a launch; `None` of what is always on.
            pub fn factory(self) -> Option<ToolFactory> {
                match self { $(Tool::$tool => $make,)* }
            }
        }
    };
}

registry! {
    Memcheck "memcheck" "Out of bounds, misaligned, freed, read-only: always on" None;
    Initcheck "initcheck" "Reads of memory that was never written" Some(ToolFactory::new(|_| Initcheck));
    Racecheck "racecheck" "Data races" Some(racecheck::tool());
    Synccheck "synccheck" "Barriers that not all lanes of a warp execute together, wrong use of mbarrier objects"
        Some(ToolFactory::new(|_| Synccheck));
    Counters "counters" "No check: counts instructions, sectors, wavefronts and branches by line"
        Some(ToolFactory::new(Counters::new));
}

impl Tool {
    /// The tool of a name.
    pub fn named(name: &str) -> Option<Tool> {
        Tool::ALL.iter().copied().find(|tool| tool.name() == name)
    }
}

/// What makes these tools, each once, for [`RunOptions::tools`](sim_core::RunOptions).
pub fn factories(tools: &[Tool]) -> Vec<ToolFactory> {
    let asked = Tool::ALL.iter().filter(|tool| tools.contains(tool));
    asked.filter_map(|tool| tool.factory()).collect()
}

/// Why tools and a policy do not go together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// What does not go together.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// A tool that hears of all events in one order judges asynchronous operations where they are issued, so they have to be done
/// there. `option` is how the policy was asked for, as messages are to call it.
///
/// ```
/// use sim_core::AsyncPolicy;
/// use tools::{Tool, check_async};
/// assert!(check_async(&[Tool::Initcheck], AsyncPolicy::Late, "`--async late`").is_ok());
/// let clash = check_async(&[Tool::Racecheck], AsyncPolicy::Late, "`--async late`").unwrap_err();
/// assert_eq!(clash.message, "`--async late` cannot be given with racecheck");
/// ```
///
/// # Errors
/// The tool that does not go with the policy.
pub fn check_async(tools: &[Tool], policy: AsyncPolicy, option: &str) -> Result<(), Clash> {
    let is_ordered = |tool: &&Tool| tool.factory().is_some_and(|factory| factory.is_ordered());
    match tools.iter().find(is_ordered) {
        Some(tool) if policy != AsyncPolicy::Eager => {
            let name = tool.name();
            let help = "finds what is not waited for whenever it is done; without it results show that";
            Err(Clash {
                message: format!("{option} cannot be given with {name}"),
                help: format!("{name} {help}"),
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::Tool;

    #[test]
    fn names_lead_back_to_their_tools() {
        for &tool in Tool::ALL {
            assert_eq!(Tool::named(tool.name()), Some(tool));
            assert!(!tool.about().ends_with('.'), "{}", tool.about());
        }
        assert_eq!(Tool::named("nosuch"), None);
    }
}
