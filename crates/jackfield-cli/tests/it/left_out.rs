//! What a build with the feature `claude` alone has, and what it says about the rest.

use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::process::{Ran, jackfield};

/// What the help says about each feature.
const HELP: &str = "or take a program that was built with all features";

#[track_caller]
fn names_the_feature(ran: &Ran, code: i32, place: &str, feature: &str) {
    assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{ran:?}");
    let error = format!("{place}: this program was built without the feature `{feature}`");
    assert!(ran.err.contains(&error), "{error}\n{}", ran.err);
    let help = format!("help: build it with `--features {feature}`, {HELP}");
    assert!(ran.err.contains(&help), "{help}\n{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_calls_tools_of_a_server_over_stdio() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("tools__calculator", &json!({ "expression": "6 * 7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let servers = json!({ "mcpServers": { "tools": {
        "command": env!("CARGO_BIN_EXE_jackfield"),
        "args": ["mcp", "serve", "--no-config"],
    } } });
    let ran = jackfield(["ask", "--allow", "tools/*", "6 * 7?"])
        .beside_config("mcp-servers.json", servers.to_string())
        .at(&claude.base_url())
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "It is 42.\n");
    let result = &claude.requests()[1]["messages"][2]["content"][0];
    assert_eq!(result["type"], "tool_result");
    assert!(result["content"].to_string().contains("42"), "{result}");
    assert_eq!(claude.violations(), [""; 0]);
}

#[test]
fn the_demo_has_all_that_it_needs() {
    let ran = jackfield(["demo", "What is 15% of 2500?"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("375"), "{}", ran.out);
}

#[test]
fn a_setting_that_needs_a_feature_names_it() {
    for (text, key, feature) in [
        ("[providers.openai]", "providers.openai", "openai"),
        ("[providers.groq]", "providers.groq", "openai"),
        ("[providers.mine]\nkind = \"ollama\"", "kind", "ollama"),
        ("[providers.mine]\nkind = \"bedrock\"", "kind", "bedrock"),
        (
            "[providers.mine]\nkind = \"gemini-vertex\"",
            "kind",
            "gemini",
        ),
        ("[providers.claude-code]", "claude-code", "claude-code"),
        ("model = \"gemini/gemini-3.8-flash\"", "model", "gemini"),
        ("[web]\nread_pages = true", "web", "web"),
    ] {
        let ran = jackfield(["tools", "list"]).configured(text).run();
        let key = format!("{key}`");
        names_the_feature(&ran, 3, &key, feature);
    }
    let ran = jackfield(["ask", "-m", "openai/gpt-6-sol", "hello"]).run();
    names_the_feature(&ran, 3, "--model", "openai");
    let (listing, setting) = (
        jackfield(["models", "openai"]),
        jackfield(["keys", "set", "groq"]),
    );
    for ran in [listing.run(), setting.run()] {
        names_the_feature(&ran, 2, "error", "openai");
    }
    for arguments in [["chat", "--web"], ["demo", "--web"], ["demo", "serve"]] {
        names_the_feature(&jackfield(arguments).run(), 2, "error", "serve");
    }
    let postgres = "[journal]\nkind = \"postgres\"\nurl = \"postgres://localhost/x\"";
    let ran = jackfield(["sessions", "list"]).configured(postgres).run();
    let said = "this program was built without the feature `postgres`";
    assert!(ran.err.contains(said), "{}", ran.err);
}

/// One file serves a terminal and a gateway.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_gateway_needs_is_no_error() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let sign_in = "[serve.oidc]\nissuer = \"https://accounts.example.com\"\nclient_id = \"a\"\n";
    let ran = jackfield(["ask", "hello"])
        .configured_at(&claude.base_url(), sign_in)
        .run_beside()
        .await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "Hello.\n"),
        "{ran:?}"
    );
}

/// A key of a provider that is left out chooses no model, and no command trips over it.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_other_providers_are_not_used() {
    let keys = [
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
    ];
    let with_keys = |mut run: crate::process::Jackfield| {
        for key in keys {
            run = run.env(key, "sk-test-key");
        }
        run
    };
    let ran = with_keys(jackfield(["ask", "hello"])).run();
    assert_eq!(ran.code, Some(3));
    let missing = "error: there is no key for `claude`: ANTHROPIC_API_KEY is not set\n";
    assert!(ran.err.starts_with(missing), "{}", ran.err);
    let ran = with_keys(jackfield(["config", "init", "--print"])).run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains("OPENAI_API_KEY"), "{}", ran.out);

    let list = json!({ "data": [{ "id": "claude-opus-5-5" }], "has_more": false }).to_string();
    let server = TestServer::start().await;
    for _ in 0..4 {
        server.answer(Response::json(200, list.clone()));
    }
    for (command, word) in [("providers", "claude"), ("models", "claude-opus-5-5")] {
        let ran = with_keys(jackfield([command]).at(&server.base_url()));
        let ran = ran.run_beside().await;
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
        assert!(ran.out.contains(word), "{command}: {}", ran.out);
        assert!(!ran.out.contains("openai"), "{command}: {}", ran.out);
    }
    let ran = with_keys(jackfield(["doctor", "--offline"])).run();
    assert!(ran.out.contains("claude"), "{ran:?}");
    assert!(!ran.out.contains("openai"), "{}", ran.out);
    assert!(!ran.out.contains("without the feature"), "{}", ran.out);
}

#[test]
fn the_schema_has_what_this_program_takes() {
    let ran = jackfield(["config", "schema"]).run();
    let schema: Value = serde_json::from_str(&ran.out).unwrap();
    let settings = &schema["properties"];
    let kinds = &settings["providers"]["additionalProperties"]["properties"]["kind"]["enum"];
    assert_eq!(
        kinds,
        &json!(["claude", "claude-bedrock", "claude-foundry"])
    );
    assert_eq!(settings["web"], Value::Null);
    assert_ne!(settings["policy"], Value::Null);
}
