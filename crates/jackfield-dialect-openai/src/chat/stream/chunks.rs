//! Building blocks of chunks.

use std::sync::LazyLock;

use jackfield_dialect_kit::encode::SseEvent;
use serde::Serialize;

use crate::chat::wire;

pub(super) fn text_delta(text: String) -> wire::Delta {
    wire::Delta {
        content: Some(text),
        ..wire::Delta::default()
    }
}

pub(super) fn call_delta(call: wire::ToolCall) -> wire::Delta {
    wire::Delta {
        tool_calls: Some(vec![call]),
        ..wire::Delta::default()
    }
}

/// A delta with a server tool call.
pub(super) fn server_call_delta(call: wire::ServerCall) -> wire::Delta {
    wire::Delta {
        jackfield: Some(wire::ServerCalls {
            tool_calls: vec![call],
        }),
        ..wire::Delta::default()
    }
}

pub(super) fn choice(delta: wire::Delta, finish_reason: Option<&str>) -> wire::ChoiceDelta {
    wire::ChoiceDelta {
        index: 0,
        delta,
        logprobs: None,
        finish_reason: finish_reason.map(str::to_owned),
    }
}

/// The serialized beginning of all chunks of a reply, up to their choices.
#[derive(Debug)]
pub(super) struct ChunkHead(String);

/// The rest of a chunk after the head.
#[derive(Serialize)]
struct ChunkTail {
    choices: Vec<wire::ChoiceDelta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<wire::Usage>,
}

/// The parts before and after the text in a chunk that holds only text.
static TEXT_FRAME: LazyLock<(String, String)> = LazyLock::new(|| {
    let none = wire::Chunk {
        id: String::new(),
        object: String::new(),
        created: 0,
        model: String::new(),
        choices: vec![choice(text_delta(String::new()), None)],
        usage: None,
    };
    let none = to_json(&none);
    let choices = none.find(CHOICES).map_or(0, |at| at + CHOICES.len());
    let (before, after) = none
        .split_at(choices)
        .1
        .split_once("\"\"")
        .unwrap_or_default();
    (before.to_owned(), after.to_owned())
});

/// The field with which the head ends.
const CHOICES: &str = "\"choices\":";

impl ChunkHead {
    /// The head of the chunks of a reply.
    pub(super) fn new(id: String, model: String, created: u64) -> Self {
        let mut head = to_json(&wire::Chunk {
            id,
            object: "chat.completion.chunk".to_owned(),
            created,
            model,
            choices: Vec::new(),
            usage: None,
        });
        head.truncate(head.len().saturating_sub("[]}".len()));
        head.shrink_to_fit();
        Self(head)
    }

    pub(super) fn chunk(
        &self,
        choices: Vec<wire::ChoiceDelta>,
        usage: Option<wire::Usage>,
    ) -> SseEvent {
        let rest = to_json(&ChunkTail { choices, usage });
        let rest = rest.get(1 + CHOICES.len()..).unwrap_or_default();
        data([&self.0, rest].concat())
    }

    /// A chunk that holds only text, as nearly all do.
    pub(super) fn text_chunk(&self, text: &str) -> SseEvent {
        let Self(head) = self;
        let (before, after) = &*TEXT_FRAME;
        let room = head.len() + before.len() + text.len() + after.len() + ESCAPES;
        let mut chunk = Vec::with_capacity(room);
        chunk.extend_from_slice(head.as_bytes());
        chunk.extend_from_slice(before.as_bytes());
        // A string can always be serialized.
        let _written = serde_json::to_writer(&mut chunk, text);
        chunk.extend_from_slice(after.as_bytes());
        data(String::from_utf8(chunk).unwrap_or_default())
    }
}

/// Room for the quotes and the escapes of a few words.
const ESCAPES: usize = 16;

pub(super) fn event(body: &impl Serialize) -> SseEvent {
    data(to_json(body))
}

const fn data(data: String) -> SseEvent {
    SseEvent { data, event: None }
}

/// Serialization cannot fail: all keys are strings and all numbers finite.
fn to_json(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}
