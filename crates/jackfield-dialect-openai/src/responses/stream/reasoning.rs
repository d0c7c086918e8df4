//! Reasoning of a reply while it is read.

use jackfield_domain::delta::BlockStart;
use serde_json::{Map, Value};

use super::item_reader::{DeltaEmitter, text};
use crate::responses::state;

/// A reasoning item: one block, whose text is that of its parts separated by empty lines.
#[derive(Debug)]
pub(super) struct Reasoning {
    block: u32,
    parts: Vec<Part>,
    /// All text emitted so far.
    emitted: String,
}

#[derive(Debug)]
struct Part {
    index: i64,
    kind: PartKind,
    emitted: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PartKind {
    /// A part of the summary.
    Summary,
    /// A part of the reasoning itself, which only some servers send.
    Text,
}

impl Reasoning {
    /// Emits the server's id at once, as an encoder needs it before the text.
    pub(super) fn begin(id: Option<&str>, emitter: &mut DeltaEmitter<'_>) -> Self {
        let block = emitter.start_block(BlockStart::Thinking { redacted: false });
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            emitter.set_state(block, state::REASONING, state::reasoning_start(id));
        }
        Self {
            block,
            parts: Vec::new(),
            emitted: String::new(),
        }
    }

    /// Adds text to a part, or sets its whole text; without an index the last part of its kind.
    pub(super) fn push_text(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        words: &str,
        is_whole: bool,
        emitter: &mut DeltaEmitter<'_>,
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
                emitted: String::new(),
            });
            self.parts.len() - 1
        });
        let last = place + 1 == self.parts.len();
        let Some(part) = self.parts.get_mut(place) else {
            return;
        };
        let more = if is_whole {
            // If the emitted text differs, it stays, as it cannot be taken back.
            words.strip_prefix(&*part.emitted).unwrap_or_default()
        } else {
            words
        };
        if more.is_empty() || (is_whole && !last) {
            return;
        }
        if part.emitted.is_empty() && !self.emitted.is_empty() {
            emitter.push_text(self.block, SEPARATOR);
            self.emitted.push_str(SEPARATOR);
        }
        self.emitted.push_str(more);
        part.emitted.push_str(more);
        emitter.push_text(self.block, more);
    }

    /// Ends the item. Its initial fields may be incomplete and are not kept.
    pub(super) fn end(
        mut self,
        fields: &Map<String, Value>,
        is_final: bool,
        emitter: &mut DeltaEmitter<'_>,
    ) {
        // Some servers stream several final parts as one, or text as a summary.
        let is_emitted = state::reasoning_text(fields) == self.emitted;
        let kinds = [(PartKind::Summary, "summary"), (PartKind::Text, "content")];
        for (kind, key) in kinds.into_iter().filter(|_| !is_emitted) {
            let parts = fields.get(key).and_then(Value::as_array);
            // Parts are matched by their order; a server's index is ignored.
            for (n, part) in parts.into_iter().flatten().enumerate() {
                let of_kind = |part: &&Part| part.kind == kind;
                let known = self.parts.iter().filter(of_kind).nth(n);
                let most = self.parts.iter().map(|part| part.index).max();
                let new = most.map_or(0, |most| most.saturating_add(1));
                let index = known.map_or(new, |part| part.index);
                let words = part.as_object().and_then(|part| text(part, "text"));
                self.push_text(Some(index), kind, words.unwrap_or_default(), true, emitter);
            }
        }
        if is_final {
            let item = Value::Object(fields.clone());
            emitter.set_state(self.block, state::REASONING, item);
        }
        emitter.end_block(self.block);
    }
}

/// The separator between two parts.
const SEPARATOR: &str = "\n\n";
