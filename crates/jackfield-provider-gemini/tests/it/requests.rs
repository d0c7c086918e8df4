//! What is sent, and what becomes of the vendor's errors.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::message::Message;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_provider_kit::secret::Secret;
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, VendorReply, WireReply};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use serde_json::json;

use crate::harness::{GeminiHarness, MODEL, connect};

#[tokio::test]
async fn a_request_names_its_model_in_the_address_and_its_key_in_a_header() {
    let seen = sent(MODEL, "", false).await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        (
            "POST",
            "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
        )
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("x-goog-api-key"), Some("key-1"));
    assert_eq!(
        seen.json(),
        json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] })
    );
}

#[tokio::test]
async fn what_nobody_reads_along_is_asked_for_in_one_piece() {
    let seen = sent(MODEL, "", true).await;
    assert_eq!(seen.path, "/v1beta/models/gemini-3.8-flash:generateContent");
}

#[tokio::test]
async fn a_name_of_a_model_stays_in_its_place_of_the_address() {
    let seen = sent("models/odd/../name?key=1", "", false).await;
    assert_eq!(
        seen.path,
        "/v1beta/models/odd%2F..%2Fname%3Fkey%3D1:streamGenerateContent?alt=sse"
    );
}

#[tokio::test]
async fn the_version_of_the_api_may_end_the_base_url() {
    for path in ["/proxy", "/proxy/", "/proxy/v1beta", "/proxy/v1beta/"] {
        let seen = sent(MODEL, path, true).await;
        let expected = "/proxy/v1beta/models/gemini-3.8-flash:generateContent";
        assert_eq!(seen.path, expected, "{path}");
    }
}

#[tokio::test]
async fn a_list_of_fragments_is_a_reply() {
    let server = TestServer::start().await;
    let one = json!([
        { "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Hel" }] } }] },
        { "candidates": [{ "content": { "role": "model", "parts": [{ "text": "lo" }] }, "finishReason": "STOP" }] },
    ]);
    server.answer(Response::json(200, one.to_string()));
    let model = connect(GeminiConfig::new(&server.base_url()).unwrap());
    let (deltas, end) = ask(&model, &request(MODEL)).await;
    end.unwrap();
    let said: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::TextAppended { text, .. } => Some(&**text),
            _ => None,
        })
        .collect();
    assert_eq!(said, "Hello");
}

