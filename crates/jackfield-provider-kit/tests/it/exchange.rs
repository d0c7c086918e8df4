//! A whole exchange, where the provider streams a document a line.

use http::HeaderMap;
use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_ports::chat_model::ModelError;
use jackfield_provider_kit::exchange::{Adapter, Answer, Asked, reply};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::arb;
use jackfield_testkit::server::{Framing, Response, Server};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tracing::Span;

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

/// The events of an answer of this type, and how it ended.
async fn asked(media_type: &str, body: &str) -> (Vec<String>, Result<ReplyEnd, ModelError>) {
    let server = Server::start().await;
    let mut response = Response::new(200);
    if !media_type.is_empty() {
        response = response.header("content-type", media_type);
    }
    server.answer(response.framed(Framing::Chunked).send(body.to_owned()));
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let mut request = arb::model_request()
        .new_tree(&mut TestRunner::deterministic())
        .unwrap()
        .current();
    request.strict = None;
    let mut told: Vec<Delta> = Vec::new();
    let adapter = Lined(format!("{}/talk", server.base_url()));
    let end = reply(&adapter, &transport, &request, &mut told).await;
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

    fn ask(&self, _: &ModelRequest) -> Result<Asked<Told>, ModelFailure> {
        Asked::post(&self.0, HeaderMap::new(), ("{}", Vec::new()), Told(false))
    }

    fn classify(&self, _: &Answer<'_>) -> Option<ModelFailure> {
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

struct Told(bool);

impl DecodeReply for Told {
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        assert_eq!(name, None);
        self.0 |= data.contains("end");
        let text = data.into();
        Ok(vec![Delta::TextAppended { index: 0, text }])
    }

    fn is_complete(&self) -> bool {
        self.0
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let phase = Phase::MidReply;
        let whole = self.0.then(|| ReplyEnd::new(FinishReason::Stop));
        whole.ok_or(DecodeError::Truncated { phase })
    }

    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        assert_eq!(body.trim_ascii(), b"{\"end\":true}");
        let text = "whole".into();
        let told = vec![Delta::TextAppended { index: 0, text }];
        Ok((told, ReplyEnd::new(FinishReason::Stop)))
    }
}
