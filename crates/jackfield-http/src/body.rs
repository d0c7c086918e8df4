//! Bodies: read whole, within bounds of size and time.

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use jackfield_assembly::ServeLimits;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};

/// Reads a body.
///
/// # Errors
///
/// It is too large, too slow, or broken off.
pub(crate) async fn read(body: Body, limits: &ServeLimits) -> Result<Bytes, ServeError> {
    let too_large = || {
        let message = format!("the body is larger than {} bytes", limits.body);
        ServeError::new(ServeErrorKind::TooLarge, message)
    };
    // Said before anything of it is read.
    if body.size_hint().lower() > limits.body as u64 {
        return Err(too_large());
    }
    let read = Limited::new(body, limits.body).collect();
    match tokio::time::timeout(limits.body_time, read).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) if is_about_length(&*error) => Err(too_large()),
        Ok(Err(error)) => {
            let message = format!("the body cannot be read: {error}");
            Err(ServeError::new(ServeErrorKind::Invalid, message))
        }
        Err(_) => {
            let seconds = limits.body_time.as_secs();
            let message = format!("the body did not come within {seconds} s");
            Err(ServeError::new(ServeErrorKind::TooSlow, message))
        }
    }
}

fn is_about_length(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| (*error).source())
        .any(|error| error.is::<LengthLimitError>())
}
