//! Model requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Messages;
use jackfield_domain::naming;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{
    CacheMode, CacheTtl, Effort, ResponseFormat, Settings, ThinkingMode, Verbosity,
};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::conversation::messages;
use super::opaque::extension;
use super::text::{text, word, words};
use super::tool::{schema, tool_choice, tool_definition};

/// A model of a provider.
pub fn model_ref() -> impl Strategy<Value = ModelRef> + Clone {
    (word(), word()).prop_map(|(model, provider)| ModelRef { model, provider })
}

fn effort() -> impl Strategy<Value = Effort> + Clone {
    select(
        &[
            Effort::None,
            Effort::Minimal,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::ExtraHigh,
            Effort::Max,
        ][..],
    )
}

fn thinking_mode() -> impl Strategy<Value = ThinkingMode> + Clone {
    prop_oneof![
        Just(ThinkingMode::Adaptive),
        (1024..9_000_u32).prop_map(ThinkingMode::Budget),
        Just(ThinkingMode::Off),
    ]
}

fn response_format() -> impl Strategy<Value = ResponseFormat> + Clone {
    let of_schema = (option::of(text()), schema(), option::of(any::<bool>())).prop_map(
        |(description, schema, strict)| ResponseFormat::JsonSchema {
            description,
            name: "answer".into(),
            schema: Arc::new(schema),
            strict,
        },
    );
    prop_oneof![
        4 => Just(ResponseFormat::Text),
        1 => Just(ResponseFormat::JsonObject),
        1 => of_schema,
    ]
    .boxed()
}

/// A fraction in hundredths within these bounds, which every JSON parser reads exactly.
fn hundredths(from: i16, to: i16) -> impl Strategy<Value = Option<f64>> + Clone {
    option::weighted(0.3, (from..=to).prop_map(|n| f64::from(n) / 100.0))
}

/// Settings of a model call, each within its bounds, most of them unset.
pub fn settings() -> impl Strategy<Value = Settings> + Clone {
    let sampling = (
        hundredths(-200, 200),
        hundredths(-200, 200),
        hundredths(0, 200),
        hundredths(0, 100),
        option::weighted(0.2, 1..100_u32),
        option::weighted(0.2, any::<i64>()),
    );
    let thinking = (
        option::weighted(0.3, effort()),
        option::weighted(0.3, thinking_mode()),
        option::weighted(0.3, any::<bool>()),
        option::weighted(
            0.3,
            select(&[Verbosity::Low, Verbosity::Medium, Verbosity::High][..]),
        ),
    );
    // `Auto` would set cache points that the request has not, which the laws of mappers take for a difference.
    let caches = (
        option::weighted(0.3, select(&[CacheMode::Client, CacheMode::Off][..])),
        option::weighted(0.3, select(&[CacheTtl::FiveMinutes, CacheTtl::OneHour][..])),
    );
    let rest = (
        option::weighted(0.2, word()),
        prop_oneof![4 => Just(Vec::new()), 1 => vec(extension(), 1..3)],
        // Often below a thinking budget.
        option::weighted(0.3, prop_oneof![1 => 1..9_000_u32, 1 => 9_000..100_000_u32]),
        option::weighted(0.3, any::<bool>()),
        response_format(),
        option::weighted(0.2, word()),
        prop_oneof![3 => Just(Vec::new()), 1 => vec(words(), 1..3)],
    );
    (sampling, thinking, caches, rest)
        .prop_map(|(sampling, thinking, (cache, cache_ttl), rest)| {
            let (frequency_penalty, presence_penalty, temperature, top_p, top_k, seed) = sampling;
            let (effort, thinking, thinking_shown, verbosity) = thinking;
            let (end_user, extensions, max_output_tokens, parallel_calls, format, tier, stop) =
                rest;
            Settings {
                cache,
                cache_ttl,
                effort,
                end_user,
                extensions,
                frequency_penalty,
                headers: Vec::new(),
                max_output_tokens,
                parallel_calls,
                presence_penalty,
                response_format: format,
                seed,
                service_tier: tier,
                stop,
                temperature,
                thinking,
                thinking_shown,
                top_k,
                top_p,
                verbosity,
            }
        })
        .boxed()
}

/// A system prompt: no parts, or a few of any origin.
pub fn system_prompt() -> impl Strategy<Value = SystemPrompt> + Clone {
    let origin = prop_oneof![
        Just(PartOrigin::Configuration),
        Just(PartOrigin::Default),
        Just(PartOrigin::Flag),
        Just(PartOrigin::Session),
        word().prop_map(PartOrigin::Retrieved),
        word().prop_map(PartOrigin::Server),
    ];
    let part = (origin, text()).prop_map(|(origin, text)| SystemPart { origin, text });
    vec(part, 0..3)
        .prop_map(|parts| SystemPrompt { parts })
        .boxed()
}

/// A valid model request: a valid conversation, tools with unique names, and a choice among them.
///
/// As in the loop's requests, tools that only the history knows follow the others, as stubs.
pub fn model_request() -> impl Strategy<Value = ModelRequest> + Clone {
    let tools = vec(tool_definition(), 0..3).prop_map(|tools| {
        let named: BTreeMap<ToolName, Arc<ToolDefinition>> = tools
            .into_iter()
            .map(|tool| (tool.name.clone(), Arc::new(tool)))
            .collect();
        named.into_values().collect::<Vec<_>>()
    });
    let tools = tools.prop_flat_map(|tools| {
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        (tool_choice(names), Just(tools))
    });
    (tools, messages(), model_ref(), settings(), system_prompt())
        .prop_map(
            |((choice, tools), messages, model, settings, system)| ModelRequest {
                choice,
                tools: Arc::new(with_stubs(tools, &messages)),
                messages,
                model,
                turn: None,
                settings: Arc::new(settings),
                strict: None,
                system: Arc::new(system),
                searchable: Arc::default(),
                tools_as_text: false,
                whole: false,
            },
        )
        .boxed()
}

/// These tools, and a stub for each tool that only the history knows.
fn with_stubs(
    mut tools: Vec<Arc<ToolDefinition>>,
    messages: &Messages,
) -> Vec<Arc<ToolDefinition>> {
    let calls = messages.iter().flat_map(|message| message.calls());
    for call in calls.filter(|call| call.ran_by != RanBy::Provider) {
        // An invalid tool name still stands for a tool.
        let name = call.name.as_str();
        let name = ToolName::parse(name).unwrap_or_else(|_| naming::bare_tool_name(name));
        if tools.iter().all(|tool| tool.name != name) {
            tools.push(Arc::new(ToolDefinition {
                description: "No longer available. Do not call it.".into(),
                extensions: Vec::new(),
                input: InputFormat::Json(Arc::new(json!({ "type": "object", "properties": {} }))),
                name,
                output: None,
                strict: None,
            }));
        }
    }
    tools
}
