//! Recordings: a whole session in one file, one record per line.
//!
//! ```text
//! {"format":"jackfield-facts","v":1,"session":"sess_1","steps":1,"deliveries":1}
//! {"v":1,"step":{…}}
//! {"v":1,"delivery":{…}}
//! ```
//!
//! The first line contains the format and the number of records. Every other line is a step or a delivery in
//! its stored form. Steps are in order, and so are deliveries.

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{InvalidId, SessionId};
use jackfield_domain::wait::Delivery;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::codec::{decode_delivery, decode_envelope, encode_delivery, encode_envelope};
use crate::error::{DecodeError, EncodeError};

/// The stored content of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// All deliveries, in order of arrival.
    pub deliveries: Vec<Delivery>,
    pub session: SessionId,
    /// The steps, in order.
    pub steps: Vec<Envelope>,
}

/// A file that is not a recording, or cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It is incomplete, for instance truncated.
    #[error("the recording holds {found} of its {expected} {what}")]
    Cut {
        /// The number according to the first line.
        expected: u64,
        found: u64,
        /// The kind of record that is missing or in excess.
        what: &'static str,
    },
    /// It contains no step, so there is nothing to replay.
    #[error("the recording holds no step")]
    Empty,
    /// A line is not a record.
    #[error("line {line} cannot be read")]
    Line {
        /// The line number, from 1.
        line: usize,
        #[source]
        source: DecodeError,
    },
    /// A step is missing, duplicated or out of order.
    #[error("line {line} holds step {found} where step {expected} belongs")]
    Misplaced {
        expected: u64,
        found: u64,
        /// The line number, from 1.
        line: usize,
    },
    /// A newer build wrote it and is needed to read it.
    #[error(
        "the recording has version {version}, and only versions up to {FORMAT_VERSION} are known"
    )]
    Newer { version: u64 },
    /// It does not begin like a recording.
    #[error("this is no recording: its first line has to be {{\"format\":\"{FORMAT}\",…}}")]
    NotOne,
    /// Its session id is invalid.
    #[error("the session of the recording has no valid id")]
    Session {
        #[source]
        source: InvalidId,
    },
}

impl Recording {
    /// The content of the file.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] for a value that JSON cannot represent.
    pub fn to_lines(&self) -> Result<String, EncodeError> {
        let header = Header {
            format: FORMAT.to_owned(),
            v: FORMAT_VERSION,
            session: self.session.as_str().to_owned(),
            steps: Some(self.steps.len() as u64),
            deliveries: Some(self.deliveries.len() as u64),
        };
        let header = serde_json::to_vec(&header).map_err(EncodeError::unwritable)?;
        let mut lines = vec![header];
        for step in &self.steps {
            lines.push(encode_envelope(step)?);
        }
        for delivery in &self.deliveries {
            lines.push(encode_delivery(delivery)?);
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(&String::from_utf8(line).map_err(EncodeError::unwritable)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// Parses a file. Empty lines are skipped.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] with the line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or(RecordingError::NotOne)?;
        let header: Header = serde_json::from_str(first).map_err(|_| RecordingError::NotOne)?;
        if header.format != FORMAT {
            return Err(RecordingError::NotOne);
        }
        if header.v > FORMAT_VERSION {
            let version = header.v;
            return Err(RecordingError::Newer { version });
        }
        let session = SessionId::parse(&header.session)
            .map_err(|source| RecordingError::Session { source })?;
        let mut recording = Self {
            deliveries: Vec::new(),
            session,
            steps: Vec::new(),
        };
        for (line, text) in lines {
            let unreadable = |source| RecordingError::Line { line, source };
            if is_delivery(text) {
                let delivery = decode_delivery(text.as_bytes()).map_err(unreadable)?;
                recording.deliveries.push(delivery);
                continue;
            }
            let step = decode_envelope(text.as_bytes()).map_err(unreadable)?;
            let expected = recording.steps.len() as u64;
            if step.step != expected {
                let found = step.step;
                return Err(RecordingError::Misplaced {
                    expected,
                    found,
                    line,
                });
            }
            recording.steps.push(step);
        }
        let (steps, deliveries) = (recording.steps.len(), recording.deliveries.len());
        whole("steps", header.steps, steps)?;
        whole("deliveries", header.deliveries, deliveries)?;
        if steps == 0 {
            return Err(RecordingError::Empty);
        }
        Ok(recording)
    }
}

/// Compares a count with the first line. The oldest recordings have no counts.
fn whole(what: &'static str, expected: Option<u64>, found: usize) -> Result<(), RecordingError> {
    let found = found as u64;
    match expected {
        Some(expected) if expected != found => Err(RecordingError::Cut {
            expected,
            found,
            what,
        }),
        Some(_) | None => Ok(()),
    }
}

/// Whether a record is a delivery. An unreadable one counts as a step, whose decoder reports the error.
fn is_delivery(record: &str) -> bool {
    let shape: Result<Shape, _> = serde_json::from_str(record);
    shape.is_ok_and(|shape| shape.delivery.is_some())
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    v: u64,
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deliveries: Option<u64>,
}

/// The part of a record that shows what it is.
#[derive(Deserialize)]
struct Shape {
    delivery: Option<IgnoredAny>,
}

/// The format name in the first line.
const FORMAT: &str = "jackfield-facts";

/// The version of the form that is written.
const FORMAT_VERSION: u64 = 1;
