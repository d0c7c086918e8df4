//! Maps requests for messages of a model (MCP 2025-11-25, "Sampling", read 2026-11-26), without tools. The model that the server prefers and the context that it wants are not read.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::rules::check_request;
use jackfield_domain::settings::Settings;
use jackfield_domain::text::hidden;
use jackfield_domain::wait::Question;
use jackfield_ports::sampling::SamplingRequest;
use serde_json::{Value, json};

use super::context;

/// The question whether the model may be asked, with all the text that it would be sent.
///
/// # Errors
///
/// What is wrong with the request.
pub(crate) fn question(params: &Value) -> Result<Question, String> {
    let read = request(params)?;
    let tokens = read.settings.max_output_tokens.unwrap_or_default();
    let mut text = format!("It asks the model for a message of at most {tokens} tokens.");
    if let Some(system) = &read.system {
        text.push_str(&format!("\nsystem:\n{}", lines(system)));
    }
    for message in &read.messages {
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::System | Role::Tool | Role::User => "user",
        };
        text.push_str(&format!("\n{role}:\n{}", lines(&shown(message))));
    }
    // A yes is for all of it, so all of it is shown.
    if text.len() > MAX_SHOWN {
        return Err(format!(
            "with more than {MAX_SHOWN} bytes of text, which no person reads"
        ));
    }
    Ok(Question {
        message: text.into(),
        sampling: Some(Arc::new(params.clone())),
        schema: None,
        url: None,
    })
}

/// A text of the server, whose lines are recognisable as the server's.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// What a message says, in words.
fn shown(message: &Message) -> String {
    let parts = message.blocks.iter().map(|block| match &block.content {
        Content::Text(text) => text.text.to_string(),
        Content::Audio(_) => "[audio]".to_owned(),
        Content::Image(_) => "[an image]".to_owned(),
        Content::Document(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => "[a document]".to_owned(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The request for the model.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn request(params: &Value) -> Result<SamplingRequest, String> {
    let has_tools = |name: &str| params.get(name).is_some_and(|value| !value.is_null());
    if has_tools("tools") || has_tools("toolChoice") {
        return Err("with tools, which this client does not offer".to_owned());
    }
    let listed = params.get("messages").and_then(Value::as_array);
    let listed = listed.filter(|listed| listed.len() <= MAX_MESSAGES);
    let listed = listed.ok_or_else(|| format!("without 1 to {MAX_MESSAGES} `messages`"))?;
    let messages = listed.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    check_request(messages.iter()).map_err(|error| format!("whose messages are wrong: {error}"))?;
    let max = params.get("maxTokens").and_then(Value::as_u64);
    let max = max.filter(|max| *max > 0).ok_or("without `maxTokens`")?;
    let stop = params.get("stopSequences").and_then(Value::as_array);
    let stop = stop.into_iter().flatten().filter_map(Value::as_str);
    Ok(SamplingRequest {
        messages,
        settings: Settings {
            max_output_tokens: Some(u32::try_from(max).unwrap_or(u32::MAX)),
            stop: stop.take(MAX_STOPS).map(Into::into).collect(),
            temperature: params.get("temperature").and_then(Value::as_f64),
            ..Settings::default()
        },
        system: context::required(params, "systemPrompt")
            .map(|system| hidden::without_tags(&system).map_or(system, Into::into)),
    })
}

fn message(value: &Value) -> Result<Arc<Message>, String> {
    let (role, parts) = context::message(value).ok_or("with a message that cannot be read")?;
    let blocks = parts.into_iter().map(|part| {
        Block::from(match part {
            OutcomePart::Audio(audio) => Content::Audio(audio),
            OutcomePart::Document(document) => Content::Document(document),
            OutcomePart::Image(image) => Content::Image(image),
            OutcomePart::Text(text) => return Block::text(text),
        })
    });
    Ok(Arc::new(Message::new(role, blocks.collect())))
}

/// The message for the server.
///
/// # Errors
///
/// If it has no text.
pub(crate) fn result(reply: &Reply) -> Result<Value, String> {
    let text = reply.message.to_text();
    if text.is_empty() {
        return Err("the model gave no text".to_owned());
    }
    let stop = match &reply.end.finish {
        FinishReason::Length | FinishReason::ContextFull => "maxTokens",
        FinishReason::StopSequence(_) => "stopSequence",
        FinishReason::ContentFilter | FinishReason::Refused => "refusal",
        FinishReason::Paused
        | FinishReason::Stop
        | FinishReason::ToolCalls
        | FinishReason::Unrecognized(_) => "endTurn",
    };
    Ok(json!({
        "content": { "text": text, "type": "text" },
        "model": reply.end.model,
        "role": "assistant",
        "stopReason": stop,
    }))
}

/// The most messages of a request.
const MAX_MESSAGES: usize = 200;
/// The longest question that is shown, in bytes.
const MAX_SHOWN: usize = 16 << 10;
/// The most texts that end the message.
const MAX_STOPS: usize = 16;
