//! An item of a reply while it is read.

use std::sync::Arc;

use jackfield_domain::block::{Content, OpaqueBlock, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::StateOwner;
use serde_json::{Map, Value};

use super::message::Message;
use super::reasoning::Reasoning;
use crate::responses::state;
use jackfield_dialect_kit::outgoing::names::ReplyTools;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;

/// Why an item cannot be read.
pub(super) type Fault = &'static str;

/// The context for reading an item, and its output.
#[derive(Debug)]
pub(super) struct DeltaEmitter<'a> {
    /// The index of the next block.
    pub(super) next_index: &'a mut u32,
    pub(super) deltas: &'a mut Vec<Delta>,
    pub(super) owner: &'a StateOwner,
}

impl DeltaEmitter<'_> {
    /// Starts a block; returns its index.
    pub(super) fn start_block(&mut self, start: BlockStart) -> u32 {
        let index = *self.next_index;
        *self.next_index = index.wrapping_add(1);
        self.deltas.push(Delta::BlockStarted { index, start });
        index
    }

    pub(super) fn push_text(&mut self, index: u32, text: &str) {
        if !text.is_empty() {
            let text = text.into();
            self.deltas.push(Delta::TextAppended { index, text });
        }
    }

    fn push_arguments(&mut self, index: u32, text: &str) {
        if !text.is_empty() {
            let text = text.into();
            self.deltas.push(Delta::ArgumentsAppended { index, text });
        }
    }

    pub(super) fn set_state(&mut self, index: u32, kind: &str, json: Value) {
        let state = state::block_state(self.owner, kind, json);
        self.deltas.push(Delta::StateSet { index, state });
    }

    pub(super) fn end_block(&mut self, index: u32) {
        self.deltas.push(Delta::BlockEnded { index });
    }
}

/// An item that has not ended.
#[derive(Debug)]
pub(super) enum ItemReader {
    /// A started call, and the arguments emitted so far.
    Call {
        block: u32,
        emitted: String,
    },
    /// A call that cannot be emitted yet: its name is unknown, or its text is within JSON arguments.
    HeldCall {
        arguments: String,
    },
    Message(Message),
    /// An item that only its provider understands.
    Opaque,
    Reasoning(Reasoning),
}

