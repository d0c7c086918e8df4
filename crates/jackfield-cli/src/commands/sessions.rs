//! `jackfield sessions`: what is kept, and going on with it.

mod delete;
pub(crate) mod every;
mod export;
pub(crate) mod find;
mod fork;
mod list;
mod mark_restored;
pub(crate) mod prune;
mod resume;
mod watch;

use jackfield_assembly::Registry;
use jackfield_domain::history::History;
use jackfield_engine::SessionQuery;

use crate::args::Sessions;
use crate::args::sessions::Resume;
use crate::commands::kept::Access;
use crate::commands::{ask, kept, printed};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::sessions as show;

/// Does what is asked.
///
/// # Errors
///
/// A [`Fault`], which says what to do and how the run ends.
pub async fn run(sessions: Sessions, registry: &Registry) -> Result<Exit, Fault> {
    if let Sessions::Resume(resume) = sessions {
        return resume::run(resume, registry).await;
    }
    let source = match &sessions {
        Sessions::Resume(Resume { setup, .. }) => &setup.source,
        Sessions::Delete { source, .. }
        | Sessions::Fork { source, .. }
        | Sessions::List { source, .. }
        | Sessions::MarkRestored { source, .. }
        | Sessions::Prune { source, .. }
        | Sessions::Show { source, .. } => source,
        Sessions::Export(export) => &export.source,
        Sessions::Watch(watch) => &watch.source,
    };
    let access = match &sessions {
        Sessions::Delete { .. }
        | Sessions::Fork { .. }
        | Sessions::MarkRestored { .. }
        | Sessions::Prune { dry_run: false, .. }
        | Sessions::Resume(_) => Access::Write,
        Sessions::Export(_)
        | Sessions::List { .. }
        | Sessions::Prune { dry_run: true, .. }
        | Sessions::Show { .. }
        | Sessions::Watch(_) => Access::Read,
    };
    let kept = kept::open(&ask::flags_without_servers(source), access).await?;
    let done = perform(sessions, &kept).await;
    kept.close().await;
    done
}

async fn perform(sessions: Sessions, kept: &kept::Kept) -> Result<Exit, Fault> {
    let engine = &kept.engine;
    let out = &mut anstream::stdout();
    match sessions {
        Sessions::Delete {
            sessions,
            yes,
            json,
            ..
        } => delete::run(engine, &sessions, yes, json).await,
        Sessions::Export(asked) => {
            let id = find::one(engine, &asked.session).await?;
            export::run(engine, &id, &asked).await
        }
        Sessions::Fork {
            session, at, json, ..
        } => fork::run(engine, &session, at.as_deref(), json).await,
        Sessions::List {
            search, most, json, ..
        } => {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            list::run(kept, search, most, json).await
        }
        Sessions::MarkRestored { sessions, json, .. } => {
            mark_restored::run(engine, &sessions, json).await
        }
        Sessions::Prune {
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
        Sessions::Resume(_) => Ok(Exit::Answered),
        Sessions::Show {
            session,
            json,
            verbose,
            ..
        } => {
            let id = find::one(engine, &session).await?;
            let loaded = engine.load(&id).await?;
            let row = find::row(engine, &id).await?;
            let history = History::of(&loaded.steps, &loaded.deliveries);
            let shown = show::show(out, &id, row.as_ref(), &history, json, verbose);
            printed::ended(shown, Exit::Answered)
        }
        Sessions::Watch(asked) => {
            let id = find::one(engine, &asked.session).await?;
            watch::run(engine, id, &asked).await
        }
    }
}

/// Every row, page by page.
pub(crate) fn page(
    before: Option<&jackfield_engine::SessionRow>,
    text: Option<String>,
) -> SessionQuery {
    SessionQuery {
        before: before.map(|row| (row.changed, row.session.clone())),
        most: PAGE,
        text,
        ..SessionQuery::default()
    }
}

/// How many sessions are read at once.
pub(crate) const PAGE: usize = 500;
