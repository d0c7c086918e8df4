//! Endpoints beside those for messages, which are passed through alone: which are open to whom, and forms as bodies.

use jackfield_testkit::server::{Response, TestServer};

use crate::harness::{Answer, Gateway, Kept};

/// A gateway in front of this server, which is OpenAI and Anthropic, with a token that opens endpoints of both.
async fn gateway(kept: &Kept, server: &TestServer, serve: &str) -> Gateway {
    let url = server.base_url();
    let config = format!(
        "model = \"openai/gpt\"\naliases.listen = \"openai/whisper-1\"\n\n[serve]\n{serve}\n\n\
         [serve.tokens.plain]\nenv = \"PLAIN\"\n\n\
         [serve.tokens.files]\nenv = \"FILES\"\n[serve.tokens.files.endpoints]\n\
         \"/v1/files\" = \"openai\"\n\"/v1/files/*\" = \"openai\"\n\"/v1/messages/batches/*\" = \"claude\"\n\
         \"/v1/completions\" = \"openai\"\n\n\
         [providers.claude]\nbase_url = \"{url}\"\n\n[providers.openai]\nbase_url = \"{url}/v1\"\n"
    );
    let gateway = kept.gateway().configured(config);
    let gateway = gateway.env("PLAIN", PLAIN).env("FILES", FILES);
    let gateway = gateway.env("OPENAI_API_KEY", "sk-of-openai-0123");
    Gateway::listening(
        gateway
            .env("ANTHROPIC_API_KEY", "sk-of-claude-0123")
            .start(),
    )
    .await
}

const PLAIN: &str = "plain-0123456789";
const FILES: &str = "files-0123456789";

async fn ask(gateway: &Gateway, token: &str, method: &str, path: &str, body: &str) -> Answer {
    let asking = gateway.raw(method, path).header("x-api-key", token);
    asking.body(body).answered().await
}

const FORM: &str = "multipart/form-data; boundary=\"-of the client\"";

fn form(model: &str) -> Vec<u8> {
    let head = "---of the client\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n";
    let mut form = head.as_bytes().to_vec();
    // Neither text nor JSON, and more of it than a body of JSON may hold.
    form.extend(std::iter::repeat_n([0xff, b',', b'{', b'\r', b'\n'], 100_000).flatten());
    let field = format!(
        "\r\n---of the client\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n{model}\r\n\
         ---of the client--\r\n"
    );
    form.extend_from_slice(field.as_bytes());
    form
}

#[tokio::test]
async fn a_form_goes_to_the_provider_of_its_model_with_only_the_name_changed() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let path = "/v1/audio/transcriptions";
    let names = ["whisper-1", "openai/whisper-1", "listen"];
    for (nth, name) in names.into_iter().enumerate() {
        let reply = "{\"text\":\"Hello\",\"usage\":{\"type\":\"tokens\",\"input_tokens\":14,\"output_tokens\":2}}";
        server.answer(Response::json(200, reply));
        let asking = gateway.raw("POST", path).header("x-api-key", PLAIN);
        let asking = asking.header("content-type", FORM).body(form(name));
        let answer = asking.answered().await;
        assert_eq!((answer.status, answer.text()), (200, reply));
        let seen = server.request(nth).await;
        assert_eq!(seen.path, path);
        assert_eq!(seen.header("content-type"), Some(FORM));
        assert!(seen.body == form("whisper-1"), "only the name differs");
    }
    // Nobody asks for more after the last of its bytes.
    let log = gateway.running.err.so_far();
    assert!(log.contains("passthrough=true"), "{log}");
    assert!(!log.contains("broken"), "{log}");
    for (kind, body) in [
        (FORM, form("whisper-1")[..300_000].to_vec()),
        ("multipart/form-data", form("whisper-1")),
        ("multipart/mixed; boundary=-of", form("whisper-1")),
        (FORM, b"{\"model\":\"whisper-1\"}".to_vec()),
    ] {
        let asking = gateway.raw("POST", path).header("x-api-key", PLAIN);
        let answer = asking
            .header("content-type", kind)
            .body(body)
            .answered()
            .await;
        let error = answer.is(400);
        assert_eq!(error["error"]["param"], "model", "{error}");
    }
    let asking = gateway.raw("POST", path).header("x-api-key", PLAIN);
    let asking = asking.header("content-type", FORM);
    let answer = asking.body(form("claude/whisper-1")).answered().await;
    assert_eq!(answer.status, 404, "{answer:?}");
    gateway.end().await;
    let ran = kept.run(&["usage", "--by", "model", "--json"]).run().await;
    let usage: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(usage["total"]["input_tokens"], 42, "{usage:#}");
}

