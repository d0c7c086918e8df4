//! The laws of the request mapper, for any valid request and any server.

use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_openai::chat::request::{self, Incoming};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::chat::wire;
use jackfield_dialect_openai::profile::{MessageOrder, Profile, SystemRole};
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::laws::RequestMappers;
use proptest::prelude::*;
use serde_json::Value;

use super::read::owner;
use super::{arb, rules};
use crate::laws::without_shown;

struct Chat;

impl RequestMappers for Chat {
    type Profile = Profile;

    const FREE_FIELDS: &'static [&'static str] = &[
        "arguments",
        "custom_a",
        "custom_b",
        "extra_content",
        "parameters",
        "reasoning_details",
        "schema",
        "thinking",
        "video_url",
    ];
    const NOTES: &'static [&'static str] = NOTES;

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
        let read = ChatCompletions::new().request(&|_| None, body, &|_| owner());
        read.map(drop).map_err(|refused| refused.param)
    }

    fn faults(body: &Value, profile: &Profile) -> Vec<String> {
        // The vendor's own rules know no fields of other servers: they judge requests without them, in `validated`.
        let body = serde_json::from_value(body.clone());
        let fault = body.ok().and_then(|body| rules::broken(&body, profile));
        fault.into_iter().collect()
    }

    fn state_in(body: &Value) -> Option<String> {
        let messages = body.get("messages").and_then(Value::as_array);
        let mut messages = messages.into_iter().flatten();
        let state = messages.find(|message| {
            let is_set = |key: &str| message.get(key).is_some_and(|json| *json != "");
            let calls = message.get("tool_calls").and_then(Value::as_array);
            let mut calls = calls.into_iter().flatten();
            let fields = [
                "audio",
                "reasoning",
                "reasoning_content",
                "reasoning_details",
                "thinking",
            ];
            fields.into_iter().any(is_set) || calls.any(|call| call.get("extra_content").is_some())
        });
        state.map(Value::to_string)
    }

    /// What becomes of the order is another law's.
    fn of_any_order(profile: &Profile) -> Profile {
        Profile {
            message_order: MessageOrder::Free,
            system_role: match profile.system_role {
                SystemRole::OneSystem => SystemRole::System,
                any => any,
            },
            ..*profile
        }
    }

    fn without_additions(back: ModelRequest, _: &mut Vec<Note>, _: &Profile) -> ModelRequest {
        without_shown(back)
    }
}

jackfield_testkit::request_laws!(Chat);

pub(crate) fn made(
    request: &ModelRequest,
    profile: &Profile,
) -> Result<(wire::Request, Vec<Note>), TestCaseError> {
    request::to_wire(request, &owner(), profile, true)
        .map_err(|refused| TestCaseError::fail(refused.to_string()))
}

pub(crate) fn as_request(incoming: Incoming) -> ModelRequest {
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
    "schema_as_json_object",
    "schema_not_enforceable",
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
