//! The laws of the request mapper, for any valid request and any server.

use std::collections::BTreeSet;

use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_openai::profile::{Profile, SystemRole};
use jackfield_dialect_openai::responses::request::{self, Incoming};
use jackfield_dialect_openai::responses::serve::Responses;
use jackfield_dialect_openai::responses::wire;
use jackfield_dialect_rules::openai;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::outline::{self, Node};
use jackfield_testkit::{arb as kit, arrays};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::{arb, owner};

/// Fields that may hold anything.
const ANYTHING: [&str; 9] = [
    "action",
    "annotations",
    "arguments",
    "caller",
    "custom_a",
    "custom_b",
    "parameters",
    "schema",
    "summary",
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
        let Some((body, _)) = made(&request, &profile) else { return Ok(()) };
        let body = without_custom_fields(&body);
        let found = openai::responses::check(&body, &profile);
        prop_assert!(found.is_empty(), "{found:?}\n{body:#}");
    }

    #[test]
    fn an_array_where_an_object_belongs_is_refused(request in arb::request(), profile in arb::profile()) {
        let Some((body, _)) = made(&request, &profile) else { return Ok(()) };
        let body = serde_json::to_value(body).expect("JSON");
        let read = |body: &Value| Responses.request(&|_| None, body.to_string().as_bytes(), &|_| owner());
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
        let Some((body, notes)) = made(&request, &profile) else { return Ok(()) };
        let mut back = without_shown(read(&body)?);
        let mut original = outline::of_request(&request);
        let mut done = apply_structure(&mut original, &notes);
        let asked = notes.iter().position(|note| note.code == "json_asked_in_words");
        if asked.is_some() && profile.system_role != SystemRole::OneSystem {
            // It stands before everything else.
            done.extend(asked);
            back.messages = back.messages.iter().skip(1).map(|message| (**message).clone()).collect();
        }
        let checked = outline::check(&original, &outline::of_request(&back), &notes, &done);
        checked.map_err(|why| TestCaseError::fail(format!("{why}\n{body:#?}")))?;
    }

    #[test]
    fn mapping_what_came_back_changes_nothing(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let Some((body, _)) = made(&request, &profile) else { return Ok(()) };
        let (again, notes) = made(&read(&body)?, &profile).expect("it was said before");
        prop_assert_eq!(json(&again), json(&body));
        prop_assert!(notes.is_empty(), "{notes:#?}\n{body:#?}");
    }

    #[test]
    fn another_owners_state_is_never_sent(request in arb::request(), profile in arb::profile()) {
        let mut stranger = owner();
        stranger.model = "nobody's".into();
        let Ok((body, _)) = request::to_wire(&request, &stranger, &profile, true) else {
            return Ok(());
        };
        let wire::Input::Items(items) = &body.input else { return Ok(()) };
        for item in items {
            let text = serde_json::to_string(item).expect("JSON");
            for kind in ["\"reasoning\"", "encrypted_content", "\"phase\"", "web_search_call", "\"caller\"", "\"id\":\"fc_", "\"id\":\"msg_"] {
                prop_assert!(!text.contains(kind), "{kind} in {text}");
            }
        }
    }

    #[test]
    fn reasoning_is_sent_whole_and_never_last(request in arb::request(), profile in arb::profile()) {
        let Some((body, _)) = made(&request, &profile) else { return Ok(()) };
        let wire::Input::Items(items) = &body.input else { return Ok(()) };
        for (n, item) in items.iter().enumerate() {
            let wire::Item::Reasoning(reasoning) = item else { continue };
            let whole = reasoning.fields.get("encrypted_content").is_some();
            prop_assert!(whole || !profile.encrypted_reasoning, "{reasoning:?}");
            let next = items.get(n + 1);
            let belongs = next.is_some_and(|next| match next {
                wire::Item::Message(message) => message.role == wire::Role::Assistant,
                wire::Item::CustomToolCall(_)
                | wire::Item::FunctionCall(_)
                | wire::Item::Other(_)
                | wire::Item::Reasoning(_) => true,
                wire::Item::CustomToolCallOutput(_)
                | wire::Item::Easy(_)
                | wire::Item::FunctionCallOutput(_) => false,
            });
            prop_assert!(belongs, "{reasoning:?} before {next:?}");
        }
    }

    #[test]
    fn no_json_makes_the_server_side_panic(text in ".{0,80}", body in kit::json(), item in kit::json_object()) {
        drop(request::parse(text.as_bytes()));
        let bodies = [body.to_string(), serde_json::json!({ "model": "m", "input": [item] }).to_string()];
        for bytes in bodies {
            if let Ok(body) = request::parse(bytes.as_bytes()) {
                drop(request::from_wire(body, &owner()));
            }
        }
    }
}

