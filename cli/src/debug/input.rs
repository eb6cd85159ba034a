//! Where the commands of the prompt come from: files, arguments, and then a terminal or standard input.

use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal};

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::args::ScriptArgs;
use crate::exit::Failure;

/// What is written before a command.
pub(super) const PROMPT: &str = "(warpgrind) ";

/// Completes the first word from the commands, others from names of the program.
#[derive(Default)]
pub(super) struct Words {
    pub(super) commands: Vec<String>,
    pub(super) names: Vec<String>,
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let start = line[..at].rfind([' ', '(', '*', '&', ',', '+', '[']).map_or(0, |found| found + 1);
        let words = if line[..start].trim().is_empty() { &self.commands } else { &self.names };
        let begun = &line[start..at];
        let found = words.iter().filter(|word| word.starts_with(begun));
        Ok((start, found.map(|word| Pair { display: word.clone(), replacement: word.clone() }).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

/// The source of commands.
pub(super) struct Input {
    given: VecDeque<String>,
    batch: bool,
    editor: Option<Editor<Words, FileHistory>>,
    last: String,
}

/// A command.
pub(super) struct Line {
    pub(super) text: String,
    /// It is not on the screen yet.
    pub(super) is_given: bool,
}

impl Input {
    pub(super) fn open(args: &ScriptArgs) -> Result<Self, Failure> {
        let mut given = VecDeque::new();
        for path in &args.scripts {
            let text = std::fs::read_to_string(path);
            let text =
                text.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
            given.extend(text.lines().map(str::to_owned));
        }
        given.extend(args.commands.iter().cloned());
        let editor = match !args.batch && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            true => {
                let config =
                    Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
                let editor = Editor::with_config(config);
                let mut editor =
                    editor.map_err(|error| Failure::usage(format!("cannot use the terminal: {error}")))?;
                if let Some(path) = history() {
                    // There is none the first time.
                    let _ = editor.load_history(&path);
                }
                Some(editor)
            }
            false => None,
        };
        Ok(Self { given, batch: args.batch, editor, last: String::new() })
    }

    /// What is completed from here on.
    pub(super) fn know(&mut self, words: Words) {
        if let Some(editor) = &mut self.editor {
            editor.set_helper(Some(words));
        }
    }

    /// The next command; none behind the last one.
    pub(super) fn next(&mut self) -> Option<Line> {
        if let Some(text) = self.given.pop_front() {
            return Some(Line { text, is_given: true });
        }
        if self.batch {
            return None;
        }
        let Some(editor) = &mut self.editor else {
            let mut text = String::new();
            return match std::io::stdin().lock().read_line(&mut text) {
                Ok(1..) => Some(Line { text, is_given: true }),
                _ => None,
            };
        };
        loop {
            match editor.readline(PROMPT) {
                // An empty line does the last command again.
                Ok(text) if text.trim().is_empty() => {
                    return Some(Line { text: self.last.clone(), is_given: false });
                }
                Ok(text) => {
                    self.last.clone_from(&text);
                    return Some(Line { text, is_given: false });
                }
                Err(ReadlineError::Interrupted) => {}
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let (Some(editor), Some(path)) = (&mut self.editor, history()) {
            // A history that cannot be kept is none.
            let _ = path.parent().map(std::fs::create_dir_all);
            let _ = editor.save_history(&path);
        }
    }
}

/// The file that commands are remembered in.
fn history() -> Option<std::path::PathBuf> {
    let folder = match std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => std::path::PathBuf::from(std::env::var_os("HOME")?).join(".local/state"),
    };
    Some(folder.join("warpgrind/history"))
}
