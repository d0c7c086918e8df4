//! What opaque state there is in this dialect, and how it is read.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::block::{Annotation, OpaqueBlock};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Map, Value, json};

use super::DIALECT;

/// Everything of a call's item but what the domain has a word for: an object.
pub(crate) const CALL: &str = "call_item";
/// Which part of which message a text or refusal is: an object with `part`, a number, and `item`,
/// everything of the message but its role and content.
pub(crate) const MESSAGE: &str = "message_item";
/// Everything of an output's item but what the domain has a word for: an object.
pub(crate) const OUTPUT: &str = "output_item";
/// A whole item of reasoning: an object. Until the item has ended, an object with its `id` and nothing
/// else, which cannot be sent back.
pub(crate) const REASONING: &str = "reasoning_item";

/// The types of items that the mappers know themselves, and that are therefore never opaque.
pub(crate) const KNOWN_ITEMS: [&str; 6] = [
    "custom_tool_call",
    "custom_tool_call_output",
    "function_call",
    "function_call_output",
    "message",
    "reasoning",
];

/// The types of items with which a client makes the provider act: they never pass.
pub(crate) const ACTING_ITEMS: [&str; 4] = [
    "additional_tools",
    "compaction_trigger",
    "configuration_update",
    "mcp_approval_response",
];

/// State of a block.
pub(crate) fn of_block(owner: &StateOwner, kind: &str, json: Value) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner.clone(),
        scope: StateScope::Block,
    }
}

/// Which part of which message a block is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessagePart<'a> {
    pub(crate) item: &'a Map<String, Value>,
    pub(crate) part: u64,
}

impl<'a> MessagePart<'a> {
    /// What the state says; `None` if it is not of this form.
    pub(crate) fn read(json: &'a Value) -> Option<Self> {
        let fields = json.as_object()?;
        let item = fields.get("item")?.as_object()?;
        let part = fields.get("part")?.as_u64()?;
        // These are said by the block itself.
        let sound =
            fields.len() == 2 && !FIELDS_OF_MESSAGE.iter().any(|key| item.contains_key(*key));
        sound.then_some(Self { item, part })
    }

    /// Whether this is the part after that one, of the same message.
    pub(crate) fn follows(&self, before: &Self) -> bool {
        before.part.checked_add(1) == Some(self.part) && self.item == before.item
    }

    pub(crate) fn write(item: &Map<String, Value>, part: usize) -> Value {
        json!({ "item": item, "part": part })
    }
}

/// The fields of a message that its blocks say.
pub(crate) const FIELDS_OF_MESSAGE: [&str; 3] = ["content", "role", "type"];
/// The fields of a call that its block says.
pub(crate) const FIELDS_OF_CALL: [&str; 5] = ["arguments", "call_id", "input", "name", "type"];
/// The fields of an output that its block says.
pub(crate) const FIELDS_OF_OUTPUT: [&str; 3] = ["call_id", "output", "type"];

/// The fields of an item without those that something else says.
pub(crate) fn without(fields: &Map<String, Value>, said: &[&str]) -> Map<String, Value> {
    let rest = fields
        .iter()
        .filter(|(key, _)| !said.contains(&key.as_str()));
    rest.map(|(key, json)| (key.clone(), json.clone()))
        .collect()
}

/// The fields that say something: some servers write null where there is nothing, and the vendor refuses
/// it in most places.
pub(crate) fn said(fields: &Map<String, Value>) -> Map<String, Value> {
    let said = fields.iter().filter(|(_, json)| !json.is_null());
    said.map(|(key, json)| (key.clone(), json.clone()))
        .collect()
}

/// The fields of a state that is an object and says nothing that the block says.
pub(crate) fn fields<'a>(json: &'a Value, said: &[&str]) -> Option<&'a Map<String, Value>> {
    let fields = json.as_object()?;
    (!said.iter().any(|key| fields.contains_key(*key))).then_some(fields)
}

/// State of reasoning that has begun: what its owner calls it.
pub(crate) fn begun(id: &str) -> Value {
    json!({ "id": id })
}

/// What its owner calls reasoning that has begun, and has not ended.
pub(crate) fn begun_id(json: &Value) -> Option<&str> {
    let id = json.get("id").and_then(Value::as_str);
    id.filter(|id| !id.is_empty() && reasoning(json).is_none())
}

/// The item of reasoning in a state.
pub(crate) fn reasoning(json: &Value) -> Option<&Map<String, Value>> {
    let fields = json.as_object()?;
    (fields.get("type").and_then(Value::as_str) == Some("reasoning")).then_some(fields)
}

/// The words of an item of reasoning, one part after another with empty lines between: its summary, then
/// its text.
pub(crate) fn words_of_reasoning(fields: &Map<String, Value>) -> String {
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

/// An item of this dialect as its owner wrote it.
pub(crate) fn fields_of(opaque: &OpaqueBlock) -> Option<&Map<String, Value>> {
    let fields = opaque.json.as_object()?;
    let known = fields.get("type").and_then(Value::as_str);
    let kind = &*opaque.kind;
    let carried = !KNOWN_ITEMS.contains(&kind) && !ACTING_ITEMS.contains(&kind);
    let sound = known == Some(&*opaque.kind) && carried;
    (sound && *opaque.owner.dialect == *DIALECT).then_some(fields)
}

/// The state of this kind that any owner of this dialect left: what a client of the dialect is shown.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// Arguments as text; some write the JSON itself.
pub(crate) fn arguments_text(json: &Value) -> String {
    match json {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => json.to_string(),
    }
}

/// A remark as the vendor wrote it.
pub(crate) fn annotation(json: Value) -> Annotation {
    let (title, url) = annotation_source(&json);
    Annotation {
        dialect: DIALECT.into(),
        title: title.map(Into::into),
        url: url.map(Into::into),
        json,
    }
}

/// Title and address of a remark's source.
pub(crate) fn annotation_source(json: &Value) -> (Option<String>, Option<String>) {
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
    (text("title").or_else(|| text("filename")), text("url"))
}
