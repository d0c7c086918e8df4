//! The headers of a request: what the client accepts, its session, and what repeats the body.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use http::header::ACCEPT;
use rmcp::model::{ClientRequest, GetMeta as _};
use serde_json::{Map, Value};

/// The kinds of replies that a client accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Accepts {
    Both,
    Json,
    Neither,
    Stream,
}

impl Accepts {
    /// What the header says. Without one, a client gets JSON, which every client can read.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(ACCEPT).iter().peekable();
        if values.peek().is_none() {
            return Self::Json;
        }
        let (mut json, mut stream) = (false, false);
        let values = values.filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let range = range.split(';').next().unwrap_or_default().trim();
            let range = range.to_ascii_lowercase();
            json |= matches!(&*range, "application/json" | "application/*" | "*/*");
            stream |= matches!(&*range, "text/event-stream" | "text/*" | "*/*");
        }
        match (json, stream) {
            (false, false) => Self::Neither,
            (false, true) => Self::Stream,
            (true, false) => Self::Json,
            (true, true) => Self::Both,
        }
    }

    pub(crate) const fn streams(self) -> bool {
        matches!(self, Self::Both | Self::Stream)
    }
}

/// The session that a request continues.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).map(|id| id.to_str().unwrap_or(""))
}

/// The revision that the header names.
pub(crate) fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION).map(|name| name.to_str().unwrap_or(""))
}

/// Checks the headers that repeat the body for programs that only read headers (MCP 2026-07-28, "Streamable HTTP").
/// The error says which one does not.
pub(crate) fn check(headers: &HeaderMap, request: &ClientRequest) -> Result<(), String> {
    if let Some(version) = request.get_meta().protocol_version() {
        compare(headers, "MCP-Protocol-Version", Some(version.as_str()))?;
    }
    compare(headers, "Mcp-Method", Some(request.method()))?;
    // Other requests name nothing, and those for prompts and resources are refused anyway.
    if let ClientRequest::CallToolRequest(call) = request {
        compare(headers, "Mcp-Name", Some(&call.params.name))?;
    }
    Ok(())
}

/// Checks the headers that repeat arguments, as the tool's schema asks for them with `x-mcp-header`.
pub(crate) fn check_arguments(
    headers: &HeaderMap,
    schema: &Value,
    arguments: &Map<String, Value>,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for (property, schema) in properties {
        let argument = arguments.get(property);
        if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) {
            let text = match argument {
                Some(Value::Bool(value)) => Some(value.to_string()),
                Some(Value::Number(value)) => Some(value.to_string()),
                Some(Value::String(value)) => Some(value.clone()),
                Some(Value::Array(_) | Value::Null | Value::Object(_)) | None => None,
            };
            compare(headers, &format!("Mcp-Param-{header}"), text.as_deref())?;
        }
        let none = Map::new();
        let inner = argument.and_then(Value::as_object).unwrap_or(&none);
        check_arguments(headers, schema, inner)?;
    }
    Ok(())
}

/// Compares a header with the value in the body. A header that stands twice could be read in two ways.
fn compare(headers: &HeaderMap, name: &str, expected: Option<&str>) -> Result<(), String> {
    let mut values = headers.get_all(name).iter();
    let value = match (values.next(), values.next()) {
        (_, Some(_)) => return Err(format!("the header `{name}` stands twice")),
        (value, None) => value,
    };
    match (value, expected) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(format!("the header `{name}` is missing")),
        (Some(_), None) => Err(format!("the header `{name}` has no value in the body")),
        (Some(value), Some(expected)) => {
            let value = value.to_str().ok().and_then(decoded);
            if value.as_deref() == Some(expected) {
                Ok(())
            } else {
                Err(format!("the header `{name}` differs from the body"))
            }
        }
    }
}

/// A value as it was before it was encoded for a header.
fn decoded(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?");
    match encoded.and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(value.to_owned()),
        Some(encoded) => {
            let bytes = BASE64_STANDARD.decode(encoded).ok()?;
            String::from_utf8(bytes).ok()
        }
    }
}

/// The header that names a session.
pub(crate) const SESSION: &str = "mcp-session-id";
/// The header that names the revision.
const VERSION: &str = "mcp-protocol-version";
