//! Decodes the events of a streamed reply into deltas.

use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_dialect_kit::outgoing::names::ReplyTools;
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::{Map, Value};

use super::item_slots::{ItemRef, Slots};
use super::message;
use super::reasoning;
use crate::error::{self, ErrorDetail};
use crate::responses::reply::finish_reason;
use crate::responses::request::NAMES;
use crate::responses::request::read_call;
use crate::responses::state::arguments_text;
use crate::responses::wire::{IncomingEvent, IncomingResponse, Kind};
use crate::usage::read_usage;

/// Reads one reply, event by event or as a whole.
///
/// Events are matched to items by index, and by id if the index is missing. An item is final with
/// `response.output_item.done`, or with the end of the reply if that is missing, and everything not emitted before
/// is emitted then. Events of several items may interleave. Items that cannot be emitted before their end
/// (provider-run calls, unknown items) hold back all later items, up to the size of the longest possible reply.
#[derive(Debug)]
pub struct Decoder {
    end: Option<IncomingResponse>,
    finish: Option<FinishReason>,
    id: Option<String>,
    model: Option<String>,
    owner: StateOwner,
    /// The bytes of events read so far.
    bytes_read: usize,
    slots: Slots,
    tools: ReplyTools,
    /// Whether a search for tools is a call of `find_tools`.
    has_search: bool,
    has_emitted: bool,
    usage: UsageReports,
}

