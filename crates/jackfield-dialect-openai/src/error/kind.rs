//! The kind of a failure, by the names in an error.

use jackfield_dialect_kit::error_patterns;
use jackfield_dialect_kit::failure::by_status;
use jackfield_domain::failure::ModelFailureKind as Kind;

use super::ErrorDetail;

/// Checks the code first, which is the most specific, then the type, then the status.
pub(super) fn of(status: Option<u16>, detail: &ErrorDetail) -> Kind {
    if is_out_of_money(detail) {
        return Kind::Forbidden;
    }
    let code = detail.code.as_deref().unwrap_or_default();
    let named = by_name(code).or_else(|| by_name(&detail.kind));
    let status = status.or_else(|| status_in(code));
    let kind = match (named, status) {
        // A name that says only that the server is at fault; some servers send it with every status (Ollama: 400
        // `api_error`, 2026).
        (Some(Kind::ServerError), Some(status)) => by_status(status),
        (Some(kind), _) => kind,
        (None, Some(status)) => by_status(status),
        (None, None) if is_about_the_request(&detail.kind) || is_about_the_request(code) => {
            Kind::InvalidRequest
        }
        (None, None) => Kind::ServerError,
    };
    let kind = error_patterns::kind(kind, &detail.message);
    if let Kind::ContextTooLong { limit, requested } = kind {
        return Kind::ContextTooLong {
            limit: detail.n_ctx.or(limit),
            requested: detail.n_prompt_tokens.or(requested),
        };
    }
    kind
}

/// A spending limit: reported as a rate limit, but it does not end with time.
pub(super) fn is_out_of_money(detail: &ErrorDetail) -> bool {
    let names = [detail.code.as_deref().unwrap_or_default(), &detail.kind];
    names.iter().any(|name| OUT_OF_MONEY.contains(name))
}

const OUT_OF_MONEY: &[&str] = &[
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_quota",
];

/// The kind for a code or type; names that mean only a bad request are left to the status.
fn by_name(name: &str) -> Option<Kind> {
    let kind = match name {
        "context_length_exceeded" | "exceed_context_size_error" => Kind::ContextTooLong {
            limit: None,
            requested: None,
        },
        "account_deactivated"
        | "permission_denied"
        | "permission_error"
        | "unsupported_country_region_territory" => Kind::Forbidden,
        "authentication_error"
        | "invalid_api_key"
        | "invalid_authentication"
        | "invalid_organization" => Kind::Unauthenticated,
        "NotFoundError" | "deployment_not_found" | "model_not_found" | "not_found_error" => {
            Kind::ModelNotFound
        }
        "rate_limit_error" | "rate_limit_exceeded" | "rate_limit_reached" => Kind::RateLimited,
        "bio_policy"
        | "content_filter"
        | "content_policy_violation"
        | "image_content_policy_violation"
        | "misalignment_policy_violation" => Kind::ContentFilter,
        // Reasons for the failure of a started response, and refusals that are permanent.
        "data_residency_mismatch"
        | "empty_image_file"
        | "failed_to_download_image"
        | "image_file_not_found"
        | "image_file_too_large"
        | "image_parse_error"
        | "image_too_large"
        | "image_too_small"
        | "unsupported_image_media_type" => Kind::InvalidRequest,
        "engine_overloaded"
        | "insufficient_system_resource"
        | "overloaded"
        | "overloaded_error"
        | "server_is_overloaded"
        | "slow_down" => Kind::Overloaded,
        "InternalServerError"
        | "api_error"
        | "server_error"
        | "service_unavailable"
        | "unavailable_error"
        | "vector_store_timeout" => Kind::ServerError,
        "request_too_large" => Kind::TooLarge,
        // Groq: the model's tool call was malformed (console.groq.com, tool use, 2026-11).
        "tool_use_failed" => Kind::UnusableReply,
        "request_timeout" | "timeout" | "timeout_error" => Kind::Timeout,
        _ => return None,
    };
    Some(kind)
}

/// Whether a name says only that the request is at fault.
fn is_about_the_request(name: &str) -> bool {
    name == "BadRequestError" || name.starts_with("invalid_") || name.starts_with("unsupported_")
}

/// A code that is a status, as sent by llama.cpp, vLLM and OpenRouter.
fn status_in(code: &str) -> Option<u16> {
    let status = code.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}
