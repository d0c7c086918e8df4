//! Records as they would be stored, with the large texts that were cut out of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Weak};

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Envelope;
use jackfield_record::{Cut, DecodeError, Part};

use crate::marks::shrink;

/// A step as it is kept.
#[derive(Clone)]
pub(crate) enum StoredStep {
    /// As it would be stored.
    Record(Record),
    /// As it was appended, in a journal that nobody reads later.
    Value(Arc<Envelope>),
}

impl StoredStep {
    /// The step.
    pub(crate) fn read(&self) -> Result<Envelope, DecodeError> {
        match self {
            Self::Record(record) => jackfield_record::decode_envelope(&record.joined()?),
            Self::Value(step) => Ok(Envelope::clone(step)),
        }
    }
}

/// Steps that are to be kept.
pub(crate) enum NewSteps {
    /// As they would be stored.
    Records(Vec<Cut>),
    /// As they are.
    Values,
}

/// A record, as it would be stored.
#[derive(Clone)]
pub(crate) struct Record {
    bytes: Arc<[u8]>,
    /// What was cut out of it.
    parts: Arc<[Arc<Part>]>,
}

impl Record {
    /// A record out of which nothing was cut.
    pub(crate) fn whole(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into(),
            parts: Arc::default(),
        }
    }

    /// The bytes, without what was cut out.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, with what was cut out.
    pub(crate) fn joined(&self) -> Result<Cow<'_, [u8]>, DecodeError> {
        let joined = jackfield_record::join(&self.bytes, |digest, whole| {
            let part = self.parts.iter().find(|part| part.digest == *digest);
            if let Some(part) = part {
                whole.extend_from_slice(&part.bytes);
            }
            Ok::<_, Infallible>(part.is_some())
        });
        match joined {
            Ok(joined) => joined,
            Err(never) => match never {},
        }
    }
}

/// The large texts of all sessions, each once, as long as a record needs it.
#[derive(Default)]
pub(crate) struct SharedTexts {
    /// How many were needed when it was last seen which are.
    needed: usize,
    parts: HashMap<Digest, Weak<Part>>,
}

impl SharedTexts {
    /// A record whose large texts are those that are there already, where they are.
    pub(crate) fn keep(&mut self, cut: Cut) -> Record {
        let parts = cut.parts.into_iter().map(|part| {
            let kept = self.parts.entry(part.digest).or_default();
            kept.upgrade().unwrap_or_else(|| {
                let part = Arc::new(part);
                *kept = Arc::downgrade(&part);
                part
            })
        });
        Record {
            parts: parts.collect(),
            bytes: cut.record.into(),
        }
    }

    /// Forgets those that no record needs any more, once they may be as many as those that one does: so it
    /// costs the same for each, however many sessions there are.
    pub(crate) fn forget(&mut self) {
        if self.parts.len() > self.needed.max(FEW) * 2 {
            self.parts.retain(|_, part| part.strong_count() > 0);
            self.needed = self.parts.len();
            shrink(&mut self.parts);
        }
    }
}

/// How many may be kept in vain in any case: of each its digest, and nothing of the text.
const FEW: usize = 32;
