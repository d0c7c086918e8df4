//! `jackfield models` and `jackfield providers`.

use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use crate::process::{Ran, jackfield};

fn list(ids: &[&str]) -> Response {
    let models: Vec<Value> = ids
        .iter()
        .map(
            |id| json!({ "id": id, "display_name": format!("The {id}"), "max_input_tokens": 1000 }),
        )
        .collect();
    Response::json(
        200,
        json!({ "data": models, "has_more": false }).to_string(),
    )
}

#[track_caller]
fn read(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
}

const MORE: &str = "model = 'mine'\n[aliases]\nmine = 'claude/two'\ngone = 'dead/x'\n\
    [providers.dead]\nkind = 'vllm'\nbase_url = 'http://127.0.0.1:9'\n\
    [providers.locked]\nkind = 'openai'\napi_key_env = 'NO_SUCH_KEY'\n";

/// The configuration with these tables after the provider's own.
fn configured(base_url: &str) -> String {
    let (top, tables) = MORE.split_once('\n').unwrap();
    format!("{top}\n[providers.claude]\nbase_url = '{base_url}'\n{tables}")
}

#[tokio::test]
async fn models_are_listed_with_their_aliases_and_who_is_down_stops_nobody() {
    let server = TestServer::start().await;
    for _ in 0..2 {
        server.answer(list(&["one", "two"]));
    }
    let config = configured(&server.base_url());
    let run = |json: &'static str| {
        let run = jackfield(["models"]).env("ANTHROPIC_API_KEY", "sk-test-key");
        let run = run.configured(&config);
        if json.is_empty() { run } else { run.arg(json) }
    };
    let ran = run("").run_beside().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in [
        "claude/one  The one, 1000 tokens",
        "claude/two  The two, 1000 tokens  ← the model, mine",
        "dead/x  not listed  gone",
    ] {
        assert!(
            ran.out.lines().any(|told| told == line),
            "{line}\n{}",
            ran.out
        );
    }
    assert!(
        ran.out.contains("✗ dead: cannot connect") || ran.out.contains("✗ dead: "),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("✗ locked: NO_SUCH_KEY is not set"),
        "{}",
        ran.out
    );
    let listed = read(&run("--json").run_beside().await);
    let find = |name: &str| {
        let all = listed.as_array().unwrap().iter();
        all.clone().find(|one| one["provider"] == name).unwrap()
    };
    assert_eq!(
        find("claude")["models"][1],
        json!({ "id": "two", "name": "The two", "context_tokens": 1000, "output_tokens": null,
                "aliases": ["mine"], "current": true })
    );
    assert_eq!(
        find("dead")["unlisted"],
        json!([{ "id": "x", "is": "gone" }])
    );
    assert!(find("dead")["error"].is_string());
    assert!(find("dead")["help"].is_string() && find("claude")["help"].is_null());
}

#[test]
fn where_nobody_can_be_asked_the_exit_code_says_so() {
    let ran = jackfield(["models", "claude"]).run();
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.out.starts_with(
            "✗ claude: ANTHROPIC_API_KEY is not set\n    help: export ANTHROPIC_API_KEY=..."
        ),
        "{}",
        ran.out
    );
    let ran = jackfield(["models", "nobody"]).run();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err
            .contains("there is no provider `nobody`; there are: cerebras, claude, "),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn providers_are_listed_with_how_they_stand() {
    let server = TestServer::start().await;
    server.answer(list(&["one"]));
    let config = configured(&server.base_url());
    let run = jackfield(["providers", "--json"]).env("ANTHROPIC_API_KEY", "sk-test-key");
    let ran = run.configured(&config).run_beside().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let standing = read(&ran);
    let names: Vec<&str> = standing
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["claude", "dead", "locked"]);
    let claude = &standing[0];
    assert_eq!(claude["reachable"], true);
    assert_eq!(claude["key"]["place"], "ANTHROPIC_API_KEY");
    assert_eq!(claude["endpoint"], server.base_url());
    assert!(claude["can"].as_array().unwrap().contains(&json!("images")));
    assert_eq!(
        (&standing[1]["reachable"], &standing[1]["kind"]),
        (&json!(false), &json!("vllm"))
    );
    assert_eq!(standing[1]["key"]["state"], "not_needed");
    assert_eq!(standing[2]["key"]["reason"], "NO_SUCH_KEY is not set");
    assert_eq!(standing[2]["reachable"], Value::Null);
    assert!(!ran.out.contains("sk-test-key"));
}

#[tokio::test]
async fn offline_nobody_is_asked_and_all_are_those_that_there_are() {
    let server = TestServer::start().await;
    let ran = jackfield(["providers", "--offline", "--all"])
        .at(&server.base_url())
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(server.requests().len(), 0);
    for name in [
        "claude",
        "deepseek",
        "gemini",
        "llama-cpp",
        "mistral",
        "ollama",
        "openai",
        "vllm",
    ] {
        assert!(
            ran.out.contains(&format!("- {name}")),
            "{name}\n{}",
            ran.out
        );
    }
    assert!(
        ran.out.contains("- claude, the model's: not asked\n"),
        "{}",
        ran.out
    );
}
