//! Token estimates, for content that no provider has counted.
//!
//! A token counts as four bytes of UTF-8, which is close for English, high for other alphabets and a little low
//! for Chinese. An image, audio, or a document that is not plain text counts as [`MEDIUM`] tokens. Content that
//! a provider adds is unknown, and not included.

use crate::block::Content;
use crate::media::{Document, MediaSource};
use crate::message::Message;
use crate::outcome::{OutcomePart, ToolResult, json_size};
use crate::system_prompt::SystemPrompt;
use crate::tool::{InputFormat, ToolDefinition};
use crate::tool_input::ToolInput;

/// The estimate for an image, audio or a document, in tokens.
pub const MEDIUM: u64 = 1600;

/// The tokens of this many bytes of text.
#[must_use]
pub const fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The maximum number of bytes for this many tokens.
pub(crate) fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// The tokens of a message.
#[must_use]
pub fn message(message: &Message) -> u64 {
    let blocks = message.blocks.iter().map(|block| match &block.content {
        Content::Audio(_) | Content::Image(_) => MEDIUM,
        Content::Document(document) => of_document(document),
        Content::Opaque(opaque) => tokens(json_size(&opaque.json)),
        Content::Refusal(text) => tokens(text.len()),
        Content::Text(text) => tokens(text.text.len()),
        Content::Thinking(thinking) => tokens(thinking.text.len()),
        Content::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Json(input) => input.raw().len(),
                ToolInput::Text(text) => text.len(),
            };
            tokens(call.name.as_str().len() + input)
        }
        Content::ToolOutcome(outcome) => result(&outcome.result),
    });
    blocks.fold(PER_MESSAGE, u64::saturating_add)
}

/// The tokens of a tool result, as a model sees it.
#[must_use]
pub fn result(result: &ToolResult) -> u64 {
    if let (true, Some(json)) = (result.content.is_empty(), &result.structured) {
        return tokens(json_size(json));
    }
    let parts = result.content.iter().map(|part| match part {
        OutcomePart::Audio(_) | OutcomePart::Image(_) => MEDIUM,
        OutcomePart::Document(document) => of_document(document),
        OutcomePart::Text(text) => tokens(text.len()),
    });
    parts.fold(0, u64::saturating_add)
}

/// The tokens before a conversation: the system prompt and the tool definitions.
#[must_use]
pub fn preamble<'a>(
    system: &SystemPrompt,
    tools: impl IntoIterator<Item = &'a ToolDefinition>,
) -> u64 {
    let parts = system.parts.iter().map(|part| tokens(part.text.len()));
    let tools = tools.into_iter().map(|tool| {
        let input = match &tool.input {
            InputFormat::Json(schema) => json_size(schema),
            InputFormat::Text(grammar) => grammar
                .as_ref()
                .map_or(0, |grammar| grammar.definition.len()),
        };
        tokens(tool.name.as_str().len() + tool.description.len() + input)
    });
    parts.chain(tools).fold(0, u64::saturating_add)
}

fn of_document(document: &Document) -> u64 {
    match &document.source {
        MediaSource::Text(text) => tokens(text.len()),
        MediaSource::Base64 { .. } | MediaSource::File { .. } | MediaSource::Url(_) => MEDIUM,
    }
}

const BYTES_PER_TOKEN: u64 = 4;
/// The overhead of a message: its role and its end.
const PER_MESSAGE: u64 = 4;
