//! The condition of the journal: whether it is intact, and whether it is the newest state.

use std::fmt;
use std::time::Duration;

use jackfield_ports::journal::admin::{JournalAdmin, RestoredState};

use crate::open_journal::OpenJournal;

/// The condition of the journal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Condition {
    /// The damage found, if any.
    pub damage: Option<Damage>,
    /// Evidence that the journal went back to an older state.
    pub restored: Option<RestoredState>,
}

/// A damaged journal.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Damage {
    /// How to handle it.
    pub help: String,
    /// The journal's place, such as its file.
    pub location: String,
    /// The findings, each in one sentence; at least one.
    pub what: Vec<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged", self.location)?;
        for what in self.what.iter().take(MAX_NAMED) {
            write!(f, "; {what}")?;
        }
        match self.what.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// How to handle a damaged journal.
#[must_use]
pub fn damage_help(journal: &dyn JournalAdmin) -> String {
    format!(
        "`jackfield doctor` names what is damaged, and `jackfield sessions export ID` writes what can still be read; \
         then {}",
        journal.repair_help()
    )
}

/// How to handle a journal that went back to an older state.
#[must_use]
pub fn restored_help(restored: &RestoredState) -> String {
    format!(
        "see what the calls of its open turns did since; `jackfield sessions resume ID --again` goes on with one, \
         and {} is to be removed once everything was seen to",
        restored.marks
    )
}

impl OpenJournal {
    /// Checks the journal for about `limit` at most. Parts that were not reached in time are not reported.
    pub async fn condition(&self, limit: Duration) -> Condition {
        let Some(admin) = self.journal.admin() else {
            return Condition::default();
        };
        let what = match admin.quick_check(limit).await {
            Ok(checked) => checked.damage,
            Err(error) => vec![error.to_string()],
        };
        Condition {
            damage: (!what.is_empty()).then(|| Damage {
                help: damage_help(admin),
                location: admin.location(),
                what,
            }),
            restored: admin.restored().await.unwrap_or_default(),
        }
    }
}

const MAX_NAMED: usize = 3;
