//! `jackfield sessions list`: the stored sessions, and whether the list is complete.

use std::time::Duration;

use jackfield_assembly::{Condition, restored_help};

use super::find;
use crate::commands::printed;
use crate::commands::session_journal::SessionJournal;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, sessions as show};

pub(super) async fn run(
    journal: &SessionJournal,
    search: Option<String>,
    most: usize,
    as_json: bool,
) -> Result<Exit, CommandError> {
    let listed = find::listed(&journal.engine, search.clone(), most).await;
    let Condition {
        damage, restored, ..
    } = journal.journal.condition(CHECK_TIME_LIMIT).await;
    let rows = match (listed, journal.journal.journal.admin()) {
        (Ok(rows), _) => rows,
        // The readable part of a damaged file is better than nothing.
        (Err(_), Some(admin)) if damage.is_some() && search.is_none() => {
            admin.readable_sessions(most).await.unwrap_or_default()
        }
        (Err(fault), _) => return Err(fault),
    };
    let out = &mut anstream::stdout();
    let shown = show::list(out, &rows, search.as_deref(), as_json);
    let mut exit = printed::finish(shown, Exit::Answered)?;
    if let Some(damage) = damage {
        let fault = CommandError::new(Exit::Damaged, damage.to_string());
        exit = render::fault(&fault.with_help(damage.help));
    }
    if let Some(restored) = restored {
        let fault = CommandError::new(Exit::Damaged, restored.to_string());
        exit = render::fault(&fault.with_help(restored_help(&restored)));
    }
    Ok(exit)
}

/// The time limit of the integrity check: enough for a file of about a gigabyte in the page cache.
const CHECK_TIME_LIMIT: Duration = Duration::from_secs(1);
