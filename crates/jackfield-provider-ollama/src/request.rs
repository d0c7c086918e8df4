//! Requests: maps a domain request to the body of `POST /api/chat`.

mod assistant;
mod content;
mod conversation;
mod settings;
mod tools;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement};
use jackfield_dialect_kit::pointer::set;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::request::ModelRequest;

use crate::config::Defaults;
use crate::{DIALECT, wire};

pub use jackfield_dialect_kit::outgoing::Unsupported;

/// The body for a request, and notes on everything that is lost or changed.
///
/// `owner` is the recipient of the request: opaque state of this owner is sent back, that of others is withheld.
/// The conversation must satisfy [`jackfield_domain::rules`].
///
/// # Errors
///
/// [`Unsupported`] if a user or system message contains media that Ollama does not accept.
pub fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    defaults: &Defaults,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    let request = &*wire::NAMES.fit(request, &mut notes);
    let mut messages = conversation::to_wire(request, owner, &mut notes)?;
    let tools = tools::to_wire(request, &mut notes);
    let has_tools = !tools.is_empty();
    let settings = settings::to_wire(&request.settings, defaults, has_tools, &mut notes);
    if let Some(asked) = settings.asked {
        conversation::ask(&mut messages, &asked);
    }
    let mut body = wire::Request {
        model: (*request.model.model).to_owned(),
        messages,
        tools,
        format: settings.format,
        think: settings.think,
        keep_alive: defaults.keep_alive.clone(),
        options: settings.options,
        stream: !request.whole,
        truncate: false,
        extra: serde_json::Map::new(),
    };
    let own = &request.settings.extensions;
    extensions::apply(own, DIALECT, "settings", &mut notes, |tokens, extension| {
        place(&mut body, tokens, extension)
    });
    Ok((body, notes.into_vec()))
}

/// Sets a field of the body that the domain does not know.
fn place(body: &mut wire::Request, tokens: &[String], extension: &Extension) -> Placement {
    let json = &extension.json;
    match tokens {
        [first] if first == "keep_alive" => {
            body.keep_alive = Some(json.clone());
            Placement::Set
        }
        [first, name] if first == "options" => {
            let is_free = !settings::OURS.contains(&name.as_str());
            if is_free {
                body.options.insert(name.clone(), json.clone());
            }
            is_free.into()
        }
        [first, ..] if !OURS.contains(&first.as_str()) => set(&mut body.extra, tokens, json).into(),
        [] | [_, ..] => Placement::NoPlace,
    }
}

/// Fields of the body that the mapper sets.
const OURS: [&str; 9] = [
    "format",
    "keep_alive",
    "messages",
    "model",
    "options",
    "stream",
    "think",
    "tools",
    "truncate",
];
