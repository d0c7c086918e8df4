//! Fields of server files that other programs write, and Jackfield does not.

use std::sync::Arc;

use jackfield_tools_mcp::Patterns;
use serde_json::Value;

use crate::servers::fields::{ServerFields, filled, text, texts};
use jackfield_engine::near::did_you_mean;

/// Why a server cannot be used.
#[derive(Clone)]
pub(crate) enum UnsupportedServer {
    /// It cannot be reached or started yet.
    LeftOut(String),
    /// It cannot be started as it stands, and the person can change that.
    Mendable(String),
    /// One of its fields is one letter away from a known one.
    Slip(&'static str, String),
}

/// The id for a server of this name: other programs allow more characters.
///
/// # Errors
///
/// No id can be derived.
pub(crate) fn id(name: &str) -> Result<String, String> {
    let fits = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    let id = name.chars().map(|c| if fits(&c) { c } else { '-' });
    let id: String = id.take(MAX_ID).collect();
    if id.contains(|c: char| c.is_ascii_alphanumeric()) {
        Ok(id)
    } else {
        Err("its name has no letter or digit of A-Z, a-z and 0-9, and names of tools have no others".to_owned())
    }
}

/// How a server is reached, as far as its fields say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NamedTransport {
    Http,
    Stdio,
}

/// The transport that the server names, if any.
///
/// # Errors
///
/// Why the server cannot be reached.
pub(crate) fn transport(
    fields: &mut ServerFields<'_>,
) -> Result<Option<NamedTransport>, UnsupportedServer> {
    let (mut named, mut why) = (None, None);
    for name in ["transport", "type"] {
        let Some(said) = fields.take(name, text) else {
            continue;
        };
        if HERE.contains(&&*said) {
            named = named.or(Some(NamedTransport::Stdio));
            continue;
        }
        if HTTP.contains(&&*said) {
            named = named.or(Some(NamedTransport::Http));
            continue;
        }
        let ours = [HERE[0], HTTP[0]];
        if ours.iter().any(|one| strsim::osa_distance(&said, one) == 1) {
            let hint = did_you_mean(&said, &ours);
            return Err(UnsupportedServer::Slip(
                name,
                format!("`{said}` is not a transport{hint}"),
            ));
        }
        why = Some(if &*said == "sse" {
            SSE.to_owned()
        } else {
            format!(
                "servers are not reached over `{said}`, but over `{}` and `{}`",
                HERE[0], HTTP[0]
            )
        });
    }
    match why {
        Some(why) => Err(UnsupportedServer::LeftOut(why)),
        None => Ok(named),
    }
}

/// Whether the server has an address, under whatever name.
pub(crate) fn has_url(fields: &mut ServerFields<'_>) -> bool {
    let foreign = ["serverUrl", "httpUrl"];
    let is_foreign = foreign.map(|name| fields.find_foreign(name).is_some());
    fields.find("url").is_some() || is_foreign.contains(&true)
}

/// The address of the server, under whatever name it stands.
pub(crate) fn url(fields: &mut ServerFields<'_>) -> Option<Arc<str>> {
    if fields.find("url").is_some() {
        return fields.take("url", filled);
    }
    for name in ["serverUrl", "httpUrl"] {
        if let Some(value) = fields.find_foreign(name) {
            return match filled(value) {
                Ok(url) => Some(url),
                Err(message) => {
                    fields.problem(name, message);
                    None
                }
            };
        }
    }
    None
}

/// What the server asks a person or another file for, if anything.
pub(crate) fn missing_input(fields: &mut ServerFields<'_>) -> Option<UnsupportedServer> {
    if fields.find_foreign("envFile").is_some() {
        let message = "its `envFile` is not read yet: give it the variables in `env`";
        return Some(UnsupportedServer::Mendable(message.to_owned()));
    }
    let names = ["command", "args", "env", "cwd", "url", "headers"];
    let asked = names
        .into_iter()
        .find_map(|name| fields.find(name).and_then(input))?;
    Some(UnsupportedServer::Mendable(format!(
        "`${{input:{asked}}}` is not asked for yet: write a variable of the environment, `${{NAME}}`, in its place"
    )))
}

/// The first input that a value asks for.
fn input(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => items.iter().find_map(input),
        Value::Object(fields) => fields.values().find_map(input),
        Value::String(text) => {
            let (_, rest) = text.split_once("${input:")?;
            let name = rest.split('}').next().unwrap_or_default();
            let name = name.chars().filter(|c| !c.is_control());
            Some(name.take(MAX_ID).collect())
        }
        Value::Bool(_) | Value::Null | Value::Number(_) => None,
    }
}

/// Adds the allow and deny lists of other programs.
pub(crate) fn patterns(fields: &mut ServerFields<'_>, patterns: &mut Patterns) {
    for (name, is_denied) in [
        ("disabledTools", true),
        ("excludeTools", true),
        ("includeTools", false),
    ] {
        let Some(value) = fields.find_foreign(name) else {
            continue;
        };
        match texts(value) {
            Ok(tools) => {
                let list = if is_denied {
                    &mut patterns.deny
                } else {
                    &mut patterns.allow
                };
                list.extend(tools.iter().map(ToString::to_string));
            }
            Err(message) => fields.problem(name, message),
        }
    }
}

const SSE: &str = "the transport `sse` of 2024-11-05 is not supported; \
if the server has an address for Streamable HTTP, often `/mcp` instead of `/sse`, set `url` to that, and `type` to `http`";
/// The names of other programs for standard input and output; the first one is ours.
const HERE: [&str; 2] = ["stdio", "local"];
/// The names of other programs for Streamable HTTP; the first one is ours.
const HTTP: [&str; 6] = [
    "http",
    "streamable-http",
    "streamableHttp",
    "streamable_http",
    "streamablehttp",
    "remote",
];
/// The maximum length of an id, in characters.
const MAX_ID: usize = 64;
