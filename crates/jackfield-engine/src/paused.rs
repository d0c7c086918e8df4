//! Turns that wait for room in a budget go on when a change of the directory has made some, such as a raise.
//!
//! The answer is a delivery, as a person's would be: the process that drives the turn need not be this one, and a crash
//! loses nothing. The end of a budget's period is the deadline of the wait, which the loop sees by itself.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::directory::{DirectoryChange, EntryKind};
use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::session::Session;
use jackfield_domain::wait::{Answer, Approval, DeliveryBody, WaitKind};
use jackfield_ports::journal::directory::{ChangeQuery, Directory};
use jackfield_ports::journal::sessions::{ListedWait, WaitQuery};
use jackfield_ports::journal::{Journal as _, JournalError};
use tokio::time::Instant;

use crate::budgets;
use crate::error::{EngineError, chain};
use crate::state::Engine;

/// Looks after turns that wait for room in a budget.
#[derive(Debug, Default)]
pub(crate) struct RoomWatch {
    /// When to look next.
    next: Option<Instant>,
    /// When to look at all waits although nothing has changed: a turn that had read its budget before a change may begin
    /// to wait after the look at it.
    next_whole: Option<Instant>,
    /// The number of the directory's newest change that was seen; `None` before the first look.
    seen: Option<u64>,
}

impl RoomWatch {
    /// Answers the waits that have room, if the directory has changed since the last look.
    pub(crate) async fn look(&mut self, engine: &Engine) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        self.next = Some(now + PERIOD);
        if let Err(error) = self.look_at(engine).await {
            let error = chain(&error);
            tracing::warn!(%error, "turns that wait for a budget cannot be looked after; trying again");
        }
    }

    async fn look_at(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let Some(directory) = engine.shared.journal.directory() else {
            return Ok(());
        };
        let newest = changes(directory, 1).await?;
        let newest = newest.first().map_or(0, |(number, _)| *number);
        let is_changed = match self.seen {
            // Other processes may have changed this journal.
            None => true,
            Some(seen) if seen == newest => false,
            Some(seen) => {
                let page = changes(directory, PAGE).await?;
                let is_known = page.last().is_none_or(|(number, _)| *number <= seen);
                let mut unseen = page.iter().take_while(|(number, _)| *number > seen);
                !(is_known || page.len() < PAGE)
                    || unseen.any(|(_, change)| may_raise(change.entry.kind()))
            }
        };
        let now = Instant::now();
        if is_changed || self.next_whole.is_none_or(|next| next <= now) {
            engine.answer_paused().await?;
            self.next_whole = Some(now + WHOLE_PERIOD);
        }
        self.seen = Some(newest);
        Ok(())
    }
}

/// The newest changes of the directory.
async fn changes(
    directory: &dyn Directory,
    limit: usize,
) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
    let query = ChangeQuery {
        limit,
        ..ChangeQuery::default()
    };
    directory.changes(&query).await
}

/// Whether entries of this kind have budgets.
const fn may_raise(kind: EntryKind) -> bool {
    match kind {
        EntryKind::Key | EntryKind::Team | EntryKind::User => true,
        EntryKind::ProviderKey | EntryKind::Server | EntryKind::SignIn => false,
    }
}

impl Engine {
    /// Lets the turns go on that wait for budgets which have room now.
    async fn answer_paused(&self) -> Result<(), EngineError> {
        let mut query = WaitQuery {
            limit: WAITS_PER_READ,
            ..WaitQuery::default()
        };
        loop {
            let open = self.shared.journal.waits(&query).await?;
            let is_last = open.len() < query.limit;
            for ListedWait {
                number,
                row,
                session,
                ..
            } in open
            {
                query.after = number;
                if !matches!(row.wait.kind, WaitKind::Budget { .. }) {
                    continue;
                }
                // The others can still go on.
                if let Err(error) = self.answer_if_room(&session, &row.wait.id).await {
                    let error = chain(&error);
                    tracing::warn!(%session, %error, "a turn that waits for a budget cannot be looked after");
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    async fn answer_if_room(&self, session: &SessionId, wait: &WaitId) -> Result<(), EngineError> {
        if self.has_room(session).await? {
            self.answer_pause(session, wait).await?;
        }
        Ok(())
    }

    /// Whether no budget of the open turn of a session is spent. What calls in flight have reserved does not count: the
    /// turn tries again, and waits for half a minute if they leave no room.
    async fn has_room(&self, session: &SessionId) -> Result<bool, EngineError> {
        let loaded = match self.shared.journal.load(session).await {
            Err(JournalError::UnknownSession { .. }) => return Ok(false),
            loaded => loaded?,
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let Some(turn) = folded.open_turn() else {
            return Ok(false);
        };
        let quotas = budgets::quotas_of(&self.shared, &turn.setup().budgets).await?;
        let states = self.budget_states(&quotas).await?;
        Ok(!states.iter().any(|state| state.is_spent()))
    }

    async fn answer_pause(&self, session: &SessionId, wait: &WaitId) -> Result<(), EngineError> {
        // Another process that answers has the same id, so the inbox has one answer.
        let Ok(id) = DeliveryId::parse(&format!("room-{wait}")) else {
            return Ok(());
        };
        let answer = Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        });
        let body = DeliveryBody::Answer {
            answer,
            wait: wait.clone(),
        };
        self.deliver(session, id, Arc::from(BY), body).await?;
        tracing::info!(%session, "a budget has room again, and its turn goes on");
        Ok(())
    }
}

/// How many changes are read to see whether one is of a budget.
const PAGE: usize = 100;
/// The time between two looks at all waits.
const WHOLE_PERIOD: Duration = Duration::from_secs(30);
/// The time between two looks for changes.
const PERIOD: Duration = Duration::from_secs(1);
/// Who answers.
const BY: &str = "a change of the budget";
/// How many open waits are read at once.
const WAITS_PER_READ: usize = 1000;
