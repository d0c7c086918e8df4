//! The fields that the mappers add by themselves, and bodies without them.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::{added, chat, responses};
use jackfield_domain::block::{Block, CachePoint};
use jackfield_domain::digest::Digest;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::Extension;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::{InTurn, ModelRequest};
use jackfield_domain::settings::{CacheMode, Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::{Value, json};

use crate::chat::examples::{call, of, outcome, thinking, tool};
use crate::chat::read::owner;

/// What is added to a request in Chat Completions, and its body.
fn to_chat(request: &ModelRequest, profile: &Profile) -> (Vec<&'static str>, Value) {
    let mapped = chat::request::to_wire(request, &owner(), profile, true);
    let (body, _) = mapped.expect("it can be said");
    let added = added::to_chat(&body, request, profile);
    (added, serde_json::to_value(body).expect("JSON"))
}

/// The same in Responses.
fn to_responses(request: &ModelRequest, profile: &Profile) -> (Vec<&'static str>, Value) {
    let mapped = responses::request::to_wire(request, &owner(), profile, true);
    let (body, _) = mapped.expect("it can be said");
    let added = added::to_responses(&body, request);
    (added, serde_json::to_value(body).expect("JSON"))
}

fn with_tool(settings: Settings) -> ModelRequest {
    ModelRequest {
        settings: Arc::new(settings),
        tools: Arc::new(vec![tool("f")]),
        ..of(vec![Message::user("go")])
    }
}

/// A conversation in which the model has reasoned in this field.
fn reasoned(field: &str) -> ModelRequest {
    let said = vec![thinking("hm", field, owner())];
    of(vec![
        Message::user("go"),
        Message::new(Role::Assistant, said),
        Message::user("go on"),
    ])
}

#[test]
fn a_body_without_an_added_field_does_not_have_it() {
    let plain = with_tool(Settings::default());
    let requests = [
        plain.clone(),
        reasoned("reasoning"),
        reasoned("reasoning_content"),
    ];
    let mut seen = Vec::new();
    for request in &requests {
        for profile in [Profile::COMPATIBLE, Profile::OPENAI] {
            for field in to_chat(request, &profile).0 {
                let (added, body) = to_chat(request, &profile.without(field));
                assert!(!added.contains(&field));
                assert!(
                    !body.to_string().contains(&format!("\"{field}\"")),
                    "{body}"
                );
                seen.push(field);
            }
        }
    }
    for field in to_responses(&plain, &Profile::OPENAI).0 {
        let (added, body) = to_responses(&plain, &Profile::OPENAI.without(field));
        assert!(!added.contains(&field));
        assert!(
            !body.to_string().contains(&format!("\"{field}\"")),
            "{body}"
        );
        seen.push(field);
    }
    seen.sort_unstable();
    seen.dedup();
    let all = [
        "include",
        "reasoning",
        "reasoning_content",
        "reasoning_effort",
        "stream_options",
        "strict",
    ];
    assert_eq!(seen, all);
}

#[test]
fn a_field_that_was_asked_for_is_not_an_added_one() {
    let extension = Extension {
        dialect: "openai-chat".into(),
        json: json!(true),
        path: "/stream_options/include_obfuscation".into(),
    };
    let padded = with_tool(Settings {
        extensions: vec![extension],
        ..Settings::default()
    });
    assert_eq!(to_chat(&padded, &Profile::COMPATIBLE).0, [""; 0]);
    for (effort, thinking) in [(Some(Effort::None), None), (None, Some(ThinkingMode::Off))] {
        let request = with_tool(Settings {
            effort,
            thinking,
            ..Settings::default()
        });
        assert_eq!(to_chat(&request, &Profile::OPENAI).0, ["stream_options"]);
    }
    let mut strict = with_tool(Settings::default());
    Arc::make_mut(&mut Arc::make_mut(&mut strict.tools)[0]).strict = Some(false);
    assert_eq!(to_responses(&strict, &Profile::OPENAI).0, ["include"]);
    let strict = with_tool(Settings {
        response_format: ResponseFormat::JsonSchema {
            description: None,
            name: "f".into(),
            schema: Arc::new(json!({ "type": "object" })),
            strict: Some(false),
        },
        ..Settings::default()
    });
    assert_eq!(to_responses(&strict, &Profile::OPENAI).0, ["include"]);
}

#[test]
fn reasoning_that_a_server_demands_is_not_left_out() {
    let request = reasoned("reasoning_content");
    let (added, body) = to_chat(&request, &Profile::DEEPSEEK);
    assert!(body.to_string().contains("\"reasoning_content\":\"hm\""));
    assert_eq!(added, ["stream_options"]);
}

#[test]
fn requests_of_a_conversation_share_a_key_that_a_client_can_set() {
    let long = "word".repeat(2_000);
    let asked = |first: &str, settings: Settings| {
        let more = |rounds: usize| {
            let mut messages = vec![Message::user(first)];
            for _ in 0..rounds {
                messages.push(Message::new(Role::Assistant, vec![Block::text("hm")]));
                messages.push(Message::user("go on"));
            }
            ModelRequest {
                settings: Arc::new(settings.clone()),
                ..of(messages)
            }
        };
        [more(0), more(3)]
    };
    let keys = |requests: [ModelRequest; 2], profile: &Profile| {
        requests.map(|request| {
            let (added, body) = to_chat(&request, profile);
            let is_added = added.contains(&"prompt_cache_key");
            let key = body["prompt_cache_key"].clone();
            let (_, body) = to_responses(&request, profile);
            assert_eq!(body["prompt_cache_key"], key);
            (is_added, key)
        })
    };
    let openai = Profile::OPENAI;
    let [(is_added, key), later] = keys(asked(&long, Settings::default()), &openai);
    assert!(
        is_added && key.as_str().is_some_and(|key| key.len() == 64),
        "{key}"
    );
    assert_eq!(later, (true, key.clone()));
    let others = asked(&format!("{long}!"), Settings::default());
    assert_ne!(keys(others, &openai)[0].1, key);
    let user = Settings {
        end_user: Some("u-17".into()),
        ..Settings::default()
    };
    assert_ne!(keys(asked(&long, user), &openai)[0].1, key);
    // What is too short is not cached.
    let short = asked("hi", Settings::default());
    assert_eq!(keys(short, &openai)[0], (false, Value::Null));
    let none = [(false, Value::Null), (false, Value::Null)];
    for cache in [CacheMode::Client, CacheMode::Off] {
        let settings = Settings {
            cache: Some(cache),
            ..Settings::default()
        };
        assert_eq!(keys(asked(&long, settings), &openai), none);
    }
    // A server of which nothing is known gets none.
    let asked = asked(&long, Settings::default());
    assert_eq!(keys(asked.clone(), &Profile::COMPATIBLE), none);
    assert_eq!(keys(asked, &Profile::OPENAI_PLAIN), none);
    let own = Extension {
        dialect: "openai-chat".into(),
        json: json!("mine"),
        path: "/prompt_cache_key".into(),
    };
    let request = ModelRequest {
        settings: Arc::new(Settings {
            extensions: vec![own],
            ..Settings::default()
        }),
        ..of(vec![Message::user(&*long)])
    };
    for (added, body) in [to_chat(&request, &openai), to_responses(&request, &openai)] {
        assert_eq!(body["prompt_cache_key"], "mine");
        assert!(!added.contains(&"prompt_cache_key"));
    }
}

#[test]
fn requests_of_a_session_share_a_key_whatever_they_begin_with() {
    let openai = Profile::OPENAI;
    let keys = |first: &str, session: &[u8]| {
        let turn = InTurn {
            conversation: Some(Digest::of(session)),
            own_point: false,
            rounds: 5,
        };
        let request = ModelRequest {
            turn: Some(turn),
            ..of(vec![Message::user(first)])
        };
        let bodies = [
            to_chat(&request, &openai).1,
            to_responses(&request, &openai).1,
        ];
        bodies.map(|body| body["prompt_cache_key"].clone())
    };
    let (before, after) = ("word".repeat(2_000), "summary ".repeat(1_000));
    let key = json!(Digest::of(b"one").to_hex());
    assert_eq!(keys(&before, b"one"), [key.clone(), key.clone()]);
    assert_eq!(keys(&after, b"one"), [key.clone(), key.clone()]);
    assert_ne!(keys(&before, b"another")[0], key);
    assert_eq!(keys("hi", b"one"), [Value::Null, Value::Null]);
}

#[test]
fn the_loops_own_point_is_left_out_where_the_provider_has_none_of_ours() {
    let marked = |mut message: Message| {
        message.blocks[0].cache = Some(CachePoint { seconds: None });
        message
    };
    let mut request = of(vec![
        marked(Message::user("go")),
        Message::new(Role::Assistant, vec![call("call_1", "{}")]),
        marked(Message::new(
            Role::Tool,
            vec![outcome("call_1", ToolResult::text("12"))],
        )),
    ]);
    for (cache, own_point, count) in [
        (CacheMode::Auto, true, 2),
        (CacheMode::Client, true, 2),
        (CacheMode::Off, true, 1),
        (CacheMode::Off, false, 2),
    ] {
        request.turn = Some(InTurn {
            conversation: None,
            own_point,
            rounds: 5,
        });
        let profile = Profile {
            cache,
            ..Profile::OPENAI
        };
        for body in [
            to_chat(&request, &profile).1,
            to_responses(&request, &profile).1,
        ] {
            let found = body.to_string().matches("prompt_cache_breakpoint").count();
            assert_eq!(found, count, "{cache:?} {own_point}: {body:#}");
        }
    }
}
