//! The kinds of opaque state in this dialect, and how to read them.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy};
use jackfield_domain::opaque::{OpaqueState, StateOwner};
use serde_json::{Map, Value};

use crate::DIALECT;

/// The signature of a thinking block: a string.
pub(crate) const SIGNATURE: &str = "signature";
/// The data of a redacted thinking block: a string.
pub(crate) const REDACTED: &str = "redacted_thinking";
/// The caller of a tool, model or code: an object.
pub(crate) const CALLER: &str = "caller";
/// The toolset of a called tool: a string.
pub(crate) const TOOLSET: &str = "toolset_name";
/// All fields of a provider-run call but its input: an object.
pub(crate) const PROVIDER_CALL: &str = "provider_call";
/// The settings of a system message, `clear_at` and `output_config`: an object.
pub(crate) const MESSAGE_SETTINGS: &str = "message_settings";
/// The details of a refusal: an object.
pub(crate) const STOP_DETAILS: &str = "stop_details";

/// The types of blocks for calls of the provider's own tools.
pub(crate) const PROVIDER_CALLS: [&str; 2] = ["server_tool_use", "mcp_tool_use"];

/// The block types that the mappers handle, which are therefore never opaque.
pub(crate) const KNOWN_BLOCKS: [&str; 9] = [
    "document",
    "image",
    "mcp_tool_use",
    "redacted_thinking",
    "server_tool_use",
    "text",
    "thinking",
    "tool_result",
    "tool_use",
];

/// Whether this is a document that consists of blocks, which the domain's documents never do.
fn is_of_blocks(fields: &Map<String, Value>) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let source = fields.get("source").and_then(|source| source.get("type"));
    text(fields.get("type")).as_deref() == Some("document")
        && text(source).as_deref() == Some("content")
}

/// A provider-run call in its owner's form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderCall<'a> {
    /// Its fields, without the input.
    pub(crate) fields: &'a Map<String, Value>,
    pub(crate) id: &'a str,
}

/// A call that this owner ran itself, if the block is one and its state is complete.
pub(crate) fn provider_call<'a>(block: &'a Block, owner: &StateOwner) -> Option<ProviderCall<'a>> {
    let Content::ToolCall(call) = &block.content else {
        return None;
    };
    if call.ran_by != RanBy::Provider {
        return None;
    }
    let (_, json) = find(&block.opaque, owner, PROVIDER_CALL)?;
    let fields = json.as_object()?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let sound = PROVIDER_CALLS.contains(&text("type")?)
        && text("name")? == call.name.as_str()
        && !fields.contains_key("input");
    let id = text("id")?;
    sound.then_some(ProviderCall { fields, id })
}

/// The id of the call that a provider's own result block answers.
pub(crate) fn result_of(json: &Value) -> Option<&str> {
    let kind = json.get("type")?.as_str()?;
    if !kind.ends_with("_tool_result") {
        return None;
    }
    json.get("tool_use_id")?.as_str()
}

/// The state of this kind from any owner of this dialect, which a client of the dialect may see.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// A block of this dialect in its owner's form.
pub(crate) fn fields_of(opaque: &OpaqueBlock) -> Option<&Map<String, Value>> {
    let fields = opaque.json.as_object()?;
    let known = fields.get("type").and_then(Value::as_str);
    let is_other = !KNOWN_BLOCKS.contains(&&*opaque.kind) || is_of_blocks(fields);
    let sound = known == Some(&*opaque.kind) && is_other;
    (sound && *opaque.owner.dialect == *DIALECT).then_some(fields)
}
