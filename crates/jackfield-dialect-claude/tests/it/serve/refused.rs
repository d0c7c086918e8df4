//! Requests: what passes, and what is refused by name.

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeErrorKind};
use jackfield_domain::block::Content;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::system_prompt::PartOrigin;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{read, with_header};
use crate::arb::owner;
use crate::request_laws::as_request;

/// A request with these fields besides.
fn body(more: Value) -> Value {
    let mut body = json!({
        "model": "model-a",
        "max_tokens": 100,
        "messages": [{ "role": "user", "content": "hi" }],
    });
    for (key, value) in more.as_object().expect("fields") {
        body[key] = value.clone();
    }
    body
}

fn says(blocks: Value) -> Value {
    body(json!({ "messages": [{ "role": "user", "content": blocks }] }))
}

#[test]
fn what_a_server_would_do_is_refused_and_named() {
    let file = json!({ "type": "file", "file_id": "file_1" });
    let cases = [
        (body(json!({ "container": "c" })), "container"),
        (
            body(json!({ "mcp_servers": [{ "type": "url" }] })),
            "mcp_servers",
        ),
        (body(json!({ "fallbacks": ["default"] })), "fallbacks"),
        (body(json!({ "compaction": { "type": "a" } })), "compaction"),
        (
            body(json!({ "tools": [{ "type": "web_search_20260318" }] })),
            "tools.0.type",
        ),
        (
            body(json!({ "tools": [{ "type": "computer_toolset_20260801", "name": "computer" }] })),
            "tools.0.type",
        ),
        (
            body(json!({ "tools": [{ "type": "mcp_toolset", "mcp_server_name": "x" }] })),
            "tools.0.type",
        ),
        (
            body(
                json!({ "tools": [{ "name": "a", "input_schema": {}, "allowed_callers": ["code_execution_20260120"] }] }),
            ),
            "tools.0.allowed_callers",
        ),
        (
            says(json!([{ "type": "text", "text": "a" }, { "type": "image", "source": file }])),
            "messages.0.content.1",
        ),
        (
            says(
                json!([{ "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "document", "source": file }] }]),
            ),
            "messages.0.content.0.content.0",
        ),
        (
            says(json!([{ "type": "container_upload", "file_id": "f" }])),
            "messages.0.content.0",
        ),
    ];
    for (body, place) in cases {
        let error = read(&body).expect_err(place);
        assert_eq!(error.kind, ServeErrorKind::Unsupported, "{place}");
        assert_eq!(error.param.as_deref(), Some(place));
    }
}

#[test]
fn what_says_nothing_is_as_if_it_were_not_there() {
    let plain = read(&body(json!({}))).expect("a request");
    let said = json!({ "container": null, "mcp_servers": [], "thread": null, "context_management": {}, "speed": null });
    assert_eq!(read(&body(said)).expect("a request"), plain);
    assert_eq!(plain.notes, []);
}

#[test]
fn betas_pass_to_the_vendor_and_are_noted_elsewhere_or_are_refused() {
    let asked = |betas: &str| with_header(&body(json!({})), "anthropic-beta", betas);
    let betas = "prompt-caching-2024-07-31, interleaved-thinking-2025-05-14,,made-up";
    let passed = asked(betas).expect("a request");
    assert_eq!(passed.notes, []);
    let request = as_request(passed);
    let sent = jackfield_dialect_claude::request::betas(&request);
    let expected = [
        "prompt-caching-2024-07-31",
        "interleaved-thinking-2025-05-14",
        "made-up",
    ];
    assert_eq!(sent, expected);
    let (body_sent, notes) =
        jackfield_dialect_claude::request::to_wire(&request, &owner(), &Profile::NEWEST, true)
            .expect("a body");
    assert_eq!(notes, []);
    let body_sent = serde_json::to_value(&body_sent).expect("JSON");
    assert_eq!(body_sent.get("betas"), None);

    let elsewhere = |betas: &str| {
        let header = |name: &str| (name == "anthropic-beta").then(|| betas.to_owned());
        let text = body(json!({})).to_string();
        ClaudeServer.request(&header, text.as_bytes(), &|_| nobody())
    };
    let noted = elsewhere(betas).expect("a request");
    let paths: Vec<&str> = noted.notes.iter().map(|note| &*note.path).collect();
    assert_eq!(
        paths,
        [
            "anthropic-beta.interleaved-thinking-2025-05-14",
            "anthropic-beta.made-up"
        ]
    );
    assert_eq!(noted.settings.extensions, []);
    for beta in [
        "prompt-caching-2024-07-31,agent-memory-2031-01-01",
        "managed-agents",
        "files-api-2025-04-14",
    ] {
        let error = asked(beta).expect_err(beta);
        assert_eq!(error.kind, ServeErrorKind::Unsupported);
        assert_eq!(error.param.as_deref(), Some("anthropic-beta"));
        assert!(
            error
                .message
                .contains(beta.rsplit(',').next().expect("one"))
        );
    }
    let bad = [
        "a b".to_owned(),
        "ü".to_owned(),
        "a".repeat(101),
        "a,".repeat(65),
    ];
    for betas in bad {
        assert_eq!(
            asked(&betas).expect_err("no beta").kind,
            ServeErrorKind::Invalid
        );
    }
}

/// The tool runner of the official SDK (`anthropic` 2.13.0, `lib/threads`) asks for a thread first, and goes on
/// without one where this code says so; a beta that its user set stays.
#[test]
fn a_thread_is_refused_by_the_vendors_own_code() {
    let threads = "message-threads-2026-08-12";
    for thread in [
        json!({ "type": "create" }),
        json!({ "type": "continue", "previous_message_id": "msg_1" }),
    ] {
        let body = body(json!({ "thread": thread }));
        for error in [read(&body), with_header(&body, "anthropic-beta", threads)] {
            let error = error.expect_err("no thread");
            let refused = ClaudeServer.error(&error, "req_1");
            assert_eq!(refused.status, 400);
            let told: Value = serde_json::from_slice(&refused.body).expect("JSON");
            assert_eq!(told["error"]["type"], "invalid_request_error");
            let details = &told["error"]["details"];
            assert_eq!(details["error_code"], "thread_unsupported_request");
        }
    }
    let plain = read(&body(json!({}))).expect("a request");
    for beta in [threads, "message-threads"] {
        let alone = with_header(&body(json!({})), "anthropic-beta", beta);
        assert_eq!(alone.expect("a request"), plain, "{beta}");
    }
}

#[test]
fn numbers_and_media_types_are_read_however_they_are_written() {
    let image = |media_type: &str| {
        let source = json!({ "type": "base64", "media_type": media_type, "data": "AAAA" });
        read(&says(json!([{ "type": "image", "source": source }]))).expect("a request")
    };
    assert_eq!(image("image/jpg"), image("image/jpeg"));
    assert_eq!(image("IMAGE/PNG"), image("image/png"));
    let text = |most: &str| {
        let body = body(json!({})).to_string();
        let body = body.replace("\"max_tokens\":100", &format!("\"max_tokens\":{most}"));
        ClaudeServer.request(&|_| None, body.as_bytes(), &|_| owner())
    };
    assert_eq!(text("1e2"), text("100"));
    assert_eq!(text("100.0"), text("100"));
    for most in ["1.5", "-1", "\"100\""] {
        let error = text(most).expect_err(most);
        assert_eq!(error.param.as_deref(), Some("max_tokens"), "{error}");
    }
}

#[test]
fn the_vendors_tools_go_to_the_vendor_as_they_are() {
    let own = json!({ "name": "clock", "input_schema": { "type": "object" } });
    let tools = json!([
        { "type": "web_search_20990101", "name": "web_search", "max_uses": 3, "new": { "b": 1, "a": 2 } },
        own,
        { "type": "tool_search_tool_regex_20251119", "name": "tool_search" },
        { "type": "bash_20250124", "name": "bash", "cache_control": { "type": "ephemeral" } },
    ]);
    let betas = "web-fetch-2025-09-10,code-execution-2025-08-25";
    let asked =
        body(json!({ "tools": tools, "tool_choice": { "type": "tool", "name": "web_search" } }));
    let incoming = with_header(&asked, "anthropic-beta", betas).expect("a request");
    assert_eq!(incoming.notes, []);
    let request = as_request(incoming);
    let sent = jackfield_dialect_claude::request::betas(&request);
    assert_eq!(sent.join(","), betas);
    let profile = Profile::of("claude-opus-4-6");
    let (body, notes) =
        jackfield_dialect_claude::request::to_wire(&request, &owner(), &profile, true)
            .expect("a body");
    assert_eq!(notes, []);
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(body["tools"], tools);
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "tool", "name": "web_search" })
    );
}

