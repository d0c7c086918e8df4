//! Messages and replies with blocks of every kind.

use std::sync::Arc;

use jackfield_domain::block::{
    Annotation, Block, CachePoint, CalledName, Content, OpaqueBlock, RanBy, Text, Thinking,
    ToolCall, UpstreamId,
};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::media::{Audio, Document, Image, ImageDetail, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use super::{MODEL_ATTEMPT, call, step, usage};

fn owner() -> StateOwner {
    StateOwner {
        dialect: "claude".into(),
        endpoint: "https://api.example".into(),
        model: "model-1".into(),
    }
}

fn state(kind: &str, scope: StateScope) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json: json!("c2lnbmF0dXJl"),
        owner: owner(),
        scope,
    }
}

fn image() -> Image {
    Image {
        detail: Some(ImageDetail::High),
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: "iVBORw0KGgo=".into(),
        },
    }
}

fn document() -> Document {
    Document {
        cite: true,
        context: Some("the manual".into()),
        source: MediaSource::Text("第一章".into()),
        title: Some("manual.txt".into()),
    }
}

fn audio() -> Audio {
    Audio {
        source: MediaSource::Url("https://files.example/a.wav".into()),
        transcript: Some("привет".into()),
    }
}

pub(crate) fn tool_result() -> ToolResult {
    ToolResult {
        content: vec![
            OutcomePart::Text("18 °C\0".into()),
            OutcomePart::Image(image()),
            OutcomePart::Document(document()),
            OutcomePart::Audio(audio()),
        ],
        is_error: true,
        structured: Some(Arc::new(Value::Null)),
    }
}

fn called(input: ToolInput, ran_by: RanBy, upstream: Option<&str>) -> Content {
    Content::ToolCall(Arc::new(ToolCall {
        id: call(),
        input,
        name: CalledName::new("files__read"),
        ran_by,
        upstream: upstream.map(|id| UpstreamId {
            id: id.into(),
            owner: owner(),
        }),
    }))
}

fn blocks() -> Vec<Block> {
    let annotated = Content::Text(Text {
        annotations: vec![Annotation {
            json: json!({ "z": 1, "a": [1.5, -0.0] }),
            dialect: "claude".into(),
            title: Some("Source".into()),
            url: Some("https://source.example/1".into()),
        }],
        text: "👩\u{200d}👩\u{200d}👧 \"quoted\"".into(),
    });
    let thinking = Block {
        opaque: vec![state("signature", StateScope::Block)],
        ..Content::Thinking(Thinking {
            redacted: false,
            text: "hm".into(),
        })
        .into()
    };
    let cached = Block {
        cache: Some(CachePoint { seconds: Some(300) }),
        ..Block::text("cached")
    };
    let opaque = OpaqueBlock {
        fallback: Some("[a file]".into()),
        json: json!({ "type": "container_upload" }),
        kind: "container_upload".into(),
        owner: owner(),
    };
    let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
        call: call(),
        result: ToolResult::text("done"),
        opaque: vec![state("item", StateScope::Prefix(Digest::of(b"before")))],
    }));
    let file = Image {
        detail: None,
        source: MediaSource::File {
            id: "file_1".into(),
            owner: owner(),
        },
    };
    let malformed = ToolInput::Json(JsonInput::parse("{\"a\": 1,, }"));
    let arguments = ToolInput::Json(JsonInput::parse("{ \"b\": 1, \"a\": [] }"));
    let mut blocks = vec![thinking, annotated.into(), cached];
    let rest = [
        Content::Refusal("no".into()),
        Content::Image(file),
        Content::Document(document()),
        Content::Audio(audio()),
        Content::Opaque(opaque),
        called(arguments, RanBy::Engine, Some("toolu_1")),
        called(malformed, RanBy::Client, Some("")),
        called(ToolInput::Text("free".into()), RanBy::Provider, None),
        outcome,
    ];
    blocks.extend(rest.map(Block::from));
    blocks
}

pub(super) fn partial() -> Message {
    Message::new(Role::Assistant, vec![Block::text("So far")])
}

pub(super) fn user() -> Message {
    Message::new(
        Role::User,
        vec![Block::text("hello"), Content::Image(image()).into()],
    )
}

pub(crate) fn reply_received() -> Envelope {
    let end = ReplyEnd {
        finish: FinishReason::ToolCalls,
        model: Some("model-1-2026".into()),
        notes: vec![Note::new(
            NoteKind::Dropped,
            NoteEffect::Quality,
            "sampling_not_supported",
            "settings.temperature",
        )],
        opaque: vec![state("reasoning", StateScope::Reply)],
        upstream: Some("msg_1".into()),
        usage: Some(usage()),
    };
    let reply = Arc::new(Reply {
        message: Arc::new(Message {
            blocks: blocks(),
            opaque: end.opaque.clone(),
            role: Role::Assistant,
        }),
        end,
    });
    let attempt = MODEL_ATTEMPT;
    let empty = Arc::new(Reply {
        message: Arc::new(Message::new(Role::Assistant, Vec::new())),
        end: ReplyEnd::new(FinishReason::Unrecognized("whatever".into())),
    });
    step(
        InputKind::ReplyEnded,
        vec![
            Fact::ReplyReceived {
                attempt,
                reply,
                first_token: None,
                settled: Vec::new(),
            },
            Fact::ReplyReceived {
                attempt,
                reply: empty,
                first_token: None,
                settled: Vec::new(),
            },
        ],
    )
}
