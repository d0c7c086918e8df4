//! Clauses about headers, of requests and of responses.

use http::HeaderMap;

use super::bench::{BODY, Bench, KEY, headers, read, values};
use super::{AddedTo, UpstreamHarness};
use crate::server::Response;

pub(super) async fn headers_arrive_but_for_the_named_ones<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let sent = [
        ("accept", "text/event-stream"),
        ("accept-encoding", "gzip, br;q=0.5"),
        ("content-encoding", "identity"),
        ("content-type", "application/json; charset=\"utf-8\""),
        ("forwarded", "for=192.0.2.1"),
        ("idempotency-key", "one, two"),
        ("traceparent", "00-0123-4567-01"),
        ("user-agent", "client/1.0 (it)"),
        ("x-empty", ""),
        ("x-note", "Ø \t 🌨"),
        ("x-several", "2"),
        ("x-several", "1, 3"),
        ("x-several", "2"),
        ("x-stainless-lang", "js"),
    ];
    let mut expected: Vec<(String, String)> = sent
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    for added in harness.added_headers(KEY) {
        expected.push((added.name.to_owned(), added.value));
    }
    let mut arrived = bench.arrived(headers(&sent)).await;
    arrived.retain(|(name, _)| name != "host" && name != "content-length");
    assert_eq!(by_name(arrived), by_name(expected));
    // Without any, the client's software is the adapter, and it takes any answer.
    let arrived = bench.arrived(HeaderMap::new()).await;
    let address = bench.server.address().to_string();
    assert_eq!(values(&arrived, "host"), [address]);
    let length = BODY.len().to_string();
    assert_eq!(values(&arrived, "content-length"), [length]);
    let mut unexpected = arrived.clone();
    unexpected.retain(|(name, value)| match name.as_str() {
        "accept" => value != "*/*",
        "content-length" | "host" | "user-agent" => false,
        name => !harness
            .added_headers(KEY)
            .iter()
            .any(|added| added.name == name),
    });
    assert_eq!(unexpected, [], "headers that nobody sent");
}

pub(super) async fn connection_headers_stay_behind<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let sent = [
        ("connection", "x-first, Keep-Alive"),
        ("connection", "close,X-Second ,, \"?"),
        ("content-length", "7"),
        ("expect", "100-continue"),
        ("host", "client.example.com"),
        ("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA"),
        ("keep-alive", "timeout=5"),
        ("proxy-authenticate", "Basic"),
        ("proxy-connection", "keep-alive"),
        ("te", "trailers"),
        ("trailer", "x-third"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("x-first", "1"),
        ("x-second", "2"),
        ("x-third", "3"),
    ];
    let arrived = bench.arrived(headers(&sent)).await;
    for (name, value) in sent {
        if name != "x-third" {
            let values = values(&arrived, name);
            assert!(!values.contains(&value), "`{name}: {value}` was sent");
        }
    }
    assert_eq!(values(&arrived, "x-third"), ["3"], "nothing names it");
    // An expectation of the client's would be one of the adapter's.
    assert_eq!(values(&arrived, "expect"), [""; 0]);
    assert_eq!(values(&arrived, "upgrade"), [""; 0]);
}

pub(super) async fn client_credentials_and_cookies_stay_behind<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let sent = [
        ("api-key", "client-5ecret"),
        ("authorization", "Bearer client-5ecret"),
        ("authorization", "Basic client-5ecret"),
        ("cookie", "a=client-5ecret"),
        ("cookie2", "client-5ecret"),
        ("proxy-authorization", "Basic client-5ecret"),
        ("x-api-key", "client-5ecret"),
        ("x-goog-api-key", "client-5ecret"),
    ];
    let arrived = bench.arrived(headers(&sent)).await;
    for (name, value) in &arrived {
        assert!(!value.contains("client-5ecret"), "`{name}` was sent");
    }
}