#[test]
fn tools_that_the_vendor_runs_are_left_out_beside_others() {
    let own = json!({ "name": "clock", "input_schema": { "type": "object" } });
    let asked = body(json!({ "tools": [
        { "type": "web_search_20250305", "name": "web_search" },
        own,
        { "type": "tool_search_tool_regex_20251119", "name": "tool_search" },
    ] }));
    let betas = "web-fetch-2025-09-10,code-execution-2025-08-25";
    let elsewhere = |body: &Value| {
        let header = |name: &str| (name == "anthropic-beta").then(|| betas.to_owned());
        ClaudeServer.request(&header, body.to_string().as_bytes(), &|_| nobody())
    };
    let incoming = elsewhere(&asked).expect("a request");
    let names: Vec<&str> = incoming
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["clock"]);
    let notes: Vec<_> = incoming
        .notes
        .iter()
        .map(|note| (&*note.code, &*note.path))
        .collect();
    assert_eq!(
        notes,
        [
            ("hosted_tool_left_out", "tools.web_search_20250305"),
            (
                "hosted_tool_left_out",
                "tools.tool_search_tool_regex_20251119"
            ),
            ("beta_not_sent", "anthropic-beta.web-fetch-2025-09-10"),
            ("beta_not_sent", "anthropic-beta.code-execution-2025-08-25"),
        ]
    );
    assert_eq!(incoming.settings.extensions, []);

    // A tool of the vendor's that the client runs has no schema to offer it by.
    let bash = body(json!({ "tools": [own, { "type": "bash_20250124", "name": "bash" }] }));
    let refused = elsewhere(&bash).expect_err("a tool without a schema");
    assert_eq!(refused.param.as_deref(), Some("tools.1.type"));
    let only = body(json!({ "tools": [{ "type": "web_search_20260318", "name": "web_search" }] }));
    let refused = elsewhere(&only).expect_err("nothing else to do it with");
    assert_eq!(refused.param.as_deref(), Some("tools.0.type"));
}

