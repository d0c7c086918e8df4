//! The laws of the request mapper, for any valid request and any model.

use std::collections::BTreeSet;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request::{self, Incoming};
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_claude::wire;
use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_rules::claude;
use jackfield_domain::note::Note;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::outline::{self, Node};
use jackfield_testkit::{arb as kit, arrays};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::arb::{self, owner};

/// Fields that may hold anything.
const ANYTHING: [&str; 7] = [
    "caller",
    "citations",
    "custom_a",
    "custom_b",
    "input",
    "input_schema",
    "schema",
];

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
    fn the_vendors_rules_accept_everything_that_is_made(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let (body, _) = made(&request, &profile)?;
        let body = without_custom_fields(body);
        let found = claude::check(&body, &profile);
        prop_assert!(found.is_empty(), "{found:?}\n{body:#}");
    }

    #[test]
    fn an_array_where_an_object_belongs_is_refused(request in arb::request(), profile in arb::profile()) {
        let (body, _) = made(&request, &profile)?;
        let mut body = serde_json::to_value(body).expect("JSON");
        for tool in body["tools"].as_array_mut().into_iter().flatten() {
            // All but their own fields is passed on as it is.
            tool.as_object_mut().map(|tool| tool.remove("cache_control"));
        }
        let read = |body: &Value| ClaudeServer.request(&|_| None, body.to_string().as_bytes(), &|_| owner());
        if read(&body).is_ok() {
            for (place, changed) in arrays::arrays_for_objects(&body, &ANYTHING) {
                let Err(refused) = read(&changed) else {
                    return Err(TestCaseError::fail(format!("{place}: {changed}")));
                };
                prop_assert!(refused.param.is_some(), "{}: {}", place, refused);
            }
        }
    }

    #[test]
    fn out_and_back_differs_exactly_where_notes_say(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let (body, notes) = made(&request, &profile)?;
        let back = read(&body)?;
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
        let (body, notes) = made(&request, &profile)?;
        // Of a client nobody takes thinking that is not signed; only its own server is sent it.
        prop_assume!(notes.iter().all(|note| note.code != "empty_signature"));
        let back = read(&body)?;
        let (again, notes) = made(&back, &profile)?;
        prop_assert_eq!(json(&again), json(&body));
        prop_assert!(notes.is_empty(), "{notes:#?}\n{body:#?}");
    }

    #[test]
    fn another_owners_state_is_never_sent(request in kit::model_request(), profile in arb::profile()) {
        let mut stranger = owner();
        stranger.model = "nobody's".into();
        stranger.endpoint = "https://elsewhere.example".into();
        if let Ok((body, _)) = request::to_wire(&request, &stranger, &profile, true) {
            let text = json(&body).to_string();
            for kind in ["\"thinking\":\"", "redacted_thinking", "\"caller\"", "server_tool_use"] {
                prop_assert!(!text.contains(kind), "{kind} in {text}");
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
        drop(claude::check(&body, &Profile::NEWEST));
    }
}

type Failed = TestCaseError;

fn made(request: &ModelRequest, profile: &Profile) -> Result<(wire::Request, Vec<Note>), Failed> {
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

/// Does to the outline what notes say of whole elements; gives the notes that did something.
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
        let code = &*note.code;
        if !matches!(
            code,
            "messages_merged" | "system_message_as_user" | "system_message_moved"
        ) {
            continue;
        }
        real.insert(n);
        let messages = outline::items(outline::field(tree, "messages"));
        let place = messages
            .iter()
            .position(|(path, _)| *path == note.path)
            .expect("a message");
        if code == "system_message_moved" {
            let (path, mut message) = messages.remove(place);
            // The system prompt has text alone: what hung on the blocks is gone.
            let below = notes
                .iter()
                .enumerate()
                .filter(|(_, note)| outline::is_below(&note.path, &path));
            real.extend(below.map(|(n, _)| n));
            moved.append(outline::items(outline::field(&mut message, "blocks")));
            continue;
        }
        if code == "system_message_as_user" {
            *outline::field(&mut messages[place].1, "role") = Node::Leaf("User".to_owned());
        }
        let before = place.checked_sub(1);
        let same = before.is_some_and(|before| {
            outline::field(&mut messages[before].1.clone(), "role")
                == outline::field(&mut messages[place].1.clone(), "role")
        });
        if same {
            let (_, mut message) = messages.remove(place);
            let mut blocks = std::mem::take(outline::items(outline::field(&mut message, "blocks")));
            let into = &mut messages[place - 1].1;
            outline::items(outline::field(into, "blocks")).append(&mut blocks);
        }
    }
    let parts = outline::items(outline::field(outline::field(tree, "system"), "parts"));
    for (path, mut block) in moved {
        let text = outline::field(&mut block, "text").clone();
        parts.push((path, Node::Fields(vec![("text", text)])));
    }
    real
}

