//! Sessions and turns as server-sent events (WHATWG HTML, section 9.2). The id of each event is its cursor.

mod growing;
pub(crate) mod several;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream as Chunks};
use http::HeaderMap;
use jackfield_domain::cursor::Cursor;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_engine::{Connection, EngineError, Watcher};
use jackfield_gateway::{Gateway, RequestSlot};
use serde::Deserialize;
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;

use self::growing::GrowingTexts;
use super::extract::{OwnedSession, Parameters};
use super::problem::{ProblemDetails, Problems};
use super::session_events::SessionEvents;
use super::wire::events::{CallProgressView, EventView};
use crate::event_stream::event_stream;
use crate::revocation::end_when_revoked;

/// From where on, and how long.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EventQuery {
    /// Only what comes behind this cursor; `Last-Event-ID` says the same, and counts before this.
    after: Option<String>,
    /// Whether the texts of replies also come as `html`, made of their Markdown, in which nothing runs and nothing is
    /// loaded: those of complete replies, and while they are written.
    html: bool,
    /// When the stream ends by itself.
    #[serde(rename = "until")]
    #[param(inline)]
    until: Option<StreamLimit>,
}

/// When a stream ends by itself.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StreamLimit {
    /// When no turn is open and all events were sent.
    Rest,
}

/// Streams the events of a session from a cursor on, whichever process runs its turn. Ends only with the connection,
/// unless `until` names another end.
#[utoipa::path(
    get, path = "/sessions/{session}/events", tag = "events", operation_id = "watch_session",
    params(("session" = String, Path), EventQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was seen.")),
    responses((status = 200, description = "The events, as they happen.", body = EventView,
            content_type = "text/event-stream"), Problems)
)]
pub(crate) async fn watch(
    own: OwnedSession,
    State(gateway): State<Gateway>,
    headers: HeaderMap,
    Parameters(query): Parameters<EventQuery>,
) -> Result<Response, ProblemDetails> {
    let cursor = cursor(&headers, query.after.as_deref())?;
    let slot = Arc::new(gateway.acquire_slot(&own.client)?);
    let mut stream = Stream::open(gateway.clone(), own.session, cursor, query.html, slot).await?;
    if let Some(StreamLimit::Rest) = query.until {
        stream.until = StreamEnd::Rest;
    }
    Ok(end_when_revoked(stream.response(), gateway, own.client))
}

/// The start cursor; the header takes precedence.
fn cursor(headers: &HeaderMap, after: Option<&str>) -> Result<Cursor, ProblemDetails> {
    let header = headers.get("last-event-id");
    let (name, text) = match (header, after) {
        (Some(header), _) => ("Last-Event-ID", header.to_str().unwrap_or("?").trim()),
        (None, Some(after)) => ("after", after),
        (None, None) => return Ok(Cursor::START),
    };
    text.parse()
        .map_err(|error| ProblemDetails::parameter(name, format!("{error}")))
}

