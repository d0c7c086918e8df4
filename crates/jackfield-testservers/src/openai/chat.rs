//! Rules for requests to Chat Completions.

mod compatible;
mod messages;
mod order;
pub(super) mod speak;

use serde_json::Value;

use super::VendorQuirks;
use super::rules::{
    self, items, missing, need_text, not_empty, one_of, schema, settings, text, tools,
};
use crate::checks::{CheckFindings, Violation};

/// Returns every violation in the body of a completion request to such a server.
#[must_use]
pub fn check(body: &Value, like: VendorQuirks) -> Vec<Violation> {
    let mut found = CheckFindings::default();
    if !body.is_object() {
        found.add("", "We could not parse the JSON body of your request.");
        return found.0;
    }
    need_text("", body, "model", &mut found);
    match like {
        VendorQuirks::OpenAi => openai(body, &mut found),
        VendorQuirks::DeepSeek => compatible::deepseek(body, &mut found),
        VendorQuirks::Mistral => compatible::mistral(body, &mut found),
        VendorQuirks::Ollama => compatible::ollama(body, &mut found),
    }
    if like != VendorQuirks::OpenAi {
        compatible::all(body, &mut found);
    }
    let messages = items(body.get("messages"));
    if body.get("messages").is_none() {
        missing("messages", &mut found);
    } else {
        not_empty("messages", messages, &mut found);
    }
    for (n, message) in messages.iter().enumerate() {
        messages::check(n, message, like, &mut found);
    }
    order::check(messages, like, &mut found);
    tools::check(body, tools::Shape::Nested, &mut found);
    found.0
}

/// The additional rules of OpenAI's own server.
fn openai(body: &Value, found: &mut CheckFindings) {
    for name in rules::fields(body).keys() {
        if !FIELDS.contains(&name.as_str()) {
            found.add(
                name,
                &format!("Unrecognized request argument supplied: {name}"),
            );
        }
    }
    settings::check(body, TIERS, found);
    settings::number(body, "frequency_penalty", -2.0, 2.0, found);
    settings::number(body, "presence_penalty", -2.0, 2.0, found);
    settings::whole(body, "max_completion_tokens", 1, found);
    settings::whole(body, "max_tokens", 1, found);
    settings::whole(body, "n", 1, found);
    settings::whole(body, "seed", i64::MIN, found);
    let model = text(body, "model");
    settings::effort("", body, "reasoning_effort", model, found);
    let effort = text(body, "reasoning_effort");
    let responses_only = ["gpt-6-astra", "gpt-6.1-sol"];
    if effort == "max" && responses_only.iter().any(|name| model.starts_with(name)) {
        settings::no_effort("reasoning_effort", effort, model, found);
    }
    one_of("", body, "verbosity", &["low", "medium", "high"], found);
    if let Some(options) = body.get("stream_options") {
        let known = &["include_obfuscation", "include_usage"];
        rules::known("stream_options", options, known, found);
    }
    if rules::has(body, "max_tokens") && rules::has(body, "max_completion_tokens") {
        let fault =
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        found.add("max_tokens", fault);
    }
    if rules::has(body, "top_logprobs") && body.get("logprobs") != Some(&Value::Bool(true)) {
        let fault = "'logprobs' must be set to true if 'top_logprobs' is used.";
        found.add("top_logprobs", fault);
    }
    if items(body.get("stop")).len() > 4 {
        let fault = "Invalid 'stop': array too long. Expected an array with maximum length 4.";
        found.coded("stop", "array_above_max_length", fault);
    }
    form(body, found);
    reasoning(body, found);
}

fn form(body: &Value, found: &mut CheckFindings) {
    let Some(format) = body.get("response_format").filter(|form| !form.is_null()) else {
        return;
    };
    match text(format, "type") {
        "json_object" => {
            let says_so = items(body.get("messages")).iter().any(|message| {
                let content = message.get("content").map(Value::to_string);
                content.is_some_and(|content| content.to_lowercase().contains("json"))
            });
            if !says_so {
                let fault = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
                found.add("messages", fault);
            }
        }
        "json_schema" => {
            let at = "response_format.json_schema";
            let Some(schema) = format.get("json_schema") else {
                return missing(at, found);
            };
            let known = &["description", "name", "schema", "strict"];
            rules::known(at, schema, known, found);
            answer_schema(at, schema, found);
        }
        "text" => {}
        kind => {
            let known = &["json_object", "json_schema", "text"];
            rules::not_supported("response_format.type", kind, known, found);
        }
    }
}

/// Checks a response format's schema, name and description.
pub(super) fn answer_schema(at: &str, form: &Value, found: &mut CheckFindings) {
    let Some(name) = need_text(at, form, "name", found) else {
        return;
    };
    rules::name(&rules::join(at, "name"), name, 64, found);
    if let Some(schema) = form.get("schema") {
        let strict = form.get("strict") == Some(&Value::Bool(true));
        let at = rules::join(at, "schema");
        schema::check(&at, "response_format", name, schema, strict, found);
    }
}

/// Checks the fields that reasoning models refuse, and those that other models do not know.
fn reasoning(body: &Value, found: &mut CheckFindings) {
    let model = text(body, "model");
    let effort = body.get("reasoning_effort").and_then(Value::as_str);
    if !settings::reasons(model) {
        if effort.is_some() {
            let fault = "Unrecognized request argument supplied: reasoning_effort";
            found.add("reasoning_effort", fault);
        }
        return;
    }
    if rules::has(body, "max_tokens") {
        let fault = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        found.coded("max_tokens", "unsupported_parameter", fault);
    }
    settings::refused_while_reasoning(body, NOT_WHILE_REASONING, found);
    // Since 5.4 if an effort is requested, and since 5.6 by default.
    let version = settings::tenths(model).unwrap_or_default();
    let reasons = match effort {
        None => version >= 56,
        Some(effort) => version >= 54 && effort != "none",
    };
    let functions = items(body.get("tools"))
        .iter()
        .any(|tool| text(tool, "type") == "function");
    if reasons && functions {
        let fault = format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        );
        found.add("reasoning_effort", &fault);
    }
}

const TIERS: &[&str] = &["auto", "default", "fast", "flex", "priority", "scale"];
const NOT_WHILE_REASONING: &[&str] = &[
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "presence_penalty",
    "stop",
    "temperature",
    "top_logprobs",
    "top_p",
];
const FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];
