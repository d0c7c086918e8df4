//! Clauses about failures before the first delta of a reply.

use std::time::Duration;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};

use super::super::bench::{Bench, KEY};
use super::super::{ChatModelHarness, ScriptedFailure, ScriptedFailureKind};
use crate::server::{RefusingPort, Response};

pub(in super::super) async fn rate_limit_reports_the_servers_delay<H: ChatModelHarness>(
    harness: &H,
) {
    let seven = Duration::from_secs(7);
    for (delay, advice) in [
        (Some(seven), RetryAdvice::After(seven)),
        (None, RetryAdvice::Backoff),
    ] {
        let failure = failure(harness, ScriptedFailureKind::RateLimited(delay)).await;
        assert_eq!(failure.kind, ModelFailureKind::RateLimited, "{failure:?}");
        assert_eq!(failure.advice, advice, "{failure:?}");
    }
}

pub(in super::super) async fn auth_failure_is_never_retryable<H: ChatModelHarness>(harness: &H) {
    for (scripted, kind) in [
        (
            ScriptedFailureKind::Unauthenticated,
            ModelFailureKind::Unauthenticated,
        ),
        (ScriptedFailureKind::Forbidden, ModelFailureKind::Forbidden),
    ] {
        let failure = failure(harness, scripted).await;
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert_eq!(failure.advice, RetryAdvice::Never, "{failure:?}");
    }
}

pub(in super::super) async fn refused_requests_are_never_retryable<H: ChatModelHarness>(
    harness: &H,
) {
    for (scripted, kind) in [
        (
            ScriptedFailureKind::InvalidRequest,
            ModelFailureKind::InvalidRequest,
        ),
        (
            ScriptedFailureKind::ModelNotFound,
            ModelFailureKind::ModelNotFound,
        ),
    ] {
        let failure = failure(harness, scripted).await;
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert_eq!(failure.advice, RetryAdvice::Never, "{failure:?}");
    }
}

pub(in super::super) async fn overload_is_retryable<H: ChatModelHarness>(harness: &H) {
    let failure = failure(harness, ScriptedFailureKind::Overloaded).await;
    assert_eq!(failure.kind, ModelFailureKind::Overloaded, "{failure:?}");
    assert_ne!(failure.advice, RetryAdvice::Never, "{failure:?}");
}

pub(in super::super) async fn server_errors_are_retryable<H: ChatModelHarness>(harness: &H) {
    let failure = failure(harness, ScriptedFailureKind::ServerError).await;
    assert_eq!(failure.kind, ModelFailureKind::ServerError, "{failure:?}");
    assert_ne!(failure.advice, RetryAdvice::Never, "{failure:?}");
    // Responses of gateways and load balancers in the provider's place.
    let bench = Bench::new(harness).await;
    for response in [
        Response::new(500),
        Response::text(502, "upstream connect error"),
        Response::html(
            503,
            "<html><h1>503 Service Temporarily Unavailable</h1></html>",
        ),
        Response::json(504, "{}"),
        Response::json(500, "{\"error\": \"cut o").cut_at(5),
    ] {
        let failure = bench.call(response).await.failure();
        assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
        assert_ne!(failure.advice, RetryAdvice::Never, "{failure:?}");
        assert!(
            matches!(
                failure.kind,
                ModelFailureKind::ServerError | ModelFailureKind::Timeout
            ),
            "{failure:?}"
        );
    }
}

pub(in super::super) async fn connect_failure_is_before_send<H: ChatModelHarness>(harness: &H) {
    let port = RefusingPort::reserve();
    let bench = Bench {
        model: harness.connect(&port.base_url(), KEY),
        ..Bench::new(harness).await
    };
    let failure = bench.call_with(&bench.request()).await.failure();
    assert_eq!(failure.kind, ModelFailureKind::Transport, "{failure:?}");
    assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
    assert_ne!(failure.advice, RetryAdvice::Never, "{failure:?}");
    assert!(
        failure.message.contains("127.0.0.1"),
        "the message has to name the host: {failure:?}"
    );
}

pub(in super::super) async fn html_instead_of_json_is_a_clear_failure<H: ChatModelHarness>(
    harness: &H,
) {
    let page = "<!DOCTYPE html>\n<html><head><title>Welcome to nginx!</title></head></html>";
    let bench = Bench::new(harness).await;
    for status in [200, 404, 405] {
        let failure = bench.call(Response::html(status, page)).await.failure();
        assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
        assert_eq!(failure.advice, RetryAdvice::Never, "{failure:?}");
        assert!(
            failure.message.contains("base_url") && !failure.message.contains("<html"),
            "the message has to name the setting, and not repeat the page: {failure:?}"
        );
    }
}

async fn failure<H: ChatModelHarness>(harness: &H, kind: ScriptedFailureKind) -> ModelFailure {
    let bench = Bench::new(harness).await;
    let wire = harness.render_failure(&ScriptedFailure::new(kind));
    let failure = bench.call(wire.response()).await.failure();
    assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
    failure
}
