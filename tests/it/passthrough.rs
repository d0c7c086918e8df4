//! Requests in the language of their provider, which go there byte for byte, and replies that come back so.

use std::path::Path;

use jackfield_testkit::server::{Framing, Gate, Response, ResponseStep, TestServer};
use serde_json::{Value, json};

use crate::harness::{Answer, Asking, Gateway, Kept};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

/// A gateway in front of this server, which is OpenAI and Anthropic, without server tools.
async fn gateway(kept: &Kept, server: &TestServer, serve: &str) -> Gateway {
    let url = server.base_url();
    let config = format!(
        "model = \"openai/gpt\"\n\n[serve]\n{serve}\n\n\
         [providers.claude]\nbase_url = \"{url}\"\n\n[providers.openai]\nbase_url = \"{url}/v1\"\n\n\
         [providers.likely]\nkind = \"openai-compatible\"\nbase_url = \"{url}/v1\"\napi_key_env = \"\"\n"
    );
    let gateway = kept.gateway().configured(config);
    Gateway::listening(gateway.env("OPENAI_API_KEY", "sk-of-openai-0123").start()).await
}

/// The request as a client sends it, with what only its vendor understands.
fn request(gateway: &Gateway, path: &str, body: &str) -> Asking {
    gateway
        .raw("POST", path)
        .header("authorization", "Bearer of-the-client")
        .header("x-api-key", "of-the-client")
        .header("cookie", "a=b")
        .header("x-jackfield-tools", "none")
        .header("anthropic-beta", "a-beta-of-tomorrow")
        .header("x-unknown", "kept")
        .body(body)
}

/// What the vendors' own replies look like, with fields of tomorrow: JSON and a stream.
fn replies(path: &str) -> [Response; 2] {
    let (document, events) = match path {
        CHAT => (
            "{ \"id\":\"c\", \"model\":\"gpt\",\"new\":1.50,\"choices\":[{\"index\":0,\"message\":{\"content\":\"h\\u0069\"}}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n",
            ": comment\n\ndata: {\"model\":\"gpt\", \"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\ndata: {\"model\":\"gpt\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n",
        ),
        MESSAGES => (
            "{\"type\":\"message\",\"model\":\"opus\",\"content\":[{\"type\":\"of_tomorrow\"}],\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}",
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"opus\",\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\nevent: of_tomorrow\ndata: {\"type\":\"of_tomorrow\"}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":3}}\n\n",
        ),
        _ => (
            "{\"object\":\"response\",\"model\":\"gpt\",\"output\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"gpt\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}}\n\n",
        ),
    };
    let document = Response::json(200, document)
        .header("request-id", "of-the-provider")
        .header("x-ratelimit-remaining-requests", "41")
        .header("set-cookie", "shared=1");
    [document, Response::event_stream(events)]
}

fn body_of(response: &Response) -> String {
    let steps = response.steps.iter();
    let bytes = steps.filter_map(|step| {
        if let ResponseStep::Send(bytes) = step {
            Some(bytes.to_vec())
        } else {
            None
        }
    });
    String::from_utf8(bytes.collect::<Vec<_>>().concat()).expect("text")
}

