//! One block of a reply while it is written.

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::BlockStart;
use jackfield_domain::opaque::OpaqueState;
use serde_json::{Map, Value, json};

use super::encoder::Out;
use crate::responses::reply::{Made, in_words, item_id};
use crate::responses::state;
use crate::responses::wire::{Item, Part};

/// A block that has not been told to its end.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) annotations: Vec<Value>,
    pub(super) ended: bool,
    /// The number of the domain.
    pub(super) index: u32,
    pub(super) states: Vec<OpaqueState>,
    /// All words or arguments so far.
    pub(super) text: String,
    call: String,
    start: BlockStart,
    /// The id of the reasoning that is being told.
    thought: String,
    /// Whether its start has been told.
    told: bool,
    told_annotations: usize,
    /// How much of the text has been told, in bytes.
    told_text: usize,
}

impl Waiting {
    pub(super) const fn new(index: u32, start: BlockStart, call: String) -> Self {
        Self {
            annotations: Vec::new(),
            ended: false,
            index,
            states: Vec::new(),
            text: String::new(),
            call,
            start,
            thought: String::new(),
            told: false,
            told_annotations: 0,
            told_text: 0,
        }
    }

    /// Tells what is new.
    pub(super) fn tell(&mut self, out: &mut Out) {
        match &self.start {
            BlockStart::Refusal => self.words(true, out),
            BlockStart::Text => self.words(false, out),
            BlockStart::Thinking { .. } => self.thinking(out),
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            } => {}
            BlockStart::ToolCall { json, name, .. } => {
                let (json, name) = (*json, name.to_string());
                self.call(json, &name, out);
            }
            BlockStart::Whole(_) => {
                if self.ended {
                    self.whole(out);
                }
            }
        }
    }

    fn made<'a>(&'a self, out: &'a Out) -> Made<'a> {
        Made {
            reply: &out.id,
            place: out.items.len(),
            states: &self.states,
        }
    }

    /// The words that have not been told.
    fn news(&mut self) -> Option<String> {
        let news = self.text.get(self.told_text..).unwrap_or_default();
        let news = (!news.is_empty()).then(|| news.to_owned());
        self.told_text = self.text.len();
        news
    }

    fn words(&mut self, refusal: bool, out: &mut Out) {
        // What says nothing is not told at all.
        if self.text.is_empty() {
            return;
        }
        let id = item_id("msg", &out.id, out.items.len());
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
            self.told = true;
            let item = json!({ "type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": [] });
            let fields = json!({ "output_index": out.items.len(), "item": item });
            out.push("response.output_item.added", fields);
            let fields = json!({ "content_index": 0, "part": part("", &[]) });
            out.about("response.content_part.added", &id, fields);
        }
        if let Some(delta) = self.news() {
            if refusal {
                let fields = json!({ "content_index": 0, "delta": delta });
                out.about("response.refusal.delta", &id, fields);
            } else {
                let fields = json!({ "content_index": 0, "delta": delta, "logprobs": [] });
                out.about("response.output_text.delta", &id, fields);
            }
        }
        let known = if refusal { &[][..] } else { &self.annotations };
        for (n, annotation) in known.iter().enumerate().skip(self.told_annotations) {
            let fields =
                json!({ "content_index": 0, "annotation_index": n, "annotation": annotation });
            out.about("response.output_text.annotation.added", &id, fields);
        }
        self.told_annotations = known.len();
        if !self.ended {
            return;
        }
        if refusal {
            let fields = json!({ "content_index": 0, "refusal": self.text });
            out.about("response.refusal.done", &id, fields);
        } else {
            let fields = json!({ "content_index": 0, "text": self.text, "logprobs": [] });
            out.about("response.output_text.done", &id, fields);
        }
        let part = part(&self.text, known);
        let fields = json!({ "content_index": 0, "part": part });
        out.about("response.content_part.done", &id, fields);
        let item = self.made(out).message(part, "completed");
        out.done(item);
    }

    fn call(&mut self, json: bool, name: &str, out: &mut Out) {
        let (delta_name, done_name, key, prefix) = if json {
            (
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "arguments",
                "fc",
            )
        } else {
            (
                "response.custom_tool_call_input.delta",
                "response.custom_tool_call_input.done",
                "input",
                "ctc",
            )
        };
        let id = item_id(prefix, &out.id, out.items.len());
        if !self.told {
            self.told = true;
            let made = self.made(out);
            let item = if json {
                made.call(&self.call, name, "", "in_progress")
            } else {
                made.custom_call(&self.call, name, "")
            };
            out.added(&item);
        }
        if self.ended && json && self.text.is_empty() {
            // Nothing at all means no arguments; clients parse it.
            self.text.push_str("{}");
        }
        if let Some(delta) = self.news() {
            out.about(delta_name, &id, json!({ "delta": delta }));
        }
        if !self.ended {
            return;
        }
        out.about(done_name, &id, json!({ key: self.text }));
        let made = self.made(out);
        let item = if json {
            made.call(&self.call, name, &self.text, "completed")
        } else {
            made.custom_call(&self.call, name, &self.text)
        };
        out.done(item);
    }

    fn thinking(&mut self, out: &mut Out) {
        if !self.told {
            if self.ended {
                self.thought(out);
                return;
            }
            let known = state::of_dialect(&self.states, state::REASONING);
            let known = known.and_then(state::begun_id).map(str::to_owned);
            let made = || item_id("rs", &out.id, out.items.len());
            let Some(id) = known.or_else(|| out.foreign.then(made)) else {
                return;
            };
            // What says nothing may not be told at all.
            if self.text.is_empty() {
                return;
            }
            self.told = true;
            think(&id, out);
            summarize(&id, 0, out);
            self.thought = id;
        }
        if let Some(delta) = self.news() {
            let about = json!({ "summary_index": 0, "delta": delta });
            out.about(
                "response.reasoning_summary_text.delta",
                &self.thought,
                about,
            );
        }
        if self.ended {
            summarized(&self.thought, 0, &self.text, out);
            if let Some(item) = self.made(out).reasoning(&self.text) {
                out.done(item);
            }
        }
    }

    /// Reasoning all of which is known.
    fn thought(&self, out: &mut Out) {
        let Some(item) = self.made(out).reasoning(&self.text) else {
            return;
        };
        let Item::Reasoning(reasoning) = &item else {
            return;
        };
        let fields = reasoning.fields.clone();
        let id = fields.get("id").and_then(Value::as_str).unwrap_or_default();
        think(id, out);
        for (n, text) in texts(&fields, "summary") {
            summarize(id, n, out);
            let about = json!({ "summary_index": n, "delta": text });
            out.about("response.reasoning_summary_text.delta", id, about);
            summarized(id, n, text, out);
        }
        for (n, text) in texts(&fields, "content") {
            let about = json!({ "content_index": n, "delta": text });
            out.about("response.reasoning_text.delta", id, about);
            let about = json!({ "content_index": n, "text": text });
            out.about("response.reasoning_text.done", id, about);
        }
        out.done(item);
    }

    fn whole(&mut self, out: &mut Out) {
        let BlockStart::Whole(content) = &self.start else {
            return;
        };
        let text = match content {
            Content::Opaque(opaque) => {
                if let Some(fields) = state::fields_of(opaque) {
                    let item = Item::Other(fields.clone());
                    out.added(&item);
                    out.done(item);
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
        self.words(false, out);
    }
}

/// Reasoning begins.
fn think(id: &str, out: &mut Out) {
    let begun = json!({ "type": "reasoning", "id": id, "summary": [] });
    let begun = json!({ "output_index": out.items.len(), "item": begun });
    out.push("response.output_item.added", begun);
}

/// A part of a summary begins.
fn summarize(id: &str, n: usize, out: &mut Out) {
    let about = json!({ "summary_index": n, "part": summary_part("") });
    out.about("response.reasoning_summary_part.added", id, about);
}

/// A part of a summary ends.
fn summarized(id: &str, n: usize, text: &str, out: &mut Out) {
    let about = json!({ "summary_index": n, "text": text });
    out.about("response.reasoning_summary_text.done", id, about);
    let about = json!({ "summary_index": n, "part": summary_part(text) });
    out.about("response.reasoning_summary_part.done", id, about);
}

fn summary_part(text: &str) -> Value {
    json!({ "type": "summary_text", "text": text })
}

/// The texts of the parts under a key, with their numbers.
fn texts<'a>(fields: &'a Map<String, Value>, key: &str) -> Vec<(usize, &'a str)> {
    let parts = fields.get(key).and_then(Value::as_array);
    let texts = parts.into_iter().flatten().enumerate();
    texts
        .filter_map(|(n, part)| Some((n, part.get("text")?.as_str()?)))
        .collect()
}
