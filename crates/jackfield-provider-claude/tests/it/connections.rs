//! Connections between calls.

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::reply::FinishReason;
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::ClaudeConfig;
use jackfield_testkit::server::{Gate, Response, TestServer};

use crate::harness::{MODEL, connect};
use crate::requests::{ask, reply};

#[tokio::test]
async fn a_connection_is_used_again_for_the_next_round() {
    let server = TestServer::start().await;
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    assert_eq!(three_calls(&server, &model).await, (3, 1));
}

#[tokio::test]
async fn a_connection_is_kept_whose_reply_ends_later_than_its_last_event() {
    let (server, gate) = (TestServer::start().await, Gate::new());
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    server.answer(Response::event_stream(body()).pause(&gate));
    let opening = async {
        gate.reached().await;
        gate.open();
    };
    let (deltas, ()) = tokio::join!(answered(&model), opening);
    server.answer(Response::event_stream(body()));
    assert_eq!(answered(&model).await, deltas);
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

#[tokio::test]
async fn a_connection_is_given_up_whose_reply_does_not_end() {
    let server = TestServer::start().await;
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    server.answer(Response::event_stream(body()).stall());
    let deltas = answered(&model).await;
    server.answer(Response::event_stream(body()));
    assert_eq!(answered(&model).await, deltas);
    assert_eq!((server.requests().len(), server.connections()), (2, 2));
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_not_used_again() {
    // It promises to keep its connections, and closes each of them after the last chunk.
    let server = TestServer::start_with(|_| Response::raw().send(PROMISE).send(chunked())).await;
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    for calls in 1..=CALLS {
        answered(&model).await;
        let came = (server.requests().len(), server.connections());
        assert_eq!(came, (calls, calls));
    }
}

#[tokio::test]
async fn a_request_that_meets_the_closing_of_its_connection_may_have_been_received() {
    let server = TestServer::start().await;
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    server.answer(Response::event_stream(body()));
    answered(&model).await;
    server.answer(Response::raw().cut_off());
    let failure = ask(&model, MODEL).await.1.unwrap_err().failure;
    assert_eq!(failure.kind, ModelFailureKind::Interrupted);
    assert_eq!(failure.phase, Phase::BeforeFirstDelta);
    assert_eq!(failure.advice, RetryAdvice::AtOnce);
    // The loop asks again, not the adapter: this request may be counted already.
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

/// How many requests and connections come of three calls.
async fn three_calls(server: &TestServer, model: &Claude) -> (usize, usize) {
    for _ in 0..3 {
        server.answer(Response::event_stream(body()));
        answered(model).await;
    }
    (server.requests().len(), server.connections())
}

async fn answered(model: &Claude) -> Vec<Delta> {
    let (deltas, end) = ask(model, MODEL).await;
    assert_eq!(end.unwrap().finish, FinishReason::Stop);
    deltas
}

fn body() -> Vec<u8> {
    reply().pieces.concat()
}

/// The body as one chunk, and the one that ends it.
fn chunked() -> Vec<u8> {
    let body = body();
    let size = format!("{:x}\r\n", body.len());
    [size.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat()
}

const CALLS: usize = 20;
const PROMISE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    keep-alive: timeout=5, max=100\r\ntransfer-encoding: chunked\r\n\r\n";
