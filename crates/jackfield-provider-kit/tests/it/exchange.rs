//! A whole exchange, where the provider streams a document a line.

use std::io::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::trace::TraceContext;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::base_url::BaseUrl;
use jackfield_provider_kit::chat_span;
use jackfield_provider_kit::exchange::{Adapter, ErrorAnswer, PreparedRequest, reply};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::arb;
use jackfield_testkit::server::{Framing, Gate, Response, TestServer};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::Span;

#[test]
fn a_span_is_made_in_any_crate() {
    let base_url = BaseUrl::parse("https://models.example.com").expect("a URL");
    let span = chat_span!("acme", "acme.request_id", "acme-1", base_url);
    // Nothing records it here.
    assert!(span.is_disabled());
}

#[tokio::test]
async fn lines_come_one_by_one_where_the_adapter_says_so() {
    let body = "{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n{\"end\":true}\n";
    let (told, end) = asked("application/x-ndjson; charset=utf-8", body).await;
    assert!(end.is_ok(), "{end:?}");
    assert_eq!(
        told,
        ["{\"text\":\"a\"}", "{\"text\":\"b\"}", "{\"end\":true}"]
    );
}

#[tokio::test]
async fn lines_that_end_too_soon_are_no_reply() {
    let (told, end) = asked("application/x-ndjson", "{\"text\":\"a\"}\n{\"end\":tr").await;
    assert_eq!(end.unwrap_err().failure.kind, ModelFailureKind::Interrupted);
    assert_eq!(told, ["{\"text\":\"a\"}"]);
}

#[tokio::test]
async fn what_the_adapter_does_not_name_is_no_stream() {
    let (told, end) = asked("application/jsonl", "{\"end\":true}\n").await;
    assert_eq!(
        end.unwrap_err().failure.kind,
        ModelFailureKind::ProtocolViolation
    );
    assert_eq!(told.len(), 0);
}

#[tokio::test]
async fn what_an_answer_is_its_first_bytes_say() {
    let events = ": waiting\n\ndata: {\"text\":\"a\"}\n\ndata: {\"end\":true}\n\n";
    for media_type in ["text/event-stream", "application/json", "text/plain", ""] {
        let (told, end) = asked(media_type, events).await;
        assert!(end.is_ok(), "{media_type}: {end:?}");
        assert_eq!(told, ["{\"text\":\"a\"}", "{\"end\":true}"], "{media_type}");
    }
    for media_type in ["text/event-stream", "application/json", "text/plain", ""] {
        let (told, end) = asked(media_type, "\n {\"end\":true}").await;
        assert!(end.is_ok(), "{media_type}: {end:?}");
        assert_eq!(told, ["whole"], "{media_type}");
    }
    for media_type in ["text/html", "text/plain", ""] {
        let (_, end) = asked(media_type, "denied").await;
        assert!(end.is_err(), "{media_type}");
    }
}

