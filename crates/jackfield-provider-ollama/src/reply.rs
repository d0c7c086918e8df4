//! Decodes the lines of a reply into deltas.
//!
//! A line has the form of a whole reply: texts and thoughts continue the open block, and calls come whole, one or
//! several in a line. The last line is marked, and has the reason of the end and the usage.

use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_dialect_kit::outgoing::names::ReplyTools;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;
use jackfield_domain::block::{RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::Phase;
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::{Value, json};

use crate::error;
use crate::wire::{self, CallPiece, Line};

/// The state that marks thoughts as this model's own: only to it they go back.
pub(crate) const OWN_THOUGHTS: &str = "own_thoughts";

/// Reads one reply, line by line.
///
/// Unknown fields are ignored. A line that is malformed is a [`DecodeError::Violation`]. After any error the decoder
/// must not be used any more.
#[derive(Debug)]
pub struct Decoder {
    has_calls: bool,
    has_emitted: bool,
    is_done: bool,
    model: Option<String>,
    next_index: u32,
    open: Option<OpenText>,
    owner: StateOwner,
    reason: Option<String>,
    tools: ReplyTools,
    usage: Option<Usage>,
}

/// A block of text or thoughts that the next line may continue.
#[derive(Clone, Copy, Debug)]
struct OpenText {
    index: u32,
    is_thought: bool,
}

impl Decoder {
    /// A decoder for a reply of this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            has_calls: false,
            has_emitted: false,
            is_done: false,
            model: None,
            next_index: 0,
            open: None,
            owner,
            reason: None,
            tools: ReplyTools::default(),
            usage: None,
        }
    }

    /// A decoder for the reply to this request: calls of text tools come as text, which is in a JSON field on the
    /// wire.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest) -> Self {
        let mut decoder = Self::new(owner);
        decoder.tools = wire::NAMES.reply_tools(request);
        decoder
    }

    fn line(&mut self, line: Line, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            let words = error::message(&error).unwrap_or_default();
            let failure = error::from_words(None, words, self.phase(out));
            return Err(DecodeError::Failed(failure));
        }
        self.model = line.model.or_else(|| self.model.take());
        if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
            self.usage = Some(Usage {
                input: line.prompt_eval_count.unwrap_or(0),
                output: line.eval_count.unwrap_or(0),
                ..Usage::default()
            });
        }
        if let Some(piece) = line.message {
            self.append(true, piece.thinking, out);
            self.append(false, piece.content, out);
            for call in piece.tool_calls.into_iter().flatten() {
                self.call(call, out);
            }
        }
        self.reason = line.done_reason.or_else(|| self.reason.take());
        if line.done == Some(true) {
            self.is_done = true;
            self.close(out);
        }
        Ok(())
    }

    fn append(&mut self, is_thought: bool, text: Option<String>, out: &mut Vec<Delta>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let known = self.open.filter(|open| open.is_thought == is_thought);
        let index = match known {
            Some(open) => open.index,
            None => {
                self.close(out);
                let index = self.begin_text(is_thought, out);
                self.open = Some(OpenText { index, is_thought });
                index
            }
        };
        let text = text.into();
        out.push(Delta::TextAppended { index, text });
    }

    fn begin_text(&mut self, is_thought: bool, out: &mut Vec<Delta>) -> u32 {
        if !is_thought {
            return self.begin(BlockStart::Text, out);
        }
        let index = self.begin(BlockStart::Thinking { redacted: false }, out);
        let state = OpaqueState {
            kind: OWN_THOUGHTS.into(),
            json: json!(true),
            owner: self.owner.clone(),
            scope: StateScope::Block,
        };
        out.push(Delta::StateSet { index, state });
        index
    }

    fn call(&mut self, call: CallPiece, out: &mut Vec<Delta>) {
        self.close(out);
        self.has_calls = true;
        let arguments = call.function.arguments;
        let text = arguments
            .as_ref()
            .filter(|_| self.tools.is_text(&call.function.name));
        let text = text.and_then(|arguments| arguments.get(TEXT_FIELD)?.as_str());
        let start = BlockStart::ToolCall {
            json: text.is_none(),
            name: self.tools.own(&call.function.name),
            ran_by: RanBy::Engine,
            // Without an id of the server's, the loop assigns one.
            upstream: call.id.filter(|id| !id.is_empty()).map(|id| UpstreamId {
                id: id.into(),
                owner: self.owner.clone(),
            }),
        };
        let arguments = match (text, &arguments) {
            (Some(text), _) => text.to_owned(),
            (None, None | Some(Value::Null)) => String::new(),
            (None, Some(Value::String(text))) => text.clone(),
            (None, Some(arguments)) => arguments.to_string(),
        };
        let index = self.begin(start, out);
        if !arguments.is_empty() {
            let text = arguments.into();
            out.push(Delta::ArgumentsAppended { index, text });
        }
        out.push(Delta::BlockEnded { index });
    }

    fn begin(&mut self, start: BlockStart, out: &mut Vec<Delta>) -> u32 {
        let index = self.next_index;
        self.next_index = self.next_index.saturating_add(1);
        out.push(Delta::BlockStarted { index, start });
        index
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some(OpenText { index, .. }) = self.open.take() {
            out.push(Delta::BlockEnded { index });
        }
    }

    const fn phase(&self, out: &[Delta]) -> Phase {
        if self.has_emitted || !out.is_empty() {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }

    fn violation(&self, reason: String) -> DecodeError {
        DecodeError::Violation {
            phase: self.phase(&[]),
            reason,
        }
    }
}

impl DecodeReply for Decoder {
    fn push(&mut self, _name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        let mut out = Vec::new();
        if self.is_done {
            return Ok(out);
        }
        let line = serde_json::from_str(data)
            .map_err(|fault| self.violation(format!("broken line: {fault}")))?;
        self.line(line, &mut out)?;
        self.has_emitted |= !out.is_empty();
        Ok(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_complete(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        if !self.is_done {
            let phase = self.phase(&[]);
            return Err(DecodeError::Truncated { phase });
        }
        let mut end = ReplyEnd::new(finish_reason(self.reason.as_deref(), self.has_calls));
        end.model = self.model.filter(|model| !model.is_empty()).map(Arc::from);
        end.usage = self.usage;
        Ok(end)
    }

    /// One document, or all lines of a stream whose media type a proxy changed.
    fn read_whole(mut self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        let mut out = Vec::new();
        for line in serde_json::Deserializer::from_slice(body).into_iter() {
            let line = line.map_err(|fault| self.violation(format!("no reply: {fault}")))?;
            if self.is_done {
                break;
            }
            self.line(line, &mut out)?;
        }
        self.has_emitted = !out.is_empty();
        Ok((out, self.finish()?))
    }
}

/// The meaning of a `done_reason`. Ollama has one word for an answer and for calls.
fn finish_reason(reason: Option<&str>, has_calls: bool) -> FinishReason {
    match reason.unwrap_or_default() {
        "" | "stop" if has_calls => FinishReason::ToolCalls,
        "" | "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        other => FinishReason::Unrecognized(other.into()),
    }
}
