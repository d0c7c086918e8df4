//! The laws of the request mapper, for any valid request and any model.

use jackfield_dialect_gemini::options::Profile;
use jackfield_dialect_gemini::request::{self, Incoming};
use jackfield_dialect_rules::gemini;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::laws::RequestMappers;
use proptest::prelude::*;
use serde_json::Value;

use crate::arb::{self, owner};

struct Gemini;

impl RequestMappers for Gemini {
    type Profile = Profile;

    const FREE_FIELDS: &'static [&'static str] = &[
        "args",
        "custom_a",
        "custom_b",
        "executableCode",
        "googleSearch",
        "output",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "videoMetadata",
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
        let made = request::to_wire(request, owner, profile);
        let (body, notes) = made.map_err(|refused| refused.path)?;
        Ok((serde_json::to_value(&body).expect("JSON"), notes))
    }

    fn read(body: &[u8]) -> Result<ModelRequest, String> {
        let parsed = request::parse(body).map_err(|fault| fault.to_string())?;
        let incoming = request::from_wire(parsed, "model-a", &owner());
        Ok(as_request(incoming.map_err(|fault| fault.to_string())?))
    }

    fn serve(body: &[u8]) -> Result<(), Option<String>> {
        let parsed = request::parse(body).map_err(|fault| Some(fault.path))?;
        let incoming = request::from_wire(parsed, "model-a", &owner());
        incoming.map(drop).map_err(|fault| Some(fault.path))
    }

    /// The generators invent fields that no vendor has; they are sent unchanged.
    fn faults(body: &Value, profile: &Profile) -> Vec<String> {
        let mut body = body.clone();
        let tools = body.get_mut("tools").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten() {
            let declared = tool.get_mut("functionDeclarations");
            let declared = declared.and_then(Value::as_array_mut);
            declared.into_iter().flatten().for_each(drop_custom_fields);
        }
        drop_custom_fields(&mut body);
        let faults = gemini::check(&body, profile);
        faults.iter().map(|fault| format!("{fault:?}")).collect()
    }

    fn state_in(body: &Value) -> Option<String> {
        let text = body
            .to_string()
            .replace("skip_thought_signature_validator", "");
        let mut kinds = [
            "\"thoughtSignature\":\"c",
            "\"thoughtSignature\":\"Y",
            "\"thought\":true",
            "executableCode",
            "videoMetadata",
        ]
        .into_iter();
        kinds.find(|kind| text.contains(kind)).map(str::to_owned)
    }
}

jackfield_testkit::request_laws!(Gemini);

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

/// Every note but `empty_message`, which no valid conversation has.
const NOTES: &[&str] = &[
    "annotation_not_sent",
    "blank_stop_sequence",
    "blank_text",
    "cache_point_not_possible",
    "choice_by_name",
    "choice_not_forced",
    "choice_of_fewer",
    "choice_without_tools",
    "document_as_text",
    "document_fields_not_sent",
    "effort_by_budget",
    "effort_lowered",
    "effort_not_supported",
    "effort_raised",
    "extension_of_another_dialect",
    "extension_path",
    "fallback_not_sent",
    "format_field_not_sent",
    "image_detail",
    "json_beside_tools",
    "malformed_arguments",
    "max_tokens_cut",
    "media_as_text",
    "messages_merged",
    "no_arguments",
    "opaque_as_text",
    "opaque_withheld",
    "output_schema_not_sent",
    "parallel_calls_not_sent",
    "parts_rearranged",
    "provider_call_withheld",
    "provider_outcome_withheld",
    "provider_would_act",
    "refusal_as_text",
    "sampling_cut",
    "schema_all_of_merged",
    "schema_beside_reference",
    "schema_const_as_enum",
    "schema_cycle_not_required",
    "schema_definitions_renamed",
    "schema_keyword_dropped",
    "schema_keywords_described",
    "schema_made_object",
    "schema_reference_cut",
    "schema_root_made_object",
    "seed_too_large",
    "service_tier_unknown",
    "setting_not_supported",
    "signature_missing",
    "state_withheld",
    "strict_not_sent",
    "structured_as_text",
    "structured_not_sent",
    "system_message_as_user",
    "system_message_moved",
    "text_arguments",
    "text_input_as_json",
    "thinking_always_on",
    "thinking_by_effort",
    "thinking_not_supported",
    "thinking_withheld",
    "too_many_stop_sequences",
    "tool_name_changed",
    "tool_name_twice",
    "transcript_not_sent",
];
