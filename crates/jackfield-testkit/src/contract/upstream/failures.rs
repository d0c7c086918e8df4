//! Clauses about requests and bodies that fail.

use bytes::Bytes;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};

use super::UpstreamHarness;
use super::bench::{Bench, KEY, failure};
use crate::server::{Framing, RefusingPort, Response};

pub(super) async fn connect_failure_is_before_send<H: UpstreamHarness>(harness: &H) {
    let port = RefusingPort::reserve();
    let bench = Bench {
        upstream: harness.connect(&port.base_url(), KEY),
        ..Bench::new(harness).await
    };
    let failure = failure(bench.send(bench.request()).await);
    assert_eq!(failure.kind, ModelFailureKind::Transport, "{failure:?}");
    assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
    assert_ne!(failure.advice, RetryAdvice::Never, "{failure:?}");
    assert!(
        failure.message.contains("127.0.0.1"),
        "the message has to name the host: {failure:?}"
    );
}

pub(super) async fn a_connection_that_breaks_before_the_reply_may_have_been_sent<
    H: UpstreamHarness,
>(
    harness: &H,
) {
    for response in [
        Response::raw().cut_off(),
        Response::raw().reset(),
        Response::raw().send("HTTP/1.1 200").cut_off(),
        Response::raw()
            .send("HTTP/1.1 200 OK\r\nx-a: 1\r\n")
            .cut_off(),
        Response::raw().send("SSH-2.0-OpenSSH\r\n\r\n").cut_off(),
    ] {
        let bench = Bench::new(harness).await;
        let failure = failure(bench.call(response).await);
        assert_eq!(failure.kind, ModelFailureKind::Interrupted, "{failure:?}");
        assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
    }
}

pub(super) async fn a_body_that_breaks_off_is_an_error<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    for place in 0..BODY.len() {
        let response = Response::event_stream(BODY).framed(Framing::ContentLength);
        breaks_off(&bench, response.cut_at(place), &BODY[..place], "by length").await;
    }
    let pieces = BODY.as_bytes().chunks(5);
    let chunks = pieces.map(|piece| [b"5\r\n", piece, b"\r\n"].concat());
    let framed = [chunks.collect::<Vec<_>>().concat(), b"0\r\n\r\n".to_vec()].concat();
    for place in 0..framed.len() {
        let response = Response::raw().send(CHUNKED).send(framed[..place].to_vec());
        // Each chunk has ten bytes: its size, five of the body, and a line end.
        let complete = (place / 10 * 5).min(BODY.len());
        let partial = (place % 10).saturating_sub(3).min(5);
        let came = &BODY[..(complete + partial).min(BODY.len())];
        breaks_off(&bench, response.cut_off(), came, "in chunks").await;
    }
}

/// Checks that a body ends in an error, after as much of it as came.
async fn breaks_off<H: UpstreamHarness>(
    bench: &Bench<'_, H>,
    response: Response,
    sent: &str,
    what: &str,
) {
    let length = sent.len();
    let (came, end) = bench.body(response).await;
    let failure = failure(end);
    assert_eq!(
        failure.kind,
        ModelFailureKind::Interrupted,
        "{what}, after {length} bytes: {failure:?}"
    );
    assert_ne!(failure.advice, RetryAdvice::Never, "{failure:?}");
    // Of what came last before the break, an HTTP client may keep something back.
    assert!(
        sent.as_bytes().starts_with(&came),
        "{what}, after {length} bytes: {came:?}"
    );
    let phase = if came.is_empty() {
        Phase::BeforeFirstDelta
    } else {
        Phase::MidReply
    };
    assert_eq!(failure.phase, phase, "{what}, after {length} bytes");
}

pub(super) async fn broken_framing_is_an_error<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    for framed in [
        "zz\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "hello",
        "5\r\nhello\r\nsorry, an error\r\n\r\n",
    ] {
        let response = Response::raw().send(CHUNKED).send(framed);
        let (came, end) = bench.body(response.cut_off()).await;
        let failure = failure(end);
        assert_eq!(failure.kind, ModelFailureKind::Interrupted, "{framed:?}");
        assert!(b"hello".starts_with(&came), "{came:?} came from {framed:?}");
    }
}

pub(super) async fn an_error_of_a_body_is_final<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    for response in [
        Response::json(200, BODY).cut_at(9),
        Response::event_stream(Bytes::new()).send("data: 1").reset(),
        Response::raw()
            .send(CHUNKED)
            .send("5\r\nhelloX\r\n0\r\n\r\n"),
    ] {
        let mut reply = bench.reply(response).await;
        let first = loop {
            match reply.body.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a broken body looks complete"),
                Err(error) => break error.failure,
            }
        };
        for _ in 0..3 {
            let again = failure(reply.body.next().await);
            assert_eq!(again, first, "every later call has the same failure");
        }
    }
}

/// The head of a response in chunks.
const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A stream of events; its length is a multiple of five.
const BODY: &str = "data: {\"delta\":\"one\"}\n\ndata: {\"end\":1}\n\n:..\n\n";
