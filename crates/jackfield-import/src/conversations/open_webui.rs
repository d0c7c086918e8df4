//! Conversations of Open WebUI: a tree of messages, and in older ones a list.

use serde_json::Value;

use super::gathered::{Gathered, items, text_of};
use super::{LeftOut, Speaker, text_at, tree};

pub(super) fn gather(chat: &Value) -> Gathered {
    let mut gathered = Gathered::default();
    for at in ["/system", "/params/system"] {
        if text_at(chat, at).is_some() {
            gathered.leave_out(LeftOut::Instructions);
        }
    }
    let nodes = chat.pointer("/history/messages").and_then(Value::as_object);
    match nodes.filter(|nodes| !nodes.is_empty()) {
        Some(nodes) => {
            let last = chat.pointer("/history/currentId");
            let branches = tree::branches(nodes, last, "parentId", "childrenIds");
            for message in branches.shown {
                add(&mut gathered, message);
            }
            for message in branches.other {
                let mut beside = Gathered::default();
                add(&mut beside, message);
                if !beside.messages.is_empty() {
                    gathered.leave_out(LeftOut::OtherVersion);
                }
            }
        }
        None => {
            for message in items(chat.get("messages")) {
                add(&mut gathered, message);
            }
        }
    }
    gathered
}

fn add(gathered: &mut Gathered, message: &Value) {
    let by = match text_of(message, "role") {
        "assistant" => Speaker::Assistant,
        "user" => Speaker::User,
        "system" => return gathered.leave_out(LeftOut::Instructions),
        "tool" => return gathered.leave_out(LeftOut::ToolResult),
        _ => return gathered.leave_out(LeftOut::Unknown),
    };
    for file in items(message.get("files")) {
        let is_picture = text_of(file, "type") == "image";
        gathered.leave_out(if is_picture {
            LeftOut::Picture
        } else {
            LeftOut::File
        });
    }
    let mut texts: Vec<&str> = Vec::new();
    match message.get("content") {
        Some(Value::String(text)) => texts.push(text),
        Some(Value::Array(parts)) => {
            for part in parts {
                match text_of(part, "type") {
                    "text" => texts.push(text_of(part, "text")),
                    "image_url" => gathered.leave_out(LeftOut::Picture),
                    _ => gathered.leave_out(LeftOut::Unknown),
                }
            }
        }
        None | Some(Value::Null) => {}
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            gathered.leave_out(LeftOut::Unknown);
        }
    }
    let text = texts.join("\n\n");
    match by {
        Speaker::Assistant => {
            let text = without_details(gathered, &text);
            gathered.say(by, &text);
        }
        Speaker::User => gathered.say(by, &text),
    }
}

/// The text of a reply without the reasoning and the calls that are written into it.
fn without_details(gathered: &mut Gathered, text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, details)) = rest.split_once(OPENING) {
        let Some((block, after)) = details.split_once(CLOSING) else {
            break;
        };
        kept.push_str(before);
        let what = match block.split_once('"') {
            Some(("reasoning", _)) => Some(LeftOut::Reasoning),
            Some(("tool_calls" | "code_interpreter", _)) => Some(LeftOut::ToolCall),
            Some(_) | None => None,
        };
        if let Some(what) = what {
            gathered.leave_out(what);
        } else {
            kept.extend([OPENING, block, CLOSING]);
        }
        rest = after;
    }
    kept.push_str(rest);
    kept
}

const OPENING: &str = "<details type=\"";
const CLOSING: &str = "</details>";
