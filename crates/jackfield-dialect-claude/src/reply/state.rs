//! What opaque state there is in this dialect, and how it is read.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy};
use jackfield_domain::opaque::{OpaqueState, StateOwner};
use serde_json::{Map, Value};

use crate::DIALECT;

/// The signature of a thinking block: a text.
pub(crate) const SIGNATURE: &str = "signature";
/// The data of a thinking block that the vendor hides: a text.
pub(crate) const REDACTED: &str = "redacted_thinking";
/// Who made a call, model or code: an object.
pub(crate) const CALLER: &str = "caller";
/// The set that a called tool is a member of: a text.
pub(crate) const TOOLSET: &str = "toolset_name";
/// Everything of a provider-run call but its input: an object.
pub(crate) const PROVIDER_CALL: &str = "provider_call";
/// The settings of a system message, `clear_at` and `output_config`: an object.
pub(crate) const MESSAGE_SETTINGS: &str = "message_settings";
/// Why a reply was refused: an object.
pub(crate) const STOP_DETAILS: &str = "stop_details";

/// The types of block in which a provider calls a tool of its own.
pub(crate) const PROVIDER_CALLS: [&str; 2] = ["server_tool_use", "mcp_tool_use"];

/// The types of block that the mappers know themselves, and that are therefore never opaque.
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

/// Whether this is a document that is made of blocks, which no document of ours is.
fn is_of_blocks(fields: &Map<String, Value>) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let source = fields.get("source").and_then(|source| source.get("type"));
    text(fields.get("type")).as_deref() == Some("document")
        && text(source).as_deref() == Some("content")
}

/// A provider-run call as its owner told it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderCall<'a> {
    /// Its fields, without the input.
    pub(crate) fields: &'a Map<String, Value>,
    pub(crate) id: &'a str,
}

/// A call that this owner ran itself, if the block is one and its state is whole.
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

/// The call that a provider's own result block answers.
pub(crate) fn result_of(json: &Value) -> Option<&str> {
    let kind = json.get("type")?.as_str()?;
    if !kind.ends_with("_tool_result") {
        return None;
    }
    json.get("tool_use_id")?.as_str()
}

/// The state of this kind that any owner of this dialect left: what a client of the dialect is shown.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// A block of this dialect as its owner wrote it.
pub(crate) fn fields_of(opaque: &OpaqueBlock) -> Option<&Map<String, Value>> {
    let fields = opaque.json.as_object()?;
    let known = fields.get("type").and_then(Value::as_str);
    let is_other = !KNOWN_BLOCKS.contains(&&*opaque.kind) || is_of_blocks(fields);
    let sound = known == Some(&*opaque.kind) && is_other;
    (sound && *opaque.owner.dialect == *DIALECT).then_some(fields)
}
