//! The loop of the prompt: from lines to commands.

use debugger::{Debugger, Error, Result};

use super::commands::settings::SETTINGS;
use super::commands::{COMMANDS, Command};
use super::input::{PROMPT, Words};
use super::prompt::{Next, Prompt, dim};
use super::show::INFO;

impl Prompt<'_, '_, '_, '_> {
    /// Reads commands until the launch is left.
    pub(super) fn run(&mut self, number: usize) -> Next {
        let launch = self.debugger.session().launch();
        let kernel = reports::readable(&launch.kernel).into_owned();
        let text =
            format!("[Launch {number}: {kernel}, grid {}, block {}]\n", dim(launch.grid), dim(launch.block));
        self.out(text);
        let known = self.debugger.found().len() as u64;
        if known > 0 {
            self.out(format!("[{} known; `info findings` lists them]\n", reports::plural(known, "finding")));
        }
        self.told = Some(self.debugger.focus());
        loop {
            let (debugger, input) = (&self.debugger, &mut self.kept.input);
            input.know(|| words(debugger));
            let Some(line) = input.next(PROMPT) else { return Next::Quit };
            let text = line.text.trim();
            if line.is_given {
                self.out(format!("{PROMPT}{text}\n"));
            }
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match self.command(text) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    if next == Next::Detach && !self.finish() {
                        return Next::Quit;
                    }
                    return next;
                }
                Err(error) => self.tell_error(text, &error),
            }
        }
    }

    /// Lets the launch run to its end, whatever comes, and shows what it prints; whether it came there.
    fn finish(&mut self) -> bool {
        let ended = self.debugger.finish();
        self.show_output();
        ended
    }

    fn tell_error(&self, command: &str, error: &Error) {
        let mut text = error.to_string();
        if let Error::Expression { .. } = error {
            text += &format!(" (in \"{command}\")");
        }
        let mut letters = text.chars();
        let text: String =
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect();
        self.out(format!("{text}.\n"));
    }

    fn command(&mut self, text: &str) -> Result<Option<Next>> {
        let end =
            text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let command = find(word)?;
        (command.run)(self, rest.trim())
    }
}

/// What can be typed where the launch stands.
fn words(debugger: &Debugger<'_, '_, '_>) -> Words {
    let scope = debugger.scope_here();
    let program = debugger.program();
    let readable = |name: &str| reports::readable(name).split(['(', '<']).next().unwrap_or(name).to_owned();
    let mut names: Vec<String> = program.functions().map(|name| readable(name)).collect();
    names.extend(
        program.file_names().into_iter().map(|name| name.rsplit('/').next().unwrap_or(name).to_owned()),
    );
    names.extend(scope.arguments());
    names.extend(scope.locals());
    names.extend(scope.shared().into_iter().map(|(name, ..)| name));
    names.extend(scope.buffers());
    names.extend(scope.registers().into_iter().map(|(name, _)| name));
    names.extend(debugger.points().values.named().map(str::to_owned));
    names.extend(["threadIdx", "blockIdx", "blockDim", "gridDim", "sizeof"].map(str::to_owned));
    let commands: Vec<String> = COMMANDS.iter().map(|command| command.name.to_owned()).collect();
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let settings: Vec<String> = SETTINGS.iter().map(|setting| setting.name.to_owned()).collect();
    let of_command = vec![
        (vec!["info", "i"], INFO.iter().map(|(name, _)| (*name).to_owned()).collect()),
        (vec!["help", "h"], commands.clone()),
        (vec!["show"], settings.clone()),
        (vec!["set"], settings.into_iter().chain(["var".to_owned()]).chain(names.iter().cloned()).collect()),
        (vec!["focus", "cuda"], list(&["block", "thread", "warp", "lane", "kernel"])),
    ];
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    Words { commands, of_command, names, coloured: choice != anstream::ColorChoice::Never }
}

/// The command of a word: its name, an alias, or the beginning of one name.
fn find(word: &str) -> Result<&'static Command> {
    let known = COMMANDS.iter().find(|command| command.name == word || command.aliases.contains(&word));
    if let Some(command) = known {
        return Ok(command);
    }
    let begins: Vec<&Command> =
        COMMANDS.iter().filter(|command| !word.is_empty() && command.name.starts_with(word)).collect();
    match begins[..] {
        [command] => Ok(command),
        [] => {
            let close = reports::closest(word, COMMANDS.iter().map(|command| command.name));
            let help = close
                .map_or("`help` lists the commands".to_owned(), |name| format!("did you mean `{name}`?"));
            Err(Error::Refused(format!("undefined command: \"{word}\"; {help}")))
        }
        _ => {
            let names: Vec<&str> = begins.iter().map(|command| command.name).collect();
            Err(Error::Refused(format!("ambiguous command \"{word}\": {}", names.join(", "))))
        }
    }
}
