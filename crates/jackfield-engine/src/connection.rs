//! Connections: responses that are being written to clients.
//!
//! A fully written answer is recorded in the journal shortly afterwards. Connections are known only to this
//! process: after a crash there are none, and answers that were not fully written are undelivered.

use std::time::Duration;

use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::session::Session;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::{Journal as _, JournalError, Loaded};
use tokio::runtime::Handle;

use crate::driven_sessions::SessionProgress;
use crate::error::chain;
use crate::options::{Disconnect, Durability};
use crate::patience::retry_until_reachable;
use crate::state::Engine;
use crate::subscribers::DeliveryState;

/// A response that is being written to a client: one segment of one turn.
///
/// Call [`mark_written`](Self::mark_written) when the client has received all of it. Dropping it earlier means that the
/// connection broke: the answer stays undelivered, and the turn continues or is cancelled according to its
/// [`Disconnect`].
#[derive(Debug)]
#[must_use = "dropping it unwritten says that the connection broke"]
pub struct Connection {
    disconnect: Disconnect,
    engine: Engine,
    is_written: bool,
    segment: u32,
    session: SessionId,
    turn: TurnId,
}

impl Connection {
    fn new(
        engine: &Engine,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
        disconnect: Disconnect,
    ) -> Self {
        Self {
            disconnect,
            engine: engine.clone(),
            is_written: false,
            segment,
            session: session.clone(),
            turn: turn.clone(),
        }
    }

    /// The segment that is being written.
    #[must_use]
    pub const fn segment(&self) -> u32 {
        self.segment
    }

    /// The session of the turn.
    pub(crate) const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The turn that is being written.
    pub(crate) const fn turn(&self) -> &TurnId {
        &self.turn
    }

    /// Records that the client has received the whole answer. Does not block.
    pub fn mark_written(mut self) {
        self.is_written = true;
    }
}

/// The id of the delivery that cancels a turn without subscribers.
fn disconnect_cancel_id(turn: &TurnId) -> Option<DeliveryId> {
    DeliveryId::parse(&format!("unheard-{turn}")).ok()
}

/// Whether a turn was cancelled because it had no subscribers.
#[must_use]
pub fn was_cancelled_by_disconnect(turn: &TurnId, loaded: &Loaded) -> bool {
    let cancel_id = disconnect_cancel_id(turn);
    loaded
        .deliveries
        .iter()
        .any(|delivery| Some(&delivery.id) == cancel_id.as_ref())
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Read first: an ephemeral session is deleted when its last connection has ended.
        let durability = self.engine.durability(&self.session);
        let subscribers = &self.engine.shared.subscribers;
        let is_last = subscribers.disconnect(&self.turn, self.segment, self.is_written);
        let cancel = match (self.disconnect, durability) {
            _ if self.is_written || !is_last => None,
            (Disconnect::Cancel(after), _) => Some(after),
            (Disconnect::Finish, Durability::Ephemeral) => {
                Some(self.engine.shared.ephemeral.disconnect_grace)
            }
            (Disconnect::Finish, Durability::Durable) => None,
        };
        // Without a runtime, no turn is running either.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (engine, session, turn) =
            (self.engine.clone(), self.session.clone(), self.turn.clone());
        if let Some(after) = cancel {
            runtime.spawn(async move { engine.cancel_disconnected(&session, &turn, after).await });
        } else if self.is_written && durability == Durability::Durable {
            let segment = self.segment;
            let receipts = self.engine.shared.shutdown.receipts.clone();
            let record = async move { engine.record_written(&session, &turn, segment).await };
            receipts.spawn_on(record, &runtime);
        }
    }
}

impl Engine {
    /// What this process knows about the delivery of a turn's first answer. It does not read the journal.
    #[must_use]
    pub fn delivery_state(&self, session: &SessionId, turn: &TurnId) -> DeliveryState {
        let state = self.shared.subscribers.delivery_state(turn, 0);
        if state == DeliveryState::Unknown && self.shared.delivered.has(session, turn) {
            return DeliveryState::Written;
        }
        state
    }

    /// Remembers in this process that the first answer of a turn needs no delivery any more, so that its session is
    /// not read for it again.
    pub fn remember_delivered(&self, session: &SessionId, turn: &TurnId) {
        self.shared.delivered.add(session.clone(), turn.clone());
    }

    /// Registers a connection for a response.
    pub(crate) fn connect(
        &self,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
        disconnect: Disconnect,
    ) -> Connection {
        self.shared.subscribers.connect(turn, segment);
        Connection::new(self, session, turn, segment, disconnect)
    }

    /// Like [`connect`](Self::connect), unless this process is writing the answer to another client, or has
    /// just written it.
    pub(crate) fn connect_exclusive(
        &self,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
        disconnect: Disconnect,
    ) -> Option<Connection> {
        let is_alone = self.shared.subscribers.connect_exclusive(turn, segment);
        is_alone.then(|| Connection::new(self, session, turn, segment, disconnect))
    }

    /// Cancels an open turn if it has no subscribers after this time.
    async fn cancel_disconnected(&self, session: &SessionId, turn: &TurnId, after: Duration) {
        if !after.is_zero() {
            tokio::time::sleep(after).await;
        }
        // The client may have disconnected before the turn's first step was committed: wait for that step.
        if let Some(mut driven) = self.shared.driven_sessions.progress(session) {
            let has_begun = |known: &SessionProgress| known.turn.is_some();
            let _driven_no_more = driven.wait_for(has_begun).await.is_err();
        }
        if !self.shared.subscribers.is_disconnected(turn) {
            return;
        }
        let is_over = || self.is_draining();
        let journal = &self.shared.journal;
        // A session that is deleted or damaged has no turn to cancel.
        let Ok(loaded) = retry_until_reachable(is_over, || journal.load(session)).await else {
            return;
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let is_open = folded.open_turn().is_some_and(|open| open.id() == turn);
        let (true, Some(id)) = (is_open, disconnect_cancel_id(turn)) else {
            return;
        };
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn: turn.clone(),
        };
        let deliver =
            || journal.deliver(session, id.clone(), "nobody listens".into(), body.clone());
        match retry_until_reachable(is_over, deliver).await {
            Ok(_) => self.shared.notices.notify_delivered(session),
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%turn, %error, "a turn without a listener could not be cancelled");
            }
        }
    }

    /// Records a fully written answer in the journal. If the record is lost in a crash, the answer counts as
    /// undelivered.
    async fn record_written(&self, session: &SessionId, turn: &TurnId, segment: u32) {
        if let Ok(id) = DeliveryId::parse(&format!("written-{turn}-{segment}")) {
            let journal = &self.shared.journal;
            let deliver = || {
                let body = DeliveryBody::Written {
                    segment,
                    turn: turn.clone(),
                };
                journal.deliver(session, id.clone(), "the client's connection".into(), body)
            };
            // Until then only this process knows it. After [`Engine::flush_receipts`] was called, there is one more
            // attempt.
            let is_over = || self.shared.shutdown.receipts.is_closed();
            match retry_until_reachable(is_over, deliver).await {
                Ok(_) if segment == 0 => self.shared.delivered.add(session.clone(), turn.clone()),
                Ok(_) | Err(JournalError::UnknownSession { .. }) => {}
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(%turn, %error, "that an answer was written could not be kept");
                }
            }
        }
        self.shared.subscribers.mark_recorded(turn, segment);
    }
}
