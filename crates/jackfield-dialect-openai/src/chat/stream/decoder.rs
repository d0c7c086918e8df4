//! Decodes the chunks of a streamed reply into deltas, leniently.
//!
//! Observed deviations from OpenAI (2026-11) are interpreted by their intent: the presence of calls counts, and
//! index, id and name together tell them apart; usage may come anywhere; an error may have status 200.

use std::borrow::Cow;
use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::Value;

use super::calls::CallAssembler;
use super::content_assembler::{ContentAssembler, DeltaEmitter};
use super::json_fields::{BufferedBytes, Fault, field, number, text};
use super::plain_chunk::{ChunkFrame, PlainChunk};
use super::plain_reply::PlainReply;
use crate::chat::reply::ending::{ContentFlags, finish_reason};
use crate::chat::request::NAMES;
use crate::chat::wire;
use crate::error::{self, ErrorDetail};
use crate::profile::{InlineThinking, Prefill};
use crate::usage::read_usage;

/// After this many consecutive chunks without a common frame, the fast path is given up.
const MAX_MISSES: u8 = 8;

/// The data of the last event.
const DONE: &str = "[DONE]";

/// Reads one streamed reply, event by event.
///
/// Choices after the first one and unknown fields are ignored. A chunk that is not JSON, or that has a known field
/// of another type, is a [`DecodeError::Violation`]. After any error the decoder must not be used any more.
#[derive(Debug)]
pub struct Decoder {
    /// The frame around the text of the last chunk that held only text.
    frame: Option<ChunkFrame>,
    calls: CallAssembler,
    /// Whether `[DONE]` has arrived.
    done: bool,
    finish: Option<String>,
    buffered: BufferedBytes,
    id: Option<String>,
    /// How many consecutive chunks differed in their frame from the one before.
    frame_misses: u8,
    model: Option<String>,
    next_index: u32,
    notes: Vec<Note>,
    owner: StateOwner,
    content: ContentAssembler,
    has_emitted: bool,
    /// Whether any chunk was recognized as part of a reply.
    recognized: bool,
    /// The stop sequence that the server says it met.
    stop: Option<Arc<str>>,
    /// The stop sequences of the request.
    stops: Vec<Arc<str>>,
    usage: UsageReports,
}

