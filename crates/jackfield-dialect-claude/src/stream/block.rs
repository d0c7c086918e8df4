//! A block of a reply while it is read.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::block::{Content, OpaqueBlock, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::property_names::PropertyNames;
use crate::reply::{annotation, state};
use crate::wire::IncomingDelta;
use jackfield_dialect_kit::outgoing::names::ReplyTools;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;

/// Why a block cannot be read.
pub(super) type Fault = &'static str;

/// The request's tools, as far as decoding needs them.
#[derive(Debug, Default)]
pub(super) struct RequestTools {
    /// The renamed properties, by tool.
    pub(super) names: HashMap<String, Arc<PropertyNames>>,
    pub(super) offered: ReplyTools,
}

/// A block that has not ended.
#[derive(Debug)]
pub(super) enum OpenBlock {
    /// A call; the arguments in its start count if no others follow.
    Call {
        initial_input: Option<String>,
    },
    /// A call whose arguments have renamed properties.
    RenamedCall {
        initial_input: Option<String>,
        input: String,
        names: Arc<PropertyNames>,
    },
    /// An opaque block, which is collected until it ends.
    Opaque {
        fields: Map<String, Value>,
        input: String,
    },
    Redacted,
    Text,
    /// A call of a text tool: its arguments are JSON around the text.
    TextCall {
        input: String,
        start: BlockStart,
        states: Vec<OpaqueState>,
    },
    /// Reasoning; compatible servers may not sign it.
    Thinking {
        signed: bool,
    },
}

/// Starts a block: content in its start is emitted at once, if it has the vendor's form.
pub(super) fn start(
    index: u32,
    mut fields: Map<String, Value>,
    owner: &StateOwner,
    tools: &RequestTools,
    out: &mut Vec<Delta>,
) -> Result<OpenBlock, Fault> {
    let kind = take_text(&mut fields, "type").ok_or("a block has no type")?;
    match kind.as_str() {
        "text" => {
            out.push(block_started(index, BlockStart::Text));
            append_text(
                index,
                &take_text(&mut fields, "text").unwrap_or_default(),
                out,
            );
            if let Some(Value::Array(citations)) = fields.shift_remove("citations") {
                out.extend(
                    citations
                        .into_iter()
                        .map(|citation| Delta::AnnotationAdded {
                            index,
                            annotation: annotation(citation),
                        }),
                );
            }
            Ok(OpenBlock::Text)
        }
        "thinking" => {
            out.push(block_started(
                index,
                BlockStart::Thinking { redacted: false },
            ));
            append_text(
                index,
                &take_text(&mut fields, "thinking").unwrap_or_default(),
                out,
            );
            let signature = take_text(&mut fields, "signature").filter(|text| !text.is_empty());
            let signed = signature.is_some();
            out.extend(
                signature.map(|text| state_set(index, owner, state::SIGNATURE, json!(text))),
            );
            Ok(OpenBlock::Thinking { signed })
        }
        "redacted_thinking" => {
            let data = take_text(&mut fields, "data").ok_or("redacted thinking has no data")?;
            out.push(block_started(
                index,
                BlockStart::Thinking { redacted: true },
            ));
            out.push(state_set(index, owner, state::REDACTED, json!(data)));
            Ok(OpenBlock::Redacted)
        }
        "tool_use" => call(index, fields, owner, tools, out),
        kind if state::PROVIDER_CALLS.contains(&kind) => {
            let initial_input = initial_input(fields.shift_remove("input"));
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            let name = text("name").ok_or("a call has no name")?;
            let id = text("id").ok_or("a call has no id")?;
            let start = call_start(name.into(), RanBy::Provider, Some(id), true, owner);
            out.push(block_started(index, start));
            let kind = ("type".to_owned(), json!(kind));
            let fields = Map::from_iter(std::iter::once(kind).chain(fields));
            out.push(state_set(
                index,
                owner,
                state::PROVIDER_CALL,
                Value::Object(fields),
            ));
            Ok(OpenBlock::Call { initial_input })
        }
        "document" | "image" | "tool_result" => Err("a reply cannot hold a block of this type"),
        _ => {
            let kind = ("type".to_owned(), json!(kind));
            Ok(OpenBlock::Opaque {
                fields: Map::from_iter(std::iter::once(kind).chain(fields)),
                input: String::new(),
            })
        }
    }
}

