//! Turns: begin, continue with results, cancel and get.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, TurnId};
use jackfield_domain::setup::Opening;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{
    ClientResultsOptions, Disconnect, Engine, EngineError, SecondMessage, SendMessage, TurnOptions,
};
use jackfield_gateway::{Gateway, OvertakenWait, Principal, trace_context};
use tokio::time::timeout;

use super::answer::{AnswerOptions, replay_turn};
use super::extract::{JsonBody, ModelSlot, OwnedSession, TurnPath, no_turn};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::session_events::SessionEvents;
use super::story;
use super::wire::events::EventView;
use super::wire::given::GivenView;
use super::wire::request::{IfBusy, Mode, PostResults, PostTurn};
use super::wire::turn::TurnView;
use super::{approver, context, owner};
use crate::ids;

/// Posts a message, and gets it answered: as `mode` says when the turn has ended, as events, or later.
///
/// A turn that needs an answer from outside has the status `waiting` and names its open questions. With an
/// `Idempotency-Key` the same request gets the same turn, however often it is sent.
#[utoipa::path(
    post, path = "/sessions/{session}/turns", tag = "turns", operation_id = "post_turn",
    params(("session" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "What makes a repetition safe: 1 to 255 characters."),
        ("X-Jackfield-Tags" = Option<String>, Header, description = "What usage is summed by, such as `team=search, feature=summary`; names that the configuration does not list are dropped.")),
    request_body = PostTurn,
    responses(
        (status = 200, description = "The turn, or with `mode` as `stream` its events.",
            content((TurnView = "application/json"), (EventView = "text/event-stream"))),
        (status = 202, description = "The turn, which goes on: `mode` is `background`.", body = TurnView),
        Problems
    )
)]
pub(crate) async fn post(
    own: OwnedSession,
    ModelSlot(slot): ModelSlot,
    State(gateway): State<Gateway>,
    headers: HeaderMap,
    JsonBody { digest, value }: JsonBody<PostTurn>,
) -> Result<Response, ProblemDetails> {
    let mut request = value;
    let mode = request.mode;
    let key = ids::idempotency_key(&headers);
    let key = key.map_err(|why| ProblemDetails::parameter("Idempotency-Key", why))?;
    let (user, tags) = (
        user(request.user.take())?,
        std::mem::take(&mut request.tags),
    );
    let principal = owner::principal(&own.client, user.as_deref());
    let parts = request.take_message()?;
    let mut options = options(&gateway, &own.client, request, mode).await?;
    let tags = tags.as_object().into_iter().flatten();
    let tags = tags.map(|(name, value)| (&**name, value.as_str().unwrap_or_default()));
    options.tags = gateway.tags_of_headers(&headers, tags, user.as_deref());
    options.trace = trace_context(&headers);
    let engine = gateway.engine();
    options.caller = Some(caller(
        &options,
        Arc::clone(&principal),
        digest,
        key.clone(),
    ));
    let mut parts = Some(parts);
    let mut opening = None;
    let mut overtaken_wait = OvertakenWait::default();
    let started = loop {
        // Of two concurrent requests with one key, the second finds the turn of the first: here by the lock, and at
        // another process as that does not begin its turn in a session that has another one since it looked.
        let mut key_lock = None;
        if let Some(key) = &key {
            key_lock = Some(gateway.lock_session(&own.session).await);
            match find_earlier(engine, &own.session, &principal, key, digest).await? {
                EarlierTurn::None { turns } => options.expected_turns = Some(turns),
                EarlierTurn::Found(turn) => {
                    drop(key_lock);
                    return replay_turn(gateway.clone(), slot, own.session, turn, mode).await;
                }
            }
        }
        // The resources in it are read once.
        if let Some(parts) = parts.take() {
            slot.check_budgets()?;
            options.held = Some(gateway.hold_turn(&own.client.principal)?);
            let message = context::message(&gateway, &own.client, parts).await?;
            opening = Some(Opening::UserMessage(Arc::new(message)));
        }
        let Some(opening) = opening.clone() else {
            continue;
        };
        let message = SendMessage {
            opening,
            options: options.clone(),
            session: own.session.clone(),
        };
        // If this request is cancelled meanwhile, its turn may begin all the same.
        match (
            engine.begin_with_guard(message, key_lock).await,
            options.expected_turns,
        ) {
            (Err(error), Some(turns)) if error.is_overtaken(turns) => {
                overtaken_wait.pause(turns).await?;
            }
            (started, _) => break started?,
        }
    };
    AnswerOptions::from_started(started, slot)
        .respond(gateway, mode)
        .await
}

