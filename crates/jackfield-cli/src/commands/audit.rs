//! `jackfield audit`: every call and decision, with its author and outcome.

use jackfield_assembly::Registry;
use jackfield_domain::audit::{self, AuditEntry};
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;

use crate::args::{Audit, AuditOutcome};
pub use crate::audited::{SeenSessions, outcomes};
use crate::commands::sessions::every::AllSessions;
use crate::commands::sessions::find;
use crate::commands::{ask, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::audit as show;
use crate::since;

/// Prints the audit.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(audit: Audit, registry: &Registry) -> Result<Exit, CommandError> {
    let from = audit.since.as_deref().map(since::since).transpose()?;
    let journal = session_journal::open(
        &ask::flags_without_servers(&audit.source),
        session_journal::JournalAccess::Read,
        registry,
    )
    .await?;
    let gathered = gather(&audit, from, &journal).await;
    journal.close().await;
    let shown = show::entries(
        &mut anstream::stdout(),
        &gathered?,
        since::now(),
        audit.json,
    );
    printed::finish(shown, Exit::Answered)
}

/// The newest matching entries, the newest last.
async fn gather(
    audit: &Audit,
    from: Option<WallTime>,
    journal: &session_journal::SessionJournal,
) -> Result<Vec<SeenSessions>, CommandError> {
    let engine = &journal.engine;
    let most = usize::try_from(audit.most).unwrap_or(usize::MAX);
    let mut entries: Vec<SeenSessions> = Vec::new();
    if let Some(name) = &audit.session {
        let session = find::session(engine, name).await?;
        add(
            &mut entries,
            audit,
            from,
            &session,
            engine.load(&session).await?,
        );
        return Ok(newest(entries, most));
    }
    let mut every = AllSessions::new(engine);
    while let Some(row) = every.next().await? {
        // Sessions are ordered by last change: older ones cannot contain newer entries.
        let is_over = from.is_some_and(|from| row.changed < from)
            || (entries.len() >= most
                && entries.first().is_some_and(|(at, _, _)| row.changed < *at));
        if is_over {
            every.skip_older();
        } else if let Some(loaded) = every.load(&row).await? {
            add(&mut entries, audit, from, &row.session, loaded);
            entries = newest(entries, most);
        }
    }
    Ok(newest(entries, most))
}

fn add(
    entries: &mut Vec<SeenSessions>,
    audit: &Audit,
    from: Option<WallTime>,
    session: &SessionId,
    loaded: jackfield_engine::Loaded,
) {
    let all = audit::entries(&loaded.steps, &loaded.deliveries);
    let matching = all
        .into_iter()
        .map(|one| (last_event_time(&one), session.clone(), one))
        .filter(|(at, _, one)| from.is_none_or(|from| *at >= from) && matches(audit, one));
    entries.extend(matching);
}

/// Sorts the entries, and keeps the newest ones up to the limit.
fn newest(mut entries: Vec<SeenSessions>, most: usize) -> Vec<SeenSessions> {
    entries.sort_by_key(|(at, _, _)| *at);
    let more = entries.len().saturating_sub(most);
    entries.drain(..more);
    entries
}

fn last_event_time(one: &AuditEntry) -> WallTime {
    match one {
        AuditEntry::Cancelled { at, .. } | AuditEntry::LateUsage { at, .. } => *at,
        AuditEntry::Target(called) => called.at,
        AuditEntry::Call(call) => {
            let closed = call.closed.iter().map(|closed| closed.at);
            let late = call.late.iter().map(|late| late.at);
            let tries = call.attempts.iter().map(|one| one.at);
            let questions = call.questions.iter().map(|question| question.at);
            let answered = call.questions.iter();
            let answered = answered.filter_map(|question| Some(question.decided()?.0));
            let all = closed
                .chain(late)
                .chain(tries)
                .chain(questions)
                .chain(answered);
            all.max().unwrap_or(call.at)
        }
    }
}

fn matches(audit: &Audit, one: &AuditEntry) -> bool {
    let (call, who) = match one {
        AuditEntry::Call(call) => (Some(call), call.deciders()),
        AuditEntry::Cancelled { by, .. } => (None, by.iter().cloned().collect()),
        AuditEntry::LateUsage { .. } | AuditEntry::Target(_) => (None, Vec::new()),
    };
    let by_tool = audit
        .tool
        .as_ref()
        .is_none_or(|pattern| call.is_some_and(|call| call.matches_tool(pattern)));
    let by_who = audit.who.as_ref().is_none_or(|name| {
        let name = name.to_lowercase();
        who.iter().any(|one| one.to_lowercase().contains(&name))
    });
    let by_outcome = audit.outcome.is_none_or(|outcome| match (one, call) {
        (_, Some(call)) => outcomes(call).contains(&outcome),
        (AuditEntry::LateUsage { .. }, None) => outcome == AuditOutcome::Late,
        (AuditEntry::Target(_), None) => false,
        (AuditEntry::Call(_) | AuditEntry::Cancelled { .. }, None) => {
            outcome == AuditOutcome::Cancelled
        }
    });
    by_tool && by_who && by_outcome
}
