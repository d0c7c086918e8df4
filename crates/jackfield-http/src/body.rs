//! Reads whole request bodies, with limits on size and time, and decompresses them.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use jackfield_dialect_kit::encoding::Encoding;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_gateway::{BodyRoom, Gateway, GatewayLimits, Principal};

/// Reads a body of JSON, and decompresses it, as [`read_any`].
///
/// # Errors
///
/// As [`read_any`], or the body holds too many JSON values.
pub(crate) async fn read(
    gateway: &Gateway,
    client: &Principal,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, BodyRoom), ServeError> {
    let (bytes, room) = read_any(gateway, client, headers, body).await?;
    if has_too_many_values(&bytes) {
        let message = format!("the body holds more than {MAX_VALUES} JSON values");
        return Err(ServeError::new(ServeErrorKind::TooLarge, message));
    }
    Ok((bytes, room))
}

/// Reads a body of any kind, and decompresses it by its `content-encoding` (`gzip`, `deflate` or `zstd`). The size
/// limit applies before and after decompression. The body has its room in memory until that is dropped.
///
/// # Errors
///
/// The body is too large, too slow, truncated, or in an unsupported encoding; or there is no room for it.
pub(crate) async fn read_any(
    gateway: &Gateway,
    client: &Principal,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, BodyRoom), ServeError> {
    let limits = &gateway.config().limits;
    let mut room = gateway.body_room(client);
    let encoding = encoding(headers)?;
    // Refused by its declared length, before any of it is read.
    if body.size_hint().lower() > limits.body as u64 {
        return Err(too_large(limits));
    }
    let read = collect(body, limits, &mut room);
    let read = tokio::time::timeout(limits.body_time, read).await;
    let bytes = read.unwrap_or_else(|_| {
        let seconds = limits.body_time.as_secs();
        let message = format!("the body did not come within {seconds} s");
        Err(ServeError::new(ServeErrorKind::TooSlow, message))
    })?;
    let Some(encoding) = encoding else {
        return Ok((bytes, room));
    };
    let decoded = decoded(encoding, &bytes, limits)?;
    let mut of_decoded = gateway.body_room(client);
    of_decoded.grow(decoded.len())?;
    Ok((decoded, of_decoded))
}

/// The pieces of a body in one, with room for each before it is kept.
async fn collect(
    body: Body,
    limits: &GatewayLimits,
    room: &mut BodyRoom,
) -> Result<Bytes, ServeError> {
    let mut body = Limited::new(body, limits.body);
    let (mut first, mut all) = (None, BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if is_about_length(&*error) {
                return too_large(limits);
            }
            let message = format!("the body cannot be read: {error}");
            ServeError::new(ServeErrorKind::Invalid, message)
        })?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        room.grow(piece.len())?;
        if first.is_none() && all.is_empty() {
            first = Some(piece);
            continue;
        }
        if let Some(first) = first.take() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&piece);
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
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
