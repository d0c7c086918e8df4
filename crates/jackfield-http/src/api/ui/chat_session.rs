//! The session of a chat: the first one, or the fork that took its place when the conversation was rewritten.

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::SessionId;
use jackfield_engine::{Engine, EngineError, JournalError, SessionRow};
use jackfield_gateway::{Gateway, OvertakenWait, Principal, ids};

use crate::api::problem::{ProblemDetails, ProblemKind};

/// The session of a chat, with the number of times that it was rewritten; `None` if there is none yet. Some of the
/// sessions before it may be deleted.
pub(super) async fn current(
    gateway: &Gateway,
    client: &Principal,
    chat: &str,
) -> Result<Option<(SessionRow, u32)>, ProblemDetails> {
    let (mut found, mut missing) = (None, 0);
    for rewriting in 0..=MAX_REWRITINGS {
        let session = session_of(client, chat, rewriting)?;
        if let Some(row) = gateway.engine().session(&session).await? {
            (found, missing) = (Some((row, rewriting)), 0);
        } else {
            missing += 1;
            if missing > MAX_MISSING {
                break;
            }
        }
    }
    Ok(found)
}

/// The id of the session of a chat that was rewritten this often.
pub(super) fn session_of(
    client: &Principal,
    chat: &str,
    rewriting: u32,
) -> Result<SessionId, ProblemDetails> {
    let session = ids::named_session(&client.principal, chat, rewriting);
    session.map_err(|error| ProblemDetails::new(ProblemKind::Internal, error.to_string()))
}

/// The session in which the last of `asked` messages of the user stands: that of the chat, a new one, or a fork where
/// the conversation was rewritten.
pub(super) async fn place(
    gateway: &Gateway,
    client: &Principal,
    chat: &str,
    found: Option<(SessionRow, u32)>,
    base: SessionId,
    asked: usize,
) -> Result<SessionId, ProblemDetails> {
    let engine = gateway.engine();
    let before = asked.saturating_sub(1);
    let Some((row, rewriting)) = found else {
        if before > 0 {
            return Err(unknown_history(0, before));
        }
        return made(engine, engine.create(&base).await, base, before).await;
    };
    let sources = sources(engine, &row.session).await?;
    let earlier = sources.first().map_or(0, |source| source.earlier);
    let turns = earlier + row.turns as usize;
    if turns == before {
        return Ok(row.session);
    }
    if turns < before {
        return Err(unknown_history(turns, before));
    }
    if rewriting == MAX_REWRITINGS {
        let why = format!("this chat was rewritten {MAX_REWRITINGS} times");
        return Err(begin_another(&why));
    }
    let next = session_of(client, chat, rewriting + 1)?;
    // The session that has the last turn before the message. Its turns count from 1.
    let Some(source) = sources.iter().find(|source| source.earlier < before) else {
        return made(engine, engine.create(&next).await, next, before).await;
    };
    let ordinal = before - source.earlier;
    let places = engine.fork_places(&source.session).await?;
    let place = places
        .iter()
        .find(|place| place.ordinal as usize == ordinal && place.round.is_none());
    let place = place.ok_or_else(|| {
        let detail = format!("turn {before} of this chat has not ended");
        ProblemDetails::new(ProblemKind::Conflict, detail)
    })?;
    let mut wait = OvertakenWait::default();
    loop {
        match engine.fork(&source.session, place, &next).await {
            // Without its history the session cannot be used yet.
            Err(EngineError::Journal(JournalError::Owned { .. })) => wait.pause(0).await?,
            forked => return made(engine, forked, next, before).await,
        }
    }
}

/// The session, also where a request at another process makes it for the same place of the conversation: one of them
/// begins the turn.
async fn made(
    engine: &Engine,
    result: Result<(), EngineError>,
    session: SessionId,
    before: usize,
) -> Result<SessionId, ProblemDetails> {
    match result {
        Ok(()) => Ok(session),
        Err(EngineError::Exists { .. } | EngineError::Journal(JournalError::Owned { .. })) => {
            let sources = sources(engine, &session).await?;
            if sources.first().map_or(0, |source| source.earlier) == before {
                return Ok(session);
            }
            let detail = "this chat was rewritten at another place at the same time: send it again";
            Err(ProblemDetails::new(ProblemKind::Conflict, detail))
        }
        Err(error) => Err(error.into()),
    }
}

/// A session that has turns of a conversation.
struct Source {
    /// How many turns the conversation has before the first one of this session.
    earlier: usize,
    session: SessionId,
}

/// The session and those that it was forked from, back to the one that is no fork.
async fn sources(engine: &Engine, session: &SessionId) -> Result<Vec<Source>, ProblemDetails> {
    let mut sources: Vec<Source> = Vec::new();
    let mut next = Some(session.clone());
    while let Some(session) = next.take() {
        let loaded = match engine.load(&session).await {
            Err(EngineError::Journal(JournalError::UnknownSession { .. })) => {
                return Err(begin_another(
                    "a session that this chat was forked from was deleted",
                ));
            }
            loaded => loaded?,
        };
        sources.push(Source {
            earlier: 0,
            session,
        });
        let first = loaded.steps.first().and_then(|step| step.facts.first());
        if let Some(Fact::SessionForked { at, from, .. }) = first {
            // Each fork is younger than its source, so this ends; the bound holds for a damaged journal, too.
            if sources.len() > MAX_REWRITINGS as usize {
                return Err(begin_another("this chat was forked too often"));
            }
            for source in &mut sources {
                source.earlier += at.ordinal as usize;
            }
            next = Some(from.clone());
        }
    }
    Ok(sources)
}

fn unknown_history(turns: usize, before: usize) -> ProblemDetails {
    begin_another(&format!(
        "this chat has {turns} turns here, and the request has {before} earlier messages of the user"
    ))
}

/// The chat cannot go on, for this reason.
fn begin_another(why: &str) -> ProblemDetails {
    let detail = format!("{why}: begin a chat with another id");
    ProblemDetails::new(ProblemKind::Conflict, detail)
}

/// How many sessions of a chat in a row may be deleted.
const MAX_MISSING: u32 = 8;
/// How often a chat can be rewritten.
const MAX_REWRITINGS: u32 = 1_000;
