//! Reads a client's body for serving.

use std::sync::Arc;

use jackfield_dialect_kit::body::{self, parse};
use jackfield_dialect_kit::incoming::{Incoming, Invalid};
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use serde_json::{Map, Value};

use super::{echo, refusals};
use crate::responses::request::from_wire;
use crate::responses::{namespaces, wire};

pub(super) fn read(
    body: &[u8],
    owner: &dyn Fn(&str) -> StateOwner,
) -> Result<Incoming, ServeError> {
    let mut fields = body::fields(body)?;
    input(fields.get("input"))?;
    let mut echo = echo::echoed_fields(&fields);
    let table = namespaces::flatten(&mut fields)?;
    if !table.is_empty() {
        echo.insert(namespaces::TABLE.to_owned(), Value::Object(table));
    }
    let model = fields.get("model").and_then(Value::as_str);
    let owner = owner(model.unwrap_or_default());
    // Without a provider of this dialect the owner has no endpoint.
    let is_own = !owner.endpoint.is_empty();
    let left_out = refusals::leave_out_hosted(&mut fields, is_own);
    refusals::fields(&fields, is_own)?;
    metadata(fields.get("metadata"))?;
    include(fields.get("include"))?;
    let background = flag(&fields, "background")?.unwrap_or(false);
    if background && fields.get("store") == Some(&Value::Bool(false)) {
        let reason = "what goes on in the background is looked at later, so it has to be stored";
        return Err(invalid("store", reason));
    }
    let previous = previous(&fields)?;
    let limits_calls = fields.get(MOST_CALLS).is_some_and(|most| !most.is_null());
    let has_hosted = is_own && refusals::has_hosted(&fields);
    let request: Result<wire::Request, _> = serde_json::from_value(Value::Object(fields));
    let mut request = match request {
        Ok(request) => request,
        // Parsing the bytes again locates the fault.
        Err(fault) => match parse::<wire::Request>(body) {
            Ok(request) => {
                drop(fault);
                request
            }
            Err(invalid) => return Err(invalid.into()),
        },
    };
    // The vendor's default: clients that omit it continue from the response by its id.
    let store = request.store.take().or(Some(true));
    for key in TAKEN {
        request.extra.remove(*key);
    }
    if !has_hosted {
        request.extra.remove(MOST_CALLS);
    }
    request.extra.retain(|_, json| !json.is_null());
    let mut incoming = from_wire(request, &owner)?;
    if let Some(note) = incoming
        .notes
        .iter()
        .find(|note| note.kind == NoteKind::Refused)
    {
        let reason = "this would have the vendor act, or calls what is not here: leave it out";
        return Err(ServeError::new(ServeErrorKind::Unsupported, reason).at(&*note.path));
    }
    // A request that continues from a response may consist of nothing but results, which are checked there.
    if incoming.messages.is_empty() && previous.is_none() {
        let reason = "at least one user message or tool result is needed";
        return Err(invalid("input", reason));
    }
    incoming.notes.extend(left_out);
    if limits_calls && !has_hosted {
        incoming.notes.push(Note {
            code: "calls_not_limited".into(),
            effect: NoteEffect::Cost,
            kind: NoteKind::Dropped,
            path: MOST_CALLS.to_owned(),
        });
    }
    Ok(Incoming {
        address: None,
        background,
        echo,
        previous,
        store,
        ..incoming
    })
}

/// The limit on calls of the vendor's own tools.
const MOST_CALLS: &str = "max_tool_calls";

/// Fields that the server itself handles and that are not sent to a provider.
const TAKEN: &[&str] = &[
    "background",
    "background_options",
    // A coding agent's description of itself, meant for this server.
    "client_metadata",
    "conversation",
    "metadata",
    "previous_response_id",
    "prompt",
];

/// Checks that the input consists of objects, as the parser's error would not name the place.
fn input(input: Option<&Value>) -> Result<(), ServeError> {
    let items = match input {
        Some(Value::Array(items)) => items,
        Some(Value::String(_)) => return Ok(()),
        None => return Err(invalid("input", "there is none: send a text or items")),
        Some(Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_)) => {
            return Err(invalid(
                "input",
                "this is neither a text nor a list of items",
            ));
        }
    };
    for (n, item) in items.iter().enumerate() {
        let Some(fields) = item.as_object() else {
            return Err(invalid(format!("input.{n}"), "an item is an object"));
        };
        let kind = fields.get("type").and_then(Value::as_str);
        let is_message = matches!(kind, None | Some("message"));
        if let Some(role) = fields.get("role").filter(|_| is_message) {
            let role = role.as_str().unwrap_or_default();
            if !ROLES.contains(&role) {
                let reason = format!("a role is one of {}", ROLES.join(", "));
                return Err(invalid(format!("input.{n}.role"), reason));
            }
            if !matches!(
                fields.get("content"),
                Some(Value::Array(_) | Value::String(_))
            ) {
                let reason = "a message has a content: a text or a list of parts";
                return Err(invalid(format!("input.{n}.content"), reason));
            }
        }
    }
    Ok(())
}

const ROLES: [&str; 4] = ["assistant", "developer", "system", "user"];

/// At most 16 key-value pairs of strings, which are returned unchanged.
fn metadata(metadata: Option<&Value>) -> Result<(), ServeError> {
    let fields = match metadata {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(fields)) => fields,
        Some(Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            return Err(invalid("metadata", "this is no object"));
        }
    };
    if fields.len() > 16 {
        return Err(invalid("metadata", "there are more than 16 keys"));
    }
    for (key, json) in fields {
        let sound = json
            .as_str()
            .is_some_and(|text| text.chars().count() <= 512);
        if !sound || key.chars().count() > 64 {
            let reason = "a key has at most 64 characters, and a text of at most 512";
            return Err(invalid("metadata", reason));
        }
    }
    Ok(())
}

/// Checks `include` against the vendor's values; only the reasoning applies here, and is always included.
fn include(include: Option<&Value>) -> Result<(), ServeError> {
    let included = match include {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(wanted)) => wanted,
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::String(_)) => {
            return Err(invalid("include", "this is no list"));
        }
    };
    for (n, wanted) in included.iter().enumerate() {
        if !wanted
            .as_str()
            .is_some_and(|name| INCLUDABLE.contains(&name))
        {
            let reason = format!("this is none of {}", INCLUDABLE.join(", "));
            return Err(invalid(format!("include.{n}"), reason));
        }
    }
    Ok(())
}

const INCLUDABLE: [&str; 8] = [
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];

/// The id of the response that this request continues.
fn previous(fields: &Map<String, Value>) -> Result<Option<Arc<str>>, ServeError> {
    let path = "previous_response_id";
    match fields.get(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(told)) => Ok(Some((**told).into())),
        Some(Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(invalid(path, "this is no text"))
        }
    }
}

fn flag(fields: &Map<String, Value>, key: &str) -> Result<Option<bool>, ServeError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(Value::Array(_) | Value::Number(_) | Value::Object(_) | Value::String(_)) => {
            Err(invalid(key, "this is neither true nor false"))
        }
    }
}

fn invalid(path: impl Into<String>, reason: impl Into<String>) -> ServeError {
    Invalid::new(path, reason).into()
}
