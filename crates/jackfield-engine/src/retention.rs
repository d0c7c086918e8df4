//! Retention: what nobody has gone on with for long, or is too much, goes.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow};
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::perform::chain;

/// What is kept of sessions at rest. One with a turn that is not over, one that somebody is at work on or
/// holds and one that cannot be read stay in any case: something may still come of them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Retention {
    /// What nobody has gone on with for longer than this goes.
    pub older_than: Option<Duration>,
    /// The oldest go until all that are left have no more than so many bytes.
    pub over: Option<u64>,
    /// What was gone on with less than this ago stays, whatever the rest says.
    pub spared: Duration,
}

/// What went, or would go.
#[derive(Clone, Debug, Default)]
pub struct PruneReport {
    /// The sessions, the one first that was gone on with the longest time ago.
    pub gone: Vec<SessionRow>,
    /// The sessions that stay only because a process holds them.
    pub held: Vec<SessionRow>,
    /// Whether more of them are to go.
    pub more: bool,
}

/// A task that deletes what is not to be kept. Dropping it ends it; what it was about to delete is deleted
/// as a whole or not at all.
pub struct Pruner {
    task: JoinHandle<()>,
}

impl fmt::Debug for Pruner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pruner").finish_non_exhaustive()
    }
}

impl Drop for Pruner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Retention {
    /// Whether everything is kept.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.older_than.is_none() && self.over.is_none()
    }
}

impl Engine {
    /// Deletes what is not to be kept, or only says what that is. At most so many go.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read or written.
    pub async fn prune(
        &self,
        retention: Retention,
        most: usize,
        dry_run: bool,
    ) -> Result<PruneReport, EngineError> {
        let now = self.shared.clock.now().wall;
        let mut left = 0_u64;
        // The oldest that may go, of which there may be any number.
        let mut oldest: VecDeque<SessionRow> = VecDeque::new();
        let mut held = Vec::new();
        let mut before = None;
        let mut is_whole = false;
        let mut beyond = false;
        while !is_whole {
            let query = SessionQuery {
                before: before.take(),
                most: PAGE,
                ..SessionQuery::default()
            };
            let rows = self.sessions(&query).await?;
            is_whole = rows.len() < PAGE;
            before = rows.last().map(|row| (row.changed, row.session.clone()));
            for row in rows {
                left = left.saturating_add(row.bytes);
                if !is_at_rest(&row) || now.since(row.changed) < retention.spared {
                    continue;
                }
                if row.held {
                    held.push(row);
                } else {
                    if oldest.len() >= most {
                        beyond |= oldest.pop_front().is_some();
                    }
                    oldest.push_back(row);
                }
            }
        }
        let goes = |row: &SessionRow, left: u64| {
            let age = now.since(row.changed);
            let is_old = retention.older_than.is_some_and(|limit| age > limit);
            is_old || retention.over.is_some_and(|most| left > most)
        };
        let mut pruned = PruneReport::default();
        while let Some(row) = oldest.pop_back() {
            if !goes(&row, left) {
                // Those that are left are younger.
                beyond = false;
                break;
            }
            if dry_run || self.delete_as_it_was(&row).await? {
                left = left.saturating_sub(row.bytes);
                pruned.gone.push(row);
            }
        }
        held.retain(|row| goes(row, left));
        pruned.held = held;
        pruned.more = beyond && !pruned.gone.is_empty();
        Ok(pruned)
    }

    /// Deletes a session, unless something has come of it since it was looked at.
    async fn delete_as_it_was(&self, row: &SessionRow) -> Result<bool, EngineError> {
        let now = self.session(&row.session).await?;
        let is_as_it_was =
            |now: SessionRow| is_at_rest(&now) && !now.held && now.changed == row.changed;
        if !now.is_some_and(is_as_it_was) {
            return Ok(false);
        }
        match self.delete(&row.session).await {
            Ok(()) => Ok(true),
            // Somebody took it up this moment, or deleted it.
            Err(EngineError::Journal(
                JournalError::Held { .. }
                | JournalError::Owned { .. }
                | JournalError::UnknownSession { .. },
            )) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes what is not to be kept, now and then once in a while, until the pruner is dropped; a few at a
    /// time, with a pause after them. Needs a runtime.
    #[must_use = "dropping the pruner ends it"]
    pub fn retain(&self, retention: Retention) -> Pruner {
        let engine = self.clone();
        Pruner {
            task: tokio::spawn(async move {
                loop {
                    let pause = match engine.prune(retention, AT_A_TIME, false).await {
                        Ok(PruneReport { gone, more, .. }) => {
                            if !gone.is_empty() {
                                tracing::info!(sessions = gone.len(), "old sessions were deleted");
                            }
                            if more { SOON } else { SELDOM }
                        }
                        Err(error) => {
                            let error = chain(&error);
                            tracing::warn!(%error, "old sessions cannot be deleted; trying again");
                            SELDOM
                        }
                    };
                    tokio::time::sleep(pause).await;
                }
            }),
        }
    }
}

/// Whether nothing can come of a session by itself.
const fn is_at_rest(row: &SessionRow) -> bool {
    row.open.is_none() && !row.owned && row.unreadable.is_none()
}

/// How many rows are read at a time.
const PAGE: usize = 500;
/// How many sessions a pruner deletes at a time.
const AT_A_TIME: usize = 100;
/// How long it rests when more are to go.
const SOON: Duration = Duration::from_secs(1);
/// How long it rests when none are.
const SELDOM: Duration = Duration::from_secs(60 * 60);
