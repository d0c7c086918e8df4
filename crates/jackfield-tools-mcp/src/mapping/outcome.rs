//! Maps the answer of a tool to a [`ToolResult`].

use std::sync::Arc;

use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use serde_json::{Map, Value};

/// The result in an answer to `tools/call`, cut to `max_bytes`; `cut_from` is the size of the message in bytes if
/// the answer is only its beginning.
///
/// Parts of an unknown type become text, so that the model sees them.
pub(crate) fn result(answer: &Value, cut_from: Option<usize>, max_bytes: usize) -> ToolResult {
    let structured = answer
        .get("structuredContent")
        .filter(|value| !value.is_null());
    let structured = structured.cloned();
    let mut content: Vec<OutcomePart> = match answer.get("content") {
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        Some(Value::String(words)) => vec![OutcomePart::Text(words.as_str().into())],
        Some(one @ Value::Object(_)) => vec![part(one)],
        Some(Value::Bool(_) | Value::Null | Value::Number(_)) | None => Vec::new(),
    };
    if content.is_empty()
        && let Some(words) = structured.as_ref().map(json).or_else(|| unknown(answer))
    {
        content.push(OutcomePart::Text(words.into()));
    }
    let mut whole = ToolResult {
        content,
        is_error: answer.get("isError") == Some(&Value::Bool(true)),
        structured: structured.map(Arc::new),
    };
    if let Some(sent) = cut_from {
        // Part of a structured value would be a wrong value.
        whole.structured = None;
        let marker = format!("[cut: the server sent {sent} bytes, and only the first were read]");
        whole.content.push(OutcomePart::Text(marker.into()));
    }
    whole.cut(max_bytes).unwrap_or(whole)
}

/// Stores the original content blocks in the slot, if they have no more than `max_bytes`.
pub(crate) fn original(answer: &Value, max_bytes: usize, slot: Option<&mut Vec<Value>>) {
    let (Some(slot), Some(Value::Array(blocks))) = (slot, answer.get("content")) else {
        return;
    };
    let mut left = max_bytes;
    for block in blocks {
        match left.checked_sub(block.to_string().len()) {
            Some(less) => left = less,
            None => return,
        }
    }
    slot.clone_from(blocks);
}

/// An answer without content: its own fields as JSON.
fn unknown(answer: &Value) -> Option<String> {
    let Some(fields) = answer.as_object() else {
        return (!answer.is_null()).then(|| json(answer));
    };
    // The result field of the protocol's first revision, 2024-10-07.
    if let Some(result) = fields.get("toolResult").filter(|result| !result.is_null()) {
        return Some(json(result));
    }
    let said = fields
        .iter()
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()));
    let said: Map<String, Value> = said
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!said.is_empty()).then(|| json(&Value::Object(said)))
}

/// A value as JSON; a string without quotes.
fn json(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn part(part: &Value) -> OutcomePart {
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    let known = match text("type") {
        Some("text") => text("text").map(|words| OutcomePart::Text(words.into())),
        Some("image") => base64(part, "data").map(image),
        Some("audio") => base64(part, "data").map(|source| {
            OutcomePart::Audio(Audio {
                source,
                transcript: None,
            })
        }),
        Some("resource") => part.get("resource").and_then(embedded),
        Some("resource_link") => Some(link(part)),
        _ => None,
    };
    known.unwrap_or_else(|| {
        let shown: String = part.to_string().chars().take(MAX_UNKNOWN).collect();
        OutcomePart::Text(format!("[a part that cannot be read: {shown}]").into())
    })
}

fn image(source: MediaSource) -> OutcomePart {
    OutcomePart::Image(Image {
        detail: None,
        source,
    })
}

/// An embedded resource: a document, or an image if its media type says so.
pub(super) fn embedded(resource: &Value) -> Option<OutcomePart> {
    let uri = resource.get("uri").and_then(Value::as_str);
    let source = match resource.get("text").and_then(Value::as_str) {
        Some(text) => MediaSource::Text(text.into()),
        None => base64(resource, "blob")?,
    };
    if matches!(&source, MediaSource::Base64 { media_type, .. } if media_type.starts_with("image/"))
    {
        return Some(image(source));
    }
    Some(OutcomePart::Document(Document {
        cite: false,
        context: None,
        source,
        title: uri.map(Into::into),
    }))
}

/// A link becomes text, as only the server can resolve it, even if it looks like a URL.
fn link(part: &Value) -> OutcomePart {
    let field = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = Some(field("title")).filter(|title| !title.is_empty());
    let mut words = format!(
        "[resource: {} <{}>",
        name.unwrap_or_else(|| field("name")),
        field("uri")
    );
    for more in [field("mimeType"), field("description")] {
        if !more.is_empty() {
            words.push_str(", ");
            words.push_str(more);
        }
    }
    words.push(']');
    OutcomePart::Text(words.into())
}

/// The data if it is valid base64; otherwise the model's provider would refuse the whole conversation.
pub(super) fn base64(part: &Value, field: &str) -> Option<MediaSource> {
    let data = part.get(field)?.as_str()?;
    let media_type = part.get("mimeType").and_then(Value::as_str);
    let media_type = media_type.unwrap_or("application/octet-stream");
    is_base64(data).then(|| MediaSource::Base64 {
        data: data.into(),
        media_type: media_type.into(),
    })
}

/// Whether this is standard base64 with padding.
fn is_base64(data: &str) -> bool {
    let bytes = data.trim_end_matches('=').as_bytes();
    let padding = data.len() - bytes.len();
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    data.len().is_multiple_of(4) && padding <= 2 && !data.is_empty() && bytes.iter().all(fits)
}

/// The fields of a result that the protocol defines (2024-11-05 to 2026-07-28).
const KNOWN: [&str; 6] = [
    "_meta",
    "content",
    "isError",
    "resultType",
    "structuredContent",
    "toolResult",
];
/// How much of an unknown part is shown, in characters.
const MAX_UNKNOWN: usize = 500;
