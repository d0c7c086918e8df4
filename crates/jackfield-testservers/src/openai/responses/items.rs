//! Rules for one item of the input.

use serde_json::Value;

use super::super::rules::{
    has, id, items, known, missing, name, need_text, not_empty, not_supported, one_of, text,
    wrong_type,
};
use crate::checks::CheckFindings;

pub(super) fn check(at: &str, item: &Value, found: &mut CheckFindings) {
    match text(item, "type") {
        // A message may omit its type.
        "message" | "" if has(item, "role") => message(at, item, found),
        "function_call" => call(at, item, "arguments", "fc", found),
        "custom_tool_call" => call(at, item, "input", "ctc", found),
        "function_call_output" => output(at, item, OUTPUT, found),
        "custom_tool_call_output" => output(at, item, &OUTPUT[..5], found),
        "reasoning" => reasoning(at, item, found),
        "item_reference" => {
            need_text(at, item, "id", found);
        }
        "" | "message" => missing(&format!("{at}.role"), found),
        kind if OTHERS.contains(&kind) => {}
        kind => not_supported(&format!("{at}.type"), kind, OTHERS, found),
    }
}

fn message(at: &str, item: &Value, found: &mut CheckFindings) {
    known(
        at,
        item,
        &["content", "id", "phase", "role", "status", "type"],
        found,
    );
    one_of(at, item, "role", ROLES, found);
    one_of(at, item, "phase", &["commentary", "final_answer"], found);
    one_of(at, item, "status", STATUS, found);
    begins_with(at, item, "msg", found);
    let role = text(item, "role");
    let place = format!("{at}.content");
    let parts = match item.get("content") {
        None => return missing(&place, found),
        Some(Value::String(_)) => return,
        Some(Value::Array(parts)) => parts,
        Some(other) => {
            return wrong_type(&place, "a string or an array of objects", other, found);
        }
    };
    not_empty(&place, parts, found);
    let kinds: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        "user" => &["input_text", "input_image", "input_file"],
        _ => &["input_text"],
    };
    check_parts(&place, parts, kinds, found);
}

fn check_parts(at: &str, parts: &[Value], kinds: &[&str], found: &mut CheckFindings) {
    for (n, part) in parts.iter().enumerate() {
        let at = format!("{at}[{n}]");
        let Some(kind) = need_text(&at, part, "type", found) else {
            continue;
        };
        if !kinds.contains(&kind) {
            not_supported(&format!("{at}.type"), kind, kinds, found);
            continue;
        }
        match kind {
            "input_text" => {
                known(
                    &at,
                    part,
                    &["prompt_cache_breakpoint", "text", "type"],
                    found,
                );
                need_text(&at, part, "text", found);
            }
            "output_text" => {
                known(
                    &at,
                    part,
                    &["annotations", "logprobs", "text", "type"],
                    found,
                );
                need_text(&at, part, "text", found);
            }
            "refusal" => {
                known(&at, part, &["refusal", "type"], found);
                need_text(&at, part, "refusal", found);
            }
            "input_image" => image(&at, part, found),
            _ => file(&at, part, found),
        }
    }
}

fn image(at: &str, part: &Value, found: &mut CheckFindings) {
    let fields = &[
        "detail",
        "file_id",
        "image_url",
        "prompt_cache_breakpoint",
        "type",
    ];
    known(at, part, fields, found);
    one_of(
        at,
        part,
        "detail",
        &["auto", "low", "high", "original"],
        found,
    );
    if has(part, "image_url") == has(part, "file_id") {
        found.add(at, "one of 'image_url' and 'file_id' is needed");
    }
    // Unlike in Chat Completions, the URL is a string here.
    if let Some(url) = part.get("image_url").filter(|url| !url.is_null()) {
        let place = format!("{at}.image_url");
        match url.as_str() {
            None => wrong_type(&place, "an image URL", url, found),
            Some(url) if url.starts_with("data:image/") || url.starts_with("https://") => {}
            Some(_) => {
                let fault = format!("Invalid '{place}': this is no image that can be read.");
                found.coded(&place, "invalid_image_url", &fault);
            }
        }
    }
}

