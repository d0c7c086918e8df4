//! Fields of server files that other programs write, and Jackfield does not.

use jackfield_tools_mcp::Patterns;
use serde_json::Value;

use crate::servers::fields::{ServerFields, text, texts};
use jackfield_engine::near::did_you_mean;

/// Why a server cannot be used.
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

/// Why the server cannot be reached or started, if so.
pub(crate) fn unsupported_transport(fields: &mut ServerFields<'_>) -> Option<UnsupportedServer> {
    let (mut why, mut mendable) = (None, None);
    for name in ["transport", "type"] {
        let Some(said) = fields.take(name, text) else {
            continue;
        };
        if HERE.contains(&&*said) {
            continue;
        }
        if strsim::osa_distance(&said, HERE[0]) == 1 {
            let hint = did_you_mean(&said, &HERE[..1]);
            return Some(UnsupportedServer::Slip(
                name,
                format!("`{said}` is not a transport{hint}"),
            ));
        }
        why = Some(format!(
            "servers are not reached over `{said}` yet, but over `{}` alone",
            HERE[0]
        ));
    }
    for name in ["url", "headers"] {
        if fields.find(name).is_some() {
            why = why.or_else(|| Some(ADDRESS.to_owned()));
        }
    }
    for name in ["serverUrl", "httpUrl"] {
        if fields.find_foreign(name).is_some() {
            why = why.or_else(|| Some(ADDRESS.to_owned()));
        }
    }
    if fields.find_foreign("envFile").is_some() {
        let message = "its `envFile` is not read yet: give it the variables in `env`";
        mendable = Some(message.to_owned());
    }
    for name in ["command", "args", "env", "cwd"] {
        let input_request = fields.find(name).and_then(input);
        mendable = mendable.or_else(|| input_request.map(|asked| {
            format!("`${{input:{asked}}}` is not asked for yet: write a variable of the environment, `${{NAME}}`, in its place")
        }));
    }
    let left_out = why.map(UnsupportedServer::LeftOut);
    left_out.or_else(|| mendable.map(UnsupportedServer::Mendable))
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

const ADDRESS: &str = "servers at an address are not reached yet";
/// The names of other programs for standard input and output; the first one is ours.
const HERE: [&str; 2] = ["stdio", "local"];
/// The maximum length of an id, in characters.
const MAX_ID: usize = 64;
