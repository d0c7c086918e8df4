//! Routes: a target that hangs, one that is limited, and one that dies in the middle of a stream are left for one
//! that answers.

use jackfield_testkit::server::{Framing, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, jackfield, kept};

/// The providers of these upstreams, each with a name and the URL of a server that speaks Claude Messages.
fn providers(upstreams: &[(&str, String)]) -> String {
    let tables = upstreams.iter().map(|(name, url)| {
        format!("[providers.{name}]\nkind = \"claude\"\nbase_url = \"{url}\"\napi_key_env = \"ANTHROPIC_API_KEY\"\n")
    });
    tables.collect()
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// A reply that is limited, with a pause.
fn limited() -> Response {
    let body = error("rate_limit_error", "too many").to_string();
    Response::json(429, body).header("retry-after", "30")
}

/// The beginning of a reply, after which the connection breaks.
fn dying() -> Response {
    let events = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"c\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"It is\"}}\n\n";
    Response::event_stream(events).cut_off()
}

/// A reply of which only the head comes.
fn silent() -> Response {
    Response::new(200)
        .header("content-type", "text/event-stream")
        .framed(Framing::Chunked)
        .stall()
}

/// Three upstreams, of which one hangs, one answers 429 and one dies in the middle of a stream.
async fn three() -> [TestServer; 3] {
    let hangs = TestServer::start().await;
    hangs.answer(silent());
    let limits = TestServer::start().await;
    limits.answer(limited());
    let dies = TestServer::start().await;
    dies.answer(dying());
    [hangs, limits, dies]
}

#[tokio::test]
async fn three_upstreams_fail_each_in_its_way_and_the_fourth_answers() {
    let [hangs, limits, dies] = three().await;
    let good = ScriptedClaude::start([ScriptTurn::text("Hello!")]).await;
    let config = format!(
        "[routes.any]\ntargets = [{{ model = \"hangs/a\", first_byte = \"300ms\" }}, \"limits/b\", \"dies/c\", \"good/d\"]\n{}",
        providers(&[
            ("hangs", hangs.base_url()),
            ("limits", limits.base_url()),
            ("dies", dies.base_url()),
            ("good", good.base_url()),
        ])
    );
    let kept_file = Kept::new();
    // A program can take text back; a terminal cannot.
    let ask = kept_file.run(&["ask", "--json", "--model", "any", "hello"]);
    let ran = ask.configured(&config).run().await;
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(ran.last_event()["answer"], "Hello!");
    for server in [&hangs, &limits, &dies] {
        assert_eq!(server.requests().len(), 1);
    }
    kept(&good);
    // The audit says why each was called, and a replay decides the same.
    let audit = kept_file
        .run(&["audit", "--json"])
        .configured(&config)
        .run()
        .await;
    let audit: Value = serde_json::from_str(&audit.out).expect("JSON");
    let hops: Vec<Value> = audit
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            json!([
                one["model"],
                one["choice"]["reason"],
                one["failure"]["kind"]
            ])
        })
        .collect();
    let expected = [
        json!(["hangs/a", "strategy", null]),
        json!(["limits/b", "fallback", "timeout"]),
        json!(["dies/c", "fallback", "rate_limited"]),
        json!(["good/d", "fallback", "interrupted"]),
    ];
    assert_eq!(hops, expected);
    let shown = kept_file
        .run(&["sessions", "show", "last"])
        .configured(&config)
        .run()
        .await;
    assert!(shown.out.contains("good/d"), "{}", shown.out);
    let replayed = kept_file
        .run(&["replay", "last"])
        .configured(&config)
        .run()
        .await;
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.out, replayed.err);
}

#[tokio::test]
async fn a_stream_that_was_seen_ends_with_an_error_and_the_next_request_goes_elsewhere() {
    let dies = TestServer::start().await;
    dies.answer(dying());
    let good = ScriptedClaude::start([ScriptTurn::text("Hello!")]).await;
    let upstreams = [("dies", dies.base_url()), ("good", good.base_url())];
    let config = format!(
        "[routes.any]\ntargets = [\"dies/c\", \"good/d\"]\n[serve]\npassthrough = \"never\"\n{}",
        providers(&upstreams)
    );
    let kept_file = Kept::new();
    let running = kept_file.gateway().plain().configured(config).start();
    let gateway = Gateway::listening(running).await;
    let body = json!({
        "model": "any", "max_tokens": 64, "stream": true,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let answer = gateway.post("/v1/messages", &body).answered().await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("It is"), "{}", answer.text());
    assert!(answer.text().contains("event: error"), "{}", answer.text());
    assert!(good.requests().is_empty());
}

#[tokio::test]
async fn a_tool_turn_goes_on_in_another_language() {
    let first = ScriptedClaude::start([
        ScriptTurn::reply([ScriptPart::Thinking {
            text: "secret".to_owned(),
            signature: "signed".to_owned(),
        }])
        .and_call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::status(529, &error("overloaded_error", "Overloaded")),
    ])
    .await;
    let second = ScriptedOpenAi::start([ScriptTurn::text("It is 42.")]).await;
    let config = format!(
        "[routes.any]\ntargets = [\"first/a\", \"second/b\"]\n{}\
         [providers.second]\nkind = \"openai\"\nbase_url = \"{}/v1\"\napi_key_env = \"OPENAI_API_KEY\"\n",
        providers(&[("first", first.base_url())]),
        second.base_url(),
    );
    let ran = jackfield(["ask", "--model", "any", "six times seven"])
        .configured(config)
        .env("OPENAI_API_KEY", "sk-of-openai-0123")
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.ends_with("It is 42.\n"), "{}", ran.out);
    kept(&first);
    kept(&second);
    let told = second.requests()[0].to_string();
    assert!(told.contains("42"), "the outcome goes along: {told}");
    for own in ["signed", "secret"] {
        assert!(!told.contains(own), "{own} in {told}");
    }
}

