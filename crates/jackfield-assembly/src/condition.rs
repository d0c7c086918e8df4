//! What a look at the journal's file shows: whether it is sound, and whether it is the newest one.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_store_sqlite::RestoredState;

use crate::journal::OpenJournal;

/// What a look at the journal's file showed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Condition {
    /// What is wrong with it.
    pub damage: Option<Damage>,
    /// What is known of it having gone back to an older state.
    pub restored: Option<RestoredState>,
}

/// A file that is damaged.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// What is wrong, each in a sentence; at least one.
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
    /// What to do about it.
    pub const HELP: &'static str = "`jackfield doctor` names what is damaged, and `jackfield sessions export ID` writes what can \
         still be read; then end what has the file open, move it away with its `-wal` and `-shm`, and put a copy \
         in its place, or what `sqlite3 FILE .recover` finds in it";
}

/// What to do about a file that went back to an older state.
#[must_use]
pub fn restored_help(restored: &RestoredState) -> String {
    format!(
        "see what the calls of its open turns did since; `jackfield sessions resume ID --again` goes on with one, \
         and {} is to be removed once everything was seen to",
        restored.file.display()
    )
}

impl OpenJournal {
    /// Looks at the file for at most about that long. What could not be looked at in time is not told.
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
