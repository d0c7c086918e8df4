//! What Bedrock answers, and what it means: bodies of the user guide's pages on troubleshooting, of the service model
//! and of reports in public issues (2026-11).

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_provider_bedrock::config::BedrockConfig;
use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::bedrock::frame;
use serde_json::json;

use crate::harness::{connect, event};
use crate::requests::{ask, request};

/// A status, the error's name, its message, the kind of the failure, and a part of its text.
type Answer = (
    u16,
    &'static str,
    &'static str,
    ModelFailureKind,
    &'static str,
);

const LONG: ModelFailureKind = ModelFailureKind::ContextTooLong {
    limit: None,
    requested: None,
};

const ANSWERS: &[Answer] = &[
    // A wrong key.
    (
        403,
        "AccessDeniedException",
        "Invalid API Key format: Must start with pre-defined prefix",
        ModelFailureKind::Unauthenticated,
        "Set AWS_BEARER_TOKEN_BEDROCK",
    ),
    (
        403,
        "AccessDeniedException",
        "Authentication failed: Please make sure your API Key is valid.",
        ModelFailureKind::Unauthenticated,
        "Set AWS_BEARER_TOKEN_BEDROCK",
    ),
    (
        403,
        "AccessDeniedException",
        "Bearer Token has expired",
        ModelFailureKind::Unauthenticated,
        "Get a new key",
    ),
    (
        403,
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
        ModelFailureKind::Unauthenticated,
        "AWS_SESSION_TOKEN",
    ),
    (
        403,
        "ExpiredTokenException",
        "The security token included in the request is expired",
        ModelFailureKind::Unauthenticated,
        "temporary keys have expired",
    ),
    (
        403,
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
        ModelFailureKind::Unauthenticated,
        "AWS_SECRET_ACCESS_KEY",
    ),
    (
        403,
        "InvalidSignatureException",
        "Signature expired: 20261126T101010Z is now earlier than 20261126T123456Z (20261126T123956Z - 5 min.)",
        ModelFailureKind::Unauthenticated,
        "The clock of this machine is wrong",
    ),
    (
        403,
        "InvalidSignatureException",
        "Credential should be scoped to a valid region.",
        ModelFailureKind::Unauthenticated,
        "Set `region`",
    ),
    // A key without the permission.
    (
        403,
        "AccessDeniedException",
        "User: arn:aws:iam::123456789012:user/ada is not authorized to perform: bedrock:InvokeModelWithResponseStream on resource: arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0",
        ModelFailureKind::Forbidden,
        "in IAM",
    ),
    (
        403,
        "AccessDeniedException",
        "You don't have access to the model with the specified model ID.",
        ModelFailureKind::Forbidden,
        "Model access",
    ),
    // A model that is not there, or not in this region.
    (
        400,
        "ValidationException",
        "The provided model identifier is invalid.",
        ModelFailureKind::ModelNotFound,
        "that this region has it",
    ),
    (
        400,
        "ValidationException",
        "Invocation of model ID anthropic.claude-sonnet-4-5-20250929-v1:0 with on-demand throughput isn\u{2019}t supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
        ModelFailureKind::ModelNotFound,
        "`us.`",
    ),
    (
        404,
        "ResourceNotFoundException",
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
        ModelFailureKind::ModelNotFound,
        "still offers it",
    ),
    (
        404,
        "UnknownOperationException",
        "",
        ModelFailureKind::InvalidRequest,
        "Is base_url right?",
    ),
    // A request that does not fit.
    (
        400,
        "ValidationException",
        "Input is too long for requested model.",
        LONG,
        "too long",
    ),
    (
        400,
        "ValidationException",
        "The model returned the following errors: prompt is too long: 209000 tokens > 200000 maximum",
        ModelFailureKind::ContextTooLong {
            limit: Some(200_000),
            requested: Some(209_000),
        },
        "too long",
    ),
    (
        400,
        "ValidationException",
        "The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum tokens value that is lower than 2048.",
        ModelFailureKind::InvalidRequest,
        "settings.max_output_tokens",
    ),
    (
        400,
        "ValidationException",
        "This model doesn't support tool use in streaming mode.",
        ModelFailureKind::ToolsUnsupported,
        "tools = \"text\"",
    ),
    (
        400,
        "ValidationException",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        ModelFailureKind::InvalidRequest,
        "must start",
    ),
    // The server.
    (
        408,
        "ModelTimeoutException",
        "Model has timed out in processing the request. Try your request again.",
        ModelFailureKind::Timeout,
        "timed out",
    ),
    (
        424,
        "ModelErrorException",
        "The system encountered an unexpected error during processing. Try your request again.",
        ModelFailureKind::ServerError,
        "unexpected error",
    ),
    (
        429,
        "ModelNotReadyException",
        "Model is not ready for inference. Wait and try your request again.",
        ModelFailureKind::Overloaded,
        "not ready",
    ),
    (
        503,
        "ServiceUnavailableException",
        "Bedrock is unable to process your request.",
        ModelFailureKind::Overloaded,
        "unable",
    ),
    // The quota.
    (
        429,
        "ThrottlingException",
        "Too many tokens, please wait before trying again.",
        ModelFailureKind::RateLimited,
        "Service Quotas",
    ),
];

