//! From the process's arguments to [`Cli`], and the command line as completions and manual pages show it.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::report::{FailureReport, print_json};

/// Reads the arguments; what is to be said about them is said, and the exit code returned.
pub(crate) fn read() -> Result<Cli, Exit> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let matches = without_empty_variables(Cli::command()).try_get_matches_from(&arguments);
    let error = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    if error.use_stderr() && wants_json(&arguments) {
        let rendered = error.render().to_string();
        let message = rendered.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        let failure = Failure::usage(message.trim_end());
        return Err(match print_json(&FailureReport::new(verb(&arguments), &failure)) {
            Ok(()) => failure.exit,
            Err(_) => Exit::Usage,
        });
    }
    // `--help` and `--version` are results, which must arrive; a reader that goes away has seen enough.
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match (printed, error.kind()) {
        (Ok(()), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => Err(Exit::Clean),
        (Err(problem), _) if problem.kind() == std::io::ErrorKind::BrokenPipe => Err(Exit::Clean),
        (Err(problem), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Nobody is left to be told when this fails too.
            let _ = writeln!(std::io::stderr(), "error: cannot write to standard output: {problem}");
            Err(Exit::Usage)
        }
        _ => Err(Exit::Usage),
    }
}

/// Variables that are set to nothing count as not set.
fn without_empty_variables(command: Command) -> Command {
    let unset = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| match arg.get_env().is_some_and(unset) {
            true => arg.env(Resettable::Reset),
            false => arg,
        })
        .mut_subcommands(without_empty_variables)
}

/// Whether JSON is asked for, in arguments that are wrong.
fn wants_json(arguments: &[OsString]) -> bool {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    let own: Vec<_> = own.map(|argument| argument.to_string_lossy()).collect();
    own.iter().any(|argument| argument == "--format=json")
        || own.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json")
}

/// The verb of arguments that are wrong.
fn verb(arguments: &[OsString]) -> Option<String> {
    let names: Vec<String> = Cli::command().get_subcommands().map(|verb| verb.get_name().into()).collect();
    arguments.iter().skip(1).filter_map(|a| a.to_str()).find(|a| names.iter().any(|n| n == a)).map(Into::into)
}

/// The command without what is hidden from its users.
fn visible(command: &Command) -> Command {
    let mut shown = Command::new(lasting(command.get_name())).version(env!("CARGO_PKG_VERSION"));
    for (about, set) in [
        (command.get_about(), Command::about as fn(Command, clap::builder::StyledStr) -> Command),
        (command.get_long_about(), Command::long_about),
        (command.get_after_help(), Command::after_help),
        (command.get_after_long_help(), Command::after_long_help),
    ] {
        if let Some(about) = about {
            shown = set(shown, about.clone());
        }
    }
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown = shown.args(arguments.cloned().collect::<Vec<_>>());
    shown.subcommands(command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(visible))
}

/// The completions of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(&Cli::command()), "warpgrind", &mut script);
    script
}

/// The manual page of the program or of one of its verbs.
pub(crate) fn page(verbs: &[String]) -> Result<Vec<u8>, Failure> {
    let mut command = with_full_names(visible(&Cli::command()), "");
    for verb in verbs {
        let next = command.get_subcommands().find(|known| known.get_name() == full(&command, verb));
        let Some(next) = next.cloned() else {
            let known: Vec<&str> = command.get_subcommands().map(|verb| last(verb.get_name())).collect();
            let failure = Failure::usage(format!("`{}` has no command `{verb}`", command.get_name()));
            return Err(failure.suggest(verb, known));
        };
        command = next;
    }
    render(&command)
}

/// Writes the manual pages of the program and of all verbs into a folder; returns how many.
pub(crate) fn pages(folder: &Path) -> Result<usize, Failure> {
    let problem = |error| Failure::usage(format!("cannot make {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(problem)?;
    let mut open = vec![with_full_names(visible(&Cli::command()), "")];
    let mut count = 0;
    while let Some(command) = open.pop() {
        files::replace(&folder.join(format!("{}.1", command.get_name())), &render(&command)?)?;
        open.extend(command.get_subcommands().cloned());
        count += 1;
    }
    Ok(count)
}

/// Names such as `warpgrind-conformance-verify`, as manual pages have them.
fn with_full_names(command: Command, before: &str) -> Command {
    let name = format!("{before}{}", command.get_name());
    let (usage, prefix) = (name.replace('-', " "), format!("{name}-"));
    command
        .name(lasting(&name))
        .display_name(name)
        .bin_name(usage)
        .mut_subcommands(|verb| with_full_names(verb, &prefix))
}

/// clap keeps names for as long as the process lives.
fn lasting(name: &str) -> &'static str {
    name.to_owned().leak()
}

fn full(command: &Command, verb: &str) -> String {
    format!("{}-{verb}", command.get_name())
}

fn last(name: &str) -> &str {
    name.rsplit('-').next().unwrap_or(name)
}

fn render(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::usage(format!("cannot make the manual page: {error}")))?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_verbs_and_options_are_not_shown() {
        let script = String::from_utf8(completions(clap_complete::Shell::Bash)).unwrap();
        assert!(script.contains("conformance") && !script.contains("serve-device"));
        assert!(!script.contains("--simulator"));
    }

    #[test]
    fn every_verb_has_a_page() {
        for verbs in [&["run"][..], &["conformance", "verify"], &["litmus"]] {
            let verbs: Vec<String> = verbs.iter().map(|verb| verb.to_string()).collect();
            let text = String::from_utf8(page(&verbs).unwrap()).unwrap();
            assert!(text.contains(&format!(".TH warpgrind-{}", verbs.join("-"))), "{text}");
        }
        let wrong = page(&["comparo".to_owned()]).unwrap_err();
        assert_eq!(wrong.help, ["did you mean `compare`?"]);
        let folder = tempfile::tempdir().unwrap();
        let count = pages(folder.path()).unwrap();
        assert!(count > 15 && folder.path().join("warpgrind-conformance-verify.1").is_file(), "{count}");
    }

    #[test]
    fn json_is_noticed_in_wrong_arguments() {
        let wants =
            |arguments: &[&str]| wants_json(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(wants(&["warpgrind", "run", "--format", "json", "--nope"]));
        assert!(wants(&["warpgrind", "--format=json"]));
        assert!(!wants(&["warpgrind", "exec", "--", "a", "--format=json"]));
    }
}
