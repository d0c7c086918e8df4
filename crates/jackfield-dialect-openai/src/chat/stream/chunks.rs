//! What chunks are put together from.

use jackfield_dialect_kit::encode::SseEvent;

use crate::chat::wire;

pub(super) fn words(text: String) -> wire::Delta {
    wire::Delta {
        content: Some(text),
        ..wire::Delta::default()
    }
}

pub(super) fn calling(call: wire::ToolCall) -> wire::Delta {
    wire::Delta {
        tool_calls: Some(vec![call]),
        ..wire::Delta::default()
    }
}

/// What Jackfield did meanwhile.
pub(super) fn meanwhile(call: wire::ServerCall) -> wire::Delta {
    wire::Delta {
        jackfield: Some(wire::Meanwhile {
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

pub(super) fn event(body: &impl serde::Serialize) -> SseEvent {
    SseEvent {
        // Nothing in a chunk refuses to be written: all keys are text and all numbers finite.
        data: serde_json::to_string(body).unwrap_or_default(),
        event: None,
    }
}