/// Takes results of client tools. The turn continues when all of them are there.
///
/// The same results again get the same answer.
#[utoipa::path(
    post, path = "/sessions/{session}/turns/{turn}/results", tag = "turns", operation_id = "post_results",
    params(("session" = String, Path), ("turn" = String, Path)),
    request_body = PostResults,
    responses(
        (status = 200, description = "The turn, or with `mode` as `stream` its events.",
            content((TurnView = "application/json"), (EventView = "text/event-stream"))),
        (status = 202, description = "The turn, which goes on: `mode` is `background`.", body = TurnView),
        Problems
    )
)]
pub(crate) async fn results(
    own: OwnedSession,
    TurnPath(turn): TurnPath,
    ModelSlot(slot): ModelSlot,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<PostResults>,
) -> Result<Response, ProblemDetails> {
    slot.check_budgets()?;
    let mode = value.mode;
    let results = value.into_results()?;
    let engine = gateway.engine();
    let loaded = engine.load(&own.session).await?;
    let log = SessionLog::of_turn(&turn, &loaded.steps, &[]);
    let log = log.ok_or_else(|| no_turn(turn.as_str()))?;
    gateway.check_turn(&own.client, &log.setup)?;
    let calls: Vec<ToolCallId> = results.iter().map(|(call, _)| call.clone()).collect();
    // The events begin with the results, also when they are sent again.
    let facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let is_later =
        |fact: &&Fact| matches!(fact, Fact::CallClosed { call, .. } if calls.contains(call));
    let before = facts.take_while(|fact| !is_later(fact)).count() as u64;
    let cursor = Cursor::after_facts(before);
    let answered = engine.submit_client_results(ClientResultsOptions {
        by: Arc::clone(&own.client.principal),
        disconnect: disconnect(&gateway, mode),
        held: Some(gateway.count_turn(&own.client.principal)),
        policy: gateway.policy().clone(),
        repeats: None,
        results,
        session: own.session.clone(),
        streams: true,
        turn: turn.clone(),
    });
    let started = answered.await?.started;
    let watcher = engine.watch(own.session.clone(), cursor).await?;
    let events =
        SessionEvents::after_cursor(own.session.clone(), &loaded.steps, cursor).awaiting(calls);
    let answer = AnswerOptions {
        connection: Some(started.connection),
        events,
        session: own.session,
        slot,
        turn,
        watcher,
    };
    answer.respond(gateway, mode).await
}

/// One turn.
#[utoipa::path(
    get, path = "/sessions/{session}/turns/{turn}", tag = "turns", operation_id = "get_turn",
    params(("session" = String, Path), ("turn" = String, Path)),
    responses((status = 200, description = "The turn.", body = TurnView), Problems)
)]
pub(crate) async fn get(
    own: OwnedSession,
    TurnPath(turn): TurnPath,
    State(gateway): State<Gateway>,
) -> Result<Json<TurnView>, ProblemDetails> {
    let found = find(gateway.engine(), &own.session, &turn).await?;
    Ok(Json(found))
}

/// Cancels a turn. Each of its calls gets an outcome. A turn that is over stays as it is.
#[utoipa::path(
    post, path = "/sessions/{session}/turns/{turn}/cancel", tag = "turns", operation_id = "cancel_turn",
    params(("session" = String, Path), ("turn" = String, Path)),
    responses((status = 200, description = "The turn, which is over.", body = TurnView),
        (status = 202, description = "The turn, which is about to end.", body = TurnView), Problems)
)]
pub(crate) async fn cancel(
    own: OwnedSession,
    TurnPath(turn): TurnPath,
    State(gateway): State<Gateway>,
) -> Result<Response, ProblemDetails> {
    let engine = gateway.engine();
    let found = find(engine, &own.session, &turn).await?;
    if found.end.is_some() {
        return Ok(Json(found).into_response());
    }
    let id = delivery_id(&format!("cancel-{turn}"))?;
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: turn.clone(),
    };
    let by = Arc::clone(&own.client.principal);
    // An earlier delivery is as good.
    let _delivered = engine.deliver(&own.session, id, by, body).await?;
    engine.prioritize_resume(&own.session, &turn).await?;
    let mut watcher = engine.watch(own.session.clone(), Cursor::START).await?;
    let mut events = SessionEvents::for_turn(own.session.clone());
    let over = async {
        while !events
            .turn()
            .is_some_and(|log| log.turn == turn && log.end().is_some())
        {
            let (_, event) = watcher.next().await?;
            events.convert(event);
        }
        Ok::<_, EngineError>(())
    };
    let status = match timeout(TIME_LIMIT, over).await {
        Ok(over) => {
            over?;
            StatusCode::OK
        }
        // Another process drives the turn, and sees the cancel later.
        Err(_) => StatusCode::ACCEPTED,
    };
    let found = find(engine, &own.session, &turn).await?;
    Ok((status, Json(found)).into_response())
}

/// The caller of a turn of this API: a principal with a request, which may have an idempotency key.
pub(super) fn caller(
    options: &TurnOptions,
    principal: Arc<str>,
    body: Digest,
    key: Option<Arc<str>>,
) -> Arc<Caller> {
    Arc::new(Caller {
        body: Some(body),
        dialect: DIALECT.into(),
        display: Display {
            calls_as_written: false,
            server_tools: true,
        },
        echo: None,
        key,
        model: jackfield_export::values::model(&options.model).into(),
        principal,
        view: None,
    })
}

