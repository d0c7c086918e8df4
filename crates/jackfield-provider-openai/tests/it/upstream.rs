//! What the contract of `Upstream` has to know of OpenAI, and what is OpenAI's alone.

use bytes::Bytes;
use http::{HeaderMap, Method};
use jackfield_ports::upstream::{RawRequest, Upstream as _};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_kit::upstream::HttpUpstream;
use jackfield_provider_openai::config::{Api, Endpoint, OpenAiConfig};
use jackfield_provider_openai::upstream::upstream;
use jackfield_testkit::contract::upstream::{AddedHeader, UpstreamHarness};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};

/// Of OpenAI itself, or of a compatible server with its API at the root and Chat Completions alone.
pub(crate) enum OpenAiUpstream {
    Compatible,
    OpenAi,
}

impl UpstreamHarness for OpenAiUpstream {
    type Upstream = HttpUpstream;

    fn connect(&self, base_url: &str, key: &str) -> HttpUpstream {
        let path = match self {
            Self::Compatible => "",
            Self::OpenAi => OpenAiConfig::PATH,
        };
        let mut config = OpenAiConfig::with_path(base_url, path).unwrap();
        config.key = Some(Secret::new(key));
        match self {
            Self::Compatible => {
                config.api = Api::ChatCompletions;
                config.endpoints = Vec::new();
            }
            Self::OpenAi => {
                config.further = vec!["/v1/embeddings".into(), "/v1/files/*".into()];
                config.organization = Some("org-1".to_owned());
                config.project = Some("proj-1".to_owned());
            }
        }
        connect(&config)
    }

    fn endpoints(&self) -> &[(&str, &str)] {
        match self {
            Self::Compatible => &[("/v1/chat/completions", "/chat/completions")],
            Self::OpenAi => &[
                ("/v1/chat/completions", "/v1/chat/completions"),
                ("/v1/responses", "/v1/responses"),
                ("/v1/responses/*", "/v1/responses/*"),
                ("/v1/embeddings", "/v1/embeddings"),
                ("/v1/files/*", "/v1/files/*"),
            ],
        }
    }

    fn added_headers(&self, key: &str) -> Vec<AddedHeader> {
        let mut added = vec![AddedHeader::new("authorization", format!("Bearer {key}"))];
        match self {
            Self::Compatible => {}
            Self::OpenAi => added.extend([
                AddedHeader::new("openai-organization", "org-1"),
                AddedHeader::new("openai-project", "proj-1"),
            ]),
        }
        added
    }
}

#[test]
fn the_endpoints_are_those_of_the_server_and_that_of_its_api() {
    let served = |api: Api, endpoints: &[Endpoint]| {
        let mut config = OpenAiConfig::new("http://127.0.0.1:1").unwrap();
        config.api = api;
        config.endpoints = endpoints.to_vec();
        let upstream = connect(&config);
        upstream.endpoints().join(" ")
    };
    assert_eq!(served(Api::Responses, &[]), "/v1/responses /v1/responses/*");
    assert_eq!(
        served(Api::Responses, &[Endpoint::Responses]),
        "/v1/responses /v1/responses/*"
    );
    assert_eq!(
        served(
            Api::ChatCompletions,
            &[Endpoint::Responses, Endpoint::Responses]
        ),
        "/v1/chat/completions /v1/responses /v1/responses/*"
    );
}

#[tokio::test]
async fn an_endpoint_stands_below_the_path_of_the_base_url() {
    for (path, expected) in [
        ("", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/openai/v1", "/openai/v1/chat/completions"),
        ("/api", "/api/chat/completions"),
    ] {
        assert_eq!(seen(path, CHAT).await.path, expected);
    }
}

#[tokio::test]
async fn a_response_that_the_server_keeps_is_below_its_endpoint() {
    let seen = seen("/openai/v1", "/v1/responses/resp_1/input_items").await;
    assert_eq!(seen.path, "/openai/v1/responses/resp_1/input_items");
}

#[tokio::test]
async fn a_client_may_name_its_organization_where_none_is_configured() {
    let seen = seen("", CHAT).await;
    assert_eq!(seen.header("openai-organization"), Some("org-client"));
    assert_eq!(seen.header("authorization"), None);
}

const CHAT: &str = "/v1/chat/completions";

/// The request for this path as it arrives, below that of the base URL.
async fn seen(base: &str, path: &str) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(Response::json(200, "{}"));
    let config = OpenAiConfig::new(&format!("{}{base}", server.base_url())).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer client".parse().unwrap());
    headers.insert("openai-organization", "org-client".parse().unwrap());
    let request = RawRequest {
        credential: None,
        body: Bytes::from_static(b"{}"),
        headers,
        method: Method::POST,
        path: path.to_owned(),
        query: None,
    };
    connect(&config).send(request).await.unwrap();
    server.request(0).await
}

fn connect(config: &OpenAiConfig) -> HttpUpstream {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    upstream(config, transport).unwrap()
}
