//! Streams that may stay open for hours end when their key is no longer accepted.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt as _;
use hyper::body::Body as _;
use jackfield_gateway::{Gateway, Principal};
use tokio::time::sleep;

/// The response, whose body ends when the gateway no longer accepts the key of this client. A body of known length is
/// left alone.
pub(crate) fn end_when_revoked(
    response: Response,
    gateway: Gateway,
    client: Arc<Principal>,
) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let revoked = async move {
        let mut unreadable = 0;
        while unreadable < MAX_UNREADABLE {
            sleep(BETWEEN_CHECKS).await;
            match gateway.still_accepts(&client).await {
                Ok(true) => unreadable = 0,
                Ok(false) => return,
                // The stream may be the answer of a call that has acted.
                Err(_) => unreadable += 1,
            }
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(revoked))))
}

/// After how many checks in a row a stream ends although only the journal could not be read.
const MAX_UNREADABLE: u32 = 12;
/// The time between two checks, each of which reads the key, its user and its team.
const BETWEEN_CHECKS: Duration = Duration::from_secs(5);
