//! Stored responses: retrieve, stream again, cancel and delete.
//!
//! A response is found by its id, and only with the token that received it; for others, it does not exist.

mod references;
mod response;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use http::{Extensions, HeaderMap};
use jackfield_dialect_kit::serve::{About, ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve as responses;
use jackfield_dialect_openai::responses::serve::ItemsAsked;
use jackfield_dialect_openai::responses::stream::Standing;
use jackfield_domain::client_view::ClientEvent;
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{Connection, Disconnect, StartedTurn, Watcher};
use tokio::time::timeout;

pub(crate) use self::references::resolved;
use self::response::KeptResponse;
use crate::dialects::RESPONSES;
use crate::failures::{self, of_engine};
use crate::flow::{self, HeldUntilSent, TurnReply, previous};
use crate::gateway::Gateway;
use crate::ids::RequestId;
use crate::receipt::ReceiptLedger;
use crate::router::{self, HttpRefusal, PathTail};

/// How long a cancel waits for the end of the turn.
const CANCELLED_WITHIN: Duration = Duration::from_secs(10);

/// How long a client waits until its own response can be retrieved.
const THERE_WITHIN: Duration = Duration::from_secs(1);

/// The query parameters.
type QueryFields = BTreeMap<String, String>;

/// `GET /v1/responses/{id}`: the current state of the response, or its events again.
pub(crate) async fn show(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    Query(query): Query<QueryFields>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, HttpRefusal> {
    let kept = found(&gateway, &headers, &id).await?;
    match query.get("stream").map(String::as_str) {
        None | Some("false") => {
            if !kept.is_over() {
                let engine = gateway.engine();
                let asked = engine.take_up_first(&kept.session, &kept.turn).await;
                asked.map_err(|error| of_engine(&error))?;
            }
            Ok(router::json(kept.body()))
        }
        Some("true") => stream(&gateway, kept, &query, &extensions).await,
        Some(_) => Err(invalid("stream", "it is `true` or `false`").into()),
    }
}

/// `DELETE /v1/responses/{id}`: the response can no longer be retrieved.
pub(crate) async fn withdraw(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    let kept = found(&gateway, &headers, &id).await?;
    let turn = kept.turn.clone();
    let body = DeliveryBody::Withdrawn { turn };
    deliver(&gateway, &kept, "withdrawn", body).await?;
    Ok(router::json(responses::deleted(&kept.about.id)))
}

/// `POST /v1/responses/{id}/cancel`: ends a background turn. A finished response stays as it is.
pub(crate) async fn cancel(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    let kept = found(&gateway, &headers, &id).await?;
    if !kept.is_in_background() {
        let reason = "only a response that was asked for with `background` can be cancelled";
        return Err(ServeError::new(ServeErrorKind::Invalid, reason).into());
    }
    if kept.is_over() {
        return Ok(router::json(kept.body()));
    }
    let turn = kept.turn.clone();
    let cause = CancelCause::Asked;
    let body = DeliveryBody::Cancel { cause, turn };
    deliver(&gateway, &kept, "cancelled", body).await?;
    // The driver of the turn ends it in one step. If that is late, the current state is returned.
    if let Ok(over) = timeout(CANCELLED_WITHIN, over(&gateway, &kept)).await {
        over?;
    }
    let kept = found(&gateway, &headers, &id).await?;
    Ok(router::json(kept.body()))
}

/// `GET /v1/responses/{id}/input_items`: the input of the request.
pub(crate) async fn input_items(
    State(gateway): State<Gateway>,
    PathTail(id): PathTail,
    Query(query): Query<QueryFields>,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    let kept = found(&gateway, &headers, &id).await?;
    let asked = ItemsAsked::read(|name| query.get(name).cloned())?;
    let body = responses::input_items(&kept.about.id, &kept.asked, &asked)?;
    Ok(router::json(body))
}

/// The body of an accepted background response.
pub(crate) fn accepted(about: &About) -> Response {
    router::json(responses::standing(about, [], &Standing::Queued))
}

/// Waits until a background response can be found by its id. Client results are in the session's inbox for a
/// moment before they reach the turn.
pub(crate) async fn is_there(
    gateway: &Gateway,
    principal: &str,
    about: &str,
    watcher: &mut Watcher,
) {
    let there = async {
        while response::find(gateway, principal, about).await.is_err() {
            if watcher.next().await.is_err() {
                return;
            }
        }
    };
    // If that is late, the request is accepted all the same.
    let _late = timeout(THERE_WITHIN, there).await;
}

/// The response of this id, if it belongs to the client.
async fn found(
    gateway: &Gateway,
    headers: &HeaderMap,
    id: &str,
) -> Result<KeptResponse, ServeError> {
    let asker = gateway.asker(headers)?;
    let about = responses::about_id(id).ok_or_else(|| previous::none(id))?;
    response::find(gateway, &asker.principal, about).await
}

async fn deliver(
    gateway: &Gateway,
    kept: &KeptResponse,
    what: &str,
    body: DeliveryBody,
) -> Result<(), ServeError> {
    let id = DeliveryId::parse(&format!("{what}-{}", kept.turn));
    let id = id.map_err(|error| failures::internal(&error))?;
    let engine = gateway.engine();
    let delivered = engine.deliver(&kept.session, id, "a client", body).await;
    delivered.map_err(|error| of_engine(&error))?;
    Ok(())
}

/// Waits until a response is finished.
async fn over(gateway: &Gateway, kept: &KeptResponse) -> Result<(), ServeError> {
    let (connection, mut telling) = tell(gateway, kept, String::new()).await?;
    while !matches!(telling.next().await?.last(), Some(ClientEvent::End(_))) {}
    connection.written();
    Ok(())
}

/// The events of a response after a given sequence number.
async fn stream(
    gateway: &Gateway,
    kept: KeptResponse,
    query: &QueryFields,
    extensions: &Extensions,
) -> Result<Response, HttpRefusal> {
    let after = query.get("starting_after").map(|number| number.parse());
    let after = after.transpose().map_err(|_| {
        let reason = "it is the `sequence_number` of an event";
        invalid("starting_after", reason)
    })?;
    let slot = flow::slot(gateway)?;
    let encoder = responses::encoder_after(&kept.about, after);
    let request_id = extensions.get::<RequestId>().map(|id| id.0.clone());
    let (connection, telling) = tell(gateway, &kept, request_id.unwrap_or_default()).await?;
    let held = HeldUntilSent { connection, slot };
    let ledger = extensions.get::<ReceiptLedger>().cloned();
    let keep_alive = gateway.shared.config.serve.keep_alive;
    Ok(flow::again(telling, encoder, held, keep_alive, ledger))
}

/// Reads a response again from its beginning.
async fn tell(
    gateway: &Gateway,
    kept: &KeptResponse,
    request_id: String,
) -> Result<(Connection, TurnReply), ServeError> {
    let engine = gateway.engine();
    let begun = engine
        .subscribe(&kept.session, &kept.turn, kept.segment, Disconnect::Finish)
        .await;
    let StartedTurn {
        connection,
        turn,
        watcher,
        ..
    } = begun.map_err(|error| of_engine(&error))?;
    let about = kept.about.clone();
    let telling = TurnReply::new(&RESPONSES, about, turn, kept.segment, watcher, request_id);
    Ok((connection, telling))
}

fn invalid(field: &str, reason: &str) -> ServeError {
    ServeError::new(ServeErrorKind::Invalid, format!("{field}: {reason}")).at(field)
}
