//! The line editor with history, on a thread of its own.

use std::borrow::Cow;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustyline::completion::{Completer, Pair};
use rustyline::config::{Behavior, BellStyle, CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, MemHistory};
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ConditionalEventHandler, Context, Editor, Event, EventContext, EventHandler,
    ExternalPrinter as _, Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};

use crate::completion::Completions;
use crate::prompt::{PersonAnswer, PersonQuestion};
use crate::render;
use crate::tty;
use crate::withdrawal::ReadQuestion as Open;

/// Prints above the line that is being edited.
pub(crate) type ExternalPrinter = Box<dyn Fn(String) -> io::Result<()> + Send + Sync>;

/// The line editors for messages and answers.
pub(crate) struct LineEditor {
    /// Answers have no history, and ignore text that was typed ahead.
    answers: Editor<(), MemHistory>,
    /// The history file, if there is one.
    file: Option<PathBuf>,
    messages: Editor<EditorHelper, FileHistory>,
    /// Text that was typed ahead of a question, for the next message.
    typed: String,
}

impl LineEditor {
    /// An editor on the terminal, with this history file.
    ///
    /// Returns the reason as well if the history file cannot be used.
    ///
    /// # Errors
    ///
    /// The terminal does not support line editing.
    pub(crate) fn new(
        file: Option<PathBuf>,
        completions: Completions,
        styled: bool,
    ) -> io::Result<(Self, Option<String>)> {
        let config = Config::builder()
            .auto_add_history(false)
            .behavior(if io::stdout().is_terminal() {
                Behavior::Stdio
            } else {
                // Answers may go to a pipe; the edited line must not.
                Behavior::PreferTerm
            })
            .bell_style(BellStyle::None)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .history_ignore_space(true)
            .max_history_size(MAX_ENTRIES)
            .map_err(io::Error::other)?
            .build();
        let history = FileHistory::with_config(&config);
        let messages = Editor::with_history(config.clone(), history);
        let mut messages: Editor<EditorHelper, FileHistory> = messages.map_err(io::Error::other)?;
        messages.set_helper(Some(EditorHelper {
            completions,
            styled,
        }));
        messages.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::NONE),
            EventHandler::Conditional(Box::new(EnterKey)),
        );
        messages.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        messages.bind_sequence(
            KeyEvent::ctrl('C'),
            EventHandler::Conditional(Box::new(InterruptKey)),
        );
        let answers = Editor::with_history(config, MemHistory::new()).map_err(io::Error::other)?;
        let mut editor = Self {
            answers,
            file,
            messages,
            typed: String::new(),
        };
        let why = editor.load_history().err().map(|error| error.to_string());
        if why.is_some() {
            editor.file = None;
        }
        Ok((editor, why))
    }

    /// A printer above the edited line; `None` if the terminal does not support it.
    pub(crate) fn external_printer(&mut self) -> Option<ExternalPrinter> {
        let printer = Mutex::new(self.messages.create_external_printer().ok()?);
        Some(Box::new(move |text| {
            let mut printer = printer.lock().unwrap_or_else(PoisonError::into_inner);
            printer.print(text).map_err(io::Error::other)
        }))
    }

    /// Asks a question, and waits for the answer.
    pub(crate) fn ask(&mut self, question: PersonQuestion, open: &Open) -> PersonAnswer {
        let line = match &question {
            PersonQuestion::Answer { initial, prompt } => {
                // Text that was typed before the question cannot be its answer.
                self.typed.push_str(&tty::typed_ahead());
                if initial.is_empty() && !wait_for_key(prompt, open) {
                    return PersonAnswer::Gone;
                }
                self.answers.readline_with_initial(*prompt, (initial, ""))
            }
            PersonQuestion::Message => self.message(),
        };
        tty::mark_pastes();
        match line {
            Ok(line) => {
                if question == PersonQuestion::Message {
                    self.save_history(&line);
                }
                PersonAnswer::Line(line)
            }
            Err(ReadlineError::Interrupted) => PersonAnswer::Interrupted,
            Err(_) => PersonAnswer::Gone,
        }
    }

    fn message(&mut self) -> rustyline::Result<String> {
        let typed = std::mem::take(&mut self.typed);
        let message = self.messages.readline_with_initial(PROMPT, (&typed, ""))?;
        let mut message = message.replace(&format!("\\{TYPED}\n"), "\n");
        // On a dumb terminal, a trailing backslash is only seen after the line has ended.
        while render::is_dumb() && message.ends_with('\\') {
            message.pop();
            message.push('\n');
            message.push_str(&self.messages.readline("")?);
        }
        Ok(message)
    }

    /// Loads the history of earlier runs.
    fn load_history(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Some(folder) = file.parent() {
            make_private(folder)?;
        }
        // A link is no file: its maker would choose which file is written.
        match fs::symlink_metadata(file) {
            Ok(found) if found.is_symlink() => {
                return Err(io::Error::other(
                    "it is a symbolic link, which is not followed; remove it",
                ));
            }
            Ok(found) if !found.is_file() => return Err(io::Error::other("it is no file")),
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(io::Error::other("it is larger than it can have become"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Creates an empty file, so that an unwritable place is noticed now.
                return self.messages.save_history(file).map_err(io::Error::other);
            }
            Err(error) => return Err(error),
        }
        self.messages.load_history(file).map_err(io::Error::other)
    }

    fn save_history(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let added = self.messages.add_history_entry(line);
        if let (Ok(true), Some(file)) = (added, &self.file)
            && line.len() <= MAX_LENGTH
        {
            // A message that cannot be saved stays in memory until the end.
            let _kept = self.messages.append_history(file);
        }
    }
}

