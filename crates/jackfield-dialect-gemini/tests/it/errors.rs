//! The vendor's errors, and what they mean for a request and for a target.

use std::time::Duration;

use jackfield_dialect_gemini::error;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::routing::{Fault, FaultScope};
use serde_json::{Value, json};

fn classified(status: u16, name: &str, message: &str, details: &Value) -> ModelFailure {
    let body = json!({ "error": {
        "code": status,
        "message": message,
        "status": name,
        "details": details,
    } });
    let body = body.to_string();
    error::classify(status, |_| None, body.as_bytes(), Phase::BeforeFirstDelta)
}

fn info(reason: &str) -> Value {
    json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason }])
}

#[test]
fn every_documented_error_has_its_kind_and_its_fault() {
    let account = Fault::Down(FaultScope::Account);
    let cases: &[(u16, &str, &str, Value, Kind, Fault)] = &[
        (
            400,
            "INVALID_ARGUMENT",
            "Invalid value at 'contents'",
            json!([]),
            Kind::InvalidRequest,
            Fault::Client,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            info("API_KEY_INVALID"),
            Kind::Unauthenticated,
            account,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "API key expired. Please renew the API key.",
            json!([]),
            Kind::Unauthenticated,
            account,
        ),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            json!([]),
            Kind::Forbidden,
            account,
        ),
        (
            403,
            "PERMISSION_DENIED",
            "Your API key was reported as leaked.",
            json!([]),
            Kind::Forbidden,
            account,
        ),
        (
            404,
            "NOT_FOUND",
            "models/x is not found for API version v1beta",
            json!([]),
            Kind::ModelNotFound,
            Fault::Down(FaultScope::Model),
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Your prepayment credits are depleted.",
            json!([]),
            Kind::Forbidden,
            account,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "No capacity available for the model on the server",
            info("MODEL_CAPACITY_EXHAUSTED"),
            Kind::Overloaded,
            Fault::Transient,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Resource has been exhausted (e.g. check quota).",
            json!([]),
            Kind::RateLimited,
            Fault::Transient,
        ),
        (
            499,
            "CANCELLED",
            "The operation was cancelled.",
            json!([]),
            Kind::Interrupted,
            Fault::Transient,
        ),
        (
            500,
            "INTERNAL",
            "An internal error has occurred.",
            json!([]),
            Kind::ServerError,
            Fault::Transient,
        ),
        (
            503,
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
            json!([]),
            Kind::Overloaded,
            Fault::Transient,
        ),
        (
            504,
            "DEADLINE_EXCEEDED",
            "The service is unable to finish processing within the deadline.",
            json!([]),
            Kind::Timeout,
            Fault::Transient,
        ),
    ];
    for (status, name, message, details, kind, fault) in cases {
        let failure = classified(*status, name, message, details);
        assert_eq!(failure.kind, *kind, "{message}");
        assert_eq!(Fault::of(failure.kind), *fault, "{message}");
    }
}

#[test]
fn a_rate_limit_names_its_pause_and_a_used_up_quota_none() {
    let retry =
        json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s" });
    let quota = |id: &str, value: &str| {
        json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{ "quotaId": id, "quotaValue": value }],
        })
    };
    let advice = |details: Value| {
        let message = "You exceeded your current quota.";
        classified(429, "RESOURCE_EXHAUSTED", message, &details).advice
    };
    let minute = quota("GenerateRequestsPerMinutePerProjectPerModel", "5");
    let pause = RetryAdvice::After(Duration::from_millis(34_500));
    assert_eq!(advice(json!([minute, retry])), pause);
    let day = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "20");
    assert_eq!(advice(json!([day, retry])), RetryAdvice::Never);
    let none = quota("GenerateRequestsPerMinutePerProjectPerModel", "0");
    assert_eq!(advice(json!([none, retry])), RetryAdvice::Never);
}