/// A whole reply of Claude Messages with this text.
fn said(text: &str) -> Response {
    let events = [
        (
            "message_start",
            json!({ "message": { "id": "m", "type": "message", "role": "assistant", "model": "b", "content": [], "stop_reason": null, "usage": { "input_tokens": 5, "output_tokens": 1 } } }),
        ),
        (
            "content_block_start",
            json!({ "index": 0, "content_block": { "type": "text", "text": "" } }),
        ),
        (
            "content_block_delta",
            json!({ "index": 0, "delta": { "type": "text_delta", "text": text } }),
        ),
        ("content_block_stop", json!({ "index": 0 })),
        (
            "message_delta",
            json!({ "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 3 } }),
        ),
        ("message_stop", json!({})),
    ];
    let events = events.into_iter().map(|(kind, mut data)| {
        data["type"] = kind.into();
        format!("event: {kind}\ndata: {data}\n\n")
    });
    Response::event_stream(events.collect::<String>())
}

#[tokio::test]
async fn a_turn_that_is_killed_between_two_targets_goes_on_at_the_second() {
    let first = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::status(529, &error("overloaded_error", "Overloaded")),
    ])
    .await;
    let second = TestServer::start().await;
    second.answer(silent());
    let upstreams = [("first", first.base_url()), ("second", second.base_url())];
    let config = format!(
        "[routes.any]\ntargets = [\"first/a\", \"second/b\"]\n{}",
        providers(&upstreams)
    );
    let kept_file = Kept::new();
    let ask = kept_file.run(&["ask", "--json", "--model", "any", "six times seven"]);
    let running = ask.configured(&config).start();
    let before = second.request(0).await.text().to_owned();
    running.kill();
    running.end().await;
    second.answer(said("It is 42."));
    let resumed = kept_file
        .run(&["sessions", "resume", "last"])
        .configured(&config)
        .run()
        .await;
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.out, resumed.err);
    assert!(resumed.out.contains("It is 42."), "{}", resumed.out);
    // The second is asked again the same, the first one and the tool are not.
    assert_eq!(second.request(1).await.text(), before);
    assert_eq!(first.requests().len(), 2);
    kept(&first);
    let audit = kept_file
        .run(&["audit", "--json", "--outcome", "ran"])
        .configured(&config)
        .run()
        .await;
    let audit: Value = serde_json::from_str(&audit.out).expect("JSON");
    assert_eq!(audit.as_array().map(Vec::len), Some(1), "{audit}");
    assert_eq!(audit[0]["attempts"].as_array().map(Vec::len), Some(1));
}

/// A gateway over a route of two OpenAI servers, which passes requests through.
async fn passing(kept_file: &Kept, servers: [&TestServer; 2], more: &str) -> Gateway {
    let tables = servers.iter().zip(["one", "two"]).map(|(server, name)| {
        let url = server.base_url();
        format!("[providers.{name}]\nkind = \"openai\"\nbase_url = \"{url}/v1\"\napi_key_env = \"OPENAI_API_KEY\"\npassthrough = \"always\"\n")
    });
    let config = format!(
        "[routes.any]\ntargets = [{{ model = \"one/a\", first_byte = \"300ms\" }}, \"two/b\"]\n{more}\n{}",
        tables.collect::<String>()
    );
    let gateway = kept_file.gateway().plain().configured(config);
    Gateway::listening(gateway.env("OPENAI_API_KEY", "sk-of-openai-0123").start()).await
}

fn chat() -> Value {
    json!({ "model": "any", "messages": [{ "role": "user", "content": "hello" }] })
}

