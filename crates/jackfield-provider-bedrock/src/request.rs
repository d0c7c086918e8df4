//! Requests: maps a domain request to the body of `POST /model/MODEL/converse`.

mod blocks;
mod cache_points;
mod conversation;
mod media;
mod settings;
mod tools;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::cache_points::without_own_point;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement};
use jackfield_dialect_kit::pointer::set;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::request::ModelRequest;
use serde_json::{Map, Value};

use crate::profile::ModelProfile;
use crate::reply::STOP_PATHS;
use crate::{DIALECT, wire};

pub use jackfield_dialect_kit::outgoing::Unsupported;

/// The body for a request, and notes on everything that is lost or changed.
///
/// `owner` is the recipient of the request: opaque state of this owner is sent back, that of others is withheld.
/// The conversation must satisfy [`jackfield_domain::rules`].
///
/// # Errors
///
/// [`Unsupported`] if a user or system message contains media that Bedrock does not accept.
pub fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &ModelProfile,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    let request = &*wire::NAMES.fit(request, &mut notes);
    let request = &*without_own_point(request, profile.cache);
    let mut conversation = conversation::to_wire(request, owner, profile, &mut notes)?;
    let settings = settings::to_wire(&request.settings, profile, &mut notes);
    if let Some(asked) = settings.asked {
        conversation.system.push(wire::ContentBlock::Text(asked));
    }
    let mut fields = settings.fields;
    let thinks = fields
        .get(settings::THINKING)
        .is_some_and(|thinking| thinking["type"] != "disabled");
    let tools = tools::to_wire(
        request,
        (profile, thinks),
        &conversation.called,
        &mut fields,
        &mut notes,
    );
    let tells_stop = profile.claude.is_some() && !settings.inference.stop_sequences.is_empty();
    let mut body = wire::Request {
        system: conversation.system,
        messages: conversation.messages,
        inference_config: settings.inference,
        tool_config: tools,
        additional_model_request_fields: fields,
        additional_model_response_field_paths: if tells_stop { STOP_PATHS } else { &[] },
        output_config: settings.output,
        service_tier: settings.tier,
        extra: Map::new(),
    };
    let own = &request.settings.extensions;
    extensions::apply(own, DIALECT, "settings", &mut notes, |tokens, extension| {
        place(&mut body, tokens, extension)
    });
    if body.extra.contains_key(PATHS) {
        body.additional_model_response_field_paths = &[];
    }
    cache_points::set(&mut body, request, profile);
    Ok((body, notes.into_vec()))
}

/// Sets a field of the body that the domain does not know.
fn place(body: &mut wire::Request, tokens: &[String], extension: &Extension) -> Placement {
    let json = &extension.json;
    match tokens {
        [first, rest @ ..] if first == FIELDS => {
            set_free(&mut body.additional_model_request_fields, rest, json)
        }
        [first, ..] if !OURS.contains(&first.as_str()) => set(&mut body.extra, tokens, json).into(),
        [] | [_, ..] => Placement::NoPlace,
    }
}

/// Sets a field of the model's own, unless a setting has set it.
fn set_free(fields: &mut Map<String, Value>, tokens: &[String], json: &Value) -> Placement {
    match tokens {
        [first, ..] if !settings::OURS.contains(&first.as_str()) => {
            set(fields, tokens, json).into()
        }
        [] | [_, ..] => Placement::NoPlace,
    }
}

const FIELDS: &str = "additionalModelRequestFields";

/// The field that says which fields of the model's own reply are wanted; a client's own stands.
const PATHS: &str = "additionalModelResponseFieldPaths";

/// Fields of the body that the mapper sets.
const OURS: [&str; 6] = [
    "inferenceConfig",
    "messages",
    "outputConfig",
    "serviceTier",
    "system",
    "toolConfig",
];
