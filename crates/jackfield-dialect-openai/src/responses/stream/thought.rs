//! Reasoning while it is written: always one part of a summary, regardless of its owner's parts, so that live and
//! late streams have the same events. The final item is in its owner's form.

use serde_json::{Value, json};

use super::block_writer::Waiting;
use super::out::{Out, Told};
use crate::responses::reply::item_id;
use crate::responses::state;
use crate::responses::wire::Item;

impl Waiting {
    pub(super) fn thinking(&mut self, out: &mut Out) {
        if !self.told && !self.begin_thinking(out) {
            return;
        }
        self.news(Told::Summary, out);
        if !self.ended {
            return;
        }
        let at = (self.place, &*self.id);
        if !self.text.is_empty() {
            let about = json!({ "summary_index": 0, "text": self.text });
            out.about("response.reasoning_summary_text.done", at, about);
            let about = json!({ "summary_index": 0, "part": part(&self.text) });
            out.about("response.reasoning_summary_part.done", at, about);
        }
        if let Some(item) = self.made(out).reasoning(&self.text) {
            out.done(self.place, item);
        }
    }

    /// Starts the item, if its id is known and there is text; returns whether it is started.
    fn begin_thinking(&mut self, out: &mut Out) -> bool {
        let id = if self.ended {
            let known = state::of_dialect(&self.states, state::REASONING);
            if let Some(item) = known.and_then(state::reasoning) {
                // The owner's text is the one that is sent back later.
                self.text = state::words_of_reasoning(item);
            }
            match self.made(out).reasoning(&self.text) {
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
            let known = known.and_then(state::begun_id).map(str::to_owned);
            let made = || item_id("rs", &out.about.id, out.next_place());
            known.or_else(|| out.is_foreign().then(made))
        };
        let Some(id) = id else {
            return false;
        };
        let item = json!({ "type": "reasoning", "id": id, "summary": [] });
        self.begin(id, &item, out);
        if !self.text.is_empty() {
            let about = json!({ "summary_index": 0, "part": part("") });
            let at = (self.place, &*self.id);
            out.about("response.reasoning_summary_part.added", at, about);
        }
        true
    }
}

fn part(text: &str) -> Value {
    json!({ "type": "summary_text", "text": text })
}
