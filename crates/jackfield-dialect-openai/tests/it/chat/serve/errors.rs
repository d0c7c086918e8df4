//! Every error in the vendor's form.

use std::fmt::Write as _;

use jackfield_dialect_kit::serve::{ReplyInfo, ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::error::classify;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use serde_json::Value;

const KINDS: [ModelFailureKind; 16] = [
    ModelFailureKind::ContentFilter,
    ModelFailureKind::ContextTooLong {
        limit: None,
        requested: None,
    },
    ModelFailureKind::Forbidden,
    ModelFailureKind::Interrupted,
    ModelFailureKind::InvalidRequest,
    ModelFailureKind::ModelNotFound,
    ModelFailureKind::Overloaded,
    ModelFailureKind::ProtocolViolation,
    ModelFailureKind::RateLimited,
    ModelFailureKind::ServerError,
    ModelFailureKind::Timeout,
    ModelFailureKind::TooLarge,
    ModelFailureKind::Transport,
    ModelFailureKind::Unauthenticated,
    ModelFailureKind::Unsupported,
    ModelFailureKind::UnusableReply,
];

fn failed(kind: ModelFailureKind) -> ServeErrorKind {
    let failure = ModelFailure::new(kind, Phase::BeforeFirstDelta, "why");
    ServeErrorKind::Model(failure.into())
}

#[test]
fn each_kind_has_a_status_a_type_and_a_code() {
    let mut table = String::new();
    for kind in ServeErrorKind::one_of_each() {
        let refused = ChatCompletions::new().error(&ServeError::new(kind.clone(), "why"), "req_1");
        let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
        let error = &body["error"];
        writeln!(
            table,
            "{:<28} {} {} {}",
            kind.code(),
            refused.status,
            error["type"],
            error["code"]
        )
        .expect("a string takes everything");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_place_and_the_words_are_told() {
    let error = ServeError::new(ServeErrorKind::Invalid, "messages: none").at("messages");
    let refused = ChatCompletions::new().error(&error, "req_1");
    let body = String::from_utf8(refused.body).expect("text");
    insta::assert_snapshot!(body, @r#"{"error":{"code":"invalid_request","type":"invalid_request_error","message":"messages: none","param":"messages"}}"#);
    // What only the log knows is found by the request's id.
    let error = ServeError::new(ServeErrorKind::Internal, "it failed");
    let refused = ChatCompletions::new().error(&error, "req_1");
    let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
    assert_eq!(body["error"]["message"], "it failed (request req_1)");
}

#[test]
fn when_to_come_again_is_told_where_it_is_known() {
    let mut failure = ModelFailure::new(ModelFailureKind::RateLimited, Phase::BeforeSend, "why");
    failure.advice = RetryAdvice::After(std::time::Duration::from_secs(3));
    for (kind, expected) in [
        (ServeErrorKind::TooMany { retry_after: 7 }, Some(7)),
        (ServeErrorKind::Model(failure.into()), Some(3)),
        (ServeErrorKind::Busy, None),
    ] {
        let refused = ChatCompletions::new().error(&ServeError::new(kind, "why"), "");
        assert_eq!(
            refused.retry_after,
            expected.map(std::time::Duration::from_secs)
        );
    }
}

#[test]
fn a_client_of_ours_takes_it_for_what_it_is() {
    for kind in KINDS {
        let refused = ChatCompletions::new().error(&ServeError::new(failed(kind), "why"), "");
        let read = classify(refused.status, |_| None, &refused.body, Phase::BeforeSend);
        let expected = match kind {
            // Nothing that the client could put right: it is the gateway that fails.
            ModelFailureKind::Forbidden
            | ModelFailureKind::Interrupted
            | ModelFailureKind::ProtocolViolation
            | ModelFailureKind::Transport
            | ModelFailureKind::Unauthenticated
            | ModelFailureKind::UnusableReply => ModelFailureKind::ServerError,
            ModelFailureKind::Unsupported => ModelFailureKind::InvalidRequest,
            kind => kind,
        };
        assert_eq!(read.kind, expected, "{kind:?}");
    }
}

#[test]
fn an_error_in_a_stream_is_the_last_that_is_told() {
    let mut encoder = ChatCompletions::new().encoder(&ReplyInfo::default());
    drop(encoder.begin());
    let error = ServeError::new(failed(ModelFailureKind::Overloaded), "why");
    let events = encoder.fail(&error, "req_1");
    assert_eq!(events.len(), 1);
    let body: Value = serde_json::from_str(&events[0].data).expect("JSON");
    assert_eq!(body["error"]["code"], "server_is_overloaded");
    assert_eq!(body["error"]["message"], "why");
}
