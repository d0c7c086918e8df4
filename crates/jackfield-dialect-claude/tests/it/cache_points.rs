//! Where the cache points of a request are that the client has not marked.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;
use jackfield_dialect_rules::claude;
use jackfield_domain::block::{Block, CachePoint, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::Extension;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::{InTurn, ModelRequest};
use jackfield_domain::settings::{CacheMode, CacheTtl, Settings};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arb::{self, owner};
use crate::examples::{of, outcome};

/// Text of about as many tokens.
fn text(tokens: usize) -> String {
    "word".repeat(tokens)
}

fn tool(name: &str, tokens: usize) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: text(tokens).into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name: ToolName::parse(name).expect("a name"),
        output: None,
        strict: None,
    })
}

fn call(id: &str) -> Block {
    let name = ToolName::parse("a").expect("a name");
    Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse("{}")),
        name: (&name).into(),
        ran_by: RanBy::Engine,
        upstream: None,
    }))
    .into()
}

/// A question, and this many rounds of this many calls.
fn conversation(rounds: usize, calls: usize) -> Vec<Message> {
    let mut messages = vec![Message::user("hello")];
    for round in 0..rounds {
        let ids: Vec<String> = (0..calls).map(|n| format!("call_{round}_{n}")).collect();
        let calls = ids.iter().map(|id| call(id)).collect();
        let results = ids.iter().map(|id| outcome(id, ToolResult::text("12")));
        messages.push(Message::new(Role::Assistant, calls));
        messages.push(Message::new(Role::Tool, results.collect()));
    }
    messages
}

/// A request with two tools and a system prompt of about as many tokens.
fn asked(tools: usize, system: usize, messages: Vec<Message>) -> ModelRequest {
    let system = SystemPart {
        origin: PartOrigin::Configuration,
        text: text(system).into(),
    };
    let parts = Some(system).filter(|part| !part.text.is_empty());
    ModelRequest {
        system: Arc::new(SystemPrompt {
            parts: parts.into_iter().collect(),
        }),
        tools: Arc::new(vec![tool("a", tools / 2), tool("b", tools / 2)]),
        ..of(messages)
    }
}

fn settings() -> Settings {
    Settings {
        max_output_tokens: Some(100),
        ..Settings::default()
    }
}

fn with(settings: Settings, request: ModelRequest) -> ModelRequest {
    ModelRequest {
        settings: Arc::new(settings),
        ..request
    }
}

fn body(request: &ModelRequest) -> Value {
    let profile = Profile::NEWEST;
    let (body, notes) =
        request::to_wire(request, &owner(), &profile, true).expect("it can be said");
    assert_eq!(notes, []);
    let body = serde_json::to_value(&body).expect("JSON");
    let broken = claude::check(&body, &profile);
    assert!(broken.is_empty(), "{broken:?}\n{body:#}");
    body
}

/// The places of the cache points of a body.
fn points(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["tools", "system", "messages"] {
        for (n, item) in body[name].as_array().into_iter().flatten().enumerate() {
            if !item["cache_control"].is_null() {
                found.push(format!("{name}.{n}"));
            }
            for (k, block) in item["content"].as_array().into_iter().flatten().enumerate() {
                if !block["cache_control"].is_null() {
                    found.push(format!("{name}.{n}.{k}"));
                }
            }
        }
    }
    found
}

fn without_points(mut body: Value) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(clear),
            Value::Object(fields) => {
                fields.shift_remove("cache_control");
                fields.values_mut().for_each(clear);
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }
    clear(&mut body);
    body
}

#[test]
fn points_follow_tools_system_and_the_last_two_ends() {
    let first = body(&asked(1000, 1000, conversation(0, 0)));
    assert_eq!(points(&first), ["tools.1", "system.0", "messages.0.0"]);
    assert_eq!(
        first["tools"][1]["cache_control"],
        json!({ "type": "ephemeral" })
    );
    let second = body(&asked(1000, 1000, conversation(1, 2)));
    let expected = ["tools.1", "system.0", "messages.0.0", "messages.2.1"];
    assert_eq!(points(&second), expected);
    // However many calls a reply has, the point before it is where the request before it ended.
    let third = body(&asked(1000, 1000, conversation(2, 50)));
    let expected = ["tools.1", "system.0", "messages.2.49", "messages.4.49"];
    assert_eq!(points(&third), expected);
}

#[test]
fn a_new_question_keeps_the_point_of_the_last_round() {
    let mut messages = conversation(1, 1);
    messages.push(Message::new(
        Role::Assistant,
        vec![Block::text("It is 12.")],
    ));
    messages.push(Message::user("And now?"));
    let sent = body(&asked(1000, 0, messages));
    assert_eq!(points(&sent), ["tools.1", "messages.2.0", "messages.4.0"]);
}

