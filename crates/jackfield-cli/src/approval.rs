//! Approvals at the terminal: parsing an answer, and reading it.

use std::io::{self, BufRead as _, BufReader};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_domain::ids::{DeliveryId, InvalidId};

use crate::render::words;
use crate::withdrawal::ReadQuestion;

/// A person's answer to an approval question.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ApprovalChoice {
    /// Allows this call and every later call of this tool in the session.
    All,
    /// Denies the call with this reason, which may be empty.
    Deny(String),
    /// Allows every call of this tool, by a rule of the configuration.
    Forever,
    /// Allows this call and every call of a tool of its server that only reads, until the process ends.
    Reading,
    /// Allows the call with other arguments. If the text is empty, they are still to be typed.
    Edit(String),
    Once,
}

/// Parses an answer; `None` if it is unclear.
#[must_use]
pub fn parse(line: &str) -> Option<ApprovalChoice> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_lowercase().as_str() {
        // "yes, but ..." is not a yes, and a sentence can begin with "a".
        "y" | "yes" if rest.trim().is_empty() => Some(ApprovalChoice::Once),
        "a" | "all" if rest.trim().is_empty() => Some(ApprovalChoice::All),
        "f" | "forever" | "always" if rest.trim().is_empty() => Some(ApprovalChoice::Forever),
        "r" | "read" if rest.trim().is_empty() => Some(ApprovalChoice::Reading),
        "e" | "edit" => Some(ApprovalChoice::Edit(rest.trim().to_owned())),
        "n" | "no" => Some(ApprovalChoice::Deny(rest.trim().to_owned())),
        _ => None,
    }
}

/// The name of the current user, as recorded with an answer: the login name on this machine, or
/// `unknown`.
#[must_use]
pub fn user() -> String {
    let named = |variable| std::env::var(variable).ok();
    let name = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(named);
    let name = name.map(|name| words::shortened(name.trim(), MAX_NAME));
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// A delivery id that is unique to this run.
///
/// # Errors
///
/// Only if `what` has characters that ids do not allow.
pub fn delivery_id(what: &str) -> Result<DeliveryId, InvalidId> {
    static DELIVERED: AtomicU32 = AtomicU32::new(0);
    let nth = DELIVERED.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    let process = std::process::id();
    DeliveryId::parse(&format!("cli-{now:x}-{process:x}-{nth:x}-{what}"))
}

/// The maximum length of a person's name, in characters.
const MAX_NAME: usize = 64;

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
    /// Opens the controlling terminal of this process, even if standard input is redirected.
    ///
    /// # Errors
    ///
    /// There is no terminal.
    pub fn open() -> io::Result<Self> {
        let path = if cfg!(windows) { "CONIN$" } else { "/dev/tty" };
        Ok(std::fs::File::open(path)?.into())
    }

    /// Waits for a line; `None` at the end of input, or if the question was withdrawn.
    #[must_use]
    pub fn line(&mut self, question: &ReadQuestion) -> Option<String> {
        if self.lines.buffer().is_empty() && !question.waits_for(self.lines.get_ref()) {
            return None;
        }
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        read.is_ok_and(|bytes| bytes > 0).then_some(line)
    }
}
