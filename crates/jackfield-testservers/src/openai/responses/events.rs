//! A response as events: each has a number, and the last one contains the whole response.

use serde_json::{Map, Value, json};

use super::super::ids;
use super::super::rules::{items, text};
use crate::script::cut;
use crate::vendor::Post;

/// Every event of a response.
pub(super) fn all(asked: &Post<'_>, output: &[Value], done: &Value) -> String {
    let options = asked.body.get("stream_options");
    let pads = options.and_then(|options| options.get("include_obfuscation")?.as_bool());
    let mut events = ResponseEvents {
        nth: asked.nth,
        pads: pads != Some(false),
        text: String::new(),
        told: 0,
    };
    let mut begun = done.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    for name in ["completed_at", "incomplete_details", "usage"] {
        begun[name] = Value::Null;
    }
    events.send("response.created", json!({ "response": begun }));
    events.send("response.in_progress", json!({ "response": begun }));
    for (index, item) in output.iter().enumerate() {
        events.item(index, item);
    }
    let last = format!("response.{}", text(done, "status"));
    events.send(&last, json!({ "response": done }));
    events.text
}

struct ResponseEvents {
    nth: usize,
    pads: bool,
    text: String,
    told: usize,
}

impl ResponseEvents {
    fn item(&mut self, index: usize, item: &Value) {
        let mut begun = item.clone();
        for (name, blank) in BLANK {
            if begun.get(*name).is_some() {
                begun[*name] = serde_json::from_str(blank).unwrap_or_default();
            }
        }
        let added = json!({ "output_index": index, "item": begun });
        self.send("response.output_item.added", added);
        let place = json!({ "item_id": text(item, "id"), "output_index": index });
        match text(item, "type") {
            "function_call" => self.written(&place, "function_call_arguments", item, "arguments"),
            "custom_tool_call" => self.written(&place, "custom_tool_call_input", item, "input"),
            "reasoning" => {
                for (n, part) in items(item.get("summary")).iter().enumerate() {
                    let place = with(&place, "summary_index", json!(n));
                    let mut begun = part.clone();
                    begun["text"] = json!("");
                    let name = "response.reasoning_summary_part";
                    self.send(&format!("{name}.added"), with(&place, "part", begun));
                    self.written(&place, "reasoning_summary_text", part, "text");
                    self.send(&format!("{name}.done"), with(&place, "part", part.clone()));
                }
            }
            _ => {
                for (n, part) in items(item.get("content")).iter().enumerate() {
                    self.part(&with(&place, "content_index", json!(n)), part);
                }
            }
        }
        let done = json!({ "output_index": index, "item": item });
        self.send("response.output_item.done", done);
    }

    /// The events of a part of a message.
    fn part(&mut self, place: &Value, part: &Value) {
        let (event, field) = if text(part, "type") == "refusal" {
            ("refusal", "refusal")
        } else {
            ("output_text", "text")
        };
        let mut begun = part.clone();
        begun[field] = json!("");
        let name = "response.content_part";
        self.send(&format!("{name}.added"), with(place, "part", begun));
        self.written(place, event, part, field);
        self.send(&format!("{name}.done"), with(place, "part", part.clone()));
    }

    /// The events of a text: its fragments, and then the whole.
    fn written(&mut self, place: &Value, event: &str, whole: &Value, field: &str) {
        let said = text(whole, field);
        let place = if event == "output_text" {
            with(place, "logprobs", json!([]))
        } else {
            place.clone()
        };
        for piece in cut(said) {
            let mut delta = with(&place, "delta", json!(piece));
            if self.pads {
                delta["obfuscation"] = json!(ids::obfuscation(self.nth, self.told));
            }
            self.send(&format!("response.{event}.delta"), delta);
        }
        let done = with(&place, field, json!(said));
        self.send(&format!("response.{event}.done"), done);
    }

    fn send(&mut self, kind: &str, mut data: Value) {
        let mut fields = Map::from_iter([
            ("type".to_owned(), json!(kind)),
            ("sequence_number".to_owned(), json!(self.told)),
        ]);
        if let Some(data) = data.as_object_mut() {
            fields.append(data);
        }
        self.told += 1;
        let data = Value::Object(fields);
        self.text
            .push_str(&format!("event: {kind}\ndata: {data}\n\n"));
    }
}

fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[name] = value;
    object
}

/// The initial values of an item's fields.
const BLANK: &[(&str, &str)] = &[
    ("arguments", "\"\""),
    ("content", "[]"),
    // The initial value may be incomplete.
    ("encrypted_content", "\"gAAAAAhalf\""),
    ("input", "\"\""),
    ("status", "\"in_progress\""),
    ("summary", "[]"),
];