/// The options of a new turn.
pub(super) async fn options(
    gateway: &Gateway,
    client: &Principal,
    mut request: PostTurn,
    mode: Mode,
) -> Result<TurnOptions, ProblemDetails> {
    let given = GivenView::to_record(request.system.is_some(), &request.settings, &request.limits);
    let requested = match request.model.as_deref() {
        None => gateway.default_model(),
        Some(name) => gateway.requested_model(name)?,
    };
    gateway.check_model(client, request.model.as_deref(), &requested)?;
    let known = gateway.options_for(&requested);
    let mut options = known.ok_or_else(|| {
        let detail = format!("there is no provider `{}`", requested.model.provider);
        ProblemDetails::new(ProblemKind::NoSuchModel, detail).with("pointer", "/model")
    })?;
    options.askable = client.tools.clone();
    options.budgets = client.budgets();
    options.can_supersede = true;
    options.client_tools = request.take_tools()?;
    options.disconnect = disconnect(gateway, mode);
    options.pauses = true;
    options.if_busy = match request.if_busy {
        IfBusy::Cancel => SecondMessage::Cancel,
        IfBusy::Queue => SecondMessage::Queue,
        IfBusy::Refuse => SecondMessage::Refuse,
    };
    // Who names an assistant asks for its tools.
    let only_own = !options.client_tools.is_empty()
        && (requested.assistant.is_none() || request.model.is_none());
    options.server_tools = owner::server_tools(
        gateway,
        client,
        requested.assistant,
        request.server_tools.as_deref(),
        only_own,
    )?;
    if let Some(choice) = request.tool_choice {
        options.choice = choice.choice()?;
    }
    if let Some(text) = request.system {
        let text = text.trim();
        let part = SystemPart {
            origin: PartOrigin::Flag,
            text: text.into(),
        };
        options.system = SystemPrompt {
            parts: if text.is_empty() {
                Vec::new()
            } else {
                vec![part]
            },
        };
    }
    options.given = given;
    request.settings.apply_to(&mut options.settings)?;
    request.limits.apply_to(&mut options)?;
    approver::enable_approvals(gateway.engine(), &mut options).await;
    Ok(options)
}

/// The effect of a client disconnect on a turn. A background turn continues.
pub(super) fn disconnect(gateway: &Gateway, mode: Mode) -> Disconnect {
    match mode {
        Mode::Stream | Mode::Wait => gateway.config().disconnect,
        Mode::Background => Disconnect::Finish,
    }
}

/// What [`find_earlier`] found in a session.
pub(super) enum EarlierTurn {
    /// The turn of the key.
    Found(TurnId),
    /// None, in a session with this number of turns.
    None { turns: u32 },
}

/// The turn that an earlier request with this key began in the session.
pub(super) async fn find_earlier(
    engine: &Engine,
    session: &SessionId,
    principal: &str,
    key: &str,
    body: Digest,
) -> Result<EarlierTurn, ProblemDetails> {
    let loaded = engine.load(session).await?;
    let mut turns = 0;
    for fact in loaded.steps.iter().flat_map(|step| &step.facts) {
        let Fact::TurnOpened {
            ordinal,
            setup,
            turn,
            ..
        } = fact
        else {
            continue;
        };
        turns = *ordinal;
        match setup.caller.as_deref() {
            Some(caller)
                if caller.key.as_deref() == Some(key) && *caller.principal == *principal =>
            {
                if caller.body == Some(body) {
                    return Ok(EarlierTurn::Found(turn.clone()));
                }
                let detail = format!(
                    "the idempotency key `{key}` was used with another request: use a new key for a new message"
                );
                let problem = ProblemDetails::new(ProblemKind::Conflict, detail);
                return Err(problem.with("turn", turn.as_str()));
            }
            Some(_) | None => {}
        }
    }
    Ok(EarlierTurn::None { turns })
}

/// The current state of a turn.
pub(super) async fn find(
    engine: &Engine,
    session: &SessionId,
    turn: &TurnId,
) -> Result<TurnView, ProblemDetails> {
    let loaded = engine.load(session).await?;
    let log = SessionLog::of_turn(turn, &loaded.steps, &[]);
    let view = log.map(|turn| story::view(&turn, session));
    view.ok_or_else(|| no_turn(turn.as_str()))
}

/// Validates the name of an end user.
fn user(user: Option<String>) -> Result<Option<String>, ProblemDetails> {
    match user {
        Some(user) if user.trim().is_empty() || user.len() > MAX_USER => {
            let why = format!("1 to {MAX_USER} bytes are expected");
            Err(ProblemDetails::field("/user", why))
        }
        user => Ok(user),
    }
}

/// A new id for a delivery from this API.
pub(crate) fn delivery_id(what: &str) -> Result<DeliveryId, ProblemDetails> {
    let internal = |error: String| ProblemDetails::new(ProblemKind::Internal, error);
    let random = jackfield_gateway::ids::random().map_err(|error| internal(error.to_string()))?;
    DeliveryId::parse(&format!("api-{random}-{what}")).map_err(|error| internal(error.to_string()))
}

/// The dialect recorded for turns of this API.
const DIALECT: &str = "api";
/// The maximum length of an end user's name.
const MAX_USER: usize = 128;
/// How long a cancel waits for the end of the turn.
const TIME_LIMIT: Duration = Duration::from_secs(5);