#[test]
fn any_version_of_the_api_is_taken() {
    let plain = read(&body(json!({})));
    for version in ["2023-06-01", "2026-10-21", "soon"] {
        assert_eq!(
            with_header(&body(json!({})), "anthropic-version", version),
            plain
        );
    }
}

#[test]
fn the_end_user_is_taken_from_the_metadata() {
    let incoming = read(&body(json!({ "metadata": { "user_id": "u_1" } }))).expect("a request");
    assert_eq!(incoming.settings.end_user.as_deref(), Some("u_1"));
}

#[test]
fn a_broken_body_names_the_field() {
    for (broken, place) in [
        (json!({ "model": "m", "messages": [] }), "max_tokens"),
        (body(json!({ "messages": null })), "messages"),
        (body(json!({ "messages": [] })), "messages"),
        (
            body(json!({ "tools": [{ "name": "f", "input_schema": "any" }] })),
            "tools.0.input_schema",
        ),
        (says(json!("")), "messages"),
        (
            body(json!({ "messages": [{ "role": "robot", "content": "hi" }] })),
            "messages.0.role",
        ),
        (
            body(json!({ "messages": [{ "role": "user", "content": null }] })),
            "messages.0.content",
        ),
        (body(json!({ "max_tokens": "many" })), "max_tokens"),
        (json!([]), "body"),
        (
            body(json!({ "messages": [
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "t", "name": "a", "input": {} },
                    { "type": "tool_use", "id": "t", "name": "a", "input": {} },
                ] },
            ] })),
            "messages.0.content.1.id",
        ),
        (
            says(json!([
                { "type": "tool_result", "tool_use_id": "t", "content": "a" },
                { "type": "tool_result", "tool_use_id": "t", "content": "b" },
            ])),
            "messages.0.content.1.tool_use_id",
        ),
        (
            says(json!([{ "type": "tool_use", "id": "t", "name": "a", "input": {} }])),
            "messages.0.content.0",
        ),
    ] {
        let error = read(&broken).expect_err(place);
        assert_eq!(error.kind, ServeErrorKind::Invalid, "{place}");
        assert_eq!(error.param.as_deref(), Some(place), "{error}");
    }
}

