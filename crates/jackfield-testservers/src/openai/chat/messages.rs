//! Rules for one message: its role, its content, its calls.

use serde_json::Value;

use super::super::VendorQuirks;
use super::super::rules::{
    has, id, items, known, missing, name, need_text, not_empty, not_supported, one_of, text,
    wrong_type,
};
use crate::checks::CheckFindings;

pub(super) fn check(n: usize, message: &Value, like: VendorQuirks, found: &mut CheckFindings) {
    let at = format!("messages[{n}]");
    let Some(role) = need_text(&at, message, "role", found) else {
        return;
    };
    let roles = match like {
        VendorQuirks::OpenAi => ROLES,
        // The others do not know `developer`, or drop its content.
        VendorQuirks::DeepSeek | VendorQuirks::Mistral | VendorQuirks::Ollama => COMPATIBLE_ROLES,
    };
    if !roles.contains(&role) {
        not_supported(&format!("{at}.role"), role, roles, found);
        return;
    }
    // DeepSeek and Ollama ignore unknown fields.
    match like {
        VendorQuirks::OpenAi => known(&at, message, fields_of(role), found),
        VendorQuirks::Mistral => known(&at, message, mistrals_fields_of(role), found),
        VendorQuirks::DeepSeek | VendorQuirks::Ollama => {}
    }
    content(&at, message, role, like, found);
    if role == "assistant" {
        calls(&at, message, like, found);
    }
    if role == "tool"
        && let Some(of) = need_text(&at, message, "tool_call_id", found)
    {
        id(&format!("{at}.tool_call_id"), of, MAX_ID, found);
    }
}

fn content(at: &str, message: &Value, role: &str, like: VendorQuirks, found: &mut CheckFindings) {
    let place = format!("{at}.content");
    let parts = match message.get("content") {
        Some(Value::String(_)) => return,
        Some(Value::Array(parts)) => parts,
        absent @ (None | Some(Value::Null)) => {
            let says_otherwise = ["audio", "function_call", "refusal", "tool_calls"];
            let may_be_absent =
                role == "assistant" && says_otherwise.iter().any(|name| has(message, name));
            match absent {
                _ if may_be_absent => {}
                None => missing(&place, found),
                Some(null) => wrong_type(&place, "a string", null, found),
            }
            return;
        }
        Some(other) => {
            return wrong_type(&place, "a string or an array of objects", other, found);
        }
    };
    not_empty(&place, parts, found);
    let kinds: &[&str] = match (role, like) {
        ("assistant", VendorQuirks::OpenAi) => &["text", "refusal"],
        ("user", VendorQuirks::DeepSeek) => &["text"],
        ("user", VendorQuirks::Mistral | VendorQuirks::Ollama) => &["text", "image_url"],
        ("user", VendorQuirks::OpenAi) => &["text", "image_url", "input_audio", "file"],
        (_, _) => &["text"],
    };
    for (n, part) in parts.iter().enumerate() {
        let at = format!("{place}[{n}]");
        let Some(kind) = need_text(&at, part, "type", found) else {
            continue;
        };
        if kinds.contains(&kind) {
            part_of(&at, part, kind, like, found);
        } else {
            not_supported(&format!("{at}.type"), kind, kinds, found);
        }
    }
}

fn part_of(at: &str, part: &Value, kind: &str, like: VendorQuirks, found: &mut CheckFindings) {
    if like == VendorQuirks::OpenAi {
        known(at, part, &["type", kind, "prompt_cache_breakpoint"], found);
    }
    let inner = part.get(kind).unwrap_or(&Value::Null);
    let place = format!("{at}.{kind}");
    match kind {
        "text" | "refusal" => {
            need_text(at, part, kind, found);
        }
        "image_url" => {
            let Some(url) = need_text(&place, inner, "url", found) else {
                return;
            };
            let inline = url.starts_with("data:image/");
            let taken = inline || (url.starts_with("https://") && like != VendorQuirks::Ollama);
            if !taken {
                let fault = format!("Invalid '{place}.url': this is no image that can be read.");
                found.coded(&format!("{place}.url"), "invalid_image_url", &fault);
            }
            let details = &["auto", "low", "high", "original"];
            one_of(&place, inner, "detail", details, found);
        }
        "input_audio" => {
            need_text(&place, inner, "data", found);
            need_text(&place, inner, "format", found);
            one_of(&place, inner, "format", &["mp3", "wav"], found);
        }
        _ => {
            let named = has(inner, "filename") && has(inner, "file_data");
            if !has(inner, "file_id") && !named {
                let fault = "either 'file_id', or 'filename' and 'file_data' are needed";
                found.add(&place, fault);
            }
            let data = text(inner, "file_data");
            if has(inner, "file_data") && !data.starts_with("data:") {
                found.add(&format!("{place}.file_data"), "has to be a data URL");
            }
        }
    }
}

