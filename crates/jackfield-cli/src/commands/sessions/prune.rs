//! `jackfield sessions prune`: deletes sessions by age or total size.

use jackfield_assembly::{length_of_time, size_in_bytes};
use jackfield_engine::{Engine, Retention, SessionRow};

use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, sessions as show};

pub(super) async fn run(
    engine: &Engine,
    older_than: Option<&str>,
    over: Option<&str>,
    dry_run: bool,
    as_json: bool,
) -> Result<Exit, CommandError> {
    let wrong = |flag: &str, why: String| CommandError::new(Exit::Usage, format!("{flag}: {why}"));
    let older_than = older_than.map(length_of_time).transpose();
    let over = over.map(size_in_bytes).transpose();
    let retention = Retention {
        older_than: older_than.map_err(|why| wrong("--older-than", why))?,
        max_bytes: over.map_err(|why| wrong("--over", why))?,
        ..Retention::default()
    };
    let pruned = engine.prune(retention, usize::MAX, dry_run).await?;
    for SessionRow { session, .. } in &pruned.held {
        render::remark(&format!(
            "session {session} stays: it is open elsewhere, as in a `jackfield chat`"
        ));
    }
    let shown = show::pruned(&mut anstream::stdout(), &pruned, dry_run, as_json);
    printed::finish(shown, Exit::Answered)
}
