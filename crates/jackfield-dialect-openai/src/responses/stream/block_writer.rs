//! A block of a reply while it is written.

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::BlockStart;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::server_tool::ServerTool;
use serde_json::{Value, json};

use super::out::{Out, Told};
use super::pieces::Pieces;
use crate::responses::reply::{Made, ServerCall, in_words, item_id};
use crate::responses::state;
use crate::responses::wire::{Item, Part};

/// A block that was not written completely.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) annotations: Vec<Value>,
    pub(super) ended: bool,
    /// The id of its item, once that has started.
    pub(super) id: String,
    /// The block's index in the domain.
    pub(super) index: u32,
    /// The index of its item, once that has started.
    pub(super) place: usize,
    pub(super) states: Vec<OpaqueState>,
    /// All text or arguments so far.
    pub(super) text: String,
    /// Whether its start was written.
    pub(super) told: bool,
    call: String,
    start: BlockStart,
    /// How much of the text was written, in bytes.
    told_text: usize,
}

impl Waiting {
    pub(super) const fn new(index: u32, start: BlockStart, call: String) -> Self {
        Self {
            annotations: Vec::new(),
            ended: false,
            id: String::new(),
            index,
            place: 0,
            states: Vec::new(),
            text: String::new(),
            told: false,
            call,
            start,
            told_text: 0,
        }
    }

