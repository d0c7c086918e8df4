//! Responses that are not replies.

use std::time::SystemTime;

use jackfield_domain::time::WallTime;
use jackfield_ports::chat_model::ModelError;

use super::adapter::{Adapter, ErrorAnswer};
use super::request_id;
use crate::transport::Incoming;
use crate::{retry_after, status};

/// The error for a response that is not a reply.
pub(super) async fn read_refusal<A: Adapter>(
    adapter: &A,
    incoming: Incoming,
    url: &str,
) -> ModelError {
    let (status, media_type) = (incoming.status(), incoming.media_type());
    let headers = incoming.headers().clone();
    let body = incoming.into_error_body().await;
    let answer = ErrorAnswer {
        body: &body,
        headers: &headers,
        status,
    };
    let classified = if status.is_success() {
        None
    } else {
        adapter.classify(&answer)
    };
    let mut failure =
        classified.unwrap_or_else(|| status::unreadable(status, media_type.as_deref(), &body, url));
    retry_after::apply(&mut failure, &headers, now());
    failure.request_id = request_id::from_headers(&headers, A::REQUEST_ID.0);
    failure.into()
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    WallTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