impl Decoder {
    /// A decoder for a reply of this owner; opaque state in the reply gets this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            frame: None,
            calls: CallAssembler::default(),
            done: false,
            finish: None,
            buffered: BufferedBytes::default(),
            id: None,
            frame_misses: 0,
            model: None,
            next_index: 0,
            notes: Vec::new(),
            owner,
            content: ContentAssembler::default(),
            has_emitted: false,
            recognized: false,
            stop: None,
            stops: Vec::new(),
            usage: UsageReports::default(),
        }
    }

    /// Reads the cost that the reply states, if it [is what the server charges](crate::profile::Profile::usage_cost).
    #[must_use]
    pub fn with_cost(mut self, has_cost: bool) -> Self {
        self.usage = UsageReports::new(has_cost);
        self
    }

    /// A decoder for the reply to this request.
    ///
    /// Calls of the request's text tools are returned as text, which some servers can only send in a JSON field;
    /// the names of its tools help to read names that arrive in fragments, or not at all. Its stop sequences tell which
    /// word beside the finish reason is one.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest) -> Self {
        let mut decoder = Self::new(owner);
        decoder.calls = CallAssembler::new(NAMES.reply_tools(request));
        decoder.stops.clone_from(&request.settings.stop);
        decoder
    }

    /// Enables the detection of reasoning within the text of the reply.
    #[must_use]
    pub fn with_inline_thinking(mut self, mode: InlineThinking) -> Self {
        self.content.detect_inline_thinking(mode);
        self
    }

    /// Leaves out the words that the reply repeats of this request, if they are to be continued so.
    #[must_use]
    pub fn with_prefill(mut self, request: &wire::Request, prefill: Prefill) -> Self {
        let last = request.messages.last();
        let last = last.filter(|last| last.prefix == Some(true));
        if let Some(wire::Content::Text(words)) = last.and_then(|last| last.content.as_ref())
            && prefill == Prefill::RepeatedPrefix
        {
            self.content.leave_out(words.clone());
        }
        self
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.check_error(chunk)?;
        for (known, key) in [(&mut self.id, "id"), (&mut self.model, "model")] {
            if let Some(text) = text(chunk, key).filter(|_| known.is_none()) {
                *known = Some(text.to_owned());
            }
        }
        self.usage.tier(text(chunk, "service_tier"));
        self.set_usage(field(chunk, "usage"));
        self.set_usage(field(chunk, "x_groq").and_then(|groq| field(groq, "usage")));
        let choices = match field(chunk, "choices") {
            None => return Ok(()),
            Some(Value::Array(choices)) => choices,
            Some(_) => return Err("the answers are no list".into()),
        };
        for choice in choices {
            if number(choice, "index").unwrap_or(0) == 0 {
                self.choice(choice, false, out)?;
            }
        }
        Ok(())
    }

    /// Reads a chunk that holds only text; `None` if it holds more.
    fn read_plain<'a>(&mut self, chunk: &'a str) -> Option<PlainChunk<'a>> {
        let around = self.frame.as_ref();
        if let Some(words) = around.and_then(|around| around.text(chunk)) {
            self.frame_misses = 0;
            return Some(PlainChunk {
                text: Cow::Borrowed(words),
                ..PlainChunk::default()
            });
        }
        let plain = PlainChunk::read(chunk)?;
        // Escaped text does not appear literally in the chunk.
        if let Cow::Borrowed(words) = plain.text {
            self.frame_misses = self
                .frame_misses
                .saturating_add(self.frame.is_some().into());
            // If a server pads every chunk differently, the comparison is given up at some point.
            let keeps_frame = self.frame_misses < MAX_MISSES;
            self.frame = keeps_frame
                .then(|| ChunkFrame::around(words, chunk))
                .flatten();
        }
        Some(plain)
    }

    /// Handles a chunk that holds only text, like [`chunk`](Self::chunk).
    fn push_plain(&mut self, plain: PlainChunk<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.recognized = true;
        self.usage.tier(plain.service_tier.as_deref());
        for (known, text) in [(&mut self.id, plain.id), (&mut self.model, plain.model)] {
            if known.is_none() {
                *known = text.map(Cow::into_owned);
            }
        }
        let mut emitter = DeltaEmitter {
            buffered: &mut self.buffered,
            next_index: &mut self.next_index,
            deltas: out,
            owner: &self.owner,
        };
        self.content.push_text(&plain.text, &mut emitter)
    }

    /// Handles a whole reply that holds only text, with the same result as the generic path.
    fn push_plain_reply(&mut self, whole: PlainReply<'_>) -> Result<Vec<Delta>, Fault> {
        self.set_usage(whole.usage.as_ref());
        let mut out = Vec::with_capacity(3);
        let plain = PlainChunk {
            id: whole.id,
            model: whole.model,
            service_tier: whole.service_tier,
            text: whole.text,
        };
        self.push_plain(plain, &mut out)?;
        self.check_finish(&whole.finish)?;
        self.finish = Some(whole.finish.into_owned());
        self.end_blocks(&mut out)?;
        Ok(out)
    }

    /// Detects an error in place of a chunk, in any of its forms.
    fn check_error(&self, json: &Value) -> Result<(), Fault> {
        let error_json = match json {
            Value::Array(_) => Some(json),
            Value::Object(_) if text(json, "object") == Some("error") => Some(json),
            Value::Object(_) => field(json, "error").map(|_| json),
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
                return Err("a chunk is no object".into());
            }
        };
        match error_json {
            None => Ok(()),
            Some(told) => {
                let detail = ErrorDetail::from(told.clone());
                Err(Fault::Failed(error::from_detail(&detail, self.phase())))
            }
        }
    }

    fn choice(
        &mut self,
        choice: &Value,
        is_whole: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        self.check_error(choice)?;
        self.recognized = true;
        self.set_usage(field(choice, "usage"));
        let key = if is_whole { "message" } else { "delta" };
        let message = field(choice, key).or_else(|| field(choice, "message"));
        match message {
            None => {}
            Some(said @ Value::Object(_)) => self.push_message(said, is_whole, out)?,
            Some(_) => return Err("a piece is no object".into()),
        }
        if let Some(reason) = text(choice, "finish_reason").filter(|reason| *reason != "null") {
            self.finish = Some(reason.to_owned());
            // vLLM and SGLang say which stop sequence was met; other servers have words of their own there.
            let met = STOPS.iter().find_map(|key| text(choice, key));
            let met = met.and_then(|met| self.stops.iter().find(|stop| ***stop == *met));
            self.stop = met.cloned();
            self.check_finish(reason)?;
        }
        Ok(())
    }

    fn push_message(
        &mut self,
        message: &Value,
        is_whole: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        let mut emitter = DeltaEmitter {
            buffered: &mut self.buffered,
            next_index: &mut self.next_index,
            deltas: out,
            owner: &self.owner,
        };
        self.content.push(message, is_whole, &mut emitter)?;
        let legacy = field(message, "function_call");
        let calls = match field(message, "tool_calls") {
            None => &[],
            Some(Value::Array(calls)) => calls.as_slice(),
            Some(_) => return Err("the calls are no list".into()),
        };
        if calls.is_empty() && legacy.is_none() {
            return Ok(());
        }
        self.content.end_text(&mut emitter)?;
        self.content.end_block(out);
        for (place, call) in calls.iter().enumerate() {
            self.calls
                .push(call, is_whole.then_some(place), &mut self.buffered)?;
            self.calls.emit(&mut self.next_index, &self.owner, out);
        }
        if let Some(call) = legacy {
            self.calls.push_legacy(call, &mut self.buffered)?;
        }
        self.calls.emit(&mut self.next_index, &self.owner, out);
        Ok(())
    }

    /// Detects finish reasons that are failures.
    fn check_finish(&self, reason: &str) -> Result<(), Fault> {
        let (kind, message) = match reason {
            // Mistral, OpenRouter
            "error" => (
                ModelFailureKind::ServerError,
                "the server ended the reply with an error",
            ),
            // DeepSeek
            "insufficient_system_resource" => (
                ModelFailureKind::Overloaded,
                "the server has not got the resources to go on",
            ),
            _ => return Ok(()),
        };
        Err(Fault::Failed(ModelFailure::new(
            kind,
            self.phase(),
            message,
        )))
    }

    /// Ends all open blocks after the last chunk.
    fn end_blocks(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.content.end_text(&mut DeltaEmitter {
            buffered: &mut self.buffered,
            next_index: &mut self.next_index,
            deltas: out,
            owner: &self.owner,
        })?;
        self.content.end_block(out);
        let notes = self.calls.finish(&mut self.next_index, &self.owner, out)?;
        self.notes.extend(notes);
        self.content.finish(&mut DeltaEmitter {
            buffered: &mut self.buffered,
            next_index: &mut self.next_index,
            deltas: out,
            owner: &self.owner,
        });
        Ok(())
    }

    /// Takes the usage, which covers everything before it.
    fn set_usage(&mut self, usage: Option<&Value>) {
        read_usage(usage.unwrap_or(&Value::Null), &mut self.usage);
    }

    const fn phase(&self) -> Phase {
        if self.has_emitted {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }

    fn violation(&self, reason: String) -> DecodeError {
        DecodeError::Violation {
            phase: self.phase(),
            reason,
        }
    }

    fn fault(&self, fault: Fault) -> DecodeError {
        match fault {
            Fault::Broken(reason) => self.violation(reason.to_owned()),
            Fault::Failed(failure) => DecodeError::Failed(failure),
        }
    }
}

