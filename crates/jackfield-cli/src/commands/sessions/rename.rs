//! `jackfield sessions rename`: gives a session a title.

use jackfield_engine::Engine;
use serde_json::json;

use super::find;
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::sessions as show;

pub(super) async fn run(
    engine: &Engine,
    name: &str,
    title: &str,
    as_json: bool,
) -> Result<Exit, CommandError> {
    let session = find::session(engine, name).await?;
    engine.rename(&session, title).await?;
    let row = find::row(engine, &session).await?;
    let title = row.as_ref().map_or("", |row| &*row.title);
    let renamed = json!({ "id": session.as_str(), "title": title });
    let shown = show::text_or_json(&mut anstream::stdout(), session.as_str(), &renamed, as_json);
    printed::finish(shown, Exit::Answered)
}
