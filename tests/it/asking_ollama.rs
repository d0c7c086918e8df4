//! Ask Ollama over its own API.

use jackfield_testservers::ollama::ScriptedOllama;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::harness::{Gateway, Jackfield, Kept, jackfield, kept};

fn ollama<const N: usize>(arguments: [&str; N], server: &ScriptedServer, more: &str) -> Jackfield {
    jackfield(arguments).configured(configuration(server, more))
}

fn configuration(server: &ScriptedServer, more: &str) -> String {
    let base_url = server.base_url();
    format!("model = \"ollama/qwen3:8b\"\n[providers.ollama]\nbase_url = \"{base_url}\"\n{more}\n")
}

#[tokio::test]
async fn hello_is_answered_streamed_or_whole() {
    for turn in [
        ScriptTurn::text("Hello! 你好"),
        ScriptTurn::text("Hello! 你好").whole(),
    ] {
        let server = ScriptedOllama::start([turn]).await;
        let settings = "num_ctx = 16384\nkeep_alive = \"30m\"";
        let ran = ollama(["ask", "Hello"], &server, settings).run().await;
        ran.answers("Hello! 你好\n");
        ran.says("1 round · 0 calls");
        let seen = server.server().requests();
        assert_eq!(seen[0].path, "/api/chat");
        assert_eq!(seen[0].header("authorization"), None);
        let body = seen[0].json();
        assert_eq!(body["options"]["num_ctx"], 16_384);
        assert_eq!(body["keep_alive"], "30m");
        assert_eq!(body["truncate"], false);
        kept(&server);
    }
}

/// The server has given ids since 2025-11; before, results had the names of their tools alone.
#[tokio::test]
async fn parallel_calls_go_back_with_their_names_and_the_thoughts_before_them() {
    let thinking = ScriptPart::Thinking {
        signature: String::new(),
        text: "Two sums.".to_owned(),
    };
    let calls = ScriptTurn::reply([thinking])
        .and_call("calculator", &json!({ "expression": "2^20000 mod 7" }))
        .and_call("calculator", &json!({ "expression": "1+1" }));
    let server = ScriptedOllama::start([calls, ScriptTurn::text("4 and 2.").when("2")]).await;
    let ran = ollama(["ask", "calculate"], &server, "").run().await;
    ran.answers("4 and 2.\n");
    let messages = &server.requests()[1]["messages"];
    let said: Vec<&Value> = messages
        .as_array()
        .expect("messages")
        .iter()
        .rev()
        .take(3)
        .collect();
    assert_eq!(said[2]["thinking"], "Two sums.");
    assert_eq!(
        said[2]["tool_calls"][1]["function"]["arguments"],
        json!({ "expression": "1+1" })
    );
    for (result, place) in [(said[1], 0), (said[0], 1)] {
        assert_eq!(result["tool_name"], "calculator");
        assert_eq!(result["tool_call_id"], said[2]["tool_calls"][place]["id"]);
    }
    assert_eq!(
        (&said[1]["content"], &said[0]["content"]),
        (&json!("4"), &json!("2"))
    );
    kept(&server);
}

#[tokio::test]
async fn a_model_that_is_not_there_is_to_be_pulled() {
    let refusal = json!({ "error": "model 'qwen9' not found" });
    let server = ScriptedOllama::start([ScriptTurn::status(404, &refusal)]).await;
    let ran = ollama(["ask", "-m", "ollama/qwen9", "Hello"], &server, "")
        .run()
        .await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("`ollama pull qwen9`"), "{}", ran.err);
    kept(&server);
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_is_refused_and_not_cut() {
    let refusal = json!({ "error": "the input length exceeds the context length" });
    let server = ScriptedOllama::start([ScriptTurn::status(400, &refusal)]).await;
    let ran = ollama(["ask", "Hello"], &server, "").run().await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("num_ctx"), "{}", ran.err);
    kept(&server);
}

#[tokio::test]
async fn a_server_that_does_not_run_is_to_be_started() {
    let server = ScriptedOllama::start([]).await;
    let configuration = configuration(&server, "");
    drop(server);
    let ran = jackfield(["ask", "Hello"])
        .configured(configuration)
        .run()
        .await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("`ollama serve`"), "{}", ran.err);
}

#[tokio::test]
async fn a_model_without_tools_gets_them_in_words() {
    let refusal = json!({ "error": "registry.ollama.ai/library/gemma3:4b does not support tools" });
    let call = json!({ "name": "calculator", "arguments": { "expression": "19+23" } });
    let server = ScriptedOllama::start([
        ScriptTurn::status(400, &refusal),
        ScriptTurn::text(format!("<tool_call>\n{call}\n</tool_call>")),
        ScriptTurn::text("It is 42.").when("42"),
    ])
    .await;
    let ran = ollama(["ask", "19+23?"], &server, "").run().await;
    ran.answers("It is 42.\n");
    let requests = server.requests();
    assert!(requests[0]["tools"].is_array(), "{}", requests[0]);
    assert!(requests[1..].iter().all(|body| body.get("tools").is_none()));
    kept(&server);
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let server = ScriptedOllama::start([]).await;
    let ran = ollama(["models", "ollama"], &server, "").run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("qwen3:8b") && ran.out.contains("gemma3:4b"),
        "{}",
        ran.out
    );
}

/// What clients send in OpenAI's form goes to the server's API in that form, where that is wanted.
#[tokio::test]
async fn requests_of_clients_are_passed_to_the_api_in_their_form() {
    let server = ScriptedOllama::start([]).await;
    let sessions = Kept::new();
    let serve = sessions
        .gateway()
        .configured(configuration(&server, "passthrough = \"always\""));
    let gateway = Gateway::listening(serve.start()).await;
    let asked =
        json!({ "model": "ollama/qwen3:8b", "messages": [{ "role": "user", "content": "Hi" }] });
    let said = gateway
        .post("/v1/chat/completions", &asked)
        .header("x-jackfield-tools", "none")
        .answered()
        .await;
    assert_eq!(said.status, 404, "{}", said.text());
    let seen = server.server().requests();
    assert_eq!(seen[0].path, "/v1/chat/completions");
    gateway.end().await;
    let _unknown = server.violations();
}