/// Bodies of the vendor's documentation and of issues (2026-11), with what each means.
#[tokio::test]
async fn errors_say_what_to_do() {
    let info = |reason: &str| json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com" }]);
    let quota = |id: &str, delay: &str| {
        json!([
            { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{ "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": id, "quotaValue": "50" }] },
            { "@type": "type.googleapis.com/google.rpc.Help", "links": [] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
        ])
    };
    let none = || json!([]);
    let long = ModelFailureKind::ContextTooLong {
        limit: Some(1_048_576),
        requested: Some(1_200_000),
    };
    for (status, name, message, details, kind, advice, says) in [
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            info("API_KEY_INVALID"),
            ModelFailureKind::Unauthenticated,
            RetryAdvice::Never,
            "aistudio.google.com/apikey",
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "API key expired. Please renew the API key.",
            none(),
            ModelFailureKind::Unauthenticated,
            RetryAdvice::Never,
            "aistudio.google.com/apikey",
        ),
        (
            404,
            "NOT_FOUND",
            "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.",
            none(),
            ModelFailureKind::ModelNotFound,
            RetryAdvice::Never,
            "jackfield models",
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            none(),
            long,
            RetryAdvice::Never,
            "exceeds the maximum",
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota.",
            quota(
                "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                "34.5s",
            ),
            ModelFailureKind::RateLimited,
            RetryAdvice::After(Duration::from_millis(34_500)),
            "exceeded your current quota",
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota.",
            quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "34s"),
            ModelFailureKind::RateLimited,
            RetryAdvice::Never,
            "used up",
        ),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            none(),
            ModelFailureKind::Forbidden,
            RetryAdvice::Never,
            "not offered in every region",
        ),
        (
            403,
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity).",
            none(),
            ModelFailureKind::Forbidden,
            RetryAdvice::Never,
            "unregistered callers",
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Function calling is not enabled for models/gemma-3-27b-it",
            none(),
            ModelFailureKind::ToolsUnsupported,
            RetryAdvice::Never,
            "Choose a model that calls functions",
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Request payload size exceeds the limit: 20971520 bytes.",
            none(),
            ModelFailureKind::TooLarge,
            RetryAdvice::Never,
            "payload size",
        ),
        (
            503,
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
            none(),
            ModelFailureKind::Overloaded,
            RetryAdvice::Backoff,
            "overloaded",
        ),
        (
            504,
            "DEADLINE_EXCEEDED",
            "The request timed out.",
            none(),
            ModelFailureKind::Timeout,
            RetryAdvice::Backoff,
            "timed out",
        ),
        (
            500,
            "INTERNAL",
            "An internal error has occurred.",
            none(),
            ModelFailureKind::ServerError,
            RetryAdvice::Backoff,
            "internal error",
        ),
    ] {
        let error = json!({ "error": { "code": status, "message": message, "status": name, "details": details } });
        // Some endpoints put it into a list.
        for body in [error.to_string(), json!([error]).to_string()] {
            let failure = failure(Response::json(status, body)).await;
            assert_eq!(failure.kind, kind, "{failure:?}");
            assert_eq!(failure.advice, advice, "{failure:?}");
            assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
            assert!(failure.message.contains(says), "{failure:?}");
        }
    }
}

#[tokio::test]
async fn a_call_that_the_vendor_cannot_parse_may_be_asked_for_again() {
    let body = json!({ "candidates": [{
        "finishReason": "MALFORMED_FUNCTION_CALL",
        "finishMessage": "Malformed function call: print(default_api.weather(",
        "index": 0,
    }] });
    let failure = failure(Response::json(200, body.to_string())).await;
    assert_eq!(failure.kind, ModelFailureKind::UnusableReply);
    assert_eq!(failure.advice, RetryAdvice::Backoff);
    assert!(
        failure.message.contains("default_api.weather"),
        "{failure:?}"
    );
}

async fn failure(response: Response) -> ModelFailure {
    let server = TestServer::start().await;
    server.answer(response);
    let model = connect(GeminiConfig::new(&server.base_url()).unwrap());
    let (_, end) = ask(&model, &request(MODEL)).await;
    end.unwrap_err().failure
}

/// The request for this model as it arrives, below this path.
async fn sent(model: &str, path: &str, whole: bool) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(events(
        &GeminiHarness
            .render(&VendorReply::text(&["hello"]))
            .unwrap(),
    ));
    let mut config = GeminiConfig::new(&format!("{}{path}", server.base_url())).unwrap();
    config.key = Some(Secret::new("key-1"));
    let request = ModelRequest {
        whole,
        ..request(model)
    };
    ask(&connect(config), &request).await.1.unwrap();
    server.request(0).await
}

pub(crate) fn events(wire: &WireReply) -> Response {
    let mut response = Response::new(wire.status);
    response.headers.clone_from(&wire.headers);
    wire.pieces.iter().cloned().fold(response, Response::send)
}

pub(crate) async fn ask(
    model: &Gemini,
    request: &ModelRequest,
) -> (Vec<Delta>, Result<ReplyEnd, ModelError>) {
    let mut deltas: Vec<Delta> = Vec::new();
    let end = model
        .reply(request, &CallContext::default(), &mut deltas)
        .await;
    (deltas, end)
}

pub(crate) fn request(model: &str) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("hi")].into_iter().collect(),
        model: ModelRef {
            model: model.into(),
            provider: "gemini".into(),
        },
        turn: None,
        settings: Arc::new(Settings::default()),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}
