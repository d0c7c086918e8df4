//! The provider of the kind `gemini-vertex`, as it is configured and as it is then asked.

use jackfield_assembly::{Assembly, ConfigError, Environment, Registry};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_engine::SendMessage;
use jackfield_testkit::server::{Response, TestServer};
use serde_json::json;

use crate::world::World;

/// The assembly with this table, these variables, and a home folder with this file of `gcloud`.
fn assembled(
    table: &str,
    variables: &[(&str, &str)],
    file: Option<&str>,
) -> Result<Assembly, ConfigError> {
    let world = World::new().with_user(format!("[providers.gemini-vertex]\n{table}"));
    let home = tempfile::tempdir().unwrap();
    if let Some(file) = file {
        let folder = home.path().join(".config/gcloud");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("application_default_credentials.json"), file).unwrap();
    }
    let home = [("HOME", home.path().to_str().unwrap())];
    let environment = Environment::from_iter(home.into_iter().chain(variables.iter().copied()));
    Registry::default().assemble(&world.load().unwrap(), &environment)
}

/// What a turn ends with.
async fn asked(assembled: &Assembly, session: &str) -> String {
    let mut options = assembled.options.clone();
    options.model = ModelRef {
        model: "gemini-3.8-flash".into(),
        provider: "gemini-vertex".into(),
    };
    let message = SendMessage {
        opening: Opening::UserMessage(Message::user("Hello").into()),
        options,
        session: SessionId::parse(session).unwrap(),
    };
    let sent = assembled.engine.send(message, &mut ()).await;
    format!("{:?}", sent.unwrap())
}

fn sign_in(tokens: &TestServer) -> String {
    let file = json!({
        "type": "authorized_user",
        "client_id": "client",
        "client_secret": "client-secret",
        "refresh_token": "refresh",
        "token_uri": tokens.base_url(),
    });
    file.to_string()
}

fn token(text: &str) -> Response {
    let body = json!({ "access_token": text, "expires_in": 3599 });
    Response::json(200, body.to_string())
}

fn reply() -> Response {
    let candidate = json!({ "content": { "role": "model", "parts": [{ "text": "Hello" }] }, "finishReason": "STOP" });
    Response::json(200, json!({ "candidates": [candidate] }).to_string())
}

/// The adapter asks once, and the loop once more: with a new token.
#[tokio::test]
async fn a_turn_outlives_the_end_of_a_token() {
    let (tokens, server) = (TestServer::start().await, TestServer::start().await);
    tokens.answer(token("token-1"));
    tokens.answer(token("token-2"));
    let refusal = json!({ "error": { "code": 401, "message": "no", "status": "UNAUTHENTICATED" } });
    server.answer(reply());
    server.answer(Response::json(401, refusal.to_string()));
    server.answer(reply());
    let table = format!(
        "project = 'p-1'\nlocation = 'eu'\nbase_url = '{}'",
        server.base_url()
    );
    let assembled = assembled(&table, &[], Some(&sign_in(&tokens))).unwrap();
    for session in ["a", "b"] {
        let ended = asked(&assembled, session).await;
        assert!(ended.contains("Hello"), "{ended}");
    }
    let sent: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(sent, ["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
    let path = &server.requests()[0].path;
    let begins = "/v1beta1/projects/p-1/locations/eu/publishers/google/models/gemini-3.8-flash:";
    assert!(path.starts_with(begins), "{path}");
}

#[tokio::test]
async fn without_credentials_the_ways_to_some_are_named() {
    // Nothing listens there.
    let server = TestServer::start().await;
    let host = jackfield_testkit::server::RefusingPort::reserve().base_url();
    let host = host.replace("http://", "");
    let table = format!("project = 'p-1'\nbase_url = '{}'", server.base_url());
    let variables = [("GCE_METADATA_HOST", &*host)];
    let ended = asked(&assembled(&table, &variables, None).unwrap(), "a").await;
    assert!(
        ended.contains("gcloud auth application-default login"),
        "{ended}"
    );
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_file_that_has_no_credentials_is_a_failure_of_requests() {
    let server = TestServer::start().await;
    let table = format!("project = 'p-1'\nbase_url = '{}'", server.base_url());
    let missing = [("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")];
    let ended = asked(&assembled(&table, &missing, None).unwrap(), "a").await;
    assert!(ended.contains("GOOGLE_APPLICATION_CREDENTIALS"), "{ended}");
    let other = Some(r#"{"type":"external_account"}"#);
    let ended = asked(&assembled(&table, &[], other).unwrap(), "a").await;
    assert!(ended.contains("external_account"), "{ended}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    for (table, says) in [
        ("", "GOOGLE_CLOUD_PROJECT"),
        ("project = 'a/b'", "project is the id"),
        ("project = 'p'\nlocation = 'Europe'", "location is the name"),
        ("project = 1", "project is a text"),
        ("project = 'p'\nregion = 'x'", "region"),
    ] {
        let error = assembled(table, &[], None).unwrap_err().to_string();
        assert!(error.contains(says), "{table}: {error}");
    }
    let of_environment = [
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GOOGLE_CLOUD_LOCATION", "us"),
    ];
    let assembled = assembled("", &of_environment, None).unwrap();
    let endpoint = &assembled.providers["gemini-vertex"].endpoint;
    assert_eq!(&**endpoint, "https://aiplatform.us.rep.googleapis.com");
}

#[tokio::test]
async fn a_key_needs_neither_project_nor_credentials() {
    let server = TestServer::start().await;
    server.answer(reply());
    let table = format!("api_key_env = 'KEY'\nbase_url = '{}'", server.base_url());
    let ended = asked(&assembled(&table, &[("KEY", "k-1")], None).unwrap(), "a").await;
    assert!(ended.contains("Hello"), "{ended}");
    let seen = server.request(0).await;
    assert_eq!(seen.header("x-goog-api-key"), Some("k-1"));
    let begins = "/v1beta1/publishers/google/models/gemini-3.8-flash:";
    assert!(seen.path.starts_with(begins), "{}", seen.path);
}
