//! What happened in a turn and when, the facts behind it, and whether they are decided the same way again.

use axum::Json;
use axum::extract::State;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::TurnId;
use jackfield_domain::replay::Replay;
use jackfield_domain::timeline::Timeline;
use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::Loaded;
use jackfield_gateway::Gateway;
use serde_json::Value;

use super::extract::{OwnedSession, StepPath, TurnPath, no_turn};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::timeline::{ReplayView, StepView, TimelineView};

/// The timeline of a turn: its model calls, calls of tools and questions, each from its beginning to its end, and the
/// times in which no process was at work on it.
#[utoipa::path(
    get, path = "/sessions/{session}/turns/{turn}/timeline", tag = "turns", operation_id = "get_timeline",
    params(("session" = String, Path), ("turn" = String, Path)),
    responses((status = 200, description = "The timeline.", body = TimelineView), Problems)
)]
pub(crate) async fn timeline(
    own: OwnedSession,
    TurnPath(turn): TurnPath,
    State(gateway): State<Gateway>,
) -> Result<Json<TimelineView>, ProblemDetails> {
    let loaded = gateway.engine().load(&own.session).await?;
    let log = SessionLog::of_turn(&turn, &loaded.steps, &[]);
    let found = log.zip(Timeline::of_turn(&turn, &loaded.steps));
    let (log, timeline) = found.ok_or_else(|| no_turn(turn.as_str()))?;
    Ok(Json(TimelineView::new(&log, &timeline, &own.session)))
}

/// A step of a session: what was decided at once, with the facts in the form in which they are stored.
#[utoipa::path(
    get, path = "/sessions/{session}/steps/{step}", tag = "sessions", operation_id = "get_step",
    params(("session" = String, Path), ("step" = u64, Path)),
    responses((status = 200, description = "The step.", body = StepView), Problems)
)]
pub(crate) async fn step(
    own: OwnedSession,
    StepPath(number): StepPath,
    State(gateway): State<Gateway>,
) -> Result<Json<StepView>, ProblemDetails> {
    let loaded = gateway.engine().load(&own.session).await?;
    let found = loaded.steps.iter().find(|step| step.step == number);
    let step = found.ok_or_else(|| {
        let all = loaded.steps.len();
        let detail = format!("there is no step {number}; the session has {all}, from 0");
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })?;
    Ok(Json(StepView::new(step, facts(step)?)))
}

/// Decides each step of a turn again, as `jackfield replay` does, and compares. No model and no tool is called.
#[utoipa::path(
    get, path = "/sessions/{session}/turns/{turn}/replay", tag = "turns", operation_id = "replay_turn",
    params(("session" = String, Path), ("turn" = String, Path)),
    responses((status = 200, description = "How each step comes out.", body = ReplayView), Problems)
)]
pub(crate) async fn replay(
    own: OwnedSession,
    TurnPath(turn): TurnPath,
    State(gateway): State<Gateway>,
) -> Result<Json<ReplayView>, ProblemDetails> {
    let slot = gateway.admit_without_model(&own.client).await;
    let slot = slot.map_err(|refused| refused.error)?;
    let loaded = gateway.engine().load(&own.session).await?;
    let (session, asked) = (own.session, turn.clone());
    // The steps of a long session take a while. The slot is held until the end, which a disconnect does not bring on.
    let replayed = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        let mut replay = Replay::new(session, &loaded.deliveries);
        replayed_turn(&mut replay, &loaded, &asked)
    });
    let replayed = replayed.await.map_err(|error| {
        ProblemDetails::new(ProblemKind::Internal, format!("the replay failed: {error}"))
    })?;
    replayed.map(Json).ok_or_else(|| no_turn(turn.as_str()))
}

/// The turn decided again; `None` if it is not in the session.
fn replayed_turn(replay: &mut Replay<'_>, loaded: &Loaded, turn: &TurnId) -> Option<ReplayView> {
    let mut is_its = false;
    let mut view = None;
    for recorded in &loaded.steps {
        let replayed = replay.step(recorded);
        if let Some(opened) = opened(recorded) {
            if is_its {
                break;
            }
            is_its = opened == turn;
        }
        if is_its {
            let view = view.get_or_insert_with(ReplayView::default);
            view.add(&replayed);
        }
    }
    view
}

/// The turn that begins with this step.
fn opened(step: &Envelope) -> Option<&TurnId> {
    step.facts.iter().find_map(|fact| {
        if let Fact::TurnOpened { turn, .. } = fact {
            Some(turn)
        } else {
            None
        }
    })
}

/// The facts of a step, as they are stored.
fn facts(step: &Envelope) -> Result<Value, ProblemDetails> {
    let internal = |error: &dyn std::fmt::Display| {
        ProblemDetails::new(ProblemKind::Internal, format!("the step: {error}"))
    };
    let stored = jackfield_record::encode_envelope(step).map_err(|error| internal(&error))?;
    let mut stored: Value = serde_json::from_slice(&stored).map_err(|error| internal(&error))?;
    let facts = stored.pointer_mut("/step/facts").map(Value::take);
    Ok(facts.unwrap_or(stored))
}
