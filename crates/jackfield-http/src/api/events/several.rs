//! The events of several sessions, and the open questions, in one response.

use std::future::ready;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use jackfield_domain::cursor::Cursor;
use jackfield_gateway::{Gateway, Principal, RequestSlot};
use serde::Deserialize;

use super::{EventChunk, Stream};
use crate::api::approval_events::QuestionStream;
use crate::api::extract::{Parameters, Requester};
use crate::api::owner;
use crate::api::problem::{ProblemDetails, Problems};
use crate::api::wire::events::EventView;
use crate::event_stream::event_stream;
use crate::revocation::end_when_revoked;

/// What is streamed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SeveralQuery {
    /// At most 64 sessions, parted by commas: each its id, or `id:cursor` for what comes behind a cursor. One may be
    /// there twice, with different cursors.
    sessions: String,
    /// Whether the texts of replies also come as `html`, as in the events of one session.
    html: bool,
    /// Whether the open questions come, too: the event `approvals`, without an id.
    approvals: bool,
}

/// Streams the events of several sessions. The id of each event is the place of its session in `sessions`, from 0, and,
/// behind a space, its cursor. A session that is missing, is deleted or cannot be read has the event `problem`, and the
/// others go on. Ends when none is left, and with the questions, if they are streamed.
#[utoipa::path(
    get, path = "/events", tag = "events", operation_id = "watch_sessions", params(SeveralQuery),
    responses((status = 200, description = "The events, as they happen.", body = EventView,
            content_type = "text/event-stream"), Problems)
)]
pub(crate) async fn watch(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(query): Parameters<SeveralQuery>,
) -> Result<Response, ProblemDetails> {
    let wanted = wanted(&query.sessions)?;
    if query.approvals {
        client.check_approvals()?;
    } else if wanted.is_empty() {
        let detail = "name a session at least, or ask for `approvals=true`";
        return Err(ProblemDetails::parameter("sessions", detail));
    }
    let slot = Arc::new(gateway.acquire_slot(&client)?);
    let questions = query.approvals.then(|| {
        let stream = QuestionStream::new(gateway.clone(), &client, Arc::clone(&slot));
        // Its end is that of the response, after which a client comes again.
        let end = stream::once(ready(None));
        stream.chunks().map(Some).chain(end).boxed()
    });
    let (asking, known) = (gateway.clone(), Arc::clone(&client));
    let opening = move |(place, (session, cursor)): (usize, (String, Cursor))| {
        let (client, gateway, slot) = (Arc::clone(&client), gateway.clone(), Arc::clone(&slot));
        async move {
            match open(&client, gateway, &session, cursor, query.html, slot).await {
                Ok(stream) => stream.at(place).chunks().boxed(),
                Err(problem) => {
                    let chunk = EventChunk::problem(Some(place), problem);
                    stream::once(ready(Ok(Bytes::from(chunk.text)))).boxed()
                }
            }
        }
    };
    let sessions = stream::iter(wanted.into_iter().enumerate())
        .map(opening)
        .buffer_unordered(OPENING)
        .flatten_unordered(None)
        .map(Some);
    let questions = stream::iter(questions).flatten();
    // Neither keeps the other from its turn.
    let chunks = stream::select(questions, sessions).scan((), |(), chunk| ready(chunk));
    let response = event_stream(Body::from_stream(chunks));
    Ok(end_when_revoked(response, asking, known))
}

/// The sessions of a list, each with its cursor.
fn wanted(list: &str) -> Result<Vec<(String, Cursor)>, ProblemDetails> {
    let parameter = |why: String| ProblemDetails::parameter("sessions", why);
    let parts = list.split(',').filter(|part| !part.is_empty());
    let wanted = parts.map(|part| {
        let Some((session, cursor)) = part.split_once(':') else {
            return Ok((part.to_owned(), Cursor::START));
        };
        let cursor = cursor.parse();
        let cursor = cursor.map_err(|error| parameter(format!("{error}")))?;
        Ok((session.to_owned(), cursor))
    });
    let wanted: Vec<_> = wanted.collect::<Result<_, ProblemDetails>>()?;
    if wanted.len() > MOST_SESSIONS {
        return Err(parameter(format!("{MOST_SESSIONS} at most")));
    }
    Ok(wanted)
}

/// Opens the stream of one session, which exists and is the client's.
async fn open(
    client: &Principal,
    gateway: Gateway,
    session: &str,
    cursor: Cursor,
    html: bool,
    slot: Arc<RequestSlot>,
) -> Result<Stream, ProblemDetails> {
    let session = owner::session(&gateway, client, session).await?;
    Ok(Stream::open(gateway, session, cursor, html, slot).await?)
}

/// How many sessions a response may have.
const MOST_SESSIONS: usize = 64;
/// How many sessions are opened at the same time, each of which may load its steps.
const OPENING: usize = 4;
