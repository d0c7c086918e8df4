//! What comes back, byte by byte.

use std::time::Duration;

use bytes::Bytes;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::reply::ReplyEnd;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::Api;
use jackfield_testkit::contract::chat_model::{
    ChatModelHarness as _, Manner, ScriptedBlock, VendorReply, WireReply,
};
use jackfield_testkit::server::{Framing, RefusingPort, Response, TestServer};

use crate::chat::ChatHarness;
use crate::harness::{MODEL, config, connect, error};
use crate::requests::{BOTH, ask, events, reply};
use crate::responses::ResponsesHarness;

#[tokio::test]
async fn a_body_that_ends_at_any_byte_before_its_ending_is_interrupted() {
    for api in BOTH {
        let bench = Bench::new(api).await;
        let wire = reply(api);
        let length = wire.pieces[..wire.ending].concat().len();
        for place in 0..length {
            let mut response = events(api).cut_at(place);
            // In good order, as a proxy does that lost its own server.
            response.steps.pop();
            let (deltas, failure) = bench.failure(response).await;
            assert_eq!(failure.kind, Kind::Interrupted, "{api:?} at byte {place}");
            assert_eq!(failure.advice, RetryAdvice::Backoff, "{api:?} at {place}");
            let phase = if deltas.is_empty() {
                Phase::BeforeFirstDelta
            } else {
                Phase::MidReply
            };
            assert_eq!(failure.phase, phase, "{api:?} at byte {place}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_cut_at_any_byte_gives_the_same_reply() {
    for api in BOTH {
        let bench = Bench::new(api).await;
        let call = ScriptedBlock::call("call_1", "weather", &["{\"city\":", "\"Tromsø 🌨\"}"]);
        let script = VendorReply::from_blocks(vec![ScriptedBlock::text(&["Ø 🌨 ", "\r\n"]), call]);
        let body = Bytes::from(render(api, &script).pieces.concat());
        let whole = bench.reply(Response::event_stream(body.clone())).await;
        for place in 1..body.len() {
            let response = Response::event_stream(body.slice(..place)).send(body.slice(place..));
            assert_eq!(
                bench.reply(response).await,
                whole,
                "{api:?} cut at byte {place}"
            );
        }
    }
}

#[tokio::test]
async fn a_reply_in_one_piece_is_told_like_a_stream() {
    for api in BOTH {
        let bench = Bench::new(api).await;
        let script = VendorReply::text(&["Hello ", "there"]);
        let streamed = bench.reply(events(api)).await;
        let body = render(api, &script.with_manner(Manner::NotStreamed))
            .pieces
            .concat();
        let whole = bench.reply(Response::json(200, body)).await;
        assert_eq!(whole.1, streamed.1);
        assert_eq!(text(&whole.0), text(&streamed.0));
    }
}

#[tokio::test]
async fn an_error_with_a_status_of_success_is_an_error() {
    for api in BOTH {
        let bench = Bench::new(api).await;
        let body = error("server_error", None, "It broke").to_string();
        let (_, failure) = bench.failure(Response::json(200, body)).await;
        assert_eq!(failure.kind, Kind::ServerError);
        assert_eq!(failure.phase, Phase::BeforeFirstDelta);
    }
}

#[tokio::test]
async fn statuses_and_headers_become_kinds_and_advice() {
    use RetryAdvice::{After, Backoff, Never};
    let rate = ("requests", Some("rate_limit_exceeded"));
    let cases = [
        (
            400,
            ("invalid_request_error", None),
            None,
            Kind::InvalidRequest,
            Never,
        ),
        (
            401,
            ("invalid_request_error", Some("invalid_api_key")),
            Some(("x-should-retry", "true")),
            Kind::Unauthenticated,
            Never,
        ),
        (429, rate, None, Kind::RateLimited, Backoff),
        (
            429,
            rate,
            Some(("retry-after", "7")),
            Kind::RateLimited,
            After(Duration::from_secs(7)),
        ),
        (
            429,
            rate,
            Some(("retry-after-ms", "250")),
            Kind::RateLimited,
            After(Duration::from_millis(250)),
        ),
        (
            429,
            rate,
            Some(("x-should-retry", "false")),
            Kind::RateLimited,
            Never,
        ),
        (
            429,
            ("insufficient_quota", Some("insufficient_quota")),
            Some(("retry-after", "7")),
            Kind::Forbidden,
            Never,
        ),
        (
            503,
            ("server_error", None),
            None,
            Kind::ServerError,
            Backoff,
        ),
    ];
    let bench = Bench::new(Api::Responses).await;
    for (status, (kind, code), header, expected, advice) in cases {
        let body = error(kind, code, "it did not work").to_string();
        let mut response = Response::json(status, body).header("x-request-id", "req_7");
        if let Some((name, value)) = header {
            response = response.header(name, value);
        }
        let (_, failure) = bench.failure(response).await;
        assert_eq!(failure.kind, expected, "{status} {kind} {header:?}");
        assert_eq!(failure.advice, advice, "{status} {kind} {header:?}");
        assert_eq!(failure.phase, Phase::BeforeFirstDelta);
        let message = &failure.message;
        assert!(message.starts_with("it did not work ("), "{message}");
        assert!(message.ends_with(" [request req_7]"), "{message}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_the_api_says_what_it_is() {
    let bench = Bench::new(Api::ChatCompletions).await;
    let url = format!("{}/v1/chat/completions", bench.server.base_url());
    let llama =
        "{\"error\":{\"code\":404,\"message\":\"File Not Found\",\"type\":\"not_found_error\"}}";
    for (response, message) in [
        (
            Response::html(200, "<!doctype html><h1>It works!</h1>"),
            "answered with a web page (200), not with the API: is base_url right?",
        ),
        (
            Response::json(404, "{\"detail\":\"Not Found\"}"),
            "is not there (404): is base_url right?",
        ),
        (
            Response::json(404, llama),
            "is not there (404): is base_url right?",
        ),
        (
            Response::text(404, "404 page not found"),
            "is not there (404): is base_url right?",
        ),
        (
            Response::new(308).header("location", "https://elsewhere"),
            "answered with a redirect (308), which is not followed: is base_url right?",
        ),
    ] {
        let (_, failure) = bench.failure(response).await;
        assert_eq!(failure.message, format!("{url} {message}"));
        assert_eq!(failure.advice, RetryAdvice::Never);
    }
    let vllm = "{\"object\":\"error\",\"message\":\"The model `x` does not exist.\",\
        \"type\":\"NotFoundError\",\"param\":null,\"code\":404}";
    let (_, failure) = bench.failure(Response::json(404, vllm)).await;
    assert_eq!(failure.kind, Kind::ModelNotFound, "{failure:?}");
}

#[tokio::test]
async fn a_refused_connection_says_who_refused_it() {
    let port = RefusingPort::reserve();
    let model = connect(config(&port.base_url(), Api::Responses));
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
    for api in BOTH {
        let bench = Bench::new(api).await;
        for framing in [Framing::Chunked, Framing::CloseDelimited] {
            let response = Response::event_stream(reply(api).pieces[..2].concat());
            let (_, failure) = bench.failure(response.framed(framing).reset()).await;
            assert_eq!(failure.kind, Kind::Interrupted);
        }
    }
}

struct Bench {
    model: OpenAi,
    server: TestServer,
}

impl Bench {
    async fn new(api: Api) -> Self {
        let server = TestServer::start().await;
        Self {
            model: connect(config(&server.base_url(), api)),
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

fn render(api: Api, script: &VendorReply) -> WireReply {
    let wire = match api {
        Api::ChatCompletions => ChatHarness::OpenAi.render(script),
        Api::Responses => ResponsesHarness.render(script),
    };
    wire.unwrap()
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
