//! The condition of the journal's file: whether it is intact, and whether it is the newest state.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_store_sqlite::RestoredState;

use crate::journal::OpenJournal;

/// The condition of the journal's file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Condition {
    /// The damage found, if any.
    pub damage: Option<Damage>,
    /// Evidence that the file went back to an older state.
    pub restored: Option<RestoredState>,
}

/// A damaged file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// The findings, each in one sentence; at least one.
    pub what: Vec<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged", self.file.display())?;
        for what in self.what.iter().take(MOST_NAMED) {
            write!(f, "; {what}")?;
        }
        match self.what.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl Damage {
    /// How to handle a damaged file.
    pub const HELP: &'static str = "`jackfield doctor` names what is damaged, and `jackfield sessions export ID` writes what can \
         still be read; then end what has the file open, move it away with its `-wal` and `-shm`, and put a copy \
         in its place, or what `sqlite3 FILE .recover` finds in it";
}

/// How to handle a file that went back to an older state.
#[must_use]
pub fn restored_help(restored: &RestoredState) -> String {
    format!(
        "see what the calls of its open turns did since; `jackfield sessions resume ID --again` goes on with one, \
         and {} is to be removed once everything was seen to",
        restored.file.display()
    )
}

impl OpenJournal {
    /// Checks the file for about `limit` at most. Parts that were not reached in time are not reported.
    pub async fn condition(&self, limit: Duration) -> Condition {
        let Some(file) = &self.file else {
            return Condition::default();
        };
        let what = match file.quick_check(limit).await {
            Ok(checked) => checked.damage,
            Err(error) => vec![error.to_string()],
        };
        let file_name = file.path().to_owned();
        Condition {
            damage: (!what.is_empty()).then_some(Damage {
                file: file_name,
                what,
            }),
            restored: file.restored().await.unwrap_or_default(),
        }
    }
}

const MOST_NAMED: usize = 3;
