//! Replies that are passed through and break off: the client gets all that came before.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_gateway::PassthroughUpstream;
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawBody, RawReply, RawRequest, Upstream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::connections::Server;
use super::harness::{PROVIDER, gateway};

/// A provider whose replies break off right behind these pieces.
#[derive(Debug)]
struct CutUpstream(Vec<Bytes>);

#[async_trait]
impl Upstream for CutUpstream {
    fn endpoints(&self) -> &[Cow<'static, str>] {
        &[]
    }

    fn serves(&self, _path: &str) -> bool {
        true
    }

    async fn send(&self, _request: RawRequest) -> Result<RawReply, ModelError> {
        let content_type = HeaderValue::from_static("text/event-stream");
        Ok(RawReply {
            body: Box::new(CutBody(self.0.clone().into_iter())),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, content_type)]),
            status: StatusCode::OK,
        })
    }
}

struct CutBody(std::vec::IntoIter<Bytes>);

#[async_trait]
impl RawBody for CutBody {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let cut = || ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, "cut");
        self.0.next().map(Some).ok_or_else(|| cut().into())
    }
}

/// All that a client gets of a reply with these pieces, which breaks off right behind them.
async fn received(path: &str, body: &str, pieces: &[&str]) -> String {
    let pieces = pieces.iter().map(|piece| Bytes::from((*piece).to_owned()));
    let upstream = CutUpstream(pieces.collect());
    let server = Server::of(gateway([], |config| {
        config.passthrough.is_enabled = true;
        let passed = PassthroughUpstream {
            is_enabled: true,
            upstream: Arc::new(upstream),
        };
        config.passthrough.upstreams.insert(PROVIDER.into(), passed);
    }))
    .await;
    let mut stream = server.connect().await;
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    // The end of the connection is that of the reply.
    let ended = tokio::time::timeout(TIME_LIMIT, stream.read_to_end(&mut read));
    let _cut = ended.await.expect("the connection ends in time");
    server.end().await;
    String::from_utf8(read).unwrap()
}

#[tokio::test]
async fn a_client_gets_what_arrived_together_with_the_cut() {
    let body = r#"{"model":"model","stream":true,"stream_options":{"include_usage":true}}"#;
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        let told = received(path, body, &["data: {}\n\n", "data: last\n\n"]).await;
        assert!(told.starts_with("HTTP/1.1 200"), "{path}: {told}");
        assert!(told.contains("data: {}\n\n"), "{path}: {told}");
        assert!(told.contains("data: last\n\n"), "{path}: {told}");
        // The reply must not look whole.
        assert!(!told.ends_with("\r\n0\r\n\r\n"), "{path}: {told}");
    }
}

#[tokio::test]
async fn a_client_gets_more_than_its_connection_holds_before_a_cut() {
    let body = r#"{"model":"model","stream":true,"stream_options":{"include_usage":true}}"#;
    let long = format!("data: {}\n\n", "x".repeat(4 << 20));
    let told = received("/v1/chat/completions", body, &[&long, "data: last\n\n"]).await;
    assert!(told.len() > long.len(), "{}", told.len());
    assert!(told.contains("data: last\n\n"), "{}", told.len());
}

#[tokio::test]
async fn a_client_gets_the_half_of_an_event_before_the_cut() {
    // Each event is read for its usage and its model before it goes on.
    let body = r#"{"model":"claude/model","stream":true}"#;
    let told = received("/v1/chat/completions", body, &["data: {}\n\n", "data: ha"]).await;
    assert!(told.contains("data: {}\n\n"), "{told}");
    assert!(told.contains("data: ha"), "{told}");
    assert!(!told.ends_with("\r\n0\r\n\r\n"), "{told}");
}

/// Stands for ever.
const TIME_LIMIT: Duration = Duration::from_secs(60);
