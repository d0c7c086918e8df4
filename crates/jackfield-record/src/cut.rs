//! Large texts of a record, kept beside it.
//!
//! A text of more than [`MAX_TEXT`] bytes, as JSON writes it, is cut out of a record that is stored:
//!
//! ```text
//! {"cut":[{"at":83,"bytes":70000,"digest":"9f86d0…"}]}
//! {"v":1,"step":{… "data":"" …}}
//! ```
//!
//! The first line says what was cut out and from where; the record follows, with nothing between the
//! quotes there. What a text *says* can therefore never be taken for a mark that something was cut out,
//! and a record that was stored whole is told from one that was cut by how it begins.

use std::borrow::Cow;

use jackfield_domain::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::error::DecodeError;

/// The most bytes of a text that is kept within its record, as JSON writes it, without the quotes.
pub const MAX_TEXT: usize = 64 * 1024;

/// A record as it is stored: whole, or with its large texts beside it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cut {
    /// How many bytes the whole record has.
    pub length: usize,
    /// The texts, in the order in which they stood.
    pub parts: Vec<Part>,
    /// What is left.
    pub record: Vec<u8>,
}

/// A text that was cut out of a record, as JSON writes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// The text, without its quotes.
    pub bytes: Vec<u8>,
    /// What it is found by.
    pub digest: Digest,
}

/// Cuts the large texts out of a record that was just encoded. Equal records give equal ones, and
/// records that differ give ones that differ.
#[must_use]
pub fn cut(record: Vec<u8>) -> Cut {
    let length = record.len();
    let mut left = Vec::new();
    let mut parts = Vec::new();
    let mut places = Vec::new();
    // Up to where the record was taken over.
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
    // A list of numbers and digests can always be written.
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

/// Puts the texts back that were cut out of a record, or gives back one that was stored whole.
///
/// `find` appends the text with this digest to the buffer, and answers `false` if there is none.
///
/// # Errors
///
/// What `find` fails with; within, [`DecodeError`] if a text is not found, or is not the one that was cut
/// out, or the record is damaged.
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

/// A place where something was cut out of what is left: where, how many bytes, and which.
type At = (usize, usize, Digest);

/// What was cut out of a record, and what is left of it.
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

/// Where the texts begin and end that are too large, without their quotes.
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

/// The first line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    cut: Vec<Place>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Place {
    /// How many bytes of what is left stand before it.
    at: usize,
    bytes: usize,
    /// In hexadecimal digits.
    digest: String,
}

/// How a record begins that was cut; a whole one begins with its version.
const BEGIN: &[u8] = b"{\"cut\":";
