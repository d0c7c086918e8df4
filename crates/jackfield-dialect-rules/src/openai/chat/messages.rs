//! Rules for single messages.

use jackfield_dialect_openai::profile::{BlankContent, Prefill, ReasoningEcho, SystemRole};
use serde_json::{Map, Value};

use crate::openai::form::{Field, Is, may, need};
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

const INSTRUCTION: [Field; 3] = [
    need("content", Is::Any),
    may("name", Is::Text),
    need("role", Is::Text),
];
const ASSISTANT: [Field; 7] = [
    may("audio", Is::OrNull(&Is::Object)),
    may("content", Is::Any),
    may("function_call", Is::OrNull(&Is::Object)),
    may("name", Is::Text),
    may("refusal", Is::OrNull(&Is::Text)),
    need("role", Is::Text),
    may("tool_calls", Is::Any),
];
/// The field by which a server is told to continue the message.
const PREFIX: Field = may("prefix", Is::Bool);
/// The fields in which compatible servers send reasoning.
const REASONING: [Field; 3] = [
    may("reasoning", Is::OrNull(&Is::Text)),
    may("reasoning_content", Is::OrNull(&Is::Text)),
    may("reasoning_details", Is::OrNull(&Is::List)),
];
const RESULT: [Field; 3] = [
    need("content", Is::Any),
    need("role", Is::Text),
    need("tool_call_id", Is::CallId),
];
const OLD_RESULT: [Field; 3] = [
    need("content", Is::OrNull(&Is::Text)),
    need("name", Is::Name(64)),
    need("role", Is::Text),
];

const FUNCTION_CALL: [Field; 3] = [
    need("function", Is::Object),
    need("id", Is::CallId),
    need("type", Is::Text),
];
const FUNCTION: [Field; 2] = [need("arguments", Is::Arguments), need("name", Is::Name(64))];
const CUSTOM_CALL: [Field; 3] = [
    need("custom", Is::Object),
    need("id", Is::CallId),
    need("type", Is::Text),
];
const CUSTOM: [Field; 2] = [need("input", Is::Text), need("name", Is::Name(64))];

const CACHE: Field = may("prompt_cache_breakpoint", Is::Object);
const TEXT: [Field; 3] = [CACHE, need("text", Is::Text), need("type", Is::Text)];
const REFUSAL: [Field; 2] = [need("refusal", Is::Text), need("type", Is::Text)];
const IMAGE: [Field; 3] = [CACHE, need("image_url", Is::Object), need("type", Is::Text)];
const IMAGE_URL: [Field; 2] = [
    may("detail", Is::OneOf(&["auto", "low", "high", "original"])),
    need("url", Is::Text),
];
const AUDIO: [Field; 3] = [
    CACHE,
    need("input_audio", Is::Object),
    need("type", Is::Text),
];
const INPUT_AUDIO: [Field; 2] = [
    need("data", Is::Text),
    need("format", Is::OneOf(&["wav", "mp3"])),
];
const FILE: [Field; 3] = [CACHE, need("file", Is::Object), need("type", Is::Text)];
const FILE_FILE: [Field; 3] = [
    may("file_data", Is::Text),
    may("file_id", Is::Text),
    may("filename", Is::Text),
];

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, root: &Place) {
    let place = root.at("messages");
    let Some(messages) = body.get("messages").and_then(Value::as_array) else {
        return;
    };
    found.check(!messages.is_empty(), &place, Rule::Empty);
    for (n, message) in messages.iter().enumerate() {
        let place = place.at(n);
        match text_of(message, "role") {
            role @ ("developer" | "system") => {
                let known = match found.profile.system_role {
                    // The vendor treats `system` as `developer`.
                    SystemRole::Developer => true,
                    SystemRole::OneSystem => role == "system" && n == 0,
                    SystemRole::System => role == "system",
                };
                found.check(known, &place.at("role"), Rule::RoleOutOfPlace);
                found.form(message, &INSTRUCTION, &place);
                content(found, message, &["text"], &place);
            }
            "user" => {
                found.form(message, &INSTRUCTION, &place);
                let parts = ["file", "image_url", "input_audio", "text"];
                content(found, message, &parts, &place);
            }
            "assistant" => assistant(found, message, &place),
            "tool" => {
                found.form(message, &RESULT, &place);
                content(found, message, &["text"], &place);
            }
            "function" => {
                found.form(message, &OLD_RESULT, &place);
            }
            _ => found.broken(&place.at("role"), Rule::WrongValue),
        }
    }
}

