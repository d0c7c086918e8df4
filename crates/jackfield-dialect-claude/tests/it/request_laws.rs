//! The laws of the request mapper, for any valid request and any model.

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request::{self, Incoming};
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_rules::claude;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::laws::RequestMappers;
use proptest::prelude::*;
use serde_json::Value;

use crate::arb::{self, owner};

struct Claude;

impl RequestMappers for Claude {
    type Profile = Profile;

    const FREE_FIELDS: &'static [&'static str] = &[
        "caller",
        "citations",
        "custom_a",
        "custom_b",
        "input",
        "input_schema",
        "schema",
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
        let read = ClaudeServer.request(&|_| None, body, &|_| owner());
        read.map(drop).map_err(|refused| refused.param)
    }

    /// The generators invent fields that no vendor has; they are sent as they are told.
    fn faults(body: &Value, profile: &Profile) -> Vec<String> {
        let mut body = body.clone();
        let tools = body.get_mut("tools").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten() {
            drop_custom_fields(tool);
        }
        drop_custom_fields(&mut body);
        let faults = claude::check(&body, profile);
        faults.iter().map(|fault| format!("{fault:?}")).collect()
    }

    /// All but a tool's own fields is passed on as it is.
    fn without_free_objects(body: &Value) -> Value {
        let mut body = body.clone();
        let tools = body.get_mut("tools").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten() {
            tool.as_object_mut()
                .map(|tool| tool.remove("cache_control"));
        }
        body
    }

    fn state_in(body: &Value) -> Option<String> {
        let text = body.to_string();
        let mut kinds = [
            "\"thinking\":\"",
            "redacted_thinking",
            "\"caller\"",
            "server_tool_use",
        ]
        .into_iter();
        kinds.find(|kind| text.contains(kind)).map(str::to_owned)
    }

    /// No server takes unsigned thinking from a client, but the server that wrote it.
    fn is_one_way(notes: &[Note]) -> bool {
        notes.iter().any(|note| note.code == "empty_signature")
    }
}

jackfield_testkit::request_laws!(Claude);

fn drop_custom_fields(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, _| !key.starts_with("custom_"));
    }
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
    "top_p_beside_temperature",
];
