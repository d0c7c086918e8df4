//! Stored responses: retrieve, stream again, cancel and delete.
//!
//! A response is found by its id, and only with the token that received it; for others, it does not exist. One that a
//! provider keeps is asked for there.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use http::Extensions;
use http::request::Parts;
use jackfield_dialect_kit::serve::{ReplyInfo, ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve as responses;
use jackfield_dialect_openai::responses::serve::InputItemsQuery;
use jackfield_dialect_openai::responses::stream::IncompleteStatus;
use jackfield_domain::client_view::ClientEvent;
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{Connection, Disconnect, StartedTurn, Watcher};
use jackfield_gateway::failures::{self, from_engine_error};
use jackfield_gateway::{Gateway, Principal, RequestSlot, StoredResponse, not_found};
use tokio::time::timeout;

use crate::auth::authenticate;
use crate::dialects::RESPONSES;
use crate::ids::RequestId;
use crate::receipt::ReceiptLedger;
use crate::refusal::{self, HttpRefusal, PathTail};
use crate::reply::{self, HeldUntilSent, TurnReply};
use crate::{passthrough, rates};

/// How long a cancel waits for the end of the turn.
const CANCELLED_WITHIN: Duration = Duration::from_secs(10);

/// How long a client waits until its own response can be retrieved.
const THERE_WITHIN: Duration = Duration::from_secs(1);

/// What is behind the address of a response to cancel it.
const CANCEL: &str = "/cancel";

type QueryFields = BTreeMap<String, String>;

/// `GET /v1/responses/{id}`: the current state of the response, or its events again.
pub(crate) async fn show(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    Query(query): Query<QueryFields>,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    if let Some(reply) = ask_provider(&gateway, &client, &id, "", &head, None).await? {
        return Ok(reply);
    }
    let stored = find_for_client(&gateway, &client, &id).await?;
    match query.get("stream").map(String::as_str) {
        None | Some("false") => {
            if !stored.is_over() {
                let engine = gateway.engine();
                let asked = engine
                    .prioritize_resume(&stored.session, &stored.turn)
                    .await;
                asked.map_err(|error| from_engine_error(&error))?;
            }
            Ok(refusal::json(stored.body()))
        }
        Some("true") => stream(&gateway, &client, stored, &query, &head.extensions).await,
        Some(_) => Err(invalid("stream", "it is `true` or `false`").into()),
    }
}

/// `DELETE /v1/responses/{id}`: the response can no longer be retrieved.
pub(crate) async fn withdraw(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let slot = rates::admit_without_model(&gateway, &client, &head.extensions).await?;
    let slot = Some(slot);
    if let Some(reply) = ask_provider(&gateway, &client, &id, "", &head, slot).await? {
        return Ok(reply);
    }
    let stored = find_for_client(&gateway, &client, &id).await?;
    let turn = stored.turn.clone();
    let body = DeliveryBody::Withdrawn { turn };
    deliver(&gateway, &stored, "withdrawn", body).await?;
    Ok(refusal::json(responses::deletion_body(&stored.about.id)))
}

/// `POST /v1/responses/{id}/cancel`: ends a background turn. A finished response stays as it is.
pub(crate) async fn cancel(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    if let Some(reply) = ask_provider(&gateway, &client, &id, CANCEL, &head, None).await? {
        return Ok(reply);
    }
    let stored = find_for_client(&gateway, &client, &id).await?;
    if !stored.is_in_background() {
        let reason = "only a response that was asked for with `background` can be cancelled";
        return Err(ServeError::new(ServeErrorKind::Invalid, reason).into());
    }
    if stored.is_over() {
        return Ok(refusal::json(stored.body()));
    }
    let turn = stored.turn.clone();
    let cause = CancelCause::Asked;
    let body = DeliveryBody::Cancel { cause, turn };
    deliver(&gateway, &stored, "cancelled", body).await?;
    // The driver of the turn ends it in one step. If that is late, the current state is returned.
    if let Ok(over) = timeout(CANCELLED_WITHIN, wait_until_over(&gateway, &stored)).await {
        over?;
    }
    let stored = find_for_client(&gateway, &client, &id).await?;
    Ok(refusal::json(stored.body()))
}

/// `GET /v1/responses/{id}/input_items`: the input of the request.
pub(crate) async fn input_items(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    Query(query): Query<QueryFields>,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let asked = ask_provider(&gateway, &client, &id, "/input_items", &head, None);
    if let Some(reply) = asked.await? {
        return Ok(reply);
    }
    let stored = find_for_client(&gateway, &client, &id).await?;
    let asked = InputItemsQuery::read(|name| query.get(name).cloned())?;
    let body = responses::input_items(&stored.about.id, &stored.input, &asked)?;
    Ok(refusal::json(body))
}

/// The body of an accepted background response.
pub(crate) fn queued_response(about: &ReplyInfo) -> Response {
    refusal::json(responses::incomplete_body(
        about,
        [],
        &IncompleteStatus::Queued,
    ))
}

/// Waits until a background response can be found by its id. Client results are in the session's inbox for a
/// moment before they reach the turn.
pub(crate) async fn wait_until_stored(
    gateway: &Gateway,
    principal: &str,
    id: &str,
    watcher: &mut Watcher,
) {
    let there = async {
        while StoredResponse::find(gateway, principal, id).await.is_err() {
            if watcher.next().await.is_err() {
                return;
            }
        }
    };
    // If that is late, the request is accepted all the same.
    let _late = timeout(THERE_WITHIN, there).await;
}

/// The answer of the provider that keeps the response of this id for the client, if one does.
async fn ask_provider(
    gateway: &Gateway,
    client: &Principal,
    id: &str,
    action: &str,
    head: &Parts,
    slot: Option<RequestSlot>,
) -> Result<Option<Response>, HttpRefusal> {
    let request = passthrough::received(head, &Bytes::new());
    let passthrough = gateway.passthrough_to_response(client, id, action, &request);
    let Some(passthrough) = passthrough.await? else {
        return Ok(None);
    };
    let slot = match slot {
        Some(slot) => Some(slot),
        // A full gateway cancels, too.
        None if action == CANCEL => gateway.acquire_slot(client).ok(),
        None => Some(gateway.acquire_slot(client)?),
    };
    let reply = passthrough::respond(passthrough, slot, None, &head.extensions).await?;
    Ok(Some(reply))
}

/// The response of this id, if it belongs to the client.
async fn find_for_client(
    gateway: &Gateway,
    client: &Principal,
    id: &str,
) -> Result<StoredResponse, ServeError> {
    let about = responses::reply_id(id).ok_or_else(|| not_found(id))?;
    StoredResponse::find(gateway, &client.principal, about).await
}

async fn deliver(
    gateway: &Gateway,
    stored: &StoredResponse,
    what: &str,
    body: DeliveryBody,
) -> Result<(), ServeError> {
    let id = DeliveryId::parse(&format!("{what}-{}", stored.turn));
    let id = id.map_err(|error| failures::internal(&error))?;
    let engine = gateway.engine();
    let delivered = engine.deliver(&stored.session, id, "a client", body).await;
    delivered.map_err(|error| from_engine_error(&error))?;
    Ok(())
}

/// Waits until a response is finished.
async fn wait_until_over(gateway: &Gateway, stored: &StoredResponse) -> Result<(), ServeError> {
    let (connection, mut reply) = replay(gateway, stored, String::new()).await?;
    reply.skip_live_text();
    while !matches!(reply.next().await?.last(), Some(ClientEvent::End(_))) {}
    connection.mark_written();
    Ok(())
}

/// The events of a response after a given sequence number.
async fn stream(
    gateway: &Gateway,
    client: &Principal,
    stored: StoredResponse,
    query: &QueryFields,
    extensions: &Extensions,
) -> Result<Response, HttpRefusal> {
    let after = query.get("starting_after").map(|number| number.parse());
    let after = after.transpose().map_err(|_| {
        let reason = "it is the `sequence_number` of an event";
        invalid("starting_after", reason)
    })?;
    let slot = gateway.acquire_slot(client)?;
    let encoder = responses::encoder_after(&stored.about, after);
    let request_id = extensions.get::<RequestId>().map(|id| id.0.clone());
    let (connection, reply) = replay(gateway, &stored, request_id.unwrap_or_default()).await?;
    let held = HeldUntilSent { connection, slot };
    let ledger = extensions.get::<ReceiptLedger>().cloned();
    let keep_alive = gateway.config().keep_alive;
    Ok(reply::replay(reply, encoder, held, keep_alive, ledger))
}

/// Reads a response again from its beginning.
async fn replay(
    gateway: &Gateway,
    stored: &StoredResponse,
    request_id: String,
) -> Result<(Connection, TurnReply), ServeError> {
    let engine = gateway.engine();
    let started = engine
        .subscribe(
            &stored.session,
            &stored.turn,
            stored.segment,
            Disconnect::Finish,
        )
        .await;
    let StartedTurn {
        connection,
        turn,
        watcher,
        ..
    } = started.map_err(|error| from_engine_error(&error))?;
    let about = stored.about.clone();
    let reply = TurnReply::new(&RESPONSES, about, turn, stored.segment, watcher, request_id);
    Ok((connection, reply))
}

fn invalid(field: &str, reason: &str) -> ServeError {
    ServeError::new(ServeErrorKind::Invalid, format!("{field}: {reason}")).at(field)
}
