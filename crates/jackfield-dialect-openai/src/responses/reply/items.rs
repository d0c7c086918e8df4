//! The items of a reply for a client: one for each block.
//!
//! Ids of messages and calls are made here, because a stream tells them before it is known what the
//! provider called them. Reasoning and what only its owner understands keep their own.

use jackfield_domain::block::Annotation;
use jackfield_domain::opaque::OpaqueState;
use serde_json::{Map, Value, json};

use crate::responses::{DIALECT, state, wire};

/// A stable id of the item at this place of a reply, in the form that the vendor wants back, from which
/// the reply can be found.
pub(crate) fn item_id(prefix: &str, reply: &str, place: usize) -> String {
    format!("{prefix}_{reply}_{place}")
}

/// What items are made of that are not taken over as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    /// The id of the reply, without its prefix.
    pub(crate) reply: &'a str,
    /// The place among its items.
    pub(crate) place: usize,
    /// What is known of the block.
    pub(crate) states: &'a [OpaqueState],
}

impl Made<'_> {
    /// A message of one part.
    pub(crate) fn message(&self, part: wire::Part, status: &str) -> wire::Item {
        let known = state::of_dialect(self.states, state::MESSAGE);
        let known = known
            .and_then(state::MessagePart::read)
            .map(|part| part.item);
        let content = wire::Content::Parts(vec![part]);
        wire::Item::Message(wire::Message {
            role: wire::Role::Assistant,
            content,
            extra: self.extra("msg", known, Some(status)),
        })
    }

    /// A call of a tool that takes JSON.
    pub(crate) fn call(
        &self,
        call_id: &str,
        name: &str,
        arguments: &str,
        status: &str,
    ) -> wire::Item {
        wire::Item::FunctionCall(wire::Call {
            arguments: Value::from(arguments),
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            extra: self.extra("fc", self.known_call(), Some(status)),
        })
    }

    /// A call of a tool that takes text.
    pub(crate) fn custom_call(&self, call_id: &str, name: &str, input: &str) -> wire::Item {
        wire::Item::CustomToolCall(wire::CustomCall {
            call_id: call_id.to_owned(),
            input: input.to_owned(),
            name: name.to_owned(),
            extra: self.extra("ctc", self.known_call(), None),
        })
    }

    /// Reasoning: as its owner wrote it, or its text as a summary; `None` if there is neither. It is
    /// called as its owner calls it, also where nothing more is known.
    pub(crate) fn reasoning(&self, text: &str) -> Option<wire::Item> {
        let known = state::of_dialect(self.states, state::REASONING);
        let mut fields = match known.and_then(state::reasoning) {
            Some(known) => state::without(known, &["type"]),
            None if text.is_empty() => return None,
            None => {
                let summary = json!([{ "type": "summary_text", "text": text }]);
                let summary = ("summary".to_owned(), summary);
                let id = known.and_then(state::begun_id);
                let id = id.map(|id| ("id".to_owned(), Value::from(id)));
                std::iter::once(summary).chain(id).collect()
            }
        };
        // Some servers leave these out, and clients cannot do without.
        fields
            .entry("id")
            .or_insert_with(|| item_id("rs", self.reply, self.place).into());
        fields.entry("summary").or_insert_with(|| json!([]));
        Some(wire::Item::Reasoning(wire::Reasoning { fields }))
    }

    fn known_call(&self) -> Option<&Map<String, Value>> {
        let known = state::of_dialect(self.states, state::CALL)?;
        state::fields(known, &state::FIELDS_OF_CALL)
    }

    fn extra(
        &self,
        prefix: &str,
        known: Option<&Map<String, Value>>,
        status: Option<&str>,
    ) -> Map<String, Value> {
        let id = item_id(prefix, self.reply, self.place);
        let mut extra = Map::from_iter([("id".to_owned(), Value::from(id))]);
        if let Some(status) = status {
            extra.insert("status".to_owned(), status.into());
        }
        for (key, json) in known.into_iter().flatten() {
            if key != "id" && (key != "status" || !extra.contains_key(key)) {
                extra.insert(key.clone(), json.clone());
            }
        }
        extra
    }
}

/// The remarks that a client of this dialect can read.
pub(crate) fn annotations(all: &[Annotation]) -> Vec<Value> {
    let readable = all.iter().filter(|annotation| is_readable(annotation));
    readable.map(|annotation| annotation.json.clone()).collect()
}

pub(crate) fn is_readable(annotation: &Annotation) -> bool {
    *annotation.dialect == *DIALECT && annotation.json.is_object()
}
