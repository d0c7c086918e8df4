//! Where the cache points of a request are that the client has not marked.

use std::sync::Arc;

use jackfield_dialect_rules::bedrock as rules;
use jackfield_domain::block::{Block, CachePoint};
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::request::{InTurn, ModelRequest};
use jackfield_domain::settings::{CacheMode, CacheTtl, Settings};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_provider_bedrock::profile::ModelProfile;
use jackfield_provider_bedrock::request::to_wire;
use serde_json::{Value, json};

use crate::reading::owner;
use crate::requests::request;

const CLAUDE: &str = "us.anthropic.claude-opus-5-5";

/// A question after an answer, with about as many tokens of tools and of system prompt.
fn asked(tokens: usize, settings: Settings) -> ModelRequest {
    let tool = ToolDefinition {
        description: "word".repeat(tokens).into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name: ToolName::parse("weather").unwrap(),
        output: None,
        strict: None,
    };
    let system = SystemPart {
        origin: PartOrigin::Configuration,
        text: "word".repeat(tokens).into(),
    };
    let messages = [
        Message::user("What is the weather?"),
        Message::new(Role::Assistant, vec![Block::text("Where?")]),
        Message::user("Here."),
    ];
    ModelRequest {
        messages: messages.into_iter().collect(),
        settings: Arc::new(settings),
        system: Arc::new(SystemPrompt {
            parts: vec![system],
        }),
        tools: Arc::new(vec![Arc::new(tool)]),
        ..request()
    }
}

/// The places of the cache points, with their lifetimes.
fn points(model: &str, request: &ModelRequest) -> Vec<(String, Value)> {
    points_at(model, request, CacheMode::Auto)
}

/// The same at a provider with this mode.
fn points_at(model: &str, request: &ModelRequest, cache: CacheMode) -> Vec<(String, Value)> {
    let mut profile = ModelProfile::of(model);
    profile.cache = cache;
    let (body, _) = to_wire(request, &owner(), &profile).unwrap();
    let body = serde_json::to_value(&body).unwrap();
    assert_eq!(rules::check(&body, model), [], "{body:#}");
    let mut found = Vec::new();
    for path in [
        "/toolConfig/tools",
        "/system",
        "/messages/0/content",
        "/messages/2/content",
    ] {
        let blocks = body.pointer(path).and_then(Value::as_array).unwrap();
        for (n, block) in blocks.iter().enumerate() {
            if let Some(point) = block.get("cachePoint") {
                found.push((format!("{path}/{n}"), point["ttl"].clone()));
            }
        }
    }
    found
}

fn places(model: &str, request: &ModelRequest) -> Vec<String> {
    let points = points(model, request).into_iter();
    points.map(|(place, _)| place).collect()
}

#[test]
fn points_follow_tools_system_and_the_last_two_ends() {
    let all = [
        "/toolConfig/tools/1",
        "/system/1",
        "/messages/0/content/1",
        "/messages/2/content/1",
    ];
    let long = asked(1000, Settings::default());
    assert_eq!(places(CLAUDE, &long), all);
    // Nova has none after tools, and Llama none at all.
    assert_eq!(places("us.amazon.nova-pro-v1:0", &long), all[1..]);
    let llama = "us.meta.llama4-scout-17b-instruct-v1:0";
    assert_eq!(places(llama, &long), [""; 0]);
    // What is too short is not cached.
    assert_eq!(places(CLAUDE, &asked(100, Settings::default())), [""; 0]);
    assert_eq!(places(CLAUDE, &asked(300, Settings::default())), all[1..]);
}

#[test]
fn settings_say_which_points_there_are_and_how_long_they_last() {
    for (cache, count) in [
        (CacheMode::Auto, 4),
        (CacheMode::Client, 0),
        (CacheMode::Off, 0),
    ] {
        let settings = Settings {
            cache: Some(cache),
            cache_ttl: Some(CacheTtl::OneHour),
            ..Settings::default()
        };
        let points = points(CLAUDE, &asked(1000, settings));
        assert_eq!(points.len(), count);
        assert!(points.iter().all(|(_, ttl)| *ttl == "1h"), "{points:?}");
    }
}

#[test]
fn older_models_have_no_points_of_ours_or_shorter_ones() {
    let settings = Settings {
        cache_ttl: Some(CacheTtl::OneHour),
        ..Settings::default()
    };
    let long = asked(5000, settings);
    for (model, count, ttl) in [
        ("anthropic.claude-3-haiku-20240307-v1:0", 0, None),
        ("anthropic.claude-3-sonnet-20240229-v1:0", 0, None),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", 0, None),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", 4, None),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", 4, None),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", 4, None),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", 4, None),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4, Some("1h")),
        (CLAUDE, 4, Some("1h")),
    ] {
        let points = points(model, &long);
        assert_eq!(points.len(), count, "{model}");
        for (_, own) in points {
            assert_eq!(own.as_str(), ttl, "{model}");
        }
    }
}

#[test]
fn points_of_a_client_are_the_only_ones() {
    let mut asked = asked(1000, Settings::default());
    let mut first = Message::user("What is the weather?");
    first.blocks[0].cache = Some(CachePoint { seconds: None });
    asked.messages.replace(0, Arc::new(first));
    for model in [CLAUDE, "anthropic.claude-3-haiku-20240307-v1:0"] {
        assert_eq!(places(model, &asked), ["/messages/0/content/1"]);
    }
}

#[test]
fn the_loops_own_point_is_left_out_where_the_provider_has_none_of_ours() {
    let mut asked = asked(1000, Settings::default());
    for place in [0, 2] {
        let mut message = Message::user("What is the weather?");
        message.blocks[0].cache = Some(CachePoint { seconds: None });
        asked.messages.replace(place, Arc::new(message));
    }
    for (cache, own_point, count) in [
        (CacheMode::Auto, true, 2),
        (CacheMode::Client, true, 2),
        (CacheMode::Off, true, 1),
        (CacheMode::Off, false, 2),
    ] {
        asked.turn = Some(InTurn {
            conversation: None,
            own_point,
            rounds: 5,
        });
        let points = points_at(CLAUDE, &asked, cache);
        assert_eq!(points.len(), count, "{cache:?} {own_point}");
    }
}
