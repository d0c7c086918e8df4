//! Reasoning while it is written: always one part of a summary, regardless of its owner's parts, so that live and
//! late streams have the same events. The final item is in its owner's form.

use serde_json::{Value, json};

use super::block_writer::BlockWriter;
use super::event_writer::{DeltaKind, EventWriter};
use crate::responses::reply::item_id;
use crate::responses::state;
use crate::responses::wire::Item;

impl BlockWriter {
    pub(super) fn write_thinking(&mut self, out: &mut EventWriter) {
        if !self.started && !self.begin_thinking(out) {
            return;
        }
        self.write_pieces(DeltaKind::Summary, out);
        if !self.ended {
            return;
        }
        let at = (self.output_index, &*self.id);
        if !self.text.is_empty() {
            let about = json!({ "summary_index": 0, "text": self.text });
            out.push_item_event("response.reasoning_summary_text.done", at, about);
            let about = json!({ "summary_index": 0, "part": part(&self.text) });
            out.push_item_event("response.reasoning_summary_part.done", at, about);
        }
        if let Some(item) = self.item_builder(out).reasoning(&self.text) {
            out.finish_item(self.output_index, item);
        }
    }

    /// Starts the item, if its id is known and there is text; returns whether it is started.
    fn begin_thinking(&mut self, out: &mut EventWriter) -> bool {
        let id = if self.ended {
            let known = state::of_dialect(&self.states, state::REASONING);
            if let Some(item) = known.and_then(state::reasoning) {
                // The owner's text is the one that is sent back later.
                self.text = state::reasoning_text(item);
            }
            match self.item_builder(out).reasoning(&self.text) {
                Some(Item::Reasoning(reasoning)) => {
                    let id = reasoning.fields.get("id").and_then(Value::as_str);
                    Some(id.unwrap_or_default().to_owned())
                }
                Some(_) | None => None,
            }
        } else if self.text.is_empty() {
            // Empty reasoning may not be written at all.
            None
        } else {
            let known = state::of_dialect(&self.states, state::REASONING);
            let known = known.and_then(state::reasoning_start_id).map(str::to_owned);
            let made = || item_id("rs", &out.about.id, out.next_output_index());
            known.or_else(|| out.is_foreign().then(made))
        };
        let Some(id) = id else {
            return false;
        };
        let item = json!({ "type": "reasoning", "id": id, "summary": [] });
        self.begin(id, &item, out);
        if !self.text.is_empty() {
            let about = json!({ "summary_index": 0, "part": part("") });
            let at = (self.output_index, &*self.id);
            out.push_item_event("response.reasoning_summary_part.added", at, about);
        }
        true
    }
}

fn part(text: &str) -> Value {
    json!({ "type": "summary_text", "text": text })
}
