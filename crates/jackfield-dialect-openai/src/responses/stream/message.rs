//! A message of a reply while it is read.

use jackfield_domain::delta::{BlockStart, Delta};
use serde_json::{Map, Value};

use super::item::{Fault, Told, text};
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
    told: String,
}

/// The kind of a part.
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
    fn words(self, part: &Map<String, Value>) -> &str {
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
        told: &mut Told<'_>,
    ) -> Result<&mut Part, Fault> {
        let last = self.parts.last().map_or(0, |part| part.index);
        let index = index.unwrap_or(last);
        let place = self.parts.iter().position(|part| part.index == index);
        let place = match place {
            Some(place) => place,
            None => {
                let block = told.start(match kind {
                    PartKind::Refusal => BlockStart::Refusal,
                    PartKind::Text => BlockStart::Text,
                });
                self.parts.push(Part {
                    annotations: 0,
                    block,
                    index,
                    kind,
                    told: String::new(),
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

    /// Adds text.
    pub(super) fn append(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        words: &str,
        told: &mut Told<'_>,
    ) -> Result<(), Fault> {
        let part = self.part(index, kind, told)?;
        part.told.push_str(words);
        told.text(part.block, words);
        Ok(())
    }

    /// Sets the whole text of a part.
    pub(super) fn complete(
        &mut self,
        index: Option<i64>,
        kind: PartKind,
        words: &str,
        told: &mut Told<'_>,
    ) -> Result<(), Fault> {
        self.part(index, kind, told)?.complete(words, told);
        Ok(())
    }

    /// Adds an annotation.
    pub(super) fn annotate(
        &mut self,
        index: Option<i64>,
        annotation: Value,
        told: &mut Told<'_>,
    ) -> Result<(), Fault> {
        self.part(index, PartKind::Text, told)?
            .annotate(annotation, told);
        Ok(())
    }

    /// A part at its start or at its end.
    pub(super) fn whole_part(
        &mut self,
        index: Option<i64>,
        fields: &Map<String, Value>,
        told: &mut Told<'_>,
    ) -> Result<(), Fault> {
        match PartKind::of(fields) {
            Some(kind) => {
                self.part(index, kind, told)?.read(kind, fields, told);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends the message; returns whether it contains a refusal.
    pub(super) fn end(mut self, fields: &Map<String, Value>, told: &mut Told<'_>) -> bool {
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
                if self.part(Some(free), kind, told).is_err() {
                    break;
                }
            }
            if let Some(open) = self.parts.get_mut(n).filter(|open| open.kind == kind) {
                open.read(kind, part, told);
            }
        }
        let item = state::without(fields, &state::FIELDS_OF_MESSAGE);
        for (n, part) in self.parts.iter().enumerate() {
            told.state(part.block, state::MESSAGE, MessagePart::write(&item, n));
            told.end(part.block);
        }
        self.is_refusal()
    }
}

impl Part {
    fn read(&mut self, kind: PartKind, fields: &Map<String, Value>, told: &mut Told<'_>) {
        self.complete(kind.words(fields), told);
        let annotations = fields.get("annotations").and_then(Value::as_array);
        let new = annotations.into_iter().flatten().skip(self.annotations);
        for annotation in new {
            self.annotate(annotation.clone(), told);
        }
    }

    /// Emits the text not emitted yet. If the emitted text differs, it stays, as it cannot be taken back.
    fn complete(&mut self, words: &str, told: &mut Told<'_>) {
        if let Some(rest) = words.strip_prefix(&*self.told) {
            told.text(self.block, rest);
            self.told.push_str(rest);
        }
    }

    fn annotate(&mut self, annotation: Value, told: &mut Told<'_>) {
        self.annotations += 1;
        if self.kind == PartKind::Text && annotation.is_object() {
            told.out.push(Delta::AnnotationAdded {
                index: self.block,
                annotation: state::annotation(annotation),
            });
        }
    }
}
