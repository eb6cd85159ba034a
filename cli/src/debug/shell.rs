//! The loop of the prompt: from lines to commands.

use debugger::{Error, Result};

use super::commands::{COMMANDS, Command};
use super::input::{PROMPT, Words};
use super::prompt::{Next, Prompt, dim};

impl Prompt<'_, '_, '_, '_> {
    /// Reads commands until the launch is left.
    pub(super) fn run(&mut self, number: usize) -> Next {
        let mut names: Vec<String> =
            self.debugger.program().functions().map(|name| name.to_string()).collect();
        names.extend(self.debugger.scope(0).locals());
        names.extend(self.debugger.scope(0).shared().into_iter().map(|(name, ..)| name));
        names.extend(["threadIdx", "blockIdx", "blockDim", "gridDim"].map(str::to_owned));
        let commands = COMMANDS.iter().map(|command| command.name.to_owned()).collect();
        self.kept.input.know(Words { commands, names });
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
            let Some(line) = self.kept.input.next() else { return Next::Quit };
            let text = line.text.trim();
            if line.is_given {
                self.out(format!("{PROMPT}{text}\n"));
            }
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match self.command(text) {
                Ok(None) => {}
                Ok(Some(next)) => return next,
                Err(error) => self.tell_error(text, &error),
            }
        }
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
