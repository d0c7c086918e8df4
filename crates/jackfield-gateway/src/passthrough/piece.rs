//! Which events of a stream bring a piece of the reply. The others are signs of life, or say that there is none.

use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{self, Member};
use super::language::Language;

/// What an event is of a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EventKind {
    /// The provider says that it cannot reply.
    Error,
    /// A sign of life, or the end of a stream.
    Life,
    /// Anything that a model said, and what is not known.
    Piece,
}

/// What an event with this data is, whose members these are if it is an object.
pub(super) fn kind_of(language: Language, data: &str, members: Option<&[Member<'_>]>) -> EventKind {
    if data.trim().is_empty() || data == DONE {
        return EventKind::Life;
    }
    let Some(members) = members else {
        return EventKind::Piece;
    };
    let kind = json::only(members, "type").and_then(|kind| json::string(kind.value));
    let is_kind = |kinds: &[&str]| kind.as_deref().is_some_and(|kind| kinds.contains(&kind));
    if is_kind(&ERRORS) || json::is_set(members, "error") {
        EventKind::Error
    } else if is_kind(&SIGNS_OF_LIFE) || !is_piece(language, members) {
        EventKind::Life
    } else {
        EventKind::Piece
    }
}

fn is_piece(language: Language, members: &[Member<'_>]) -> bool {
    match language {
        Language::Chat => list(members, "choices").is_none_or(|choices| {
            let mut choices = choices.iter();
            choices.any(|choice| is_choice_piece(choice.get()))
        }),
        Language::Gemini => {
            let is_blocked = json::is_set(members, "promptFeedback");
            let candidates = list(members, "candidates").unwrap_or_default();
            let mut candidates = candidates.iter();
            is_blocked || candidates.any(|candidate| is_candidate_piece(candidate.get()))
        }
        Language::Claude | Language::Responses => true,
    }
}

fn list<'a>(members: &[Member<'a>], key: &str) -> Option<Vec<&'a RawValue>> {
    serde_json::from_str(json::only(members, key)?.value).ok()
}

/// A choice of Chat or of the older completions.
fn is_choice_piece(choice: &str) -> bool {
    let Some(members) = json::members(choice) else {
        return true;
    };
    let is_said = |value: &str| !EMPTY.contains(&value);
    members.iter().any(|member| match &*member.key {
        "delta" | "message" => json::members(member.value).is_some_and(|delta| {
            let mut delta = delta.iter();
            delta.any(|member| member.key != "role" && is_said(member.value))
        }),
        "finish_reason" | "text" => is_said(member.value),
        _ => false,
    })
}

fn is_candidate_piece(candidate: &str) -> bool {
    let Ok(candidate) = serde_json::from_str::<Value>(candidate) else {
        return true;
    };
    let parts = candidate
        .pointer("/content/parts")
        .and_then(Value::as_array);
    let is_said = |part: &Value| {
        let members = part.as_object().into_iter().flatten();
        let mut members = members.filter(|(key, _)| *key != "thought");
        members.any(|(_, value)| value.as_str().is_none_or(|text| !text.is_empty()))
    };
    candidate
        .get("finishReason")
        .is_some_and(|reason| !reason.is_null())
        || parts.is_some_and(|parts| parts.iter().any(is_said))
}

/// The types of events that say only that the server is there. That a response begins, and where its prompt is read, is
/// no piece of it.
const SIGNS_OF_LIFE: [&str; 6] = [
    "keepalive",
    "message_start",
    "ping",
    "response.created",
    "response.in_progress",
    "response.queued",
];
/// The types of events that are errors.
const ERRORS: [&str; 2] = ["error", "response.failed"];
/// What ends a stream of Chat.
const DONE: &str = "[DONE]";
/// Values of JSON that say nothing.
const EMPTY: [&str; 4] = ["\"\"", "[]", "null", "{}"];
