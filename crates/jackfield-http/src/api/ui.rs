//! The AI SDK's UI message stream: front ends made for it run on kept turns.
//!
//! A chat is a session. Its id follows from the principal and the name of the chat, so a front end needs to know
//! nothing but the name that it chose. Where a front end rewrites the conversation, by an edit or a regeneration, a
//! fork of the session takes its place; the old one stays.
//!
//! An assistant's message is a turn, and has its id: a client that resumes the stream gets the message from its
//! beginning, however often, also after a crash.

mod chat_session;
mod chunks;
mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, TurnId, WaitId};
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::{SessionLog, TurnLog};
use jackfield_domain::wait::{Answer, Approval, DeliveryBody, UnknownAnswer, WaitKind};
use jackfield_engine::{ClientResultsOptions, Loaded, SendMessage};
use jackfield_export::values;
use jackfield_gateway::{Gateway, OvertakenWait, Principal, RequestSlot};
use tokio::time::Instant;

use self::chat_session::{current, place, session_of};
use self::chunks::Chunks;
use self::stream::ChunkStream;
use super::extract::{ChatPath, JsonBody, ModelSlot, Requester, no_turn};
use super::problem::{ProblemDetails, Problems};
use super::session_events::SessionEvents;
use super::turns::{self, EarlierTurn};
use super::wire::request::{Mode, PostTurn};
use super::wire::ui::{UiAnswers, UiChat};

/// Answers a request of the AI SDK's chat transport with a stream of message chunks.
///
/// With a new message of the user last, a turn begins; with the assistant's message last, the answers in its parts are
/// taken and its turn goes on: approvals, and results of client tools. The whole conversation before is the session's;
/// where it has fewer messages of the user than the session, it was rewritten, and a fork takes the session's place.
/// The same request again gets the same turn.
#[utoipa::path(
    post, path = "/ui/chat", tag = "ui", operation_id = "ui_chat", request_body = UiChat,
    responses((status = 200, description = "The chunks of the assistant's message, as `x-vercel-ai-ui-message-stream` v1.",
            body = String, content_type = "text/event-stream"), Problems)
)]
pub(crate) async fn chat(
    Requester(client): Requester,
    ModelSlot(slot): ModelSlot,
    State(gateway): State<Gateway>,
    headers: HeaderMap,
    JsonBody { value, .. }: JsonBody<UiChat>,
) -> Result<Response, ProblemDetails> {
    slot.check_budgets()?;
    check_name(&value.id).map_err(|why| ProblemDetails::field("/id", why))?;
    let Some(last) = value.messages.last() else {
        return Err(ProblemDetails::field("/messages", "there is no message"));
    };
    match &*last.role {
        "user" => begin(gateway, client, slot, &headers, value).await,
        "assistant" => {
            let (id, answers) = (last.id.clone(), last.answers());
            go_on(gateway, client, slot, &value.id, &id, answers).await
        }
        _ => {
            let place = format!("/messages/{}/role", value.messages.len() - 1);
            let why = "the last message has to be of the `user` or of the `assistant`";
            Err(ProblemDetails::field(place, why))
        }
    }
}

