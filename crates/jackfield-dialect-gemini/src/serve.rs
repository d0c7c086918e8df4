//! Serving: Gemini as a server's API, for any provider behind it.
//!
//! Model and method are in the address. Features that a client may
//! request of its server and that a turn cannot carry are refused by name. Calls of server tools have no form here.

mod address;
mod encoder;
mod errors;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::serve::{
    ADDRESS, EncodeReply, ErrorResponse, ReplyInfo, ServeDialect, ServeError, ServeErrorKind,
};
use jackfield_domain::estimate;
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::Reply;
use serde_json::{Map, Value, json};

pub use self::address::{Address, Method};
use crate::request::{self, ACTING, HOSTED, Incoming};
use crate::{DIALECT, reply, wire};

/// The Gemini dialect of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeminiServer;

impl GeminiServer {
    /// Whether a path below `/v1beta/models/` counts tokens, and does not reply.
    #[must_use]
    pub fn counts_tokens(&self, path: &str) -> bool {
        Address::parse(path).is_some_and(|address| address.method == Method::Count)
    }

    /// The response to `countTokens`: an [estimate], as its note says.
    #[must_use]
    pub fn count_response(&self, incoming: &Incoming) -> (Vec<u8>, Vec<Note>) {
        let tools = incoming.tools.iter().map(|tool| &**tool);
        let preamble = estimate::preamble(&incoming.system, tools);
        let messages = incoming.messages.iter().map(estimate::message);
        let tokens = messages.fold(preamble, u64::saturating_add);
        let mut notes = Notes::default();
        notes.approximated(NoteEffect::Cost, "estimated", "totalTokens");
        let body = json!({ "totalTokens": tokens }).to_string();
        (body.into_bytes(), notes.into_vec())
    }
}

impl ServeDialect for GeminiServer {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn request(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError> {
        let path = header(ADDRESS).unwrap_or_default();
        let Some(address) = Address::parse(&path) else {
            let (path, _) = path.split_once('?').unwrap_or((&path, ""));
            let message = format!(
                "there is nothing at {path}: a model's methods are generateContent, streamGenerateContent and countTokens"
            );
            return Err(ServeError::new(ServeErrorKind::NoSuchAddress, message));
        };
        let mut body = request::parse(body)?;
        if address.method == Method::Count
            && let Some(inner) = body.extra.shift_remove(COUNTED)
        {
            let inner = serde_json::from_value(inner);
            body = inner.map_err(|fault| {
                let message = format!("`{COUNTED}` is no request: {fault}");
                ServeError::new(ServeErrorKind::Invalid, message).at(COUNTED)
            })?;
        }
        // The address counts.
        body.extra.shift_remove("model");
        let owner = owner(&address.model);
        // Without a provider of this dialect the owner has no endpoint.
        let is_own = !owner.endpoint.is_empty();
        let mut notes = check(&mut body, is_own)?;
        let mut incoming = request::from_wire(body, &address.model, &owner)?;
        if incoming.messages.is_empty() {
            let reason = "at least one content of a user is needed";
            return Err(ServeError::new(ServeErrorKind::Invalid, reason).at("contents"));
        }
        notes.append(&mut incoming.notes);
        incoming.notes = notes;
        incoming.address = Some(address.to_string());
        match address.method {
            Method::Count | Method::Generate => {}
            Method::Events => incoming.stream = true,
            Method::List => {
                incoming.echo.insert(LIST.to_owned(), json!(true));
            }
        }
        Ok(incoming)
    }

    fn reply(&self, reply: &Reply, about: &ReplyInfo) -> (Vec<u8>, Vec<Note>) {
        let (body, notes) = reply::to_wire(reply, &about.model, &about.id);
        // Serialization cannot fail: all keys are strings and all numbers finite.
        let body = if about.echo.contains_key(LIST) {
            serde_json::to_vec(&[body])
        } else {
            serde_json::to_vec(&body)
        };
        (body.unwrap_or_default(), notes)
    }

    fn encoder(&self, about: &ReplyInfo) -> Box<dyn EncodeReply> {
        Box::new(encoder::Segment::new(about))
    }

    fn error(&self, error: &ServeError, request_id: &str) -> ErrorResponse {
        let (status, body) = errors::to_wire(error, request_id);
        ErrorResponse {
            body: serde_json::to_vec(&body).unwrap_or_default(),
            retry_after: error.kind.retry_after(),
            status,
        }
    }

    fn shows_server_tools(&self) -> bool {
        false
    }
}

/// Refuses fields that would make a server act or store something that a turn cannot carry; leaves out tools that the
/// vendor runs where a provider of another dialect replies, with a note, unless there is no other tool.
fn check(body: &mut wire::Request, is_own: bool) -> Result<Vec<Note>, ServeError> {
    for field in ACTING.into_iter().filter(|field| *field != "store") {
        let snake = snake_case(field);
        if is_set(&body.extra, field) || is_set(&body.extra, &snake) {
            let why = "send the whole conversation, or go on with a session by `X-Session-ID`";
            let message = format!("`{field}` is not served: {why}");
            return Err(ServeError::new(ServeErrorKind::Unsupported, message).at(field));
        }
    }
    let mut notes = Notes::default();
    let tools = body.tools.as_deref_mut().unwrap_or_default();
    let declared = |tool: &wire::Tool| {
        tool.function_declarations
            .as_ref()
            .is_some_and(|all| !all.is_empty())
    };
    let has_functions = tools.iter().any(declared);
    for (n, tool) in tools.iter_mut().enumerate() {
        let mut kept = Map::new();
        for (name, json) in std::mem::take(&mut tool.extra) {
            let is_carried = is_own
                && HOSTED
                    .iter()
                    .any(|known| *known == name || snake_case(known) == name);
            if is_carried {
                kept.insert(name, json);
            } else if has_functions {
                let path = format_args!("tools.{name}");
                notes.dropped(NoteEffect::Quality, "hosted_tool_left_out", path);
            } else {
                let name: String = name.chars().take(60).collect();
                let message = format!(
                    "the vendor's tool `{name}` is not served: no provider runs tools for a client; the tools that run here are chosen by configuration and `X-Jackfield-Tools`"
                );
                let place = format!("tools.{n}.{name}");
                return Err(ServeError::new(ServeErrorKind::Unsupported, message).at(place));
            }
        }
        tool.extra = kept;
    }
    Ok(notes.into_vec())
}

fn is_set(fields: &Map<String, Value>, name: &str) -> bool {
    let value = fields.get(name);
    value.is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Whether a stream was asked for that is no stream of events: it is a list, here of one element.
const LIST: &str = "jackfield_list";
/// The field of a request to `countTokens` that may hold the request whose tokens are counted.
const COUNTED: &str = "generateContentRequest";