type Failed = TestCaseError;

/// The body; `None` where a user shows what this server does not take.
fn made(request: &ModelRequest, profile: &Profile) -> Option<(wire::Request, Vec<Note>)> {
    request::to_wire(request, &owner(), profile, true).ok()
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

fn as_request(incoming: Incoming) -> ModelRequest {
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

/// Without the messages that show what calls returned: nobody said them.
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

/// Does to the outline what notes say of whole elements; gives the notes that did something.
fn apply_structure(tree: &mut Node, notes: &[Note]) -> BTreeSet<usize> {
    let mut real = BTreeSet::new();
    for (n, note) in notes.iter().enumerate() {
        if outline::remove(tree, note) {
            real.insert(n);
        }
    }
    let messages = outline::items(outline::field(tree, "messages"));
    messages.retain(|(_, message)| {
        let mut message = message.clone();
        !outline::items(outline::field(&mut message, "blocks")).is_empty()
    });
    let mut moved = Vec::new();
    for (n, note) in notes.iter().enumerate() {
        let code = &*note.code;
        if !matches!(code, "messages_merged" | "system_message_moved") {
            continue;
        }
        real.insert(n);
        let messages = outline::items(outline::field(tree, "messages"));
        let place = messages
            .iter()
            .position(|(path, _)| *path == note.path)
            .expect("a message");
        let (path, mut message) = messages.remove(place);
        let mut blocks = std::mem::take(outline::items(outline::field(&mut message, "blocks")));
        if code == "system_message_moved" {
            // The system prompt has text alone: what hung on the blocks is gone.
            let below = notes.iter().enumerate();
            let below = below.filter(|(_, note)| outline::is_below(&note.path, &path));
            real.extend(below.map(|(n, _)| n));
            moved.append(&mut blocks);
            // Words at the end of the system prompt stand at the end of what was moved there.
            let asked = |note: &Note| note.code == "json_asked_in_words";
            real.extend(notes.iter().position(asked));
        } else {
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
fn without_custom_fields(body: &wire::Request) -> Value {
    let mut body = json(body);
    let custom = |fields: &mut serde_json::Map<String, Value>| {
        fields.retain(|key, _| !key.starts_with("custom_") && key != "odd");
    };
    let fields = body.as_object_mut().expect("an object");
    custom(fields);
    if let Some(text) = fields.get_mut("text").and_then(Value::as_object_mut) {
        custom(text);
    }
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
        let Some((_, notes)) = made(&request, &profile) else {
            continue;
        };
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

/// Every note but `empty_message`, which no valid conversation has.
const NOTES: &[&str] = &[
    "annotation_not_sent",
    "annotation_source",
    "blank_text",
    "cache_lifetime",
    "cache_point_not_possible",
    "choice_by_subset",
    "choice_not_forced",
    "choice_without_tools",
    "document_as_text",
    "document_cite",
    "document_context",
    "document_named",
    "effort_changed",
    "effort_not_supported",
    "end_user_not_sent",
    "error_put_into_words",
    "extension_of_another_dialect",
    "extension_path",
    "fallback_not_sent",
    "image_detail",
    "item_id_not_sent",
    "json_asked_in_words",
    "limit_raised",
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
    "reasoning_without_its_item",
    "refusal_as_text",
    "sampling_not_supported",
    "schema_keywords_described",
    "schema_not_enforceable",
    "schema_properties_added",
    "schema_root_made_object",
    "service_tier_unknown",
    "setting_not_supported",
    "state_withheld",
    "stop_not_supported",
    "strict_not_sent",
    "structured_as_text",
    "structured_not_sent",
    "system_message_as_user",
    "system_message_moved",
    "system_parts_joined",
    "text_arguments",
    "text_input_as_json",
    "thinking_as_effort",
    "thinking_display_not_sent",
    "thinking_not_sent",
    "thinking_redacted",
    "thinking_text",
    "thinking_withheld",
    "tool_name_changed",
    "tool_name_twice",
    "tool_not_chosen",
];
