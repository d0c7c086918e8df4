//! Responses that are kept: looked at, cancelled, withdrawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{Extensions, HeaderMap};
use jackfield_dialect_kit::serve::{About, ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve as responses;
use jackfield_dialect_openai::responses::serve::ItemsAsked;
use jackfield_dialect_openai::responses::stream::Standing;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{DeliveryId, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::telling::Teller;
use jackfield_domain::view::{self, Shown, Viewer};
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{Begun, Disconnect};
use serde_json::Map;

use crate::dialects::RESPONSES;
use crate::failures::{self, of_engine};
use crate::flow::previous::{self, Told};
use crate::flow::{self, Held, Telling};
use crate::gateway::Gateway;
use crate::ids::RequestId;
use crate::receipt::Ledger;
use crate::router::{self, Refusal};

/// `GET /v1/responses/{id}`
pub(crate) async fn show(
    State(gateway): State<Gateway>,
    Path(id): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, Refusal> {
    let told = found(&gateway, &headers, &id).await?;
    if query.get("stream").is_some_and(|stream| stream == "true") {
        return stream(&gateway, told, &query, &extensions).await;
    }
    Ok(router::json(body(&gateway, &told)))
}

/// `DELETE /v1/responses/{id}`
pub(crate) async fn withdraw(
    State(gateway): State<Gateway>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let told = found(&gateway, &headers, &id).await?;
    let turn = told.turn.clone();
    deliver(
        &gateway,
        &told,
        "withdrawn",
        DeliveryBody::Withdrawn { turn },
    )
    .await?;
    Ok(router::json(responses::deleted(&about_id(&told))))
}

/// `POST /v1/responses/{id}/cancel`
pub(crate) async fn cancel(
    State(gateway): State<Gateway>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let mut told = found(&gateway, &headers, &id).await?;
    if view::reply(&told.loaded.steps, &told.turn, told.segment).is_none() {
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn: told.turn.clone(),
        };
        deliver(&gateway, &told, "cancelled", body).await?;
        told = over(&gateway, told).await?;
    }
    Ok(router::json(body(&gateway, &told)))
}

/// `GET /v1/responses/{id}/input_items`
pub(crate) async fn input_items(
    State(gateway): State<Gateway>,
    Path(id): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let told = found(&gateway, &headers, &id).await?;
    let asked = ItemsAsked::read(|name| query.get(name).cloned())?;
    let messages = opening(&told.loaded.steps, &told.turn)
        .map(|(opening, ..)| messages(opening))
        .unwrap_or_default();
    let body = responses::input_items(&about_id(&told), &messages, &asked)?;
    Ok(router::json(body))
}

/// The body of a response that is worked at while nobody waits for it.
pub(crate) fn accepted(about: &About) -> Response {
    router::json(responses::standing(about, [], &Standing::Queued))
}

async fn found(gateway: &Gateway, headers: &HeaderMap, id: &str) -> Result<Told, ServeError> {
    let asker = gateway.asker(headers)?;
    let about = responses::about_id(id).ok_or_else(|| previous::none(id))?;
    previous::find(gateway.engine(), &asker.principal, about).await
}

async fn deliver(
    gateway: &Gateway,
    told: &Told,
    what: &str,
    body: DeliveryBody,
) -> Result<(), ServeError> {
    let id = DeliveryId::parse(&format!("{what}-{}", told.turn));
    let id = id.map_err(|error| failures::internal(&error))?;
    let engine = gateway.engine();
    let delivered = engine.deliver(&told.session, id, "a client", body).await;
    delivered.map_err(|error| of_engine(&error))?;
    Ok(())
}

/// The reply when nothing more comes of it.
async fn over(gateway: &Gateway, told: Told) -> Result<Told, ServeError> {
    let engine = gateway.engine();
    let Told {
        segment,
        session,
        turn,
        ..
    } = told;
    let begun = engine
        .attend(&session, &turn, segment, Disconnect::Finish)
        .await;
    let begun = begun.map_err(|error| of_engine(&error))?;
    let about = About::default();
    let mut telling = Telling::new(
        &RESPONSES,
        about,
        begun.turn,
        segment,
        begun.watcher,
        String::new(),
    );
    while !matches!(telling.next().await?.last(), Some(Shown::End(_))) {}
    let loaded = engine.load(&session).await;
    Ok(Told {
        loaded: loaded.map_err(|error| of_engine(&error))?,
        segment,
        session,
        turn,
    })
}

/// A response as it stands.
fn body(gateway: &Gateway, told: &Told) -> Vec<u8> {
    let steps = &told.loaded.steps;
    let about = about(gateway, told);
    let standing = match view::reply(steps, &told.turn, told.segment) {
        Some(Ok(reply)) => return RESPONSES.reply(&reply, &about).0,
        Some(Err(TurnEnd::Cancelled(_))) => Standing::Cancelled,
        Some(Err(end)) => Standing::Failed(responses::failed(&failures::of_end(&end))),
        None => Standing::InProgress,
    };
    let pieces = pieces(steps, &told.turn, told.segment);
    let pieces = pieces.iter().map(|(delta, call)| (delta, call.as_ref()));
    responses::standing(&about, pieces, &standing)
}

/// The same as events, for a client that has those up to a number.
async fn stream(
    gateway: &Gateway,
    told: Told,
    query: &BTreeMap<String, String>,
    extensions: &Extensions,
) -> Result<Response, Refusal> {
    let after = match query.get("starting_after").map(|number| number.parse()) {
        None => None,
        Some(Ok(number)) => Some(number),
        Some(Err(_)) => {
            let message = "starting_after: the number of an event is needed";
            let error = ServeError::new(ServeErrorKind::Invalid, message);
            return Err(error.at("starting_after").into());
        }
    };
    let slot = flow::slot(gateway)?;
    let mut about = about(gateway, &told);
    about.id = about_id(&told);
    let encoder = responses::encoder_after(&about, after);
    let engine = gateway.engine();
    let begun = engine
        .attend(&told.session, &told.turn, told.segment, Disconnect::Finish)
        .await;
    let Begun {
        connection,
        turn,
        watcher,
        ..
    } = begun.map_err(|error| of_engine(&error))?;
    let request_id = extensions.get::<RequestId>().map(|id| id.0.clone());
    let request_id = request_id.unwrap_or_default();
    let telling = Telling::new(&RESPONSES, about, turn, told.segment, watcher, request_id);
    let held = Held { connection, slot };
    let ledger = extensions.get::<Ledger>().cloned();
    let keep_alive = gateway.shared.config.serve.keep_alive;
    let response = flow::stream(telling, encoder, held, keep_alive, ledger).await?;
    Ok(response)
}

/// What a response says of itself besides its content.
fn about(gateway: &Gateway, told: &Told) -> About {
    let mut about = About {
        id: about_id(told),
        ..About::default()
    };
    let Some((_, setup, created)) = opening(&told.loaded.steps, &told.turn) else {
        return about;
    };
    let model = &setup.model;
    let owner = gateway.engine().state_owner(&model.provider, &model.model);
    about.created = created;
    about.dialect = owner.map(|owner| owner.dialect);
    if let Some(caller) = &setup.caller {
        about.model = caller.model.to_string();
        let echo = caller.echo.as_deref().map(serde_json::from_str);
        about.echo = echo.and_then(Result::ok).unwrap_or_else(Map::new);
    }
    about
}

fn about_id(told: &Told) -> String {
    format!("{}_{}", told.turn, told.segment)
}

/// What a turn began with, with what, and when, in seconds since 1970.
fn opening<'s>(steps: &'s [Envelope], turn: &TurnId) -> Option<(&'s Opening, &'s Arc<Setup>, u64)> {
    let mut facts = steps
        .iter()
        .flat_map(|step| step.facts.iter().map(move |fact| (step, fact)));
    facts.find_map(|(step, fact)| {
        if let Fact::TurnOpened {
            opening,
            setup,
            turn: opened,
            ..
        } = fact
            && opened == turn
        {
            Some((opening, setup, seconds(step)))
        } else {
            None
        }
    })
}

fn seconds(step: &Envelope) -> u64 {
    u64::try_from(step.now.wall.as_millis() / 1000).unwrap_or_default()
}

/// What a client asked with.
fn messages(opening: &Opening) -> Vec<Message> {
    match opening {
        Opening::ClientResults(results) => {
            let outcomes = results.iter().map(Arc::clone).map(Content::ToolOutcome);
            vec![Message::new(
                Role::Tool,
                outcomes.map(Block::from).collect(),
            )]
        }
        Opening::Transcript(transcript) => {
            let messages = transcript.messages().iter();
            messages.map(|message| Message::clone(message)).collect()
        }
        Opening::UserMessage(message) => vec![Message::clone(message)],
    }
}

/// What there is of a reply so far, as far as it is recorded.
fn pieces(steps: &[Envelope], turn: &TurnId, segment: u32) -> Vec<(Delta, Option<ToolCallId>)> {
    let mut teller = Teller::new(Cursor::START);
    for step in steps {
        teller.feed(step.clone());
    }
    let mut viewer = Viewer::new(turn.clone(), segment);
    let mut pieces = Vec::new();
    while let Some((_, told)) = teller.next() {
        for shown in viewer.see(&told) {
            if let Shown::Piece { call, delta } = shown {
                pieces.push((delta, call));
            }
        }
    }
    pieces
}
