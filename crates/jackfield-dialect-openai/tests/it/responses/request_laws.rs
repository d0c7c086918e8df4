//! The laws of the request mapper, for any valid request and any server.

use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_openai::profile::{Profile, SystemRole};
use jackfield_dialect_openai::responses::request::{self, Incoming};
use jackfield_dialect_openai::responses::{serve, wire};
use jackfield_dialect_rules::openai;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::arb as kit;
use jackfield_testkit::laws::RequestMappers;
use proptest::prelude::*;
use serde_json::Value;

use super::{arb, owner};
use crate::laws::without_shown;

struct Responses;

impl RequestMappers for Responses {
    type Profile = Profile;

    const FREE_FIELDS: &'static [&'static str] = &[
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
    const NOTES: &'static [&'static str] = NOTES;
    const REFUSES: bool = true;

    fn owner() -> StateOwner {
        owner()
    }

    fn profiles() -> BoxedStrategy<Profile> {
        arb::profile().boxed()
    }

    fn requests() -> BoxedStrategy<ModelRequest> {
        arb::request().boxed()
    }

    fn write(
        request: &ModelRequest,
        owner: &StateOwner,
        profile: &Profile,
    ) -> Result<(Value, Vec<Note>), String> {
        let made = request::to_wire(request, owner, profile, true);
        let (body, notes) = made.map_err(|refused| refused.path)?;
        Ok((serde_json::to_value(&body).expect("JSON"), notes))
    }

    fn read(body: &[u8]) -> Result<ModelRequest, String> {
        let parsed = request::parse(body).map_err(|fault| fault.to_string())?;
        let incoming = request::from_wire(parsed, &owner()).map_err(|fault| fault.to_string())?;
        Ok(as_request(incoming))
    }

    fn serve(body: &[u8]) -> Result<(), Option<String>> {
        let read = serve::Responses.request(&|_| None, body, &|_| owner());
        read.map(drop).map_err(|refused| refused.param)
    }

    /// The generators invent fields that no vendor has; they are sent as they are told.
    fn faults(body: &Value, profile: &Profile) -> Vec<String> {
        let mut body = body.clone();
        drop_custom_fields(&mut body);
        if let Some(text) = body.get_mut("text") {
            drop_custom_fields(text);
        }
        let tools = body.get_mut("tools").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten() {
            drop_custom_fields(tool);
        }
        let found = openai::responses::check(&body, profile);
        found.iter().map(|fault| format!("{fault:?}")).collect()
    }

    fn state_in(body: &Value) -> Option<String> {
        let text = body.get("input").map(Value::to_string).unwrap_or_default();
        let mut kinds = [
            "\"reasoning\"",
            "encrypted_content",
            "\"phase\"",
            "web_search_call",
            "\"caller\"",
            "\"id\":\"fc_",
            "\"id\":\"msg_",
        ]
        .into_iter();
        kinds.find(|kind| text.contains(kind)).map(str::to_owned)
    }

    fn without_additions(
        back: ModelRequest,
        notes: &mut Vec<Note>,
        profile: &Profile,
    ) -> ModelRequest {
        let mut back = without_shown(back);
        let asked = notes
            .iter()
            .position(|note| note.code == "json_asked_in_words");
        if let Some(asked) = asked.filter(|_| profile.system_role != SystemRole::OneSystem) {
            // It stands before everything else.
            notes.remove(asked);
            let messages = back.messages.iter().skip(1);
            back.messages = messages.map(|message| (**message).clone()).collect();
        }
        back
    }
}

jackfield_testkit::request_laws!(Responses);

proptest! {
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
    fn no_item_makes_the_server_side_panic(item in kit::json_object()) {
        let body = serde_json::json!({ "model": "m", "input": [item] });
        drop(Responses::read(body.to_string().as_bytes()));
    }
}

fn drop_custom_fields(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, _| !key.starts_with("custom_") && key != "odd");
    }
}

/// The body; `None` where a user shows what this server does not take.
fn made(request: &ModelRequest, profile: &Profile) -> Option<(wire::Request, Vec<Note>)> {
    request::to_wire(request, &owner(), profile, true).ok()
}

fn as_request(incoming: Incoming) -> ModelRequest {
    ModelRequest {
        choice: incoming.choice,
        messages: incoming.messages.into_iter().collect(),
        model: ModelRef {
            model: incoming.model,
            provider: "any".into(),
        },
        turn: None,
        settings: incoming.settings.into(),
        strict: None,
        system: incoming.system.into(),
        tools: std::sync::Arc::new(incoming.tools),
        searchable: std::sync::Arc::default(),
        tools_as_text: false,
        whole: false,
    }
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
