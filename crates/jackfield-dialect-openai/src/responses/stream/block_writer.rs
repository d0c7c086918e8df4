//! A block of a reply while it is written.

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::BlockStart;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::server_tool::ServerTool;
use serde_json::{Value, json};

use super::event_writer::{DeltaKind, EventWriter};
use super::pieces::Pieces;
use crate::responses::reply::{ItemBuilder, ServerCall, item_id, text_of_media};
use crate::responses::state;
use crate::responses::wire::{Item, Part};

/// A block that was not written completely.
#[derive(Debug)]
pub(super) struct BlockWriter {
    pub(super) annotations: Vec<Value>,
    pub(super) ended: bool,
    /// The id of its item, once that has started.
    pub(super) id: String,
    /// The block's index in the domain.
    pub(super) index: u32,
    /// The index of its item, once that has started.
    pub(super) output_index: usize,
    pub(super) states: Vec<OpaqueState>,
    /// All text or arguments so far.
    pub(super) text: String,
    /// Whether its start was written.
    pub(super) started: bool,
    call: String,
    start: BlockStart,
    /// How much of the text was written, in bytes.
    written: usize,
}

impl BlockWriter {
    pub(super) const fn new(index: u32, start: BlockStart, call: String) -> Self {
        Self {
            annotations: Vec::new(),
            ended: false,
            id: String::new(),
            index,
            output_index: 0,
            states: Vec::new(),
            text: String::new(),
            started: false,
            call,
            start,
            written: 0,
        }
    }

