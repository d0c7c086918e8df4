//! An item of a reply while it is read.

use jackfield_domain::block::{Content, OpaqueBlock, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::StateOwner;
use serde_json::{Map, Value};

use super::message::Message;
use super::reasoning::Reasoning;
use crate::responses::request::TEXT_FIELD;
use crate::responses::state;

/// Why an item cannot be read.
pub(super) type Fault = &'static str;

/// The context for reading an item, and its output.
#[derive(Debug)]
pub(super) struct Told<'a> {
    /// The index of the next block.
    pub(super) next: &'a mut u32,
    pub(super) out: &'a mut Vec<Delta>,
    pub(super) owner: &'a StateOwner,
}

impl Told<'_> {
    /// Starts a block; returns its index.
    pub(super) fn start(&mut self, start: BlockStart) -> u32 {
        let index = *self.next;
        *self.next = index.wrapping_add(1);
        self.out.push(Delta::BlockStarted { index, start });
        index
    }

    pub(super) fn text(&mut self, index: u32, text: &str) {
        if !text.is_empty() {
            let text = text.into();
            self.out.push(Delta::TextAppended { index, text });
        }
    }

    fn arguments(&mut self, index: u32, text: &str) {
        if !text.is_empty() {
            let text = text.into();
            self.out.push(Delta::ArgumentsAppended { index, text });
        }
    }

    pub(super) fn state(&mut self, index: u32, kind: &str, json: Value) {
        let state = state::of_block(self.owner, kind, json);
        self.out.push(Delta::StateSet { index, state });
    }

    pub(super) fn end(&mut self, index: u32) {
        self.out.push(Delta::BlockEnded { index });
    }
}

/// An item that has not ended.
#[derive(Debug)]
pub(super) enum Reading {
    /// A started call, and the arguments emitted so far.
    Call {
        block: u32,
        told: String,
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

impl Reading {
    /// The item with this id and these initial fields.
    pub(super) fn begin(
        fields: &Map<String, Value>,
        id: Option<&str>,
        is_text_tool: impl Fn(&str) -> bool,
        told: &mut Told<'_>,
    ) -> Self {
        match text(fields, "type").unwrap_or_default() {
            "message" => Self::Message(Message::default()),
            "reasoning" => Self::Reasoning(Reasoning::begin(id, told)),
            kind @ ("custom_tool_call" | "function_call") => {
                let name = text(fields, "name").filter(|name| !name.is_empty());
                match name {
                    Some(name) if kind == "custom_tool_call" || !is_text_tool(name) => {
                        Self::call(fields, name, kind == "function_call", told)
                    }
                    Some(_) | None => Self::HeldCall {
                        arguments: String::new(),
                    },
                }
            }
            _ => Self::Opaque,
        }
    }

    fn call(fields: &Map<String, Value>, name: &str, json: bool, told: &mut Told<'_>) -> Self {
        // Some servers send no id; the domain then assigns one.
        let id = text(fields, "call_id").filter(|id| !id.is_empty());
        let upstream = id.map(|id| UpstreamId {
            id: id.into(),
            owner: told.owner.clone(),
        });
        let block = told.start(BlockStart::ToolCall {
            json,
            name: name.into(),
            ran_by: RanBy::Engine,
            upstream,
        });
        Self::Call {
            block,
            told: String::new(),
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
        whole: bool,
        told: &mut Told<'_>,
    ) -> Result<(), Fault> {
        match self {
            Self::Call { block, told: known } => {
                let more = if whole { rest(known, text)? } else { text };
                told.arguments(*block, more);
                known.push_str(more);
            }
            Self::HeldCall { arguments } => {
                let more = if whole { rest(arguments, text)? } else { text };
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
        sure: bool,
        is_text_tool: impl Fn(&str) -> bool,
        told: &mut Told<'_>,
    ) -> Result<bool, Fault> {
        match self {
            Self::Message(message) => return Ok(message.end(fields, told)),
            Self::Reasoning(reasoning) => reasoning.end(fields, sure, told),
            Self::Opaque => {
                if sure {
                    opaque(fields, told);
                }
            }
            Self::Call { .. } => {
                let mut call = self;
                call.arguments(&given(fields), true, told)?;
                call.end_call(fields, told);
            }
            Self::HeldCall { arguments } => {
                // An empty name is one that no tool has, which the model can be told.
                let name = text(fields, "name").ok_or(NAMELESS)?;
                let custom = text(fields, "type") == Some("custom_tool_call");
                let arguments = match given(fields) {
                    given if given.is_empty() => arguments,
                    given => {
                        rest(&arguments, &given)?;
                        given
                    }
                };
                let inner = if custom || !is_text_tool(name) {
                    None
                } else {
                    text_of(&arguments)
                };
                let json = !custom && inner.is_none();
                let mut call = Self::call(fields, name, json, told);
                call.arguments(&inner.unwrap_or(arguments), false, told)?;
                call.end_call(fields, told);
            }
        }
        Ok(false)
    }

    fn end_call(&self, fields: &Map<String, Value>, told: &mut Told<'_>) {
        let Self::Call { block, .. } = self else {
            return;
        };
        let rest = state::without(fields, &state::FIELDS_OF_CALL);
        if !rest.is_empty() {
            told.state(*block, state::CALL, Value::Object(rest));
        }
        told.end(*block);
    }
}

/// The rest of the text that was not emitted; arguments that contradict the emitted ones are a fault.
fn rest<'a>(told: &str, whole: &'a str) -> Result<&'a str, Fault> {
    if let Some(rest) = whole.strip_prefix(told) {
        return Ok(rest);
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    // Some servers format the final JSON differently, and some omit it.
    if whole.is_empty() || parse(told).is_some_and(|known| parse(whole) == Some(known)) {
        return Ok("");
    }
    Err("the arguments of a call are not what was told of them")
}

/// The arguments in an item; some servers send the JSON itself.
fn given(fields: &Map<String, Value>) -> String {
    let given = fields.get("arguments").or_else(|| fields.get("input"));
    given.map(state::arguments_text).unwrap_or_default()
}

/// The text in the JSON arguments of a text tool; empty for empty arguments, `None` for malformed ones.
fn text_of(arguments: &str) -> Option<String> {
    if arguments.is_empty() {
        return Some(String::new());
    }
    let fields: Value = serde_json::from_str(arguments).ok()?;
    let text = fields.get(TEXT_FIELD).and_then(Value::as_str);
    Some(text.map_or_else(|| arguments.to_owned(), str::to_owned))
}

fn opaque(fields: &Map<String, Value>, told: &mut Told<'_>) {
    let block = told.start(BlockStart::Whole(Content::Opaque(OpaqueBlock {
        fallback: None,
        json: Value::Object(fields.clone()),
        kind: text(fields, "type").unwrap_or_default().into(),
        owner: told.owner.clone(),
    })));
    told.end(block);
}

/// The fault of an event for another kind of item.
const MISFIT: Fault = "a piece does not fit its item";

/// The fault of a call without a name.
const NAMELESS: Fault = "a call has no name";

/// A field that is a string.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str)
}