impl Decoder {
    /// A decoder for a reply of this owner; opaque state in the reply gets this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            end: None,
            finish: None,
            id: None,
            model: None,
            owner,
            bytes_read: 0,
            slots: Slots::default(),
            tools: ReplyTools::default(),
            has_search: false,
            has_emitted: false,
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
    /// Calls of its text tools are returned as text, also from servers that only send JSON.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest) -> Self {
        let mut decoder = Self::new(owner);
        decoder.tools = NAMES.reply_tools(request);
        decoder.has_search = !request.searchable.is_empty();
        decoder
    }

    fn handle(&mut self, kind: &str, event: IncomingEvent, size: usize) -> Result<(), Fault> {
        let item_id = event.item_id.clone();
        let name = ItemRef {
            id: item_id.as_deref(),
            index: event.output_index.filter(|index| *index >= 0),
        };
        let owner = &self.owner;
        let slots = &mut self.slots;
        let tools = &self.tools;
        // All held-back data came in some event, so this bound covers it.
        self.bytes_read = self.bytes_read.saturating_add(size);
        if self.bytes_read > MAX_LENGTH {
            return Err("the reply is too long".into());
        }
        let delta = event.delta.as_deref().unwrap_or_default();
        let part = event.content_index;
        match kind {
            "error" => {
                let detail = ErrorDetail::from(event.error.unwrap_or_default());
                return Err(Fault::Failed(error::from_detail(&detail, self.phase())));
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                if let Some(response) = event.response {
                    self.set_usage(&response);
                    self.id = response.id.or_else(|| self.id.take());
                    self.model = response.model.or_else(|| self.model.take());
                }
            }
            ADDED => {
                let item = event.item.ok_or("an item is missing")?;
                let item = item_of(item, self.has_search);
                slots.begin(name, item, owner, tools)?;
            }
            "response.output_item.done" => {
                let item = event.item.ok_or("an item is missing")?;
                let item = item_of(item, self.has_search);
                slots.end(name, item, owner, tools)?;
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let kind = text_kind(kind);
                slots.update(name, "message", owner, |item, emitter| {
                    item.message()?.append(part, kind, delta, emitter)
                })?;
            }
            "response.output_text.done" | "response.refusal.done" => {
                let words = event.text.or(event.refusal).unwrap_or_default();
                let kind = text_kind(kind);
                slots.update(name, "message", owner, |item, emitter| {
                    item.message()?.complete(part, kind, &words, emitter)
                })?;
            }
            "response.output_text.annotation.added" => {
                let annotation = event.annotation.unwrap_or_default();
                slots.update(name, "message", owner, |item, emitter| {
                    item.message()?.annotate(part, annotation, emitter)
                })?;
            }
            "response.content_part.added" | "response.content_part.done" => {
                let fields = event.part.ok_or("a part is missing")?;
                if message::PartKind::of(&fields).is_some() {
                    slots.update(name, "message", owner, |item, emitter| {
                        item.message()?.whole_part(part, &fields, emitter)
                    })?;
                }
            }
            "response.function_call_arguments.delta" => {
                slots.update(name, "function_call", owner, |item, emitter| {
                    item.arguments(delta, false, emitter)
                })?;
            }
            "response.function_call_arguments.done" => {
                let whole = event.arguments.as_ref().map(arguments_text);
                let whole = whole.unwrap_or_default();
                slots.update(name, "function_call", owner, |item, emitter| {
                    item.arguments(&whole, true, emitter)
                })?;
            }
            "response.custom_tool_call_input.delta" => {
                slots.update(name, "custom_tool_call", owner, |item, emitter| {
                    item.arguments(delta, false, emitter)
                })?;
            }
            "response.custom_tool_call_input.done" => {
                let whole = event.input.unwrap_or_default();
                slots.update(name, "custom_tool_call", owner, |item, emitter| {
                    item.arguments(&whole, true, emitter)
                })?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let (kind, index) = reasoning_kind(kind, event.summary_index, part);
                slots.update(name, "reasoning", owner, |item, emitter| {
                    item.reasoning()?
                        .push_text(index, kind, delta, false, emitter);
                    Ok(())
                })?;
            }
            "response.reasoning_summary_text.done" | "response.reasoning_text.done" => {
                let (kind, index) = reasoning_kind(kind, event.summary_index, part);
                let whole = event.text.unwrap_or_default();
                slots.update(name, "reasoning", owner, |item, emitter| {
                    item.reasoning()?
                        .push_text(index, kind, &whole, true, emitter);
                    Ok(())
                })?;
            }
            "response.cancelled"
            | "response.completed"
            | "response.failed"
            | "response.incomplete" => {
                let response = event.response.unwrap_or_default();
                let word = kind.strip_prefix("response.").unwrap_or_default();
                self.handle_end(response, word)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles the end of the reply; `word` is its status if the response has none.
    fn handle_end(&mut self, mut response: IncomingResponse, word: &str) -> Result<(), Fault> {
        self.set_usage(&response);
        let status = response.status.take().filter(|status| !status.is_empty());
        let status = status.unwrap_or_else(|| word.to_owned());
        if status == "failed" {
            let detail = ErrorDetail::from(response.error.take().unwrap_or_default());
            return Err(Fault::Failed(error::from_detail(&detail, self.phase())));
        }
        let output = response.output.take().unwrap_or_default().into_iter();
        let output = output.map(|item| item_of(item, self.has_search)).collect();
        self.slots.finish(output, &self.owner, &self.tools)?;
        let details = response.incomplete_details.as_ref();
        self.finish = Some(finish_reason(&status, details, self.slots.content_flags));
        self.end = Some(response);
        Ok(())
    }

    /// Takes the usage, which servers send at the end, also of a failed reply; some send it earlier.
    fn set_usage(&mut self, response: &IncomingResponse) {
        let tier = response.service_tier.as_ref();
        self.usage.tier(tier.and_then(Value::as_str));
        if let Some(usage) = &response.usage {
            read_usage(usage, &mut self.usage);
        }
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
        if self.is_complete() || data.trim() == "[DONE]" {
            return Ok(Vec::new());
        }
        let mut event = match serde_json::from_str::<IncomingEvent>(data) {
            Ok(event) => event,
            Err(_) if is_foreign(name, data) => return Ok(Vec::new()),
            Err(fault) => return Err(self.violation(format!("broken event: {fault}"))),
        };
        let kind = event.kind.take().filter(|kind| !kind.is_empty());
        let named = name.filter(|name| *name != UNNAMED).map(str::to_owned);
        // Some servers send only an error.
        let bare = event.error.as_ref().filter(|error| !error.is_null());
        let kind = kind.or(named).or_else(|| bare.map(|_| "error".to_owned()));
        let kind = kind.unwrap_or_default();
        if kind == "error" {
            // Its fields are in the event itself, or below `error`.
            event.error = serde_json::from_str(data).ok();
        }
        let result = self.handle(&kind, event, data.len());
        result.map_err(|fault| self.fault(fault))?;
        let mut out = Vec::new();
        self.slots.flush(&mut out);
        self.has_emitted |= !out.is_empty();
        Ok(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.usage()
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let phase = self.phase();
        let (Some(finish), Some(response)) = (self.finish, self.end) else {
            return Err(DecodeError::Truncated { phase });
        };
        let named = |text: Option<String>| text.filter(|text| !text.is_empty()).map(Arc::from);
        let mut end = ReplyEnd::new(finish);
        end.model = named(response.model.or(self.model));
        end.upstream = named(response.id.or(self.id));
        end.usage = self.usage.usage();
        end.notes.extend(self.usage.notes());
        for n in 0..response.input_transformations.map_or(0, |all| all.len()) {
            end.notes.push(Note::new(
                NoteKind::Dropped,
                NoteEffect::Quality,
                "reasoning_not_taken",
                format!("input_transformations[{n}]"),
            ));
        }
        Ok(end)
    }

    fn read_whole(mut self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        let parsed: Result<Map<String, Value>, _> = serde_json::from_slice(body);
        let fields =
            parsed.map_err(|fault| self.violation(format!("this is not a response: {fault}")))?;
        let has_output = fields.get("output").is_some_and(Value::is_array);
        let status = fields.get("status").and_then(Value::as_str);
        // Some servers send errors with a success status.
        if !has_output && status.is_none() {
            let phase = Phase::BeforeFirstDelta;
            let failure = error::classify(200, |_| None, body, phase);
            return Err(DecodeError::Failed(failure));
        }
        let response: IncomingResponse = serde_json::from_value(Value::Object(fields))
            .map_err(|fault| self.violation(format!("this is not a response: {fault}")))?;
        if let Some(status @ ("in_progress" | "queued")) = response.status.as_deref() {
            return Err(self.violation(format!("the response is {status} still")));
        }
        self.handle_end(response, "completed")
            .map_err(|fault| self.fault(fault))?;
        let mut out = Vec::new();
        self.slots.flush(&mut out);
        self.has_emitted = !out.is_empty();
        Ok((out, self.finish()?))
    }
}

/// The fields of an item; those of a search are the ones of its call, if the request has tools to find.
fn item_of(fields: Map<String, Value>, has_search: bool) -> Map<String, Value> {
    if has_search {
        read_call(fields)
    } else {
        fields
    }
}

/// Why an event cannot be read.
#[derive(Debug)]
enum Fault {
    Broken(&'static str),
    Failed(ModelFailure),
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Self {
        Self::Broken(reason)
    }
}

/// The longest possible reply, and as much again for the JSON around its text.
const MAX_LENGTH: usize = 16 * ReplyAccumulator::MAX_UNITS;

const ADDED: &str = "response.output_item.added";

/// The name of an event without a name.
const UNNAMED: &str = "message";

fn text_kind(event: &str) -> message::PartKind {
    if event.starts_with("response.refusal") {
        message::PartKind::Refusal
    } else {
        message::PartKind::Text
    }
}

/// The kind and index of the reasoning in an event.
fn reasoning_kind(
    event: &str,
    summary: Option<i64>,
    content: Option<i64>,
) -> (reasoning::PartKind, Option<i64>) {
    if event.starts_with("response.reasoning_summary") {
        (reasoning::PartKind::Summary, summary)
    } else {
        (reasoning::PartKind::Text, content)
    }
}

/// The events that are read.
const EVENTS: [&str; 22] = [
    "error",
    "response.cancelled",
    "response.completed",
    "response.content_part.added",
    "response.content_part.done",
    "response.created",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.failed",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.in_progress",
    "response.incomplete",
    ADDED,
    "response.output_item.done",
    "response.output_text.annotation.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.delta",
    "response.reasoning_text.done",
];

/// Whether an event of unexpected form is of an unknown type, which may have any form.
fn is_foreign(name: Option<&str>, data: &str) -> bool {
    let known = |kind: &str| {
        EVENTS.contains(&kind) || kind.starts_with("response.refusal.") || kind == UNNAMED
    };
    match serde_json::from_str::<Kind>(data) {
        Ok(event) => !known(event.kind.as_deref().or(name).unwrap_or_default()),
        // The data of an unknown event need not even be JSON.
        Err(_) => name.is_some_and(|name| !known(name)),
    }
}