pub(crate) struct Stream {
    /// The connection to mark as written, if the client waits for a turn's answer.
    pub(crate) connection: Option<Connection>,
    /// Converts session events to API events.
    pub(crate) events: SessionEvents,
    pub(crate) gateway: Gateway,
    /// The texts that are written now, if texts of replies also come as HTML.
    pub(crate) html: Option<GrowingTexts>,
    /// When anything was last sent.
    pub(crate) last_sent: Instant,
    /// The place of the session among those of the same response, if it has several.
    pub(crate) place: Option<usize>,
    /// The progress of running calls as it was sent last.
    pub(crate) progress: Vec<CallProgressView>,
    /// A slot of the limit on concurrent requests.
    #[expect(dead_code, reason = "it is held until the last byte has left")]
    pub(crate) slot: Arc<RequestSlot>,
    pub(crate) until: StreamEnd,
    /// The source of session events.
    pub(crate) watcher: Watcher,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StreamEnd {
    Never,
    /// When no turn is open.
    Rest,
    /// When this turn is over or only waits.
    Turn(TurnId),
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// Opens the stream of a session behind a cursor.
    async fn open(
        gateway: Gateway,
        session: SessionId,
        cursor: Cursor,
        html: bool,
        slot: Arc<RequestSlot>,
    ) -> Result<Self, EngineError> {
        let engine = gateway.engine();
        // Before the steps are loaded, so that no event is missed in between.
        let watcher = engine.watch(session.clone(), cursor).await?;
        let steps = if cursor == Cursor::START {
            Vec::new()
        } else {
            engine.load(&session).await?.steps
        };
        Ok(Self {
            connection: None,
            events: SessionEvents::after_cursor(session, &steps, cursor),
            gateway,
            html: html.then(GrowingTexts::default),
            last_sent: Instant::now(),
            place: None,
            progress: Vec::new(),
            slot,
            until: StreamEnd::Never,
            watcher,
        })
    }

    /// This stream as one of several in a response.
    const fn at(mut self, place: usize) -> Self {
        self.place = Some(place);
        self
    }

    /// The response with this stream as its body.
    pub(crate) fn response(self) -> Response {
        event_stream(Body::from_stream(self.chunks()))
    }

    fn chunks(self) -> impl Chunks<Item = Result<Bytes, EngineError>> {
        stream::unfold(Some(self), |stream| async {
            let mut stream = stream?;
            let piece = stream.next().await?;
            let rest = (!piece.is_last).then_some(stream);
            Some((Ok(Bytes::from(piece.text)), rest))
        })
    }

    /// The next chunk; `None` at the end.
    async fn next(&mut self) -> Option<EventChunk> {
        let keep_alive = self.gateway.config().keep_alive;
        loop {
            if self.is_over().await {
                if let Some(connection) = self.connection.take() {
                    connection.mark_written();
                }
                return None;
            }
            if let Some(chunk) = self.next_progress() {
                return Some(chunk);
            }
            let next = timeout(keep_alive.min(TICK), self.watcher.next()).await;
            let (cursor, event) = match next {
                Ok(Ok(told)) => told,
                Ok(Err(error)) => return Some(EventChunk::problem(self.place, error)),
                // A shutdown does not wait for streams: subscribers reconnect with their cursor.
                Err(_) if self.gateway.engine().is_draining() => return None,
                Err(_) if self.last_sent.elapsed() < keep_alive => continue,
                Err(_) => {
                    self.last_sent = Instant::now();
                    return Some(EventChunk::raw(": still there\n\n".to_owned()));
                }
            };
            if let Some(mut event) = self.events.convert(event) {
                if let Some(texts) = &mut self.html {
                    texts.add_html(&mut event, self.watcher.has_open_turn());
                }
                self.last_sent = Instant::now();
                return Some(EventChunk::raw(frame(self.place, Some(cursor), &event)));
            }
        }
    }

    /// The progress of running calls that was not sent yet.
    fn next_progress(&mut self) -> Option<EventChunk> {
        let now: Vec<_> = self.watcher.progress();
        let now: Vec<_> = now.iter().map(CallProgressView::from).collect();
        if now == self.progress {
            return None;
        }
        let known = std::mem::replace(&mut self.progress, now);
        let news = self.progress.iter().filter(|one| !known.contains(one));
        let text: String = news
            .map(|one| frame(self.place, None, &EventView::CallProgress(one.clone())))
            .collect();
        self.last_sent = Instant::now();
        (!text.is_empty()).then(|| EventChunk::raw(text))
    }

    async fn is_over(&mut self) -> bool {
        match &self.until {
            StreamEnd::Never => false,
            StreamEnd::Rest => self.watcher.is_idle(),
            StreamEnd::Turn(turn) => {
                // An error here shows up with the next event.
                self.events.is_idle(turn)
                    && self
                        .events
                        .is_left_to_person(&self.gateway)
                        .await
                        .unwrap_or(true)
            }
        }
    }
}

/// A chunk of a stream.
struct EventChunk {
    is_last: bool,
    text: String,
}

impl EventChunk {
    const fn raw(text: String) -> Self {
        Self {
            is_last: false,
            text,
        }
    }

    /// The last event of a session that was deleted or cannot be read.
    fn problem(place: Option<usize>, error: impl Into<ProblemDetails>) -> Self {
        let (id, problem) = (id_line(place, None), error.into().into_json());
        Self {
            is_last: true,
            text: format!("{id}event: problem\ndata: {problem}\n\n"),
        }
    }
}

fn frame(place: Option<usize>, cursor: Option<Cursor>, event: &EventView) -> String {
    let (id, name) = (id_line(place, cursor), event.name());
    // JSON on one line: line breaks in texts are escaped.
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n")
}

fn id_line(place: Option<usize>, cursor: Option<Cursor>) -> String {
    match (place, cursor) {
        (None, None) => String::new(),
        (None, Some(cursor)) => format!("id: {cursor}\n"),
        (Some(place), None) => format!("id: {place}\n"),
        (Some(place), Some(cursor)) => format!("id: {place} {cursor}\n"),
    }
}

/// The longest time until a stream notices the shutdown of the gateway.
const TICK: Duration = Duration::from_secs(1);