fn assistant(found: &mut Found<'_>, message: &Value, place: &Place) {
    let mut form = ASSISTANT.to_vec();
    if found.profile.reasoning_echo != ReasoningEcho::Never {
        form.extend(REASONING);
    }
    if matches!(
        found.profile.prefill,
        Prefill::Prefix | Prefill::RepeatedPrefix
    ) {
        form.push(PREFIX);
    }
    let Some(fields) = found.form(message, &form, place) else {
        return;
    };
    let calls = said(fields, "tool_calls");
    let others = ["audio", "function_call", "refusal"];
    let says = calls.is_some() || others.iter().any(|key| said(fields, key).is_some());
    let at = place.at("content");
    match said(fields, "content") {
        Some(_) => content(found, message, &["refusal", "text"], place),
        None if !says => found.broken(&at, Rule::ContentMissing),
        None => {
            let null = found.profile.blank_content == BlankContent::Null;
            found.check(null, &at, Rule::NotTaken);
        }
    }
    let place = place.at("tool_calls");
    if let Some(calls) = calls {
        for (n, call) in found.some(calls, &place).iter().enumerate() {
            tool_call(found, call, &place.at(n));
        }
    }
}

fn tool_call(found: &mut Found<'_>, call: &Value, place: &Place) {
    let (form, inner, kind) = match text_of(call, "type") {
        "custom" => {
            found.check(found.profile.custom_tools, place, Rule::NotTaken);
            (&CUSTOM_CALL, &CUSTOM, "custom")
        }
        "function" => (&FUNCTION_CALL, &FUNCTION, "function"),
        _ => {
            found.broken(&place.at("type"), Rule::WrongValue);
            return;
        }
    };
    found.form(call, form, place);
    if let Some(fields) = call.get(kind) {
        found.form(fields, inner, &place.at(kind));
    }
}

/// A string, or parts of these types.
fn content(found: &mut Found<'_>, message: &Value, types: &[&str], place: &Place) {
    let place = place.at("content");
    let Some(content) = message
        .get("content")
        .filter(|content| !content.is_string())
    else {
        return;
    };
    let parts = found.some(content, &place);
    for (n, each) in parts.iter().enumerate() {
        let place = place.at(n);
        let kind = text_of(each, "type");
        if types.contains(&kind) {
            part(found, each, kind, &place);
        } else {
            found.broken(&place, Rule::PartOutOfPlace);
        }
    }
    // One or more texts, or exactly one refusal.
    let refused = parts.iter().any(|part| text_of(part, "type") == "refusal");
    found.check(!refused || parts.len() == 1, &place, Rule::Exclusive);
}

fn part(found: &mut Found<'_>, part: &Value, kind: &str, place: &Place) {
    let profile = *found.profile;
    let (form, inner, taken): (&[Field], &[Field], bool) = match kind {
        "file" => (&FILE, &FILE_FILE, profile.files),
        "image_url" => (&IMAGE, &IMAGE_URL, profile.images),
        "input_audio" => (&AUDIO, &INPUT_AUDIO, profile.audio),
        "refusal" => (&REFUSAL, &[], true),
        _ => (&TEXT, &[], true),
    };
    found.check(taken, place, Rule::NotTaken);
    let Some(fields) = found.form(part, form, place) else {
        return;
    };
    found.cache_point(fields, place);
    let at = place.at(kind);
    let Some(inner) = fields
        .get(kind)
        .filter(|_| !inner.is_empty())
        .and_then(|value| found.form(value, inner, &at))
    else {
        return;
    };
    match kind {
        "image_url" => found.address(inner, "url", profile.image_addresses, &at),
        "file" => {
            let uploaded = inner.contains_key("file_id");
            let inline = inner.contains_key("file_data");
            found.check(uploaded || inline, &at, Rule::Missing);
            found.check(!(uploaded && inline), &at, Rule::Exclusive);
            found.inline(inner, "file_data", &at);
        }
        _ => {}
    }
}
