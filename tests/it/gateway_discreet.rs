//! What is wrong on the gateway's machine is told to its operator: clients learn that, and not where.

use jackfield_testservers::claude::ScriptedClaude;
use serde_json::{Value, json};

use crate::harness::{Answer, Asking, Gateway, Kept};

/// What no client may learn: where things lie, what they are started with, and which variables hold keys.
const INNER: &[&str] = &[
    "/srv/inner",
    "INNER_TOKEN",
    "DEEPSEEK_API_KEY",
    "jackfield.toml",
];

const CONFIGURED: &str = r#"
[providers.openai]
api_key_file = "/srv/inner/openai.key"

[serve]
tools = ["builtin/*", "files/*", "unfilled/*", "web/*"]

[serve.tokens.root]
env = "ROOT"
admin = true

[serve.tokens.web]
env = "WEB"

[web.tools.weather]
description = "The weather."
url = "https://weather.example/"
headers = { authorization = "Bearer ${INNER_TOKEN}" }
"#;

/// The tokens.
const ROOT: &str = "root-0123456789abcdef";
const WEB: &str = "web-0123456789abcdef";

/// A gateway of which much is wrong that is no client's affair.
async fn gateway(sessions: &Kept) -> Gateway {
    let claude = ScriptedClaude::start([]).await;
    let serve = sessions
        .gateway()
        .at_with(&claude.base_url(), CONFIGURED)
        .servers([
            ("files", json!({ "command": "/srv/inner/files" })),
            (
                "unfilled",
                json!({ "command": "any", "args": ["${INNER_TOKEN}"] }),
            ),
        ]);
    let serve = serve.env("ROOT", ROOT).env("WEB", WEB);
    Gateway::listening(serve.start()).await
}

fn by(asking: Asking, token: &str) -> Asking {
    asking.header("authorization", &format!("Bearer {token}"))
}

fn is_discreet(answer: &Answer) {
    for inner in INNER {
        assert!(!answer.text().contains(inner), "{inner}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_key_that_is_missing_is_told_without_its_place() {
    let sessions = Kept::new();
    let gateway = gateway(&sessions).await;
    for model in ["openai/gpt-6-sol", "deepseek/deepseek-chat"] {
        let (provider, _) = model.split_once('/').expect("a provider");
        for is_streamed in [false, true] {
            let messages = json!([{ "role": "user", "content": "Hello" }]);
            let chat = json!({ "model": model, "max_tokens": 9, "messages": messages,
                               "stream": is_streamed });
            let response = json!({ "model": model, "input": "Hello", "stream": is_streamed });
            for (path, body) in [
                ("/v1/chat/completions", &chat),
                ("/v1/messages", &chat),
                ("/v1/responses", &response),
            ] {
                let answer = by(gateway.post(path, body), WEB).answered().await;
                is_discreet(&answer);
                let told = format!(
                    "the gateway's own key for the provider is missing or not accepted, for every client: the \
                     provider `{provider}` has no key, and the log says why"
                );
                assert!(answer.text().contains(&told), "{path}: {}", answer.text());
            }
        }
        // The API of its own shows turns as they are kept, to admins, too.
        for token in [WEB, ROOT] {
            let made = by(gateway.post("/api/v1/sessions", &json!({})), token);
            let made = made.answered().await;
            let session = made.is(201)["id"].as_str().expect("an id").to_owned();
            let turns = format!("/api/v1/sessions/{session}/turns");
            let turn = json!({ "model": model, "message": "Hello" });
            let posted = by(gateway.post(&turns, &turn), token).answered().await;
            let export = format!("/api/v1/sessions/{session}/export");
            let exported = by(gateway.get(&export), token).answered().await;
            for answer in [posted, exported] {
                assert!(
                    answer.text().contains("has no key, and the log says why"),
                    "{}",
                    answer.text()
                );
                is_discreet(&answer);
            }
        }
    }
    let log = gateway.running.err.so_far();
    assert!(
        log.contains("the file `/srv/inner/openai.key` cannot be read"),
        "{log}"
    );
    assert!(log.contains("DEEPSEEK_API_KEY is not set"), "{log}");
    gateway.end().await;
}

#[tokio::test]
async fn tools_that_are_missing_are_told_without_their_programs() {
    let sessions = Kept::new();
    let gateway = gateway(&sessions).await;
    let asked = by(gateway.get("/api/v1/tools"), WEB).answered().await;
    let problems = asked.is(200)["problems"].clone();
    is_discreet(&asked);
    let told: Vec<&str> = problems
        .as_array()
        .expect("problems")
        .iter()
        .filter_map(|problem| problem["message"].as_str())
        .collect();
    assert_eq!(
        told,
        [
            "the server `files` is not available, and the log says why",
            "the server `unfilled` is not available, and the log says why",
            "skipped tool `weather`: it cannot be used as it is configured, and the log says why",
        ]
    );
    let reasons = |servers: &Value| -> Vec<Value> {
        let servers = servers["servers"].as_array().expect("servers").iter();
        servers.map(|server| server["reason"].clone()).collect()
    };
    let asked = by(gateway.get("/api/v1/servers"), WEB).answered().await;
    is_discreet(&asked);
    assert_eq!(reasons(&asked.is(200)), [Value::Null, Value::Null]);
    let asked = by(gateway.get("/api/v1/servers"), ROOT).answered().await;
    assert_eq!(
        reasons(&asked.is(200)),
        [
            "/srv/inner/files is not a program that can be run",
            "its `args` cannot be filled in: the environment variable INNER_TOKEN is not set",
        ]
    );
    let log = gateway.running.err.so_far();
    for whole in [
        "/srv/inner/files is not a program that can be run",
        "its `args` cannot be filled in: the environment variable INNER_TOKEN is not set",
        "its header `authorization` cannot be sent: the environment variable INNER_TOKEN is not set",
    ] {
        assert_eq!(log.matches(whole).count(), 1, "{whole}: {log}");
    }
    gateway.end().await;
}
