//! Responses that are kept: looked at again, told again, cancelled and withdrawn.
//!
//! A response is found by its id alone, for the token that it was told to; one of anybody else is as if
//! there were none.

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

/// How long a cancel waits until the turn is over.
const CANCELLED_WITHIN: Duration = Duration::from_secs(10);

/// How long a client waits until a response of its own can be looked at.
const THERE_WITHIN: Duration = Duration::from_secs(1);

/// The fields of a query.
type QueryFields = BTreeMap<String, String>;

/// `GET /v1/responses/{id}`: the response as it stands, or its events once more.
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

/// `DELETE /v1/responses/{id}`: nobody is given it any more.
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

/// `POST /v1/responses/{id}/cancel`: ends what goes on in the background; what is over stays as it is.
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
    // Whoever drives the turn ends it in one step; where that is late, it is told as it stands.
    if let Ok(over) = timeout(CANCELLED_WITHIN, over(&gateway, &kept)).await {
        over?;
    }
    let kept = found(&gateway, &headers, &id).await?;
    Ok(router::json(kept.body()))
}

/// `GET /v1/responses/{id}/input_items`: what it was asked with.
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

/// The body of a response that is worked at while nobody waits for it.
pub(crate) fn accepted(about: &About) -> Response {
    router::json(responses::standing(about, [], &Standing::Queued))
}

/// Waits until a response that nobody waits for is found by its id. What a client brings to a turn is in the
/// inbox of its session for a moment, and only then in the turn.
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
    // Where that is late, it is accepted all the same.
    let _late = timeout(THERE_WITHIN, there).await;
}

/// The response of this id, for whoever asks.
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

/// Waits until nothing more comes of a response.
async fn over(gateway: &Gateway, kept: &KeptResponse) -> Result<(), ServeError> {
    let (connection, mut telling) = tell(gateway, kept, String::new()).await?;
    while !matches!(telling.next().await?.last(), Some(ClientEvent::End(_))) {}
    connection.written();
    Ok(())
}

/// A response as events, for a client that has those up to a number.
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

/// Tells a response from its beginning on.
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
