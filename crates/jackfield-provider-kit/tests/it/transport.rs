//! The guarded client, against a server that does as it is told.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use jackfield_domain::failure::{ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_ports::chat_model::ModelError;
use jackfield_provider_kit::transport::{Incoming, Transport, TransportError, TransportSettings};
use jackfield_testkit::server::{Framing, Gate, RefusingPort, Response, TestServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

#[tokio::test]
async fn a_request_arrives_as_it_was_made() {
    let server = TestServer::start().await;
    server.answer(Response::json(200, "{}"));
    let request = Request::post(format!("{}/v1/x", server.base_url()))
        .header("x-key", "k")
        .body(Bytes::from_static(b"{\"a\":1}"))
        .unwrap();
    let incoming = transport().send(request).await.unwrap();
    assert_eq!(incoming.status(), StatusCode::OK);
    assert_eq!(incoming.media_type().as_deref(), Some("application/json"));
    assert_eq!(incoming.into_body().await.unwrap(), "{}");
    let seen = server.request(0).await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/x")
    );
    assert_eq!(seen.header("x-key"), Some("k"));
    assert_eq!(seen.text(), "{\"a\":1}");
    let agent = seen.header("user-agent").unwrap();
    assert!(agent.starts_with("jackfield/"), "{agent}");
}

#[tokio::test]
async fn a_refused_connection_is_before_send() {
    let port = RefusingPort::reserve();
    let error = failure(&port.base_url()).await;
    let host = port.base_url().replace("http://", "");
    assert_eq!(error.failure.phase, Phase::BeforeSend);
    assert_eq!(error.failure.kind, Kind::Transport);
    assert_eq!(error.failure.advice, RetryAdvice::Backoff);
    assert_eq!(
        error.to_string(),
        format!("{host} refused the connection: is the server running, and base_url right?")
    );
}

#[tokio::test]
async fn a_host_that_nobody_knows_is_before_send() {
    // A label of more than 63 letters is refused without asking anybody (RFC 1035).
    let host = "a".repeat(64);
    let error = failure(&format!("http://{host}")).await;
    assert_eq!(error.failure.phase, Phase::BeforeSend);
    assert_eq!(error.failure.kind, Kind::Transport);
    assert_eq!(
        error.to_string(),
        format!("cannot find {host}: is base_url spelled right, and the network up?")
    );
}

