//! Conversations of ChatGPT: a tree of nodes, each with a message or without one.

use serde_json::{Map, Value};

use super::gathered::{Gathered, items, text_of};
use super::{LeftOut, Speaker, tree};

pub(super) fn gather(conversation: &Value, mapping: &Map<String, Value>) -> Gathered {
    let last = conversation.get("current_node");
    let branches = tree::branches(mapping, last, "parent", "children");
    let mut gathered = Gathered::default();
    for node in branches.shown {
        if let Some(message) = node.get("message").filter(|message| message.is_object()) {
            add(&mut gathered, message);
        }
    }
    for node in branches.other {
        let mut beside = Gathered::default();
        if let Some(message) = node.get("message") {
            add(&mut beside, message);
        }
        if !beside.messages.is_empty() {
            gathered.leave_out(LeftOut::OtherVersion);
        }
    }
    gathered
}

fn add(gathered: &mut Gathered, message: &Value) {
    let null = Value::Null;
    let content = message.get("content").unwrap_or(&null);
    let metadata = message.get("metadata").unwrap_or(&null);
    let kind = text_of(content, "content_type");
    // Pictures are parts of the message, too.
    let files = items(metadata.get("attachments"));
    for _ in files.filter(|file| !text_of(file, "mime_type").starts_with("image/")) {
        gathered.leave_out(LeftOut::File);
    }
    let mut found = Gathered::default();
    let text = text(&mut found, content, kind);
    let is_hidden =
        metadata.get("is_visually_hidden_from_conversation") == Some(&Value::Bool(true));
    let role = message.pointer("/author/role").and_then(Value::as_str);
    let recipient = text_of(message, "recipient");
    let by = match (role, kind) {
        (_, "user_editable_context" | "model_editable_context") => {
            return gathered.leave_out(LeftOut::Instructions);
        }
        (_, "thoughts" | "reasoning_recap") => return gathered.leave_out(LeftOut::Reasoning),
        (Some("system"), _) => {
            if !text.trim().is_empty() {
                gathered.leave_out(LeftOut::Instructions);
            }
            return;
        }
        (Some("tool"), _) => {
            let pictures = found.left_out.get(&LeftOut::Picture).copied();
            for _ in 0..pictures.unwrap_or_default() {
                gathered.leave_out(LeftOut::Picture);
            }
            if pictures.is_none() {
                gathered.leave_out(LeftOut::ToolResult);
            }
            return;
        }
        (Some("assistant"), _) => Speaker::Assistant,
        (Some("user"), _) => Speaker::User,
        (Some(_) | None, _) => return gathered.leave_out(LeftOut::Unknown),
    };
    if is_hidden {
        if !text.trim().is_empty() {
            gathered.leave_out(LeftOut::Hidden);
        }
    } else if !matches!(recipient, "" | "all") {
        gathered.leave_out(LeftOut::ToolCall);
    } else {
        for (what, count) in found.left_out {
            *gathered.left_out.entry(what).or_default() += count;
        }
        gathered.say(by, &text);
    }
}

/// The text of a content; what it has besides is left out of `found`.
fn text(found: &mut Gathered, content: &Value, kind: &str) -> String {
    let mut texts = Vec::new();
    if let Some(text) = content.as_str() {
        texts.push(without_marks(text));
    }
    for part in items(content.get("parts")) {
        let of_object = text_of(part, "text");
        let kind = text_of(part, "content_type");
        if let Some(text) = part.as_str() {
            texts.push(without_marks(text));
        } else if kind.contains("image") {
            found.leave_out(LeftOut::Picture);
        } else if !of_object.is_empty() {
            texts.push(without_marks(of_object));
        } else if kind.contains("audio") || kind.contains("video") {
            found.leave_out(LeftOut::Recording);
        } else if !part.is_null() {
            found.leave_out(LeftOut::Unknown);
        }
    }
    match content.get("text").and_then(Value::as_str) {
        Some(code) if kind == "code" => {
            let language = text_of(content, "language");
            let language = if language == "unknown" { "" } else { language };
            texts.push(format!("```{language}\n{code}\n```"));
        }
        Some(text) => texts.push(without_marks(text)),
        None if texts.is_empty() && found.left_out.is_empty() && content.get("parts").is_none() => {
            found.leave_out(LeftOut::Unknown);
        }
        None => {}
    }
    texts.retain(|text| !text.trim().is_empty());
    texts.join("\n\n")
}

/// The text without citations and other references, which private characters enclose. A name of something keeps its
/// words.
fn without_marks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_mark) {
        let (before, marked) = rest.split_at(at);
        kept.push_str(before);
        let mark = marked.chars().next().map_or(0, char::len_utf8);
        let (_, inside) = marked.split_at(mark);
        let whole = inside.split_once(END).filter(|(reference, _)| {
            marked.starts_with(BEGINNING)
                && reference.len() <= MAX_REFERENCE
                && !reference.contains(BEGINNING)
        });
        rest = match whole {
            Some((reference, after)) => {
                kept.push_str(&named_in(reference).unwrap_or_default());
                after
            }
            None => inside,
        };
    }
    kept.push_str(rest);
    kept
}

/// The words of a reference to something with a name.
fn named_in(reference: &str) -> Option<String> {
    let (kind, value) = reference.split_once(SEPARATOR)?;
    let value: Vec<String> = serde_json::from_str(value)
        .ok()
        .filter(|_| kind == "entity")?;
    value.into_iter().nth(1)
}

fn is_mark(letter: char) -> bool {
    ('\u{e200}'..='\u{e206}').contains(&letter)
}

const BEGINNING: char = '\u{e200}';
const END: char = '\u{e201}';
const SEPARATOR: char = '\u{e202}';
/// The longest reference, in bytes.
const MAX_REFERENCE: usize = 4_096;
