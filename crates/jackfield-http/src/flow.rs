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
use jackfield_dialect_kit::serve::{About, ServeDialect, ServeError, ServeErrorKind};
use jackfield_domain::note::Note;
use jackfield_engine::StartedTurn;
use tokio::sync::OwnedSemaphorePermit;

use self::opening::AnsweringTurn;
use self::parsed_request::ParsedRequest;
pub(crate) use self::parsed_request::owner_of;
pub(crate) use self::stream::{again, answer as stream};
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
        told,
    } = match begin(gateway, dialect, request).await? {
        RequestStart::Answering(answering) => *answering,
        RequestStart::Later(response) => return Ok(*response),
    };
    let mut response = if is_stream {
        let keep_alive = gateway.shared.config.serve.keep_alive;
        let encoder = told.encoder();
        let mut response = stream(told, encoder, held, keep_alive, ledger).await?;
        notes::insert(response.headers_mut(), notes::header(&notes));
        response
    } else {
        whole::answer(told, held, &notes, ledger).await?
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
    Later(Box<Response>),
}

/// A reply in progress, with the parts of the request that it still needs.
struct PendingAnswer {
    held: HeldUntilSent,
    is_stream: bool,
    ledger: Option<ReceiptLedger>,
    notes: Vec<Note>,
    session: Option<HeaderValue>,
    told: TurnReply,
}

/// Reads a request, and finds or begins the turn that answers it.
async fn begin(
    gateway: &Gateway,
    dialect: &'static dyn ServeDialect,
    request: Request<Body>,
) -> Result<RequestStart, HttpRefusal> {
    let id = request.extensions().get::<RequestId>().cloned();
    let id = id.map(|id| id.0).unwrap_or_default();
    let asker = gateway.asker(request.headers())?;
    let slot = slot(gateway)?;
    let (head, body) = request.into_parts();
    let body = body::read(&head.headers, body, &gateway.shared.config.serve.limits).await?;
    let ledger = head.extensions.get::<ReceiptLedger>().cloned();
    let access = head.extensions.get::<Access>().cloned();
    let body = if dialect.name() == RESPONSES.name() {
        stored::resolved(gateway, &asker, body).await?
    } else {
        body
    };
    let asked = ParsedRequest::read(gateway, dialect, &asker, &head.headers, &body)?;
    drop(body);
    let AnsweringTurn { begun, is_kept } = opening::open(gateway, &asked).await?;
    let StartedTurn {
        connection,
        problems,
        segment,
        session,
        turn,
        mut watcher,
        ..
    } = begun;
    if let Some(access) = &access {
        access.tells(is_kept.then_some(&session), &turn);
    }
    let ParsedRequest {
        about,
        mut incoming,
        ..
    } = asked;
    incoming.notes.extend(notes::of_problems(&problems));
    if incoming.background && !incoming.stream {
        // A background turn needs no client: the response to this request is all that the client waits for.
        connection.written();
        let about = About {
            id: format!("{turn}_{segment}"),
            ..about
        };
        // The opening of a turn is in the journal by now; client results reach it a moment later.
        if segment > 0 && incoming.store != Some(false) {
            stored::is_there(gateway, &asker.principal, &about.id, &mut watcher).await;
        }
        return Ok(RequestStart::Later(Box::new(stored::accepted(&about))));
    }
    let mut told = TurnReply::new(dialect, about, turn, segment, watcher, id);
    told.access = access;
    let session = HeaderValue::from_str(session.as_str());
    Ok(RequestStart::Answering(Box::new(PendingAnswer {
        held: HeldUntilSent { connection, slot },
        is_stream: incoming.stream,
        ledger,
        notes: incoming.notes,
        session: session.ok().filter(|_| is_kept),
        told,
    })))
}

/// A slot of the limit on concurrent requests, held until the last byte was sent.
pub(crate) fn slot(gateway: &Gateway) -> Result<OwnedSemaphorePermit, ServeError> {
    let slots = std::sync::Arc::clone(&gateway.shared.slots);
    slots.try_acquire_owned().map_err(|_| {
        let most = gateway.shared.config.serve.limits.streams;
        let message = format!("{most} requests are being answered already; come again in a moment");
        ServeError::new(ServeErrorKind::TooMany { retry_after: 1 }, message)
    })
}

/// Refuses a new turn at the limit. Turns whose client disconnected and background turns keep running, and share
/// the limit on concurrent requests. Recovered turns have a limit of their own, and keep no request out.
pub(crate) fn room(gateway: &Gateway) -> Result<(), ServeError> {
    let most = gateway.shared.config.serve.limits.streams;
    let under_way = [true, false].map(|is_kept| {
        let engine = gateway.engine_of(is_kept);
        engine.under_way().saturating_sub(engine.kept_under_way())
    });
    if under_way.iter().sum::<usize>() < most {
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
