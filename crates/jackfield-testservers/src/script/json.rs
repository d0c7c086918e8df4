//! Scripts as JSON, for the program.
//!
//! ```json
//! {"replies": [
//!   {"text": "Let me see.", "calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]},
//!   {"text": "It is 3.", "usage": {"input": 40, "output": 6}},
//!   {"status": 529, "headers": {"retry-after": "1"}, "body": {"type": "error"}},
//!   {"status": 502, "headers": {"content-type": "text/html"}, "body": "<html></html>"},
//!   {"text": "This one breaks off.", "cut_after_bytes": 120},
//!   {"text": "Here I am", "when": "hello", "again": true}
//! ]}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `thinking` | `{"text", "signature"}`: a thinking block, before everything else |
//! | `text` | a text block |
//! | `refusal` | the words of a refusal, after the text |
//! | `calls` | tool calls after the text: `name`, `arguments` (an object; a string is sent as it is, JSON or not), or `input` (free text), `id` |
//! | `finish` | `stop`, `tool_calls`, `length`, `context_full`, `paused`, `refused`; without it, by whether there are calls |
//! | `usage` | `{"input", "output"}` in tokens; without it 100 and 20 |
//! | `status`, `headers`, `body` | a response as it is, instead of a reply; a `body` that is no string is sent as JSON |
//! | `cut_after_bytes` | closes the connection after so many bytes of the body |
//! | `reset_after_bytes` | resets it there |
//! | `stall_after_bytes` | falls silent there, for ever |
//! | `piece_bytes` | sends the body in pieces of this size |
//! | `whole` | is one document even where a stream was asked for |
//! | `when` | only for a request whose last message contains this text |
//! | `again` | is not used up |
//!
//! The replies are used in order: each request gets the first unused one that matches.

use std::collections::BTreeMap;

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde::Deserialize;
use serde_json::Value;

use super::{Script, ScriptPart, ScriptTurn};

/// Parses a script.
///
/// # Errors
///
/// If it is not JSON, or has an unknown field.
pub fn parse(text: &str) -> Result<Script, serde_json::Error> {
    let file: ScriptFile = serde_json::from_str(text)?;
    let turns: Vec<ScriptTurn> = file.replies.into_iter().map(ScriptTurn::from).collect();
    Ok(Script::from(turns))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    replies: Vec<ScriptLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine {
    #[serde(default)]
    again: bool,
    body: Option<Value>,
    #[serde(default)]
    calls: Vec<ScriptCall>,
    cut_after_bytes: Option<usize>,
    finish: Option<Finish>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    piece_bytes: Option<usize>,
    refusal: Option<String>,
    reset_after_bytes: Option<usize>,
    stall_after_bytes: Option<usize>,
    status: Option<u16>,
    text: Option<String>,
    thinking: Option<ScriptThinking>,
    usage: Option<ScriptUsage>,
    when: Option<String>,
    #[serde(default)]
    whole: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    #[serde(default)]
    arguments: Value,
    id: Option<String>,
    input: Option<String>,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptThinking {
    signature: String,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptUsage {
    input: u64,
    output: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Finish {
    ContextFull,
    Length,
    Paused,
    Refused,
    Stop,
    ToolCalls,
}

impl From<ScriptLine> for ScriptTurn {
    fn from(line: ScriptLine) -> Self {
        let mut turn = match line.status {
            Some(status) => Self::wire(response(status, line.headers, line.body)),
            None => Self::reply(parts(line.thinking, line.text, line.refusal, line.calls)),
        };
        if let Some(finish) = line.finish {
            turn = turn.finish(finish.into());
        }
        if let Some(tokens) = line.usage {
            turn = turn.using(Usage {
                input: tokens.input,
                output: tokens.output,
                ..Usage::default()
            });
        }
        if let Some(text) = line.when {
            turn = turn.when(text);
        }
        if line.whole {
            turn = turn.whole();
        }
        if line.again {
            turn = turn.again();
        }
        if let Some(bytes) = line.cut_after_bytes {
            turn = turn.cut_after(bytes);
        }
        if let Some(bytes) = line.reset_after_bytes {
            turn = turn.reset_after(bytes);
        }
        if let Some(bytes) = line.stall_after_bytes {
            turn = turn.stall_after(bytes);
        }
        match line.piece_bytes {
            Some(size) => turn.recut(size.max(1)),
            None => turn,
        }
    }
}

impl From<Finish> for FinishReason {
    fn from(finish: Finish) -> Self {
        match finish {
            Finish::ContextFull => Self::ContextFull,
            Finish::Length => Self::Length,
            Finish::Paused => Self::Paused,
            Finish::Refused => Self::Refused,
            Finish::Stop => Self::Stop,
            Finish::ToolCalls => Self::ToolCalls,
        }
    }
}

fn parts(
    thinking: Option<ScriptThinking>,
    text: Option<String>,
    refusal: Option<String>,
    calls: Vec<ScriptCall>,
) -> Vec<ScriptPart> {
    let thinking = thinking.map(|thinking| ScriptPart::Thinking {
        signature: thinking.signature,
        text: thinking.text,
    });
    let words = text.map(ScriptPart::Text).into_iter();
    let words = words.chain(refusal.map(ScriptPart::Refusal));
    let calls = calls.into_iter().map(ScriptPart::from);
    thinking.into_iter().chain(words).chain(calls).collect()
}

impl From<ScriptCall> for ScriptPart {
    fn from(call: ScriptCall) -> Self {
        if let Some(input) = call.input {
            return Self::TextCall {
                id: call.id,
                input,
                name: call.name,
            };
        }
        Self::Call {
            arguments: match call.arguments {
                Value::Null => "{}".to_owned(),
                Value::String(raw) => raw,
                json @ (Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                    json.to_string()
                }
            },
            id: call.id,
            name: call.name,
        }
    }
}

fn response(status: u16, headers: BTreeMap<String, String>, body: Option<Value>) -> Response {
    let mut response = Response::new(status);
    let is_typed = headers
        .keys()
        .any(|name| name.eq_ignore_ascii_case("content-type"));
    for (name, value) in headers {
        response = response.header(name, value);
    }
    match body {
        None => response,
        Some(Value::String(text)) => response.send(text),
        Some(json) if is_typed => response.send(json.to_string()),
        Some(json) => response
            .header("content-type", "application/json")
            .send(json.to_string()),
    }
}
