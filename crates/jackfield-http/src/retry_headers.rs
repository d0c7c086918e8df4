//! Retry headers of a refusal.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};

/// Sets when to retry: in whole seconds, rounded up, and in milliseconds, which the vendors' SDKs read first.
pub(crate) fn insert(headers: &mut HeaderMap, wait: Duration) {
    let millis = wait.as_millis();
    let number = |number: u128| HeaderValue::from(u64::try_from(number).unwrap_or(u64::MAX));
    headers.insert(RETRY_AFTER, number(millis.div_ceil(1_000).max(1)));
    headers.insert("retry-after-ms", number(millis));
}

/// The value of `x-should-retry`; `None` if the status already implies a retry. Without the header, SDKs decide
/// by the status.
pub(crate) fn should_retry(may_pass_later: bool, status: StatusCode) -> Option<&'static str> {
    let retried_by_default = status.is_server_error()
        || matches!(
            status,
            StatusCode::CONFLICT | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        );
    match (may_pass_later, retried_by_default) {
        (false, _) => Some("false"),
        (true, false) => Some("true"),
        (true, true) => None,
    }
}