/// Streams the last message of the assistant from its beginning, until its turn is over or only waits; 204 if there is
/// none. This is what `resumeStream` of the AI SDK asks for.
#[utoipa::path(
    get, path = "/ui/chat/{chat}/stream", tag = "ui", operation_id = "ui_chat_stream", params(("chat" = String, Path)),
    responses((status = 200, description = "The chunks.", body = String, content_type = "text/event-stream"),
        (status = 204, description = "There is no such chat, or nothing was asked in it."), Problems)
)]
pub(crate) async fn stream(
    Requester(client): Requester,
    ChatPath(chat): ChatPath,
    State(gateway): State<Gateway>,
) -> Result<Response, ProblemDetails> {
    check_name(&chat).map_err(|why| ProblemDetails::parameter("chat", why))?;
    let slot = gateway.acquire_slot(&client)?;
    let Some((row, _)) = current(&gateway, &client, &chat).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let loaded = gateway.engine().load(&row.session).await?;
    let mut facts = loaded.steps.iter().rev().flat_map(|step| &step.facts);
    let last = facts.find_map(opened).cloned();
    match last {
        Some(turn) => replayed(gateway, slot, row.session, &loaded, turn).await,
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Begins the turn of the user's last message.
async fn begin(
    gateway: Gateway,
    client: Arc<Principal>,
    slot: RequestSlot,
    headers: &HeaderMap,
    request: UiChat,
) -> Result<Response, ProblemDetails> {
    let engine = gateway.engine();
    let UiChat {
        id: chat,
        messages,
        trigger,
        message_id,
        model,
        system,
        server_tools,
        tools,
    } = request;
    let last = messages.len() - 1;
    let asked = messages.iter().filter(|one| one.role == "user").count();
    let Some(last_message) = messages.get(last) else {
        return Err(ProblemDetails::field("/messages", "there is no message"));
    };
    let message = last_message.to_message(&format!("/messages/{last}"))?;
    let base = session_of(&client, &chat, 0)?;
    // Of two concurrent requests, the second one finds the turn of the first.
    let lock = gateway.lock_session(&base).await;
    let found = current(&gateway, &client, &chat).await?;
    // A regeneration is another request than the one that sent the message.
    let again = (trigger.as_deref() == Some("regenerate-message")).then(|| {
        let last = || {
            found
                .as_ref()
                .map(|(row, _)| TurnId::derive(&row.session, row.turns))
        };
        message_id.or_else(|| Some(last()?.to_string()))
    });
    let again = again.flatten().unwrap_or_default();
    // An edited message keeps its id, and a message needs no id: a repetition has the same place and content, too.
    let (place_in_chat, content) = (asked.to_string(), last_message.content());
    let id = &*last_message.id;
    let body = Digest::of_parts(["ui", &*chat, id, &*again, &*place_in_chat, &*content]);
    let key: Arc<str> = format!("ui-{}", body.to_hex()).into();
    let principal = Arc::clone(&client.principal);
    let mut seen = None;
    if let Some((row, _)) = &found {
        match turns::find_earlier(engine, &row.session, &principal, &key, body).await? {
            EarlierTurn::Found(turn) => {
                drop(lock);
                return earlier(gateway, slot, row.session.clone(), turn).await;
            }
            // Where the message belongs is decided by the turns that this row has.
            EarlierTurn::None { .. } => seen = Some((row.session.clone(), row.turns)),
        }
    }
    let held = gateway.hold_turn(&client.principal)?;
    let post = PostTurn {
        mode: Mode::Stream,
        model,
        system,
        tools,
        server_tools,
        ..PostTurn::default()
    };
    let mut options = turns::options(&gateway, &client, post, Mode::Stream).await?;
    // A refused request makes no session.
    let session = place(&gateway, &client, &chat, found, base.clone(), asked).await?;
    let expected = seen.filter(|(known, _)| *known == session);
    let expected = expected.map_or(0, |(_, turns)| turns);
    options.tags = gateway.tags_of_headers(headers, [], None);
    options.expected_turns = Some(expected);
    options.held = Some(held);
    options.caller = Some(Arc::new(Caller {
        body: Some(body),
        dialect: DIALECT.into(),
        display: Display {
            calls_as_written: true,
            server_tools: true,
        },
        echo: None,
        key: Some(Arc::clone(&key)),
        model: values::model(&options.model).into(),
        principal: Arc::clone(&client.principal),
        view: None,
    }));
    let send = SendMessage {
        opening: Opening::UserMessage(Arc::new(message)),
        options,
        session: session.clone(),
    };
    let (mut lock, mut wait) = (lock, OvertakenWait::default());
    let started = loop {
        // If this request is cancelled meanwhile, its turn may begin all the same.
        let begun = engine.begin_with_guard(send.clone(), Some(lock)).await;
        let error = match begun {
            Err(error) if error.is_overtaken(expected) => error,
            started => break started?,
        };
        // An equal request came to another process, another message did, or the session is released in a moment.
        lock = gateway.lock_session(&base).await;
        match turns::find_earlier(engine, &session, &principal, &key, body).await? {
            EarlierTurn::Found(turn) => {
                drop(lock);
                return earlier(gateway, slot, session, turn).await;
            }
            EarlierTurn::None { turns } if turns != expected => return Err(error.into()),
            EarlierTurn::None { turns } => wait.pause(turns).await?,
        }
    };
    let events = SessionEvents::for_turn(session.clone());
    let told = ChunkStream {
        answered: Vec::new(),
        chunks: Chunks::new(events, session),
        connection: Some(started.connection),
        first: None,
        gateway,
        has_ended: false,
        sent: Instant::now(),
        slot,
        turn: started.turn,
        watcher: started.watcher,
    };
    Ok(told.response())
}

/// Streams the message of a turn that an equal request began.
async fn earlier(
    gateway: Gateway,
    slot: RequestSlot,
    session: SessionId,
    turn: TurnId,
) -> Result<Response, ProblemDetails> {
    let engine = gateway.engine();
    engine.prioritize_resume(&session, &turn).await?;
    let loaded = engine.load(&session).await?;
    replayed(gateway, slot, session, &loaded, turn).await
}

/// Takes the answers of the front end, and streams the rest of the message.
async fn go_on(
    gateway: Gateway,
    client: Arc<Principal>,
    slot: RequestSlot,
    chat: &str,
    message: &str,
    answers: UiAnswers,
) -> Result<Response, ProblemDetails> {
    let engine = gateway.engine();
    let turn = TurnId::parse(message).map_err(|_| no_turn(message))?;
    let found = current(&gateway, &client, chat).await?;
    let (row, _) = found.ok_or_else(|| no_turn(turn.as_str()))?;
    let session = row.session;
    let loaded = engine.load(&session).await?;
    let log = SessionLog::of_turn(&turn, &loaded.steps, &loaded.deliveries);
    let log = log.ok_or_else(|| no_turn(turn.as_str()))?;
    if !answers.approvals.is_empty() {
        client.check_approvals()?;
    }
    let is_yes = |(_, approved, _): &(WaitId, bool, String)| *approved;
    if !answers.results.is_empty() || answers.approvals.iter().any(is_yes) {
        gateway.check_turn(&client, &log.setup)?;
    }
    let answered = deliver(&gateway, &client, &session, &log, &answers).await?;
    let calls: Vec<_> = log.open_waits().filter(is_for_client).collect();
    let results = answers.results.into_iter();
    let results: Vec<_> = results
        .filter(|(call, _)| calls.iter().any(|open| open.wait.call == *call))
        .collect();
    let mut connection = None;
    if !results.is_empty() {
        let taken = engine.submit_client_results(ClientResultsOptions {
            by: Arc::clone(&client.principal),
            disconnect: turns::disconnect(&gateway, Mode::Stream),
            held: Some(gateway.count_turn(&client.principal)),
            policy: gateway.policy().clone(),
            repeats: None,
            results: results.clone(),
            session: session.clone(),
            streams: true,
            turn: turn.clone(),
        });
        connection = Some(taken.await?.started.connection);
    }
    let cursor = Cursor::after_facts(before_answers(&loaded, &answered));
    let watcher = engine.watch(session.clone(), cursor).await?;
    engine.prioritize_resume(&session, &turn).await?;
    let calls = results.into_iter().map(|(call, _)| call).collect();
    let events = SessionEvents::after_cursor(session.clone(), &loaded.steps, cursor);
    let told = ChunkStream {
        answered,
        chunks: Chunks::continued(events.awaiting(calls), session, &log),
        connection,
        first: Some(Chunks::start(turn.as_str())),
        gateway,
        has_ended: false,
        sent: Instant::now(),
        slot,
        turn,
        watcher,
    };
    Ok(told.response())
}

fn is_for_client(open: &&jackfield_domain::turn_log::WaitLog) -> bool {
    matches!(open.wait.kind, WaitKind::ClientResult)
}

/// Delivers answers to questions of the turn; those that were answered already, in whichever way, stay so.
async fn deliver(
    gateway: &Gateway,
    client: &Principal,
    session: &SessionId,
    log: &TurnLog,
    answers: &UiAnswers,
) -> Result<Vec<WaitId>, ProblemDetails> {
    let mut answered = Vec::new();
    for (wait, approved, reason) in &answers.approvals {
        let Some(asked) = log.waits.iter().find(|asked| asked.wait.id == *wait) else {
            continue;
        };
        let answer = match (&asked.wait.kind, approved) {
            (WaitKind::Approval { .. }, true) => Answer::Approval(Approval::Granted {
                edited: None,
                for_session: false,
            }),
            (WaitKind::Approval { .. }, false) => Answer::Approval(Approval::Denied {
                reason: reason.trim().into(),
            }),
            (WaitKind::UnknownOutcome, true) => Answer::UnknownOutcome(UnknownAnswer::Retry),
            (WaitKind::UnknownOutcome, false) => Answer::UnknownOutcome(UnknownAnswer::Report),
            // They have answers of another form.
            (
                WaitKind::Budget { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. },
                _,
            ) => continue,
        };
        answered.push(wait.clone());
        if asked.decided().is_some() {
            continue;
        }
        let id = turns::delivery_id(wait.as_str())?;
        let by = format!("{}, by the API", client.name);
        let body = DeliveryBody::Answer {
            answer,
            wait: wait.clone(),
        };
        // The first answer wins, from whichever place it comes; the stream tells which it was.
        let _first = gateway.engine().deliver(session, id, by, body).await?;
    }
    Ok(answered)
}

/// The number of facts before the first of these answers was consumed; all of them if none was.
fn before_answers(loaded: &Loaded, answered: &[WaitId]) -> u64 {
    let facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let is_later =
        |fact: &&Fact| matches!(fact, Fact::WaitClosed { wait, .. } if answered.contains(wait));
    facts.take_while(|fact| !is_later(fact)).count() as u64
}

/// A message from its beginning.
async fn replayed(
    gateway: Gateway,
    slot: RequestSlot,
    session: SessionId,
    loaded: &Loaded,
    turn: TurnId,
) -> Result<Response, ProblemDetails> {
    let facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let before = facts.take_while(|fact| opened(fact) != Some(&turn)).count() as u64;
    let engine = gateway.engine();
    let watcher = engine
        .watch(session.clone(), Cursor::after_facts(before))
        .await?;
    let events = SessionEvents::for_turn(session.clone());
    let told = ChunkStream {
        answered: Vec::new(),
        chunks: Chunks::new(events, session),
        connection: None,
        first: None,
        gateway,
        has_ended: false,
        sent: Instant::now(),
        slot,
        turn,
        watcher,
    };
    Ok(told.response())
}

const fn opened(fact: &Fact) -> Option<&TurnId> {
    if let Fact::TurnOpened { turn, .. } = fact {
        Some(turn)
    } else {
        None
    }
}

fn check_name(chat: &str) -> Result<(), String> {
    if (1..=MAX_NAME).contains(&chat.len()) {
        Ok(())
    } else {
        Err(format!("the id of a chat has 1 to {MAX_NAME} bytes"))
    }
}

/// The dialect recorded for turns of this stream.
const DIALECT: &str = "ai-sdk-ui";
/// The maximum length of the name of a chat, in bytes.
const MAX_NAME: usize = 200;