#[test]
fn a_beginning_too_short_for_the_vendor_has_no_point() {
    for (tools, system, rounds, expected) in [
        (40, 40, 1, &[][..]),
        (40, 600, 0, &["system.0", "messages.0.0"]),
        (600, 0, 0, &["tools.1", "messages.0.0"]),
    ] {
        let sent = body(&asked(tools, system, conversation(rounds, 1)));
        assert_eq!(points(&sent), expected);
    }
    // Only the end is long enough.
    let mut messages = conversation(0, 0);
    messages.push(Message::new(
        Role::Assistant,
        vec![Block::text(&*text(600))],
    ));
    messages.push(Message::user("go on"));
    assert_eq!(points(&body(&asked(0, 0, messages))), ["messages.2.0"]);
}

#[test]
fn least_lengths_are_those_of_the_vendor() {
    for (model, least) in [
        ("claude-opus-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-opus-5", 512),
        ("claude-fable-5", 512),
        ("claude-mythos-preview", 512),
        ("claude-sonnet-5", 1024),
        ("claude-opus-4-8", 1024),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-5", 4096),
        ("claude-haiku-4-5", 4096),
    ] {
        assert_eq!(Profile::of(model).cache_minimum, least, "{model}");
    }
}

#[test]
fn points_of_a_client_are_the_only_ones() {
    let point = CachePoint { seconds: Some(300) };
    let mut messages = conversation(2, 1);
    let first = messages.first_mut().expect("a message");
    first.blocks.last_mut().expect("a block").cache = Some(point);
    let sent = body(&asked(1000, 1000, messages));
    assert_eq!(points(&sent), ["messages.0.0"]);
    let automatic = Extension {
        dialect: "claude".into(),
        json: json!({ "type": "ephemeral" }),
        path: "/cache_control".to_owned(),
    };
    let settings = Settings {
        extensions: vec![automatic],
        ..settings()
    };
    let sent = body(&with(settings, asked(1000, 1000, conversation(2, 1))));
    assert_eq!(points(&sent), Vec::<String>::new());
}

