//! Handles a request for a reply from its first byte to its last, in any dialect.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Request, Uri};
use jackfield_dialect_kit::serve::{ADDRESS, ReplyInfo, ServeDialect};
use jackfield_domain::note::Note;
use jackfield_engine::StartedTurn;
use jackfield_gateway::{AnsweringTurn, Gateway, PATH, ParsedRequest, resolve_references};

use crate::access::Access;
use crate::auth::authenticate;
use crate::dialects::RESPONSES;
use crate::ids::RequestId;
use crate::receipt::ReceiptLedger;
use crate::refusal::HttpRefusal;
use crate::reply::{HeldUntilSent, TurnReply, stream, whole};
use crate::{body, notes, passthrough, rates, stored};

/// Answers a request for a reply.
///
/// # Errors
///
/// The request is refused, or fails before the first byte of the response.
pub(crate) async fn answer(
    gateway: &Gateway,
    dialect: &'static dyn ServeDialect,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let PendingAnswer {
        held,
        is_stream,
        ledger,
        notes,
        route,
        session,
        reply,
    } = match begin(gateway, dialect, request).await? {
        RequestStart::Answering(answering) => *answering,
        RequestStart::Accepted(response) => return Ok(*response),
    };
    let mut response = if is_stream {
        let keep_alive = gateway.config().keep_alive;
        let encoder = reply.encoder();
        let response = stream(reply, encoder, held, keep_alive, ledger).await;
        let mut response = response.map_err(|error| gateway.route_error(route.as_ref(), error))?;
        notes::insert(response.headers_mut(), notes::header(&notes));
        response
    } else {
        let response = whole::answer(reply, held, &notes, ledger).await;
        response.map_err(|error| gateway.route_error(route.as_ref(), error))?
    };
    let headers = response.headers_mut();
    headers.insert(PATH, HeaderValue::from_static("turn"));
    if let Some(session) = session {
        headers.insert(SESSION, session);
    }
    Ok(response)
}

/// The result of starting a request.
enum RequestStart {
    /// A reply that is sent as it arrives.
    Answering(Box<PendingAnswer>),
    /// The response of a request that was passed through, or of an accepted turn whose reply the client fetches later.
    Accepted(Box<Response>),
}

/// A reply in progress, with the parts of the request that it still needs.
struct PendingAnswer {
    held: HeldUntilSent,
    is_stream: bool,
    ledger: Option<ReceiptLedger>,
    notes: Vec<Note>,
    /// The route that the request names, if it names one.
    route: Option<Arc<str>>,
    session: Option<HeaderValue>,
    reply: TurnReply,
}

/// Reads a request, and finds or begins the turn that answers it.
async fn begin(
    gateway: &Gateway,
    dialect: &'static dyn ServeDialect,
    request: Request<Body>,
) -> Result<RequestStart, HttpRefusal> {
    let id = request.extensions().get::<RequestId>().cloned();
    let id = id.map(|id| id.0).unwrap_or_default();
    let client = authenticate(gateway, request.headers(), request.extensions()).await?;
    let slot = rates::admit(gateway, &client, request.extensions()).await?;
    let (head, body) = request.into_parts();
    let (body, room) = body::read(gateway, &client, &head.headers, body).await?;
    let ledger = head.extensions.get::<ReceiptLedger>().cloned();
    let access = head.extensions.get::<Access>().cloned();
    if let Some(passthrough) = passthrough::passthrough(gateway, &client, &head, &body).await? {
        drop(body);
        let response = passthrough::respond(passthrough, Some(slot), Some(room), &head.extensions);
        let response = response.await?;
        return Ok(RequestStart::Accepted(Box::new(response)));
    }
    let body = if dialect.name() == RESPONSES.name() {
        resolve_references(gateway, &client, body).await?
    } else {
        body
    };
    let header = |name: &str| {
        if name == ADDRESS {
            return Some(address(&head.uri));
        }
        // A list may be spread over several header lines. Invalid UTF-8 is left for the parser of the header to
        // refuse.
        let values = head.headers.get_all(name).iter();
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        (!values.is_empty()).then(|| values.join(","))
    };
    let parsed = ParsedRequest::parse(gateway, dialect, &client, &header, &body)?;
    drop((body, room));
    let AnsweringTurn {
        started,
        is_durable,
    } = gateway.open(&parsed, &slot).await?;
    let StartedTurn {
        connection,
        problems,
        segment,
        session,
        turn,
        mut watcher,
        ..
    } = started;
    if let Some(access) = &access {
        access.record_turn(is_durable.then_some(&session), &turn);
    }
    let ParsedRequest {
        about,
        mut incoming,
        options,
        ..
    } = parsed;
    incoming.notes.extend(notes::from_problems(&problems));
    if incoming.background && !incoming.stream {
        // A background turn needs no client: the response to this request is all that the client waits for.
        connection.mark_written();
        let about = ReplyInfo {
            id: format!("{turn}_{segment}"),
            ..about
        };
        // The opening of a turn is in the journal by now; client results reach it a moment later.
        if segment > 0 && incoming.store != Some(false) {
            stored::wait_until_stored(gateway, &client.principal, &about.id, &mut watcher).await;
        }
        return Ok(RequestStart::Accepted(Box::new(stored::queued_response(
            &about,
        ))));
    }
    let mut reply = TurnReply::new(dialect, about, turn, segment, watcher, id);
    if !incoming.stream {
        // What broke off and is asked for again is nothing to a client that has seen none of it.
        reply.skip_live_text();
    }
    reply.access = access;
    let session = HeaderValue::from_str(session.as_str());
    Ok(RequestStart::Answering(Box::new(PendingAnswer {
        held: HeldUntilSent { connection, slot },
        is_stream: incoming.stream,
        ledger,
        notes: incoming.notes,
        route: options.route,
        session: session.ok().filter(|_| is_durable),
        reply,
    })))
}

/// The path and the query of a request.
pub(crate) fn address(uri: &Uri) -> String {
    uri.path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// The header that names a session.
pub(crate) const SESSION: &str = "x-session-id";
