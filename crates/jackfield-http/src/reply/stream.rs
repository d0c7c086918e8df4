//! A reply as a stream of server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use http_body_util::StreamBody;
use hyper::body::Frame;
use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{EncodeReply, ServeError};
use jackfield_gateway::failures;
use tokio::time::{Instant, Sleep, sleep, timeout};

use super::turn_reply::{HeldUntilSent, TurnReply};
use crate::event_stream::event_stream;
use crate::receipt::{ReceiptBody, ReceiptLedger};
use crate::refusal::PROVIDER_REQUEST;
use jackfield_domain::client_view::{ClientEvent, SegmentEnd};

/// Answers with a stream of events, with a keep-alive at regular intervals.
///
/// The head is sent with the first piece, so that an earlier failure has its own status code. If the first piece
/// takes long, the head is sent without it, so that the client sees a live connection.
///
/// # Errors
///
/// A failure before the first piece.
pub(crate) async fn answer(
    mut reply: TurnReply,
    encoder: Box<dyn EncodeReply>,
    held: HeldUntilSent,
    keep_alive: Duration,
    ledger: Option<ReceiptLedger>,
) -> Result<Response, ServeError> {
    let mut first = Vec::new();
    let is_seen = |event: &&ClientEvent| !matches!(event, ClientEvent::Retried(_));
    let begins = async {
        while first.iter().find(is_seen).is_none() {
            first.append(&mut reply.next().await?);
        }
        Ok::<(), ServeError>(())
    };
    // After the keep-alive interval, the stream begins without a piece.
    timeout(keep_alive, begins).await.unwrap_or(Ok(()))?;
    let seen = first.iter().find(is_seen);
    if let Some(ClientEvent::End(SegmentEnd::Failed(end))) = seen {
        // The error is the complete response.
        held.connection.mark_written();
        return Err(failures::from_turn_end(end));
    }
    let mut sending = EventBody::new(reply, encoder, keep_alive);
    let is_silent = seen.is_none();
    sending.push(&first);
    if is_silent {
        sending.keep_alive();
    }
    Ok(sending.response(held, ledger))
}

/// Streams a reply that the client already knows. The stream begins at once, and a failure ends it with an event.
pub(crate) fn replay(
    reply: TurnReply,
    encoder: Box<dyn EncodeReply>,
    held: HeldUntilSent,
    keep_alive: Duration,
    ledger: Option<ReceiptLedger>,
) -> Response {
    let mut sending = EventBody::new(reply, encoder, keep_alive);
    if sending.text.is_empty() {
        // Without opening events, a keep-alive goes first: the head would otherwise wait for the first piece.
        sending.keep_alive();
    }
    sending.response(held, ledger)
}

/// A stream of reply events.
struct EventBody {
    /// Whether the stream broke off before the end of the reply, which the client may still fetch.
    interrupted: Arc<AtomicBool>,
    /// The encoder, until it has written the end.
    encoder: Option<Box<dyn EncodeReply>>,
    keep_alive: Duration,
    /// Wakes when a keep-alive may be due. It is not reset with every piece, but when it wakes too early: pieces
    /// are far more frequent than silences.
    keep_alive_timer: Pin<Box<Sleep>>,
    /// When a piece was last sent.
    last_sent: Instant,
    /// Encoded text that is not sent yet.
    text: String,
    reply: TurnReply,
}

impl EventBody {
    /// A stream with the opening events.
    fn new(reply: TurnReply, mut encoder: Box<dyn EncodeReply>, keep_alive: Duration) -> Self {
        let mut text = String::new();
        write(&mut text, &encoder.begin());
        Self {
            interrupted: Arc::default(),
            encoder: Some(encoder),
            keep_alive,
            keep_alive_timer: Box::pin(sleep(keep_alive)),
            last_sent: Instant::now(),
            text,
            reply,
        }
    }

    /// The response with this stream as its body.
    fn response(self, held: HeldUntilSent, ledger: Option<ReceiptLedger>) -> Response {
        let provider_request = self.reply.provider_request();
        let receipt = held.receipt(Arc::clone(&self.interrupted));
        // Boxed, because it is moved with every piece.
        let frames = stream::unfold(Box::new(self), |mut sending| async move {
            let text = sending.next().await?;
            Some((Ok::<_, Infallible>(Frame::data(text)), sending))
        });
        let body = StreamBody::new(Box::pin(frames));
        let mut response = event_stream(ReceiptBody::wrap(body, receipt, ledger));
        let headers = response.headers_mut();
        if let Some(id) = provider_request {
            headers.insert(PROVIDER_REQUEST, id);
        }
        let events = HeaderValue::from_static("text/event-stream; charset=utf-8");
        headers.insert(CONTENT_TYPE, events);
        response
    }

    /// The next chunk; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        while self.text.is_empty() {
            self.encoder.as_ref()?;
            tokio::select! {
                biased;
                events = self.reply.next() => match events {
                    Ok(events) => self.push(&events),
                    Err(error) => self.break_off(&error),
                },
                () = &mut self.keep_alive_timer => {
                    let due = self.last_sent + self.keep_alive;
                    if due > Instant::now() {
                        self.keep_alive_timer.as_mut().reset(due);
                    } else {
                        self.keep_alive();
                    }
                }
            }
        }
        self.last_sent = Instant::now();
        Some(std::mem::take(&mut self.text).into())
    }

    fn push(&mut self, events: &[ClientEvent]) {
        for event in events {
            match event {
                ClientEvent::Piece { call, delta } => {
                    if let Some(encoder) = &mut self.encoder {
                        write(&mut self.text, &encoder.push(delta, call.as_ref()));
                    }
                }
                ClientEvent::Retried(end) => {
                    if let Some(encoder) = &mut self.encoder
                        && !encoder.restart()
                    {
                        self.break_off(&failures::from_turn_end(end));
                    }
                }
                ClientEvent::End(SegmentEnd::BrokenOff(end)) => {
                    self.break_off(&failures::from_turn_end(end));
                }
                ClientEvent::End(SegmentEnd::Failed(end)) => {
                    self.fail(&failures::from_turn_end(end));
                }
                ClientEvent::End(SegmentEnd::Whole(end)) => {
                    if let Some(encoder) = self.encoder.take() {
                        write(&mut self.text, &encoder.finish(end));
                    }
                }
            }
        }
    }

    fn keep_alive(&mut self) {
        if let Some(encoder) = &mut self.encoder {
            self.text.push_str(&encoder.keep_alive());
        }
    }

    /// Ends the stream of a turn that goes on: its reply stays owed.
    fn break_off(&mut self, error: &ServeError) {
        self.interrupted.store(true, Ordering::SeqCst);
        self.fail(error);
    }

    fn fail(&mut self, error: &ServeError) {
        if let Some(access) = &self.reply.access {
            access.record_error(error.kind.code());
        }
        if let Some(encoder) = self.encoder.take() {
            write(&mut self.text, &encoder.fail(error, &self.reply.request_id));
        }
    }
}

fn write(text: &mut String, events: &[SseEvent]) {
    for event in events {
        event.write(text);
    }
}
