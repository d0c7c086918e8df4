//! The items of a reply for a client: one for each block.
//!
//! Ids of messages and calls are made here, because a stream tells them before it is known what the
//! provider called them. Reasoning and what only its owner understands keep their own.

use jackfield_dialect_kit::serve::About;
use jackfield_domain::block::{Annotation, UpstreamId};
use jackfield_domain::opaque::OpaqueState;
use serde_json::{Map, Value, json};

use crate::responses::{DIALECT, namespaces, state, wire};

/// A stable id of the item at this place of a reply, in the form that the vendor wants back, from which
/// the reply can be found.
pub(crate) fn item_id(prefix: &str, reply: &str, place: usize) -> String {
    format!("{prefix}_{reply}_{place}")
}

/// The id of an item without the provider's id of its call, and that, if it has one in it.
pub(crate) fn without_upstream(id: &str) -> (&str, Option<&str>) {
    match id.split_once(UPSTREAM) {
        Some((item, upstream)) if fits(upstream) => (item, Some(upstream)),
        Some(_) | None => (id, None),
    }
}

/// What stands before a provider's id of a call: nothing else in an id of ours has it.
const UPSTREAM: char = '-';

/// Whether an id may stand in one of ours.
fn fits(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&id.len()) && id.bytes().all(plain)
}

/// What items are made of that are not taken over as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    /// What the reply is about: the id in it is that of the reply, without its prefix.
    pub(crate) about: &'a About,
    /// The place among its items.
    pub(crate) place: usize,
    /// What is known of the block.
    pub(crate) states: &'a [OpaqueState],
    /// What the provider calls the call, if it is one.
    pub(crate) upstream: Option<&'a UpstreamId>,
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
            extra: extra(
                item_id("msg", &self.about.id, self.place),
                known,
                Some(status),
            ),
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
        let id = self.call_item_id("fc", call_id);
        let (name, extra) = self.named(name, extra(id, self.known_call(), Some(status)));
        wire::Item::FunctionCall(wire::Call {
            arguments: Value::from(arguments),
            call_id: call_id.to_owned(),
            name,
            extra,
        })
    }

    /// A call of a tool that takes text.
    pub(crate) fn custom_call(&self, call_id: &str, name: &str, input: &str) -> wire::Item {
        let id = self.call_item_id("ctc", call_id);
        let (name, extra) = self.named(name, extra(id, self.known_call(), None));
        wire::Item::CustomToolCall(wire::CustomCall {
            call_id: call_id.to_owned(),
            input: input.to_owned(),
            name,
            extra,
        })
    }

    /// The name of a called tool as its client gave it, and its namespace among the other fields.
    fn named(&self, name: &str, mut extra: Map<String, Value>) -> (String, Map<String, Value>) {
        let table = self.about.echo.get(namespaces::TABLE);
        let (namespace, name) = namespaces::original(table, name);
        if let Some(namespace) = namespace {
            extra.insert("namespace".to_owned(), namespace.into());
        }
        (name.to_owned(), extra)
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
            .or_insert_with(|| item_id("rs", &self.about.id, self.place).into());
        fields.entry("summary").or_insert_with(|| json!([]));
        Some(wire::Item::Reasoning(wire::Reasoning { fields }))
    }

    fn known_call(&self) -> Option<&Map<String, Value>> {
        let known = state::of_dialect(self.states, state::CALL)?;
        state::fields(known, &state::FIELDS_OF_CALL)
    }

    /// The id of the item of a call.
    ///
    /// A provider of this dialect holds its reasoning against the call behind it, and a client that keeps its
    /// conversation itself knows that call by our id alone: so the provider's own stands in that of the item.
    pub(crate) fn call_item_id(&self, prefix: &str, call_id: &str) -> String {
        let id = item_id(prefix, &self.about.id, self.place);
        let is_told = |upstream: &&UpstreamId| {
            *upstream.owner.dialect == *DIALECT && *upstream.id != *call_id && fits(&upstream.id)
        };
        match self.upstream.filter(is_told) {
            Some(upstream) => format!("{id}{UPSTREAM}{}", upstream.id),
            None => id,
        }
    }
}

/// The fields of an item that no block says: our own, and what its owner wrote beside them.
fn extra(
    id: String,
    known: Option<&Map<String, Value>>,
    status: Option<&str>,
) -> Map<String, Value> {
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

/// The remarks that a client of this dialect can read.
pub(crate) fn annotations(all: &[Annotation]) -> Vec<Value> {
    let readable = all.iter().filter(|annotation| is_readable(annotation));
    readable.map(|annotation| annotation.json.clone()).collect()
}

pub(crate) fn is_readable(annotation: &Annotation) -> bool {
    *annotation.dialect == *DIALECT && annotation.json.is_object()
}
