//! The messages of Claude Code's model as deltas of one reply of ours.

use std::collections::HashSet;

use jackfield_dialect_claude::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_dialect_claude::wire;
use jackfield_domain::block::{Content, OpaqueBlock};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::usage::Usage;
use serde_json::{Map, Value, json};

use crate::setup::PREFIX;

/// Reads the messages of one round.
pub(crate) struct Messages<'a> {
    body: &'a wire::Request,
    /// The ids of the calls of Claude Code's own tools without a result, from this round and from earlier ones.
    builtin_calls: &'a mut HashSet<String>,
    /// The ids of the calls of our tools, in the message that is read.
    calls: Vec<String>,
    decoder: Option<Decoder>,
    /// The ids of all calls of our tools so far.
    known: HashSet<String>,
    /// The blocks of the message that are not shown.
    hidden: HashSet<u32>,
    /// Whether the answer is JSON alone, which comes with the end: texts beside it are not shown.
    is_structured: bool,
    owner: &'a StateOwner,
    request: &'a ModelRequest,
    /// Whether calls of our tools are part of the reply.
    shows_calls: bool,
    /// The usage of the messages that have ended, as far as it was counted.
    used: Option<Usage>,
}

impl<'a> Messages<'a> {
    pub(crate) fn new(
        request: &'a ModelRequest,
        body: &'a wire::Request,
        owner: &'a StateOwner,
        shows_calls: bool,
        builtin_calls: &'a mut HashSet<String>,
    ) -> Self {
        Self {
            body,
            builtin_calls,
            calls: Vec::new(),
            decoder: None,
            hidden: HashSet::new(),
            is_structured: matches!(
                request.settings.response_format,
                ResponseFormat::JsonSchema { .. }
            ),
            known: HashSet::new(),
            owner,
            request,
            shows_calls,
            used: None,
        }
    }

    /// Reads an event; returns its deltas, and the message's end if it is the last event.
    pub(crate) fn push(
        &mut self,
        mut event: Map<String, Value>,
    ) -> Result<(Vec<Delta>, Option<MessageEnd>), DecodeError> {
        let kind = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if kind == "message_start" {
            if let Some(unfinished) = self.decoder.take() {
                // The message before broke off; its text has been shown.
                return Err(unfinished.finish().err().unwrap_or(DecodeError::Truncated {
                    phase: jackfield_domain::failure::Phase::MidReply,
                }));
            }
            self.calls.clear();
            self.hidden.clear();
            let owner = self.owner.clone();
            self.decoder = Some(Decoder::for_request(owner, self.request, self.body));
        }
        if kind == "content_block_start" {
            self.rename_call(&mut event);
        }
        let index = event.get("index").and_then(Value::as_u64);
        let is_hidden = index
            .and_then(|index| u32::try_from(index).ok())
            .is_some_and(|index| self.hidden.contains(&index));
        let Some(decoder) = &mut self.decoder else {
            // Outside of a message, only events that belong to none are in order.
            let mut outside = Decoder::new(self.owner.clone());
            outside.push(None, &Value::Object(event).to_string())?;
            return Ok((Vec::new(), None));
        };
        let mut deltas = decoder.push(None, &Value::Object(event).to_string())?;
        // Signatures go back to the model by Claude Code's own session.
        deltas.retain(|delta| !is_hidden && !matches!(delta, Delta::StateSet { .. }));
        let end = if decoder.is_complete()
            && let Some(decoder) = self.decoder.take()
        {
            let end = decoder.finish()?;
            self.used = sum(self.used, end.usage);
            Some(MessageEnd {
                calls: std::mem::take(&mut self.calls),
                end,
            })
        } else {
            None
        };
        Ok((deltas, end))
    }

    /// The results of Claude Code's own tools as deltas.
    pub(crate) fn results(&mut self, blocks: Vec<Value>) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for block in blocks {
            let id = block.get("tool_use_id").and_then(Value::as_str);
            let Some(id) = id.filter(|id| self.builtin_calls.contains(*id)) else {
                continue;
            };
            let words = result_text(&block);
            let shown = words.get(..words.floor_char_boundary(MAX_RESULT));
            let opaque = OpaqueBlock {
                fallback: shown.filter(|text| !text.is_empty()).map(Into::into),
                json: json!({ "type": "tool_result", "tool_use_id": id }),
                kind: "tool_result".into(),
                owner: self.owner.clone(),
            };
            self.builtin_calls.remove(id);
            deltas.push(Delta::BlockStarted {
                index: RESULT,
                start: BlockStart::Whole(Content::Opaque(opaque)),
            });
            deltas.push(Delta::BlockEnded { index: RESULT });
        }
        deltas
    }

    /// Whether a message had a call of one of our tools with this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    /// Whether the answer is JSON alone, which the result has.
    pub(crate) const fn is_structured(&self) -> bool {
        self.is_structured
    }

    /// Whether a message has begun and not ended.
    pub(crate) const fn is_reading(&self) -> bool {
        self.decoder.is_some()
    }

    /// The provider that questions are about, and the owner of what it says.
    pub(crate) fn asked_of(&self) -> (&'a str, &'a StateOwner) {
        (&self.request.model.provider, self.owner)
    }

    /// The usage so far; `None` if nothing was counted.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let running = self.decoder.as_ref().and_then(|decoder| decoder.usage());
        sum(self.used, running)
    }

    /// Gives a call the name that our loop knows, or marks it as one of Claude Code's own.
    fn rename_call(&mut self, event: &mut Map<String, Value>) {
        let index = event.get("index").and_then(Value::as_u64);
        let Some(Value::Object(block)) = event.get_mut("content_block") else {
            return;
        };
        let place = index.and_then(|index| u32::try_from(index).ok());
        let kind = block.get("type").and_then(Value::as_str);
        if self.is_structured && kind == Some("text") {
            self.hidden.extend(place);
        }
        if kind != Some("tool_use") {
            return;
        }
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        let Some(name) = text("name") else {
            return;
        };
        let id = text("id").unwrap_or_default().to_owned();
        if let Some(ours) = name.strip_prefix(PREFIX).map(str::to_owned) {
            block.insert("name".to_owned(), ours.into());
            if !self.shows_calls {
                self.hidden.extend(place);
            }
            self.known.insert(id.clone());
            self.calls.push(id);
        } else if self.is_structured && name == ANSWER {
            self.hidden.extend(place);
        } else {
            block.insert("type".to_owned(), "server_tool_use".into());
            self.builtin_calls.insert(id);
        }
    }
}

/// The end of a message of the model.
pub(crate) struct MessageEnd {
    /// The ids of its calls of our tools.
    pub(crate) calls: Vec<String>,
    pub(crate) end: ReplyEnd,
}

fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    match (one, other) {
        (Some(mut sum), Some(more)) => {
            sum += more;
            Some(sum)
        }
        (one, other) => one.or(other),
    }
}

/// The text of a `tool_result` block.
fn result_text(block: &Value) -> String {
    match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    }
}

/// The tool by which Claude Code has its model answer with JSON.
const ANSWER: &str = "StructuredOutput";
/// The most bytes of a result of Claude Code's own tools that are kept.
const MAX_RESULT: usize = 32 << 10;
/// The index of the blocks of results, beyond those of any message.
const RESULT: u32 = u32::MAX;
