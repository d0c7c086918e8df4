//! Bodies that name a further model, from a client whose models or money are bounded.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_domain::quota::Quota;
use jackfield_gateway::{ParsedRequest, Principal, ReceivedRequest};
use serde_json::{Value, json};

use crate::upstream::{PassingWorld, client, request};

static CHAT_LANGUAGE: ChatCompletions = ChatCompletions::new();
const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const GEMINI: &str = "/v1beta/models/b:generateContent";
const IMAGES: &str = "/v1/images/edits";

/// Clients for whom it matters which model answers.
fn bounded() -> [Principal; 2] {
    let narrow = Principal {
        models: Some(vec!["b".into(), "a/b".into()]),
        ..client()
    };
    let quota = Quota {
        tokens_per_day: Some(1_000_000),
        ..Quota::default()
    };
    let poor = Principal {
        quotas: vec![("key:k".into(), quota)],
        ..client()
    };
    [narrow, poor]
}

/// Whether a client may send this request at a path for messages, or at one that is only passed through.
fn is_taken(client: &Principal, request: &ReceivedRequest) -> Result<(), ServeError> {
    let world = PassingWorld::with(|config| {
        config.passthrough.endpoints = vec![IMAGES.into()];
    });
    if request.path == IMAGES {
        return world.gateway.passthrough_only(client, request).map(|_| ());
    }
    let prepared = pin!(world.gateway.passthrough(client, request));
    match prepared.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(prepared) => prepared.map(|_| ()),
        Poll::Pending => panic!("it waits for nothing"),
    }
}

fn with(field: &str, value: &Value) -> String {
    let mut body = json!({ "model": "b", "max_tokens": 9, "messages": [], "input": "hi" });
    body[field] = value.clone();
    body.to_string()
}

