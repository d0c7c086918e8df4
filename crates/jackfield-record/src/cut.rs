//! Cuts: large texts of a record are stored separately.
//!
//! A text of more than [`MAX_TEXT`] bytes, as JSON encodes it, is cut out of a record when it is stored:
//!
//! ```text
//! {"cut":[{"at":83,"bytes":70000,"digest":"9f86d0…"}]}
//! {"v":1,"step":{… "data":"" …}}
//! ```
//!
//! The first line lists the cuts and their positions. The record follows, with empty strings at these
//! positions. So no content of a text can be mistaken for a cut, and the beginning shows whether a record was
//! stored whole.

use std::borrow::Cow;

use jackfield_domain::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::error::DecodeError;

/// The maximum size of a text within its record, in bytes as JSON encodes it, without quotes.
pub const MAX_TEXT: usize = 64 * 1024;

/// A record in stored form: whole, or with its large texts separate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cut {
    /// The size of the whole record, in bytes.
    pub length: usize,
    /// The texts that were cut out, in order.
    pub parts: Vec<Part>,
    /// The rest of the record.
    pub record: Vec<u8>,
}

/// A text that was cut out of a record, as JSON encodes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// The text, without its quotes.
    pub bytes: Vec<u8>,
    /// The digest by which it is found.
    pub digest: Digest,
}

/// Cuts the large texts out of a new record. The result is deterministic, and different records give different
/// results.
#[must_use]
pub fn cut(record: Vec<u8>) -> Cut {
    let length = record.len();
    let mut left = Vec::new();
    let mut parts = Vec::new();
    let mut places = Vec::new();
    // The end of the part that was copied.
    let mut taken = 0;
    for (begin, end) in large_texts(&record) {
        let bytes = record.get(begin..end).unwrap_or_default().to_vec();
        let digest = Digest::of(&bytes);
        left.extend_from_slice(record.get(taken..begin).unwrap_or_default());
        taken = end;
        places.push(Place {
            at: left.len(),
            bytes: bytes.len(),
            digest: digest.to_hex(),
        });
        parts.push(Part { bytes, digest });
    }
    // Serializing numbers and digests cannot fail.
    let header = serde_json::to_vec(&Header { cut: places });
    let (Ok(mut cut), false) = (header, parts.is_empty()) else {
        return Cut {
            length,
            parts: Vec::new(),
            record,
        };
    };
    cut.push(b'\n');
    cut.append(&mut left);
    cut.extend_from_slice(record.get(taken..).unwrap_or_default());
    Cut {
        length,
        parts,
        record: cut,
    }
}

/// Restores the texts that were cut out of a record; returns a record that was stored whole unchanged.
///
/// `find` appends the text with this digest to the buffer, and returns `false` if there is none.
///
/// # Errors
///
/// The errors of `find`; within the result, [`DecodeError`] if a text is missing or does not match its digest,
/// or the record is damaged.
pub fn join<'a, E>(
    record: &'a [u8],
    mut find: impl FnMut(&Digest, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<Result<Cow<'a, [u8]>, DecodeError>, E> {
    if !record.starts_with(BEGIN) {
        return Ok(Ok(Cow::Borrowed(record)));
    }
    let (places, left) = match split(record) {
        Ok(split) => split,
        Err(error) => return Ok(Err(error)),
    };
    let mut whole = Vec::new();
    let mut taken = 0;
    for (at, bytes, digest) in places {
        whole.extend_from_slice(left.get(taken..at).unwrap_or_default());
        taken = at;
        let begin = whole.len();
        let found = find(&digest, &mut whole)?;
        let part = whole.get(begin..).unwrap_or_default();
        if !found || part.len() != bytes || Digest::of(part) != digest {
            let digest = digest.to_hex();
            return Ok(Err(DecodeError::PartMissing { digest }));
        }
    }
    whole.extend_from_slice(left.get(taken..).unwrap_or_default());
    Ok(Ok(Cow::Owned(whole)))
}

/// A cut: its position in the rest, its length in bytes, and its digest.
type At = (usize, usize, Digest);

/// The cuts of a record, and the rest of it.
fn split(record: &[u8]) -> Result<(Vec<At>, &[u8]), DecodeError> {
    let end = record.iter().position(|byte| *byte == b'\n');
    let (header, left) = end
        .and_then(|end| Some((record.get(..end)?, record.get(end.checked_add(1)?..)?)))
        .ok_or_else(|| DecodeError::malformed("it is cut, and ends before it begins"))?;
    let header: Header = serde_json::from_slice(header).map_err(DecodeError::malformed)?;
    let mut places = Vec::new();
    let mut last = 0;
    for place in header.cut {
        let digest = Digest::from_hex(&place.digest);
        let digest = digest.ok_or_else(|| DecodeError::malformed("a digest is none"))?;
        let quotes = place.at.checked_sub(1).zip(place.at.checked_add(1));
        let quotes = quotes.and_then(|(begin, end)| left.get(begin..end));
        if quotes != Some(b"\"\"") || place.at <= last {
            return Err(DecodeError::malformed(
                "nothing can have been cut out of that place",
            ));
        }
        last = place.at;
        places.push((place.at, place.bytes, digest));
    }
    Ok((places, left))
}

/// The ranges of the texts that are too large, without quotes.
fn large_texts(record: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if record.len() <= MAX_TEXT {
        return found;
    }
    let mut escaped = false;
    let mut text = None;
    for (at, byte) in record.iter().enumerate() {
        match (byte, text) {
            _ if escaped => escaped = false,
            (b'\\', Some(_)) => escaped = true,
            (b'"', None) => text = Some(at.saturating_add(1)),
            (b'"', Some(begin)) => {
                if at.saturating_sub(begin) > MAX_TEXT {
                    found.push((begin, at));
                }
                text = None;
            }
            _ => {}
        }
    }
    found
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    cut: Vec<Place>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Place {
    /// The number of bytes of the rest before it.
    at: usize,
    bytes: usize,
    /// The digest, in hexadecimal.
    digest: String,
}

/// The beginning of a record with cuts; a whole one begins with its version.
const BEGIN: &[u8] = b"{\"cut\":";
