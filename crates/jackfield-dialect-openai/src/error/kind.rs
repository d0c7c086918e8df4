//! What happened, by what an error is called.

use jackfield_dialect_kit::failure::by_status;
use jackfield_domain::failure::ModelFailureKind as Kind;

use super::ErrorDetail;

/// By the code first, which is most exact; then by the type; then by the status.
pub(super) fn of(status: Option<u16>, detail: &ErrorDetail) -> Kind {
    if is_out_of_money(detail) {
        return Kind::Forbidden;
    }
    let code = detail.code.as_deref().unwrap_or_default();
    let named = by_name(code).or_else(|| by_name(&detail.kind));
    let kind = match named {
        Some(kind) => kind,
        None => match status.or_else(|| status_in(code)) {
            Some(status) => by_status(status),
            None if is_about_the_request(&detail.kind) || is_about_the_request(code) => {
                Kind::InvalidRequest
            }
            None => Kind::Overloaded,
        },
    };
    let (limit, requested) = counts(detail);
    // vLLM has no code for it.
    let too_long = limit.is_some() && requested > limit;
    if matches!(kind, Kind::ContextTooLong { .. })
        || (matches!(kind, Kind::InvalidRequest) && too_long)
    {
        return Kind::ContextTooLong { limit, requested };
    }
    kind
}

/// A limit of money: it is told as a rate limit, but does not pass with time.
pub(super) fn is_out_of_money(detail: &ErrorDetail) -> bool {
    let names = [detail.code.as_deref().unwrap_or_default(), &detail.kind];
    names.iter().any(|name| OUT_OF_MONEY.contains(name))
}

const OUT_OF_MONEY: &[&str] = &[
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_quota",
];

/// Codes and types; those that say no more than `bad request` are left to the status.
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
        // Why a response failed that had begun, and why a request is never answered.
        "bio_policy"
        | "content_filter"
        | "content_policy_violation"
        | "data_residency_mismatch"
        | "empty_image_file"
        | "failed_to_download_image"
        | "image_content_policy_violation"
        | "image_file_not_found"
        | "image_file_too_large"
        | "image_parse_error"
        | "image_too_large"
        | "image_too_small"
        | "misalignment_policy_violation"
        | "unsupported_image_media_type" => Kind::InvalidRequest,
        "InternalServerError"
        | "engine_overloaded"
        | "insufficient_system_resource"
        | "overloaded"
        | "overloaded_error"
        | "server_error"
        | "server_is_overloaded"
        | "service_unavailable"
        | "slow_down"
        | "unavailable_error"
        | "vector_store_timeout" => Kind::Overloaded,
        "request_timeout" | "timeout" | "timeout_error" => Kind::Timeout,
        _ => return None,
    };
    Some(kind)
}

/// Whether a name says that the request is at fault, and no more.
fn is_about_the_request(name: &str) -> bool {
    name == "BadRequestError" || name.starts_with("invalid_") || name.starts_with("unsupported_")
}

/// A code that is a status: of llama.cpp, vLLM and OpenRouter.
fn status_in(code: &str) -> Option<u16> {
    let status = code.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}

/// How many tokens fit and how many the request has, as far as the error says so.
///
/// Read from the words where there are no fields: a hint and no more. Where the words change, the failure
/// is told without the numbers.
fn counts(detail: &ErrorDetail) -> (Option<u64>, Option<u64>) {
    let after = |words: &[&str]| words.iter().find_map(|words| number_after(detail, words));
    let limit = detail
        .n_ctx
        .or_else(|| after(&["maximum context length is ", "maximum model length of "]));
    let requested = detail.n_prompt_tokens.or_else(|| {
        after(&[
            "you requested ",
            "messages resulted in ",
            "input resulted in ",
            "(length ",
        ])
    });
    (limit, requested)
}

fn number_after(detail: &ErrorDetail, words: &str) -> Option<u64> {
    let (_, rest) = detail.message.split_once(words)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest.split_at_checked(end.unwrap_or(rest.len()))?
        .0
        .parse()
        .ok()
}