#[tokio::test]
async fn data_of_the_account_are_open_only_where_a_token_names_them() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let requests = [
        ("POST", "/v1/files", "no JSON", "openai"),
        ("GET", "/v1/files?purpose=batch", "", "openai"),
        ("GET", "/v1/files/file-1/content", "", "openai"),
        ("DELETE", "/v1/files/file-1", "", "openai"),
        ("GET", "/v1/messages/batches/b-1", "", "claude"),
        ("POST", "/v1/messages/batches/b-1/cancel", "", "claude"),
    ];
    for (nth, (method, path, body, key)) in requests.into_iter().enumerate() {
        let answer = ask(&gateway, PLAIN, method, path, body).await;
        assert_eq!(answer.status, 404, "{path} {answer:?}");
        let answer = ask(&gateway, "wrong-0123456789", method, path, body).await;
        assert_eq!(answer.status, 401, "{path} {answer:?}");
        server.answer(Response::json(200, "{\"model\" : 1}"));
        let answer = ask(&gateway, FILES, method, path, body).await;
        assert_eq!((answer.status, answer.text()), (200, "{\"model\" : 1}"));
        assert_eq!(answer.header("x-jackfield-path"), "passthrough");
        let seen = server.request(nth).await;
        assert_eq!((&*seen.method, &*seen.path), (method, path));
        assert_eq!(seen.text(), body);
        let headers = seen.headers.iter();
        let keys = headers.filter(|(_, value)| value.contains(&format!("sk-of-{key}")));
        assert_eq!(keys.count(), 1, "{path} {:?}", seen.headers);
    }
    // A model is still named as clients name it.
    server.answer(Response::json(200, "{}"));
    let body = "{\"model\":\"openai/gpt\"}";
    ask(&gateway, FILES, "POST", "/v1/completions", body).await;
    assert_eq!(
        server.request(requests.len()).await.text(),
        "{\"model\":\"gpt\"}"
    );
    for path in [
        "/v1/files/",
        "/v1/files/../models",
        "/v1/files/%2e%2e/models",
        "/v1/files//x",
        "/v1/files/a%2fb",
        "/v1/batches",
        "/v1/organization/projects",
        "/v1/",
        "/v1",
    ] {
        let answer = ask(&gateway, FILES, "GET", path, "").await;
        assert_eq!(answer.status, 404, "{path} {answer:?}");
    }
    assert_eq!(server.requests().len(), requests.len() + 1);
    gateway.end().await;
}

#[tokio::test]
async fn endpoints_for_all_are_those_of_the_list() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let serve = "endpoints = [\"/v1/rerank\", \"/v1/images/*\"]";
    let gateway = gateway(&kept, &server, serve).await;
    let body = "{\"model\":\"openai/gpt\"}";
    for path in ["/v1/rerank", "/v1/images/edits"] {
        server.answer(Response::json(200, "{}"));
        let answer = ask(&gateway, PLAIN, "POST", path, body).await;
        assert_eq!(answer.status, 200, "{path} {answer:?}");
        let answer = ask(&gateway, PLAIN, "GET", path, body).await;
        assert_eq!(answer.status, 404, "{path} {answer:?}");
    }
    let answer = ask(&gateway, PLAIN, "POST", "/v1/embeddings", body).await;
    assert_eq!(answer.status, 404, "{answer:?}");
    gateway.end().await;
    // Without pass-through nothing is open.
    let serve = "passthrough = \"never\"";
    let gateway = self::gateway(&kept, &server, serve).await;
    for path in ["/v1/embeddings", "/v1/files"] {
        let answer = ask(&gateway, FILES, "POST", path, body).await;
        assert_eq!(answer.status, 404, "{answer:?}");
    }
    assert_eq!(server.requests().len(), 2);
    gateway.end().await;
}
