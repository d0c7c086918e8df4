//! Approvals: what a person may answer, and who is asked.

use std::io::{self, BufRead as _, BufReader};

/// What a person says about a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Choice {
    /// It may run, and so may every later call of this tool, as long as the same person is asked.
    All,
    /// It may not, for this reason; the reason may be empty.
    Deny(String),
    /// It may run with other arguments: these, or those that are yet to be typed.
    Edit(String),
    /// It may run.
    Once,
}

/// Understands an answer; nothing comes of one that is none.
#[must_use]
pub fn parse(line: &str) -> Option<Choice> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_lowercase().as_str() {
        // Whoever says "yes, but" has not said yes, and a sentence can begin with "a".
        "y" | "yes" if rest.trim().is_empty() => Some(Choice::Once),
        "a" | "all" if rest.trim().is_empty() => Some(Choice::All),
        "e" | "edit" => Some(Choice::Edit(rest.trim().to_owned())),
        "n" | "no" => Some(Choice::Deny(rest.trim().to_owned())),
        _ => None,
    }
}

/// A terminal with a person at it.
#[derive(Debug)]
pub struct Terminal {
    lines: BufReader<std::fs::File>,
}

impl From<std::fs::File> for Terminal {
    fn from(file: std::fs::File) -> Self {
        Self {
            lines: BufReader::new(file),
        }
    }
}

impl Terminal {
    /// The terminal of this process, even where standard input is something else.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn open() -> io::Result<Self> {
        let path = if cfg!(windows) { "CONIN$" } else { "/dev/tty" };
        Ok(std::fs::File::open(path)?.into())
    }

    /// Waits for a line; `None` if the person is gone.
    #[must_use]
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        read.is_ok_and(|bytes| bytes > 0).then_some(line)
    }
}
