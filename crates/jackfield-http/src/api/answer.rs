//! Answers with a turn: as a whole, as events, or in the background.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_engine::{Connection, StartedTurn, Watcher};
use jackfield_gateway::{Gateway, RequestSlot};
use tokio::time::{Instant, timeout};

use super::events::{Stream, StreamEnd};
use super::extract::no_turn;
use super::problem::ProblemDetails;
use super::session_events::SessionEvents;
use super::story;
use super::turns::find;
use super::wire::events::EventView;
use super::wire::request::Mode;

/// Answers with an existing turn.
pub(super) async fn replay_turn(
    gateway: Gateway,
    slot: RequestSlot,
    session: SessionId,
    turn: TurnId,
    mode: Mode,
) -> Result<Response, ProblemDetails> {
    let engine = gateway.engine();
    engine.prioritize_resume(&session, &turn).await?;
    let loaded = engine.load(&session).await?;
    let facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let opens =
        |fact: &&Fact| matches!(fact, Fact::TurnOpened { turn: opened, .. } if *opened == turn);
    let before = facts.take_while(|fact| !opens(fact)).count() as u64;
    let cursor = Cursor::after_facts(before);
    let watcher = engine.watch(session.clone(), cursor).await?;
    let options = AnswerOptions {
        connection: None,
        events: SessionEvents::for_turn(session.clone()),
        session,
        slot,
        turn,
        watcher,
    };
    let mut response = options.respond(gateway, mode).await?;
    let headers = response.headers_mut();
    headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
    Ok(response)
}

/// A turn to answer with.
pub(super) struct AnswerOptions {
    /// The connection to mark as written, if the response is still owed.
    pub(super) connection: Option<Connection>,
    /// Converts session events to API events.
    pub(super) events: SessionEvents,
    pub(super) session: SessionId,
    /// A slot of the limit on concurrent requests.
    pub(super) slot: RequestSlot,
    pub(super) turn: TurnId,
    /// Reads the turn from its opening, or from the results that continue it.
    pub(super) watcher: Watcher,
}

impl AnswerOptions {
    /// Options for a turn that has just begun.
    pub(super) fn from_started(started: StartedTurn, slot: RequestSlot) -> Self {
        Self {
            connection: Some(started.connection),
            events: SessionEvents::for_turn(started.session.clone()),
            session: started.session,
            slot,
            turn: started.turn,
            watcher: started.watcher,
        }
    }

    /// Answers with the turn in the requested mode.
    pub(super) async fn respond(
        self,
        gateway: Gateway,
        mode: Mode,
    ) -> Result<Response, ProblemDetails> {
        let Self {
            connection,
            mut events,
            session,
            slot,
            turn,
            mut watcher,
        } = self;
        let location = format!("/api/v1/sessions/{session}/turns/{turn}");
        let mut response = match mode {
            Mode::Background => {
                if let Some(connection) = connection {
                    connection.mark_written();
                }
                let found = find(gateway.engine(), &session, &turn).await?;
                (StatusCode::ACCEPTED, Json(found)).into_response()
            }
            Mode::Stream => Stream {
                connection,
                events,
                gateway,
                html: None,
                last_sent: Instant::now(),
                place: None,
                progress: Vec::new(),
                slot: Arc::new(slot),
                until: StreamEnd::Turn(turn),
                watcher,
            }
            .response(),
            Mode::Wait => {
                let _held = slot;
                wait_until_idle(&gateway, &mut watcher, &mut events, &turn, |_| {}).await?;
                let view = events.turn().map(|turn| story::view(turn, &session));
                if let Some(connection) = connection {
                    connection.mark_written();
                }
                Json(view.ok_or_else(|| no_turn(turn.as_str()))?).into_response()
            }
        };
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(LOCATION, location);
        }
        Ok(response)
    }
}

/// Reads events until the turn is over or only waits. Each goes to `seen`, in the API's form.
pub(super) async fn wait_until_idle(
    gateway: &Gateway,
    watcher: &mut Watcher,
    events: &mut SessionEvents,
    turn: &TurnId,
    mut seen: impl FnMut(&EventView),
) -> Result<(), ProblemDetails> {
    let mut convert = |events: &mut SessionEvents, event| {
        if let Some(event) = events.convert(event) {
            seen(&event);
        }
    };
    loop {
        while let Some((_, event)) = watcher.try_next() {
            convert(events, event);
        }
        if events.is_idle(turn) && events.is_left_to_person(gateway).await? {
            return Ok(());
        }
        // No event announces that the approver left the decision to a person, so this polls.
        if let Ok(next) = timeout(MOMENT, watcher.next()).await {
            let (_, event) = next?;
            convert(events, event);
        }
    }
}

/// Reads events until the turn is over.
pub(super) async fn wait_until_over(
    watcher: &mut Watcher,
    events: &mut SessionEvents,
    turn: &TurnId,
) -> Result<(), ProblemDetails> {
    loop {
        let log = events.turn().filter(|log| log.turn == *turn);
        if log.is_some_and(|log| log.end().is_some()) {
            return Ok(());
        }
        let (_, event) = watcher.next().await?;
        events.convert(event);
    }
}

/// The poll interval while an approver may still decide before a person does.
const MOMENT: Duration = Duration::from_millis(250);