pub(super) async fn the_adapters_headers_are_added<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let added = harness.added_headers(KEY);
    let arrived = bench.arrived(HeaderMap::new()).await;
    for header in &added {
        assert_eq!(values(&arrived, header.name), [&header.value]);
    }
    for header in &added {
        let name = header.name;
        let lines = [(name, "client-1"), (name, "client-2")];
        let arrived = bench.arrived(headers(&lines)).await;
        let all = format!("client-1,client-2,{}", header.value);
        let expected = match header.to {
            AddedTo::List => vec![&*all],
            AddedTo::Nothing => vec!["client-1", "client-2"],
            AddedTo::Requests => vec![&*header.value],
        };
        assert_eq!(values(&arrived, name), expected, "`{name}`");
        if header.to == AddedTo::List {
            // Nothing is missing, so nothing changes.
            let whole = format!("client-1 , {}", header.value);
            let arrived = bench.arrived(headers(&[(name, &whole)])).await;
            assert_eq!(values(&arrived, name), [&whole]);
        }
    }
}

pub(super) async fn reply_headers_come_but_for_those_of_the_connection<H: UpstreamHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let sent = [
        ("access-control-allow-origin", "*"),
        ("access-control-expose-headers", "x-first"),
        ("alt-svc", "h3=\":443\""),
        ("clear-site-data", "\"*\""),
        ("connection", "x-first"),
        ("content-type", "application/json; charset=\"utf-8\""),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("retry-after", "7"),
        ("request-id", "req_1"),
        ("set-cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("set-cookie2", "e=f"),
        ("strict-transport-security", "max-age=1"),
        ("trailer", "x-fourth"),
        ("x-empty", ""),
        ("x-first", "1"),
        ("x-ratelimit-remaining", "7"),
        ("x-several", "2"),
        ("x-several", "1, 3"),
    ];
    let dropped = [
        "access-control-allow-origin",
        "access-control-expose-headers",
        "alt-svc",
        "clear-site-data",
        "connection",
        "keep-alive",
        "proxy-connection",
        "set-cookie",
        "set-cookie2",
        "strict-transport-security",
        "trailer",
        "x-first",
    ];
    for status in [200, 429] {
        let mut response = Response::new(status).send("{}");
        for (name, value) in sent {
            response = response.header(name, value);
        }
        let reply = bench.reply(response).await;
        let came = reply.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str().to_owned(), value.into_owned())
        });
        let kept = sent.iter().filter(|(name, _)| !dropped.contains(name));
        let kept = kept.chain(&[("content-length", "2")]);
        let kept = kept.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(by_name(came.collect()), by_name(kept.collect()));
    }
    let chunked = bench.reply(Response::event_stream("data: 1\n\n")).await;
    assert!(!chunked.headers.contains_key("transfer-encoding"));
}

pub(super) async fn the_key_does_not_come_back<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let hidden = "*".repeat(KEY.len());
    let quoted = format!("{{\"error\":\"no such key: {KEY}, {KEY} sk-contract-5\"}}");
    let response = Response::json(401, quoted.clone()).header("x-key", format!("Bearer {KEY}"));
    for response in [response.clone(), response.split_sends(3)] {
        let mut reply = bench.reply(response).await;
        for (name, value) in &reply.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            assert!(!value.contains(KEY), "`{name}` tells the key");
        }
        let (body, ended) = read(&mut *reply.body).await;
        assert!(ended.is_ok(), "it breaks off");
        let body = String::from_utf8_lossy(&body);
        assert_eq!(body, quoted.replace(KEY, &hidden), "the body tells the key");
    }
    let location = format!("https://example.com/?key={KEY}");
    let response = Response::new(307).header("location", location);
    let reply = bench.reply(response).await;
    let location = reply.headers.get("location");
    let location = location.map(|value| String::from_utf8_lossy(value.as_bytes()));
    assert!(
        location.is_some_and(|location| !location.contains(KEY)),
        "the address tells the key"
    );
}

/// The headers by name: the order of those with different names means nothing.
fn by_name(mut headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    headers
}