#[test]
fn tokens_are_counted_without_a_limit_on_the_reply() {
    let body = json!({
        "model": "model-a",
        "system": "12345678",
        "messages": [{ "role": "user", "content": "1234567890123456" }],
    });
    let none = |_: &str| None;
    let text = body.to_string();
    assert!(
        ClaudeServer
            .request(&none, text.as_bytes(), &|_| owner())
            .is_err()
    );
    let incoming = ClaudeServer.count_request(&none, text.as_bytes(), &|_| owner());
    let (counted, notes) = ClaudeServer.count_response(&incoming.expect("a request"));
    let counted: Value = serde_json::from_slice(&counted).expect("JSON");
    assert_eq!(counted, json!({ "input_tokens": 2 + 4 + 4 }));
    assert_eq!(notes.len(), 1);
    let nothing = b"{\"model\":\"m\",\"messages\":[]}";
    let nothing = ClaudeServer.count_request(&none, nothing, &|_| owner());
    assert_eq!(
        nothing.expect_err("no request").param.as_deref(),
        Some("messages")
    );
    let broken = ClaudeServer.count_request(&none, b"{\"model\":7}", &|_| owner());
    assert_eq!(
        broken.expect_err("no request").param.as_deref(),
        Some("model")
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let header = |_: &str| Some(String::from_utf8_lossy(&bytes).into_owned());
        let told = ClaudeServer.request(&header, &bytes, &|_| owner());
        prop_assert!(told.is_err());
        prop_assert!(ClaudeServer.count_request(&|_| None, &bytes, &|_| owner()).is_err());
    }

    #[test]
    fn no_change_of_a_body_makes_it_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8),
    ) {
        let mut bytes = include_bytes!("../fixtures/request-full.json").to_vec();
        for (place, byte, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 => drop(bytes.remove(place)),
                _ => bytes.truncate(place),
            }
        }
        if let Err(error) = ClaudeServer.request(&|_| None, &bytes, &|_| owner()) {
            prop_assert!(matches!(error.kind, ServeErrorKind::Invalid | ServeErrorKind::Unsupported));
            prop_assert!(error.param.is_some_and(|param| !param.is_empty()));
        }
    }
}

/// Whose the state is where no provider is asked in this dialect.
fn nobody() -> StateOwner {
    StateOwner {
        dialect: "claude".into(),
        endpoint: "".into(),
        model: "".into(),
    }
}

#[test]
fn a_sampling_value_outside_the_range_is_refused() {
    for (field, wrong) in [("temperature", 1.5), ("temperature", -0.1), ("top_p", 1.01)] {
        let error = read(&body(json!({ field: wrong }))).expect_err(field);
        assert_eq!(error.kind, ServeErrorKind::Invalid, "{field}");
        assert_eq!(error.param.as_deref(), Some(field));
    }
    for (field, right) in [("temperature", 0.0), ("temperature", 1.0), ("top_p", 1.0)] {
        assert!(read(&body(json!({ field: right }))).is_ok(), "{field}");
    }
}

/// What a client says is what the vendor is sent: its cache points too, wherever they stand.
#[test]
fn cache_points_come_through() {
    let cache = json!({ "type": "ephemeral", "ttl": "1h" });
    let asked = json!({
        "model": "model-a",
        "max_tokens": 100,
        "system": [
            { "type": "text", "text": "You are an agent." },
            { "type": "text", "text": " " },
            { "type": "text", "text": "A long text.", "cache_control": cache },
        ],
        "tools": [{ "name": "clock", "input_schema": { "type": "object" }, "cache_control": { "type": "ephemeral" } }],
        "messages": [
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "clock", "input": {} }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1",
                    "content": [{ "type": "text", "text": "12:00", "cache_control": cache }] },
                { "type": "text", "text": "and now?", "cache_control": cache },
            ] },
        ],
    });
    let incoming = read(&asked).expect("a request");
    assert_eq!(incoming.notes, []);
    let mut request = as_request(incoming);
    let sent = |request: &ModelRequest| {
        let made =
            jackfield_dialect_claude::request::to_wire(request, &owner(), &Profile::NEWEST, true);
        let (body, notes) = made.expect("a body");
        (serde_json::to_value(&body).expect("JSON"), notes)
    };
    let (body, notes) = sent(&request);
    assert_eq!(notes, []);
    assert_eq!(body["system"][1], asked["system"][2]);
    assert_eq!(
        body["tools"][0]["cache_control"],
        asked["tools"][0]["cache_control"]
    );
    let result = &body["messages"][2]["content"][0];
    assert_eq!(result["cache_control"], cache);
    assert_eq!(body["messages"][2]["content"][1]["cache_control"], cache);

    // Parts of others before the client's own are not counted with them.
    let mut system = (*request.system).clone();
    let mut first = system.parts[0].clone();
    first.origin = PartOrigin::Configuration;
    system.parts.insert(0, first);
    request.system = system.into();
    let (body, _) = sent(&request);
    assert_eq!(body["system"][1].get("cache_control"), None);
    assert_eq!(body["system"][2]["cache_control"], cache);
}

