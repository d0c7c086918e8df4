//! Retention: deletes sessions that are too old or take too much space.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::time::WallTime;
use jackfield_domain::turn_log::SessionLog;
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow};
use jackfield_ports::journal::{Journal as _, JournalError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::error::{EngineError, chain};
use crate::options::Durability;
use crate::state::Engine;

/// The retention of sessions at rest. Sessions that have an open turn, are owned or held by a process, or
/// cannot be read are always kept.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Retention {
    /// Sessions without a change for longer than this are deleted, and older spending records, but for those of this
    /// month.
    pub older_than: Option<Duration>,
    /// The oldest sessions are deleted until the rest takes at most this many bytes.
    pub max_bytes: Option<u64>,
    /// Sessions that changed less than this ago are kept, regardless of the other limits.
    pub min_age: Duration,
}

/// The sessions that were deleted, or would be.
#[derive(Clone, Debug, Default)]
pub struct PruneReport {
    /// The deleted sessions, the oldest change first.
    pub deleted: Vec<SessionRow>,
    /// The sessions that are kept only because a process holds them.
    pub held: Vec<SessionRow>,
    /// Whether more sessions or spending records have to be deleted.
    pub has_more: bool,
    /// The number of spending records that were deleted, because they are too old.
    pub spending_records: usize,
}

/// A background task that deletes expired sessions. Dropping it stops it; a deletion in flight happens as a
/// whole or not at all.
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
    /// Whether all sessions are kept.
    #[must_use]
    pub const fn keeps_everything(&self) -> bool {
        self.older_than.is_none() && self.max_bytes.is_none()
    }
}

/// Deletes an ephemeral session when it is dropped, unless a turn has begun in it.
pub(crate) struct EphemeralCleanup {
    engine: Engine,
    session: Option<SessionId>,
}

impl EphemeralCleanup {
    pub(crate) fn new(engine: &Engine, session: &SessionId) -> Self {
        let is_ephemeral = engine.durability(session) == Durability::Ephemeral;
        Self {
            engine: engine.clone(),
            session: is_ephemeral.then(|| session.clone()),
        }
    }

    /// A turn has begun, and its end deletes the session.
    pub(crate) fn disarm(mut self) {
        self.session = None;
    }
}

impl Drop for EphemeralCleanup {
    fn drop(&mut self) {
        let (Some(session), Ok(runtime)) = (self.session.take(), Handle::try_current()) else {
            return;
        };
        let engine = self.engine.clone();
        runtime.spawn(async move {
            let has_turn = engine.load(&session).await.is_ok_and(|loaded| {
                let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
                facts.any(|fact| matches!(fact, Fact::TurnOpened { .. }))
            });
            // A live owner, whose append may still be committed, prevents the deletion.
            if !has_turn && let Err(error) = engine.delete(&session).await {
                tracing::debug!(%session, error = %chain(&error), "an ephemeral session is left");
            }
        });
    }
}

