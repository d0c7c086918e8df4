//! Tokens of each kind of credentials, from stand-ins of the vendor's servers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::google::Credentials;
use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use super::{at, key, reply, with};
use crate::harness::MODEL;
use crate::requests::{ask, request};

fn account(server: &TestServer) -> String {
    let file = json!({
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "key-id",
        "private_key": key::pem(),
        "client_email": "jackfield@my-project.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": format!("{}/token", server.base_url()),
    });
    file.to_string()
}

fn user(server: &TestServer) -> String {
    let file = json!({
        "type": "authorized_user",
        "account": "",
        "client_id": "client.apps",
        "client_secret": "secret of the client",
        "quota_project_id": "paying",
        "refresh_token": "1//refresh+token",
        "token_uri": format!("{}/token", server.base_url()),
    });
    file.to_string()
}

fn token(text: &str) -> Response {
    let body = json!({ "access_token": text, "expires_in": 3599, "token_type": "Bearer" });
    Response::json(200, body.to_string())
}

/// A refusal of a token, as Vertex AI words it.
fn unauthenticated(token: &str) -> Response {
    let error = json!({ "error": {
        "code": 401,
        "message": format!("Request had invalid authentication credentials: {token}"),
        "status": "UNAUTHENTICATED",
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_EXPIRED" }],
    } });
    Response::json(401, error.to_string())
}

async fn failure(model: &Gemini) -> ModelFailure {
    let (_, end) = ask(model, &request(MODEL)).await;
    end.unwrap_err().failure
}

fn fields(form: &str) -> Vec<(&str, &str)> {
    let pairs = form.split('&').map(|pair| pair.split_once('=').unwrap());
    pairs.collect()
}