fn call(
    index: u32,
    mut fields: Map<String, Value>,
    owner: &StateOwner,
    tools: &RequestTools,
    out: &mut Vec<Delta>,
) -> Result<OpenBlock, Fault> {
    let name = take_text(&mut fields, "name").ok_or("a call has no name")?;
    // Some servers send no id; the domain then assigns one.
    let id = take_text(&mut fields, "id");
    let takes_text = tools.offered.is_text(&name);
    let start = call_start(
        tools.offered.own(&name),
        RanBy::Engine,
        id.as_deref(),
        !takes_text,
        owner,
    );
    let mut states = Vec::new();
    if let Some(caller) = fields.shift_remove("caller").filter(Value::is_object) {
        states.push(opaque_state(owner, state::CALLER, caller));
    }
    if let Some(toolset) = take_text(&mut fields, "toolset_name") {
        states.push(opaque_state(owner, state::TOOLSET, json!(toolset)));
    }
    let initial_input = initial_input(fields.shift_remove("input"));
    if takes_text {
        return Ok(OpenBlock::TextCall {
            input: initial_input.unwrap_or_default(),
            start,
            states,
        });
    }
    out.push(block_started(index, start));
    out.extend(
        states
            .into_iter()
            .map(|state| Delta::StateSet { index, state }),
    );
    Ok(match tools.names.get(&name) {
        Some(names) => OpenBlock::RenamedCall {
            initial_input,
            input: String::new(),
            names: Arc::clone(names),
        },
        None => OpenBlock::Call { initial_input },
    })
}

impl OpenBlock {
    /// Adds to the block. Fragments of an unknown kind are ignored, except in an unknown block.
    pub(super) fn append(
        &mut self,
        index: u32,
        delta: IncomingDelta<'_>,
        data: &str,
        owner: &StateOwner,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        match (self, &*delta.kind) {
            (Self::Opaque { fields, input }, kind) => match kind {
                "input_json_delta" => input.push_str(&delta.partial_json),
                "text_delta" => extend_text(fields, "text", &delta.text),
                "thinking_delta" => extend_text(fields, "thinking", &delta.thinking),
                _ => merge(fields, data),
            },
            (Self::Text, "text_delta") => append_text(index, &delta.text, out),
            (Self::Text, "citations_delta") => {
                let citation = delta.citation.ok_or("a citation is missing")?;
                out.push(Delta::AnnotationAdded {
                    index,
                    annotation: annotation(citation),
                });
            }
            (Self::Thinking { .. }, "thinking_delta") => append_text(index, &delta.thinking, out),
            (Self::Thinking { signed }, "signature_delta") => {
                *signed = true;
                let signature = json!(delta.signature);
                out.push(state_set(index, owner, state::SIGNATURE, signature));
            }
            (
                Self::Call {
                    initial_input: given,
                },
                "input_json_delta",
            ) => {
                if !delta.partial_json.is_empty() {
                    *given = None;
                    out.push(Delta::ArgumentsAppended {
                        index,
                        text: (*delta.partial_json).into(),
                    });
                }
            }
            (
                Self::RenamedCall { input, .. } | Self::TextCall { input, .. },
                "input_json_delta",
            ) => {
                input.push_str(&delta.partial_json);
            }
            (_, kind) if KNOWN.contains(&kind) => return Err("a piece does not fit its block"),
            (_, _) => {}
        }
        Ok(())
    }

    pub(super) fn end(self, index: u32, owner: &StateOwner, out: &mut Vec<Delta>) {
        match self {
            Self::Call {
                initial_input: Some(text),
            } => out.push(Delta::ArgumentsAppended {
                index,
                text: text.into(),
            }),
            Self::Call {
                initial_input: None,
            }
            | Self::Redacted
            | Self::Text
            | Self::Thinking { signed: true } => {}
            Self::RenamedCall {
                initial_input: given,
                input,
                names,
            } => {
                let arguments = given.filter(|_| input.is_empty()).unwrap_or(input);
                if !arguments.is_empty() {
                    let text = names.restore(&arguments).into();
                    out.push(Delta::ArgumentsAppended { index, text });
                }
            }
            // Sent back unchanged to the same server; Claude itself always signs.
            Self::Thinking { signed: false } => {
                out.push(state_set(index, owner, state::SIGNATURE, json!("")));
            }
            Self::Opaque { mut fields, input } => {
                if !input.is_empty() {
                    // Malformed JSON is kept as a string, as its owner may still understand it.
                    let input = serde_json::from_str(&input).unwrap_or(Value::String(input));
                    fields.insert("input".to_owned(), input);
                }
                let kind = fields.get("type").and_then(Value::as_str);
                let block = Content::Opaque(OpaqueBlock {
                    fallback: None,
                    kind: kind.unwrap_or_default().into(),
                    json: Value::Object(fields),
                    owner: owner.clone(),
                });
                out.push(block_started(index, BlockStart::Whole(block)));
            }
            Self::TextCall {
                input,
                start,
                states,
            } => {
                let text = unwrap_text_input(&input);
                let broken = text.is_none() && is_broken(&input);
                out.push(block_started(
                    index,
                    if broken { into_json_call(start) } else { start },
                ));
                out.extend(
                    states
                        .into_iter()
                        .map(|state| Delta::StateSet { index, state }),
                );
                out.push(Delta::ArgumentsAppended {
                    index,
                    text: text.unwrap_or(input).into(),
                });
            }
        }
        out.push(Delta::BlockEnded { index });
    }
}