fn calls(at: &str, message: &Value, like: VendorQuirks, found: &mut CheckFindings) {
    let at = format!("{at}.tool_calls");
    let calls = match message.get("tool_calls") {
        None => return,
        // The compatible servers treat null as missing.
        Some(Value::Null) if like != VendorQuirks::OpenAi => return,
        Some(Value::Array(calls)) => calls,
        Some(other) => return wrong_type(&at, "an array of objects", other, found),
    };
    not_empty(&at, calls, found);
    for (n, call) in calls.iter().enumerate() {
        let at = format!("{at}[{n}]");
        if let Some(own) = need_text(&at, call, "id", found) {
            id(&format!("{at}.id"), own, MAX_ID, found);
            let nine = own.len() == 9 && own.bytes().all(|b| b.is_ascii_alphanumeric());
            if like == VendorQuirks::Mistral && !nine {
                let fault = format!(
                    "Tool call id was {own} but must be a-z, A-Z, 0-9, with a length of 9."
                );
                found.coded(&format!("{at}.id"), "3280", &fault);
            }
        }
        let Some(kind) = need_text(&at, call, "type", found) else {
            continue;
        };
        let kinds: &[&str] = match like {
            VendorQuirks::OpenAi => &["function", "custom"],
            VendorQuirks::DeepSeek | VendorQuirks::Mistral | VendorQuirks::Ollama => &["function"],
        };
        if !kinds.contains(&kind) {
            not_supported(&format!("{at}.type"), kind, kinds, found);
            continue;
        }
        if like == VendorQuirks::OpenAi {
            known(&at, call, &["id", "type", kind], found);
        }
        call_of(&format!("{at}.{kind}"), call, kind, like, found);
    }
}

fn call_of(at: &str, call: &Value, kind: &str, like: VendorQuirks, found: &mut CheckFindings) {
    let Some(inner) = call.get(kind) else {
        return missing(at, found);
    };
    let said = if kind == "custom" {
        "input"
    } else {
        "arguments"
    };
    if like == VendorQuirks::OpenAi {
        known(at, inner, &["name", said], found);
    }
    if let Some(called) = need_text(at, inner, "name", found) {
        name(&format!("{at}.name"), called, 64, found);
    }
    let Some(said) = need_text(at, inner, said, found) else {
        return;
    };
    // Ollama parses the arguments for its templates.
    if like == VendorQuirks::Ollama
        && !serde_json::from_str::<Value>(said).is_ok_and(|v| v.is_object())
    {
        found.add(&format!("{at}.arguments"), "invalid tool call arguments");
    }
}

/// The permitted fields of a message with this role.
fn fields_of(role: &str) -> &'static [&'static str] {
    match role {
        "assistant" => &[
            "audio",
            "content",
            "function_call",
            "name",
            "refusal",
            "role",
            "tool_calls",
        ],
        "tool" => &["content", "role", "tool_call_id"],
        _ => &["content", "name", "role"],
    }
}

fn mistrals_fields_of(role: &str) -> &'static [&'static str] {
    match role {
        "assistant" => &["content", "prefix", "role", "tool_calls"],
        "tool" => &["content", "name", "role", "tool_call_id"],
        _ => &["content", "role"],
    }
}

/// The ids of the calls of a message.
pub(super) fn ids(message: &Value) -> impl Iterator<Item = &str> {
    items(message.get("tool_calls"))
        .iter()
        .map(|call| text(call, "id"))
}

const MAX_ID: usize = 40;
const ROLES: &[&str] = &[
    "system",
    "assistant",
    "user",
    "function",
    "tool",
    "developer",
];
const COMPATIBLE_ROLES: &[&str] = &["system", "assistant", "user", "tool"];
