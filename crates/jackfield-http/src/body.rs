//! Reads whole request bodies, with limits on size and time, and decompresses them.

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use jackfield_dialect_kit::encoding::Encoding;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_gateway::GatewayLimits;

/// Reads a body of JSON, and decompresses it, as [`read_any`].
///
/// # Errors
///
/// As [`read_any`], or the body holds too many JSON values.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    limits: &GatewayLimits,
) -> Result<Bytes, ServeError> {
    let bytes = read_any(headers, body, limits).await?;
    if has_too_many_values(&bytes) {
        let message = format!("the body holds more than {MAX_VALUES} JSON values");
        return Err(ServeError::new(ServeErrorKind::TooLarge, message));
    }
    Ok(bytes)
}

/// Reads a body of any kind, and decompresses it by its `content-encoding` (`gzip`, `deflate` or `zstd`). The size
/// limit applies before and after decompression.
///
/// # Errors
///
/// The body is too large, too slow, truncated, or in an unsupported encoding.
pub(crate) async fn read_any(
    headers: &HeaderMap,
    body: Body,
    limits: &GatewayLimits,
) -> Result<Bytes, ServeError> {
    let encoding = encoding(headers)?;
    // Refused by its declared length, before any of it is read.
    if body.size_hint().lower() > limits.body as u64 {
        return Err(too_large(limits));
    }
    let read = Limited::new(body, limits.body).collect();
    let bytes = match tokio::time::timeout(limits.body_time, read).await {
        Ok(Ok(read)) => read.to_bytes(),
        Ok(Err(error)) if is_about_length(&*error) => return Err(too_large(limits)),
        Ok(Err(error)) => {
            let message = format!("the body cannot be read: {error}");
            return Err(ServeError::new(ServeErrorKind::Invalid, message));
        }
        Err(_) => {
            let seconds = limits.body_time.as_secs();
            let message = format!("the body did not come within {seconds} s");
            return Err(ServeError::new(ServeErrorKind::TooSlow, message));
        }
    };
    match encoding {
        None => Ok(bytes),
        Some(encoding) => decoded(encoding, &bytes, limits),
    }
}

fn too_large(limits: &GatewayLimits) -> ServeError {
    let message = format!("the body is larger than {} bytes", limits.body);
    ServeError::new(ServeErrorKind::TooLarge, message)
}

fn is_about_length(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| (*error).source())
        .any(|error| error.is::<LengthLimitError>())
}

/// The encoding of a body; `None` if it is not compressed.
fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, ServeError> {
    let named = headers.get(CONTENT_ENCODING);
    let named = named.map_or("", |named| named.to_str().unwrap_or("?"));
    Encoding::from_header(named).map_err(|named| {
        let message = format!(
            "the content encoding `{named}` is not read: send the body as it is, or with `gzip`, \
             `deflate` or `zstd`"
        );
        ServeError::new(ServeErrorKind::UnsupportedEncoding, message)
    })
}

fn decoded(encoding: Encoding, bytes: &[u8], limits: &GatewayLimits) -> Result<Bytes, ServeError> {
    match encoding.decode(bytes, limits.body) {
        Ok(decoded) if decoded.len() > limits.body => Err(too_large(limits)),
        Ok(decoded) => Ok(decoded.into()),
        Err(error) => {
            let message = format!("the body cannot be decompressed: {error}");
            Err(ServeError::new(ServeErrorKind::Invalid, message))
        }
    }
}

/// Whether JSON holds too many values. Each value costs far more memory than its bytes, so this counts the
/// separators outside of strings before any value is built.
fn has_too_many_values(json: &[u8]) -> bool {
    // A value takes at least two bytes with its separator.
    if json.len() / 2 < MAX_VALUES {
        return false;
    }
    let (mut count, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'{' | b'[' if !in_string => count += 1,
            _ => {}
        }
    }
    count > MAX_VALUES
}

/// The maximum number of JSON values in a body. A conversation that fills a window of a million tokens has a
/// tenth of that.
const MAX_VALUES: usize = 1 << 18;
