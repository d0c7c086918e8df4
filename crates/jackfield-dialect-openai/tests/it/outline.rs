//! Domain values as trees of named places, so that two of them can be compared place by place.
//!
//! Left out is what no wire carries and nobody promises: origins of the system prompt, the ids
//! themselves (their pairing is compared), the raw spelling of arguments, scopes of opaque state,
//! and which model a file was uploaded for.

use std::collections::BTreeMap;

use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Message;
use jackfield_domain::note::{Note, NoteKind};
use jackfield_domain::opaque::{Extension, OpaqueState};
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::ToolInput;
use serde_json::Value;

/// A tree of named places.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Fields(Vec<(&'static str, Self)>),
    Leaf(String),
    /// Each with the path that it had at first.
    List(Vec<(String, Self)>),
}

/// What a request says, whichever way it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) choice: &'a ToolChoice,
    pub(crate) messages: &'a [&'a Message],
    pub(crate) settings: &'a Settings,
    pub(crate) system: &'a SystemPrompt,
    pub(crate) tools: &'a [&'a ToolDefinition],
}

pub(crate) fn of_request(said: Said<'_>) -> Node {
    let ids = Ids::of(said.messages.iter().flat_map(|message| &message.blocks));
    Node::Fields(vec![
        ("choice", debug(said.choice)),
        (
            "messages",
            list("messages", said.messages.iter(), |path, message| {
                of_message(path, message, &ids)
            }),
        ),
        ("settings", of_settings(said.settings)),
        (
            "system",
            Node::Fields(vec![(
                "parts",
                list("system.parts", said.system.parts.iter(), |_, part| {
                    Node::Fields(vec![("text", debug(&part.text))])
                }),
            )]),
        ),
        (
            "tools",
            list("tools", said.tools.iter(), |path, tool| of_tool(path, tool)),
        ),
    ])
}

/// The blocks of a reply.
pub(crate) fn of_blocks(blocks: &[Block]) -> Node {
    let ids = Ids::of(blocks.iter());
    list("blocks", blocks.iter(), |path, block| {
        of_block(path, block, &ids)
    })
}

