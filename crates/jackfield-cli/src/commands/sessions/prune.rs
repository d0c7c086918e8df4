//! `jackfield sessions prune`: what is old, or too much, goes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_assembly::{JournalConfig, length_of_time, size_in_bytes};
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, EngineError, JournalError, SessionRow};

use super::{PAGE, page};
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::sessions as show;

/// What is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keep {
    /// What nobody has gone on with for longer than this goes.
    older_than: Option<Duration>,
    /// The oldest go until no more than this is left.
    over: Option<u64>,
}

impl Keep {
    /// What is configured.
    pub(crate) fn of(config: &JournalConfig) -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            older_than: config.keep_days.map(|days| day.saturating_mul(days)),
            over: config.keep_bytes,
        }
    }

    /// Whether everything is kept.
    pub(crate) const fn is_everything(self) -> bool {
        self.older_than.is_none() && self.over.is_none()
    }
}

pub(super) async fn run(
    engine: &Engine,
    older_than: Option<&str>,
    over: Option<&str>,
    dry_run: bool,
    as_json: bool,
) -> Result<Exit, Fault> {
    let wrong = |flag: &str, why: String| Fault::new(Exit::Usage, format!("{flag}: {why}"));
    let older_than = older_than.map(length_of_time).transpose();
    let over = over.map(size_in_bytes).transpose();
    let keep = Keep {
        older_than: older_than.map_err(|why| wrong("--older-than", why))?,
        over: over.map_err(|why| wrong("--over", why))?,
    };
    let gone = prune(engine, keep, dry_run).await?;
    let shown = show::pruned(&mut anstream::stdout(), &gone, dry_run, as_json);
    printed::ended(shown, Exit::Answered)
}

/// Deletes what is not to be kept, the one first that was gone on with the longest time ago; gives what went,
/// or would go.
///
/// A session with a turn that is not over, and one that somebody is at work on, stays: something may still
/// come of it.
///
/// # Errors
///
/// A [`Fault`] if the journal cannot be read.
pub(crate) async fn prune(
    engine: &Engine,
    keep: Keep,
    dry_run: bool,
) -> Result<Vec<SessionRow>, Fault> {
    let mut rows: Vec<SessionRow> = Vec::new();
    loop {
        let more = engine.sessions(&page(rows.last(), None)).await?;
        let whole = more.len() < PAGE;
        rows.extend(more);
        if whole {
            break;
        }
    }
    let now = now();
    let mut left: u64 = rows.iter().map(|row| row.bytes).sum();
    let mut gone = Vec::new();
    for row in rows.into_iter().rev() {
        let is_old = keep
            .older_than
            .is_some_and(|age| now.since(row.changed) > age);
        let is_over = keep.over.is_some_and(|most| left > most);
        let is_bound = row.open.is_some() || row.owned || row.unreadable.is_some();
        if is_bound || !(is_old || is_over) {
            continue;
        }
        if !dry_run {
            match engine.delete(&row.session).await {
                Ok(()) => {}
                // Somebody took it up meanwhile, or deleted it.
                Err(EngineError::Journal(
                    JournalError::Owned { .. } | JournalError::UnknownSession { .. },
                )) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        left = left.saturating_sub(row.bytes);
        gone.push(row);
    }
    Ok(gone)
}

/// The time of this machine.
pub(crate) fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}
