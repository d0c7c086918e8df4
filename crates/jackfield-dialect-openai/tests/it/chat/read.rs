//! Reading streams as servers send them.

use jackfield_dialect_openai::chat::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_domain::block::Content;
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{Reply, ReplyEnd};
use jackfield_domain::tool_input::ToolInput;
use jackfield_testkit::replies;
use serde_json::{Value, json};

/// Whom requests go to; one of the owners that the testkit's generators know.
pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "openai-chat".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

/// The turn and the try whose replies are read.
pub(crate) fn attempt() -> (TurnId, ModelAttempt) {
    let session = SessionId::parse("s1").expect("a valid id");
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    (TurnId::derive(&session, 1), attempt)
}

pub(crate) fn accumulated(deltas: &[Delta], end: ReplyEnd) -> Reply {
    replies::accumulated(attempt(), deltas, end)
}

/// Reads the data of events, up to their end.
pub(crate) fn read<'a>(
    mut decoder: Decoder,
    events: impl IntoIterator<Item = &'a str>,
) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
    let mut deltas = Vec::new();
    for data in events {
        deltas.extend(decoder.push(None, data)?);
    }
    deltas.extend(decoder.rest()?);
    Ok((deltas, decoder.finish()?))
}

/// The reply of these deltas, each a chunk of its own, ended for this reason.
pub(crate) fn reply_of(deltas: &[Value], finish: Value) -> Result<Reply, DecodeError> {
    let mut events: Vec<String> = deltas
        .iter()
        .map(|delta| chunk(delta, &Value::Null))
        .collect();
    events.push(chunk(&json!({}), &finish));
    events.push("[DONE]".to_owned());
    let (deltas, end) = read(Decoder::new(owner()), events.iter().map(String::as_str))?;
    Ok(accumulated(&deltas, end))
}

pub(crate) fn chunk(delta: &Value, finish: &Value) -> String {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    })
    .to_string()
}

/// The calls of a reply in short: upstream id, name, arguments.
pub(crate) fn calls(reply: &Reply) -> Vec<String> {
    let calls = reply.message.calls();
    calls
        .map(|call| {
            let id = call.upstream.as_ref().map_or("-", |upstream| &upstream.id);
            let input = match &call.input {
                ToolInput::Json(input) => match input.object() {
                    Ok(fields) => Value::Object((**fields).clone()).to_string(),
                    Err(_) => format!("broken {}", input.raw()),
                },
                ToolInput::Text(text) => format!("text {text}"),
            };
            format!("{id} {} {input}", call.name.as_str())
        })
        .collect()
}

/// The other blocks of a reply in short.
pub(crate) fn prose(reply: &Reply) -> Vec<String> {
    let blocks = reply.message.blocks.iter();
    blocks
        .filter_map(|block| match &block.content {
            Content::Refusal(text) => Some(format!("refusal {text}")),
            Content::Text(text) => Some(format!("text {}", text.text)),
            Content::Thinking(thinking) => {
                let field = block.opaque.first().map(|state| state.json.clone());
                let field = field.unwrap_or_default();
                Some(format!(
                    "thinking {} in {}",
                    thinking.text,
                    field.as_str().unwrap_or("nothing")
                ))
            }
            Content::Opaque(opaque) => Some(format!("{} {}", opaque.kind, opaque.json)),
            Content::ToolCall(_) => None,
            other => Some(format!("{other:?}")),
        })
        .collect()
}