#[tokio::test]
async fn tls_towards_a_plain_server_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        stream.read_to_end(&mut Vec::new()).await
    });
    let error = failure(&url).await;
    let _closed = server.await.unwrap();
    assert!(
        error
            .to_string()
            .starts_with("cannot speak TLS with 127.0.0.1:"),
        "{error}"
    );
    assert_eq!(error.failure.phase, Phase::BeforeSend);
    assert_eq!(error.failure.kind, Kind::Transport);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_may_have_been_sent() {
    for response in [
        Response::raw().cut_off(),
        Response::raw().reset(),
        Response::raw().send("HTTP/1.1 200").cut_off(),
    ] {
        let server = TestServer::start().await;
        server.answer(response);
        let error = failure(&server.base_url()).await;
        assert_eq!(error.failure.phase, Phase::BeforeFirstDelta);
        assert_eq!(error.failure.kind, Kind::Interrupted);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_interrupted() {
    for response in [
        Response::json(200, "{\"a\":1}").cut_at(3),
        Response::json(200, "{\"a\":1}")
            .framed(Framing::Chunked)
            .cut_at(3),
        Response::json(200, "{\"a\":1}")
            .framed(Framing::Chunked)
            .cut_at(7),
    ] {
        let server = TestServer::start().await;
        server.answer(response);
        let incoming = ask(&transport(), &server.base_url()).await.unwrap();
        let error = incoming.into_body().await.unwrap_err();
        assert_eq!(error.failure.kind, Kind::Interrupted);
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left() {
    let mut settings = TransportSettings::default();
    settings.read_idle = Duration::from_millis(400);
    let transport = Transport::new(settings).unwrap();
    for begin in ["", "HTTP/1.1 200 OK\r\n"] {
        let server = TestServer::start().await;
        server.answer(Response::raw().send(begin).stall());
        let error = ask(&transport, &server.base_url()).await.unwrap_err();
        assert_eq!(error.failure.kind, Kind::Timeout);
        assert!(
            error.to_string().ends_with(" said nothing for 0.4 s"),
            "{error}"
        );
        server.closed_by_client(0).await;
    }
    let server = TestServer::start().await;
    server.answer(Response::event_stream("data: 1\n\n").stall());
    let incoming = ask(&transport, &server.base_url()).await.unwrap();
    let mut events = incoming.into_events();
    assert!(events.next().await.unwrap().is_some());
    assert_eq!(events.next().await.unwrap_err().failure.kind, Kind::Timeout);
    let server = TestServer::start().await;
    server.answer(Response::event_stream("data: 1\n\n").stall());
    let incoming = ask(&transport, &server.base_url()).await.unwrap();
    let error = incoming.into_body().await.unwrap_err();
    assert_eq!(error.failure.kind, Kind::Timeout);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = TestServer::start().await;
    server.answer(Response::new(307).header("location", "/elsewhere"));
    let incoming = ask(&transport(), &server.base_url()).await.unwrap();
    assert_eq!(incoming.status(), StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn events_are_told_while_the_stream_is_open() {
    let server = TestServer::start().await;
    let gate = Gate::new();
    server.answer(
        Response::event_stream("data: 1\n\n")
            .pause(&gate)
            .send("data: 2\n\n"),
    );
    let incoming = ask(&transport(), &server.base_url()).await.unwrap();
    let mut events = incoming.into_events();
    assert_eq!(events.next().await.unwrap().unwrap().data, "1");
    gate.open();
    assert_eq!(events.next().await.unwrap().unwrap().data, "2");
    assert_eq!(events.next().await.unwrap(), None);
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let server = TestServer::start().await;
    let gate = Gate::new();
    server.answer(Response::raw().pause(&gate));
    let transport = transport();
    let url = server.base_url();
    tokio::select! {
        answered = ask(&transport, &url) => panic!("nothing was sent, but {answered:?}"),
        () = gate.reached() => {}
    }
    server.closed_by_client(0).await;
}

#[tokio::test]
async fn dropping_the_response_closes_the_connection() {
    let server = TestServer::start().await;
    server.answer(Response::event_stream("data: 1\n\n").stall());
    let incoming = ask(&transport(), &server.base_url()).await.unwrap();
    drop(incoming);
    server.closed_by_client(0).await;
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    assert_eq!(requests_and_connections(&transport()).await, (2, 1));
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closes_is_replaced_at_once() {
    let server = TestServer::start().await;
    server.answer(Response::json(200, "{}"));
    server.answer(Response::raw().cut_off());
    let transport = transport();
    let incoming = ask(&transport, &server.base_url()).await.unwrap();
    incoming.into_body().await.unwrap();
    // The server closes the connection when the second request is on its way.
    let error = ask(&transport, &server.base_url()).await.unwrap_err();
    assert_eq!(error.failure.kind, Kind::Interrupted);
    assert_eq!(error.failure.phase, Phase::BeforeFirstDelta);
    assert_eq!(error.failure.advice, RetryAdvice::AtOnce);
    assert_eq!(server.connections(), 1);
    // For a while, each request gets a connection of its own, and that is closed after its reply.
    for nth in 1..3 {
        server.answer(Response::json(200, "{}"));
        let incoming = ask(&transport, &server.base_url()).await.unwrap();
        incoming.into_body().await.unwrap();
        assert_eq!(server.connections(), nth + 1);
    }
    // A fresh connection that is closed is an error of the server.
    server.answer(Response::raw().cut_off());
    let error = ask(&transport, &server.base_url()).await.unwrap_err();
    assert_eq!(error.failure.advice, RetryAdvice::Backoff);
}

#[tokio::test]
async fn an_error_body_is_bounded_in_length() {
    let server = TestServer::start().await;
    server.answer(Response::text(500, vec![b'x'; 1 << 20]));
    let incoming = ask(&transport(), &server.base_url()).await.unwrap();
    assert_eq!(incoming.into_error_body().await.len(), 64 << 10);
}

#[tokio::test]
async fn an_error_body_that_breaks_off_is_told_as_far_as_it_came() {
    let server = TestServer::start().await;
    server.answer(Response::text(500, "too much to do").cut_at(8));
    let incoming = ask(&transport(), &server.base_url()).await.unwrap();
    assert_eq!(incoming.into_error_body().await, "too much");
}

#[tokio::test]
async fn a_proxy_is_used_only_where_it_was_asked_for_and_never_for_this_machine() {
    let proxy = TestServer::start().await;
    proxy.answer(Response::json(200, "{}"));
    let mut settings = TransportSettings::default();
    settings.proxy = Some(proxy.base_url());
    let transport = Transport::new(settings).unwrap();
    ask(&transport, "http://nowhere.invalid/x").await.unwrap();
    assert_eq!(proxy.request(0).await.path, "http://nowhere.invalid/x");
    let server = TestServer::start().await;
    server.answer(Response::json(200, "{}"));
    ask(&transport, &server.base_url()).await.unwrap();
    assert_eq!(server.requests().len(), 1);
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn a_proxy_that_is_none_is_refused_without_repeating_it() {
    let mut settings = TransportSettings::default();
    settings.proxy = Some("http://me:s3cret@".to_owned());
    let error = Transport::new(settings).unwrap_err();
    assert!(matches!(error, TransportError::Proxy));
    assert!(!format!("{error} {error:?}").contains("s3cret"));
}

#[tokio::test]
async fn an_error_tells_host_and_cause_but_no_query() {
    let port = RefusingPort::reserve();
    let url = format!("{}/v1/x?key=s3cret", port.base_url());
    let error = failure(&url).await;
    let mut told = format!("{error} {error:?}");
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        told.push_str(&format!(" {error} {error:?}"));
        cause = error.source();
    }
    assert!(!told.contains("s3cret"), "{told}");
    assert!(told.contains("127.0.0.1"), "{told}");
}

fn transport() -> Transport {
    Transport::new(TransportSettings::default()).unwrap()
}

async fn failure(url: &str) -> ModelError {
    ask(&transport(), url).await.unwrap_err()
}

/// Asks, and fails the test if nothing comes of it.
async fn ask(transport: &Transport, url: &str) -> Result<Incoming, ModelError> {
    let request = Request::post(url).body(Bytes::new()).unwrap();
    tokio::time::timeout(Duration::from_secs(60), transport.send(request))
        .await
        .expect("an answer or a failure")
}

/// How many came of two requests, one after the other.
async fn requests_and_connections(transport: &Transport) -> (usize, usize) {
    let server = TestServer::start().await;
    for _ in 0..2 {
        server.answer(Response::json(200, "{}"));
        let incoming = ask(transport, &server.base_url()).await.unwrap();
        incoming.into_body().await.unwrap();
    }
    (server.requests().len(), server.connections())
}
