//! The kinds of opaque state in this dialect, and how to read them.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::block::{Annotation, OpaqueBlock};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Map, Value, json};

use super::DIALECT;

/// The fields of a call's item that the domain lacks: an object.
pub(crate) const CALL: &str = "call_item";
/// The part and message of a text or refusal: an object with `part`, a number, and `item`, all fields of the
/// message but role and content.
pub(crate) const MESSAGE: &str = "message_item";
/// The fields of an output's item that the domain lacks: an object.
pub(crate) const OUTPUT: &str = "output_item";
/// A whole reasoning item: an object. Until the item has ended, an object with only its `id`, which cannot be sent
/// back.
pub(crate) const REASONING: &str = "reasoning_item";

/// The item types that the mappers handle, which are therefore never opaque.
pub(crate) const KNOWN_ITEMS: [&str; 6] = [
    "custom_tool_call",
    "custom_tool_call_output",
    "function_call",
    "function_call_output",
    "message",
    "reasoning",
];

/// The item types by which a client makes the provider act; they are never passed on.
pub(crate) const ACTING_ITEMS: [&str; 4] = [
    "additional_tools",
    "compaction_trigger",
    "configuration_update",
    "mcp_approval_response",
];

pub(crate) fn block_state(owner: &StateOwner, kind: &str, json: Value) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner.clone(),
        scope: StateScope::Block,
    }
}

/// The part and message of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessagePart<'a> {
    pub(crate) item: &'a Map<String, Value>,
    pub(crate) part: u64,
}

impl<'a> MessagePart<'a> {
    /// Reads the state; `None` if it does not have this form.
    pub(crate) fn read(json: &'a Value) -> Option<Self> {
        let fields = json.as_object()?;
        let item = fields.get("item")?.as_object()?;
        let part = fields.get("part")?.as_u64()?;
        // The block itself holds these.
        let sound =
            fields.len() == 2 && !FIELDS_OF_MESSAGE.iter().any(|key| item.contains_key(*key));
        sound.then_some(Self { item, part })
    }

    /// Whether this part directly follows `before` in the same message.
    pub(crate) fn follows(&self, before: &Self) -> bool {
        before.part.checked_add(1) == Some(self.part) && self.item == before.item
    }

    pub(crate) fn write(item: &Map<String, Value>, part: usize) -> Value {
        json!({ "item": item, "part": part })
    }
}

/// The fields of a message that its blocks hold.
pub(crate) const FIELDS_OF_MESSAGE: [&str; 3] = ["content", "role", "type"];
/// The fields of a call that its block holds.
pub(crate) const FIELDS_OF_CALL: [&str; 5] = ["arguments", "call_id", "input", "name", "type"];
/// The fields of an output that its block holds.
pub(crate) const FIELDS_OF_OUTPUT: [&str; 3] = ["call_id", "output", "type"];

/// The fields of an item without those that the block holds.
pub(crate) fn without(fields: &Map<String, Value>, block_fields: &[&str]) -> Map<String, Value> {
    let rest = fields
        .iter()
        .filter(|(key, _)| !block_fields.contains(&key.as_str()));
    rest.map(|(key, json)| (key.clone(), json.clone()))
        .collect()
}

/// The fields that are not null: some servers send null for missing values, and the vendor refuses it in most
/// places.
pub(crate) fn without_nulls(fields: &Map<String, Value>) -> Map<String, Value> {
    let present = fields.iter().filter(|(_, json)| !json.is_null());
    present
        .map(|(key, json)| (key.clone(), json.clone()))
        .collect()
}

/// The fields of a state, if it is an object with none of the fields that the block holds.
pub(crate) fn fields<'a>(json: &'a Value, block_fields: &[&str]) -> Option<&'a Map<String, Value>> {
    let fields = json.as_object()?;
    (!block_fields.iter().any(|key| fields.contains_key(*key))).then_some(fields)
}

/// The state of reasoning that has started: its owner's id.
pub(crate) fn reasoning_start(id: &str) -> Value {
    json!({ "id": id })
}

/// The owner's id of reasoning that has started and has not ended.
pub(crate) fn reasoning_start_id(json: &Value) -> Option<&str> {
    let id = json.get("id").and_then(Value::as_str);
    id.filter(|id| !id.is_empty() && reasoning(json).is_none())
}

/// The reasoning item in a state.
pub(crate) fn reasoning(json: &Value) -> Option<&Map<String, Value>> {
    let fields = json.as_object()?;
    (fields.get("type").and_then(Value::as_str) == Some("reasoning")).then_some(fields)
}

/// The text of a reasoning item, its parts separated by empty lines: its summary, then its text.
pub(crate) fn reasoning_text(fields: &Map<String, Value>) -> String {
    let parts = ["summary", "content"].into_iter().flat_map(|key| {
        let parts = fields.get(key).and_then(Value::as_array);
        parts.into_iter().flatten()
    });
    let texts: Vec<&str> = parts
        .filter_map(|part| part.get("text")?.as_str())
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n\n")
}

/// An item of this dialect in its owner's form.
pub(crate) fn fields_of(opaque: &OpaqueBlock) -> Option<&Map<String, Value>> {
    let fields = opaque.json.as_object()?;
    let known = fields.get("type").and_then(Value::as_str);
    let kind = &*opaque.kind;
    let carried = !KNOWN_ITEMS.contains(&kind) && !ACTING_ITEMS.contains(&kind);
    let sound = known == Some(&*opaque.kind) && carried;
    (sound && *opaque.owner.dialect == *DIALECT).then_some(fields)
}

/// The state of this kind from any owner of this dialect, which a client of the dialect may see.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// The arguments as a string; some servers send the JSON itself.
pub(crate) fn arguments_text(json: &Value) -> String {
    match json {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => json.to_string(),
    }
}

/// An annotation in the vendor's form.
pub(crate) fn annotation(json: Value) -> Annotation {
    let (title, url) = annotation_source(&json);
    Annotation {
        dialect: DIALECT.into(),
        title: title.map(Into::into),
        url: url.map(Into::into),
        json,
    }
}

/// Title and URL of an annotation's source.
pub(crate) fn annotation_source(json: &Value) -> (Option<String>, Option<String>) {
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
    (text("title").or_else(|| text("filename")), text("url"))
}
