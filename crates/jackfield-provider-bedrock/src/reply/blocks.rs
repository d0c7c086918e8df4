//! A block of a reply while it is read.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_dialect_claude::property_names::PropertyNames;

use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;
use jackfield_domain::block::{Annotation, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Value, json};

use super::{REDACTED, SIGNATURE};
use crate::DIALECT;
use crate::wire::{BlockDelta, CallStart, InputDelta, ReasoningDelta, ReplyBlock};
use jackfield_dialect_kit::outgoing::names::ReplyTools;

/// Why a block cannot be read.
pub(super) type Fault = &'static str;

/// The request's tools, as far as decoding needs them.
#[derive(Debug, Default)]
pub(super) struct KnownTools {
    pub(super) offered: ReplyTools,
    /// The renamed properties, by tool.
    pub(super) properties: HashMap<String, Arc<PropertyNames>>,
}

/// A block that has not ended.
#[derive(Debug)]
pub(super) enum OpenBlock {
    Call,
    /// A call whose arguments have renamed properties.
    RenamedCall {
        input: String,
        names: Arc<PropertyNames>,
    },
    Redacted {
        content: String,
    },
    Text,
    /// A call of a text tool: its arguments are JSON around the text.
    TextCall {
        input: String,
        start: BlockStart,
    },
    Thinking {
        signature: String,
    },
}

impl OpenBlock {
    /// The block that a piece begins; `None` if the piece is of an unknown kind.
    pub(super) fn of(
        index: u32,
        delta: &BlockDelta,
        out: &mut Vec<Delta>,
    ) -> Result<Option<Self>, Fault> {
        let (start, open) = if delta.text.is_some() || delta.citation.is_some() {
            (BlockStart::Text, Self::Text)
        } else if let Some(reasoning) = &delta.reasoning_content {
            let redacted = reasoning.redacted_content.is_some();
            let open = if redacted {
                let content = String::new();
                Self::Redacted { content }
            } else {
                let signature = String::new();
                Self::Thinking { signature }
            };
            (BlockStart::Thinking { redacted }, open)
        } else if delta.tool_use.is_some() {
            return Err("arguments came for a call that has not begun");
        } else {
            return Ok(None);
        };
        out.push(Delta::BlockStarted { index, start });
        Ok(Some(open))
    }

    pub(super) fn call(
        index: u32,
        call: CallStart,
        owner: &StateOwner,
        tools: &KnownTools,
        out: &mut Vec<Delta>,
    ) -> Self {
        let ran_by = if call.kind.as_deref() == Some("server_tool_use") {
            RanBy::Provider
        } else {
            RanBy::Engine
        };
        let is_text = tools.offered.is_text(&call.name);
        let names = tools.properties.get(&call.name).cloned();
        let start = BlockStart::ToolCall {
            json: !is_text,
            name: tools.offered.own(&call.name),
            ran_by,
            upstream: call
                .tool_use_id
                .filter(|id| !id.is_empty())
                .map(|id| UpstreamId {
                    id: id.into(),
                    owner: owner.clone(),
                }),
        };
        if is_text {
            let input = String::new();
            return Self::TextCall { input, start };
        }
        out.push(Delta::BlockStarted { index, start });
        match names {
            Some(names) => Self::RenamedCall {
                input: String::new(),
                names,
            },
            None => Self::Call,
        }
    }

    pub(super) fn append(
        &mut self,
        index: u32,
        delta: BlockDelta,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        let is_known = delta.text.is_some()
            || delta.citation.is_some()
            || delta.reasoning_content.is_some()
            || delta.tool_use.is_some();
        match self {
            _ if !is_known => {}
            Self::Call => {
                let InputDelta { input } = delta.tool_use.ok_or(WRONG_PIECE)?;
                if let Some(text) = input.filter(|text| !text.is_empty()) {
                    let text = text.into();
                    out.push(Delta::ArgumentsAppended { index, text });
                }
            }
            Self::Redacted { content } => {
                let piece = delta.reasoning_content.ok_or(WRONG_PIECE)?;
                content.push_str(&piece.redacted_content.unwrap_or_default());
            }
            Self::Text => {
                if delta.text.is_none() && delta.citation.is_none() {
                    return Err(WRONG_PIECE);
                }
                text(index, delta.text, out);
                out.extend(delta.citation.map(|json| cited(index, json)));
            }
            Self::RenamedCall { input, .. } | Self::TextCall { input, .. } => {
                let piece = delta.tool_use.ok_or(WRONG_PIECE)?;
                input.push_str(&piece.input.unwrap_or_default());
            }
            Self::Thinking { signature } => {
                let piece = delta.reasoning_content.ok_or(WRONG_PIECE)?;
                let ReasoningDelta {
                    signature: more,
                    text: words,
                    ..
                } = piece;
                text(index, words, out);
                signature.push_str(&more.unwrap_or_default());
            }
        }
        Ok(())
    }

