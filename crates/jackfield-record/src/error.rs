//! What can be wrong with a record.

use thiserror::Error;

use crate::depth::MAX_DEPTH;
use crate::v1::stored::Invalid;

/// Any error, as a cause.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A record that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It has the right form, but holds a value that does not exist: it was damaged.
    #[error("the record holds an invalid value")]
    Invalid {
        /// Which value, and why it does not exist.
        #[source]
        source: BoxError,
    },
    /// It is not JSON of this form: it was damaged, or is something else.
    #[error("the record is malformed")]
    Malformed {
        /// Where and why.
        #[source]
        source: BoxError,
    },
    /// A newer build wrote it: use that one.
    #[error(
        "the record has version {version}, and only versions up to {} are known",
        crate::VERSION
    )]
    Newer {
        /// Its version.
        version: u64,
    },
    /// A text that was cut out of it is gone, or is another one.
    #[error("a part of the record is missing or damaged: the text with the digest {digest}")]
    PartMissing {
        /// What the text is found by.
        digest: String,
    },
    /// It nests deeper than any record that was ever written.
    #[error("the record nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// It holds a kind of fact that is not known: a newer build may have written it.
    #[error("the record holds a fact of the unknown kind `{kind}`")]
    UnknownFact {
        /// The kind.
        kind: String,
    },
}

impl DecodeError {
    /// Whether it is not known because a newer build wrote it, and not because it is damaged.
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

/// A value that has no form: nothing that the loop decides has none.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It nests too deep to be read again.
    #[error("the record would nest deeper than {MAX_DEPTH}")]
    TooDeep,
    /// It holds a number that JSON has no form for.
    #[error("the record cannot be written")]
    Unwritable {
        /// Why.
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
