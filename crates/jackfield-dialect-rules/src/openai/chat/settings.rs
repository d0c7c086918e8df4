//! Rules for everything but messages and tools.

use jackfield_dialect_openai::profile::{MaxTokens, Prefill};
use serde_json::{Map, Value};

use crate::openai::form::{Field, Is, may, need};
use crate::openai::settings::SHARED;
use crate::openai::tools::ANSWER;
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

/// The fields that only this dialect has, without messages and tools.
const OWN: [Field; 26] = [
    may("audio", Is::OrNull(&Is::Object)),
    may("frequency_penalty", PENALTY),
    may("logit_bias", Is::OrNull(&Is::Object)),
    may("logprobs", Is::OrNull(&Is::Bool)),
    may("max_completion_tokens", COUNT),
    may("max_tokens", COUNT),
    need("messages", Is::List),
    may("modalities", Is::OrNull(&Is::List)),
    need("model", Is::Any),
    may("n", Is::OrNull(&Is::Int(1, 128))),
    may("prediction", Is::OrNull(&Is::Object)),
    may("presence_penalty", PENALTY),
    may("reasoning_effort", Is::Any),
    may("response_format", Is::Object),
    may("seed", Is::OrNull(&Is::Int(i64::MIN, i64::MAX))),
    may("service_tier", Is::OrNull(&TIERS)),
    may("stop", Is::Any),
    may("stream_options", Is::Any),
    may("tool_choice", Is::Any),
    may("tools", Is::List),
    may(
        "verbosity",
        Is::OrNull(&Is::OneOf(&["low", "medium", "high"])),
    ),
    may("web_search_options", Is::Object),
    // Fields of compatible servers.
    may("add_generation_prompt", Is::Bool),
    may("continue_final_message", Is::Bool),
    may("thinking", Is::Object),
    may("top_k", Is::Int(0, i64::MAX)),
];
const COUNT: Is = Is::OrNull(&Is::Int(1, i64::MAX));
const PENALTY: Is = Is::OrNull(&Is::Number(-2.0, 2.0));
const TIERS: Is = Is::OneOf(&["auto", "default", "flex", "scale", "priority", "fast"]);

const STREAM_OPTIONS: [Field; 2] = [
    may("include_obfuscation", Is::Bool),
    may("include_usage", Is::Bool),
];

const FORMAT: [Field; 2] = [may("json_schema", Is::Object), need("type", Is::Text)];

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    for key in body.keys() {
        let known = OWN.iter().chain(&SHARED).any(|field| field.is_called(key));
        found.check(known, &place.at(key), Rule::UnknownField);
    }
    found.fields(body, &OWN, place);
    found.fields(body, &SHARED, place);
    found.shared_settings(body, place);
    let profile = *found.profile;
    // Reasoning models reject the fields that newer ones replaced.
    let newer = profile.max_tokens == MaxTokens::MaxCompletionTokens;
    let continues = profile.prefill == Prefill::ContinueFinalMessage;
    for (key, taken) in [
        ("add_generation_prompt", continues),
        ("continue_final_message", continues),
        ("frequency_penalty", profile.penalties),
        ("logit_bias", profile.sampling),
        ("logprobs", profile.sampling),
        ("max_completion_tokens", newer),
        ("max_tokens", !newer || profile.sampling),
        ("presence_penalty", profile.penalties),
        ("reasoning_effort", !profile.efforts.is_empty()),
        ("seed", profile.seed),
        ("stop", profile.stop),
        ("thinking", profile.thinking_switch),
        ("top_k", profile.top_k),
        ("verbosity", profile.verbosity),
    ] {
        found.taken(body, key, taken, place);
    }
    let both = body.contains_key("max_tokens") && body.contains_key("max_completion_tokens");
    found.check(!both, &place.at("max_tokens"), Rule::Exclusive);
    if let Some(effort) = said(body, "reasoning_effort") {
        let place = place.at("reasoning_effort");
        found.effort(effort, profile.chat_efforts(), &place);
        let switched = profile.thinking_switch && effort == "none";
        found.check(!switched, &place, Rule::NotTaken);
    }
    if let Some(options) = said(body, "stream_options") {
        let place = place.at("stream_options");
        found.form(options, &STREAM_OPTIONS, &place);
        let usage = options.get("include_usage") == Some(&Value::Bool(true));
        let taken = profile.stream_usage || !usage;
        found.check(taken, &place.at("include_usage"), Rule::NotTaken);
    }
    let logprobs = body.get("logprobs") == Some(&Value::Bool(true));
    let needs = said(body, "top_logprobs").is_some();
    found.check(logprobs || !needs, &place.at("logprobs"), Rule::Missing);
    stop(found, body, &place.at("stop"));
    format(found, body, &place.at("response_format"));
}

/// One stop sequence, or up to four.
fn stop(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    match said(body, "stop") {
        None => {}
        Some(Value::String(text)) => found.check(!text.is_empty(), place, Rule::Empty),
        Some(list) => {
            let list = found.some(list, place);
            found.check(list.len() <= 4, place, Rule::TooMany);
            for (n, text) in list.iter().enumerate() {
                let place = place.at(n);
                if let Some(text) = found.text(text, &place) {
                    found.check(!text.is_empty(), &place, Rule::Empty);
                }
            }
        }
    }
}

fn format(found: &mut Found<'_>, body: &Map<String, Value>, place: &Place) {
    let Some(format) = said(body, "response_format") else {
        return;
    };
    let kind = text_of(format, "type");
    found.form(format, &FORMAT, place);
    let by_schema = kind == "json_schema";
    let inner = format.get("json_schema");
    let at = place.at("json_schema");
    match inner {
        Some(inner) if by_schema => {
            found.form(inner, &ANSWER, &at);
        }
        Some(_) => found.broken(&at, Rule::UnknownField),
        None => found.check(!by_schema, &at, Rule::Missing),
    }
    found.answer_form(kind, inner.map(|inner| (inner, &at)), place);
    if let Some(messages) = body.get("messages") {
        found.json_mentioned(kind, messages, place);
    }
}
