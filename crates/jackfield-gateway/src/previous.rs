//! Previous replies, found by id: to continue, read or delete them.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::DIALECT;
use jackfield_dialect_openai::responses::serve::reply_id;
use jackfield_domain::caller::Repeats;
use jackfield_domain::client_view;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::wait::DeliveryBody;
use jackfield_engine::{Durability, Engine, Loaded, Mark};
use serde_json::{Map, Value};

use crate::failures::from_engine_error;
use crate::gateway::Gateway;
use crate::locator::{Destination, SessionLocator};
use crate::parsed_request::ParsedRequest;

/// A reply that was found by its id.
pub(crate) struct PreviousReply {
    /// The fields of its request that the response repeats.
    pub(crate) echo: Map<String, Value>,
    pub(crate) loaded: Loaded,
    /// The model, by the name that the client used.
    pub(crate) model: Arc<str>,
    pub(crate) segment: u32,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
}

/// Finds the reply of an id without its dialect's prefix. It must belong to this principal, be kept and not be
/// deleted.
///
/// # Errors
///
/// [`ServeErrorKind::NoSuchReply`].
pub(crate) async fn find(
    engine: &Engine,
    principal: &str,
    id: &str,
) -> Result<PreviousReply, ServeError> {
    let none = || not_found(id);
    let (turn, segment) = id.rsplit_once('_').ok_or_else(none)?;
    let turn = TurnId::parse(turn).map_err(|_| none())?;
    let segment = segment.parse().map_err(|_| none())?;
    if format!("{turn}_{segment}") != id {
        return Err(none());
    }
    let durable = Some(Durability::Durable);
    let found = engine
        .find(durable, principal, &[Mark::Turn(turn)], 1)
        .await;
    let found = found.map_err(|error| from_engine_error(&error))?;
    let found = found.into_iter().next().ok_or_else(none)?;
    let loaded = engine.load(&found.session).await;
    let loaded = loaded.map_err(|error| from_engine_error(&error))?;
    let is_withdrawn = loaded.deliveries.iter().any(|delivery| {
        matches!(&delivery.body, DeliveryBody::Withdrawn { turn } if *turn == found.turn)
    });
    let repeats = stored_repeats(&loaded, &found.turn, segment).filter(|_| !is_withdrawn);
    let (echo, model) = repeats.ok_or_else(none)?;
    Ok(PreviousReply {
        echo,
        loaded,
        model,
        segment,
        session: found.session,
        turn: found.turn,
    })
}

/// The request fields that a response repeats, and the name of its model. `None` unless the reply is kept: a turn
/// may be in the journal because of its tools although the client asked not to store the reply.
fn stored_repeats(
    loaded: &Loaded,
    turn: &TurnId,
    segment: u32,
) -> Option<(Map<String, Value>, Arc<str>)> {
    let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let caller = facts.find_map(|fact| {
        if let Fact::TurnOpened {
            setup,
            turn: opened,
            ..
        } = fact
            && opened == turn
        {
            setup.caller.as_deref()
        } else {
            None
        }
    })?;
    if *caller.dialect != *DIALECT {
        return None;
    }
    let read = |repeats: &Repeats| -> Map<String, Value> {
        serde_json::from_str(&repeats.echo).unwrap_or_default()
    };
    let own = client_view::repeats(&loaded.steps, turn, segment);
    let (echo, model) = if let Some(own) = own {
        (read(&own), Arc::clone(&own.model))
    } else {
        // The fields stored with the request that began the turn are the closest match.
        let first = client_view::repeats(&loaded.steps, turn, 0);
        let mut echo = first.as_deref().map(read).unwrap_or_default();
        echo.remove(CREATED);
        if let Some(before) = segment.checked_sub(1) {
            let before = format!("resp_{turn}_{before}");
            echo.insert("previous_response_id".to_owned(), before.into());
        }
        (echo, Arc::clone(&caller.model))
    };
    (echo.get("store") != Some(&Value::Bool(false))).then_some((echo, model))
}

/// The stored field with the time of the request, in seconds since 1970.
pub(crate) const CREATED: &str = "created_at";

/// The error for an id without a reply.
#[must_use]
pub fn not_found(id: &str) -> ServeError {
    let id = id.strip_prefix("resp_").unwrap_or(id);
    let message = format!("there is no response `resp_{id}`, or it is not kept");
    ServeError::new(ServeErrorKind::NoSuchReply, message)
}

/// The position of a request that continues a reply.
///
/// # Errors
///
/// [`ServeErrorKind::NoSuchReply`], or that a provider keeps the reply.
pub(crate) async fn locate(
    gateway: &Gateway,
    request: &ParsedRequest,
    previous: &str,
) -> Result<Destination, ServeError> {
    // With its prefix or without, depending on the dialect.
    let id = reply_id(previous).unwrap_or(previous);
    let engine = gateway.engine();
    let reply = match find(engine, &request.principal, id).await {
        Ok(reply) => reply,
        Err(error) => {
            let at_provider = gateway.not_of_turns(&request.principal, previous).await;
            return Err(at_provider.unwrap_or_else(|| error.at("previous_response_id")));
        }
    };
    let history = &request.incoming.messages;
    let (turn, segment) = (&reply.turn, reply.segment);
    let place = SessionLocator::new(engine)
        .locate_after(&request.principal, turn, segment, history)
        .await;
    let place = place.map_err(|error| from_engine_error(&error))?;
    place.ok_or_else(|| not_found(previous).at("previous_response_id"))
}
