//! Handles a request for a reply from its first byte to its last, in any dialect.

mod opening;
mod parsed_request;
pub(crate) mod previous;
mod stream;
pub(crate) mod tools;
mod turn_reply;
mod whole;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Request};
use jackfield_dialect_kit::serve::{ReplyInfo, ServeDialect, ServeError, ServeErrorKind};
use jackfield_domain::note::Note;
use jackfield_engine::StartedTurn;
use tokio::sync::OwnedSemaphorePermit;

use self::opening::AnsweringTurn;
use self::parsed_request::ParsedRequest;
pub(crate) use self::parsed_request::owner_of;
pub(crate) use self::stream::{answer as stream, replay};
pub(crate) use self::turn_reply::{HeldUntilSent, TurnReply};
use crate::access::Access;
use crate::dialects::RESPONSES;
use crate::gateway::Gateway;
use crate::ids::RequestId;
use crate::receipt::ReceiptLedger;
use crate::router::HttpRefusal;
use crate::{body, notes, stored};

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
        session,
        reply,
    } = match begin(gateway, dialect, request).await? {
        RequestStart::Answering(answering) => *answering,
        RequestStart::Accepted(response) => return Ok(*response),
    };
    let mut response = if is_stream {
        let keep_alive = gateway.shared.config.serve.keep_alive;
        let encoder = reply.encoder();
        let mut response = stream(reply, encoder, held, keep_alive, ledger).await?;
        notes::insert(response.headers_mut(), notes::header(&notes));
        response
    } else {
        whole::answer(reply, held, &notes, ledger).await?
    };
    if let Some(session) = session {
        response.headers_mut().insert(SESSION, session);
    }
    Ok(response)
}

/// The result of starting a request.
enum RequestStart {
    /// A reply that is sent as it arrives.
    Answering(Box<PendingAnswer>),
    /// An accepted turn whose reply the client fetches later.
    Accepted(Box<Response>),
}

/// A reply in progress, with the parts of the request that it still needs.
struct PendingAnswer {
    held: HeldUntilSent,
    is_stream: bool,
    ledger: Option<ReceiptLedger>,
    notes: Vec<Note>,
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
    let client = gateway.authenticate(request.headers())?;
    let slot = acquire_slot(gateway)?;
    let (head, body) = request.into_parts();
    let body = body::read(&head.headers, body, &gateway.shared.config.serve.limits).await?;
    let ledger = head.extensions.get::<ReceiptLedger>().cloned();
    let access = head.extensions.get::<Access>().cloned();
    let body = if dialect.name() == RESPONSES.name() {
        stored::resolve_references(gateway, &client, body).await?
    } else {
        body
    };
    let parsed = ParsedRequest::parse(gateway, dialect, &client, &head.headers, &body)?;
    drop(body);
    let AnsweringTurn {
        started,
        is_durable,
    } = opening::open(gateway, &parsed).await?;
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
    reply.access = access;
    let session = HeaderValue::from_str(session.as_str());
    Ok(RequestStart::Answering(Box::new(PendingAnswer {
        held: HeldUntilSent { connection, slot },
        is_stream: incoming.stream,
        ledger,
        notes: incoming.notes,
        session: session.ok().filter(|_| is_durable),
        reply,
    })))
}

/// A slot of the limit on concurrent requests, held until the last byte was sent.
pub(crate) fn acquire_slot(gateway: &Gateway) -> Result<OwnedSemaphorePermit, ServeError> {
    let slots = std::sync::Arc::clone(&gateway.shared.slots);
    slots.try_acquire_owned().map_err(|_| {
        let most = gateway.shared.config.serve.limits.streams;
        let message = format!("{most} requests are being answered already; come again in a moment");
        ServeError::new(ServeErrorKind::TooMany { retry_after: 1 }, message)
    })
}

/// Refuses a new turn at the limit. Turns whose client disconnected and background turns keep running, and share
/// the limit on concurrent requests. Recovered turns have a limit of their own, and keep no request out.
pub(crate) fn check_turn_limit(gateway: &Gateway) -> Result<(), ServeError> {
    let most = gateway.shared.config.serve.limits.streams;
    let in_flight = [true, false].map(|is_durable| {
        let engine = gateway.engine_of(is_durable);
        engine
            .turns_in_flight()
            .saturating_sub(engine.keeper_turns_in_flight())
    });
    if in_flight.iter().sum::<usize>() < most {
        return Ok(());
    }
    let message = format!("{most} turns are under way already; come again in a moment");
    Err(ServeError::new(
        ServeErrorKind::TooMany { retry_after: 1 },
        message,
    ))
}

/// The header that names a session.
pub(crate) const SESSION: &str = "x-session-id";
/// The header with the provider's id of the model request that failed or that produced the reply.
pub(crate) const PROVIDER_REQUEST: &str = "x-jackfield-provider-request-id";
