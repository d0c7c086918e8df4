//! Gemini at Vertex AI: addresses, tokens and errors.

mod errors;
mod key;
mod tokens;

use std::sync::Arc;

use jackfield_ports::chat_model::ChatModel as _;
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::config::{GeminiConfig, InvalidConfig};
use jackfield_provider_gemini::google::{Credentials, GoogleTokens};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::tokens::Tokens;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, VendorReply};
use jackfield_testkit::server::{Response, TestServer};
use serde_json::json;

use crate::harness::{GeminiHarness, MODEL, connect};
use crate::requests::{ask, events, request};

const PLACE: Option<(&str, &str)> = Some(("my-project", "europe-west4"));

fn with(credentials: &str, server: &TestServer) -> Gemini {
    let credentials = Credentials::parse(credentials.as_bytes()).unwrap();
    at(credentials, server)
}

fn at(credentials: Credentials, server: &TestServer) -> Gemini {
    let mut config = GeminiConfig::at_vertex(PLACE, Some(&server.base_url())).unwrap();
    config.vertex.as_mut().unwrap().quota_project = credentials.quota_project().map(str::to_owned);
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let tokens = GoogleTokens::new(credentials, transport).unwrap();
    config.tokens = Some(Arc::new(Tokens::new(tokens)));
    connect(config)
}

/// A reply of the model.
fn reply() -> Response {
    let rendered = GeminiHarness.render(&VendorReply::text(&["Hello"]));
    events(&rendered.unwrap())
}

#[test]
fn the_address_follows_from_the_location() {
    for (location, host) in [
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
    ] {
        let config = GeminiConfig::at_vertex(Some(("p", location)), None).unwrap();
        assert_eq!(config.base_url.to_string(), format!("https://{host}"));
    }
}

#[test]
fn nothing_else_gets_into_the_address() {
    for location in ["", "evil.example/", "Europe", "a@b"] {
        let config = GeminiConfig::at_vertex(Some(("p", location)), None);
        assert!(matches!(config, Err(InvalidConfig::Location)), "{location}");
    }
    for project in ["", "a/b", "a b", "p?x"] {
        let config = GeminiConfig::at_vertex(Some((project, "global")), None);
        assert!(matches!(config, Err(InvalidConfig::Project)), "{project}");
    }
}

/// "Express mode": a key of the API names its project.
#[tokio::test]
async fn a_key_needs_no_project() {
    let server = TestServer::start().await;
    server.answer(reply());
    let mut config = GeminiConfig::at_vertex(None, Some(&server.base_url())).unwrap();
    config.key = Some(Secret::new("key-1"));
    let (_, end) = ask(&connect(config), &request(MODEL)).await;
    end.unwrap();
    let seen = server.request(0).await;
    let path = "/v1beta1/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
    assert_eq!(seen.path, path);
    assert_eq!(seen.header("x-goog-api-key"), Some("key-1"));
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn the_models_that_converse_are_listed() {
    let server = TestServer::start().await;
    let page = json!({ "publisherModels": [
        { "name": "publishers/google/models/gemini-3.8-flash", "versionId": "default", "launchStage": "GA" },
        { "name": "publishers/google/models/imagen-5", "versionId": "001" },
        { "name": "publishers/google/models/gemini-embedding-002" },
    ] });
    server.answer(Response::json(200, page.to_string()));
    let mut config = GeminiConfig::at_vertex(PLACE, Some(&server.base_url())).unwrap();
    config.key = Some(Secret::new("key-1"));
    let models = connect(config).models().await.unwrap();
    let ids: Vec<&str> = models.iter().map(|model| &*model.id).collect();
    assert_eq!(ids, ["gemini-3.8-flash"]);
    let seen = server.request(0).await;
    assert_eq!(seen.path, "/v1beta1/publishers/google/models?pageSize=100");
}
