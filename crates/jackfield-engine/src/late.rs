//! Late outcomes: the result of a tool call that was given up goes into the inbox of its session.
//!
//! The process that receives it need not own the session, and the turn may be over: the delivery is recorded
//! and changes nothing. A late outcome is lost if the process ends before it is delivered.

use std::sync::{Arc, Weak};

use jackfield_domain::ids::{DeliveryId, SessionId, ToolAttempt};
use jackfield_domain::late;
use jackfield_domain::outcome::ToolResult;
use jackfield_ports::journal::{Journal as _, JournalError};
use jackfield_ports::toolbox::LateOutcomeHandler;
use tokio::runtime::Handle;

use crate::error::chain;
use crate::options::Durability;
use crate::patience::retry_until_reachable;
use crate::state::EngineState;

/// Delivers the late outcomes of a session's calls.
#[derive(Clone)]
pub(crate) struct LateOutcomeSender {
    session: SessionId,
    shared: Weak<EngineState>,
}

impl LateOutcomeSender {
    pub(crate) fn new(shared: &Arc<EngineState>, session: &SessionId) -> Self {
        Self {
            session: session.clone(),
            shared: Arc::downgrade(shared),
        }
    }

    /// Returns the handler for the outcome of an attempt that was given up.
    pub(crate) fn handler(&self, attempt: ToolAttempt) -> LateOutcomeHandler {
        let sender = self.clone();
        LateOutcomeHandler::new(move |result| sender.deliver(attempt, &result))
    }

    /// Delivers a late outcome in the background.
    fn deliver(self, attempt: ToolAttempt, result: &ToolResult) {
        let Self { session, shared } = self;
        let (call, size, is_error) = (attempt.call.clone(), result.size(), result.is_error);
        tracing::info!(%session, %call, size, is_error, "a tool answered after its call was given up");
        // Without an engine or a runtime there is no journal to record it in.
        let (Some(shared), Ok(runtime)) = (shared.upgrade(), Handle::try_current()) else {
            return;
        };
        // Ephemeral sessions are not read later.
        let id = DeliveryId::parse(&format!("late-{call}-{}", attempt.attempt));
        let (Durability::Durable, Ok(id)) = (shared.journal.durability(&session), id) else {
            return;
        };
        let Some(permit) = shared.late_limit.try_acquire() else {
            tracing::warn!(%session, %call, "too many late outcomes at once: this one is not kept");
            return;
        };
        let body = late::delivery(attempt, result);
        runtime.spawn(async move {
            let deliver = || {
                let (id, body) = (id.clone(), body.clone());
                shared.journal.deliver(&session, id, BY.into(), body)
            };
            match retry_until_reachable(|| shared.shutdown.is_draining(), deliver).await {
                Ok(_) | Err(JournalError::UnknownSession { .. }) => {}
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(%session, %call, %error, "a late outcome could not be kept");
                }
            }
            drop(permit);
        });
    }
}

/// The name of the sender in the delivery.
const BY: &str = "the tool";
