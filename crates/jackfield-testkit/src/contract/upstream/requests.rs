//! Clauses about requests, and about what must not be revealed.

use bytes::Bytes;
use http::Method;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_ports::credential::Credential;
use jackfield_ports::upstream::{RawRequest, Upstream as _};

use super::super::own_key::{OWN_KEY, assert_only_own_key, assert_refused_unsent};
use super::super::spans;
use super::UpstreamHarness;
use super::bench::{BODY, Bench, KEY, error_text, failure, headers, read, reply};
use crate::server::{Gate, RefusingPort, Response};

pub(super) async fn the_documented_endpoints_are_served<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let served = bench.upstream.endpoints().iter();
    let mut served: Vec<&str> = served.map(|path| &**path).collect();
    let documented = harness.endpoints().iter().map(|(path, _)| *path);
    let mut documented: Vec<&str> = documented.collect();
    served.sort_unstable();
    documented.sort_unstable();
    assert_eq!(served, documented);
    served.dedup();
    assert_eq!(served.len(), documented.len(), "an endpoint occurs twice");
    assert!(!served.is_empty(), "an upstream without endpoints is none");
    for path in served {
        assert!(path.starts_with('/'), "`{path}` begins with a slash");
    }
}

pub(super) async fn requests_arrive_unchanged<H: UpstreamHarness>(harness: &H) {
    let bodies = [
        Bytes::from_static(BODY.as_bytes()),
        Bytes::from_static(b"{\"half a pair\": \"\\ud83d\"}"),
        Bytes::from_static(b"{\"cut o"),
        Bytes::from((0..=255).collect::<Vec<u8>>()),
        Bytes::from(vec![b' '; 300_000]),
        Bytes::new(),
    ];
    let queries = [None, Some(""), Some("beta=true"), Some("b=2&a=%2F+%20&b=1")];
    let bench = Bench::new(harness).await;
    let mut nth = 0;
    for (path, resource) in harness.endpoints() {
        // A path below a folder, if that is the endpoint.
        let [path, resource] = [path, resource].map(|path| path.replace('*', "x-1/Y.z"));
        for body in &bodies {
            for query in queries {
                let request = RawRequest {
                    credential: None,
                    body: body.clone(),
                    path: path.clone(),
                    query: query.map(str::to_owned),
                    ..bench.request()
                };
                bench.server.answer(Response::json(200, "{}"));
                let sent = reply(bench.send(request).await);
                drop(sent);
                let seen = bench.server.request(nth).await;
                nth += 1;
                let query = query.map_or_else(String::new, |query| format!("?{query}"));
                assert_eq!(seen.path, format!("{resource}{query}"));
                assert_eq!(seen.method, "POST");
                assert_eq!(seen.body, body, "{path}");
            }
        }
    }
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let request = RawRequest {
            credential: None,
            method: method.clone(),
            ..bench.request()
        };
        bench.server.answer(Response::json(200, "{}"));
        drop(reply(bench.send(request).await));
        assert_eq!(bench.server.request(nth).await.method, method.as_str());
        nth += 1;
    }
}

pub(super) async fn an_unserved_request_is_refused_before_it_is_sent<H: UpstreamHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let usual = bench.request();
    let path = &usual.path;
    let mut requests: Vec<RawRequest> = Vec::new();
    for path in [
        String::new(),
        "/".to_owned(),
        "/v1/nothing".to_owned(),
        format!("{path}/"),
        format!("/{path}"),
        format!("{path}/.."),
        format!("{path}?a=b"),
        format!("{path}#a"),
        format!("{path}%00"),
        format!("/x/..{path}"),
        format!("@example.com{path}"),
        format!("//example.com{path}"),
        format!("http://example.com{path}"),
        path.to_uppercase(),
    ] {
        requests.push(RawRequest {
            path,
            ..usual.clone()
        });
    }
    for method in [Method::CONNECT, Method::TRACE] {
        requests.push(RawRequest {
            credential: None,
            method,
            ..usual.clone()
        });
    }
    for request in requests {
        let what = format!("{} {}", request.method, request.path);
        bench.server.answer(Response::json(200, "{}"));
        let failure = failure(bench.send(request).await);
        assert_eq!(failure.kind, ModelFailureKind::Unsupported, "{what}");
        assert_eq!(failure.phase, Phase::BeforeSend, "{what}");
        assert_eq!(failure.advice, RetryAdvice::Never, "{what}");
    }
    assert_eq!(bench.server.connections(), 0, "something was sent");
}