#[test]
fn points_in_opaque_blocks_are_the_clients_and_count() {
    let mut messages = conversation(2, 1);
    let first = messages.first_mut().expect("a message");
    first.blocks.push(arb::search_result().into());
    let sent = body(&asked(1000, 1000, messages.clone()));
    assert_eq!(points(&sent), ["messages.0.1"]);
    // Four more, of which the first has no room.
    let point = CachePoint { seconds: Some(300) };
    for message in messages.iter_mut().take(4) {
        message.blocks.first_mut().expect("a block").cache = Some(point);
    }
    let request = asked(1000, 1000, messages);
    let sent = request::to_wire(&request, &owner(), &Profile::NEWEST, true);
    let (sent, notes) = sent.expect("it can be said");
    let sent = serde_json::to_value(&sent).expect("JSON");
    let expected = [
        "messages.0.1",
        "messages.1.0",
        "messages.2.0",
        "messages.3.0",
    ];
    assert_eq!(points(&sent), expected);
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn settings_say_which_points_there_are_and_how_long_they_last() {
    for (cache, count) in [
        (None, 4),
        (Some(CacheMode::Auto), 4),
        (Some(CacheMode::Client), 0),
        (Some(CacheMode::Off), 0),
    ] {
        let settings = Settings {
            cache,
            cache_ttl: Some(CacheTtl::OneHour),
            ..settings()
        };
        let sent = body(&with(settings, asked(1000, 1000, conversation(2, 1))));
        assert_eq!(points(&sent).len(), count, "{cache:?}");
        if count > 0 {
            let point = &sent["messages"][4]["content"][0]["cache_control"];
            assert_eq!(*point, json!({ "type": "ephemeral", "ttl": "1h" }));
        }
    }
    // The turn's own setting is over the provider's.
    let profile = Profile {
        cache: CacheMode::Off,
        ..Profile::NEWEST
    };
    for (cache, count) in [(None, 0), (Some(CacheMode::Auto), 4)] {
        let settings = Settings {
            cache,
            ..settings()
        };
        let request = with(settings, asked(1000, 1000, conversation(2, 1)));
        let sent = request::to_wire(&request, &owner(), &profile, true);
        let (sent, _) = sent.expect("it can be said");
        let sent = serde_json::to_value(&sent).expect("JSON");
        assert_eq!(points(&sent).len(), count, "{cache:?}");
    }
}

#[test]
fn the_loops_own_point_is_left_out_where_the_provider_has_none_of_ours() {
    let mut messages = conversation(1, 1);
    for message in [0, 2] {
        messages[message].blocks[0].cache = Some(CachePoint { seconds: None });
    }
    let both = ["messages.0.0", "messages.2.0"];
    for (cache, own_point, expected) in [
        (CacheMode::Auto, true, &both[..]),
        (CacheMode::Client, true, &both),
        (CacheMode::Off, true, &both[..1]),
        (CacheMode::Off, false, &both),
    ] {
        let profile = Profile {
            cache,
            ..Profile::NEWEST
        };
        let turn = InTurn {
            conversation: None,
            own_point,
            rounds: 5,
        };
        let request = ModelRequest {
            turn: Some(turn),
            ..asked(1000, 1000, messages.clone())
        };
        let sent = request::to_wire(&request, &owner(), &profile, true);
        let (sent, _) = sent.expect("it can be said");
        let sent = serde_json::to_value(&sent).expect("JSON");
        assert_eq!(points(&sent), expected, "{cache:?} {own_point}");
    }
}

#[test]
fn a_deferred_tool_has_no_point() {
    let request = ModelRequest {
        searchable: Arc::new(vec![tool("c", 1000)]),
        ..asked(1000, 1000, conversation(0, 0))
    };
    let sent = body(&request);
    assert_eq!(sent["tools"][2]["defer_loading"], true);
    assert_eq!(points(&sent), ["tools.1", "system.0", "messages.0.0"]);
}

#[test]
fn the_point_is_on_a_block_that_can_have_one() {
    let mut messages = conversation(0, 0);
    messages.push(Message::new(Role::Assistant, vec![Block::text("hi")]));
    messages.push(Message::new(
        Role::User,
        vec![Block::text("Bye."), Block::text(" ")],
    ));
    let request = asked(1000, 0, messages);
    let sent = request::to_wire(&request, &owner(), &Profile::NEWEST, true);
    let (sent, _) = sent.expect("it can be said");
    let sent = serde_json::to_value(&sent).expect("JSON");
    assert_eq!(
        points(&sent),
        ["tools.1", "messages.0.0", "messages.2.0"],
        "{sent:#}"
    );
}

proptest! {
    #[test]
    fn points_change_nothing_else(
        request in arb::request(),
        profile in arb::profile(),
        with_opaque in any::<bool>(),
    ) {
        let mut request = request;
        if with_opaque {
            let mut messages: Vec<Message> =
                request.messages.iter().map(|message| (**message).clone()).collect();
            let mut users = messages.iter_mut().filter(|message| message.role == Role::User);
            if let Some(first) = users.next() {
                first.blocks.push(arb::search_result().into());
            }
            request.messages = messages.into_iter().collect();
        }
        let send = |cache| {
            let profile = Profile { cache, cache_minimum: 1, ..profile };
            let settings = Settings { cache: None, ..(*request.settings).clone() };
            let made = request::to_wire(&with(settings, request.clone()), &owner(), &profile, true);
            made.ok().map(|(body, _)| serde_json::to_value(&body).expect("JSON"))
        };
        let (Some(auto), Some(own)) = (send(CacheMode::Auto), send(CacheMode::Client)) else {
            return Ok(());
        };
        prop_assert_eq!(claude::check(&auto, &profile), claude::check(&own, &profile));
        if own.get("cache_control").is_some() || !points(&own).is_empty() {
            prop_assert_eq!(&auto, &own);
        } else {
            let count = points(&auto).len();
            prop_assert!((1..=4).contains(&count), "{} points", count);
            prop_assert_eq!(without_points(auto), without_points(own));
        }
    }
}

#[test]
fn a_request_is_the_beginning_of_the_next() {
    let bodies: Vec<Value> = (0..4)
        .map(|rounds| body(&asked(1000, 1000, conversation(rounds, 3))))
        .collect();
    for pair in bodies.windows(2) {
        let [before, after] = pair else { continue };
        // What the request before has written is read at a point of the next.
        let written = points(before).pop().expect("a point");
        assert!(points(after).contains(&written), "{written}");
        let (before, after) = (
            without_points(before.clone()),
            without_points(after.clone()),
        );
        assert_eq!(before["tools"], after["tools"]);
        assert_eq!(before["system"], after["system"]);
        let (before, after) = (&before["messages"], &after["messages"]);
        let (before, after) = (before.as_array(), after.as_array());
        let (before, after) = (before.expect("messages"), after.expect("messages"));
        assert!(after.starts_with(before));
    }
}