#[tokio::test]
async fn a_vendors_own_request_and_reply_are_the_same_on_both_sides() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "responses = \"upstream\"").await;
    let mut nth = 0;
    for (path, name, own) in [
        (CHAT, "openai/gpt", "gpt"),
        (MESSAGES, "claude/opus", "opus"),
        (RESPONSES, "openai/gpt", "gpt"),
    ] {
        for (response, stream) in replies(path).into_iter().zip([false, true]) {
            let options = if stream && path == CHAT {
                ",\"stream_options\":{\"include_usage\":true}"
            } else {
                ""
            };
            let body = |model: &str| {
                format!(
                    "{{ \"of_tomorrow\" : [1.50, {{}}],\"model\": \"{model}\" ,\"stream\":{stream}{options},\
                     \"tools\":[{{\"type\":\"web_search_20990101\"}}],\"messages\":[{{\"role\":\"user\",\"content\":\"h\\u0069\"}}]}}"
                )
            };
            let reply = body_of(&response);
            server.answer(response);
            let answer = request(&gateway, path, &body(name)).answered().await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.header("x-jackfield-path"), "passthrough");
            let renamed = reply.replace(&format!("\"{own}\""), &format!("\"{name}\""));
            assert_eq!(answer.text(), renamed);
            let seen = server.request(nth).await;
            assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", path));
            assert_eq!(seen.text(), body(own), "only the model's name differs");
            assert_eq!(seen.header("x-unknown"), Some("kept"));
            assert_eq!(seen.header("anthropic-beta"), Some("a-beta-of-tomorrow"));
            assert_eq!(seen.header("accept-encoding"), Some("identity"));
            for own in ["x-jackfield-tools", "cookie"] {
                assert_eq!(seen.header(own), None, "{own}");
            }
            let keys = seen.headers.iter().map(|(_, value)| value.as_str());
            assert!(!keys.clone().any(|value| value.contains("of-the-client")));
            if !stream {
                assert_eq!(answer.header("request-id"), "of-the-provider");
                assert_eq!(answer.header("x-ratelimit-remaining-requests"), "41");
                assert!(!answer.headers.contains_key("set-cookie"));
            }
            nth += 1;
        }
    }
    gateway.end().await;
    // What they used is counted, and no session was kept.
    let usage = usage(&kept).await;
    assert_eq!(usage["total"]["replies"], 6, "{usage:#}");
    assert_eq!(usage["total"]["input_tokens"], 42, "{usage:#}");
    assert_eq!(usage["total"]["output_tokens"], 18, "{usage:#}");
    assert_eq!(usage["total"]["turns"], 0, "{usage:#}");
}

async fn usage(kept: &Kept) -> Value {
    let ran = kept.run(&["usage", "--by", "model", "--json"]).run().await;
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

#[tokio::test]
async fn usage_of_a_chat_stream_is_asked_for_and_taken_out_again() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let [_, events] = replies(CHAT);
    let reply = body_of(&events);
    server.answer(events);
    let body = "{\"model\":\"gpt\",\"stream\":true,\"messages\":[]}";
    let answer = request(&gateway, CHAT, body).answered().await;
    let (before, rest) = reply
        .split_once("data: {\"model\":\"gpt\",\"choices\":[]")
        .expect("usage");
    let (_, after) = rest.split_once("\n\n").expect("an event");
    assert_eq!(answer.text(), format!("{before}{after}"));
    let seen = server.request(0).await;
    assert_eq!(
        seen.text(),
        "{\"model\":\"gpt\",\"stream_options\":{\"include_usage\":true},\"stream\":true,\"messages\":[]}"
    );
    gateway.end().await;
    assert_eq!(usage(&kept).await["total"]["output_tokens"], 3);
}

/// A compatible server whose requests are passed through, and which refuses this field.
async fn strict_server(field: &'static str) -> TestServer {
    TestServer::start_with(move |request| {
        if request.json().get(field).is_none() {
            let [_, events] = replies(CHAT);
            return events;
        }
        let body = json!({ "detail": [{ "type": "extra_forbidden", "loc": ["body", field],
            "msg": "Extra inputs are not permitted", "input": {} }] });
        Response::json(422, body.to_string())
    })
    .await
}