#[tokio::test]
async fn a_compressed_answer_is_read_or_names_its_encoding() {
    let events = "data: {\"text\":\"a\"}\n\ndata: {\"end\":true}\n\n";
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(events.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let answer = |status: u16, encoding: &str, body: &[u8]| {
        Response::new(status)
            .header("content-type", "text/event-stream")
            .header("content-encoding", encoding)
            .framed(Framing::Chunked)
            .send(body.to_vec())
    };
    for encoding in ["gzip", "GZIP", "x-gzip"] {
        let (told, end) = answered(answer(200, encoding, &gzip)).await;
        assert!(end.is_ok(), "{encoding}: {end:?}");
        assert_eq!(told, ["{\"text\":\"a\"}", "{\"end\":true}"], "{encoding}");
    }
    let (told, end) = answered(answer(200, "identity", events.as_bytes())).await;
    assert!(end.is_ok() && told.len() == 2, "{end:?}");
    for (encoding, body) in [
        ("br", &b"\x0b\x02\x80"[..]),
        ("gzip", b"not it"),
        ("zstd", b""),
    ] {
        let failure = answered(answer(200, encoding, body))
            .await
            .1
            .unwrap_err()
            .failure;
        assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
        let named = format!("`{encoding}`");
        assert!(failure.message.contains(&named), "{}", failure.message);
    }
    // The status is the failure, whatever the body is.
    for (encoding, body, says) in [
        ("gzip", &gzip[..], "answered 503: data:"),
        ("br", b"\x0b\x02\x80", "content encoding `br`"),
    ] {
        let failure = answered(answer(503, encoding, body))
            .await
            .1
            .unwrap_err()
            .failure;
        assert_eq!(failure.kind, ModelFailureKind::ServerError);
        assert!(failure.message.contains(says), "{}", failure.message);
    }
}

/// Servers that escape each token by itself part a pair (`"\ud83d"`, then `"\ude00"`).
#[tokio::test]
async fn a_pair_that_is_parted_over_two_events_is_joined() {
    let body = |events: &[&str]| {
        let events = events.iter().map(|data| format!("data: {data}\n\n"));
        events
            .chain(["data: {\"end\":true}\n\n".to_owned()])
            .collect::<String>()
    };
    for (events, expected) in [
        (
            &[r#"{"text":"a \ud83d"}"#, r#"{"text":"\ude00 b"}"#][..],
            &[r#"{"text":"a \ud83d\ude00"}"#, r#"{"text":" b"}"#][..],
        ),
        // Each under its own key.
        (
            &[
                r#"{"text":"\uD83D","more": "\ud83c"}"#,
                r#"{"more":"\udf0d","text":"\uDE00!"}"#,
            ],
            &[
                r#"{"text":"\uD83D\uDE00","more": "\ud83c\udf0d"}"#,
                r#"{"more":"","text":"!"}"#,
            ],
        ),
        // Pairs that are whole, and what only looks like a half.
        (
            &[
                r#"{"text":"\ud83d\ude00 \\ud83d"}"#,
                r#"{"text":"\\ude00"}"#,
            ],
            &[
                r#"{"text":"\ud83d\ude00 \\ud83d"}"#,
                r#"{"text":"\\ude00"}"#,
            ],
        ),
        // Halves that stay alone: within a text, under another key, at the end.
        (
            &[r#"{"text":"\ud83d a \ude00"}"#],
            &[r#"{"text":"\ufffd a \ufffd"}"#],
        ),
        (
            &[
                r#"{"text":"\ud83d"}"#,
                r#"{"more":"\ude00"}"#,
                r#"{"text":"b"}"#,
            ],
            &[
                r#"{"text":"\ufffd"}"#,
                r#"{"more":"\ufffd"}"#,
                r#"{"text":"b"}"#,
            ],
        ),
        (&[r#"{"text":"\ud83d"}"#], &[r#"{"text":"\ufffd"}"#]),
        // One pair over the next, as one event each.
        (
            &[
                r#"{"text":"\ud83d"}"#,
                r#"{"text":"\ude00\ud83d"}"#,
                r#"{"text":"\ude01"}"#,
            ],
            &[
                r#"{"text":"\ud83d\ude00"}"#,
                r#"{"text":"\ud83d\ude01"}"#,
                r#"{"text":""}"#,
            ],
        ),
    ] {
        let (told, end) = asked("text/event-stream", &body(events)).await;
        assert!(end.is_ok(), "{end:?}");
        assert_eq!(told[..told.len() - 1], *expected);
    }
    // What is held goes out when the body breaks off.
    let (told, end) = asked("text/event-stream", "data: {\"text\":\"\\ud83d\"}\n\n").await;
    assert_eq!(told, [r#"{"text":"\ufffd"}"#]);
    assert_eq!(end.unwrap_err().failure.kind, ModelFailureKind::Interrupted);
}

#[tokio::test]
async fn a_decoder_tells_what_it_holds_at_the_end_and_before_a_cut() {
    let (first, held) = ("data: {\"text\":\"a\"}\n\n", "data: {\"held\":\"b\"}\n\n");
    let all = ["{\"text\":\"a\"}", "{\"held\":\"b\"}"];
    let whole = format!("{held}{first}data: {{\"end\":true}}\n\n");
    let (told, end) = asked("text/event-stream", &whole).await;
    assert!(end.is_ok(), "{end:?}");
    assert_eq!(told, [all[0], "{\"end\":true}", all[1]]);
    for (body, expected) in [
        (format!("{first}{held}"), &all[..]),
        // Nothing was shown, so that the reply can be asked for again.
        (held.to_owned(), &all[..0]),
    ] {
        let response = Response::new(200)
            .header("content-type", "text/event-stream")
            .framed(Framing::Chunked)
            .send(body)
            .cut_off();
        let (told, end) = answered(response).await;
        assert_eq!(told, expected);
        assert_eq!(end.unwrap_err().failure.kind, ModelFailureKind::Interrupted);
    }
}

#[tokio::test]
async fn a_request_passes_its_trace_on() {
    let server = TestServer::start().await;
    let answer = "data: {\"text\":\"a\"}\n\ndata: {\"end\":true}\n\n";
    server.answer(Response::event_stream(answer));
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut sink = Traced(TraceContext::parse(parent, Some("a=b")).unwrap());
    let adapter = Lined(format!("{}/talk", server.base_url()));
    let end = reply(
        &adapter,
        &transport,
        &request(),
        &CallContext::default(),
        &mut sink,
    )
    .await;
    assert!(end.is_ok(), "{end:?}");
    let request = server.request(0).await;
    assert_eq!(request.header("traceparent"), Some(parent));
    assert_eq!(request.header("tracestate"), Some("a=b"));
}

#[tokio::test]
async fn bytes_that_say_nothing_yet_are_signs_of_life() {
    let server = TestServer::start().await;
    let gates = [Gate::new(), Gate::new(), Gate::new(), Gate::new()];
    let mut response = Response::new(200)
        .header("content-type", "text/event-stream")
        .framed(Framing::Chunked);
    let parts = [
        "data: {\"text\":\"a\"}\n\n",
        ": a comment\n\n",
        "data: {\"text\":",
        "\"b\"}\n\ndata: ping\n\n",
    ];
    for (part, gate) in parts.into_iter().zip(&gates) {
        response = response.send(part).pause(gate);
    }
    server.answer(response.send("data: {\"end\":true}\n\n"));
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let adapter = Lined(format!("{}/talk", server.base_url()));
    let mut sink = Living(watch::Sender::new(0));
    let mut lives = sink.0.subscribe();
    let (request, call) = (request(), CallContext::default());
    let reading = reply(&adapter, &transport, &request, &call, &mut sink);
    // The head, the comment, the half of an event, and the event without a delta.
    let living = async {
        for (gate, least) in gates.iter().zip(1..) {
            gate.reached().await;
            let lived = timeout(LIMIT, lives.wait_for(|lives| *lives >= least)).await;
            assert!(
                lived.is_ok_and(|lived| lived.is_ok()),
                "only {least} before"
            );
            gate.open();
        }
    };
    let (end, ()) = tokio::join!(reading, living);
    assert!(end.is_ok(), "{end:?}");
}

/// Counts signs of life.
struct Living(watch::Sender<usize>);

#[async_trait]
impl DeltaSink for Living {
    async fn push(&mut self, _: Delta) {}

    async fn alive(&mut self) {
        self.0.send_modify(|lives| *lives += 1);
    }
}

const LIMIT: Duration = Duration::from_secs(60);

/// Takes the reply of a call within a trace.
struct Traced(TraceContext);

#[async_trait]
impl DeltaSink for Traced {
    async fn push(&mut self, _: Delta) {}

    fn trace(&self) -> Option<&TraceContext> {
        Some(&self.0)
    }
}

/// A request that is not strict.
fn request() -> ModelRequest {
    let mut request = arb::model_request()
        .new_tree(&mut TestRunner::deterministic())
        .unwrap()
        .current();
    request.strict = None;
    request
}

/// The events of an answer of this type, and how it ended.
async fn asked(media_type: &str, body: &str) -> (Vec<String>, Result<ReplyEnd, ModelError>) {
    let mut response = Response::new(200);
    if !media_type.is_empty() {
        response = response.header("content-type", media_type);
    }
    answered(response.framed(Framing::Chunked).send(body.to_owned())).await
}

/// The events of an answer, and how it ended.
async fn answered(response: Response) -> (Vec<String>, Result<ReplyEnd, ModelError>) {
    let server = TestServer::start().await;
    server.answer(response);
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let mut told: Vec<Delta> = Vec::new();
    let adapter = Lined(format!("{}/talk", server.base_url()));
    let end = reply(
        &adapter,
        &transport,
        &request(),
        &CallContext::default(),
        &mut told,
    )
    .await;
    let words = told.into_iter().map(|delta| {
        let Delta::TextAppended { text, .. } = delta else {
            panic!("{delta:?}");
        };
        text.to_string()
    });
    (words.collect(), end)
}

/// An adapter that tells each event as a text.
struct Lined(String);

impl Adapter for Lined {
    type Decoder = Told;

    const LINES: &'static [&'static str] = &["application/x-ndjson"];

    const REQUEST_ID: (&'static str, &'static str) = ("x-request", "request");

    fn prepare(&self, _: &ModelRequest) -> Result<PreparedRequest<Told>, ModelFailure> {
        PreparedRequest::post(
            &self.0,
            HeaderMap::new(),
            ("{}", Vec::new()),
            Told::default(),
        )
    }

    fn classify(&self, _: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        None
    }

    fn key(&self) -> Option<&Secret> {
        None
    }

    fn missing_key(&self) -> Option<&str> {
        None
    }

    fn span(&self, _: &str) -> Span {
        Span::none()
    }
}

/// Holds an event with `held` until none follows.
#[derive(Default)]
struct Told {
    held: Vec<Delta>,
    is_done: bool,
}

impl DecodeReply for Told {
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        assert_eq!(name, None);
        self.is_done |= data.contains("end");
        let text = data.into();
        let told = Delta::TextAppended { index: 0, text };
        if data.contains("held") {
            self.held.push(told);
            return Ok(Vec::new());
        }
        Ok(Some(told).filter(|_| data != "ping").into_iter().collect())
    }

    fn rest(&mut self) -> Result<Vec<Delta>, DecodeError> {
        Ok(std::mem::take(&mut self.held))
    }

    fn is_complete(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let phase = Phase::MidReply;
        let whole = self.is_done.then(|| ReplyEnd::new(FinishReason::Stop));
        whole.ok_or(DecodeError::Truncated { phase })
    }

    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        assert_eq!(body.trim_ascii(), b"{\"end\":true}");
        let text = "whole".into();
        let told = vec![Delta::TextAppended { index: 0, text }];
        Ok((told, ReplyEnd::new(FinishReason::Stop)))
    }
}
