//! The laws of the request mapper, for any valid request and any server.

use std::collections::BTreeSet;

use jackfield_dialect_openai::chat::request::{self, Incoming};
use jackfield_dialect_openai::chat::wire;
use jackfield_dialect_openai::profile::{MessageOrder, Profile, SystemRole};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::arb as kit;
use jackfield_testkit::outline::{self, Node};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::arb;
use super::read::owner;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_valid_request_gives_wire_or_a_refusal_of_a_block_that_is_there(
        request in kit::model_request(),
        profile in arb::profile(),
    ) {
        if let Err(refused) = request::to_wire(&request, &owner(), &profile, true) {
            let mut tree = outline::of_request(&request);
            prop_assert!(outline::take(&mut tree, &refused.path).is_some(), "{refused}");
        }
    }

    #[test]
    fn out_and_back_differs_exactly_where_notes_say(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let profile = of_any_order(profile);
        let (body, notes) = made(&request, &profile)?;
        let back = without_shown(read(&body)?);
        let mut original = outline::of_request(&request);
        let done = apply_structure(&mut original, &notes);
        let checked = outline::check(&original, &outline::of_request(&back), &notes, &done);
        checked.map_err(|why| TestCaseError::fail(format!("{why}\n{body:#?}")))?;
    }

    #[test]
    fn mapping_what_came_back_changes_nothing(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let (body, _) = made(&request, &profile)?;
        let (again, notes) = made(&read(&body)?, &profile)?;
        let (body, again) = (json(&body), json(&again));
        let first = first_difference(&body, &again, "");
        prop_assert!(first.is_none(), "{first:?}");
        prop_assert!(notes.is_empty(), "{notes:#?}\n{body:#}");
    }

    #[test]
    fn another_owners_state_is_never_sent(request in arb::request(), profile in arb::profile()) {
        let mut stranger = owner();
        stranger.model = "nobody's".into();
        if let Ok((body, _)) = request::to_wire(&request, &stranger, &profile, true) {
            for message in &body.messages {
                for text in [&message.reasoning_content, &message.reasoning, &message.thinking] {
                    prop_assert_eq!(text.as_deref().unwrap_or_default(), "");
                }
                prop_assert!(message.reasoning_details.is_none() && message.audio.is_none());
                let calls = message.tool_calls.iter().flatten();
                prop_assert!(calls.map(|call| &call.extra_content).all(Option::is_none));
            }
        }
    }

    #[test]
    fn no_json_makes_the_server_side_panic(text in ".{0,80}", body in kit::json()) {
        drop(request::parse(text.as_bytes()));
        let bytes = body.to_string();
        if let Ok(body) = request::parse(bytes.as_bytes()) {
            drop(request::from_wire(body, &owner()));
        }
    }
}

/// The first place at which two bodies differ, and what they say there.
fn first_difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    let deeper: Vec<(String, Value, Value)> = match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => one
            .iter()
            .map(|(key, value)| (key.clone(), value.clone(), other[key].clone()))
            .collect(),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .enumerate()
            .map(|(n, (one, other))| (n.to_string(), one.clone(), other.clone()))
            .collect(),
        (one, other) if one == other => return None,
        _ => return Some(format!("{path}: {one} became {other}")),
    };
    deeper
        .iter()
        .find_map(|(key, one, other)| first_difference(one, other, &format!("{path}/{key}")))
}

type Failed = TestCaseError;

pub(crate) fn made(
    request: &ModelRequest,
    profile: &Profile,
) -> Result<(wire::Request, Vec<Note>), Failed> {
    request::to_wire(request, &owner(), profile, true)
        .map_err(|refused| Failed::fail(refused.to_string()))
}

fn json(body: &wire::Request) -> Value {
    serde_json::to_value(body).expect("wire forms can be written")
}

/// Reads a body as a server does: from its bytes.
fn read(body: &wire::Request) -> Result<ModelRequest, Failed> {
    let bytes = serde_json::to_vec(body).expect("wire forms can be written");
    let parsed = request::parse(&bytes).map_err(|fault| Failed::fail(fault.to_string()))?;
    let incoming =
        request::from_wire(parsed, &owner()).map_err(|fault| Failed::fail(fault.to_string()))?;
    Ok(as_request(incoming))
}

pub(crate) fn as_request(incoming: Incoming) -> ModelRequest {
    ModelRequest {
        choice: incoming.choice,
        messages: incoming.messages.into_iter().collect(),
        model: ModelRef {
            model: incoming.model,
            provider: "any".into(),
        },
        settings: incoming.settings.into(),
        strict: None,
        system: incoming.system.into(),
        tools: std::sync::Arc::new(incoming.tools),
        whole: false,
    }
}

