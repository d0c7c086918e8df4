//! The guarded client: which addresses it refuses, and that nothing is reached round them.

mod addresses;
mod redirects;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use jackfield_provider_kit::guarded::{
    Allowed, FetchError, FetchErrorKind as Kind, GuardedClient, GuardedRequest, GuardedResponse,
    GuardedSettings, Lookup,
};
use jackfield_provider_kit::transport::Transport;
use jackfield_testkit::server::{Framing, Gate, RefusingPort, Response, TestServer};
use url::Url;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Gives these answers one after another, and the last one for ever.
struct Names {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Names {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().rev().map(parse).collect()),
            asked: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap();
        if answers.len() > 1 {
            return Ok(answers.pop().unwrap());
        }
        Ok(answers.first().cloned().unwrap_or_default())
    }
}

fn settings(allowed: &[&str]) -> GuardedSettings {
    let mut settings = GuardedSettings::default();
    for text in allowed {
        settings.allowed.allow(text).unwrap();
    }
    settings
}

/// What a guarded transport says of a request to this address.
async fn over_transport(settings: &GuardedSettings, url: &str) -> Result<u16, String> {
    let transport = Transport::guarded(settings).unwrap();
    let request = Request::get(url).body(Bytes::new()).unwrap();
    let answered = transport.send(request).await;
    answered
        .map(|answer| answer.status().as_u16())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_guarded_transport_reaches_what_the_guarded_client_does() {
    let server = TestServer::start().await;
    let port = server.address().port();
    let literal = format!("http://127.0.0.1:{port}/");
    let named = format!("http://rebound.example:{port}/");
    // The second answer of the resolver is for the second request: a name may lead elsewhere by then.
    let mut refusing = settings(&[]);
    refusing.lookup = Names::new(&[&["127.0.0.1"], &["10.0.0.7"], &["203.0.113.9", "::1"]]);
    for url in [&literal, &named, &named, &named] {
        let refused = over_transport(&refusing, url).await.unwrap_err();
        assert!(
            refused.contains("only public addresses are reached"),
            "{refused}"
        );
        assert!(!refused.contains("10.0.0.7"), "{refused}");
    }
    assert_eq!(server.connections(), 0);
    let mut allowing = settings(&["127.0.0.0/8"]);
    allowing.lookup = Names::new(&[&["127.0.0.1"]]);
    for url in [&literal, &named] {
        server.answer(Response::json(200, "{}"));
        assert_eq!(over_transport(&allowing, url).await, Ok(200));
    }
}

fn client(allowed: &[&str]) -> GuardedClient {
    GuardedClient::new(settings(allowed)).unwrap()
}

fn named(names: &Arc<Names>, allowed: &[&str]) -> GuardedClient {
    let mut settings = settings(allowed);
    settings.lookup = Arc::clone(names) as Arc<dyn Lookup>;
    GuardedClient::new(settings).unwrap()
}

fn get(url: &str) -> GuardedRequest {
    GuardedRequest {
        body: Bytes::new(),
        headers: HeaderMap::new(),
        method: Method::GET,
        url: Url::parse(url).unwrap(),
    }
}

async fn refused(client: &GuardedClient, url: &str) -> FetchError {
    client.send(get(url)).await.expect_err(url)
}

async fn text(answer: GuardedResponse) -> String {
    let body = answer.read(1 << 20).await.unwrap();
    assert!(body.whole);
    String::from_utf8(body.bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn what_is_allowed_is_reached_and_nothing_else() {
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let url = server.base_url();
    let error = refused(&client(&[]), &url).await;
    assert_eq!((error.kind, error.sent), (Kind::Refused, false));
    assert_eq!(
        error.to_string(),
        "127.0.0.1 is this machine (RFC 1122), and only public addresses are reached; \
         to allow it, add \"127.0.0.1\" to `allow_private` under [network]"
    );
    for other in [
        "10.0.0.0/8",
        "localhost",
        "127.0.0.2",
        "::ffff:0a00:0/104",
        "::/64",
    ] {
        refused(&client(&[other]), &url).await;
    }
    // Where nothing can be allowed nobody is told how to.
    let mut unadvised = settings(&[]);
    unadvised.advised = false;
    let error = refused(&GuardedClient::new(unadvised).unwrap(), &url).await;
    assert_eq!(
        error.to_string(),
        "127.0.0.1 is this machine (RFC 1122), and only public addresses are reached"
    );
    assert_eq!(server.connections(), 0);
    for allowed in [
        "127.0.0.1",
        "127.0.0.0/8",
        "::ffff:127.0.0.1",
        "::ffff:7f00:0/104",
    ] {
        let answer = client(&[allowed]).send(get(&url)).await.unwrap();
        assert_eq!(text(answer).await, "here");
    }
}

#[tokio::test]
async fn a_name_is_refused_by_any_of_its_addresses_and_allowed_by_name() {
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let url = format!("http://weather.example:{}/", server.address().port());
    let names = Names::new(&[&["127.0.0.1"]]);
    let error = refused(&named(&names, &[]), &url).await;
    assert_eq!((error.kind, error.sent), (Kind::Refused, false));
    assert_eq!(
        error.to_string(),
        "weather.example is at 127.0.0.1, which is this machine (RFC 1122), and only public \
         addresses are reached; to allow it, add \"127.0.0.1\" to `allow_private` under [network]"
    );
    // A public address beside it makes nothing better.
    let mixed = Names::new(&[&["93.184.216.34", "127.0.0.1"]]);
    let error = refused(&named(&mixed, &[]), &url).await;
    assert_eq!(error.kind, Kind::Refused);
    for other in [
        "example",
        "*.weather.example",
        "weather.exampl",
        "eather.example",
    ] {
        refused(&named(&names, &[other]), &url).await;
    }
    assert_eq!(server.connections(), 0);
    for allowed in [
        "weather.example",
        "WEATHER.example.",
        "*.example",
        "127.0.0.1",
    ] {
        let answer = named(&names, &[allowed]).send(get(&url)).await.unwrap();
        assert_eq!(text(answer).await, "here", "{allowed}");
    }
}

#[tokio::test]
async fn what_was_checked_is_what_is_connected_to() {
    // 127.0.0.2 is allowed and nobody listens there; then the name turns to where somebody does.
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let url = format!("http://turncoat.example:{}/", server.address().port());
    let names = Names::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let client = named(&names, &["127.0.0.2"]);
    let first = refused(&client, &url).await;
    assert_eq!((first.kind, first.sent), (Kind::Unreachable, false));
    assert_eq!(
        names.asked.load(Ordering::Relaxed),
        1,
        "asked once for one connection"
    );
    let second = refused(&client, &url).await;
    assert_eq!(second.kind, Kind::Refused);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_is_asked_for_again_with_every_request() {
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let url = format!("http://turncoat.example:{}/", server.address().port());
    let names = Names::new(&[&["127.0.0.1"], &["127.0.0.3"]]);
    let client = named(&names, &["127.0.0.1"]);
    assert_eq!(text(client.send(get(&url)).await.unwrap()).await, "here");
    // No connection was kept that would reach it still.
    assert_eq!(refused(&client, &url).await.kind, Kind::Refused);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn localhost_is_a_name_like_others() {
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let url = format!("http://localhost:{}/", server.address().port());
    assert_eq!(refused(&client(&[]), &url).await.kind, Kind::Refused);
    let answer = client(&["localhost"]).send(get(&url)).await.unwrap();
    assert_eq!(text(answer).await, "here");
}

#[tokio::test]
async fn a_failure_before_anything_was_sent_is_told_from_one_after() {
    let nobody = RefusingPort::reserve();
    let error = refused(&client(&["127.0.0.1"]), &nobody.base_url()).await;
    assert_eq!((error.kind, error.sent), (Kind::Unreachable, false));
    let unknown = named(&Names::new(&[&[]]), &[]);
    let error = refused(&unknown, "http://unknown.example/").await;
    assert_eq!((error.kind, error.sent), (Kind::Unreachable, false));
    assert!(
        error.to_string().starts_with("cannot find unknown.example"),
        "{error}"
    );
    let server = TestServer::start().await;
    server.answer(Response::raw().cut_off());
    let error = refused(&client(&["127.0.0.1"]), &server.base_url()).await;
    assert_eq!((error.kind, error.sent), (Kind::Broken, true));
    server.answer(Response::text(200, "0123456789").cut_at(4));
    let answer = client(&["127.0.0.1"]).send(get(&server.base_url())).await;
    let error = answer.unwrap().read(100).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (Kind::Broken, true));
}

#[tokio::test]
async fn a_body_is_read_as_far_as_it_is_wanted() {
    for framing in [Framing::Chunked, Framing::ContentLength] {
        for (limit, read, whole) in [
            (4, "0123", false),
            (9, "012345678", false),
            (10, "0123456789", true),
            (11, "0123456789", true),
            (0, "", false),
        ] {
            let server = TestServer::start().await;
            server.answer(Response::text(200, "0123456789").framed(framing));
            let answer = client(&["127.0.0.1"]).send(get(&server.base_url())).await;
            let body = answer.unwrap().read(limit).await.unwrap();
            assert_eq!((&*body.bytes, body.whole), (read.as_bytes(), whole));
        }
    }
    // A body without end is left, and its connection closed.
    let server = TestServer::start().await;
    let gate = Gate::new();
    server.answer(
        Response::text(200, "0123456789")
            .framed(Framing::Chunked)
            .pause(&gate),
    );
    let answer = client(&["127.0.0.1"]).send(get(&server.base_url())).await;
    let body = answer.unwrap().read(5).await.unwrap();
    assert_eq!((&*body.bytes, body.whole), (b"01234".as_slice(), false));
    server.closed_by_client(0).await;
}

#[tokio::test]
async fn nothing_is_asked_for_compressed_and_nothing_is_told_of_us() {
    let server = TestServer::start_with(|_| Response::text(200, "")).await;
    client(&["127.0.0.1"])
        .send(get(&server.base_url()))
        .await
        .unwrap();
    let seen = server.request(0).await;
    assert_eq!(seen.header("accept-encoding"), Some("identity"));
    for name in ["cookie", "referer", "authorization"] {
        assert_eq!(seen.header(name), None);
    }
}

#[tokio::test]
async fn a_proxy_gets_public_names_and_never_a_literal_that_is_refused() {
    let proxy = TestServer::start_with(|_| Response::text(200, "by proxy")).await;
    let near = TestServer::start_with(|_| Response::text(200, "direct")).await;
    let mut settings = settings(&["127.0.0.1", "localhost"]);
    settings.proxy = Some(proxy.base_url());
    let client = GuardedClient::new(settings).unwrap();
    let answer = client.send(get("http://api.example/v1")).await.unwrap();
    assert_eq!(text(answer).await, "by proxy");
    assert_eq!(proxy.request(0).await.path, "http://api.example/v1");
    for url in [
        "http://169.254.169.254/",
        "http://[fe80::1]/",
        "http://127.0.0.5/",
    ] {
        assert_eq!(refused(&client, url).await.kind, Kind::Refused, "{url}");
    }
    let by_name = format!("http://localhost:{}/", near.address().port());
    for url in [near.base_url(), by_name] {
        let answer = client.send(get(&url)).await.unwrap();
        assert_eq!(text(answer).await, "direct");
    }
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn an_allowance_is_a_network_an_address_or_a_name() {
    let mut allowed = Allowed::default();
    for text in [
        "10.0.0.0/8",
        "::1",
        "fd00::/8",
        "localhost",
        "*.corp.example",
        "0.0.0.0/0",
    ] {
        allowed.allow(text).unwrap();
    }
    for text in [
        "",
        "10.0.0.0/33",
        "10.0.0",
        "1",
        "http://a",
        "a b",
        "*",
        "*.",
        "a..b",
        "[::1]",
        "a/8",
        "机器",
    ] {
        allowed.allow(text).expect_err(text);
    }
    let error = allowed.allow("10.1.2.3/8").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`10.1.2.3/8` is no network; did you mean `10.0.0.0/8`?"
    );
    assert!(allowed.has_address(LOOPBACK));
    assert!(!Allowed::default().has_address(LOOPBACK));
    assert!(!allowed.has_name("corp.example") && allowed.has_name("a.b.corp.example."));
}

#[test]
fn what_is_secret_is_not_in_debug() {
    let mut settings = settings(&[]);
    settings.proxy = Some("http://me:word@proxy.example".to_owned());
    let client = GuardedClient::new(settings.clone()).unwrap();
    let request = get("http://a.example/secret?key=secret");
    let shown = format!("{settings:?} {client:?} {request:?}");
    assert!(
        !shown.contains("word") && !shown.contains("secret"),
        "{shown}"
    );
}