#[tokio::test]
async fn a_body_that_names_a_further_model_is_refused_where_the_model_matters() {
    let advisor = json!([{ "type": "advisor_20260301", "name": "advisor", "model": "dear" }]);
    let image = json!([{ "type": "image_generation", "model": "gpt-image-9" }]);
    let drawing =
        json!([{ "type": "openrouter:image_generation", "parameters": { "model": "dear" } }]);
    let batch = json!([{ "custom_id": "1", "params": { "model": "dear" } }]);
    for (path, field, value, place) in [
        (CHAT, "models", json!(["b", "dear"]), "models"),
        (CHAT, "Model", json!("dear"), "Model"),
        (CHAT, "MODEL", json!("dear"), "MODEL"),
        (CHAT, "fallbacks", json!([{ "model": "dear" }]), "fallbacks"),
        (
            CHAT,
            "extra_body",
            json!({ "models": ["dear"] }),
            "extra_body/…/models",
        ),
        (
            CHAT,
            "plugins",
            json!([{ "id": "x", "model": "dear" }]),
            "plugins/…/model",
        ),
        (MESSAGES, "tools", advisor, "tools/…/model"),
        (MESSAGES, "fallback_model", json!("dear"), "fallback_model"),
        (RESPONSES, "tools", image.clone(), "tools/…/model"),
        (CHAT, "tools", drawing.clone(), "tools/…/model"),
        (IMAGES, "requests", batch, "requests/…/model"),
        (
            RESPONSES,
            "input",
            json!([{ "type": "additional_tools", "tools": image }, { "role": "user", "content": "hi" }]),
            "input/…/model",
        ),
        (
            RESPONSES,
            "tools",
            json!([{ "type": "namespace", "name": "n", "tools": image }]),
            "tools/…/model",
        ),
        (CHAT, "Tools", drawing.clone(), "Tools/…/model"),
        (
            CHAT,
            "Extra_Body",
            json!({ "model": "dear" }),
            "Extra_Body/…/model",
        ),
        (
            CHAT,
            "extra_body",
            json!({ "extra_body": { "model": "dear" } }),
            "extra_body/…/model",
        ),
        (
            CHAT,
            "extra_body",
            json!({ "tools": drawing }),
            "extra_body/…/model",
        ),
        (
            CHAT,
            "plugins",
            json!([{ "id": "fusion", "config": { "model": "dear" } }]),
            "plugins/…/model",
        ),
        (
            CHAT,
            "plugins",
            json!({ "x": { "model": "dear" } }),
            "plugins/…/model",
        ),
        (CHAT, "preset", json!("dear"), "preset"),
        (
            CHAT,
            "tool_choice",
            json!({ "model": "dear" }),
            "tool_choice/…/model",
        ),
        (
            MESSAGES,
            "context_management",
            json!({ "edits": [{ "model": "dear" }] }),
            "context_management/…/model",
        ),
        (
            MESSAGES,
            "tools",
            json!([{ "type": "x", "config": { "model": "dear" } }]),
            "tools/…/model",
        ),
        (IMAGES, "models", json!(["dear"]), "models"),
    ] {
        let body = request(path, with(field, &value));
        for client in bounded() {
            let refused = is_taken(&client, &body).expect_err(field);
            assert_eq!(refused.kind, ServeErrorKind::Forbidden, "{refused:?}");
            assert!(
                refused.message.contains(&format!("`{place}`")),
                "{refused:?}"
            );
        }
        assert!(
            is_taken(&client(), &body).is_ok(),
            "{field}: all may be named"
        );
    }
    // Nothing is looked at for ever.
    let deep = 100_000;
    let deep = format!(
        "{{\"model\":\"b\",\"requests\":[{}1{}]}}",
        "{\"params\":".repeat(deep),
        "}".repeat(deep)
    );
    for client in bounded().into_iter().chain([client()]) {
        let _taken = is_taken(&client, &request(IMAGES, deep.clone()));
    }
    let typed =
        r#"[{"type":"function","type":"openrouter:advisor","parameters":{"model":"dear"}}]"#;
    for body in [
        r#"{"model":"b","model":"dear"}"#.to_owned(),
        format!(r#"{{"model":"b","messages":[],"tools":{typed}}}"#),
    ] {
        let twice = request(IMAGES, body);
        for client in bounded() {
            assert!(is_taken(&client, &twice).is_err());
        }
    }
    for (path, field, value) in [
        (GEMINI, "model", json!("models/dear")),
        (
            GEMINI,
            "generationConfig",
            json!({ "routingConfig": { "manualMode": { "modelName": "dear" } } }),
        ),
    ] {
        let mut body = json!({ "contents": [] });
        body[field] = value;
        for client in bounded() {
            let refused = is_taken(&client, &request(path, body.to_string()));
            assert!(refused.is_err(), "{field}");
        }
    }
    for client in bounded() {
        for path in [CHAT, IMAGES] {
            let mut asked = request(path, with("n", &json!(1)));
            asked.query = Some("beta=true&Model=dear".to_owned());
            let refused = is_taken(&client, &asked).expect_err("it names another");
            assert!(refused.message.contains("`?Model`"), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_body_in_which_the_clients_own_data_say_model_is_taken() {
    let schema = json!({ "type": "object", "properties": { "model": {}, "fallback": {} } });
    let function = json!([
        { "type": "function", "function": { "name": "buy", "parameters": schema } },
        { "type": "function", "name": "buy", "parameters": schema },
        { "name": "buy", "input_schema": schema },
    ]);
    let call =
        json!([{ "role": "user", "content": [{ "type": "text", "text": "{\"model\": 1}" }] }]);
    for (field, value) in [
        ("tools", function),
        ("messages", call),
        ("models", Value::Null),
        ("models", json!([])),
        ("metadata", json!({ "model": "T" })),
        (
            "prompt",
            json!({ "id": "p", "variables": { "model": "T" } }),
        ),
        (
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "schema": schema } }),
        ),
        // It is the one that was looked at.
        ("extra_body", json!({ "model": "b" })),
    ] {
        for path in [CHAT, MESSAGES, RESPONSES] {
            for client in bounded() {
                let taken = is_taken(&client, &request(path, with(field, &value)));
                assert!(taken.is_ok(), "{path} {field}: {taken:?}");
            }
        }
    }
    let gemini = json!({
        "model": "models/b",
        "contents": [{ "role": "model", "parts": [{ "functionCall": { "args": { "model": "T" } } }] }],
        "tools": [{ "functionDeclarations": [{ "name": "buy", "parameters": schema }] }],
    });
    for client in bounded() {
        let mut asked = request(GEMINI, gemini.to_string());
        asked.query = Some("key=k&alt=sse".to_owned());
        let taken = is_taken(&client, &asked);
        assert!(taken.is_ok(), "{taken:?}");
    }
}

#[tokio::test]
async fn a_turn_reads_no_further_model_either() {
    let world = PassingWorld::new();
    let body = json!({
        "model": "a/b", "models": ["dear"], "messages": [{ "role": "user", "content": "hi" }],
    });
    let body = body.to_string();
    let parse = |client: &Principal| {
        let none = |_: &str| None;
        ParsedRequest::parse(
            &world.gateway,
            &CHAT_LANGUAGE,
            client,
            &none,
            body.as_bytes(),
        )
    };
    for client in bounded() {
        let refused = parse(&client).map(|_| ()).expect_err("it is refused");
        assert!(refused.message.contains("`models`"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_form_has_one_model_and_no_part_that_is_read_in_two_ways() {
    let part = |head: &str, text: &str| {
        format!("--x\r\nContent-Disposition: form-data; {head}\r\n\r\n{text}\r\n")
    };
    let model = part("name=\"model\"", "b");
    let send = |client: &Principal, more: &str| {
        let mut form = request(IMAGES, format!("{model}{more}--x--\r\n"));
        let kind = HeaderValue::from_static("multipart/form-data; boundary=x");
        form.headers.insert(CONTENT_TYPE, kind);
        is_taken(client, &form)
    };
    for client in bounded() {
        let before = "--x\nContent-Disposition: form-data; name=\"model\"\n\ndear\n";
        let mut form = request(IMAGES, format!("{before}{model}--x--\r\n"));
        let kind = HeaderValue::from_static("multipart/form-data; boundary=x");
        form.headers.insert(CONTENT_TYPE, kind);
        assert!(is_taken(&client, &form).is_err(), "a part before the first");
        for taken in [
            "",
            &part("name=\"image\"; filename=\"model.png\"", "…"),
            &part("name=image; filename*=UTF-8''m%20odel.png", "…"),
            &part("name=\"prompt\"", "a model of a ship, name=model"),
        ] {
            assert!(send(&client, taken).is_ok(), "{taken}");
        }
        for refused in [
            &part("name=\"model\"", "dear"),
            &part("name=\"Model\"", "dear"),
            &part("name=\"model[]\"", "dear"),
            &part("name=\"fallbacks\"", "dear"),
            &part("name=\"model\"; filename=\"m\"", "dear"),
            &part("name=\"prompt\"; name=\"model\"", "dear"),
            &part("name*=UTF-8''model", "dear"),
            &part("name=\"prompt\"; name*=UTF-8''model", "dear"),
            &part("name=\"mo\\del\"", "dear"),
            &part("name=\"prompt\";\r\n name=\"model\"", "dear"),
            &part("name=\"prompt\"name=\"model\"", "dear"),
            "--x\nContent-Disposition: form-data; name=\"model\"\n\ndear\r\n",
            "--x--\r\n--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ndear\r\n",
            &part(
                "name=\"prompt\"\r\nContent-Disposition: form-data; name=\"model\"",
                "dear",
            ),
            "--x\r\nContent-Type: text/plain\r\n\r\ndear\r\n",
            &part(
                "name=\"prompt\"\r\nX: y\nContent-Disposition: form-data; name=\"model\"",
                "dear",
            ),
        ] {
            assert!(send(&client, refused).is_err(), "{refused}");
        }
    }
    for kind in [
        "multipart/form-data; boundary=x; boundary=y",
        "multipart/form-data; boundary=x; Boundary=\"y\"",
        "multipart/form-data; boundary=x; boundary*=utf-8''y",
    ] {
        let second =
            "--y\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ndear\r\n--y--\r\n";
        let mut form = request(IMAGES, format!("{model}--x--\r\n{second}"));
        form.headers
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        for client in bounded() {
            assert!(is_taken(&client, &form).is_err(), "{kind}");
        }
    }
}
