//! The items of a reply for a client: one for each block.
//!
//! Ids of messages and calls are generated here, because a stream sends them before the provider's ids are known.
//! Reasoning and opaque items keep their own.

use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_domain::block::{Annotation, UpstreamId};
use jackfield_domain::opaque::OpaqueState;
use serde_json::{Map, Value, json};

use crate::responses::{DIALECT, namespaces, state, wire};

/// A stable id of the item at this place of a reply, in the vendor's form; the reply's id can be recovered from it.
pub(crate) fn item_id(prefix: &str, reply: &str, place: usize) -> String {
    format!("{prefix}_{reply}_{place}")
}

/// An item's id without the provider's call id, and that id if it is part of the item's.
pub(crate) fn without_upstream(id: &str) -> (&str, Option<&str>) {
    match id.split_once(UPSTREAM) {
        Some((item, upstream)) if fits(upstream) => (item, Some(upstream)),
        Some(_) | None => (id, None),
    }
}

/// The separator before a provider's call id; no other part of our ids contains it.
const UPSTREAM: char = '-';

/// Whether an id may be part of one of ours.
fn fits(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&id.len()) && id.bytes().all(plain)
}

/// The data for the generated parts of items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemBuilder<'a> {
    /// The description of the reply; its id is the reply's without the prefix.
    pub(crate) about: &'a ReplyInfo,
    /// The index among its items.
    pub(crate) output_index: usize,
    /// The opaque state of the block.
    pub(crate) states: &'a [OpaqueState],
    /// The provider's id of the call, if the block is one.
    pub(crate) upstream: Option<&'a UpstreamId>,
}

impl ItemBuilder<'_> {
    /// A message with one part.
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
                item_id("msg", &self.about.id, self.output_index),
                known,
                Some(status),
            ),
        })
    }

    /// A call with JSON arguments.
    pub(crate) fn call(
        &self,
        call_id: &str,
        name: &str,
        arguments: &str,
        status: &str,
    ) -> wire::Item {
        let id = self.call_item_id("fc", call_id);
        let (name, extra) = self.original_name(name, extra(id, self.known_call(), Some(status)));
        wire::Item::FunctionCall(wire::Call {
            arguments: Value::from(arguments),
            call_id: call_id.to_owned(),
            name,
            extra,
        })
    }

    /// A call of a text tool.
    pub(crate) fn custom_call(&self, call_id: &str, name: &str, input: &str) -> wire::Item {
        let id = self.call_item_id("ctc", call_id);
        let (name, extra) = self.original_name(name, extra(id, self.known_call(), None));
        wire::Item::CustomToolCall(wire::CustomCall {
            call_id: call_id.to_owned(),
            input: input.to_owned(),
            name,
            extra,
        })
    }

    /// The name of a called tool as the client gave it, and its namespace among the other fields.
    fn original_name(
        &self,
        name: &str,
        mut extra: Map<String, Value>,
    ) -> (String, Map<String, Value>) {
        let table = self.about.echo.get(namespaces::TABLE);
        let (namespace, name) = namespaces::original(table, name);
        if let Some(namespace) = namespace {
            extra.insert("namespace".to_owned(), namespace.into());
        }
        (name.to_owned(), extra)
    }

    /// Reasoning: its owner's item, or its text as a summary; `None` if there is neither. It keeps its owner's id
    /// even if nothing more is known.
    pub(crate) fn reasoning(&self, text: &str) -> Option<wire::Item> {
        let known = state::of_dialect(self.states, state::REASONING);
        let mut fields = match known.and_then(state::reasoning) {
            Some(known) => state::without(known, &["type"]),
            None if text.is_empty() => return None,
            None => {
                let summary = json!([{ "type": "summary_text", "text": text }]);
                let summary = ("summary".to_owned(), summary);
                let id = known.and_then(state::reasoning_start_id);
                let id = id.map(|id| ("id".to_owned(), Value::from(id)));
                std::iter::once(summary).chain(id).collect()
            }
        };
        // Some servers omit these fields, which clients require.
        fields
            .entry("id")
            .or_insert_with(|| item_id("rs", &self.about.id, self.output_index).into());
        fields.entry("summary").or_insert_with(|| json!([]));
        Some(wire::Item::Reasoning(wire::Reasoning { fields }))
    }

    fn known_call(&self) -> Option<&Map<String, Value>> {
        let known = state::of_dialect(self.states, state::CALL)?;
        state::fields(known, &state::FIELDS_OF_CALL)
    }

    /// The id of a call's item.
    ///
    /// A provider of this dialect checks its reasoning against the call that follows, and a client that keeps its
    /// own history knows that call only by our id: so the item's id includes the provider's id.
    pub(crate) fn call_item_id(&self, prefix: &str, call_id: &str) -> String {
        let id = item_id(prefix, &self.about.id, self.output_index);
        let is_included = |upstream: &&UpstreamId| {
            *upstream.owner.dialect == *DIALECT && *upstream.id != *call_id && fits(&upstream.id)
        };
        match self.upstream.filter(is_included) {
            Some(upstream) => format!("{id}{UPSTREAM}{}", upstream.id),
            None => id,
        }
    }
}

/// The fields of an item beyond its block: ours, and its owner's.
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

/// The annotations that a client of this dialect can read.
pub(crate) fn annotations(all: &[Annotation]) -> Vec<Value> {
    let readable = all.iter().filter(|annotation| is_readable(annotation));
    readable.map(|annotation| annotation.json.clone()).collect()
}

pub(crate) fn is_readable(annotation: &Annotation) -> bool {
    *annotation.dialect == *DIALECT && annotation.json.is_object()
}