/// The same server, if it took messages in any order: what becomes of that order is another law's.
fn of_any_order(profile: Profile) -> Profile {
    Profile {
        message_order: MessageOrder::Free,
        system_role: match profile.system_role {
            SystemRole::OneSystem => SystemRole::System,
            any => any,
        },
        ..profile
    }
}

/// Without the messages in which a user shows what tools returned.
fn without_shown(request: ModelRequest) -> ModelRequest {
    let shows = |message: &Message| {
        message.role == Role::User && message.to_text().starts_with("[What the call ")
    };
    let messages = request.messages.iter().filter(|message| !shows(message));
    ModelRequest {
        messages: messages.map(|message| (**message).clone()).collect(),
        ..request
    }
}

/// Does to the outline what notes say of whole messages and blocks; gives the notes that did something.
fn apply_structure(tree: &mut Node, notes: &[Note]) -> BTreeSet<usize> {
    let mut real = BTreeSet::new();
    for (n, note) in notes.iter().enumerate() {
        if outline::remove(tree, note) {
            real.insert(n);
        }
    }
    let mut moved = Vec::new();
    {
        let messages = outline::items(outline::field(tree, "messages"));
        messages.retain(|(_, message)| {
            let mut message = message.clone();
            !outline::items(outline::field(&mut message, "blocks")).is_empty()
        });
    }
    for (n, note) in notes.iter().enumerate() {
        if note.code != "system_message_moved" {
            continue;
        }
        real.insert(n);
        let (path, mut message) = (
            note.path.clone(),
            outline::take(tree, &note.path).expect("a message"),
        );
        // The system prompt has text alone: what hung on the blocks is gone.
        let below = notes
            .iter()
            .enumerate()
            .filter(|(_, note)| outline::is_below(&note.path, &path));
        real.extend(below.map(|(n, _)| n));
        moved.append(outline::items(outline::field(&mut message, "blocks")));
    }
    if !moved.is_empty() {
        // Words at the end of the system prompt stand at the end of what was moved there.
        let asked = notes
            .iter()
            .position(|note| note.code == "json_asked_in_words");
        real.extend(asked);
    }
    let parts = outline::items(outline::field(outline::field(tree, "system"), "parts"));
    for (path, mut block) in moved {
        let text = outline::field(&mut block, "text").clone();
        parts.push((path, Node::Fields(vec![("text", text)])));
    }
    real
}

/// A law about notes that never come says nothing: every note there is comes up.
#[test]
fn the_generators_reach_every_note() {
    let mut runner = TestRunner::deterministic();
    let strategy = (arb::request(), arb::profile());
    let mut reached = BTreeSet::new();
    for _ in 0..2000 {
        let (request, profile) = strategy
            .new_tree(&mut runner)
            .expect("no filters")
            .current();
        let (_, notes) = made(&request, &profile).expect("it can be said");
        let codes = notes.into_iter().map(|note| note.code.into_owned());
        // Those of schemas are the schemas' own, and tested there.
        reached.extend(codes.filter(|code| !code.starts_with("schema_")));
    }
    let reached: Vec<&str> = reached.iter().map(String::as_str).collect();
    assert_eq!(reached, NOTES);
}

/// Every note but those about a user's media, which examples tell, `empty_message`, which no valid
/// conversation has, and `choice_of_missing_tools`, where a subset names tools that are not there.
const NOTES: &[&str] = &[
    "annotation_not_sent",
    "answer_inserted",
    "audio_by_id",
    "blank_stop_sequence",
    "blank_text",
    "blocks_rearranged",
    "cache_lifetime",
    "cache_point_not_possible",
    "choice_by_subset",
    "choice_not_forced",
    "choice_without_tools",
    "document_as_text",
    "effort_changed",
    "effort_not_supported",
    "effort_not_with_tools",
    "error_put_into_words",
    "extension_of_another_dialect",
    "extension_path",
    "fallback_not_sent",
    "json_asked_in_words",
    "json_object_not_supported",
    "malformed_arguments",
    "media_as_text",
    "media_shown_by_user",
    "messages_merged",
    "opaque_as_text",
    "opaque_withheld",
    "output_schema_not_sent",
    "parallel_calls_not_sent",
    "provider_call_withheld",
    "provider_outcome_withheld",
    "provider_would_act",
    "refusal_as_text",
    "sampling_not_supported",
    "service_tier_unknown",
    "setting_not_supported",
    "state_withheld",
    "strict_not_sent",
    "structured_as_text",
    "structured_not_sent",
    "system_message_as_user",
    "system_message_moved",
    "text_arguments",
    "text_input_as_json",
    "texts_joined",
    "thinking_by_effort",
    "thinking_by_field",
    "thinking_display_not_sent",
    "thinking_not_sent",
    "thinking_withheld",
    "too_many_stop_sequences",
    "tool_name_changed",
    "tool_name_twice",
    "tool_not_chosen",
];
