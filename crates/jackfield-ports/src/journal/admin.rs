//! What a person asks of a journal as a whole: its place, its size, and whether it is intact.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::SessionId;

use super::JournalError;
use super::copy::{Imported, SessionCopy};
use super::sessions::SessionRow;

/// Looks over a journal as a whole.
///
/// # Contract
///
/// - A check MUST end within about its time limit, MUST change nothing, and MUST NOT delay other requests.
/// - Damage is part of a report. An error means that the journal could not be looked over at all.
#[async_trait]
pub trait JournalAdmin: Send + Sync {
    /// The journal's place as shown to people: the path of a file, or an address. Without a password.
    fn location(&self) -> String;

    /// What a person does about damage, as a clause without a full stop.
    fn repair_help(&self) -> &str {
        "put a backup in its place"
    }

    /// Checks the whole journal, for at most `limit`: its structure, and whether every record can be read. Other
    /// requests go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn check(
        &self,
        limit: Duration,
        progress: Box<dyn FnMut(CheckProgress) + Send>,
    ) -> Result<CheckReport, JournalError>;

    /// Checks what can be checked without reading the sessions, for at most `limit`.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn quick_check(&self, limit: Duration) -> Result<QuickChecked, JournalError>;

    /// The details if the journal went back to an older state; `None` if it did not.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn restored(&self) -> Result<Option<RestoredState>, JournalError>;

    /// At most `limit` sessions that can be read although the list of sessions is damaged, in no particular order.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn readable_sessions(&self, limit: usize) -> Result<Vec<SessionRow>, JournalError>;

    /// Writes a session of another journal, whole or not at all, with its times; it has no owner then. A session of its
    /// id stays as it is.
    ///
    /// The default refuses: the journal takes no copies.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached or written.
    async fn import(&self, _copy: &SessionCopy) -> Result<Imported, JournalError> {
        Err(JournalError::Unreachable {
            source: "this journal takes no copies".into(),
        })
    }

    /// The space that the journal takes, in bytes.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn size(&self) -> Result<u64, JournalError>;
}

/// The result of a full check.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CheckReport {
    /// The damage found, one sentence each, with the session's id where it belongs to one.
    pub damage: Vec<String>,
    /// Whether the check finished within its time limit.
    pub is_complete: bool,
    /// Sessions with records of a newer version, which this one cannot fully read. They are not damaged.
    pub newer: Vec<SessionId>,
    /// The number of spending records of a newer version, which this one cannot read. They are not damaged.
    pub newer_spending: u64,
    /// The number of sessions checked.
    pub sessions: u64,
    /// The number of steps read.
    pub steps: u64,
}

/// The result of a quick check, which does not read the contents of sessions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct QuickChecked {
    /// The damage found, one sentence each.
    pub damage: Vec<String>,
    /// Whether the check finished within its time limit.
    pub is_complete: bool,
}

/// The progress of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CheckProgress {
    /// The number of sessions checked so far.
    pub done: u64,
    /// The number of sessions in all.
    pub total: u64,
}

/// Details of a journal that went back to an older state.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RestoredState {
    /// Where the marks of its sessions are, such as a file; a person removes them once every session was handled.
    pub marks: String,
    /// The number of turns still parked for it.
    pub parked: u64,
    /// What happened, one line each.
    pub why: Vec<String>,
}

impl fmt::Display for RestoredState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why.join("; "))?;
        match self.parked {
            0 => Ok(()),
            1 => f.write_str("; 1 turn is parked for it"),
            parked => write!(f, "; {parked} turns are parked for it"),
        }
    }
}
