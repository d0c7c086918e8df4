//! Rules for single items.

use jackfield_dialect_openai::profile::SystemRole;
use serde_json::{Map, Value};

use super::parts::{INPUT, OUTPUT};
use crate::openai::form::{Field, Is, may, need};
use crate::openai::{Found, Rule};
use crate::place::{Place, text_of};

/// The item types that are not checked further.
const OTHERS: &[&str] = &[
    "additional_tools",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "configuration_update",
    "file_search_call",
    "image_generation_call",
    "item_reference",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

const STATUS: Is = Is::OneOf(&["in_progress", "completed", "incomplete"]);
const PHASE: Field = may(
    "phase",
    Is::OrNull(&Is::OneOf(&["commentary", "final_answer"])),
);
const ID: Is = Is::Words(64);
const TYPE: Field = need("type", Is::Text);

/// A message to the model, or an assistant message of which only the text is known.
const MESSAGE: [Field; 5] = [
    need("content", Is::Any),
    PHASE,
    need(
        "role",
        Is::OneOf(&["assistant", "developer", "system", "user"]),
    ),
    may("status", STATUS),
    may("type", Is::OneOf(&["message"])),
];
/// An assistant message with its original fields.
const SAID: [Field; 6] = [
    need("content", Is::Any),
    need("id", ID),
    PHASE,
    need("role", Is::OneOf(&["assistant"])),
    need("status", STATUS),
    need("type", Is::OneOf(&["message"])),
];
const FUNCTION_CALL: [Field; 9] = [
    need("arguments", Is::Arguments),
    may("async", Is::Bool),
    need("call_id", Is::CallId),
    may("caller", Is::OrNull(&Is::Object)),
    may("id", ID),
    need("name", Is::Name(128)),
    may("namespace", Is::Text),
    may("status", STATUS),
    TYPE,
];
const FUNCTION_OUTPUT: [Field; 8] = [
    need("call_id", Is::CallId),
    may("caller", Is::OrNull(&Is::Object)),
    may("id", Is::OrNull(&ID)),
    may("name", Is::OrNull(&Is::Text)),
    may("namespace", Is::OrNull(&Is::Text)),
    need("output", Is::Any),
    may("status", Is::OrNull(&STATUS)),
    TYPE,
];
const CUSTOM_CALL: [Field; 8] = [
    may("async", Is::Bool),
    need("call_id", Is::CallId),
    may("caller", Is::OrNull(&Is::Object)),
    may("id", ID),
    need("input", Is::Text),
    need("name", Is::Name(128)),
    may("namespace", Is::Text),
    TYPE,
];
const CUSTOM_OUTPUT: [Field; 5] = [
    need("call_id", Is::CallId),
    may("caller", Is::OrNull(&Is::Object)),
    may("id", ID),
    need("output", Is::Any),
    TYPE,
];
const REASONING: [Field; 6] = [
    may("content", Is::List),
    may("encrypted_content", Is::OrNull(&Is::Text)),
    need("id", ID),
    may("status", STATUS),
    need("summary", Is::List),
    TYPE,
];
const THOUGHT: [Field; 2] = [need("text", Is::Text), TYPE];

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, root: &Place) {
    let place = root.at("input");
    let items = match body.get("input") {
        None | Some(Value::Null | Value::String(_)) => return,
        Some(items) => found.some(items, &place),
    };
    let stored = body.get("store") != Some(&Value::Bool(false));
    for (n, each) in items.iter().enumerate() {
        item(found, each, stored, &place.at(n));
    }
}

fn item(found: &mut Found<'_>, item: &Value, stored: bool, place: &Place) {
    match kind_of(item) {
        "message" => message(found, item, place),
        "function_call" => {
            found.form(item, &FUNCTION_CALL, place);
        }
        "function_call_output" => {
            found.form(item, &FUNCTION_OUTPUT, place);
            output(found, item, place);
        }
        "custom_tool_call" => {
            found.check(found.profile.custom_tools, place, Rule::NotTaken);
            found.form(item, &CUSTOM_CALL, place);
        }
        "custom_tool_call_output" => {
            found.form(item, &CUSTOM_OUTPUT, place);
            output(found, item, place);
        }
        "reasoning" => reasoning(found, item, stored, place),
        kind => {
            let known = OTHERS.contains(&kind);
            found.check(known, &place.at("type"), Rule::WrongValue);
        }
    }
}

/// The type of an item, which a message may omit.
pub(super) fn kind_of(item: &Value) -> &str {
    match text_of(item, "type") {
        "" if item.get("role").is_some() => "message",
        kind => kind,
    }
}

fn message(found: &mut Found<'_>, item: &Value, place: &Place) {
    let of_model = text_of(item, "role") == "assistant";
    let content = item.get("content");
    if of_model && content.is_some_and(Value::is_array) {
        found.form(item, &SAID, place);
    } else {
        found.form(item, &MESSAGE, place);
    }
    let developer = text_of(item, "role") == "developer";
    let known = !developer || found.profile.system_role == SystemRole::Developer;
    found.check(known, &place.at("role"), Rule::RoleOutOfPlace);
    let types = if of_model { OUTPUT } else { INPUT };
    if let Some(content) = content {
        found.content(content, types, &place.at("content"));
    }
}

fn output(found: &mut Found<'_>, item: &Value, place: &Place) {
    if let Some(output) = item.get("output") {
        found.content(output, INPUT, &place.at("output"));
    }
}

fn reasoning(found: &mut Found<'_>, item: &Value, stored: bool, place: &Place) {
    found.form(item, &REASONING, place);
    for (key, kind) in [("content", "reasoning_text"), ("summary", "summary_text")] {
        let place = place.at(key);
        let thoughts = item.get(key).and_then(Value::as_array);
        for (n, thought) in thoughts.into_iter().flatten().enumerate() {
            let place = place.at(n);
            found.form(thought, &THOUGHT, &place);
            let sound = text_of(thought, "type") == kind;
            found.check(sound, &place.at("type"), Rule::WrongValue);
        }
    }
    // Reasoning that the vendor has not stored must be included.
    let whole = !text_of(item, "encrypted_content").is_empty();
    let needed = found.profile.encrypted_reasoning && !stored;
    let place = place.at("encrypted_content");
    found.check(whole || !needed, &place, Rule::ReasoningMissing);
}
