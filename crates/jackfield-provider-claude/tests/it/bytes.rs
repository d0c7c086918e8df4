//! What comes back, byte by byte.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::ChatModel as _;
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::ClaudeConfig;
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, ScriptedBlock, VendorReply};
use jackfield_testkit::server::{Framing, RefusingPort, Response, TestServer};
use serde_json::{Value, json};

use crate::harness::{ClaudeHarness, MODEL, connect, event};
use crate::requests::{ask, events, reply, request};

#[tokio::test]
async fn a_body_that_ends_at_any_byte_before_its_last_is_interrupted() {
    let bench = Bench::new().await;
    let wire = reply();
    let length = wire.pieces.concat().len();
    for place in 0..length {
        let mut response = events(&wire).cut_at(place);
        // In good order, as a proxy does that lost its own server.
        response.steps.pop();
        let (deltas, failure) = bench.failure(response).await;
        assert_eq!(failure.kind, Kind::Interrupted, "at byte {place}");
        assert_eq!(failure.advice, RetryAdvice::Backoff, "at byte {place}");
        let phase = if deltas.is_empty() {
            Phase::BeforeFirstDelta
        } else {
            Phase::MidReply
        };
        assert_eq!(failure.phase, phase, "at byte {place}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_at_any_byte_gives_the_same_reply() {
    let bench = Bench::new().await;
    let call = ScriptedBlock::call("toolu_1", "weather", &["{\"city\":", "\"Tromsø 🌨\"}"]);
    let script = VendorReply::from_blocks(vec![ScriptedBlock::text(&["Ø 🌨 ", "\r\n"]), call]);
    let wire = ClaudeHarness.render(&script).unwrap();
    let body = Bytes::from(wire.pieces.concat());
    let whole = bench.reply(Response::event_stream(body.clone())).await;
    for place in 1..body.len() {
        let response = Response::event_stream(body.slice(..place)).send(body.slice(place..));
        assert_eq!(bench.reply(response).await, whole, "cut at byte {place}");
    }
}

#[tokio::test]
async fn a_connection_that_stays_open_after_the_last_event_keeps_nobody_waiting() {
    let bench = Bench::new().await;
    let (_, end) = bench.reply(events(&reply()).stall()).await;
    assert_eq!(end.finish, FinishReason::Stop);
    bench.server.closed_by_client(0).await;
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_last_event_breaks_nothing() {
    let bench = Bench::new().await;
    let (_, end) = bench.reply(events(&reply()).cut_off()).await;
    assert_eq!(end.finish, FinishReason::Stop);
}

#[tokio::test]
async fn events_without_names_are_read_by_their_types() {
    let bench = Bench::new().await;
    let body = String::from_utf8(reply().pieces.concat()).unwrap();
    let unnamed: Vec<&str> = body
        .lines()
        .filter(|line| !line.starts_with("event:"))
        .collect();
    let named = bench.reply(events(&reply())).await;
    let response = Response::event_stream(unnamed.join("\n") + "\n\n").stall();
    assert_eq!(bench.reply(response).await, named);
}

#[tokio::test]
async fn a_reply_in_one_piece_is_told_like_a_stream() {
    let bench = Bench::new().await;
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{ "type": "text", "text": "Hello there" }],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {
            "input_tokens": 15, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 10,
            "output_tokens": 7,
        },
    });
    let streamed = bench.reply(events(&reply())).await;
    let whole = bench.reply(Response::json(200, message.to_string())).await;
    assert_eq!(whole.1, streamed.1);
    assert_eq!(text(&whole.0), text(&streamed.0));
}

#[tokio::test]
async fn an_error_with_a_status_of_success_is_an_error() {
    let bench = Bench::new().await;
    let body = error("overloaded_error", "Overloaded");
    let (_, failure) = bench.failure(Response::json(200, body.to_string())).await;
    assert_eq!(failure.kind, Kind::Overloaded);
}

#[tokio::test]
async fn what_is_counted_before_the_end_is_told_when_it_comes() {
    let bench = Bench::new().await;
    let wire = reply();
    let begun = Usage {
        cache_read: 10,
        input: 25,
        output: 1,
        ..Usage::default()
    };
    let all = [1, 2, 7].map(|output| Usage { output, ..begun });
    let last = wire.pieces.len() - 1;
    for (pieces, told) in [(1, 1), (5, 1), (last, 3)] {
        let response = Response::event_stream(wire.pieces[..pieces].concat());
        bench.server.answer(response.cut_off());
        let mut counts = Counts::default();
        let request = request(MODEL);
        bench
            .model
            .reply(&request, &CallContext::default(), &mut counts)
            .await
            .unwrap_err();
        assert_eq!(counts.told.first().map(|(before, _)| *before), Some(0));
        let usages: Vec<_> = counts.told.into_iter().map(|(_, usage)| usage).collect();
        assert_eq!(usages, all[..told], "after {pieces} pieces");
    }
}

#[tokio::test]
async fn an_error_inside_of_a_stream_ends_it() {
    let bench = Bench::new().await;
    let wire = reply();
    let begin = wire.pieces[..5].concat();
    let overloaded = event(&error("overloaded_error", "Overloaded"));
    let response = Response::event_stream(begin).send(overloaded).stall();
    let (deltas, failure) = bench.failure(response).await;
    assert_eq!(text(&deltas), "Hello there");
    assert_eq!(failure.kind, Kind::Overloaded);
    assert_eq!(failure.phase, Phase::MidReply);
    assert_eq!(failure.advice, RetryAdvice::Backoff);
    bench.server.closed_by_client(0).await;
}

