//! A turn as a reply to its client: reads the turn's events and shapes them into one segment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::HeaderValue;
use jackfield_dialect_kit::serve::{EncodeReply, ReplyInfo, ServeDialect, ServeError};
use jackfield_domain::ids::TurnId;
use jackfield_domain::note::Note;
use jackfield_domain::reply::Reply;
use jackfield_engine::{Connection, Watcher};
use jackfield_gateway::{RequestSlot, failures};

use crate::access::Access;
use crate::receipt::Receipt;
use jackfield_domain::client_view::{ClientEvent, ClientView};

/// A turn that is sent to its client.
pub(crate) struct TurnReply {
    about: ReplyInfo,
    /// The access log line, which records a broken reply.
    pub(crate) access: Option<Access>,
    dialect: &'static dyn ServeDialect,
    pub(crate) request_id: String,
    turn: TurnId,
    client_view: ClientView,
    watcher: Watcher,
}

/// Resources held until the last byte was sent.
pub(crate) struct HeldUntilSent {
    pub(crate) connection: Connection,
    pub(crate) slot: RequestSlot,
}

impl HeldUntilSent {
    /// The receipt that releases them, and marks the reply as delivered if all of it was written. A reply that
    /// broke off stays undelivered.
    pub(crate) fn receipt(self, interrupted: Arc<AtomicBool>) -> Receipt {
        let Self { connection, slot } = self;
        Receipt::new(move |whole| {
            drop(slot);
            if whole && !interrupted.load(Ordering::SeqCst) {
                connection.mark_written();
            }
        })
    }
}

impl TurnReply {
    /// The reply of one segment of a turn.
    pub(crate) fn new(
        dialect: &'static dyn ServeDialect,
        about: ReplyInfo,
        turn: TurnId,
        segment: u32,
        watcher: Watcher,
        request_id: String,
    ) -> Self {
        Self {
            about: ReplyInfo {
                id: format!("{turn}_{segment}"),
                ..about
            },
            access: None,
            dialect,
            request_id,
            client_view: ClientView::new(turn.clone(), segment),
            turn,
            watcher,
        }
    }

    /// The next events: at least one, and all others that are available. Cancel-safe: dropping the future loses
    /// nothing.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Vec<ClientEvent>, ServeError> {
        let mut events = Vec::new();
        while events.is_empty() {
            let next = self.watcher.next().await;
            let (_, event) = next.map_err(|error| failures::in_a_turn(&error))?;
            events = self.client_view.apply(&event);
        }
        while !matches!(events.last(), Some(ClientEvent::End(_)))
            && let Some((_, event)) = self.watcher.try_next()
        {
            events.append(&mut self.client_view.apply(&event));
        }
        Ok(events)
    }

    /// Tells nothing of a reply before it is whole.
    pub(crate) fn skip_live_text(&mut self) {
        self.watcher.skip_live_text();
    }

    /// The provider's id of the newest model request, if it is known.
    pub(crate) fn provider_request(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(&*self.watcher.provider_request()?).ok()
    }

    pub(crate) const fn turn(&self) -> &TurnId {
        &self.turn
    }

    /// The encoder of its event stream.
    pub(crate) fn encoder(&self) -> Box<dyn EncodeReply> {
        self.dialect.encoder(&self.about)
    }

    /// The reply as one body.
    pub(crate) fn body(&self, reply: &Reply) -> (Vec<u8>, Vec<Note>) {
        self.dialect.reply(reply, &self.about)
    }
}