impl ItemReader {
    /// The item with this id and these initial fields.
    pub(super) fn begin(
        fields: &Map<String, Value>,
        id: Option<&str>,
        tools: &ReplyTools,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Self {
        match text(fields, "type").unwrap_or_default() {
            "message" => Self::Message(Message::default()),
            "reasoning" => Self::Reasoning(Reasoning::begin(id, emitter)),
            kind @ ("custom_tool_call" | "function_call") => {
                let name = text(fields, "name").filter(|name| !name.is_empty());
                match name {
                    Some(name) if kind == "custom_tool_call" || !tools.is_text(name) => {
                        Self::call(fields, tools.own(name), kind == "function_call", emitter)
                    }
                    Some(_) | None => Self::HeldCall {
                        arguments: String::new(),
                    },
                }
            }
            _ => Self::Opaque,
        }
    }

    fn call(
        fields: &Map<String, Value>,
        name: Arc<str>,
        json: bool,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Self {
        // Some servers send no id; the domain then assigns one.
        let id = text(fields, "call_id").filter(|id| !id.is_empty());
        let upstream = id.map(|id| UpstreamId {
            id: id.into(),
            owner: emitter.owner.clone(),
        });
        let block = emitter.start_block(BlockStart::ToolCall {
            json,
            name,
            ran_by: RanBy::Engine,
            upstream,
        });
        Self::Call {
            block,
            emitted: String::new(),
        }
    }

    /// Whether nothing of it can be emitted before its end, so that later items have to wait.
    pub(super) const fn is_held(&self) -> bool {
        match self {
            Self::HeldCall { .. } | Self::Opaque => true,
            Self::Call { .. } | Self::Message(_) | Self::Reasoning(_) => false,
        }
    }

    pub(super) const fn message(&mut self) -> Result<&mut Message, Fault> {
        match self {
            Self::Message(message) => Ok(message),
            Self::Call { .. } | Self::HeldCall { .. } | Self::Opaque | Self::Reasoning(_) => {
                Err(MISFIT)
            }
        }
    }

    pub(super) const fn reasoning(&mut self) -> Result<&mut Reasoning, Fault> {
        match self {
            Self::Reasoning(reasoning) => Ok(reasoning),
            Self::Call { .. } | Self::HeldCall { .. } | Self::Message(_) | Self::Opaque => {
                Err(MISFIT)
            }
        }
    }

    /// Adds to a call's arguments, or replaces them by the whole.
    pub(super) fn arguments(
        &mut self,
        text: &str,
        is_whole: bool,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        match self {
            Self::Call { block, emitted } => {
                let more = if is_whole {
                    unemitted(emitted, text)?
                } else {
                    text
                };
                emitter.push_arguments(*block, more);
                emitted.push_str(more);
            }
            Self::HeldCall { arguments } => {
                let more = if is_whole {
                    unemitted(arguments, text)?
                } else {
                    text
                };
                arguments.push_str(more);
            }
            // A provider's own call, whose item is complete at its end.
            Self::Opaque => {}
            Self::Message(_) | Self::Reasoning(_) => {
                return Err(MISFIT);
            }
        }
        Ok(())
    }

    /// Ends the item with its final fields; `sure` is whether the server sent them at its end.
    ///
    /// Returns whether it contains a refusal.
    pub(super) fn end(
        self,
        fields: &Map<String, Value>,
        is_final: bool,
        tools: &ReplyTools,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<bool, Fault> {
        match self {
            Self::Message(message) => return Ok(message.end(fields, emitter)),
            Self::Reasoning(reasoning) => reasoning.end(fields, is_final, emitter),
            Self::Opaque => {
                if is_final {
                    opaque(fields, emitter);
                }
            }
            Self::Call { .. } => {
                let mut call = self;
                call.arguments(&final_arguments(fields), true, emitter)?;
                call.end_call(fields, emitter);
            }
            Self::HeldCall { arguments } => {
                // An empty name is one that no tool has, which the model can be told.
                let name = text(fields, "name").ok_or(NAMELESS)?;
                let custom = text(fields, "type") == Some("custom_tool_call");
                let arguments = match final_arguments(fields) {
                    given if given.is_empty() => arguments,
                    given => {
                        unemitted(&arguments, &given)?;
                        given
                    }
                };
                let inner = if custom || !tools.is_text(name) {
                    None
                } else {
                    unwrap_text_input(&arguments)
                };
                let json = !custom && inner.is_none();
                let mut call = Self::call(fields, tools.own(name), json, emitter);
                call.arguments(&inner.unwrap_or(arguments), false, emitter)?;
                call.end_call(fields, emitter);
            }
        }
        Ok(false)
    }

    fn end_call(&self, fields: &Map<String, Value>, emitter: &mut DeltaEmitter<'_>) {
        let Self::Call { block, .. } = self else {
            return;
        };
        let rest = state::without(fields, &state::FIELDS_OF_CALL);
        if !rest.is_empty() {
            emitter.set_state(*block, state::CALL, Value::Object(rest));
        }
        emitter.end_block(*block);
    }
}

/// The rest of the text that was not emitted; arguments that contradict the emitted ones are a fault.
fn unemitted<'a>(emitted: &str, whole: &'a str) -> Result<&'a str, Fault> {
    if let Some(rest) = whole.strip_prefix(emitted) {
        return Ok(rest);
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    // Some servers format the final JSON differently, and some omit it.
    if whole.is_empty() || parse(emitted).is_some_and(|known| parse(whole) == Some(known)) {
        return Ok("");
    }
    Err("the arguments of a call are not what was told of them")
}

/// The arguments in an item; some servers send the JSON itself.
fn final_arguments(fields: &Map<String, Value>) -> String {
    let given = fields.get("arguments").or_else(|| fields.get("input"));
    given.map(state::arguments_text).unwrap_or_default()
}

/// The text in the JSON arguments of a text tool; empty for empty arguments, `None` for malformed ones.
fn unwrap_text_input(arguments: &str) -> Option<String> {
    if arguments.is_empty() {
        return Some(String::new());
    }
    let fields: Value = serde_json::from_str(arguments).ok()?;
    let text = fields.get(TEXT_FIELD).and_then(Value::as_str);
    Some(text.map_or_else(|| arguments.to_owned(), str::to_owned))
}

fn opaque(fields: &Map<String, Value>, emitter: &mut DeltaEmitter<'_>) {
    let block = emitter.start_block(BlockStart::Whole(Content::Opaque(OpaqueBlock {
        fallback: None,
        json: Value::Object(fields.clone()),
        kind: text(fields, "type").unwrap_or_default().into(),
        owner: emitter.owner.clone(),
    })));
    emitter.end_block(block);
}

/// The fault of an event for another kind of item.
const MISFIT: Fault = "a piece does not fit its item";

/// The fault of a call without a name.
const NAMELESS: Fault = "a call has no name";

pub(super) fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str)
}
