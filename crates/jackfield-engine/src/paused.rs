//! Turns that wait for room in a budget go on when a change of the directory has made some, such as a raise.
//!
//! The answer is a delivery, as a person's would be: the process that drives the turn need not be this one, and a crash
//! loses nothing. The end of a budget's period is the deadline of the wait, which the loop sees by itself.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::session::Session;
use jackfield_domain::wait::{Answer, Approval, DeliveryBody, WaitKind};
use jackfield_ports::journal::directory::ChangeQuery;
use jackfield_ports::journal::sessions::WaitQuery;
use jackfield_ports::journal::{Journal as _, JournalError};
use tokio::time::Instant;

use crate::budgets;
use crate::error::{EngineError, chain};
use crate::state::Engine;

/// Looks after turns that wait for room in a budget.
#[derive(Debug, Default)]
pub(crate) struct RoomWatch {
    /// The number of the directory's newest change that was seen; `None` before the first look.
    seen: Option<u64>,
    /// When to look next.
    next: Option<Instant>,
}

impl RoomWatch {
    /// Answers the waits that have room, if the directory has changed since the last look.
    pub(crate) async fn look(&mut self, engine: &Engine) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        self.next = Some(now + PERIOD);
        match self.look_at(engine).await {
            Ok(()) => {}
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%error, "turns that wait for a budget cannot be looked after; trying again");
            }
        }
    }

    async fn look_at(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let Some(directory) = engine.shared.journal.directory() else {
            return Ok(());
        };
        let query = ChangeQuery {
            limit: 1,
            ..ChangeQuery::default()
        };
        let newest = directory.changes(&query).await?;
        // The first look is at a journal that other processes may have changed.
        let newest = newest.first().map_or(0, |(number, _)| *number);
        if self.seen != Some(newest) {
            engine.answer_paused().await?;
            self.seen = Some(newest);
        }
        Ok(())
    }
}

impl Engine {
    /// Lets the turns go on that wait for budgets which have room now.
    async fn answer_paused(&self) -> Result<(), EngineError> {
        let query = WaitQuery {
            limit: MAX_WAITS,
            session: None,
        };
        for (session, row) in self.shared.journal.open_waits(&query).await? {
            if !matches!(row.wait.kind, WaitKind::Budget { .. }) {
                continue;
            }
            match self.has_room(&session).await {
                Ok(true) => self.answer_pause(&session, &row.wait.id).await?,
                Ok(false) => {}
                // The others can still go on.
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(%session, %error, "the budgets of a turn cannot be read");
                }
            }
        }
        Ok(())
    }

    /// Whether all budgets of the open turn of a session have room.
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
        Ok(!states.iter().any(|state| state.is_full()))
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

/// The time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Who answers.
const BY: &str = "a change of the budget";
/// The maximum number of open waits that are queried.
const MAX_WAITS: usize = 10_000;
