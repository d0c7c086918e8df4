//! Decodes the chunks of a streamed reply into deltas, leniently.
//!
//! Observed deviations from OpenAI (2026-11) are interpreted by their intent: the presence of calls counts, and
//! index, id and name together tell them apart; usage may come anywhere; an error may have status 200.

use std::borrow::Cow;
use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::Value;

use super::calls::{Calls, Offered};
use super::plain::{Around, Plain};
use super::prose::{Into, Prose};
use super::read::{Fault, Held, field, number, text};
use super::whole::Whole;
use crate::chat::reply::ending::{Holds, finish_reason, usage_from_wire};
use crate::error::{self, ErrorDetail};
use crate::profile::InlineThinking;

/// After this many consecutive chunks without a common frame, the fast path is given up.
const MOST_MISSES: u8 = 8;

/// The data of the last event.
const DONE: &str = "[DONE]";

/// Reads one streamed reply, event by event.
///
/// Choices after the first one and unknown fields are ignored. A chunk that is not JSON, or that has a known field
/// of another type, is a [`DecodeError::Violation`]. After any error the decoder must not be used any more.
#[derive(Debug)]
pub struct Decoder {
    /// The frame around the text of the last chunk that held only text.
    around: Option<Around>,
    calls: Calls,
    /// Whether `[DONE]` has arrived.
    done: bool,
    finish: Option<String>,
    held: Held,
    id: Option<String>,
    /// How many consecutive chunks differed in their frame from the one before.
    misses: u8,
    model: Option<String>,
    next: u32,
    notes: Vec<Note>,
    owner: StateOwner,
    prose: Prose,
    told: bool,
    /// Whether any chunk was recognized as part of a reply.
    understood: bool,
    usage: Option<Usage>,
}

