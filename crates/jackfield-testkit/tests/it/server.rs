//! The scripted server, seen by a client that reads raw bytes.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

use std::time::Duration;

use jackfield_testkit::server::{Framing, Gate, RefusingPort, Response, TestServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_response_is_the_bytes_that_were_scripted() {
    check(
        Response::json(200, "{}"),
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    )
    .await;
}

#[tokio::test]
async fn every_piece_is_a_chunk_of_its_own() {
    check(
        Response::new(200)
            .framed(Framing::Chunked)
            .send("abcde")
            .split_sends(2),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
         2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn a_body_is_cut_off_inside_a_chunked_stream() {
    check(
        Response::new(200)
            .framed(Framing::Chunked)
            .send("abc")
            .send("def")
            .cut_at(4),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n",
    )
    .await;
}

#[tokio::test]
async fn a_cut_body_still_promises_its_whole_length() {
    check(
        Response::new(200).send("abcdef").cut_at(4),
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcd",
    )
    .await;
}

#[tokio::test]
async fn a_raw_response_has_no_head() {
    check(Response::raw().send("nonsense"), "nonsense").await;
}

#[tokio::test]
async fn a_body_ends_with_the_connection() {
    check(
        Response::new(200)
            .framed(Framing::CloseDelimited)
            .send("abc"),
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc",
    )
    .await;
}

#[tokio::test]
async fn nothing_passes_a_closed_gate() {
    let server = TestServer::start().await;
    let gate = Gate::new();
    server.answer(Response::raw().send("one").pause(&gate).send("two"));
    let mut client = ask(&server, GET).await;
    let mut first = [0; 3];
    client.read_exact(&mut first).await.unwrap();
    gate.reached().await;
    assert_eq!(&first, b"one");
    gate.open();
    assert_eq!(rest(&mut client).await, "two");
}

#[tokio::test]
async fn a_request_is_recorded_with_head_and_body() {
    let server = TestServer::start().await;
    server.answer(Response::new(204));
    let request =
        "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Key:  k \r\nContent-Length: 4\r\n\r\nbody";
    let _client = ask(&server, request).await;
    let seen = server.request(0).await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/x?y=1")
    );
    assert_eq!(seen.header("x-KEY"), Some("k"));
    assert_eq!(seen.text(), "body");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_chunked_request_body_is_put_together() {
    let server = TestServer::start().await;
    let request =
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n";
    let _client = ask(&server, request).await;
    assert_eq!(server.request(0).await.text(), "body");
}

#[tokio::test]
async fn one_connection_takes_several_requests() {
    let server = TestServer::start().await;
    server.answer(Response::new(204));
    let _client = ask(&server, &GET.repeat(2)).await;
    assert_eq!(server.request(1).await.connection, 0);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_unscripted_request_is_answered_with_an_error() {
    let server = TestServer::start().await;
    let mut client = ask(&server, GET).await;
    let mut begin = [0; 13];
    client.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 500 ");
}

#[tokio::test]
async fn a_handler_answers_where_nothing_is_queued() {
    let server =
        TestServer::start_with(|request| Response::raw().send(format!("{} it is", request.path)))
            .await;
    let mut client = ask(&server, GET).await;
    assert_eq!(rest(&mut client).await, "/ it is");
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let server = TestServer::start().await;
    server.answer(Response::event_stream("data: 1\n\n").stall());
    let client = ask(&server, GET).await;
    server.request(0).await;
    drop(client);
    server.closed_by_client(0).await;
}

#[tokio::test]
async fn a_reset_breaks_the_connection() {
    let server = TestServer::start().await;
    server.answer(Response::raw().reset());
    let mut client = ask(&server, GET).await;
    let error = client.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_refusing_port_refuses() {
    let port = RefusingPort::reserve();
    let address = port.base_url().replace("http://", "");
    let error = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn dropping_the_server_closes_its_connections() {
    let server = TestServer::start().await;
    server.answer(Response::raw().send("x").stall());
    let mut client = ask(&server, GET).await;
    server.request(0).await;
    drop(server);
    // Closed or reset, but not held open.
    let mut bytes = Vec::new();
    let read = client.read_to_end(&mut bytes);
    let _end = tokio::time::timeout(Duration::from_secs(60), read)
        .await
        .expect("the connection ends");
}

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// Checks that a response goes over the wire as these bytes.
async fn check(response: Response, bytes: &str) {
    let server = TestServer::start().await;
    server.answer(response);
    let mut client = ask(&server, GET).await;
    let mut begin = vec![0; bytes.len()];
    let read = client.read_exact(&mut begin);
    tokio::time::timeout(Duration::from_secs(60), read)
        .await
        .expect("the response comes")
        .unwrap();
    assert_eq!(String::from_utf8(begin).unwrap(), bytes);
    // The server ends a connection that could take another request only when the client does.
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await, "");
}

async fn ask(server: &TestServer, request: &str) -> TcpStream {
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    client
}

async fn rest(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = client.read_to_end(&mut bytes);
    tokio::time::timeout(Duration::from_secs(60), read)
        .await
        .expect("the response ends")
        .unwrap();
    String::from_utf8(bytes).unwrap()
}
