//! Replies by their ids: gone on from, looked at, withdrawn.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve::about_id;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::wait::DeliveryBody;
use jackfield_engine::{Engine, Loaded, Mark, Place};

use super::asked::Asked;
use crate::failures::of_engine;

/// A reply that was found by its id.
pub(crate) struct Told {
    pub(crate) loaded: Loaded,
    pub(crate) segment: u32,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
}

/// The reply of an id without its dialect's prefix, if it is one of this principal's and was not withdrawn.
///
/// # Errors
///
/// [`ServeErrorKind::NoSuchReply`].
pub(crate) async fn find(engine: &Engine, principal: &str, id: &str) -> Result<Told, ServeError> {
    let none = || none(id);
    let (turn, segment) = id.rsplit_once('_').ok_or_else(none)?;
    let turn = TurnId::parse(turn).map_err(|_| none())?;
    let segment = segment.parse().map_err(|_| none())?;
    let found = engine.find(principal, &[Mark::Turn(turn)], 1).await;
    let found = found.map_err(|error| of_engine(&error))?;
    let found = found.into_iter().next().ok_or_else(none)?;
    let loaded = engine.load(&found.session).await;
    let loaded = loaded.map_err(|error| of_engine(&error))?;
    let is_withdrawn = loaded.deliveries.iter().any(|delivery| {
        matches!(&delivery.body, DeliveryBody::Withdrawn { turn } if *turn == found.turn)
    });
    if is_withdrawn {
        return Err(none());
    }
    Ok(Told {
        loaded,
        segment,
        session: found.session,
        turn: found.turn,
    })
}

/// There is no such reply.
pub(crate) fn none(id: &str) -> ServeError {
    let id = id.strip_prefix("resp_").unwrap_or(id);
    let message = format!("there is no response `resp_{id}`, or it is not kept");
    ServeError::new(ServeErrorKind::NoSuchReply, message)
}

/// Where a request belongs that goes on from a reply.
///
/// # Errors
///
/// [`ServeErrorKind::NoSuchReply`].
pub(crate) async fn place(
    engine: &Engine,
    asked: &Asked,
    previous: &str,
) -> Result<Place, ServeError> {
    // With its prefix or without, as the dialect reads it.
    let id = about_id(previous).unwrap_or(previous);
    let told = find(engine, &asked.principal, id).await;
    let told = told.map_err(|error| error.at("previous_response_id"))?;
    let history = &asked.incoming.messages;
    let (turn, segment) = (&told.turn, told.segment);
    let place = engine
        .locate_after(&asked.principal, turn, segment, history)
        .await;
    let place = place.map_err(|error| of_engine(&error))?;
    place.ok_or_else(|| none(previous).at("previous_response_id"))
}