#[tokio::test]
async fn a_service_account_signs_for_a_token_that_several_requests_use() {
    let (tokens, server) = (TestServer::start().await, TestServer::start().await);
    tokens.answer(token("token-1"));
    server.answer(reply());
    server.answer(reply());
    let model = with(&account(&tokens), &server);
    for _ in 0..2 {
        let (_, end) = ask(&model, &request(MODEL)).await;
        end.unwrap();
    }
    assert_eq!(tokens.requests().len(), 1);
    let seen = tokens.request(0).await;
    assert_eq!((&*seen.method, &*seen.path), ("POST", "/token"));
    let type_ = "application/x-www-form-urlencoded";
    assert_eq!(seen.header("content-type"), Some(type_));
    let form = seen.text();
    let [("grant_type", grant), ("assertion", assertion)] = fields(&form)[..] else {
        panic!("{form}");
    };
    assert_eq!(
        grant,
        "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    );
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert!(key::has_signed(signed, &signature));
    let parts: Vec<Value> = signed
        .split('.')
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    assert_eq!(
        parts[0],
        json!({ "alg": "RS256", "kid": "key-id", "typ": "JWT" })
    );
    assert_eq!(
        parts[1]["iss"],
        "jackfield@my-project.iam.gserviceaccount.com"
    );
    assert_eq!(parts[1]["aud"], format!("{}/token", tokens.base_url()));
    assert_eq!(
        parts[1]["scope"],
        "https://www.googleapis.com/auth/cloud-platform"
    );
    let lifetime = parts[1]["exp"].as_u64().unwrap() - parts[1]["iat"].as_u64().unwrap();
    assert_eq!(lifetime, 3600);
    for nth in 0..2 {
        let asked = server.request(nth).await;
        assert_eq!(
            asked.path,
            "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
        );
        assert_eq!(asked.header("authorization"), Some("Bearer token-1"));
        assert_eq!(asked.header("x-goog-user-project"), None);
    }
}

#[tokio::test]
async fn a_person_signs_in_and_names_who_pays() {
    let (tokens, server) = (TestServer::start().await, TestServer::start().await);
    tokens.answer(token("token-1"));
    server.answer(reply());
    let (_, end) = ask(&with(&user(&tokens), &server), &request(MODEL)).await;
    end.unwrap();
    let form = tokens.request(0).await.text();
    assert_eq!(
        fields(&form),
        [
            ("grant_type", "refresh_token"),
            ("client_id", "client.apps"),
            ("client_secret", "secret+of+the+client"),
            ("refresh_token", "1%2F%2Frefresh%2Btoken"),
        ]
    );
    let asked = server.request(0).await;
    assert_eq!(asked.header("authorization"), Some("Bearer token-1"));
    assert_eq!(asked.header("x-goog-user-project"), Some("paying"));
}

/// The adapter does not ask again; the loop does, and then there is a new token.
#[tokio::test]
async fn a_kept_token_that_is_refused_is_renewed_for_the_next_attempt() {
    let (tokens, server) = (TestServer::start().await, TestServer::start().await);
    tokens.answer(token("token-1"));
    tokens.answer(token("token-2"));
    server.answer(reply());
    server.answer(unauthenticated("token-1"));
    server.answer(unauthenticated("token-2"));
    let model = with(&account(&tokens), &server);
    ask(&model, &request(MODEL)).await.1.unwrap();
    let refused = failure(&model).await;
    assert_eq!(refused.kind, ModelFailureKind::Unauthenticated);
    assert_eq!(refused.advice, RetryAdvice::AtOnce);
    assert!(!refused.message.contains("token-1"), "{}", refused.message);
    // A new token that is refused is no reason for another.
    let refused = failure(&model).await;
    assert_eq!(refused.advice, RetryAdvice::Never);
    assert!(
        refused.message.contains("gcloud auth"),
        "{}",
        refused.message
    );
    assert!(!refused.message.contains("token-2"), "{}", refused.message);
    let sent = server.request(2).await;
    assert_eq!(sent.header("authorization"), Some("Bearer token-2"));
}

#[tokio::test]
async fn the_metadata_server_is_asked_for_the_account_of_the_machine() {
    let (metadata, server) = (TestServer::start().await, TestServer::start().await);
    metadata.answer(token("token-1").header("metadata-flavor", "Google"));
    server.answer(reply());
    let host = metadata.base_url().replace("http://", "");
    let model = at(Credentials::Metadata { host }, &server);
    ask(&model, &request(MODEL)).await.1.unwrap();
    let seen = metadata.request(0).await;
    assert_eq!(
        seen.path,
        "/computeMetadata/v1/instance/service-accounts/default/token"
    );
    assert_eq!(seen.header("metadata-flavor"), Some("Google"));
    let asked = server.request(0).await;
    assert_eq!(asked.header("authorization"), Some("Bearer token-1"));
}

/// Other clouds have another server at the same address.
#[tokio::test]
async fn without_credentials_the_ways_to_some_are_named() {
    let (metadata, server) = (TestServer::start().await, TestServer::start().await);
    metadata.answer(token("of another cloud"));
    let host = metadata.base_url().replace("http://", "");
    let failure = failure(&at(Credentials::Metadata { host }, &server)).await;
    assert_eq!(failure.kind, ModelFailureKind::Unauthenticated);
    assert_eq!(failure.phase, Phase::BeforeSend);
    assert!(
        failure
            .message
            .contains("gcloud auth application-default login")
    );
    assert!(failure.message.contains("GOOGLE_APPLICATION_CREDENTIALS"));
    assert_eq!(server.requests().len(), 0);
}

/// What the server for tokens refuses (RFC 6749; Google Identity documentation, 2026-11).
#[tokio::test]
async fn a_refused_exchange_says_what_to_do() {
    let expired = json!({ "error": "invalid_grant", "error_description": "Token has been expired or revoked: 1//refresh+token" });
    let signature =
        json!({ "error": "invalid_grant", "error_description": "Invalid JWT Signature." });
    let later = json!({ "error": "internal_failure" });
    for (is_user, status, body, kind, says) in [
        (
            true,
            400,
            &expired,
            ModelFailureKind::Unauthenticated,
            "sign in again",
        ),
        (
            false,
            400,
            &signature,
            ModelFailureKind::Unauthenticated,
            "Invalid JWT Signature.",
        ),
        (false, 503, &later, ModelFailureKind::ServerError, "503"),
        (
            false,
            200,
            &later,
            ModelFailureKind::ProtocolViolation,
            "something else than a token",
        ),
    ] {
        let (tokens, server) = (TestServer::start().await, TestServer::start().await);
        tokens.answer(Response::json(status, body.to_string()));
        let file = if is_user {
            user(&tokens)
        } else {
            account(&tokens)
        };
        let failure = failure(&with(&file, &server)).await;
        assert_eq!((failure.kind, failure.phase), (kind, Phase::BeforeSend));
        assert!(failure.message.contains(says), "{}", failure.message);
        assert!(
            !failure.message.contains("refresh+token"),
            "{}",
            failure.message
        );
        assert_eq!(server.requests().len(), 0);
    }
}

#[test]
fn other_files_are_refused_without_being_quoted() {
    for (file, says) in [
        (
            r#"{"type":"external_account","audience":"x"}"#,
            "external_account",
        ),
        (
            r#"{"type":"service_account","private_key":"secret"}"#,
            "not a file of credentials",
        ),
        ("secret", "not a file of credentials"),
    ] {
        let error = Credentials::parse(file.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

/// A file may not send its secrets over the network without encryption.
#[tokio::test]
async fn an_address_without_encryption_is_refused() {
    let (tokens, server) = (TestServer::start().await, TestServer::start().await);
    let file = account(&tokens).replace(&tokens.base_url(), "http://tokens.example");
    let failure = failure(&with(&file, &server)).await;
    assert!(failure.message.contains("token_uri"), "{}", failure.message);
}
