//! Replies as they came from real servers: see `tests/recordings/README.md`.

use jackfield_domain::usage::Usage;
use jackfield_testkit::contract::chat_model::{Recording, ScriptedBlock, VendorReply, WireReply};

pub(crate) fn chat() -> Vec<Recording> {
    vec![
        recording(
            "llama-cpp-chat-call.sse",
            include_str!("../recordings/llama-cpp-chat-call.sse"),
            call(),
            usage(176, 0, 24),
        ),
        recording(
            "llama-cpp-chat-words.sse",
            include_str!("../recordings/llama-cpp-chat-words.sse"),
            ScriptedBlock::text(&["Hallo! Wie kann ich Ihnen helfen?"]),
            usage(43, 0, 9),
        ),
    ]
}

pub(crate) fn responses() -> Vec<Recording> {
    vec![
        recording(
            "llama-cpp-responses-call.sse",
            include_str!("../recordings/llama-cpp-responses-call.sse"),
            call(),
            usage(176, 175, 24),
        ),
        recording(
            "llama-cpp-responses-words.sse",
            include_str!("../recordings/llama-cpp-responses-words.sse"),
            ScriptedBlock::text(&["Sorry, but I can't assist with that."]),
            usage(43, 42, 11),
        ),
    ]
}

fn call() -> ScriptedBlock {
    ScriptedBlock::call(
        "any",
        "current_datetime",
        &["{\"timezone\": \"Asia/Tokyo\"}"],
    )
}

fn usage(input: u64, cache_read: u64, output: u64) -> Usage {
    Usage {
        cache_read,
        input,
        output,
        ..Usage::default()
    }
}

fn recording(name: &str, bytes: &str, block: ScriptedBlock, usage: Usage) -> Recording {
    let mut says = VendorReply::from_blocks(vec![block]);
    says.usage = usage;
    Recording {
        name: name.to_owned(),
        meaning: says,
        wire: WireReply::events(bytes.split_inclusive("\n\n").map(str::to_owned)),
    }
}
