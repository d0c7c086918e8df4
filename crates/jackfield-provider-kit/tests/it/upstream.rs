//! The upstream over HTTP: its bounds; the rest is in its contract, which the providers run.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use jackfield_domain::failure::{ModelFailureKind as Kind, Phase};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawReply, RawRequest, Upstream as _};
use jackfield_provider_kit::base_url::BaseUrl;
use jackfield_provider_kit::transport::{MAX_REPLY, Transport, TransportSettings};
use jackfield_provider_kit::upstream::{Endpoint, HttpUpstream, UpstreamSettings};
use jackfield_testkit::server::{Framing, Response, TestServer};

#[tokio::test]
async fn a_server_that_says_nothing_is_left() {
    let server = TestServer::start().await;
    server.answer(Response::raw().stall());
    let error = send(&server).await.unwrap_err();
    assert_eq!(error.failure.kind, Kind::Timeout);
    assert_eq!(error.failure.phase, Phase::BeforeFirstDelta);
    server.closed_by_client(0).await;
    server.answer(Response::event_stream("data: 1\n\n").stall());
    let mut reply = send(&server).await.unwrap();
    assert_eq!(reply.body.next().await.unwrap().unwrap(), "data: 1\n\n");
    let error = reply.body.next().await.unwrap_err();
    assert_eq!(error.failure.kind, Kind::Timeout);
    assert_eq!(error.failure.phase, Phase::MidReply);
    server.closed_by_client(1).await;
}

#[tokio::test]
async fn a_document_is_bounded_in_length() {
    let server = TestServer::start().await;
    let long = vec![b'x'; MAX_REPLY + 1];
    server.answer(Response::json(200, long.clone()));
    let error = send(&server).await.unwrap_err();
    assert_eq!(error.failure.kind, Kind::ProtocolViolation);
    assert!(error.to_string().ends_with(" is longer than 64 MiB"));
    server.answer(Response::json(200, long.clone()).framed(Framing::CloseDelimited));
    let (length, kind) = read(send(&server).await.unwrap()).await;
    assert!(length <= MAX_REPLY);
    assert_eq!(kind, Some(Kind::ProtocolViolation));
    server.answer(Response::json(200, long[1..].to_vec()));
    let (length, kind) = read(send(&server).await.unwrap()).await;
    assert_eq!((length, kind), (MAX_REPLY, None));
}

#[tokio::test]
async fn a_stream_of_events_may_be_longer() {
    let server = TestServer::start().await;
    server.answer(Response::event_stream(vec![b'x'; MAX_REPLY + 1]));
    let (length, kind) = read(send(&server).await.unwrap()).await;
    assert_eq!((length, kind), (MAX_REPLY + 1, None));
}

/// The length of a body, as far as it comes, and why it ended before its end.
async fn read(mut reply: RawReply) -> (usize, Option<Kind>) {
    let mut length = 0;
    loop {
        match reply.body.next().await {
            Ok(Some(piece)) => length += piece.len(),
            Ok(None) => return (length, None),
            Err(error) => return (length, Some(error.failure.kind)),
        }
    }
}

async fn send(server: &TestServer) -> Result<RawReply, ModelError> {
    let base_url = BaseUrl::parse(&server.base_url()).unwrap();
    let endpoints = vec![Endpoint::new("/v1/talk", "/v1/talk")];
    let mut settings = TransportSettings::default();
    settings.read_idle = Duration::from_millis(400);
    let transport = Transport::new(settings).unwrap();
    let upstream = HttpUpstream::new(UpstreamSettings::new(base_url, endpoints), transport);
    let request = RawRequest {
        credential: None,
        body: Bytes::from_static(b"{}"),
        headers: HeaderMap::new(),
        method: Method::POST,
        path: "/v1/talk".to_owned(),
        query: None,
    };
    upstream.send(request).await
}