/// The kinds of fragments that belong to one kind of block.
const KNOWN: [&str; 5] = [
    "citations_delta",
    "input_json_delta",
    "signature_delta",
    "text_delta",
    "thinking_delta",
];

/// Whether fragments of this kind have a known form.
pub(super) fn is_known(kind: &str) -> bool {
    KNOWN.contains(&kind)
}

fn call_start(
    name: Arc<str>,
    ran_by: RanBy,
    id: Option<&str>,
    json: bool,
    owner: &StateOwner,
) -> BlockStart {
    BlockStart::ToolCall {
        json,
        name,
        ran_by,
        upstream: id.map(|id| UpstreamId {
            id: id.into(),
            owner: owner.clone(),
        }),
    }
}

const fn block_started(index: u32, start: BlockStart) -> Delta {
    Delta::BlockStarted { index, start }
}

fn append_text(index: u32, text: &str, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        let text = text.into();
        out.push(Delta::TextAppended { index, text });
    }
}

fn opaque_state(owner: &StateOwner, kind: &str, json: Value) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner.clone(),
        scope: StateScope::Block,
    }
}

fn state_set(index: u32, owner: &StateOwner, kind: &str, json: Value) -> Delta {
    Delta::StateSet {
        index,
        state: opaque_state(owner, kind, json),
    }
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    match fields.shift_remove(key)? {
        Value::String(text) => Some(text),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => {
            None
        }
    }
}

/// The arguments in a call's start. The vendor sends `{}`; other servers send all of them, or none.
fn initial_input(input: Option<Value>) -> Option<String> {
    match input? {
        Value::Null => None,
        Value::Object(fields) if fields.is_empty() => None,
        Value::String(text) => Some(text).filter(|text| !text.is_empty()),
        whole @ (Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Some(whole.to_string())
        }
    }
}

/// The text in the JSON arguments of a text tool.
fn unwrap_text_input(input: &str) -> Option<String> {
    let mut fields: Map<String, Value> = serde_json::from_str(input).ok()?;
    take_text(&mut fields, TEXT_FIELD)
}

/// Whether arguments are invalid JSON. Empty ones are an empty text.
fn is_broken(input: &str) -> bool {
    !input.is_empty() && serde_json::from_str::<IgnoredAny>(input).is_err()
}

/// A call with its arguments unchanged: malformed JSON is no text for a tool to run.
fn into_json_call(start: BlockStart) -> BlockStart {
    match start {
        BlockStart::ToolCall {
            name,
            ran_by,
            upstream,
            json: _,
        } => BlockStart::ToolCall {
            json: true,
            name,
            ran_by,
            upstream,
        },
        other @ (BlockStart::Refusal
        | BlockStart::Text
        | BlockStart::Thinking { .. }
        | BlockStart::Whole(_)) => other,
    }
}

fn extend_text(fields: &mut Map<String, Value>, key: &str, more: &str) {
    match fields.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        Some(_) | None => {
            fields.insert(key.to_owned(), json!(more));
        }
    }
}

/// Adds the fields of a fragment of an unknown kind, each as a whole, as in a compaction.
fn merge(fields: &mut Map<String, Value>, data: &str) {
    let event: Result<Map<String, Value>, _> = serde_json::from_str(data);
    if let Ok(mut event) = event
        && let Some(Value::Object(delta)) = event.shift_remove("delta")
    {
        fields.extend(delta.into_iter().filter(|(key, _)| key != "type"));
    }
}