    pub(super) fn end(self, index: u32, owner: &StateOwner, out: &mut Vec<Delta>) {
        match self {
            Self::Call | Self::Text => {}
            Self::RenamedCall { input, names } => {
                if !input.is_empty() {
                    let text = names.restore(&input).into();
                    out.push(Delta::ArgumentsAppended { index, text });
                }
            }
            Self::Redacted { content } => out.push(state(index, owner, REDACTED, content)),
            Self::TextCall { input, start } => {
                let json: Option<Value> = serde_json::from_str(&input).ok();
                let text = json
                    .as_ref()
                    .and_then(|json| json.get(TEXT_FIELD)?.as_str());
                // Malformed JSON is no text for a tool to run.
                let is_broken = json.is_none() && !input.is_empty();
                let start = match start {
                    BlockStart::ToolCall {
                        name,
                        ran_by,
                        upstream,
                        ..
                    } => BlockStart::ToolCall {
                        json: is_broken,
                        name,
                        ran_by,
                        upstream,
                    },
                    other @ (BlockStart::Refusal
                    | BlockStart::Text
                    | BlockStart::Thinking { .. }
                    | BlockStart::Whole(_)) => other,
                };
                out.push(Delta::BlockStarted { index, start });
                let text = text.unwrap_or(&input).into();
                out.push(Delta::ArgumentsAppended { index, text });
            }
            Self::Thinking { signature } => out.push(state(index, owner, SIGNATURE, signature)),
        }
        out.push(Delta::BlockEnded { index });
    }
}

/// A block of a reply that comes as one document, with the deltas of a stream.
pub(super) fn whole(
    index: u32,
    block: ReplyBlock,
    owner: &StateOwner,
    tools: &KnownTools,
    out: &mut Vec<Delta>,
) {
    let mut pieces = Vec::new();
    let mut open = None;
    if let Some(mut call) = block.tool_use {
        let input = call.input.take().map(|input| match input {
            Value::String(text) => text,
            Value::Null => String::new(),
            input @ (Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                input.to_string()
            }
        });
        open = Some(OpenBlock::call(index, call, owner, tools, out));
        pieces.push(BlockDelta {
            tool_use: Some(InputDelta { input }),
            ..BlockDelta::default()
        });
    } else if let Some(reasoning) = block.reasoning_content {
        let shown = reasoning.reasoning_text;
        let (words, signature) = shown.map(|shown| (shown.text, shown.signature)).unzip();
        pieces.push(BlockDelta {
            reasoning_content: Some(ReasoningDelta {
                redacted_content: reasoning.redacted_content,
                signature: signature.flatten(),
                text: words,
            }),
            ..BlockDelta::default()
        });
    } else if let Some(cited) = block.citations_content {
        let texts = cited
            .content
            .into_iter()
            .flatten()
            .filter_map(|part| part.text);
        pieces.push(BlockDelta {
            text: Some(texts.collect()),
            ..BlockDelta::default()
        });
        pieces.extend(
            cited
                .citations
                .into_iter()
                .flatten()
                .map(|citation| BlockDelta {
                    citation: Some(citation),
                    ..BlockDelta::default()
                }),
        );
    } else if block.text.is_some() {
        pieces.push(BlockDelta {
            text: block.text,
            ..BlockDelta::default()
        });
    }
    for piece in pieces {
        // Pieces of one block are of its kind.
        if open.is_none() {
            open = OpenBlock::of(index, &piece, out).ok().flatten();
        }
        if let Some(open) = &mut open {
            let _fits = open.append(index, piece, out).is_ok();
        }
    }
    if let Some(open) = open {
        open.end(index, owner, out);
    }
}

fn text(index: u32, text: Option<String>, out: &mut Vec<Delta>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        let text = text.into();
        out.push(Delta::TextAppended { index, text });
    }
}

/// A source of a text.
fn cited(index: u32, json: Value) -> Delta {
    let words = |pointer: &str| json.pointer(pointer).and_then(Value::as_str).map(Arc::from);
    let annotation = Annotation {
        dialect: DIALECT.into(),
        title: words("/title"),
        url: words("/location/web/url"),
        json,
    };
    Delta::AnnotationAdded { index, annotation }
}

fn state(index: u32, owner: &StateOwner, kind: &str, value: String) -> Delta {
    let state = OpaqueState {
        kind: kind.into(),
        json: json!(value),
        owner: owner.clone(),
        scope: StateScope::Block,
    };
    Delta::StateSet { index, state }
}

const WRONG_PIECE: Fault = "a piece is of another kind than its block";
