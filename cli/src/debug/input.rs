//! Where the commands of the prompt come from: files, arguments, and then a terminal or standard input.

use std::borrow::Cow;
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

/// What is written before the lines that belong to a command.
pub(super) const MORE: &str = ">";
/// Most files of commands that a session reads: one may name itself.
const FILES: usize = 1000;

/// Completes the first word from the commands, others from what the command takes: names of the program, as a rule.
#[derive(Default)]
pub(super) struct Words {
    pub(super) commands: Vec<String>,
    /// By the command, with the aliases of each.
    pub(super) of_command: Vec<(Vec<&'static str>, Vec<String>)>,
    pub(super) names: Vec<String>,
    /// Whether the prompt has a colour.
    pub(super) coloured: bool,
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let start = line[..at].rfind([' ', '(', '*', '&', ',', '+', '[']).map_or(0, |found| found + 1);
        let before = line[..start].trim();
        let command = before.split_whitespace().next();
        let own = self.of_command.iter().find(|(names, _)| command.is_some_and(|word| names.contains(&word)));
        let words = match (before, own) {
            ("", _) => &self.commands,
            (_, Some((_, words))) => words,
            _ => &self.names,
        };
        let begun = &line[start..at];
        let mut found: Vec<&String> = words.iter().filter(|word| word.starts_with(begun)).collect();
        found.sort();
        found.dedup();
        let pair = |word: &String| Pair { display: word.clone(), replacement: word.clone() };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        match self.coloured {
            true => Cow::Owned(format!("\u{1b}[1;32m{prompt}\u{1b}[0m")),
            false => Cow::Borrowed(prompt),
        }
    }
}
impl Validator for Words {}
impl Helper for Words {}

/// The source of commands.
pub(super) struct Input {
    given: VecDeque<Line>,
    batch: bool,
    editor: Option<Editor<Words, FileHistory>>,
    last: String,
    /// Files of commands that were read.
    files: usize,
}

/// A command.
pub(super) struct Line {
    pub(super) text: String,
    /// It is to be shown: somebody gave it, and not at the prompt.
    pub(super) is_given: bool,
}

impl Line {
    fn given(text: &str) -> Line {
        Line { text: text.to_owned(), is_given: true }
    }
}

impl Input {
    pub(super) fn open(args: &ScriptArgs) -> Result<Self, Failure> {
        let mut given = VecDeque::new();
        for path in &args.scripts {
            let text = std::fs::read_to_string(path);
            let text =
                text.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
            given.extend(text.lines().map(Line::given));
        }
        given.extend(args.commands.iter().map(|text| Line::given(text)));
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
        Ok(Self { given, batch: args.batch, editor, last: String::new(), files: 0 })
    }

    /// What is completed from here on, if anybody types.
    pub(super) fn know(&mut self, words: impl FnOnce() -> Words) {
        if let Some(editor) = &mut self.editor {
            editor.set_helper(Some(words()));
        }
    }

    /// Has lines come before all others that wait.
    ///
    /// # Errors
    /// There were too many files.
    pub(super) fn give(&mut self, lines: impl DoubleEndedIterator<Item = String>) -> Result<(), String> {
        self.files += 1;
        if self.files > FILES {
            return Err(format!("{FILES} files and lists of commands were read; does one name itself?"));
        }
        lines.rev().for_each(|line| self.given.push_front(Line::given(&line)));
        Ok(())
    }

    /// Has the commands of a breakpoint come next, which nobody typed.
    pub(super) fn give_commands(&mut self, lines: impl DoubleEndedIterator<Item = String>) {
        lines.rev().for_each(|text| self.given.push_front(Line { text, is_given: false }));
    }

    /// The next line; none behind the last one. What is typed is asked for with a prompt.
    pub(super) fn next(&mut self, prompt: &str) -> Option<Line> {
        if let Some(line) = self.given.pop_front() {
            return Some(line);
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
            match editor.readline(prompt) {
                // An empty line does the last command again.
                Ok(text) if text.trim().is_empty() && prompt == PROMPT => {
                    return Some(Line { text: self.last.clone(), is_given: false });
                }
                Ok(text) => {
                    if prompt == PROMPT {
                        self.last.clone_from(&text);
                    }
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
