//! A line that is typed at the terminal and shown as stars.

use std::borrow::Cow;
use std::io;

use rustyline::completion::Completer;
use rustyline::config::{BellStyle, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Editor, Helper};

/// Reads a line behind this prompt. The line editor disables the echo before it shows the prompt.
///
/// # Errors
///
/// The input ends, the person presses Ctrl-C, or the terminal cannot be read.
pub(crate) fn read(prompt: &str) -> io::Result<String> {
    let config = Config::builder()
        .auto_add_history(false)
        .bell_style(BellStyle::None)
        .build();
    let mut editor: Editor<Mask, MemHistory> =
        Editor::with_history(config, MemHistory::new()).map_err(io::Error::other)?;
    editor.set_helper(Some(Mask));
    let line = editor.readline(prompt);
    if let Err(ReadlineError::Eof | ReadlineError::Interrupted) = line {
        return Err(io::Error::new(
            io::ErrorKind::Interrupted,
            "the input was ended",
        ));
    }
    line.map_err(io::Error::other)
}

/// Shows a star for each character.
struct Mask;

impl Completer for Mask {
    type Candidate = String;
}

impl Helper for Mask {}

impl Highlighter for Mask {
    fn highlight<'l>(&self, line: &'l str, _position: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _line: &str, _position: usize, _kind: CmdKind) -> bool {
        true
    }
}

impl Hinter for Mask {
    type Hint = String;
}

impl Validator for Mask {}