    /// Writes what is new.
    pub(super) fn tell(&mut self, out: &mut Out) {
        match &self.start {
            BlockStart::Refusal => self.words(Told::Refusal, out),
            BlockStart::Text => self.words(Told::Words, out),
            BlockStart::Thinking { .. } => self.thinking(out),
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            } => self.server_call(out),
            BlockStart::ToolCall { json, name, .. } => {
                let (json, name) = (*json, name.to_string());
                self.call(json, &name, out);
            }
            BlockStart::Whole(Content::ToolOutcome(outcome)) => {
                if self.ended {
                    out.ran(outcome);
                }
            }
            BlockStart::Whole(_) => {
                if self.ended {
                    self.whole(out);
                }
            }
        }
    }

    pub(super) fn made<'a>(&'a self, out: &'a Out) -> Made<'a> {
        let place = if self.told {
            self.place
        } else {
            out.next_place()
        };
        Made {
            about: &out.about,
            place,
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
    pub(super) fn begin(&mut self, id: String, item: &Value, out: &mut Out) {
        self.told = true;
        self.place = out.added(item);
        self.id = id;
    }

    /// Writes the rest of the text and arguments of an interrupted reply.
    pub(super) fn tell_rest(&mut self, out: &mut Out) {
        let told = match &self.start {
            _ if !self.told => return,
            BlockStart::Refusal => Told::Refusal,
            BlockStart::Text => Told::Words,
            BlockStart::Thinking { .. } => Told::Summary,
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            }
            | BlockStart::Whole(_) => return,
            BlockStart::ToolCall { json: true, .. } => Told::Arguments,
            BlockStart::ToolCall { json: false, .. } => Told::Input,
        };
        let rest = self.text.get(self.told_text..).unwrap_or_default();
        for piece in Pieces::of(rest, self.told_text == 0, true) {
            out.piece(told, (self.place, &self.id), piece);
        }
        self.told_text = self.text.len();
    }

    /// Writes the new text in pieces, as far as their boundaries are certain.
    pub(super) fn news(&mut self, told: Told, out: &mut Out) {
        let rest = self.text.get(self.told_text..).unwrap_or_default();
        for piece in Pieces::of(rest, self.told_text == 0, self.ended) {
            out.piece(told, (self.place, &self.id), piece);
            self.told_text += piece.len();
        }
    }

    fn words(&mut self, told: Told, out: &mut Out) {
        // Empty text has no events.
        if self.text.is_empty() {
            return;
        }
        let refusal = told == Told::Refusal;
        let part = |text: &str, annotations: &[Value]| {
            let text = text.to_owned();
            if refusal {
                Part::Refusal { refusal: text }
            } else {
                let annotations = annotations.to_vec();
                Part::OutputText { text, annotations }
            }
        };
        if !self.told {
            let id = item_id("msg", &out.about.id, out.next_place());
            let item = json!({ "type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": [] });
            self.begin(id, &item, out);
            let fields = json!({ "content_index": 0, "part": part("", &[]) });
            out.about(
                "response.content_part.added",
                (self.place, &self.id),
                fields,
            );
        }
        self.news(told, out);
        if !self.ended {
            return;
        }
        let at = (self.place, &*self.id);
        // The arrival of annotations is not deterministic: writing all of them at the end gives them a fixed place.
        let known = if refusal { &[][..] } else { &self.annotations };
        for (n, annotation) in known.iter().enumerate() {
            let fields =
                json!({ "content_index": 0, "annotation_index": n, "annotation": annotation });
            out.about("response.output_text.annotation.added", at, fields);
        }
        if refusal {
            let fields = json!({ "content_index": 0, "refusal": self.text });
            out.about("response.refusal.done", at, fields);
        } else {
            let fields = json!({ "content_index": 0, "text": self.text, "logprobs": [] });
            out.about("response.output_text.done", at, fields);
        }
        let part = part(&self.text, known);
        let fields = json!({ "content_index": 0, "part": part });
        out.about("response.content_part.done", at, fields);
        let item = self.made(out).message(part, "completed");
        out.done(self.place, item);
    }

    fn call(&mut self, json: bool, name: &str, out: &mut Out) {
        let (told, done_name, key, prefix) = if json {
            let done = "response.function_call_arguments.done";
            (Told::Arguments, done, "arguments", "fc")
        } else {
            let done = "response.custom_tool_call_input.done";
            (Told::Input, done, "input", "ctc")
        };
        if !self.told {
            let made = self.made(out);
            let id = made.call_item_id(prefix, &self.call);
            let item = if json {
                made.call(&self.call, name, "", "in_progress")
            } else {
                made.custom_call(&self.call, name, "")
            };
            self.begin(id, &json!(item), out);
        }
        self.nothing_is_an_object(json);
        self.news(told, out);
        if !self.ended {
            return;
        }
        out.about(done_name, (self.place, &self.id), json!({ key: self.text }));
        let made = self.made(out);
        let item = if json {
            made.call(&self.call, name, &self.text, "completed")
        } else {
            made.custom_call(&self.call, name, &self.text)
        };
        out.done(self.place, item);
    }

    /// A server tool call. A call that a provider ran is withheld.
    fn server_call(&mut self, out: &mut Out) {
        let Some(tool) = ServerTool::of(&self.states) else {
            return;
        };
        let id = item_id("mcp", &out.about.id, out.next_place());
        let id = if self.told { self.id.clone() } else { id };
        let mut item = ServerCall::new(id, tool);
        if !self.told {
            self.begin(item.id().to_owned(), &json!(item.begun()), out);
            let at = (self.place, &*self.id);
            out.about("response.mcp_call.in_progress", at, json!({}));
        }
        self.nothing_is_an_object(true);
        self.news(Told::ServerArguments, out);
        if !self.ended {
            return;
        }
        let fields = json!({ "arguments": self.text });
        let at = (self.place, &*self.id);
        out.about("response.mcp_call_arguments.done", at, fields);
        item.set_arguments(&self.text);
        out.runs(std::mem::take(&mut self.call), self.place, item);
    }

    /// Empty arguments become an object, as clients parse them.
    fn nothing_is_an_object(&mut self, json: bool) {
        if self.ended && json && self.text.is_empty() {
            self.text.push_str("{}");
        }
    }

    fn whole(&mut self, out: &mut Out) {
        let BlockStart::Whole(content) = &self.start else {
            return;
        };
        let text = match content {
            Content::Opaque(opaque) => {
                if let Some(fields) = state::fields_of(opaque) {
                    let item = Item::Other(fields.clone());
                    let place = out.added(&json!(item));
                    out.done(place, item);
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
            | Content::ToolOutcome(_) => in_words(content),
        };
        self.text = text.unwrap_or_default();
        self.words(Told::Words, out);
    }
}