fn file(at: &str, part: &Value, found: &mut CheckFindings) {
    let fields = &[
        "detail",
        "file_data",
        "file_id",
        "file_url",
        "filename",
        "prompt_cache_breakpoint",
        "type",
    ];
    known(at, part, fields, found);
    let sources = ["file_data", "file_id", "file_url"];
    if sources.iter().filter(|name| has(part, name)).count() != 1 {
        found.add(at, "one of 'file_data', 'file_id' and 'file_url' is needed");
    }
    if has(part, "file_data") && !text(part, "file_data").starts_with("data:") {
        found.add(&format!("{at}.file_data"), "has to be a data URL");
    }
    if has(part, "file_data") && !has(part, "filename") {
        missing(&format!("{at}.filename"), found);
    }
}

fn call(at: &str, item: &Value, said: &str, prefix: &str, found: &mut CheckFindings) {
    let fields = &[
        "async",
        "call_id",
        "caller",
        "id",
        "name",
        "namespace",
        "status",
        "type",
        said,
    ];
    known(at, item, fields, found);
    one_of(at, item, "status", STATUS, found);
    begins_with(at, item, prefix, found);
    call_id(at, item, found);
    need_text(at, item, said, found);
    if let Some(called) = need_text(at, item, "name", found) {
        name(&format!("{at}.name"), called, 128, found);
    }
}

fn output(at: &str, item: &Value, fields: &[&str], found: &mut CheckFindings) {
    known(at, item, fields, found);
    one_of(at, item, "status", STATUS, found);
    call_id(at, item, found);
    let place = format!("{at}.output");
    match item.get("output") {
        None => missing(&place, found),
        Some(Value::String(text)) if text.len() > MAX_OUTPUT => {
            found.coded(&place, "string_above_max_length", "string too long");
        }
        Some(Value::String(_)) => {}
        Some(Value::Array(parts)) => {
            let kinds = &["input_text", "input_image", "input_file"];
            check_parts(&place, parts, kinds, found);
        }
        Some(other) => wrong_type(&place, "a string or an array of objects", other, found),
    }
}

fn reasoning(at: &str, item: &Value, found: &mut CheckFindings) {
    let fields = &[
        "content",
        "encrypted_content",
        "id",
        "status",
        "summary",
        "type",
    ];
    known(at, item, fields, found);
    one_of(at, item, "status", STATUS, found);
    need_text(at, item, "id", found);
    begins_with(at, item, "rs", found);
    let place = format!("{at}.summary");
    match item.get("summary") {
        None => missing(&place, found),
        Some(Value::Array(parts)) => {
            for (n, part) in parts.iter().enumerate() {
                let at = format!("{place}[{n}]");
                known(&at, part, &["text", "type"], found);
                one_of(&at, part, "type", &["summary_text"], found);
                need_text(&at, part, "text", found);
            }
        }
        Some(other) => wrong_type(&place, "an array of objects", other, found),
    }
    for (n, part) in items(item.get("content")).iter().enumerate() {
        let at = format!("{at}.content[{n}]");
        one_of(&at, part, "type", &["reasoning_text"], found);
    }
}

fn call_id(at: &str, item: &Value, found: &mut CheckFindings) {
    if let Some(own) = need_text(at, item, "call_id", found) {
        id(&format!("{at}.call_id"), own, 64, found);
    }
}

/// An item's own id has a prefix for its type.
fn begins_with(at: &str, item: &Value, prefix: &str, found: &mut CheckFindings) {
    let own = text(item, "id");
    if has(item, "id") && !own.starts_with(prefix) {
        let at = format!("{at}.id");
        let fault = format!("Invalid '{at}': '{own}'. Expected an ID that begins with '{prefix}'.");
        found.coded(&at, "invalid_value", &fault);
    }
}

const MAX_OUTPUT: usize = 10_485_760;
const ROLES: &[&str] = &["assistant", "system", "developer", "user"];
const STATUS: &[&str] = &["in_progress", "completed", "incomplete"];
/// The permitted fields of an output; for a text tool's call, the first five.
const OUTPUT: &[&str] = &[
    "call_id",
    "caller",
    "id",
    "output",
    "type",
    "name",
    "namespace",
    "status",
];
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
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "function_call",
    "function_call_output",
    "image_generation_call",
    "item_reference",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "message",
    "program",
    "program_output",
    "reasoning",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];
