//! `jackfield sessions delete`: deletes sessions for good, after a confirmation.

use std::io::{self, IsTerminal as _, Write as _};

use jackfield_domain::ids::SessionId;
use jackfield_engine::{Engine, SessionRow};
use serde_json::json;

use super::find;
use crate::approval::Terminal;
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::sessions as show;
use crate::render::{self, words};
use crate::withdrawal::ReadQuestion;

pub(super) async fn run(
    engine: &Engine,
    names: &[String],
    yes: bool,
    as_json: bool,
) -> Result<Exit, CommandError> {
    let mut sessions: Vec<SessionId> = Vec::new();
    for name in names {
        let session = find::session(engine, name).await?;
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    if !yes && !confirmed(engine, &sessions).await? {
        render::remark("nothing was deleted");
        return Ok(Exit::Cancelled);
    }
    let mut failed = None;
    let mut deleted = Vec::new();
    for session in &sessions {
        match engine.delete(session).await {
            Ok(()) => deleted.push(session.as_str()),
            Err(error) => {
                failed.get_or_insert_with(|| find::in_use(error, session));
            }
        }
    }
    let text = deleted.join("\n");
    let shown = show::text_or_json(
        &mut anstream::stdout(),
        &text,
        &json!({ "deleted": deleted }),
        as_json,
    );
    let ended = printed::finish(shown, Exit::Answered);
    match failed {
        Some(fault) => Err(fault),
        None => ended,
    }
}

/// Asks a person to confirm the deletion.
async fn confirmed(engine: &Engine, sessions: &[SessionId]) -> Result<bool, CommandError> {
    let nobody = || {
        let fault = CommandError::new(
            Exit::Usage,
            "there is no terminal to confirm on; nothing was deleted",
        );
        fault.with_help("`--yes` deletes without asking")
    };
    if !io::stderr().is_terminal() {
        return Err(nobody());
    }
    let mut terminal = Terminal::open().map_err(|_| nobody())?;
    let mut rows: Vec<(SessionId, Option<SessionRow>)> = Vec::new();
    for session in sessions {
        rows.push((session.clone(), find::row(engine, session).await?));
    }
    let asked = tokio::task::spawn_blocking(move || {
        let err = &mut anstream::stderr();
        for (session, row) in &rows {
            let title = row.as_ref().map_or("", |row| &*row.title);
            writeln!(err, "{session}  {}", words::one_line(title)).ok()?;
        }
        write!(err, "delete for good? yes or no: ").ok()?;
        err.flush().ok()?;
        terminal.line(&ReadQuestion::never_withdrawn())
    });
    let line = asked.await.ok().flatten().unwrap_or_default();
    let line = line.trim().to_lowercase();
    Ok(line == "y" || line == "yes")
}
