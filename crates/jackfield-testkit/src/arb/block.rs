//! Blocks of every kind.

use std::sync::Arc;

use jackfield_domain::block::{Annotation, Block, CachePoint, Content, Text, Thinking};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::call::{provider_call, tool_call, tool_outcome};
use super::media::{audio, document, image};
use super::opaque::{opaque_block, opaque_state, opaque_states};
use super::text::{json, text, words};

/// Content of any kind, regardless of the role of its message.
pub fn content() -> impl Strategy<Value = Content> + Clone {
    prop_oneof![
        3 => text_content(text()),
        1 => image().prop_map(Content::Image),
        1 => document().prop_map(Content::Document),
        1 => audio().prop_map(Content::Audio),
        1 => opaque_block().prop_map(Content::Opaque),
        1 => text().prop_map(Content::Refusal),
        1 => thinking().prop_map(Content::Thinking),
        1 => tool_call().prop_map(|call| Content::ToolCall(Arc::new(call))),
        1 => provider_call().prop_map(|call| Content::ToolCall(Arc::new(call))),
        1 => tool_outcome().prop_map(|outcome| Content::ToolOutcome(Arc::new(outcome))),
    ]
    .boxed()
}

/// Content of any kind that a reply may hold beside its calls.
pub fn reply_content() -> impl Strategy<Value = Content> + Clone {
    prop_oneof![
        5 => text_content(text()),
        2 => thinking().prop_map(Content::Thinking),
        1 => words().prop_map(Content::Refusal),
        1 => opaque_block().prop_map(Content::Opaque),
        1 => image().prop_map(Content::Image),
        1 => audio().prop_map(Content::Audio),
    ]
    .boxed()
}

/// Text content with this text, with or without an annotation.
pub fn text_content(
    text: impl Strategy<Value = Arc<str>> + Clone + 'static,
) -> impl Strategy<Value = Content> + Clone {
    let annotations = prop_oneof![4 => Just(Vec::new()), 1 => vec(annotation(), 1..3)];
    (annotations, text)
        .prop_map(|(annotations, text)| Content::Text(Text { annotations, text }))
        .boxed()
}

/// A block of text that is not blank, without further state.
pub fn text_block() -> impl Strategy<Value = Block> + Clone {
    words().prop_map(Block::text)
}

/// Reasoning, shown or hidden.
pub fn thinking() -> impl Strategy<Value = Thinking> + Clone {
    prop_oneof![
        3 => text().prop_map(|text| Thinking { redacted: false, text }),
        1 => Just(Thinking { redacted: true, text: "".into() }),
    ]
    .boxed()
}

/// A block of any kind, possibly with opaque state and a cache point.
pub fn block() -> impl Strategy<Value = Block> + Clone {
    with_metadata(content())
}

/// Blocks with this content, possibly with opaque state and a cache point.
pub(super) fn with_metadata(
    content: impl Strategy<Value = Content> + Clone + 'static,
) -> impl Strategy<Value = Block> + Clone {
    let seconds = select(&[None, Some(300), Some(3600)][..]);
    let cache = prop_oneof![
        4 => Just(None),
        1 => seconds.prop_map(|seconds| Some(CachePoint { seconds })),
    ];
    // Reasoning mostly has opaque state that its provider needs back.
    let of_thinking = option::weighted(0.7, opaque_state());
    (cache, content, opaque_states(), of_thinking)
        .prop_map(|(cache, content, mut opaque, of_thinking)| {
            if let (Content::Thinking(_), true) = (&content, opaque.is_empty()) {
                opaque.extend(of_thinking);
            }
            Block {
                cache,
                content,
                opaque,
            }
        })
        .boxed()
}

fn annotation() -> impl Strategy<Value = Annotation> + Clone {
    let dialect = select(&["claude", "openai-responses"][..]);
    let url = select(&["https://source.example/1", "https://source.example/2"][..]);
    (json(), dialect, option::of(text()), option::of(url))
        .prop_map(|(json, dialect, title, url)| Annotation {
            json,
            dialect: dialect.into(),
            title,
            url: url.map(Arc::from),
        })
        .boxed()
}