#[derive(Debug, Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    /// Numbers the calls that somebody has to answer, in order.
    fn of<'a>(blocks: impl Iterator<Item = &'a Block>) -> Self {
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

fn list<'a, T: 'a>(
    path: &str,
    items: impl Iterator<Item = &'a T>,
    mut node: impl FnMut(&str, &'a T) -> Node,
) -> Node {
    let named = items.enumerate().map(|(n, item)| {
        let path = format!("{path}[{n}]");
        let node = node(&path, item);
        (path, node)
    });
    Node::List(named.collect())
}

fn debug(value: &impl std::fmt::Debug) -> Node {
    Node::Leaf(format!("{value:?}"))
}

fn of_message(path: &str, message: &Message, ids: &Ids) -> Node {
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

fn of_block(path: &str, block: &Block, ids: &Ids) -> Node {
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

/// A file is its account's, whichever model it was uploaded for.
fn of_source(source: &MediaSource) -> String {
    match source {
        MediaSource::File { id, owner } => {
            // Both of the vendor's languages know the files of an account.
            let vendor = owner.dialect.split('-').next().unwrap_or_default();
            format!("{id} at {vendor} {}", owner.endpoint)
        }
        MediaSource::Base64 { .. } | MediaSource::Text(_) | MediaSource::Url(_) => {
            format!("{source:?}")
        }
    }
}

fn of_tool(path: &str, tool: &ToolDefinition) -> Node {
    Node::Fields(vec![
        ("description", debug(&tool.description)),
        (
            "extensions",
            of_extensions(&format!("{path}.extensions"), &tool.extensions),
        ),
        (
            "input",
            match &tool.input {
                InputFormat::Json(schema) => debug(&("json", sorted(schema))),
                InputFormat::Text(grammar) => debug(&("text", grammar)),
            },
        ),
        ("name", debug(&tool.name)),
        ("output", debug(&tool.output)),
        ("strict", debug(&tool.strict)),
    ])
}

/// A schema with its keywords in order, which says the same in any.
fn sorted(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields
                .iter()
                .map(|(key, schema)| (key, sorted(schema)))
                .collect();
            fields
                .into_iter()
                .map(|(key, schema)| (key.clone(), schema))
                .collect()
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn of_extensions(path: &str, extensions: &[Extension]) -> Node {
    list(path, extensions.iter(), |_, extension| debug(extension))
}

fn of_settings(settings: &Settings) -> Node {
    let Settings {
        effort,
        end_user,
        extensions,
        frequency_penalty,
        max_output_tokens,
        parallel_calls,
        presence_penalty,
        response_format,
        seed,
        service_tier,
        stop,
        temperature,
        thinking,
        thinking_shown,
        top_k,
        top_p,
        verbosity,
    } = settings;
    Node::Fields(vec![
        ("effort", debug(effort)),
        ("end_user", debug(end_user)),
        (
            "extensions",
            of_extensions("settings.extensions", extensions),
        ),
        ("frequency_penalty", debug(frequency_penalty)),
        ("max_output_tokens", debug(max_output_tokens)),
        ("parallel_calls", debug(parallel_calls)),
        ("presence_penalty", debug(presence_penalty)),
        ("response_format", of_format(response_format)),
        ("seed", debug(seed)),
        ("service_tier", debug(service_tier)),
        (
            "stop",
            list("settings.stop", stop.iter(), |_, text| debug(text)),
        ),
        ("temperature", debug(temperature)),
        ("thinking", debug(thinking)),
        ("thinking_shown", debug(thinking_shown)),
        ("top_k", debug(top_k)),
        ("top_p", debug(top_p)),
        ("verbosity", debug(verbosity)),
    ])
}

fn of_format(format: &ResponseFormat) -> Node {
    match format {
        ResponseFormat::JsonObject => Node::Fields(vec![("what", debug(&"object"))]),
        ResponseFormat::JsonSchema {
            description,
            name,
            schema,
            strict,
        } => Node::Fields(vec![
            ("what", debug(&"schema")),
            ("description", debug(description)),
            ("name", debug(name)),
            ("schema", debug(&sorted(schema))),
            ("strict", debug(strict)),
        ]),
        ResponseFormat::Text => Node::Fields(vec![("what", debug(&"text"))]),
    }
}

/// The places at which two trees differ, by the paths of the first.
pub(crate) fn differences(one: &Node, other: &Node) -> Vec<String> {
    let mut found = Vec::new();
    differ("", one, other, &mut found);
    found
}

fn differ(path: &str, one: &Node, other: &Node, found: &mut Vec<String>) {
    match (one, other) {
        (Node::Fields(one), Node::Fields(other)) if keys(one) == keys(other) => {
            for ((key, one), (_, other)) in one.iter().zip(other) {
                let path = if path.is_empty() {
                    (*key).to_owned()
                } else {
                    format!("{path}.{key}")
                };
                differ(&path, one, other, found);
            }
        }
        (Node::List(one), Node::List(other)) if one.len() == other.len() => {
            for ((path, one), (_, other)) in one.iter().zip(other) {
                differ(path, one, other, found);
            }
        }
        (one, other) if one == other => {}
        _ => found.push(path.to_owned()),
    }
}

fn keys(fields: &[(&'static str, Node)]) -> Vec<&'static str> {
    fields.iter().map(|(key, _)| *key).collect()
}

/// Takes the element of a list that a note of this kind says is gone; whether there was one.
pub(crate) fn remove(tree: &mut Node, note: &Note) -> bool {
    let gone = matches!(note.kind, NoteKind::Dropped | NoteKind::Refused);
    gone && take(tree, &note.path).is_some()
}

/// Takes an element out of the list that it stands in.
pub(crate) fn take(tree: &mut Node, path: &str) -> Option<Node> {
    match tree {
        Node::Fields(fields) => fields.iter_mut().find_map(|(_, node)| take(node, path)),
        Node::Leaf(_) => None,
        Node::List(items) => match items.iter().position(|(name, _)| name == path) {
            Some(place) => Some(items.remove(place).1),
            None => items.iter_mut().find_map(|(_, node)| take(node, path)),
        },
    }
}

/// A field of a tree.
pub(crate) fn field<'a>(tree: &'a mut Node, name: &str) -> &'a mut Node {
    match tree {
        Node::Fields(fields) => fields
            .iter_mut()
            .find_map(|(key, node)| (*key == name).then_some(node))
            .expect("a field of this name"),
        Node::Leaf(_) | Node::List(_) => panic!("`{name}` is a field of no list or leaf"),
    }
}

/// The elements of a list.
pub(crate) fn items(tree: &mut Node) -> &mut Vec<(String, Node)> {
    match tree {
        Node::List(items) => items,
        Node::Fields(_) | Node::Leaf(_) => panic!("no list"),
    }
}
