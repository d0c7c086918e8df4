//! The output of an encoder: its events, and their items.

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_domain::outcome::ToolOutcome;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::responses::DIALECT;
use crate::responses::reply::{ServerCall, empty_response};
use crate::responses::wire::{Item, Response};

/// The output so far.
///
/// Events are numbered one by one, from 0; the numbers that an earlier attempt at the reply may have used are
/// skipped. The events of a text depend on the text alone, not on its fragments: a replay of a live stream yields
/// the same events with the same numbers.
#[derive(Debug)]
pub(super) struct EventWriter {
    pub(super) about: ReplyInfo,
    pub(super) events: Vec<SseEvent>,
    /// Events up to this number are not written, as the client has them.
    resume_after: Option<u64>,
    /// The items, each set once it has ended.
    items: Vec<Option<Item>>,
    /// Server tool calls without an outcome.
    running: Vec<RunningCall>,
    /// The number of events so far, including skipped ones.
    event_count: u64,
}

/// A server tool call without an outcome.
#[derive(Debug)]
struct RunningCall {
    call: String,
    item: ServerCall,
    output_index: usize,
}

/// A piece of a text.
#[derive(Debug, Serialize)]
struct TextDeltaEvent<'a> {
    #[serde(rename = "type")]
    name: &'static str,
    sequence_number: u64,
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<u32>,
    delta: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

/// The kind of text of a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DeltaKind {
    Arguments,
    /// The input of a text tool's call.
    Input,
    /// An explanation of a refusal.
    Refusal,
    /// Arguments of a server tool call.
    ServerArguments,
    Summary,
    Words,
}

impl EventWriter {
    pub(super) const fn new(about: ReplyInfo, after: Option<u64>) -> Self {
        Self {
            about,
            resume_after: after,
            events: Vec::new(),
            items: Vec::new(),
            running: Vec::new(),
            event_count: 0,
        }
    }

    /// Whether the reply comes in another dialect, whose items have no ids.
    pub(super) fn is_foreign(&self) -> bool {
        let dialect = self.about.dialect.as_deref();
        dialect.is_some_and(|dialect| dialect != DIALECT)
    }

    /// The response so far, without its items.
    pub(super) fn empty_response(&self) -> Response {
        empty_response(&self.about)
    }

    /// The index of the next item.
    pub(super) fn next_output_index(&self) -> usize {
        self.items.len()
    }

    /// The items that have ended.
    pub(super) fn finished_items(&self) -> Vec<Item> {
        self.items.iter().flatten().cloned().collect()
    }

