//! Requests of calls whose lease passes while there is no connection yet.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use jackfield_domain::failure::Phase;
use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::lease::LeaseDeadline;
use jackfield_provider_kit::guarded::{GuardedClient, GuardedRequest, GuardedSettings, Lookup};
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::server::{Response, TestServer};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// A resolver that takes so long that this lease passes meanwhile.
struct Slow(LeaseDeadline);

#[async_trait]
impl Lookup for Slow {
    async fn lookup(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.end_now();
        Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }
}

/// A lease that lasts, and settings of a client whose lookup it does not outlive.
fn slow() -> (LeaseDeadline, GuardedSettings) {
    let lease = LeaseDeadline::at(Instant::now() + Duration::from_secs(600));
    let mut settings = GuardedSettings::default();
    settings.allowed.allow("127.0.0.0/8").unwrap();
    settings.lookup = Arc::new(Slow(lease.clone()));
    (lease, settings)
}

fn post(url: &str) -> Request<Bytes> {
    let body = Bytes::from_static(b"{\"a\":1}");
    Request::post(url).body(body).unwrap()
}

#[tokio::test]
async fn a_request_is_not_sent_when_the_lease_passes_before_its_connection() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (lease, settings) = slow();
    let url = format!(
        "http://slow.example:{}/",
        server.local_addr().unwrap().port()
    );
    let transport = Transport::guarded(&settings).unwrap();
    let call = CallContext::new(lease);
    let sent = transport.send_call(post(&url), &call).await;
    let failure = sent.unwrap_err().failure;
    assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
    assert_eq!(failure.message, LeasePassed.to_string());
    let (lease, settings) = slow();
    let client = GuardedClient::new(settings).unwrap();
    let request = GuardedRequest {
        body: Bytes::from_static(b"{}"),
        headers: HeaderMap::new(),
        method: Method::POST,
        url: url.parse().unwrap(),
    };
    let call = CallContext::new(lease);
    let error = client.send_call(request, &call).await.unwrap_err();
    assert!(!error.sent, "{error:?}");
    assert_eq!(error.message, LeasePassed.to_string());
    // Both connections were made, and not a byte of a head was written.
    for _ in 0..2 {
        let (mut connection, _) = timeout(LIMIT, server.accept()).await.unwrap().unwrap();
        let mut heard = Vec::new();
        let read = timeout(LIMIT, connection.read_to_end(&mut heard)).await;
        read.unwrap().unwrap();
        assert!(heard.is_empty(), "{}", String::from_utf8_lossy(&heard));
    }
}

#[tokio::test]
async fn a_request_is_the_same_with_and_without_a_lease() {
    let server = TestServer::start().await;
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let lease = LeaseDeadline::at(Instant::now() + Duration::from_secs(600));
    for (nth, call) in [CallContext::default(), CallContext::new(lease)]
        .iter()
        .enumerate()
    {
        server.answer(Response::json(200, "{}"));
        let sent = transport.send_call(post(&server.base_url()), call).await;
        sent.unwrap().into_body().await.unwrap();
        let request = server.request(nth).await;
        assert_eq!(request.text(), "{\"a\":1}");
        let mut headers = request.headers.clone();
        headers.sort();
        let expected = [("accept", "*/*"), ("content-length", "7")];
        for (name, value) in expected {
            assert_eq!(request.header(name), Some(value), "{headers:?}");
        }
        assert_eq!(headers.len(), 4, "{headers:?}");
    }
}

const LIMIT: Duration = Duration::from_secs(60);