impl DecodeReply for Decoder {
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        let data = data.trim();
        let mut out = Vec::new();
        if self.done || data.is_empty() {
            return Ok(out);
        }
        if data == DONE {
            self.done = true;
            self.end_blocks(&mut out)
                .map_err(|fault| self.fault(fault))?;
            self.has_emitted |= !out.is_empty();
            return Ok(out);
        }
        if name != Some("error")
            && let Some(plain) = self.read_plain(data)
        {
            let result = self.push_plain(plain, &mut out);
            result.map_err(|fault| self.fault(fault))?;
            self.has_emitted |= !out.is_empty();
            return Ok(out);
        }
        let chunk: Value = match serde_json::from_str(data) {
            Ok(Value::Null) => return Ok(out),
            Ok(chunk) => chunk,
            // Chunks have no event name; the data of a named event need not be JSON.
            Err(_) if name.is_some_and(|name| !matches!(name, "error" | "message")) => {
                return Ok(out);
            }
            Err(fault) => return Err(self.violation(format!("broken chunk: {fault}"))),
        };
        if name == Some("error") {
            let detail = ErrorDetail::from(chunk);
            let failure = error::from_detail(&detail, self.phase());
            return Err(DecodeError::Failed(failure));
        }
        self.chunk(&chunk, &mut out)
            .map_err(|fault| self.fault(fault))?;
        self.has_emitted |= !out.is_empty();
        Ok(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.usage()
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    /// Some servers write a finish reason into every chunk, or go on behind it, so it ends no block.
    fn rest(&mut self) -> Result<Vec<Delta>, DecodeError> {
        let mut out = Vec::new();
        let ended = if self.done || self.finish.is_some() {
            self.end_blocks(&mut out)
        } else {
            self.content.end_text(&mut DeltaEmitter {
                buffered: &mut self.buffered,
                next_index: &mut self.next_index,
                deltas: &mut out,
                owner: &self.owner,
            })
        };
        ended.map_err(|fault| self.fault(fault))?;
        Ok(out)
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let is_cut = !self.done && self.finish.is_none();
        // An end alone is no reply: an intermediary answered in place of the server.
        if is_cut || !self.recognized {
            return Err(DecodeError::Truncated {
                phase: self.phase(),
            });
        }
        let holds = ContentFlags {
            calls: !self.calls.is_empty(),
            refusal: self.content.has_refusal,
        };
        let finish = finish_reason(self.finish.as_deref(), holds);
        let mut end = ReplyEnd::new(match (finish, self.stop) {
            (FinishReason::Stop, Some(stop)) => FinishReason::StopSequence(stop),
            (finish, _) => finish,
        });
        end.model = self.model.map(Arc::from);
        end.notes = self.notes;
        end.notes.extend(self.usage.notes());
        end.opaque = self.content.into_states(&self.owner);
        end.upstream = self.id.map(Arc::from);
        end.usage = self.usage.usage();
        Ok(end)
    }

    fn read_whole(mut self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        if let Some(whole) = PlainReply::read(body) {
            let out = self
                .push_plain_reply(whole)
                .map_err(|fault| self.fault(fault))?;
            self.done = true;
            return Ok((out, self.finish()?));
        }
        let mut json: Value = serde_json::from_slice(body)
            .map_err(|fault| self.violation(format!("this is no reply: {fault}")))?;
        let choices = json.get_mut("choices").map(Value::take);
        let choices = match choices {
            Some(Value::Array(choices)) => choices,
            Some(_) | None => Vec::new(),
        };
        let mut choices = choices.into_iter();
        let first = choices.find(|choice| number(choice, "index").unwrap_or(0) == 0);
        let Some(first) = first else {
            // Some servers send errors with a success status.
            let phase = self.phase();
            let failure = error::classify(200, |_| None, body, phase);
            return Err(DecodeError::Failed(failure));
        };
        let mut out = Vec::new();
        // Its choices have been taken out before.
        let head = self.chunk(&json, &mut out);
        let result = head
            .and_then(|()| self.choice(&first, true, &mut out))
            .and_then(|()| self.end_blocks(&mut out));
        result.map_err(|fault| self.fault(fault))?;
        self.done = true;
        let end = self.finish()?;
        Ok((out, end))
    }
}

/// The fields of a choice in which servers say what ended it.
const STOPS: [&str; 2] = ["matched_stop", "stop_reason"];
