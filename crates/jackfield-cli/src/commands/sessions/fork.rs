//! `jackfield sessions fork`: a new session with the conversation of another one so far.

use jackfield_domain::ids::ForkPlace;
use jackfield_engine::Engine;
use serde_json::json;

use super::find;
use crate::commands::{ask, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::sessions as show;

pub(super) async fn run(
    engine: &Engine,
    name: &str,
    at: Option<&str>,
    as_json: bool,
) -> Result<Exit, CommandError> {
    let from = find::session(engine, name).await?;
    let places = engine.fork_places(&from).await?;
    let place = chosen(&places, at)?;
    let to = ask::new_session()?;
    engine.fork(&from, place, &to).await?;
    let forked = json!({
        "id": to.as_str(),
        "from": from.as_str(),
        "at": words(place),
    });
    let shown = show::text_or_json(&mut anstream::stdout(), to.as_str(), &forked, as_json);
    printed::finish(shown, Exit::Answered)
}

/// The selected place; by default, the end of the last turn.
fn chosen<'p>(places: &'p [ForkPlace], at: Option<&str>) -> Result<&'p ForkPlace, CommandError> {
    let found = match at {
        None => places.iter().rev().find(|place| place.round.is_none()),
        Some(at) => places.iter().find(|place| words(place) == at.trim()),
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let message = match at {
        None => "no turn of this session is over".to_owned(),
        Some(at) => format!("the session cannot be forked at `{}`", at.trim()),
    };
    let fault = CommandError::new(Exit::Usage, message);
    Err(fault.with_help(match places {
        [] => "it can be forked as soon as a round of it is closed".to_owned(),
        places => format!("--at can be {}", all(places)),
    }))
}

/// All places in short form, those of each turn together.
fn all(places: &[ForkPlace]) -> String {
    let shown: Vec<String> = places.iter().map(words).collect();
    match shown.as_slice() {
        [first @ .., last] if first.len() > MAX_SHOWN => {
            let first: Vec<&str> = first.iter().take(MAX_SHOWN).map(|one| &**one).collect();
            format!("{}, …, {last}", first.join(", "))
        }
        shown => shown.join(", "),
    }
}

/// The short form of a place: `2`, or `2.1`.
pub(crate) fn words(place: &ForkPlace) -> String {
    match place.round {
        Some(round) => format!("{}.{round}", place.ordinal),
        None => place.ordinal.to_string(),
    }
}

/// How many places are named.
const MAX_SHOWN: usize = 30;