/// The generators invent fields that no vendor has; they are sent as they are told.
fn without_custom_fields(body: wire::Request) -> Value {
    let mut body = json(&body);
    let custom = |fields: &mut serde_json::Map<String, Value>| {
        fields.retain(|key, _| !key.starts_with("custom_"));
    };
    let fields = body.as_object_mut().expect("an object");
    custom(fields);
    for tool in fields
        .get_mut("tools")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        custom(tool.as_object_mut().expect("an object"));
    }
    body
}

/// A law about notes that never come says nothing: every note there is comes up.
#[test]
fn the_generators_reach_every_note() {
    let mut runner = TestRunner::deterministic();
    let strategy = (arb::request(), arb::profile());
    let mut reached = BTreeSet::new();
    for _ in 0..3000 {
        let (request, profile) = strategy
            .new_tree(&mut runner)
            .expect("no filters")
            .current();
        let (_, notes) = made(&request, &profile).expect("it can be said");
        reached.extend(notes.into_iter().map(|note| note.code.into_owned()));
    }
    let missed: Vec<&&str> = NOTES
        .iter()
        .filter(|code| !reached.contains(**code))
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
    let unknown: Vec<&String> = reached
        .iter()
        .filter(|code| !NOTES.contains(&code.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Every note but two: `empty_message`, which no valid conversation has, and `prefill_trimmed`, which
/// none that is to be answered has.
const NOTES: &[&str] = &[
    "annotation_not_sent",
    "annotation_source",
    "blank_stop_sequence",
    "blank_text",
    "cache_lifetime",
    "cache_point_not_possible",
    "choice_by_subset",
    "choice_not_forced",
    "choice_without_tools",
    "effort_none",
    "effort_not_supported",
    "effort_raised",
    "empty_signature",
    "error_put_into_words",
    "extension_of_another_dialect",
    "extension_path",
    "fallback_not_sent",
    "format_field_not_sent",
    "image_detail",
    "json_object_not_supported",
    "malformed_arguments",
    "max_tokens_defaulted",
    "media_as_text",
    "messages_merged",
    "opaque_as_text",
    "opaque_withheld",
    "output_schema_not_sent",
    "parallel_calls_not_sent",
    "provider_call_withheld",
    "provider_outcome_withheld",
    "provider_would_act",
    "redacted_text",
    "refusal_as_text",
    "sampling_cut",
    "sampling_not_supported",
    "schema_beside_reference",
    "schema_closed",
    "schema_keywords_described",
    "schema_not_enforceable",
    "schema_one_of",
    "schema_root_made_object",
    "schema_type_beside_choice",
    "schema_type_beside_values",
    "schema_types_split",
    "service_tier_unknown",
    "setting_not_supported",
    "state_withheld",
    "structured_as_text",
    "structured_not_sent",
    "stubs_offered",
    "system_message_as_user",
    "system_message_moved",
    "text_arguments",
    "text_input_as_json",
    "thinking_always_on",
    "thinking_budget_changed",
    "thinking_by_budget",
    "thinking_display_not_sent",
    "thinking_not_supported",
    "thinking_withheld",
    "thinking_without_budget",
    "too_many_cache_points",
    "tool_name_changed",
    "tool_name_twice",
    "tool_not_chosen",
];
