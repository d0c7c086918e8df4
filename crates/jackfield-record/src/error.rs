//! Errors of encoding and decoding records.

use thiserror::Error;

use crate::depth::MAX_DEPTH;
use crate::v1::stored::Invalid;

/// Any error, as a cause.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A record that cannot be decoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It has the right form, but contains an invalid value: it is damaged.
    #[error("the record holds an invalid value")]
    Invalid {
        /// The value, and why it is invalid.
        #[source]
        source: BoxError,
    },
    /// It is not JSON of this form: it is damaged, or not a record.
    #[error("the record is malformed")]
    Malformed {
        /// The position and the reason.
        #[source]
        source: BoxError,
    },
    /// A newer build wrote it and is needed to read it.
    #[error(
        "the record has version {version}, and only versions up to {} are known",
        crate::VERSION
    )]
    Newer { version: u64 },
    /// A text that was cut out of it is missing or does not match.
    #[error("a part of the record is missing or damaged: the text with the digest {digest}")]
    PartMissing {
        /// The digest of the text.
        digest: String,
    },
    /// It nests deeper than any record can.
    #[error("the record nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// It contains an unknown kind of fact; a newer build may have written it.
    #[error("the record holds a fact of the unknown kind `{kind}`")]
    UnknownFact { kind: String },
}

impl DecodeError {
    /// Whether it is unreadable because a newer build wrote it, and not because of damage.
    #[must_use]
    pub const fn is_newer(&self) -> bool {
        match self {
            Self::Newer { .. } | Self::UnknownFact { .. } => true,
            Self::Invalid { .. }
            | Self::Malformed { .. }
            | Self::PartMissing { .. }
            | Self::TooDeep => false,
        }
    }

    pub(crate) fn malformed(source: impl Into<BoxError>) -> Self {
        Self::Malformed {
            source: source.into(),
        }
    }
}

impl From<Invalid> for DecodeError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid {
            source: invalid.into(),
        }
    }
}

/// A value that cannot be encoded; the loop never produces one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It nests too deep to be decoded again.
    #[error("the record would nest deeper than {MAX_DEPTH}")]
    TooDeep,
    /// It contains a number that JSON cannot represent.
    #[error("the record cannot be written")]
    Unwritable {
        #[source]
        source: BoxError,
    },
}

impl EncodeError {
    pub(crate) fn unwritable(source: impl Into<BoxError>) -> Self {
        Self::Unwritable {
            source: source.into(),
        }
    }
}