impl Engine {
    /// Stores what an ephemeral turn used that is over, and deletes its session once its answer was written or has
    /// expired. An answer with an idempotency key stays until it expires: who asks again gets it. Does nothing for
    /// durable sessions.
    pub(crate) async fn delete_when_delivered(&self, session: &SessionId, turn: &TurnId) {
        if self.durability(session) == Durability::Durable {
            return;
        }
        let has_key = self.record_ephemeral_turn(session, turn).await;
        let ephemeral = self.shared.ephemeral;
        let (subscribers, undelivered) = (&self.shared.subscribers, &self.shared.undelivered);
        let delivered_or_expired = async {
            if subscribers.wait_disconnected(turn).await && !has_key {
                return;
            }
            let evicted = undelivered.push(ephemeral.max_sessions);
            tokio::select! {
                () = subscribers.wait_delivered(turn), if !has_key => {}
                () = evicted.notified() => {}
                () = tokio::time::sleep(ephemeral.retain_for) => {}
            }
            undelivered.remove(&evicted);
        };
        delivered_or_expired.await;
        subscribers.forget(turn);
        // A turn that began there since deletes the session at its own end.
        if has_key && !self.is_last_turn(session, turn).await {
            return;
        }
        match self.shared.journal.delete(session).await {
            Ok(()) | Err(JournalError::UnknownSession { .. }) => {}
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%session, %error, "an ephemeral session could not be deleted");
            }
        }
    }

    /// Whether no turn was begun in the session after this one, as far as the journal can be read.
    async fn is_last_turn(&self, session: &SessionId, turn: &TurnId) -> bool {
        let Ok(loaded) = self.load(session).await else {
            return true;
        };
        let log = SessionLog::from_steps(&loaded.steps, &[]);
        log.turns.last().is_none_or(|last| last.turn == *turn)
    }

    /// Deletes up to `most` expired sessions, and spending records that are too old; if `dry_run` is set, only lists
    /// the sessions.
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
        let mut total_bytes = 0_u64;
        // The oldest sessions that may be deleted; their number is unbounded.
        let mut oldest: VecDeque<SessionRow> = VecDeque::new();
        let mut held = Vec::new();
        let mut before = None;
        let mut is_complete = false;
        let mut has_more = false;
        while !is_complete {
            let query = SessionQuery {
                before: before.take(),
                limit: PAGE,
                ..SessionQuery::default()
            };
            let rows = self.sessions(&query).await?;
            is_complete = rows.len() < PAGE;
            before = rows.last().map(|row| (row.changed, row.session.clone()));
            for row in rows {
                total_bytes = total_bytes.saturating_add(row.bytes);
                if !is_idle(&row) || now.since(row.changed) < retention.min_age {
                    continue;
                }
                if row.held {
                    held.push(row);
                } else {
                    if oldest.len() >= most {
                        has_more |= oldest.pop_front().is_some();
                    }
                    oldest.push_back(row);
                }
            }
        }
        let is_expired = |row: &SessionRow, left: u64| {
            let age = now.since(row.changed);
            let is_old = retention.older_than.is_some_and(|limit| age > limit);
            is_old || retention.max_bytes.is_some_and(|most| left > most)
        };
        let mut pruned = PruneReport::default();
        while let Some(row) = oldest.pop_back() {
            if !is_expired(&row, total_bytes) {
                // The remaining sessions are younger.
                has_more = false;
                break;
            }
            if dry_run || self.delete_unchanged(&row).await? {
                total_bytes = total_bytes.saturating_sub(row.bytes);
                pruned.deleted.push(row);
            }
        }
        held.retain(|row| is_expired(row, total_bytes));
        pruned.held = held;
        pruned.has_more = has_more && !pruned.deleted.is_empty();
        if let (Some(age), Some(log), false) = (retention.older_than, self.spending(), dry_run) {
            let age = i64::try_from(age.max(retention.min_age).as_millis()).unwrap_or(i64::MAX);
            let before = WallTime::from_millis(now.as_millis().saturating_sub(age));
            // Budgets are sums over the records of this month.
            let before = before.min(WallTime::at_utc_month(now.utc_month()));
            let deleted = log.delete_before(before, SPENDING_RECORDS).await?;
            pruned.spending_records = deleted;
            pruned.has_more |= deleted == SPENDING_RECORDS;
        }
        Ok(pruned)
    }

    /// Deletes a session, unless it has changed since it was listed.
    async fn delete_unchanged(&self, row: &SessionRow) -> Result<bool, EngineError> {
        let now = self.session(&row.session).await?;
        let is_unchanged =
            |now: SessionRow| is_idle(&now) && !now.held && now.changed == row.changed;
        if !now.is_some_and(is_unchanged) {
            return Ok(false);
        }
        match self.delete(&row.session).await {
            Ok(()) => Ok(true),
            // Another process just took or deleted it.
            Err(EngineError::Journal(
                JournalError::Held { .. }
                | JournalError::Owned { .. }
                | JournalError::UnknownSession { .. },
            )) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes expired sessions now and at intervals until the pruner is dropped, in small batches with a pause
    /// in between. Requires a Tokio runtime.
    #[must_use = "dropping the pruner ends it"]
    pub fn spawn_pruner(&self, retention: Retention) -> Pruner {
        let engine = self.clone();
        Pruner {
            task: tokio::spawn(async move {
                loop {
                    let pause = match engine.prune(retention, AT_A_TIME, false).await {
                        Ok(PruneReport {
                            deleted: gone,
                            has_more: more,
                            ..
                        }) => {
                            if !gone.is_empty() {
                                tracing::info!(sessions = gone.len(), "old sessions were deleted");
                            }
                            if more { BUSY_PAUSE } else { IDLE_PAUSE }
                        }
                        Err(error) => {
                            let error = chain(&error);
                            tracing::warn!(%error, "old sessions cannot be deleted; trying again");
                            IDLE_PAUSE
                        }
                    };
                    tokio::time::sleep(pause).await;
                }
            }),
        }
    }
}

/// Whether a session is at rest: it changes only if a new message arrives.
const fn is_idle(row: &SessionRow) -> bool {
    row.open.is_none() && !row.owned && row.unreadable.is_none()
}

/// The maximum number of spending records that are deleted at a time.
const SPENDING_RECORDS: usize = 10_000;
/// The number of rows that are read at a time.
const PAGE: usize = 500;
/// The maximum number of sessions that a pruner deletes at a time.
const AT_A_TIME: usize = 100;
/// The pause while more sessions have to be deleted.
const BUSY_PAUSE: Duration = Duration::from_secs(1);
/// The pause when no more sessions have to be deleted.
const IDLE_PAUSE: Duration = Duration::from_secs(60 * 60);
