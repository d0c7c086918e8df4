//! What Vertex AI refuses, and what to do about it: bodies of its documentation and of issues (2026-11).

use jackfield_domain::failure::ModelFailureKind;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_testkit::server::{Response, TestServer};
use serde_json::json;

use super::PLACE;
use crate::harness::{MODEL, connect};
use crate::requests::{ask, request};

#[tokio::test]
async fn errors_say_what_to_do() {
    for (status, name, reason, message, kind, says) in [
        (
            401,
            "UNAUTHENTICATED",
            "CREDENTIALS_MISSING",
            "API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that assert a principal.",
            ModelFailureKind::Unauthenticated,
            "gcloud auth application-default login",
        ),
        (
            403,
            "PERMISSION_DENIED",
            "SERVICE_DISABLED",
            "Vertex AI API has not been used in project my-project before or it is disabled.",
            ModelFailureKind::Forbidden,
            "gcloud services enable aiplatform.googleapis.com",
        ),
        (
            403,
            "PERMISSION_DENIED",
            "IAM_PERMISSION_DENIED",
            "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.8-flash' (or it may not exist).",
            ModelFailureKind::Forbidden,
            "roles/aiplatform.user",
        ),
        (
            403,
            "PERMISSION_DENIED",
            "SERVICE_DISABLED_BY_NONE",
            "Your application is authenticating by using local Application Default Credentials. The aiplatform.googleapis.com API requires a quota project, which is not set by default.",
            ModelFailureKind::Forbidden,
            "set-quota-project",
        ),
        (
            403,
            "PERMISSION_DENIED",
            "BILLING_DISABLED",
            "This API method requires billing to be enabled.",
            ModelFailureKind::Forbidden,
            "Enable billing",
        ),
        (
            404,
            "NOT_FOUND",
            "",
            "Publisher Model `projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.8-flash` was not found or your project does not have access to it.",
            ModelFailureKind::ModelNotFound,
            "set `location` to one that has the model",
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "",
            "Resource exhausted. Please try again later.",
            ModelFailureKind::RateLimited,
            "`global`",
        ),
    ] {
        let info = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com" }]);
        let details = if reason.is_empty() { json!([]) } else { info };
        let body = json!({ "error": { "code": status, "message": message, "status": name, "details": details } });
        let server = TestServer::start().await;
        server.answer(Response::json(status, body.to_string()));
        let config = GeminiConfig::at_vertex(PLACE, Some(&server.base_url())).unwrap();
        let (_, end) = ask(&connect(config), &request(MODEL)).await;
        let failure = end.unwrap_err().failure;
        assert_eq!(failure.kind, kind, "{message}");
        assert!(failure.message.contains(says), "{}", failure.message);
        assert!(!failure.message.contains("aistudio"), "{}", failure.message);
    }
}