fn reply() -> Response {
    let body = json!({
        "id": "c", "object": "chat.completion", "model": "b",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hello!" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3 },
    });
    Response::json(200, body.to_string())
}

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn a_request_that_is_passed_through_goes_to_the_next_target_too() {
    let broken = || {
        let body = json!({ "error": { "message": "no credit", "type": "insufficient_quota", "code": "insufficient_quota" } });
        Response::json(429, body.to_string())
    };
    for first in [
        silent(),
        limited(),
        broken(),
        Response::new(200).framed(Framing::Chunked).cut_off(),
    ] {
        let (kept_file, one, two) = (
            Kept::new(),
            TestServer::start().await,
            TestServer::start().await,
        );
        let gateway = passing(&kept_file, [&one, &two], "").await;
        one.answer(first);
        two.answer(reply());
        let answer = gateway.post(CHAT, &chat()).answered().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("x-jackfield-path"), "passthrough");
        assert_eq!(answer.header("x-jackfield-target"), "two/b");
        assert_eq!(answer.is(200)["model"], "any");
        assert_eq!(
            two.request(0).await.text(),
            chat().to_string().replace("\"any\"", "\"b\"")
        );
        // The API has the state.
        let routes = gateway.get("/api/v1/routes").answered().await.is(200);
        let target = &routes["routes"][0]["targets"][0];
        assert_eq!(target["model"], "one/a");
        assert!(target["last_failure"]["kind"].is_string(), "{routes}");
        gateway.end().await;
    }
}

#[tokio::test]
async fn a_conversation_that_is_passed_through_stays_at_its_target() {
    let (kept_file, one, two) = (
        Kept::new(),
        TestServer::start().await,
        TestServer::start().await,
    );
    let gateway = passing(&kept_file, [&one, &two], "strategy = \"weighted\"\n").await;
    let question = json!({ "role": "user", "content": "word ".repeat(1_000) });
    let mut messages = vec![question.clone()];
    let answers = [(&one, "one/a"), (&one, "one/a"), (&two, "two/b")];
    for (nth, (server, target)) in answers.into_iter().enumerate() {
        if nth == 2 {
            // Its breaker is open, so the conversation leaves it.
            one.answer(limited());
        }
        server.answer(reply());
        let request = json!({ "model": "any", "messages": messages });
        let answer = gateway.post(CHAT, &request).answered().await;
        assert_eq!(answer.header("x-jackfield-target"), target);
        messages.push(json!({ "role": "assistant", "content": "Hello!" }));
        messages.push(json!({ "role": "user", "content": "Go on." }));
    }
    gateway.end().await;
}

#[tokio::test]
async fn a_request_at_fault_goes_nowhere_else() {
    let (kept_file, one, two) = (
        Kept::new(),
        TestServer::start().await,
        TestServer::start().await,
    );
    let gateway = passing(&kept_file, [&one, &two], "").await;
    let body = json!({ "error": { "message": "no such field", "type": "invalid_request_error" } });
    one.answer(Response::json(400, body.to_string()));
    let answer = gateway.post(CHAT, &chat()).answered().await;
    assert_eq!(answer.is(400)["error"]["message"], "no such field");
    assert!(two.requests().is_empty());
}

#[tokio::test]
async fn once_all_are_out_the_client_hears_when_to_come_again_or_the_last_error() {
    for (more, status) in [("", 503), ("on_exhausted = \"last_error\"", 429)] {
        let (kept_file, one, two) = (
            Kept::new(),
            TestServer::start().await,
            TestServer::start().await,
        );
        let gateway = passing(&kept_file, [&one, &two], more).await;
        one.answer(limited());
        two.answer(limited());
        let answer = gateway.post(CHAT, &chat()).answered().await;
        assert_eq!(answer.status, status, "{answer:?}");
        let wait: u64 = answer.header("retry-after").parse().expect("seconds");
        assert!((20..=31).contains(&wait), "{wait}");
        if status == 503 {
            assert_eq!(answer.is(503)["error"]["code"], "route_exhausted");
        }
        gateway.end().await;
    }
}

#[tokio::test]
async fn a_route_is_listed_as_a_model() {
    let (kept_file, one, two) = (
        Kept::new(),
        TestServer::start().await,
        TestServer::start().await,
    );
    let gateway = passing(&kept_file, [&one, &two], "").await;
    let models = gateway.get("/api/v1/models").answered().await.is(200);
    let models = models["models"].as_array().expect("a list");
    let any = models
        .iter()
        .find(|model| model["id"] == "any")
        .expect("the route");
    assert_eq!(any["route_to"], json!(["one/a", "two/b"]));
}

#[tokio::test]
async fn wrong_routes_are_refused_with_their_names() {
    for (table, expected) in [
        ("targets = []", "the route `any` leads to nothing"),
        ("targets = [\"any\"]", "the route `any` leads to itself"),
        (
            "targets = [\"other\"]\n[routes.other]\ntargets = [\"claude/a\"]",
            "`other` is a route, too",
        ),
        (
            "targets = [{ model = \"claude/a\", weight = 0 }]",
            "`weight`: this must be at least 1",
        ),
        (
            "targets = [\"claude/a\"]\n[aliases]\nany = \"claude/b\"",
            "`any` is an alias, too",
        ),
        (
            "targets = [\"claude/a\", \"claude/a\"]",
            "`claude/a` is there twice",
        ),
    ] {
        let ran = jackfield(["ask", "hello"])
            .configured(format!("[routes.any]\n{table}\n"))
            .run()
            .await;
        assert_eq!(ran.code, Some(3), "{table}: {}", ran.err);
        assert!(ran.err.contains(expected), "{table}: {}", ran.err);
    }
}
