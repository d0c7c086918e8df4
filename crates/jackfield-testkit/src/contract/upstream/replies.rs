//! Clauses about responses whose body comes whole.

use jackfield_ports::upstream::Upstream as _;

use super::UpstreamHarness;
use super::bench::{Bench, read, reply};
use crate::server::{Framing, Gate, Response, TIME_LIMIT, TestServer};

pub(super) async fn any_status_is_a_reply<H: UpstreamHarness>(harness: &H) {
    for status in [
        200, 201, 202, 299, 300, 400, 401, 403, 404, 405, 413, 429, 500, 502, 503, 529, 599,
    ] {
        let bench = Bench::new(harness).await;
        let body = format!("{{\"error\": {status}}}");
        let mut reply = bench.reply(Response::json(status, body.clone())).await;
        assert_eq!(reply.status.as_u16(), status);
        let (came, end) = read(&mut *reply.body).await;
        assert!(end.is_ok(), "{end:?}");
        assert_eq!(came, body);
    }
    let elsewhere = TestServer::start().await;
    for status in [301, 302, 303, 307, 308] {
        for location in ["/v2".to_owned(), elsewhere.base_url()] {
            let bench = Bench::new(harness).await;
            let redirect = Response::new(status).header("location", location);
            let reply = bench.reply(redirect).await;
            assert_eq!(reply.status.as_u16(), status);
            assert_eq!(bench.server.requests().len(), 1, "{status} was followed");
        }
    }
    assert_eq!(elsewhere.connections(), 0, "a redirect was followed");
    let bench = Bench::new(harness).await;
    bench.server.answer(Response::new(204));
    let mut empty = reply(bench.upstream.send(bench.request()).await);
    let (came, end) = read(&mut *empty.body).await;
    assert!(came.is_empty() && end.is_ok());
}

pub(super) async fn a_body_is_the_same_bytes_however_it_is_cut<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    for framing in [
        Framing::Chunked,
        Framing::CloseDelimited,
        Framing::ContentLength,
    ] {
        for place in 0..=STREAM.len() {
            let (one, other) = STREAM.as_bytes().split_at(place);
            let response = Response::event_stream(one).send(other).framed(framing);
            let (came, end) = bench.body(response).await;
            assert!(end.is_ok(), "cut at byte {place}, {framing:?}: {end:?}");
            assert_eq!(came, STREAM, "cut at byte {place}, {framing:?}");
        }
        for size in [1, 2, 3, 7, usize::MAX] {
            let response = Response::event_stream(STREAM).framed(framing);
            let (came, end) = bench.body(response.split_sends(size)).await;
            assert!(end.is_ok(), "in pieces of {size}, {framing:?}: {end:?}");
            assert_eq!(came, STREAM, "in pieces of {size}, {framing:?}");
        }
    }
    let long = vec![b'x'; 3 << 20];
    let (came, end) = bench.body(Response::json(200, long.clone())).await;
    assert!(end.is_ok() && came == long, "a long body");
}

pub(super) async fn pieces_come_as_they_arrive<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    for response in [
        Response::event_stream("data: 1\n\n"),
        Response::json(200, "data: 1\n\n"),
        Response::html(500, "data: 1\n\n").framed(Framing::CloseDelimited),
    ] {
        let gates = [Gate::new(), Gate::new()];
        let response = gates.iter().fold(response, |response, gate| {
            response.pause(gate).send("data: 2")
        });
        let mut reply = bench.reply(response).await;
        let mut came = Vec::new();
        for (gate, length) in gates.iter().zip([9, 16]) {
            // Nothing else comes before the gate opens.
            while came.len() < length {
                let next = tokio::time::timeout(TIME_LIMIT, reply.body.next());
                match next.await {
                    Ok(Ok(Some(piece))) => came.extend_from_slice(&piece),
                    other => panic!("{other:?} after {} bytes", came.len()),
                }
            }
            gate.open();
        }
        let (rest, end) = read(&mut *reply.body).await;
        assert!(end.is_ok(), "{end:?}");
        assert_eq!(rest, "data: 2");
    }
}

pub(super) async fn compressed_and_foreign_bodies_stay_as_they_are<H: UpstreamHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let page = "<!DOCTYPE html>\r\n<html><title>Welcome</title></html>";
    let all: Vec<u8> = (0..=255).collect();
    for (response, body) in [
        (Response::html(200, page), page.as_bytes()),
        (Response::html(502, page), page.as_bytes()),
        (
            Response::json(200, GZIP).header("content-encoding", "gzip"),
            GZIP,
        ),
        (
            Response::event_stream(GZIP).header("content-encoding", "gzip"),
            GZIP,
        ),
        // It only says so, which is not for the adapter to find out.
        (
            Response::json(200, "{}").header("content-encoding", "zstd, rot13"),
            b"{}",
        ),
        (Response::event_stream(all.clone()), &all),
        (Response::new(200).send(all.clone()), &all),
        (
            Response::new(200).header("content-type", "\"?").send("{}"),
            b"{}",
        ),
    ] {
        let sent = response.headers.clone();
        let mut reply = bench.reply(response).await;
        for (name, value) in sent {
            let came = reply.headers.get(&name).map(|value| value.as_bytes());
            assert_eq!(came, Some(value.as_bytes()), "`{name}`");
        }
        let (came, end) = read(&mut *reply.body).await;
        assert!(end.is_ok(), "{end:?}");
        assert_eq!(came, body);
    }
}

pub(super) async fn an_abandoned_wait_loses_nothing<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let response = Response::event_stream(STREAM).split_sends(3);
    let mut reply = bench.reply(response).await;
    let mut came = Vec::new();
    let read = async {
        loop {
            // Each wait is dropped unless the piece is there.
            let next = tokio::select! {
                biased;
                next = reply.body.next() => next,
                () = std::future::ready(()) => {
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            match next {
                Ok(Some(piece)) => came.extend_from_slice(&piece),
                Ok(None) => break,
                Err(error) => panic!("{error} after {} bytes", came.len()),
            }
        }
    };
    let in_time = tokio::time::timeout(TIME_LIMIT, read).await;
    assert!(in_time.is_ok(), "a piece was lost, or the end");
    assert_eq!(String::from_utf8_lossy(&came), STREAM);
}

/// A stream of events with line ends and characters that a cut can split.
const STREAM: &str = ": hello\r\n\r\nevent: a\r\ndata: {\"z\":1e3,  \"a\":\"Tromsø 🌨\"}\r\n\r\n\ndata:x\n\n\u{feff}data: [DONE]\n";

/// The document `{}`, compressed (RFC 1952).
const GZIP: &[u8] = &[
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0,
];