#[tokio::test]
async fn a_strict_server_gets_no_field_of_ours_that_it_refuses() {
    for (field, profile, statuses, asked) in [
        ("stream_options", "compatible", [200, 200], [2, 3]),
        ("stream_options", "mistral", [200, 200], [1, 2]),
        ("seed", "compatible", [422, 422], [1, 2]),
    ] {
        let (kept, server) = (Kept::new(), strict_server(field).await);
        let config = format!(
            "model = \"strict/gpt\"\n\n[providers.strict]\nkind = \"openai-compatible\"\n\
             base_url = \"{}/v1\"\napi_key_env = \"\"\nprofile = \"{profile}\"\npassthrough = \"always\"\n",
            server.base_url()
        );
        let gateway = Gateway::listening(kept.gateway().configured(config).start()).await;
        let body = "{\"model\":\"gpt\",\"stream\":true,\"seed\":1,\"messages\":[]}";
        for (status, count) in statuses.into_iter().zip(asked) {
            let answer = request(&gateway, CHAT, body).answered().await;
            assert_eq!(answer.status, status, "{answer:?}");
            assert_eq!(answer.header("x-jackfield-path"), "passthrough");
            assert_eq!(server.requests().len(), count, "{field} {profile}");
        }
        gateway.end().await;
    }
}

#[tokio::test]
async fn an_error_of_the_provider_comes_back_as_it_is_but_for_the_gateways_own_key() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let ask = || {
        request(
            &gateway,
            MESSAGES,
            "{\"model\":\"claude/opus\",\"messages\":[]}",
        )
    };
    for status in [302, 400, 404, 413, 429, 500, 529] {
        let body = format!("{{\"type\":\"error\", \"status\":{status}}}");
        server.answer(Response::json(status, body.clone()).header("retry-after", "7"));
        let answer = ask().answered().await;
        assert_eq!((answer.status, answer.text()), (status, &*body));
        assert_eq!(answer.header("retry-after"), "7");
    }
    server.answer(Response::html(503, "<html>busy</html>"));
    let answer = ask().answered().await;
    assert_eq!((answer.status, answer.text()), (503, "<html>busy</html>"));
    for status in [401, 403] {
        server.answer(Response::json(status, "{\"error\":\"sk-of-openai\"}"));
        let answer = ask().answered().await;
        let body = answer.is(502);
        assert_eq!(body["type"], "error", "{body}");
        assert!(!answer.text().contains("sk-of-openai"));
    }
    gateway.end().await;
    assert_eq!(
        usage(&kept).await["total"]["replies"],
        0,
        "an error costs nothing"
    );
}

#[tokio::test]
async fn half_a_reply_does_not_look_whole() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let [document, events] = replies(CHAT);
    for (response, stream) in [
        (document.clone().framed(Framing::Chunked).cut_at(30), false),
        (document.cut_at(30), false),
        (events.cut_at(40), true),
    ] {
        server.answer(response);
        let body = format!("{{\"model\":\"gpt\",\"stream\":{stream},\"messages\":[]}}");
        let bytes = raw(gateway.address(), CHAT, &body).await;
        let text = String::from_utf8(bytes).expect("text");
        assert!(!text.ends_with("0\r\n\r\n"), "{text}");
        if let Some((head, rest)) = text.split_once("\r\n\r\n")
            && let Some((_, length)) = head.split_once("content-length: ")
        {
            let length = length.lines().next().expect("a length");
            let length: usize = length.parse().expect("a number");
            assert!(rest.len() < length, "{text}");
        }
    }
    gateway.end().await;
}

/// The bytes of an answer until the connection closes.
async fn raw(address: &str, path: &str, body: &str) -> Vec<u8> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("it listens");
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-jackfield-tools: none\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes).await;
    bytes
}

#[tokio::test]
async fn a_provider_that_falls_silent_is_left() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let more = "passthrough = \"auto\"\n[limits]\nmodel_idle = \"200ms\"\n[serve.limits]\nwhole_reply = \"200ms\"";
    let gateway = gateway(&kept, &server, more).await;
    for stream in [false, true] {
        server.answer(Response::raw().stall());
        let body = format!("{{\"model\":\"gpt\",\"stream\":{stream},\"messages\":[]}}");
        let answer = request(&gateway, CHAT, &body).answered().await;
        assert_eq!(answer.status, 504, "{answer:?}");
    }
    server.answer(Response::event_stream("data: {\"x\":1}\n\n").stall());
    let body = "{\"model\":\"gpt\",\"stream\":true,\"messages\":[]}";
    let bytes = raw(gateway.address(), CHAT, body).await;
    let text = String::from_utf8(bytes).expect("text");
    assert!(
        text.contains("data: {\"x\":1}") && !text.ends_with("0\r\n\r\n"),
        "{text}"
    );
    gateway.end().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_request_of_the_provider() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let gate = Gate::new();
    server.answer(Response::event_stream("data: {\"x\":1}\n\n").pause(&gate));
    let body = "{\"model\":\"gpt\",\"stream\":true,\"messages\":[]}";
    let mut sent = request(&gateway, CHAT, body).sent().await;
    sent.until("data: {\"x\":1}").await;
    gate.reached().await;
    drop(sent);
    server.closed_by_client(0).await;
    gateway.end().await;
}

