//! What a user of Vertex AI can do about an error (Vertex AI documentation, "API errors" and "Access control", 2026-11).

use jackfield_domain::failure::ModelFailureKind;

use super::reason;
use crate::wire::ErrorDetail;

/// Advice for the user, where it differs from that of the Gemini API.
pub(super) fn way_out(kind: ModelFailureKind, detail: &ErrorDetail) -> Option<&'static str> {
    let words = detail.message.to_ascii_lowercase();
    if kind == ModelFailureKind::Unauthenticated {
        return Some(
            "Sign in again with `gcloud auth application-default login`, or check GOOGLE_APPLICATION_CREDENTIALS.",
        );
    }
    if kind == ModelFailureKind::ModelNotFound {
        return Some(
            "Check the name and the `project`, and set `location` to one that has the model: newer ones are in \
             `global` first.",
        );
    }
    if detail.status.as_deref() == Some("RESOURCE_EXHAUSTED") {
        return Some("Try later, set `location` to `global`, or ask for more quota of this model.");
    }
    if kind != ModelFailureKind::Forbidden {
        return None;
    }
    let way = match reason(detail) {
        Some("BILLING_DISABLED") => "Enable billing for the project.",
        Some("CONSUMER_INVALID" | "RESOURCE_PROJECT_INVALID") => {
            "Check `project`: it is the id of a project, and not its name."
        }
        Some("SERVICE_DISABLED") => {
            "Enable the API with `gcloud services enable aiplatform.googleapis.com`, and wait some minutes."
        }
        _ if words.contains("quota project") => {
            "Name the project that pays: `gcloud auth application-default set-quota-project PROJECT`."
        }
        _ if words.contains("permission") || words.contains("access") => {
            "Give the account the role `roles/aiplatform.user` in the project, and check `project`."
        }
        _ => return None,
    };
    Some(way)
}
