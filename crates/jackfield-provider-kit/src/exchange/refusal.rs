//! Responses that are not replies.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use jackfield_dialect_kit::named_fields;
use jackfield_domain::time::WallTime;
use jackfield_ports::chat_model::ModelError;

use super::adapter::{Adapter, ErrorAnswer};
use super::request_id;
use crate::transport::Incoming;
use crate::{retry_after, status};

/// A response that is not a reply, with the beginning of its body.
pub(super) struct Refusal {
    body: Bytes,
    headers: HeaderMap,
    media_type: Option<String>,
    status: StatusCode,
}

impl Refusal {
    pub(super) async fn read(incoming: Incoming) -> Self {
        let (status, media_type) = (incoming.status(), incoming.media_type());
        let headers = incoming.headers().clone();
        Self {
            body: incoming.into_error_body().await,
            headers,
            media_type,
            status,
        }
    }

    /// The fields that are refused by name, of these that were added to a request with this body.
    pub(super) fn named_fields(&self, sent: &[u8], added: &[&'static str]) -> Vec<&'static str> {
        if !self.is_of_content() {
            return Vec::new();
        }
        named_fields::refused(&self.body, sent, added)
    }

    /// Whether the content of the request is refused.
    pub(super) fn is_of_content(&self) -> bool {
        named_fields::is_refusal(self.status.as_u16())
    }

    /// The error for a request to this URL.
    pub(super) fn into_error<A: Adapter>(self, adapter: &A, url: &str) -> ModelError {
        let Self {
            body,
            headers,
            media_type,
            status,
        } = self;
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
        let mut failure = classified
            .unwrap_or_else(|| status::unreadable(status, media_type.as_deref(), &body, url));
        retry_after::apply(&mut failure, &headers, now());
        failure.request_id = request_id::from_headers(&headers, A::REQUEST_ID.0);
        failure.into()
    }
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    WallTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