    /// All items; no more will follow.
    pub(super) fn take_items(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.items)
            .into_iter()
            .flatten()
            .collect()
    }

    /// Writes an event with these fields.
    pub(super) fn push(&mut self, name: &'static str, fields: Value) {
        let Some(number) = self.next_number() else {
            return;
        };
        let mut event = json!({ "type": name, "sequence_number": number });
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.events.push(SseEvent {
            data: event.to_string(),
            event: Some(name),
        });
    }

    /// Writes an event about an item.
    pub(super) fn push_item_event(
        &mut self,
        name: &'static str,
        (place, id): (usize, &str),
        fields: Value,
    ) {
        let mut about = json!({ "item_id": id, "output_index": place });
        if let (Value::Object(about), Value::Object(fields)) = (&mut about, fields) {
            about.extend(fields);
        }
        self.push(name, about);
    }

    /// Writes the event for a piece of an item's text.
    pub(super) fn push_text_delta(
        &mut self,
        kind: DeltaKind,
        (place, id): (usize, &str),
        text: &str,
    ) {
        let Some(number) = self.next_number() else {
            return;
        };
        let (content_index, summary_index) = match kind {
            DeltaKind::Refusal | DeltaKind::Words => (Some(0), None),
            DeltaKind::Summary => (None, Some(0)),
            DeltaKind::Arguments | DeltaKind::Input | DeltaKind::ServerArguments => (None, None),
        };
        let piece = TextDeltaEvent {
            name: kind.name(),
            sequence_number: number,
            item_id: id,
            output_index: place,
            content_index,
            summary_index,
            delta: text,
            logprobs: (kind == DeltaKind::Words).then_some([]),
        };
        // Serialization cannot fail: there are only numbers and strings.
        let Ok(data) = serde_json::to_string(&piece) else {
            return;
        };
        self.events.push(SseEvent {
            data,
            event: Some(piece.name),
        });
    }

    /// Starts an item, and returns its index.
    pub(super) fn start_item(&mut self, item: &Value) -> usize {
        let place = self.items.len();
        self.items.push(None);
        let fields = json!({ "output_index": place, "item": item });
        self.push("response.output_item.added", fields);
        place
    }

    /// Ends the item with this index.
    pub(super) fn finish_item(&mut self, place: usize, item: Item) {
        let fields = json!({ "output_index": place, "item": item });
        self.push("response.output_item.done", fields);
        if let Some(slot) = self.items.get_mut(place) {
            *slot = Some(item);
        }
    }

    /// Records a complete server tool call, whose item ends with its outcome.
    pub(super) fn start_server_call(&mut self, call: String, place: usize, item: ServerCall) {
        self.running.push(RunningCall {
            call,
            item,
            output_index: place,
        });
    }

    /// Ends the item of a recorded server tool call with its outcome.
    pub(super) fn finish_server_call(&mut self, outcome: &ToolOutcome) {
        let is_same_call = |running: &RunningCall| running.call == outcome.call.as_str();
        let Some(n) = self.running.iter().position(is_same_call) else {
            return;
        };
        let RunningCall {
            item,
            output_index: place,
            ..
        } = self.running.remove(n);
        let name = if outcome.result.is_error {
            "response.mcp_call.failed"
        } else {
            "response.mcp_call.completed"
        };
        self.push_item_event(name, (place, item.id()), Value::Object(Map::new()));
        self.finish_item(place, item.ended_item(Some(&outcome.result)));
    }

    /// Ends the recorded calls without an outcome.
    pub(super) fn finish_server_calls(&mut self) {
        for RunningCall {
            item,
            output_index: place,
            ..
        } in std::mem::take(&mut self.running)
        {
            self.finish_item(place, item.ended_item(None));
        }
    }

    /// Skips the numbers that the earlier attempt of a retried reply may have used. Returns whether the client has
    /// none of its events; otherwise it only gets the end, under the next number.
    pub(super) fn skip_attempt(&mut self) -> bool {
        let next_attempt = self.event_count.saturating_add(MAX_EVENTS);
        if let Some(after) = self.resume_after
            && (self.event_count..next_attempt).contains(&after)
        {
            self.event_count = after + 1;
            return false;
        }
        self.event_count = next_attempt;
        true
    }

    /// The number of the next event; `None` if the client has it.
    fn next_number(&mut self) -> Option<u64> {
        let number = self.event_count;
        self.event_count += 1;
        self.resume_after
            .is_none_or(|after| number > after)
            .then_some(number)
    }
}

/// More events than a reply can have: it has [`ReplyAccumulator::MAX_UNITS`] of 24 bits, and at most three events
/// for each.
///
/// [`ReplyAccumulator::MAX_UNITS`]: jackfield_domain::accumulator::ReplyAccumulator::MAX_UNITS
const MAX_EVENTS: u64 = 1 << 26;

impl DeltaKind {
    /// The name of the event for a piece.
    const fn name(self) -> &'static str {
        match self {
            Self::Arguments => "response.function_call_arguments.delta",
            Self::Input => "response.custom_tool_call_input.delta",
            Self::Refusal => "response.refusal.delta",
            Self::ServerArguments => "response.mcp_call_arguments.delta",
            Self::Summary => "response.reasoning_summary_text.delta",
            Self::Words => "response.output_text.delta",
        }
    }
}
