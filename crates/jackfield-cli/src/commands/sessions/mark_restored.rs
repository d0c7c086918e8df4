//! `jackfield sessions mark-restored`: leaves the open turns of a file restored from a copy to a person.

use jackfield_domain::ids::SessionId;
use jackfield_engine::Engine;
use serde_json::json;

use super::find;
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::sessions as show;

/// Marks the named sessions, or all with an open turn.
pub(super) async fn run(
    engine: &Engine,
    names: &[String],
    as_json: bool,
) -> Result<Exit, CommandError> {
    let mut sessions: Vec<SessionId> = Vec::new();
    for name in names {
        sessions.push(find::session(engine, name).await?);
    }
    if names.is_empty() {
        let rows = find::listed(engine, None, usize::MAX).await?.into_iter();
        sessions.extend(rows.filter(|row| row.open.is_some()).map(|row| row.session));
    }
    let mut marked = Vec::new();
    for session in &sessions {
        engine.mark_restored(session).await?;
        marked.push(session.as_str());
    }
    let shown = show::text_or_json(
        &mut anstream::stdout(),
        &marked.join("\n"),
        &json!({ "marked": marked }),
        as_json,
    );
    printed::finish(shown, Exit::Answered)
}