/// Shows the prompt until a key is pressed. Returns whether the question is still open then. From there on, the
/// editor has the line, and cannot be interrupted.
fn wait_for_key(prompt: &str, open: &Open) -> bool {
    let mut out = io::stdout();
    if render::is_dumb() || !out.is_terminal() {
        return true;
    }
    // The next read detects a closed terminal.
    let _shown = out.write_all(prompt.as_bytes()).and_then(|()| out.flush());
    let stands = open.waits_for(&io::stdin());
    let _cleared = out.write_all(b"\r\x1b[K").and_then(|()| out.flush());
    stands
}

fn make_private(folder: &std::path::Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Enter: continues on a new line after a backslash.
struct EnterKey;

impl ConditionalEventHandler for EnterKey {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let before = context.line().get(..context.pos())?;
        let continues = before.ends_with('\\') && !before.ends_with("\\\\");
        continues.then(|| Cmd::Insert(1, format!("{TYPED}\n")))
    }
}

/// Ctrl-C: clears the line, and interrupts only if it is empty.
struct InterruptKey;

impl ConditionalEventHandler for InterruptKey {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

/// The colored prompt, and what Tab completes.
struct EditorHelper {
    completions: Completions,
    styled: bool,
}

impl Completer for EditorHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (begin, found) = self
            .completions
            .complete(line.get(..at).unwrap_or_default());
        let pairs = found.into_iter().map(|one| Pair {
            display: one.shown,
            replacement: one.word,
        });
        Ok((begin, pairs.collect()))
    }
}

impl Highlighter for EditorHelper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _default: bool,
    ) -> Cow<'b, str> {
        if self.styled {
            Cow::Owned(render::chat::prompt(prompt))
        } else {
            Cow::Borrowed(prompt)
        }
    }
}

impl Helper for EditorHelper {}
impl Hinter for EditorHelper {
    type Hint = String;
}
impl Validator for EditorHelper {}

/// The maximum size of a message in the history file.
const MAX_LENGTH: usize = 16 << 10;

/// The maximum size of a history file.
const MAX_BYTES: u64 = 32 << 20;

/// The maximum number of messages in the history.
const MAX_ENTRIES: usize = 1000;

/// Marks a line end that was typed after a backslash, as opposed to a pasted one. It has no width.
const TYPED: char = '\u{200b}';

const PROMPT: &str = "> ";
