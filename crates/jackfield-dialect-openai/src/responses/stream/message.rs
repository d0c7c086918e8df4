//! A message of a reply while it is read.

use jackfield_domain::delta::{BlockStart, Delta};
use serde_json::{Map, Value};

use super::item_reader::{DeltaEmitter, Fault, text};
use crate::responses::state::{self, MessagePart};

/// A message; its parts stay open until it ends, because they carry its fields as state.
#[derive(Debug, Default)]
pub(super) struct Message {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    annotations: usize,
    block: u32,
    index: i64,
    kind: PartKind,
    emitted: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PartKind {
    Refusal,
    Text,
}

impl PartKind {
    /// The kind for a part's type; `None` if it is not text.
    pub(super) fn of(part: &Map<String, Value>) -> Option<Self> {
        match text(part, "type") {
            Some("refusal") => Some(Self::Refusal),
            Some("output_text" | "text") => Some(Self::Text),
            Some(_) | None => None,
        }
    }

    /// The text of a part of this kind.
    fn text_in(self, part: &Map<String, Value>) -> &str {
        let key = match self {
            Self::Refusal => "refusal",
            Self::Text => "text",
        };
        text(part, key).unwrap_or_default()
    }
}

impl Message {
    /// Whether it contains a refusal.
    pub(super) fn is_refusal(&self) -> bool {
        self.parts.iter().any(|part| part.kind == PartKind::Refusal)
    }

    /// The part with this index, started if it is new; without an index the last one.
    fn part(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<&mut Part, Fault> {
        let last = self.parts.last().map_or(0, |part| part.index);
        let index = index.unwrap_or(last);
        let place = self.parts.iter().position(|part| part.index == index);
        let place = match place {
            Some(place) => place,
            None => {
                let block = emitter.start_block(match kind {
                    PartKind::Refusal => BlockStart::Refusal,
                    PartKind::Text => BlockStart::Text,
                });
                self.parts.push(Part {
                    annotations: 0,
                    block,
                    index,
                    kind,
                    emitted: String::new(),
                });
                self.parts.len() - 1
            }
        };
        let part = self.parts.get_mut(place).ok_or("a part is missing")?;
        if part.kind != kind {
            return Err("a piece does not fit its part");
        }
        Ok(part)
    }

    pub(super) fn append(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        words: &str,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        let part = self.part(index, kind, emitter)?;
        part.emitted.push_str(words);
        emitter.push_text(part.block, words);
        Ok(())
    }

    /// Sets the whole text of a part.
    pub(super) fn complete(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        words: &str,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        self.part(index, kind, emitter)?.complete(words, emitter);
        Ok(())
    }

    pub(super) fn annotate(
        &mut self,
        index: Option<i64>,
        annotation: Value,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        self.part(index, PartKind::Text, emitter)?
            .annotate(annotation, emitter);
        Ok(())
    }

    /// A part at its start or at its end.
    pub(super) fn whole_part(
        &mut self,
        index: Option<i64>,
        fields: &Map<String, Value>,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        match PartKind::of(fields) {
            Some(kind) => {
                self.part(index, kind, emitter)?.read(kind, fields, emitter);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends the message; returns whether it contains a refusal.
    pub(super) fn end(
        mut self,
        fields: &Map<String, Value>,
        emitter: &mut DeltaEmitter<'_>,
    ) -> bool {
        let content = fields.get("content");
        // Some servers send a string in place of parts.
        let plain = content.and_then(Value::as_str).map(|text| {
            let fields = [("type", "output_text"), ("text", text)];
            let fields = fields.map(|(key, text)| (key.to_owned(), Value::from(text)));
            Map::from_iter(fields)
        });
        let parts = content.and_then(Value::as_array).into_iter().flatten();
        let parts = parts.filter_map(Value::as_object).chain(plain.as_ref());
        let known = parts.filter_map(|part| Some((PartKind::of(part)?, part)));
        // Parts are matched by their order; a server's index is ignored.
        for (n, (kind, part)) in known.enumerate() {
            if n == self.parts.len() {
                let free = self.parts.iter().map(|part| part.index).max();
                let free = free.map_or(0, |most| most.saturating_add(1));
                if self.part(Some(free), kind, emitter).is_err() {
                    break;
                }
            }
            if let Some(open) = self.parts.get_mut(n).filter(|open| open.kind == kind) {
                open.read(kind, part, emitter);
            }
        }
        let item = state::without(fields, &state::FIELDS_OF_MESSAGE);
        for (n, part) in self.parts.iter().enumerate() {
            emitter.set_state(part.block, state::MESSAGE, MessagePart::write(&item, n));
            emitter.end_block(part.block);
        }
        self.is_refusal()
    }
}

impl Part {
    fn read(
        &mut self,
        kind: PartKind,
        fields: &Map<String, Value>,
        emitter: &mut DeltaEmitter<'_>,
    ) {
        self.complete(kind.text_in(fields), emitter);
        let annotations = fields.get("annotations").and_then(Value::as_array);
        let new = annotations.into_iter().flatten().skip(self.annotations);
        for annotation in new {
            self.annotate(annotation.clone(), emitter);
        }
    }

    /// Emits the text not emitted yet. If the emitted text differs, it stays, as it cannot be taken back.
    fn complete(&mut self, words: &str, emitter: &mut DeltaEmitter<'_>) {
        if let Some(rest) = words.strip_prefix(&*self.emitted) {
            emitter.push_text(self.block, rest);
            self.emitted.push_str(rest);
        }
    }

    fn annotate(&mut self, annotation: Value, emitter: &mut DeltaEmitter<'_>) {
        self.annotations += 1;
        if self.kind == PartKind::Text && annotation.is_object() {
            emitter.deltas.push(Delta::AnnotationAdded {
                index: self.block,
                annotation: state::annotation(annotation),
            });
        }
    }
}