pub(super) async fn one_call_makes_one_http_request<H: UpstreamHarness>(harness: &H) {
    for (response, what) in [
        (Response::json(200, "{}"), "a reply"),
        (
            Response::event_stream("data: 1\n\n").cut_off(),
            "a reply that breaks off",
        ),
        (Response::raw().cut_off(), "no answer"),
        (Response::raw().reset(), "a reset"),
        (Response::new(307).header("location", "/v2"), "a redirect"),
        (
            Response::json(429, "{}").header("retry-after", "0"),
            "a rate limit",
        ),
        (
            Response::json(500, "{}").header("x-should-retry", "true"),
            "an error",
        ),
        (Response::json(401, "{}"), "a wrong key"),
    ] {
        let bench = Bench::new(harness).await;
        if let Ok(mut reply) = bench.call(response).await {
            let _body = read(&mut *reply.body).await;
        }
        assert_eq!(bench.server.requests().len(), 1, "after {what}");
    }
}

pub(super) async fn own_keys_replace_the_adapters_or_are_refused<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    bench.server.answer(Response::json(200, "{}"));
    let mut request = bench.request();
    request.credential = Some(Credential::new(OWN_KEY));
    match bench.send(request).await {
        Ok(mut reply) => {
            let _body = read(&mut *reply.body).await;
            assert_only_own_key(&bench.server.request(0).await, KEY);
        }
        Err(error) => assert_refused_unsent(&error.failure, &bench.server),
    }
}

pub(super) async fn dropping_the_call_closes_the_connection<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let before = Gate::new();
    bench.server.answer(Response::raw().pause(&before));
    tokio::select! {
        sent = bench.send(bench.request()) => panic!("nothing was answered, but: {sent:?}"),
        () = before.reached() => {}
    }
    bench.server.closed_by_client(0).await;
    for reads in [false, true] {
        let bench = Bench::new(harness).await;
        let response = Response::event_stream("data: 1\n\n").stall();
        let mut reply = bench.reply(response).await;
        if reads {
            assert!(matches!(reply.body.next().await, Ok(Some(_))));
        }
        drop(reply);
        bench.server.closed_by_client(0).await;
    }
}

pub(super) async fn secrets_never_reach_debug_or_errors<H: UpstreamHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let (recording, guard) = spans::record();
    assert_secrets_hidden("`Debug` of the adapter", &format!("{:?}", bench.upstream));
    let mut request = bench.request();
    request.headers = headers(&[
        ("authorization", "Bearer client-5ecret"),
        ("x-api-key", "client-5ecret"),
        ("cookie", "session=client-5ecret"),
    ]);
    request.query = Some("key=client-5ecret".to_owned());
    assert_secrets_hidden("`Debug` of a request", &format!("{request:?}"));
    // A server may repeat what it was sent.
    let repeated = format!("no such key: {KEY}, client-5ecret");
    let responses = [
        Response::json(401, repeated.clone()).header("x-key", KEY),
        Response::json(200, "{}").header("x-key", KEY).cut_at(1),
        Response::event_stream(repeated.clone()).cut_off(),
        Response::raw().send(format!("{KEY} client-5ecret\r\n\r\n")),
        Response::raw().send(format!("HTTP/1.1 200 OK\r\nx: {KEY}")),
        Response::new(307).header("location", format!("/?key={KEY}")),
        Response::raw().cut_off(),
    ];
    for response in responses {
        bench.server.answer(response);
        match bench.send(request.clone()).await {
            Ok(mut reply) => {
                assert_secrets_hidden("`Debug` of a reply", &format!("{reply:?}"));
                if let (_, Err(error)) = read(&mut *reply.body).await {
                    assert_secrets_hidden("an error of a body", &error_text(&error));
                }
            }
            Err(error) => assert_secrets_hidden("an error", &error_text(&error)),
        }
    }
    let seen = bench.server.request(0).await;
    assert!(!seen.path.contains(KEY), "the URL tells the key");
    assert!(
        seen.headers.iter().any(|(_, value)| value.contains(KEY)),
        "the key was not sent at all"
    );
    let port = RefusingPort::reserve();
    let refused = Bench {
        upstream: harness.connect(&port.base_url(), KEY),
        ..Bench::new(harness).await
    };
    let mut refusals = vec![refused.send(request.clone()).await];
    let mut unserved = request.clone();
    unserved.path = "/v1/client-5ecret".to_owned();
    refusals.push(bench.send(unserved).await);
    let mut unwritable = request;
    unwritable.query = Some("key=client-5ecret\n#".to_owned());
    refusals.push(bench.send(unwritable).await);
    for refused in refusals {
        let Err(error) = refused else {
            panic!("a request that cannot be sent was answered");
        };
        assert_secrets_hidden("an error", &error_text(&error));
    }
    drop(guard);
    for told in recording.records() {
        assert_secrets_hidden("a span or an event", &format!("{:?}", told.fields));
    }
}

#[track_caller]
fn assert_secrets_hidden(what: &str, text: &str) {
    for secret in [KEY, "client-5ecret"] {
        assert!(!text.contains(secret), "{what} tells a secret: {text}");
    }
}