    pub(super) fn write_new(&mut self, out: &mut EventWriter) {
        match &self.start {
            BlockStart::Refusal => self.write_text(DeltaKind::Refusal, out),
            BlockStart::Text => self.write_text(DeltaKind::Words, out),
            BlockStart::Thinking { .. } => self.write_thinking(out),
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            } => self.write_server_call(out),
            BlockStart::ToolCall { json, name, .. } => {
                let (json, name) = (*json, name.to_string());
                self.write_call(json, &name, out);
            }
            BlockStart::Whole(Content::ToolOutcome(outcome)) => {
                if self.ended {
                    out.finish_server_call(outcome);
                }
            }
            BlockStart::Whole(_) => {
                if self.ended {
                    self.write_whole(out);
                }
            }
        }
    }

    pub(super) fn item_builder<'a>(&'a self, out: &'a EventWriter) -> ItemBuilder<'a> {
        let place = if self.started {
            self.output_index
        } else {
            out.next_output_index()
        };
        ItemBuilder {
            about: &out.about,
            output_index: place,
            states: &self.states,
            upstream: match &self.start {
                BlockStart::ToolCall { upstream, .. } => upstream.as_ref(),
                BlockStart::Refusal
                | BlockStart::Text
                | BlockStart::Thinking { .. }
                | BlockStart::Whole(_) => None,
            },
        }
    }

    /// Starts the item of this block.
    pub(super) fn begin(&mut self, id: String, item: &Value, out: &mut EventWriter) {
        self.started = true;
        self.output_index = out.start_item(item);
        self.id = id;
    }

    /// Writes the rest of the text and arguments of an interrupted reply.
    pub(super) fn write_rest(&mut self, out: &mut EventWriter) {
        let kind = match &self.start {
            _ if !self.started => return,
            BlockStart::Refusal => DeltaKind::Refusal,
            BlockStart::Text => DeltaKind::Words,
            BlockStart::Thinking { .. } => DeltaKind::Summary,
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            }
            | BlockStart::Whole(_) => return,
            BlockStart::ToolCall { json: true, .. } => DeltaKind::Arguments,
            BlockStart::ToolCall { json: false, .. } => DeltaKind::Input,
        };
        let rest = self.text.get(self.written..).unwrap_or_default();
        for piece in Pieces::new(rest, self.written == 0, true) {
            out.push_text_delta(kind, (self.output_index, &self.id), piece);
        }
        self.written = self.text.len();
    }

    /// Writes the new text in pieces, as far as their boundaries are certain.
    pub(super) fn write_pieces(&mut self, kind: DeltaKind, out: &mut EventWriter) {
        let rest = self.text.get(self.written..).unwrap_or_default();
        for piece in Pieces::new(rest, self.written == 0, self.ended) {
            out.push_text_delta(kind, (self.output_index, &self.id), piece);
            self.written += piece.len();
        }
    }

    fn write_text(&mut self, kind: DeltaKind, out: &mut EventWriter) {
        // Empty text has no events.
        if self.text.is_empty() {
            return;
        }
        let refusal = kind == DeltaKind::Refusal;
        let part = |text: &str, annotations: &[Value]| {
            let text = text.to_owned();
            if refusal {
                Part::Refusal { refusal: text }
            } else {
                let annotations = annotations.to_vec();
                Part::OutputText { text, annotations }
            }
        };
        if !self.started {
            let id = item_id("msg", &out.about.id, out.next_output_index());
            let item = json!({ "type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": [] });
            self.begin(id, &item, out);
            let fields = json!({ "content_index": 0, "part": part("", &[]) });
            out.push_item_event(
                "response.content_part.added",
                (self.output_index, &self.id),
                fields,
            );
        }
        self.write_pieces(kind, out);
        if !self.ended {
            return;
        }
        let at = (self.output_index, &*self.id);
        // The arrival of annotations is not deterministic: writing all of them at the end gives them a fixed place.
        let annotations = if refusal { &[][..] } else { &self.annotations };
        for (n, annotation) in annotations.iter().enumerate() {
            let fields =
                json!({ "content_index": 0, "annotation_index": n, "annotation": annotation });
            out.push_item_event("response.output_text.annotation.added", at, fields);
        }
        if refusal {
            let fields = json!({ "content_index": 0, "refusal": self.text });
            out.push_item_event("response.refusal.done", at, fields);
        } else {
            let fields = json!({ "content_index": 0, "text": self.text, "logprobs": [] });
            out.push_item_event("response.output_text.done", at, fields);
        }
        let part = part(&self.text, annotations);
        let fields = json!({ "content_index": 0, "part": part });
        out.push_item_event("response.content_part.done", at, fields);
        let item = self.item_builder(out).message(part, "completed");
        out.finish_item(self.output_index, item);
    }

    fn write_call(&mut self, json: bool, name: &str, out: &mut EventWriter) {
        let (kind, done_name, key, prefix) = if json {
            let done = "response.function_call_arguments.done";
            (DeltaKind::Arguments, done, "arguments", "fc")
        } else {
            let done = "response.custom_tool_call_input.done";
            (DeltaKind::Input, done, "input", "ctc")
        };
        if !self.started {
            let builder = self.item_builder(out);
            let id = builder.call_item_id(prefix, &self.call);
            let item = if json {
                builder.call(&self.call, name, "", "in_progress")
            } else {
                builder.custom_call(&self.call, name, "")
            };
            self.begin(id, &json!(item), out);
        }
        self.default_empty_arguments(json);
        self.write_pieces(kind, out);
        if !self.ended {
            return;
        }
        out.push_item_event(
            done_name,
            (self.output_index, &self.id),
            json!({ key: self.text }),
        );
        let builder = self.item_builder(out);
        let item = if json {
            builder.call(&self.call, name, &self.text, "completed")
        } else {
            builder.custom_call(&self.call, name, &self.text)
        };
        out.finish_item(self.output_index, item);
    }

    /// A server tool call. A call that a provider ran is withheld.
    fn write_server_call(&mut self, out: &mut EventWriter) {
        let Some(tool) = ServerTool::from_states(&self.states) else {
            return;
        };
        let id = item_id("mcp", &out.about.id, out.next_output_index());
        let id = if self.started { self.id.clone() } else { id };
        let mut item = ServerCall::new(id, tool);
        if !self.started {
            self.begin(item.id().to_owned(), &json!(item.started_item()), out);
            let at = (self.output_index, &*self.id);
            out.push_item_event("response.mcp_call.in_progress", at, json!({}));
        }
        self.default_empty_arguments(true);
        self.write_pieces(DeltaKind::ServerArguments, out);
        if !self.ended {
            return;
        }
        let fields = json!({ "arguments": self.text });
        let at = (self.output_index, &*self.id);
        out.push_item_event("response.mcp_call_arguments.done", at, fields);
        item.set_arguments(&self.text);
        out.start_server_call(std::mem::take(&mut self.call), self.output_index, item);
    }

    /// Empty arguments become an object, as clients parse them.
    fn default_empty_arguments(&mut self, json: bool) {
        if self.ended && json && self.text.is_empty() {
            self.text.push_str("{}");
        }
    }

    fn write_whole(&mut self, out: &mut EventWriter) {
        let BlockStart::Whole(content) = &self.start else {
            return;
        };
        let text = match content {
            Content::Opaque(opaque) => {
                if let Some(fields) = state::fields_of(opaque) {
                    let item = Item::Other(fields.clone());
                    let place = out.start_item(&json!(item));
                    out.finish_item(place, item);
                    return;
                }
                opaque.fallback.as_deref().map(str::to_owned)
            }
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => text_of_media(content),
        };
        self.text = text.unwrap_or_default();
        self.write_text(DeltaKind::Words, out);
    }
}