#[tokio::test]
async fn other_endpoints_of_the_vendor_are_passed_through_alone() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let count = "/v1/messages/count_tokens";
    for (path, body, reply) in [
        (
            count,
            "{\"model\":\"claude/opus\"}",
            "{\"input_tokens\":2095}",
        ),
        (
            "/v1/embeddings",
            "{\"model\":\"gpt\",\"input\":\"x\"}",
            "{\"data\":[],\"usage\":{\"prompt_tokens\":5,\"total_tokens\":5}}",
        ),
        ("/v1/moderations", "{\"model\":\"gpt\"}", "{\"results\":[]}"),
        (
            "/v1/images/generations",
            "{\"model\":\"gpt\"}",
            "{\"data\":[]}",
        ),
    ] {
        server.answer(Response::json(200, reply));
        let answer = request(&gateway, path, body).answered().await;
        assert_eq!((answer.status, answer.text()), (200, reply), "{path}");
    }
    for (body, status) in [
        ("{\"model\":\"claude/opus\"}", 404),
        ("{\"model\":\"likely/x\"}", 404),
        ("{\"input\":1}", 400),
        ("[]", 400),
    ] {
        let answer = request(&gateway, "/v1/embeddings", body).answered().await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
    gateway.end().await;
    let usage = usage(&kept).await;
    // Two replies say nothing of their usage: the input is estimated.
    let total = &usage["total"];
    assert_eq!(
        [&total["input_tokens"], &total["estimated_input_tokens"]],
        [13, 8],
        "{usage:#}"
    );
}

#[tokio::test]
async fn what_needs_the_gateway_becomes_a_turn() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "").await;
    let reply = || {
        Response::json(
            200,
            "{\"id\":\"c\",\"object\":\"chat.completion\",\"model\":\"gpt\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"hi\"}}]}",
        )
    };
    let body = |model: &str| {
        json!({ "model": model, "messages": [{ "role": "user", "content": "Hello" }] }).to_string()
    };
    let path = |answer: &Answer| answer.header("x-jackfield-path").to_owned();
    for (header, value) in [("idempotency-key", "k"), ("x-jackfield-strict", "meaning")] {
        server.answer(reply());
        let asking = request(&gateway, CHAT, &body("likely/gpt")).header(header, value);
        let answer = asking.answered().await;
        assert_eq!(
            (answer.status, path(&answer)),
            (200, "turn".to_owned()),
            "{answer:?}"
        );
    }
    // A compatible server needs changes.
    server.answer(reply());
    let answer = request(&gateway, CHAT, &body("likely/gpt"))
        .answered()
        .await;
    assert_eq!(path(&answer), "turn");
    server.answer(reply());
    let answer = request(&gateway, CHAT, &body("gpt")).answered().await;
    assert_eq!(path(&answer), "passthrough");
    gateway.end().await;
}

#[tokio::test]
async fn pass_through_can_be_disabled() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server, "passthrough = \"never\"").await;
    let body = "{\"model\":\"likely/gpt\",\"input\":\"x\"}";
    let answer = request(&gateway, "/v1/embeddings", body).answered().await;
    assert_eq!(answer.status, 404, "{answer:?}");
    gateway.end().await;
    assert!(Path::new(&kept.file()).exists());
}