#[tokio::test]
async fn statuses_and_headers_become_kinds_and_advice() {
    use RetryAdvice::{After, Backoff, Never};
    let seconds = |seconds| After(Duration::from_secs_f64(seconds));
    let cases = [
        (
            400,
            "invalid_request_error",
            None,
            Kind::InvalidRequest,
            Never,
        ),
        (
            401,
            "authentication_error",
            None,
            Kind::Unauthenticated,
            Never,
        ),
        (
            401,
            "authentication_error",
            Some(("x-should-retry", "true")),
            Kind::Unauthenticated,
            Never,
        ),
        (402, "billing_error", None, Kind::Forbidden, Never),
        (403, "permission_error", None, Kind::Forbidden, Never),
        (404, "not_found_error", None, Kind::ModelNotFound, Never),
        (429, "rate_limit_error", None, Kind::RateLimited, Backoff),
        (
            429,
            "rate_limit_error",
            Some(("retry-after", "7")),
            Kind::RateLimited,
            seconds(7.0),
        ),
        (
            429,
            "rate_limit_error",
            Some(("retry-after-ms", "250")),
            Kind::RateLimited,
            seconds(0.25),
        ),
        (
            429,
            "rate_limit_error",
            Some(("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")),
            Kind::RateLimited,
            seconds(0.0),
        ),
        (
            429,
            "rate_limit_error",
            Some(("x-should-retry", "false")),
            Kind::RateLimited,
            Never,
        ),
        (500, "api_error", None, Kind::ServerError, Backoff),
        (504, "timeout_error", None, Kind::Timeout, Backoff),
        (529, "overloaded_error", None, Kind::Overloaded, Backoff),
    ];
    let bench = Bench::new().await;
    for (status, kind, header, expected, advice) in cases {
        let body = error(kind, "it did not work").to_string();
        let mut response = Response::json(status, body).header("request-id", "req_7");
        if let Some((name, value)) = header {
            response = response.header(name, value);
        }
        let (_, failure) = bench.failure(response).await;
        let message = format!("it did not work ({status}, {kind}) [request req_7]");
        assert_eq!(
            failure,
            ModelFailure {
                advice,
                kind: expected,
                message,
                phase: Phase::BeforeFirstDelta,
                request_id: Some("req_7".into()),
            },
            "{header:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_not_the_api_says_what_it_is() {
    let bench = Bench::new().await;
    let url = format!("{}/v1/messages", bench.server.base_url());
    for (response, message) in [
        (
            Response::html(200, "<!doctype html><h1>It works!</h1>"),
            "answered with a web page (200), not with the API: is base_url right?",
        ),
        (
            Response::html(404, "<html><h1>Not Found</h1></html>"),
            "answered with a web page (404), not with the API: is base_url right?",
        ),
        (
            Response::json(404, "{\"detail\":\"Not Found\"}"),
            "is not there (404): is base_url right?",
        ),
        (
            Response::new(308).header("location", "https://elsewhere"),
            "answered with a redirect (308), which is not followed: is base_url right?",
        ),
        (
            Response::text(200, "It works!\n"),
            "answered with text/plain, not with the API: is base_url right?",
        ),
    ] {
        let (_, failure) = bench.failure(response).await;
        assert_eq!(failure.message, format!("{url} {message}"));
        assert_eq!(failure.advice, RetryAdvice::Never);
    }
}

#[tokio::test]
async fn a_message_is_one_line() {
    let bench = Bench::new().await;
    let body = error("invalid_request_error", "first:\n  second\r\n").to_string();
    let (_, failure) = bench.failure(Response::json(400, body)).await;
    assert_eq!(
        failure.message,
        "first: second (400, invalid_request_error)"
    );
}

#[tokio::test]
async fn a_refused_connection_says_who_refused_it() {
    let port = RefusingPort::reserve();
    let model = connect(ClaudeConfig::new(&port.base_url()).unwrap());
    let failure = ask(&model, MODEL).await.1.unwrap_err().failure;
    let host = port.base_url().replace("http://", "");
    assert_eq!(
        failure.message,
        format!("{host} refused the connection: is the server running, and base_url right?")
    );
    assert_eq!(failure.phase, Phase::BeforeSend);
}

#[tokio::test]
async fn a_reset_within_the_stream_is_interrupted() {
    let bench = Bench::new().await;
    for framing in [Framing::Chunked, Framing::CloseDelimited] {
        let response = Response::event_stream(reply().pieces[..5].concat());
        let (_, failure) = bench.failure(response.framed(framing).reset()).await;
        assert_eq!(failure.kind, Kind::Interrupted);
    }
}

/// Keeps what was counted, and in front of how many pieces.
#[derive(Default)]
struct Counts {
    deltas: usize,
    told: Vec<(usize, Usage)>,
}

#[async_trait]
impl DeltaSink for Counts {
    async fn push(&mut self, _: Delta) {
        self.deltas += 1;
    }

    async fn count(&mut self, usage: Usage) {
        self.told.push((self.deltas, usage));
    }
}

struct Bench {
    model: Claude,
    server: TestServer,
}

impl Bench {
    async fn new() -> Self {
        let server = TestServer::start().await;
        Self {
            model: connect(ClaudeConfig::new(&server.base_url()).unwrap()),
            server,
        }
    }

    async fn reply(&self, response: Response) -> (Vec<Delta>, ReplyEnd) {
        self.server.answer(response);
        let (deltas, result) = ask(&self.model, MODEL).await;
        (deltas, result.unwrap())
    }

    async fn failure(&self, response: Response) -> (Vec<Delta>, ModelFailure) {
        self.server.answer(response);
        let (deltas, result) = ask(&self.model, MODEL).await;
        (deltas, result.unwrap_err().failure)
    }
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn text(deltas: &[Delta]) -> String {
    let mut words = String::new();
    for delta in deltas {
        if let Delta::TextAppended { text, .. } = delta {
            words.push_str(text);
        }
    }
    words
}
