//! Outlines of messages, their blocks and their state.

use std::collections::BTreeMap;

use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::tool_input::ToolInput;

use super::{Node, debug, list};

/// The identity of calls, independent of their ids.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeMap<String, usize>);

impl Ids {
    /// Numbers the calls that need an outcome, in order.
    pub(super) fn from_blocks<'a>(blocks: impl Iterator<Item = &'a Block>) -> Self {
        let mut ids = Self::default();
        for block in blocks {
            if let Content::ToolCall(call) = &block.content
                && call.ran_by != RanBy::Provider
            {
                let next = ids.0.len();
                ids.0.entry(call.id.as_str().to_owned()).or_insert(next);
            }
        }
        ids
    }

    fn number(&self, id: &ToolCallId) -> Node {
        debug(&self.0.get(id.as_str()))
    }
}

pub(super) fn of_message(path: &str, message: &Message, ids: &Ids) -> Node {
    Node::Fields(vec![
        (
            "blocks",
            list(
                &format!("{path}.blocks"),
                message.blocks.iter(),
                |path, block| of_block(path, block, ids),
            ),
        ),
        (
            "opaque",
            of_states(&format!("{path}.opaque"), &message.opaque),
        ),
        ("role", debug(&message.role)),
    ])
}

fn of_states(path: &str, states: &[OpaqueState]) -> Node {
    list(path, states.iter(), |_, state| {
        debug(&(&state.kind, &state.json, &state.owner))
    })
}

pub(super) fn of_block(path: &str, block: &Block, ids: &Ids) -> Node {
    let mut fields = match &block.content {
        Content::Audio(audio) => of_audio(audio),
        Content::Document(document) => of_document(document),
        Content::Image(image) => of_image(image),
        Content::Opaque(opaque) => vec![
            (
                "what",
                debug(&("opaque", &opaque.kind, &opaque.json, &opaque.owner)),
            ),
            ("fallback", debug(&opaque.fallback)),
        ],
        Content::Refusal(text) => vec![("what", debug(&("refusal", text)))],
        Content::Text(text) => vec![
            ("what", debug(&"text")),
            ("text", debug(&text.text)),
            (
                "annotations",
                list(
                    &format!("{path}.annotations"),
                    text.annotations.iter(),
                    |_, annotation| {
                        Node::Fields(vec![
                            ("json", debug(&(&annotation.json, &annotation.dialect))),
                            ("title", debug(&annotation.title)),
                            ("url", debug(&annotation.url)),
                        ])
                    },
                ),
            ),
        ],
        Content::Thinking(thinking) => vec![
            ("what", debug(&("thinking", thinking.redacted))),
            ("text", debug(&thinking.text)),
        ],
        Content::ToolCall(call) => {
            let at_provider = call.ran_by == RanBy::Provider;
            let id = if at_provider {
                debug(&0)
            } else {
                ids.number(&call.id)
            };
            vec![
                ("what", debug(&("call", at_provider))),
                ("id", id),
                ("name", debug(&call.name)),
                ("input", of_input(&call.input)),
            ]
        }
        Content::ToolOutcome(outcome) => vec![
            ("what", debug(&"outcome")),
            ("call", ids.number(&outcome.call)),
            (
                "outcome",
                Node::Fields(vec![(
                    "opaque",
                    of_states(&format!("{path}.outcome.opaque"), &outcome.opaque),
                )]),
            ),
            (
                "result",
                Node::Fields(vec![
                    (
                        "content",
                        list(
                            &format!("{path}.result.content"),
                            outcome.result.content.iter(),
                            |_, part| Node::Fields(of_part(part)),
                        ),
                    ),
                    ("is_error", debug(&outcome.result.is_error)),
                    ("structured", debug(&outcome.result.structured)),
                ]),
            ),
        ],
    };
    fields.push(("cache", debug(&block.cache)));
    fields.push((
        "opaque",
        of_states(&format!("{path}.opaque"), &block.opaque),
    ));
    Node::Fields(fields)
}

fn of_input(input: &ToolInput) -> Node {
    match input {
        ToolInput::Json(json) => match json.object() {
            Ok(fields) => debug(&("json", fields)),
            Err(_) => debug(&("broken", json.raw())),
        },
        ToolInput::Text(text) => debug(&("text", text)),
    }
}

fn of_part(part: &OutcomePart) -> Vec<(&'static str, Node)> {
    match part {
        OutcomePart::Audio(audio) => of_audio(audio),
        OutcomePart::Document(document) => of_document(document),
        OutcomePart::Image(image) => of_image(image),
        OutcomePart::Text(text) => vec![("what", debug(&("text", text)))],
    }
}

fn of_audio(audio: &Audio) -> Vec<(&'static str, Node)> {
    vec![("what", debug(&("audio", audio)))]
}

fn of_document(document: &Document) -> Vec<(&'static str, Node)> {
    let Document {
        cite,
        context,
        source,
        title,
    } = document;
    vec![(
        "what",
        debug(&("document", cite, context, of_source(source), title)),
    )]
}

fn of_image(image: &Image) -> Vec<(&'static str, Node)> {
    vec![
        ("what", debug(&("image", of_source(&image.source)))),
        ("detail", debug(&image.detail)),
    ]
}

/// A file belongs to its account, regardless of the model for which it was uploaded.
fn of_source(source: &MediaSource) -> String {
    match source {
        MediaSource::File { id, owner } => {
            // Both of the vendor's dialects share the files of an account.
            let vendor = owner.dialect.split('-').next().unwrap_or_default();
            format!("{id} at {vendor} {}", owner.endpoint)
        }
        MediaSource::Base64 { .. } | MediaSource::Text(_) | MediaSource::Url(_) => {
            format!("{source:?}")
        }
    }
}
