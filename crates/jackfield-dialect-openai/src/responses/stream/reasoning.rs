//! Reasoning of a reply while it is read.

use jackfield_domain::delta::BlockStart;
use serde_json::{Map, Value};

use super::item::{Told, text};
use crate::responses::state;

/// A reasoning item: one block, whose text is that of its parts separated by empty lines.
#[derive(Debug)]
pub(super) struct Reasoning {
    block: u32,
    parts: Vec<Part>,
    /// All text emitted so far.
    said: String,
}

#[derive(Debug)]
struct Part {
    index: i64,
    kind: PartKind,
    told: String,
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PartKind {
    /// A part of the summary.
    Summary,
    /// A part of the reasoning itself, which only some servers send.
    Text,
}

impl Reasoning {
    /// Emits the server's id at once, as an encoder needs it before the text.
    pub(super) fn begin(id: Option<&str>, told: &mut Told<'_>) -> Self {
        let block = told.start(BlockStart::Thinking { redacted: false });
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            told.state(block, state::REASONING, state::begun(id));
        }
        Self {
            block,
            parts: Vec::new(),
            said: String::new(),
        }
    }

    /// Adds text to a part, or sets its whole text; without an index the last part of its kind.
    pub(super) fn say(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        words: &str,
        whole: bool,
        told: &mut Told<'_>,
    ) {
        let mut known = self.parts.iter().rev().filter(|part| part.kind == kind);
        let index = index.unwrap_or_else(|| known.next().map_or(0, |part| part.index));
        let place = self
            .parts
            .iter()
            .position(|part| part.kind == kind && part.index == index);
        let place = place.unwrap_or_else(|| {
            self.parts.push(Part {
                index,
                kind,
                told: String::new(),
            });
            self.parts.len() - 1
        });
        let last = place + 1 == self.parts.len();
        let Some(part) = self.parts.get_mut(place) else {
            return;
        };
        let more = if whole {
            // If the emitted text differs, it stays, as it cannot be taken back.
            words.strip_prefix(&*part.told).unwrap_or_default()
        } else {
            words
        };
        if more.is_empty() || (whole && !last) {
            return;
        }
        if part.told.is_empty() && !self.said.is_empty() {
            told.text(self.block, BETWEEN);
            self.said.push_str(BETWEEN);
        }
        self.said.push_str(more);
        part.told.push_str(more);
        told.text(self.block, more);
    }

    /// Ends the item. Its initial fields may be incomplete and are not kept.
    pub(super) fn end(mut self, fields: &Map<String, Value>, sure: bool, told: &mut Told<'_>) {
        // Some servers stream several final parts as one, or text as a summary.
        let known = state::words_of_reasoning(fields) == self.said;
        let kinds = [(PartKind::Summary, "summary"), (PartKind::Text, "content")];
        for (kind, key) in kinds.into_iter().filter(|_| !known) {
            let parts = fields.get(key).and_then(Value::as_array);
            // Parts are matched by their order; a server's index is ignored.
            for (n, part) in parts.into_iter().flatten().enumerate() {
                let of_kind = |part: &&Part| part.kind == kind;
                let known = self.parts.iter().filter(of_kind).nth(n);
                let most = self.parts.iter().map(|part| part.index).max();
                let new = most.map_or(0, |most| most.saturating_add(1));
                let index = known.map_or(new, |part| part.index);
                let words = part.as_object().and_then(|part| text(part, "text"));
                self.say(Some(index), kind, words.unwrap_or_default(), true, told);
            }
        }
        if sure {
            let item = Value::Object(fields.clone());
            told.state(self.block, state::REASONING, item);
        }
        told.end(self.block);
    }
}

/// The separator between two parts.
const BETWEEN: &str = "\n\n";