/// A system message in the conversation can set the effort from there on, also without a text.
#[test]
fn settings_of_a_message_come_through_to_their_owner_alone() {
    let effort = json!({ "effort": "low" });
    let asked = json!({
        "model": "model-a",
        "max_tokens": 100,
        "messages": [
            { "role": "user", "content": "hello" },
            { "role": "system", "content": "Be quick.", "output_config": effort, "clear_at": "never" },
            { "role": "assistant", "content": "hello" },
            { "role": "user", "content": "go on" },
            { "role": "system", "output_config": effort },
        ],
    });
    let incoming = read(&asked).expect("a request");
    assert_eq!(incoming.notes, []);
    let request = as_request(incoming);
    let sent = |owner: &StateOwner, profile: &Profile| {
        let made = jackfield_dialect_claude::request::to_wire(&request, owner, profile, true);
        let (body, notes) = made.expect("a body");
        let codes: Vec<String> = notes.iter().map(|note| note.code.to_string()).collect();
        let body = serde_json::to_value(&body).expect("JSON");
        (body["messages"].clone(), codes)
    };
    let (messages, codes) = sent(&owner(), &Profile::NEWEST);
    assert_eq!(codes, [""; 0]);
    assert_eq!(messages[1]["output_config"], effort);
    assert_eq!(messages[1]["clear_at"], "never");
    assert_eq!(messages[4], asked["messages"][4]);

    let (messages, codes) = sent(&nobody(), &Profile::NEWEST);
    assert_eq!(codes, ["state_withheld", "state_withheld"]);
    assert_eq!(messages.as_array().map(Vec::len), Some(4));
    assert_eq!(messages[1].get("output_config"), None);

    let empty = json!({ "model": "model-a", "max_tokens": 100, "messages": [{ "role": "user" }] });
    let refused = read(&empty).expect_err("a message without content");
    assert_eq!(refused.param.as_deref(), Some("messages.0.content"));
}

#[test]
fn at_most_four_cache_points_are_sent_and_the_first_ones_are_given_up() {
    let cache = json!({ "type": "ephemeral" });
    let text = |text: &str| json!({ "type": "text", "text": text, "cache_control": cache });
    let asked = json!({
        "model": "model-a", "max_tokens": 100,
        "system": [text("a"), text("b"), text("c"), text("d"), text("e")],
        "messages": [{ "role": "user", "content": [text("hello")] }],
    });
    let request = as_request(read(&asked).expect("a request"));
    let made =
        jackfield_dialect_claude::request::to_wire(&request, &owner(), &Profile::NEWEST, true);
    let (body, notes) = made.expect("a body");
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(
        body.to_string().matches("cache_control").count(),
        4,
        "{body:#}"
    );
    assert_eq!(body["system"][0].get("cache_control"), None);
    let paths: Vec<&str> = notes.iter().map(|note| &*note.path).collect();
    assert_eq!(
        paths,
        [
            "settings.extensions.claude.system.0.cache_control",
            "settings.extensions.claude.system.1.cache_control"
        ]
    );
}

#[test]
fn what_only_the_vendor_knows_is_told_in_words_elsewhere_or_refused() {
    let with = |block: Value| {
        let mut asked = body(json!({}));
        asked["messages"] = json!([{ "role": "user", "content": [block] }]);
        asked
    };
    let found = json!({ "type": "search_result", "source": "https://example.org", "title": "Oslo",
        "content": [{ "type": "text", "text": "It rains." }] });
    let paper = json!({ "type": "document", "title": "Paper",
        "source": { "type": "content", "content": [{ "type": "text", "text": "Abstract." }] } });
    for (block, words) in [
        (
            &found,
            ["https://example.org", "Oslo", "It rains."].as_slice(),
        ),
        (&paper, ["Paper", "Abstract."].as_slice()),
    ] {
        // The vendor is sent it as it is.
        let request = as_request(read(&with(block.clone())).expect("a request"));
        let made =
            jackfield_dialect_claude::request::to_wire(&request, &owner(), &Profile::NEWEST, true);
        let sent = serde_json::to_value(made.expect("a body").0).expect("JSON");
        assert_eq!(sent["messages"][0]["content"][0], *block);
        let message = request.messages.iter().next().expect("a message");
        let Content::Opaque(opaque) = &message.blocks[0].content else {
            panic!("{message:?}");
        };
        let told = opaque.fallback.as_deref().expect("words");
        assert!(words.iter().all(|part| told.contains(part)), "{told}");
    }
    let silent = with(json!({ "type": "hologram", "beam": 7 }));
    assert!(read(&silent).is_ok());
    let elsewhere = ClaudeServer.request(&|_| None, silent.to_string().as_bytes(), &|_| nobody());
    assert_eq!(
        elsewhere.expect_err("no words").kind,
        ServeErrorKind::Invalid
    );
}
