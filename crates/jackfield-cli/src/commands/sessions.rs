//! `jackfield sessions`: lists, shows, resumes and deletes stored sessions.

mod delete;
pub(crate) mod every;
mod export;
pub(crate) mod find;
mod fork;
mod import;
mod list;
mod mark_restored;
pub(crate) mod prune;
mod rename;
mod resume;
mod watch;

use jackfield_assembly::Registry;
use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::SessionQuery;

use crate::args::SessionsCommand;
use crate::args::sessions::{Import, Resume};
use crate::commands::session_journal::JournalAccess;
use crate::commands::{ask, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::sessions as show;

/// Runs a subcommand.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(sessions: SessionsCommand, registry: &Registry) -> Result<Exit, CommandError> {
    if let SessionsCommand::Resume(resume) = sessions {
        return resume::run(resume, registry).await;
    }
    let source = match &sessions {
        SessionsCommand::Resume(Resume { setup, .. }) => &setup.source,
        SessionsCommand::Delete { source, .. }
        | SessionsCommand::Fork { source, .. }
        | SessionsCommand::List { source, .. }
        | SessionsCommand::MarkRestored { source, .. }
        | SessionsCommand::Prune { source, .. }
        | SessionsCommand::Rename { source, .. }
        | SessionsCommand::Show { source, .. } => source,
        SessionsCommand::Export(export) => &export.source,
        SessionsCommand::Import(import) => &import.source,
        SessionsCommand::Watch(watch) => &watch.source,
    };
    let access = match &sessions {
        SessionsCommand::Delete { .. }
        | SessionsCommand::Fork { .. }
        | SessionsCommand::Import(Import { dry_run: false, .. })
        | SessionsCommand::MarkRestored { .. }
        | SessionsCommand::Prune { dry_run: false, .. }
        | SessionsCommand::Rename { .. }
        | SessionsCommand::Resume(_) => JournalAccess::Write,
        SessionsCommand::Export(_)
        | SessionsCommand::Import(Import { dry_run: true, .. })
        | SessionsCommand::List { .. }
        | SessionsCommand::Prune { dry_run: true, .. }
        | SessionsCommand::Show { .. }
        | SessionsCommand::Watch(_) => JournalAccess::Read,
    };
    let journal =
        session_journal::open(&ask::flags_without_servers(source), access, registry).await?;
    let done = perform(sessions, &journal).await;
    journal.close().await;
    done
}

async fn perform(
    sessions: SessionsCommand,
    journal: &session_journal::SessionJournal,
) -> Result<Exit, CommandError> {
    let engine = &journal.engine;
    let out = &mut anstream::stdout();
    match sessions {
        SessionsCommand::Delete {
            sessions,
            yes,
            json,
            ..
        } => delete::run(engine, &sessions, yes, json).await,
        SessionsCommand::Export(asked) => {
            let id = find::session(engine, &asked.session).await?;
            export::run(engine, &id, &asked).await
        }
        SessionsCommand::Fork {
            session, at, json, ..
        } => fork::run(engine, &session, at.as_deref(), json).await,
        SessionsCommand::Import(asked) => import::run(engine, &asked).await,
        SessionsCommand::List {
            search, most, json, ..
        } => {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            list::run(journal, search, most, json).await
        }
        SessionsCommand::MarkRestored { sessions, json, .. } => {
            mark_restored::run(engine, &sessions, json).await
        }
        SessionsCommand::Prune {
            older_than,
            over,
            dry_run,
            json,
            ..
        } => {
            prune::run(
                engine,
                older_than.as_deref(),
                over.as_deref(),
                dry_run,
                json,
            )
            .await
        }
        SessionsCommand::Rename {
            session,
            title,
            json,
            ..
        } => rename::run(engine, &session, &title, json).await,
        SessionsCommand::Resume(_) => Ok(Exit::Answered),
        SessionsCommand::Show {
            session,
            json,
            verbose,
            ..
        } => {
            let id = find::session(engine, &session).await?;
            let loaded = engine.load(&id).await?;
            let row = find::row(engine, &id).await?;
            let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
            let shown = show::show(out, &id, row.as_ref(), &log, json, verbose);
            printed::finish(shown, Exit::Answered)
        }
        SessionsCommand::Watch(asked) => {
            let id = find::session(engine, &asked.session).await?;
            watch::run(engine, id, &asked).await
        }
    }
}

/// The query for one page of rows.
pub(crate) fn page(
    before: Option<&jackfield_engine::SessionRow>,
    text: Option<String>,
) -> SessionQuery {
    SessionQuery {
        before: before.map(|row| (row.changed, row.session.clone())),
        limit: PAGE,
        text,
        ..SessionQuery::default()
    }
}

/// How many sessions are read at once.
pub(crate) const PAGE: usize = 500;
