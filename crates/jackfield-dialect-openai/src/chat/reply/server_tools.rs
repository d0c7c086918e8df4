//! Server tools in the form in which a client sees them.

use jackfield_dialect_kit::media_text;
use jackfield_domain::media::MediaSource;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::server_tool::ServerTool;

use crate::chat::wire;

/// A call without its outcome.
pub(crate) fn call(id: &str, tool: ServerTool<'_>, arguments: String) -> wire::ServerCall {
    wire::ServerCall {
        id: Some(id.to_owned()),
        server: Some(tool.server.to_owned()),
        name: Some(tool.tool.to_owned()),
        arguments: Some(arguments),
        ..wire::ServerCall::default()
    }
}

/// Adds the outcome of a call.
pub(crate) fn answer(call: &mut wire::ServerCall, result: &ToolResult) {
    call.is_error = Some(result.is_error);
    call.output = Some(output(result));
}

/// The arguments as JSON; empty arguments become an empty object.
pub(crate) fn json_arguments(raw: &str) -> &str {
    if raw.trim().is_empty() { "{}" } else { raw }
}

/// An outcome as text: its text parts and descriptions of the others, or its structured value if that is all.
fn output(result: &ToolResult) -> String {
    let parts: Vec<String> = result.content.iter().map(words).collect();
    match &result.structured {
        Some(json) if parts.is_empty() => json.to_string(),
        Some(_) | None => parts.join("\n"),
    }
}

fn words(part: &OutcomePart) -> String {
    match part {
        OutcomePart::Audio(audio) => media_text::audio(audio),
        OutcomePart::Document(document) => match &document.source {
            MediaSource::Text(text) => (**text).to_owned(),
            source @ (MediaSource::Base64 { .. }
            | MediaSource::File { .. }
            | MediaSource::Url(_)) => media_text::source("document", source),
        },
        OutcomePart::Image(image) => media_text::source("image", &image.source),
        OutcomePart::Text(text) => (**text).to_owned(),
    }
}
