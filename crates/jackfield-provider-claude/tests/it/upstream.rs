//! What the contract of `Upstream` has to know of Claude, and what is Claude's alone.

use bytes::Bytes;
use http::{HeaderMap, Method};
use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_ports::upstream::{RawRequest, Upstream as _};
use jackfield_provider_claude::config::{ClaudeConfig, KeyHeader};
use jackfield_provider_claude::upstream::upstream;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_kit::upstream::HttpUpstream;
use jackfield_testkit::contract::upstream::{AddedHeader, UpstreamHarness};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};

pub(crate) struct ClaudeUpstream;

impl UpstreamHarness for ClaudeUpstream {
    type Upstream = HttpUpstream;

    fn connect(&self, base_url: &str, key: &str) -> HttpUpstream {
        let mut config = ClaudeConfig::new(base_url).unwrap();
        config.betas = vec!["beta-1".to_owned(), "beta-2".to_owned()];
        config.key = Some(Secret::new(key));
        config.version = Some("2023-06-01".to_owned());
        connect(&config)
    }

    fn endpoints(&self) -> &[(&str, &str)] {
        &[
            ("/v1/messages", "/v1/messages"),
            ("/v1/messages/count_tokens", "/v1/messages/count_tokens"),
        ]
    }

    fn added_headers(&self, key: &str) -> Vec<AddedHeader> {
        vec![
            AddedHeader::new("x-api-key", key),
            AddedHeader::default("anthropic-version", "2023-06-01"),
            AddedHeader::list("anthropic-beta", "beta-1,beta-2"),
        ]
    }
}

#[tokio::test]
async fn a_base_url_with_a_path_stands_before_the_endpoint() {
    let seen = seen("/proxy/claude/", |_| {}).await;
    assert_eq!(seen.path, "/proxy/claude/v1/messages");
}

#[tokio::test]
async fn a_configured_bearer_stands_in_the_place_of_the_clients_credentials() {
    let seen = seen("", |config| {
        config.key = Some(Secret::new("sk-ours"));
        config.key_header = KeyHeader::Bearer;
    })
    .await;
    assert_eq!(seen.header("authorization"), Some("Bearer sk-ours"));
    assert_eq!(seen.header("x-api-key"), None);
}

#[tokio::test]
async fn a_server_without_a_key_gets_no_credentials_and_a_version_that_is_known() {
    let seen = seen("", |_| {}).await;
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("x-api-key"), None);
    assert_eq!(seen.header("anthropic-beta"), None);
    assert_eq!(seen.header("anthropic-version"), Some("2026-10-21"));
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_sent() {
    let server = TestServer::start().await;
    let mut config = ClaudeConfig::new(&server.base_url()).unwrap();
    config.missing_key = Some("ANTHROPIC_API_KEY is not set".to_owned());
    let error = connect(&config).send(request()).await.unwrap_err();
    assert_eq!(error.to_string(), "ANTHROPIC_API_KEY is not set");
    assert_eq!(error.failure.kind, ModelFailureKind::Unauthenticated);
    assert_eq!(error.failure.phase, Phase::BeforeSend);
    assert_eq!(server.connections(), 0);
}

/// The request as it arrives, below this path, with this change of the configuration.
async fn seen(path: &str, change: impl FnOnce(&mut ClaudeConfig)) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(Response::json(200, "{}"));
    let mut config = ClaudeConfig::new(&format!("{}{path}", server.base_url())).unwrap();
    change(&mut config);
    connect(&config).send(request()).await.unwrap();
    server.request(0).await
}

fn request() -> RawRequest {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer client".parse().unwrap());
    headers.insert("x-api-key", "client".parse().unwrap());
    RawRequest {
        credential: None,
        body: Bytes::from_static(b"{}"),
        headers,
        method: Method::POST,
        path: "/v1/messages".to_owned(),
        query: None,
    }
}

fn connect(config: &ClaudeConfig) -> HttpUpstream {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    upstream(config, transport).unwrap()
}
