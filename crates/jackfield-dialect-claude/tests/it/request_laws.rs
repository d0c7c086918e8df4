//! The laws of the request mapper, for any valid request and any model.

use std::collections::BTreeSet;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request::{self, Incoming};
use jackfield_dialect_claude::{validator, wire};
use jackfield_domain::message::Message;
use jackfield_domain::note::Note;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::ToolDefinition;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::Value;

use crate::arb::{self, owner};
use crate::outline::{self, Node, Said};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_valid_request_gives_wire_or_a_refusal_of_a_block_that_is_there(
        request in kit::model_request(),
        profile in arb::profile(),
    ) {
        if let Err(refused) = request::to_wire(&request, &owner(), &profile, true) {
            let mut tree = outline_of(&request);
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
        let found = validator::check(&body, &profile);
        prop_assert!(found.is_empty(), "{found:?}\n{body:#}");
    }

    #[test]
    fn out_and_back_differs_exactly_where_notes_say(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let (body, notes) = made(&request, &profile)?;
        let back = read(&body)?;
        let mut original = outline_of(&request);
        let mut real = apply_structure(&mut original, &notes);
        let differences = outline::differences(&original, &outline_of(&back));
        for path in &differences {
            let named = notes.iter().any(|note| covers(note, path));
            prop_assert!(named, "unsound: {path} differs\n{notes:#?}\n{body:#?}");
        }
        for (n, note) in notes.iter().enumerate() {
            // Where a block became one of another kind, the outline tells no more than that.
            let inside = |path: &String| covers(note, path) || covers_below(path, &note.path);
            if differences.iter().any(inside) {
                real.insert(n);
            }
            prop_assert!(real.contains(&n), "incomplete: nothing differs at {note:?}\n{body:#?}");
        }
    }

    #[test]
    fn mapping_what_came_back_changes_nothing(
        request in arb::request(),
        profile in arb::profile(),
    ) {
        let (body, _) = made(&request, &profile)?;
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
        drop(validator::check(&body, &Profile::NEWEST));
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
        system: incoming.system.into(),
        tools: std::sync::Arc::new(incoming.tools.into_iter().map(Into::into).collect()),
    }
}

fn outline_of(request: &ModelRequest) -> Node {
    let messages: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
    let tools: Vec<&ToolDefinition> = request.tools.iter().map(|tool| &**tool).collect();
    outline::of_request(Said {
        choice: &request.choice,
        messages: &messages,
        settings: &request.settings,
        system: &request.system,
        tools: &tools,
    })
}

/// Whether a note names this place; where in a schema is of no interest here.
fn covers(note: &Note, path: &str) -> bool {
    let named = note.path.split('#').next().unwrap_or_default();
    path.strip_prefix(named)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn covers_below(path: &str, below: &str) -> bool {
    below
        .strip_prefix(path)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
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
                .filter(|(_, note)| covers_below(&path, &note.path));
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
