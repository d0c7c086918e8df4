//! Keys of people at providers: used for that person alone, and stored encrypted.

use std::fs;

use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, MASTER};

const GATEWAYS: &str = "sk-of-the-gateway-0123456789";
const OWN: &str = "sk-of-ann-herself-0123456789";
const KEY: &str = "/api/v1/provider-keys/openai";

fn reply() -> Response {
    let reply = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "Hi." } }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 },
    });
    Response::json(200, reply.to_string())
}

async fn ask(gateway: &Gateway, secret: &str, verb: &str, path: &str, body: Value) -> Answer {
    let asking = gateway.with_key(secret, verb, path, &body);
    let asking = asking.header("x-jackfield-tools", "none");
    asking.answered().await
}

/// Passes a request of this person through, and returns the key that the provider saw.
async fn passed(gateway: &Gateway, openai: &TestServer, secret: &str) -> String {
    openai.answer(reply());
    let nth = openai.requests().len();
    let body = json!({ "model": "openai/gpt", "messages": [{ "role": "user", "content": "hi" }] });
    let answer = ask(gateway, secret, "POST", "/v1/chat/completions", body).await;
    assert_eq!(answer.header("x-jackfield-path"), "passthrough");
    answer.is(200);
    seen(openai, nth).await
}

async fn seen(openai: &TestServer, nth: usize) -> String {
    let request = openai.request(nth).await;
    let sent = request.header("authorization").unwrap_or_default();
    sent.trim_start_matches("Bearer ").to_owned()
}

#[tokio::test]
async fn a_persons_own_key_is_used_for_that_person_alone_and_is_in_no_file() {
    let (files, openai) = (Kept::new(), TestServer::start().await);
    let (ann, ben) = (files.user("ann", &[]).await, files.user("ben", &[]).await);
    let provider = format!(
        "[providers.openai]\napi = \"chat\"\nbase_url = \"{}/v1\"\n",
        openai.base_url()
    );
    let with_master = format!("{provider}[secrets]\nkey_env = \"MASTER_OF_THE_TEST\"\n");
    let serve = |config: &str| {
        let serve = files.gateway().configured(config);
        serve
            .env("OPENAI_API_KEY", GATEWAYS)
            .env("MASTER_OF_THE_TEST", MASTER)
    };
    let gateway = Gateway::listening(serve(&with_master).start()).await;
    let set = ask(&gateway, &ann, "PUT", KEY, json!({ "key": OWN })).await;
    let set = set.is(200).to_string();
    assert!(!set.contains(OWN), "{set}");
    let listed = "/api/v1/provider-keys";
    let list = ask(&gateway, &ben, "GET", listed, json!({})).await.is(200);
    assert_eq!(list["keys"], json!([]));
    let list = ask(&gateway, &ann, "GET", listed, json!({})).await.is(200);
    assert_eq!(list["keys"][0]["provider"], "openai");
    assert!(!list.to_string().contains(OWN), "{list}");
    assert_eq!(passed(&gateway, &openai, &ann).await, OWN);
    assert_eq!(passed(&gateway, &openai, &ben).await, GATEWAYS);
    for (secret, expected) in [(&ann, OWN), (&ben, GATEWAYS)] {
        let session = ask(&gateway, secret, "POST", "/api/v1/sessions", json!({}));
        let session = session.await.is(201);
        let turns = format!(
            "/api/v1/sessions/{}/turns",
            session["id"].as_str().expect("text")
        );
        openai.answer(reply());
        let nth = openai.requests().len();
        let turn = json!({ "message": "hi", "model": "openai/gpt" });
        ask(&gateway, secret, "POST", &turns, turn).await.is(200);
        assert_eq!(seen(&openai, nth).await, expected);
    }
    for (secret, own_key_replies) in [(&ann, 2), (&ben, 0)] {
        let usage = ask(&gateway, secret, "GET", "/api/v1/usage", json!({})).await;
        assert_eq!(usage.is(200)["total"]["own_key_replies"], own_key_replies);
    }
    gateway.end().await;
    let folder = files.file();
    let folder = folder.parent().expect("a folder");
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            let has = bytes
                .windows(OWN.len())
                .any(|piece| piece == OWN.as_bytes());
            assert!(!has, "{}", path.display());
        }
    }
    // Without the master key no gateway starts, so that the gateway's key is never used instead.
    let ran = serve(&provider).run().await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    ran.says("under the master key");
    let gateway = Gateway::listening(serve(&with_master).start()).await;
    assert_eq!(passed(&gateway, &openai, &ann).await, OWN);
    let removed = ask(&gateway, &ann, "DELETE", KEY, json!({})).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    assert_eq!(passed(&gateway, &openai, &ann).await, GATEWAYS);
    gateway.end().await;
}

#[tokio::test]
async fn claude_and_gemini_get_a_persons_own_key_too() {
    let (files, server) = (Kept::new(), TestServer::start().await);
    let (ann, ben) = (files.user("ann", &[]).await, files.user("ben", &[]).await);
    let url = server.base_url();
    let config = format!(
        "[secrets]\nkey_env = \"MASTER_OF_THE_TEST\"\n[providers.claude]\nbase_url = \"{url}\"\n\
         [providers.gemini]\nbase_url = \"{url}\"\n"
    );
    let serve = files.gateway().configured(config);
    let serve = serve.env("MASTER_OF_THE_TEST", MASTER);
    let serve = serve.env("ANTHROPIC_API_KEY", GATEWAYS);
    let gateway = Gateway::listening(serve.env("GEMINI_API_KEY", GATEWAYS).start()).await;
    let claude = json!({
        "model": "claude/claude-opus-5-5", "max_tokens": 9,
        "messages": [{ "role": "user", "content": "hi" }],
    });
    let claudes = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{ "type": "text", "text": "Hi." }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 7, "output_tokens": 3 },
    });
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    let geminis = json!({
        "candidates": [{
            "content": { "role": "model", "parts": [{ "text": "Hi." }] }, "finishReason": "STOP",
        }],
        "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10 },
    });
    let geminis_path = "/v1beta/models/gemini%2Fgemini-3-pro:generateContent";
    for (provider, path, body, reply, header) in [
        ("claude", "/v1/messages", claude, claudes, "x-api-key"),
        ("gemini", geminis_path, gemini, geminis, "x-goog-api-key"),
    ] {
        let key = format!("/api/v1/provider-keys/{provider}");
        let set = ask(&gateway, &ann, "PUT", &key, json!({ "key": OWN })).await;
        set.is(200);
        for (secret, expected) in [(&ann, OWN), (&ben, GATEWAYS)] {
            server.answer(Response::json(200, reply.to_string()));
            let nth = server.requests().len();
            let answer = ask(&gateway, secret, "POST", path, body.clone()).await;
            answer.is(200);
            let seen = server.request(nth).await;
            assert_eq!(seen.header(header), Some(expected), "{provider}");
        }
        let removed = ask(&gateway, &ann, "DELETE", &key, json!({})).await;
        assert_eq!(removed.status, 204, "{removed:?}");
        let again = ask(&gateway, &ann, "DELETE", &key, json!({})).await.is(404);
        let detail = format!("`ann` has no key of their own at `{provider}`");
        assert_eq!(again["detail"], detail);
    }
    gateway.end().await;
}
