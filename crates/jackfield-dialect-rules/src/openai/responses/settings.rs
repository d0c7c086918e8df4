//! Rules for everything but items and tools.

use jackfield_dialect_openai::profile::SystemRole;
use serde_json::{Map, Value};

use crate::openai::form::{Field, Is, may, need};
use crate::openai::settings::SHARED;
use crate::openai::tools::ANSWER;
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

/// The fields that only this dialect has, without items and tools.
const OWN: [Field; 23] = [
    may("access_programs", Is::Object),
    may("background", Is::OrNull(&Is::Bool)),
    may("background_options", Is::Object),
    // The vendor's own agent sends it with every request (Codex 0.169, 2026-11).
    may("client_metadata", Is::Object),
    may("context_management", Is::OrNull(&Is::List)),
    may("conversation", Is::Any),
    may("image", Is::Object),
    may("include", Is::OrNull(&Is::List)),
    may("input", Is::Any),
    may("instructions", Is::OrNull(&Is::Text)),
    may("max_output_tokens", COUNT),
    may("max_tool_calls", COUNT),
    may("model", Is::Any),
    may("previous_response_id", Is::OrNull(&Is::Words(1000))),
    may("prompt", Is::OrNull(&Is::Object)),
    may("reasoning", Is::OrNull(&Is::Object)),
    may("service_tier", Is::OrNull(&TIERS)),
    may("stream_options", Is::Any),
    may("text", Is::Object),
    may("tool_choice", Is::Any),
    may("tools", Is::List),
    may("truncation", Is::OrNull(&Is::OneOf(&["auto", "disabled"]))),
    // Fields of compatible servers.
    may("top_k", Is::Int(0, i64::MAX)),
];
const COUNT: Is = Is::OrNull(&Is::Int(1, i64::MAX));
const TIERS: Is = Is::OneOf(&[
    "auto",
    "default",
    "flex",
    "scale",
    "priority",
    "fast",
    "ultrafast",
]);

const INCLUDED: Is = Is::OneOf(&[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
]);

const REASONING: [Field; 5] = [
    may(
        "context",
        Is::OrNull(&Is::OneOf(&["auto", "current_turn", "all_turns"])),
    ),
    may("effort", Is::Any),
    may("generate_summary", SUMMARIES),
    may("mode", Is::Text),
    may("summary", SUMMARIES),
];
const SUMMARIES: Is = Is::OrNull(&Is::OneOf(&["auto", "concise", "detailed"]));

const STREAM_OPTIONS: [Field; 1] = [may("include_obfuscation", Is::Bool)];

const TEXT: [Field; 2] = [
    may("format", Is::Object),
    may(
        "verbosity",
        Is::OrNull(&Is::OneOf(&["low", "medium", "high"])),
    ),
];
const PLAIN: [Field; 1] = [need("type", Is::Text)];

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    for key in body.keys() {
        let known = OWN.iter().chain(&SHARED).any(|field| field.is_called(key));
        found.check(known, &place.at(key), Rule::UnknownField);
    }
    found.fields(body, &OWN, place);
    found.fields(body, &SHARED, place);
    found.shared_settings(body, place);
    found.taken(body, "top_k", found.profile.top_k, place);
    if let Some(most) = body.get("max_output_tokens").and_then(Value::as_u64) {
        let enough = most >= found.profile.least_output.into();
        found.check(enough, &place.at("max_output_tokens"), Rule::OutOfRange);
    }
    let template = said(body, "prompt").is_some();
    let model = template || body.contains_key("model");
    found.check(model, &place.at("model"), Rule::Missing);
    let asked = ["conversation", "input", "previous_response_id", "prompt"];
    let asked = asked.iter().any(|key| said(body, key).is_some());
    found.check(asked, &place.at("input"), Rule::Missing);
    let both = said(body, "conversation").is_some() && said(body, "previous_response_id").is_some();
    let at = place.at("previous_response_id");
    found.check(!both, &at, Rule::Exclusive);
    if let Some(options) = said(body, "stream_options") {
        found.form(options, &STREAM_OPTIONS, &place.at("stream_options"));
    }
    include(found, body, &place.at("include"));
    reasoning(found, body, &place.at("reasoning"));
    text(found, body, &place.at("text"));
}

fn include(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    let included = body.get("include").and_then(Value::as_array);
    for (n, each) in included.into_iter().flatten().enumerate() {
        let place = place.at(n);
        found.is(each, INCLUDED, &place);
        let taken = found.profile.encrypted_reasoning || each != "reasoning.encrypted_content";
        found.check(taken, &place, Rule::NotTaken);
    }
}

fn reasoning(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    let Some(reasoning) = said(body, "reasoning") else {
        return;
    };
    found.check(!found.profile.efforts.is_empty(), place, Rule::NotTaken);
    let fields = found.form(reasoning, &REASONING, place);
    if let Some(effort) = fields.and_then(|fields| said(fields, "effort")) {
        let supported = found.profile.efforts.iter().copied();
        found.effort(effort, supported, &place.at("effort"));
    }
}

fn text(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    let Some(fields) = said(body, "text").and_then(|text| found.form(text, &TEXT, place)) else {
        return;
    };
    found.taken(fields, "verbosity", found.profile.verbosity, place);
    let Some(format) = said(fields, "format") else {
        return;
    };
    let place = place.at("format");
    let kind = text_of(format, "type");
    if kind == "json_schema" {
        let mut form = ANSWER.to_vec();
        form.extend(PLAIN);
        found.form(format, &form, &place);
        let schema = format.get("schema").is_some();
        found.check(schema, &place.at("schema"), Rule::Missing);
    } else {
        found.form(format, &PLAIN, &place);
    }
    found.answer_form(kind, Some((format, &place)), &place);
    if let Some(input) = body.get("input") {
        // The vendor does not search the instructions; whether other servers search at all is unknown.
        let instructions = (found.profile.system_role == SystemRole::OneSystem)
            .then(|| body.get("instructions"))
            .flatten();
        let looked: Vec<Value> = instructions.into_iter().chain([input]).cloned().collect();
        found.json_mentioned(kind, &Value::Array(looked), &place);
    }
}
