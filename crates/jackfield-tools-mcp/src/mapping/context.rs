//! Maps resources and prompts from the protocol (MCP, revisions 2024-11-05 to 2026-07-28, "Resources", "Prompts" and
//! "Completion", read 2026-11-26).

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_domain::media::Audio;
use jackfield_domain::message::Role;
use jackfield_domain::outcome::OutcomePart;
use jackfield_ports::context_source::{
    Completion, PromptArgument, PromptMessages, PromptSpec, ResourceContents, ResourceSpec,
    ResourceTemplate,
};
use serde_json::Value;

use super::outcome::{base64, embedded, part};

/// The items of a list, each once by its key.
pub(crate) struct Items<T> {
    items: Vec<T>,
    key: fn(&T) -> Arc<str>,
    keys: HashSet<Arc<str>>,
    /// How many could not be read.
    unreadable: usize,
    too_many: bool,
    what: &'static str,
}

impl<T> Items<T> {
    pub(crate) fn new(what: &'static str, key: fn(&T) -> Arc<str>) -> Self {
        Self {
            items: Vec::new(),
            key,
            keys: HashSet::new(),
            unreadable: 0,
            too_many: false,
            what,
        }
    }

    /// Adds those of a page; returns whether there is room for more.
    pub(crate) fn add(&mut self, page: &Value, field: &str, read: fn(&Value) -> Option<T>) -> bool {
        let said = page.get(field).and_then(Value::as_array);
        for value in said.into_iter().flatten() {
            if self.items.len() >= MAX_ITEMS {
                self.too_many = true;
                return false;
            }
            match read(value) {
                Some(item) if self.keys.insert((self.key)(&item)) => self.items.push(item),
                Some(_) => {}
                None => self.unreadable += 1,
            }
        }
        true
    }

    /// The items, and what was left out.
    pub(crate) fn finish(self) -> (Vec<T>, Vec<String>) {
        let mut problems = Vec::new();
        if self.unreadable > 0 {
            problems.push(format!(
                "{} of its {} cannot be read, and are left out",
                self.unreadable, self.what
            ));
        }
        if self.too_many {
            problems.push(format!(
                "it has more than {MAX_ITEMS} {}: the rest is left out",
                self.what
            ));
        }
        (self.items, problems)
    }
}

pub(crate) fn resource(value: &Value) -> Option<ResourceSpec> {
    let uri = required(value, "uri")?;
    Some(ResourceSpec {
        description: text(value, "description"),
        media_type: text(value, "mimeType"),
        name: text(value, "name").unwrap_or_else(|| Arc::clone(&uri)),
        original: Arc::new(value.clone()),
        size: value.get("size").and_then(Value::as_u64),
        title: text(value, "title"),
        uri,
    })
}

pub(crate) fn template(value: &Value) -> Option<ResourceTemplate> {
    let uri_template = required(value, "uriTemplate")?;
    Some(ResourceTemplate {
        description: text(value, "description"),
        media_type: text(value, "mimeType"),
        name: text(value, "name").unwrap_or_else(|| Arc::clone(&uri_template)),
        original: Arc::new(value.clone()),
        title: text(value, "title"),
        uri_template,
    })
}

pub(crate) fn prompt(value: &Value) -> Option<PromptSpec> {
    let arguments = value.get("arguments").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().filter_map(|argument| {
        Some(PromptArgument {
            description: text(argument, "description"),
            name: required(argument, "name")?,
            required: argument.get("required") == Some(&Value::Bool(true)),
        })
    });
    Some(PromptSpec {
        arguments: arguments.take(MAX_ARGUMENTS).collect(),
        description: text(value, "description"),
        name: required(value, "name")?,
        original: Arc::new(value.clone()),
        title: text(value, "title"),
    })
}

/// The contents in an answer to `resources/read`.
pub(crate) fn contents(answer: &Value) -> Option<ResourceContents> {
    let original = answer.get("contents")?.as_array()?.clone();
    let parts: Option<Vec<OutcomePart>> = original.iter().map(content).collect();
    Some(ResourceContents {
        parts: for_models(parts?),
        original,
    })
}

fn content(value: &Value) -> Option<OutcomePart> {
    let media_type = value.get("mimeType").and_then(Value::as_str);
    if media_type.is_some_and(|media_type| media_type.starts_with("audio/"))
        && let Some(source) = base64(value, "blob")
    {
        return Some(OutcomePart::Audio(Audio {
            source,
            transcript: None,
        }));
    }
    embedded(value)
}

/// The messages in an answer to `prompts/get`.
pub(crate) fn messages(answer: &Value) -> Option<PromptMessages> {
    let original = answer.get("messages")?.as_array()?.clone();
    let messages: Option<Vec<_>> = original.iter().map(message).collect();
    Some(PromptMessages {
        description: text(answer, "description"),
        messages: messages?,
        original,
    })
}

/// A message of a conversation: its role and its parts.
pub(super) fn message(message: &Value) -> Option<(Role, Vec<OutcomePart>)> {
    let role = match message.get("role").and_then(Value::as_str)? {
        "assistant" => Role::Assistant,
        "user" => Role::User,
        _ => return None,
    };
    // One part by the protocol; several in the wild.
    let parts = match message.get("content")? {
        Value::Array(parts) => parts.iter().map(part).collect(),
        Value::String(words) => vec![OutcomePart::Text(words.as_str().into())],
        one @ (Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_)) => {
            vec![part(one)]
        }
    };
    Some((role, for_models(parts)))
}

/// The parts without tag letters: they become messages of a person, in which those would stay.
fn for_models(mut parts: Vec<OutcomePart>) -> Vec<OutcomePart> {
    for part in &mut parts {
        if let Some(mended) = part.without_tags() {
            *part = mended;
        }
    }
    parts
}

/// The values in an answer to `completion/complete`.
pub(crate) fn completion(answer: &Value) -> Option<Completion> {
    let completion = answer.get("completion")?;
    let values = completion.get("values")?.as_array()?.iter();
    let values = values.filter_map(|value| Some(value.as_str()?.to_owned()));
    Some(Completion {
        has_more: completion.get("hasMore") == Some(&Value::Bool(true)),
        total: completion.get("total").and_then(Value::as_u64),
        values: values.take(MAX_VALUES).collect(),
    })
}

fn text(value: &Value, field: &str) -> Option<Arc<str>> {
    value.get(field).and_then(Value::as_str).map(Into::into)
}

pub(super) fn required(value: &Value, field: &str) -> Option<Arc<str>> {
    text(value, field).filter(|text| !text.trim().is_empty())
}

/// The most arguments of a prompt.
const MAX_ARGUMENTS: usize = 100;
/// The most resources, templates or prompts of a server.
const MAX_ITEMS: usize = 4096;
/// The most values of a completion, as in the protocol.
const MAX_VALUES: usize = 100;
