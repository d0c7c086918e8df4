//! Approvals: what a person may answer, and who is asked.

use std::io::{self, BufRead as _, BufReader};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_domain::ids::{DeliveryId, InvalidId};

use crate::render::words;
use crate::withdrawal::ReadQuestion;

/// What a person says about a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ApprovalChoice {
    /// It may run, and so may every later call of this tool in the session.
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
pub fn parse(line: &str) -> Option<ApprovalChoice> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_lowercase().as_str() {
        // Whoever says "yes, but" has not said yes, and a sentence can begin with "a".
        "y" | "yes" if rest.trim().is_empty() => Some(ApprovalChoice::Once),
        "a" | "all" if rest.trim().is_empty() => Some(ApprovalChoice::All),
        "e" | "edit" => Some(ApprovalChoice::Edit(rest.trim().to_owned())),
        "n" | "no" => Some(ApprovalChoice::Deny(rest.trim().to_owned())),
        _ => None,
    }
}

/// Who answers here, for people and for audits: as they are called on this machine.
#[must_use]
pub fn user() -> String {
    let named = |variable| std::env::var(variable).ok();
    let name = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(named);
    let name = name.map(|name| words::shortened(name.trim(), LONGEST_NAME));
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "somebody".to_owned())
}

/// An id for something that is delivered from here: no other run has it.
///
/// # Errors
///
/// Only if `what` is not made of the characters of ids.
pub fn delivery_id(what: &str) -> Result<DeliveryId, InvalidId> {
    static DELIVERED: AtomicU32 = AtomicU32::new(0);
    let nth = DELIVERED.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    let process = std::process::id();
    DeliveryId::parse(&format!("cli-{now:x}-{process:x}-{nth:x}-{what}"))
}

/// The most characters of a person's name.
const LONGEST_NAME: usize = 64;

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

    /// Waits for a line; `None` if the person is gone, or the question was taken back.
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