impl Decoder {
    /// A decoder for a reply of this owner; opaque state in the reply gets this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            around: None,
            calls: Calls::default(),
            done: false,
            finish: None,
            held: Held::default(),
            id: None,
            misses: 0,
            model: None,
            next: 0,
            notes: Vec::new(),
            owner,
            prose: Prose::default(),
            told: false,
            understood: false,
            usage: None,
        }
    }

    /// A decoder for the reply to this request.
    ///
    /// Calls of the request's text tools are returned as text, which some servers can only send in a JSON field;
    /// the names of its tools help to read names that arrive in fragments, or not at all.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest) -> Self {
        let mut decoder = Self::new(owner);
        decoder.calls = Calls::new(Offered::of(request));
        decoder
    }

    /// Enables the detection of reasoning within the text of the reply.
    #[must_use]
    pub fn with_inline_thinking(mut self, way: InlineThinking) -> Self {
        self.prose.find_thinking(way);
        self
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.check(chunk)?;
        for (known, key) in [(&mut self.id, "id"), (&mut self.model, "model")] {
            if let Some(text) = text(chunk, key).filter(|_| known.is_none()) {
                *known = Some(text.to_owned());
            }
        }
        self.count(field(chunk, "usage"));
        self.count(field(chunk, "x_groq").and_then(|groq| field(groq, "usage")));
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
    fn plain_of<'a>(&mut self, chunk: &'a str) -> Option<Plain<'a>> {
        let around = self.around.as_ref();
        if let Some(words) = around.and_then(|around| around.words(chunk)) {
            self.misses = 0;
            return Some(Plain {
                id: None,
                model: None,
                words: Cow::Borrowed(words),
            });
        }
        let plain = Plain::read(chunk)?;
        // Escaped text does not appear literally in the chunk.
        if let Cow::Borrowed(words) = plain.words {
            self.misses = self.misses.saturating_add(self.around.is_some().into());
            // If a server pads every chunk differently, the comparison is given up at some point.
            let goes_on = self.misses < MOST_MISSES;
            self.around = goes_on.then(|| Around::of(words, chunk)).flatten();
        }
        Some(plain)
    }

    /// Handles a chunk that holds only text, like [`chunk`](Self::chunk).
    fn plain(&mut self, plain: Plain<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.understood = true;
        for (known, text) in [(&mut self.id, plain.id), (&mut self.model, plain.model)] {
            if known.is_none() {
                *known = text.map(Cow::into_owned);
            }
        }
        let mut to = Into {
            held: &mut self.held,
            next: &mut self.next,
            out,
            owner: &self.owner,
        };
        self.prose.text(&plain.words, &mut to)
    }

    /// Handles a whole reply that holds only text, with the same result as the generic path.
    fn plain_whole(&mut self, whole: Whole<'_>) -> Result<Vec<Delta>, Fault> {
        self.count(whole.usage.as_ref());
        let mut out = Vec::with_capacity(3);
        let plain = Plain {
            id: whole.id,
            model: whole.model,
            words: whole.words,
        };
        self.plain(plain, &mut out)?;
        self.check_finish(&whole.finish)?;
        self.finish = Some(whole.finish.into_owned());
        self.settle(&mut out)?;
        Ok(out)
    }

    /// Detects an error in place of a chunk, in any of its forms.
    fn check(&self, json: &Value) -> Result<(), Fault> {
        let told = match json {
            Value::Array(_) => Some(json),
            Value::Object(_) if text(json, "object") == Some("error") => Some(json),
            Value::Object(_) => field(json, "error").map(|_| json),
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
                return Err("a chunk is no object".into());
            }
        };
        match told {
            None => Ok(()),
            Some(told) => {
                let detail = ErrorDetail::from(told.clone());
                Err(Fault::Failed(error::from_detail(&detail, self.phase())))
            }
        }
    }

    fn choice(&mut self, choice: &Value, whole: bool, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.check(choice)?;
        self.understood = true;
        self.count(field(choice, "usage"));
        let key = if whole { "message" } else { "delta" };
        let said = field(choice, key).or_else(|| field(choice, "message"));
        match said {
            None => {}
            Some(said @ Value::Object(_)) => self.said(said, whole, out)?,
            Some(_) => return Err("a piece is no object".into()),
        }
        if let Some(reason) = text(choice, "finish_reason").filter(|reason| *reason != "null") {
            self.finish = Some(reason.to_owned());
            self.check_finish(reason)?;
        }
        if self.finish.is_some() {
            self.settle(out)?;
        }
        Ok(())
    }

    fn said(&mut self, said: &Value, whole: bool, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let mut to = Into {
            held: &mut self.held,
            next: &mut self.next,
            out,
            owner: &self.owner,
        };
        self.prose.push(said, whole, &mut to)?;
        let legacy = field(said, "function_call");
        let calls = match field(said, "tool_calls") {
            None => &[],
            Some(Value::Array(calls)) => calls.as_slice(),
            Some(_) => return Err("the calls are no list".into()),
        };
        if calls.is_empty() && legacy.is_none() {
            return Ok(());
        }
        self.prose.end_text(&mut to)?;
        self.prose.end(out);
        for (place, call) in calls.iter().enumerate() {
            self.calls
                .push(call, whole.then_some(place), &mut self.held)?;
            self.calls.tell(&mut self.next, &self.owner, out);
        }
        if let Some(call) = legacy {
            self.calls.push_legacy(call, &mut self.held)?;
        }
        self.calls.tell(&mut self.next, &self.owner, out);
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
    fn settle(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.prose.end_text(&mut Into {
            held: &mut self.held,
            next: &mut self.next,
            out,
            owner: &self.owner,
        })?;
        self.prose.end(out);
        let notes = self.calls.settle(&mut self.next, &self.owner, out)?;
        self.notes.extend(notes);
        self.prose.settle(&mut Into {
            held: &mut self.held,
            next: &mut self.next,
            out,
            owner: &self.owner,
        });
        Ok(())
    }

    /// Takes the usage, which covers everything before it.
    fn count(&mut self, usage: Option<&Value>) {
        if let Some(usage) = usage.filter(|usage| usage.is_object()) {
            self.usage = Some(usage_from_wire(usage));
        }
    }

    const fn phase(&self) -> Phase {
        if self.told {
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
            self.settle(&mut out).map_err(|fault| self.fault(fault))?;
            self.told |= !out.is_empty();
            return Ok(out);
        }
        // Any chunk after the finish reason settles the open blocks.
        if self.finish.is_none()
            && name != Some("error")
            && let Some(plain) = self.plain_of(data)
        {
            let said = self.plain(plain, &mut out);
            said.map_err(|fault| self.fault(fault))?;
            self.told |= !out.is_empty();
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
        self.told |= !out.is_empty();
        Ok(out)
    }

    fn counted(&self) -> Option<Usage> {
        self.usage
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let is_cut = !self.done && self.finish.is_none();
        // An end alone is no reply: an intermediary answered in place of the server.
        if is_cut || !self.understood {
            return Err(DecodeError::Truncated {
                phase: self.phase(),
            });
        }
        let holds = Holds {
            calls: !self.calls.is_empty(),
            refusal: self.prose.refuses,
        };
        let mut end = ReplyEnd::new(finish_reason(self.finish.as_deref(), holds));
        end.model = self.model.map(Arc::from);
        end.notes = self.notes;
        end.opaque = self.prose.into_states(&self.owner);
        end.upstream = self.id.map(Arc::from);
        end.usage = self.usage;
        Ok(end)
    }

    fn read_whole(mut self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        if let Some(whole) = Whole::read(body) {
            let out = self.plain_whole(whole).map_err(|fault| self.fault(fault))?;
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
        let read = head
            .and_then(|()| self.choice(&first, true, &mut out))
            .and_then(|()| self.settle(&mut out));
        read.map_err(|fault| self.fault(fault))?;
        self.done = true;
        let end = self.finish()?;
        Ok((out, end))
    }
}