#[tokio::test]
async fn errors_say_what_to_do() {
    for (status, name, message, kind, says) in ANSWERS.iter().copied() {
        let failure = failure(answer(status, name, message)).await;
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert_eq!(failure.advice, kind.default_advice(), "{failure:?}");
        assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
        assert!(failure.message.contains(says), "{failure:?}");
        assert!(failure.message.contains(name), "{failure:?}");
    }
}

#[tokio::test]
async fn the_quota_of_a_day_does_not_come_back_with_a_pause() {
    let words = "Too many tokens per day, please wait before trying again.";
    let failure = failure(answer(429, "ThrottlingException", words)).await;
    assert_eq!(failure.kind, ModelFailureKind::RateLimited);
    assert_eq!(failure.advice, RetryAdvice::Never);
    assert!(failure.message.contains("tomorrow"), "{failure:?}");
}

/// Services in front name the error in the body.
#[tokio::test]
async fn the_name_of_an_error_may_stand_in_its_body() {
    let body =
        json!({ "__type": "com.amazon.coral.service#ExpiredTokenException", "Message": "expired" });
    let failure = failure(Response::json(403, body.to_string())).await;
    assert_eq!(failure.kind, ModelFailureKind::Unauthenticated);
    assert!(
        failure
            .message
            .starts_with("expired (403, ExpiredTokenException)"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn an_exception_within_a_stream_may_be_tried_again() {
    let payload = json!({
        "message": "The system encountered an unexpected error during processing.",
        "originalStatusCode": 529,
        "originalMessage": "Overloaded",
    });
    let piece = json!({ "contentBlockIndex": 0, "delta": { "text": "Hel" } });
    let response = stream()
        .send(event("messageStart", &json!({ "role": "assistant" })))
        .send(event("contentBlockDelta", &piece))
        .send(frame::exception(
            "modelStreamErrorException",
            &payload.to_string(),
        ));
    let failure = failure(response).await;
    assert_eq!(failure.kind, ModelFailureKind::ServerError);
    assert_eq!(failure.advice, RetryAdvice::Backoff);
    assert_eq!(failure.phase, Phase::MidReply);
    assert!(failure.message.contains("Overloaded"), "{failure:?}");
}

#[tokio::test]
async fn an_exception_of_an_unknown_name_is_one_of_the_server() {
    let response = stream().send(frame::exception("moodException", "not JSON"));
    let failure = failure(response).await;
    assert_eq!(failure.kind, ModelFailureKind::ServerError);
    assert_eq!(failure.phase, Phase::BeforeFirstDelta);
}

#[tokio::test]
async fn a_damaged_stream_is_a_violation() {
    let mut frame = frame::event("messageStart", "{\"role\":\"assistant\"}");
    *frame.last_mut().unwrap() ^= 1;
    let failure = failure(stream().send(frame)).await;
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
    assert!(failure.message.contains("damaged frame"), "{failure:?}");
}

/// Known to the service model since 2026, as reasons to end.
#[tokio::test]
async fn a_call_that_the_server_cannot_read_is_an_unusable_reply() {
    for reason in ["malformed_model_output", "malformed_tool_use"] {
        let response = stream()
            .send(event("messageStart", &json!({ "role": "assistant" })))
            .send(event("messageStop", &json!({ "stopReason": reason })))
            .send(event(
                "metadata",
                &json!({ "usage": { "inputTokens": 1, "outputTokens": 1 } }),
            ));
        let failure = failure(response).await;
        assert_eq!(failure.kind, ModelFailureKind::UnusableReply);
        assert_eq!(failure.advice, RetryAdvice::Backoff);
        assert!(failure.message.contains(reason), "{failure:?}");
    }
}

fn stream() -> Response {
    Response::new(200).header("content-type", "application/vnd.amazon.eventstream")
}

fn answer(status: u16, name: &str, message: &str) -> Response {
    Response::json(status, json!({ "message": message }).to_string()).header(
        "x-amzn-errortype",
        format!("{name}:http://internal.amazon.com/coral/com.amazon.bedrock/"),
    )
}

async fn failure(response: Response) -> ModelFailure {
    let server = TestServer::start().await;
    server.answer(response);
    let model = connect(BedrockConfig::new(&server.base_url()).unwrap());
    let (_, end) = ask(&model, &request()).await;
    end.unwrap_err().failure
}
