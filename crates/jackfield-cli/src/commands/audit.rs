//! `jackfield audit`: every call and every decision, who made it, and what came of it.

use jackfield_assembly::Registry;
use jackfield_domain::audit::{self, Audited, AuditedCall, AuditedWait};
use jackfield_domain::fact::CallEnd;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::WaitEnd;

use crate::args::{Audit, Outcome};
use crate::commands::sessions::every::Every;
use crate::commands::sessions::find;
use crate::commands::{ask, kept, printed, since};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::audit as show;

/// What is told of which session, and when that last changed.
pub type Told = (WallTime, SessionId, Audited);

/// Does what is asked.
///
/// # Errors
///
/// A [`Fault`], which says what to do and how the run ends.
pub async fn run(audit: Audit, _registry: &Registry) -> Result<Exit, Fault> {
    let from = audit.since.as_deref().map(since::since).transpose()?;
    let kept = kept::open(
        &ask::flags_without_servers(&audit.source),
        kept::Access::Read,
    )
    .await?;
    let gathered = gather(&audit, from, &kept).await;
    kept.close().await;
    let shown = show::entries(
        &mut anstream::stdout(),
        &gathered?,
        since::now(),
        audit.json,
    );
    printed::ended(shown, Exit::Answered)
}

/// The newest entries that are asked for, the newest one last.
async fn gather(
    audit: &Audit,
    from: Option<WallTime>,
    kept: &kept::Kept,
) -> Result<Vec<Told>, Fault> {
    let engine = &kept.engine;
    let most = usize::try_from(audit.most).unwrap_or(usize::MAX);
    let mut told: Vec<Told> = Vec::new();
    if let Some(name) = &audit.session {
        let session = find::one(engine, name).await?;
        add(
            &mut told,
            audit,
            from,
            &session,
            engine.load(&session).await?,
        );
        return Ok(newest(told, most));
    }
    let mut every = Every::new(engine);
    while let Some(row) = every.next().await? {
        // The sessions come in the order of their last change: what is older cannot be among the newest.
        let is_over = from.is_some_and(|from| row.changed < from)
            || (told.len() >= most && told.first().is_some_and(|(at, _, _)| row.changed < *at));
        if is_over {
            every.skip_older();
        } else if let Some(loaded) = every.load(&row).await? {
            add(&mut told, audit, from, &row.session, loaded);
            told = newest(told, most);
        }
    }
    Ok(newest(told, most))
}

fn add(
    told: &mut Vec<Told>,
    audit: &Audit,
    from: Option<WallTime>,
    session: &SessionId,
    loaded: jackfield_engine::Loaded,
) {
    let all = audit::of(&loaded.steps, &loaded.deliveries);
    let asked = all
        .into_iter()
        .map(|one| (last_of(&one), session.clone(), one))
        .filter(|(at, _, one)| from.is_none_or(|from| *at >= from) && is_asked_for(audit, one));
    told.extend(asked);
}

/// In order, and no more than are asked for.
fn newest(mut told: Vec<Told>, most: usize) -> Vec<Told> {
    told.sort_by_key(|(at, _, _)| *at);
    let more = told.len().saturating_sub(most);
    told.drain(..more);
    told
}

/// When something was last heard of it.
fn last_of(one: &Audited) -> WallTime {
    match one {
        Audited::Cancelled { at, .. } | Audited::LateUsage { at, .. } => *at,
        Audited::Call(call) => {
            let closed = call.closed.iter().map(|closed| closed.at);
            let late = call.late.iter().map(|late| late.at);
            let tries = call.attempts.iter().map(|one| one.at);
            let asked = call.questions.iter().map(|question| question.at);
            let answered = call.questions.iter();
            let answered = answered.filter_map(|question| Some(question.closed.as_ref()?.0));
            let all = closed.chain(late).chain(tries).chain(asked).chain(answered);
            all.max().unwrap_or(call.at)
        }
    }
}

fn is_asked_for(audit: &Audit, one: &Audited) -> bool {
    let (call, who) = match one {
        Audited::Call(call) => (Some(call), call.who()),
        Audited::Cancelled { by, .. } => (None, by.iter().cloned().collect()),
        Audited::LateUsage { .. } => (None, Vec::new()),
    };
    let by_tool = audit
        .tool
        .as_ref()
        .is_none_or(|pattern| call.is_some_and(|call| call.is_of(pattern)));
    let by_who = audit.who.as_ref().is_none_or(|name| {
        let name = name.to_lowercase();
        who.iter().any(|one| one.to_lowercase().contains(&name))
    });
    let by_outcome = audit.outcome.is_none_or(|outcome| match (one, call) {
        (_, Some(call)) => outcomes(call).contains(&outcome),
        (Audited::LateUsage { .. }, None) => outcome == Outcome::Late,
        (Audited::Call(_) | Audited::Cancelled { .. }, None) => outcome == Outcome::Cancelled,
    });
    by_tool && by_who && by_outcome
}

/// How a call ended; more than one holds where nobody answered a question of it in time, or something
/// came late.
#[must_use]
pub fn outcomes(call: &AuditedCall) -> Vec<Outcome> {
    let ended = match &call.closed {
        None => Outcome::Open,
        Some(closed) => match closed.end {
            CallEnd::ByClient | CallEnd::Ran if closed.is_error => Outcome::Error,
            CallEnd::ByClient | CallEnd::Ran => Outcome::Ran,
            CallEnd::Cancelled => Outcome::Cancelled,
            CallEnd::ClientExpired => Outcome::Expired,
            CallEnd::Denied => Outcome::Denied,
            CallEnd::NotRun => Outcome::NotRun,
            CallEnd::Reported => Outcome::Unknown,
        },
    };
    let mut all = vec![ended];
    let expired = |question: &AuditedWait| matches!(question.closed, Some((_, WaitEnd::Expired)));
    if ended != Outcome::Expired && call.questions.iter().any(expired) {
        all.push(Outcome::Expired);
    }
    if !call.late.is_empty() {
        all.push(Outcome::Late);
    }
    all
}
