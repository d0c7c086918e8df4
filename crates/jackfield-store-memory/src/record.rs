//! Records in stored form, and their large texts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Weak};

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Envelope;
use jackfield_record::{Cut, DecodeError, Part};

use crate::marks::shrink;

#[derive(Clone)]
pub(crate) enum StoredStep {
    Record(Record),
    /// As the value that was appended, in an ephemeral journal.
    Value(Arc<Envelope>),
}

impl StoredStep {
    pub(crate) fn read(&self) -> Result<Envelope, DecodeError> {
        match self {
            Self::Record(record) => jackfield_record::decode_envelope(&record.joined()?),
            Self::Value(step) => Ok(Envelope::clone(step)),
        }
    }
}

pub(crate) enum NewSteps {
    Records(Vec<Cut>),
    Values,
}

/// A record in encoded form.
#[derive(Clone)]
pub(crate) struct Record {
    bytes: Arc<[u8]>,
    /// The texts that were cut out of it.
    parts: Arc<[Arc<Part>]>,
}

impl Record {
    /// A record without cuts.
    pub(crate) fn uncut(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into(),
            parts: Arc::default(),
        }
    }

    /// The bytes, without the texts that were cut out.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, with the texts restored.
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

/// The large texts of all sessions, each stored once while a record uses it.
#[derive(Default)]
pub(crate) struct SharedTexts {
    /// The number of used texts at the last cleanup.
    used_at_cleanup: usize,
    parts: HashMap<Digest, Weak<Part>>,
}

impl SharedTexts {
    /// A record that shares its large texts with existing ones where they are equal.
    pub(crate) fn intern(&mut self, cut: Cut) -> Record {
        let parts = cut.parts.into_iter().map(|part| {
            let entry = self.parts.entry(part.digest).or_default();
            entry.upgrade().unwrap_or_else(|| {
                let part = Arc::new(part);
                *entry = Arc::downgrade(&part);
                part
            })
        });
        Record {
            parts: parts.collect(),
            bytes: cut.record.into(),
        }
    }

    /// Removes unused entries, once there may be as many of them as used ones. The amortised cost per entry is
    /// constant.
    pub(crate) fn prune(&mut self) {
        if self.parts.len() > self.used_at_cleanup.max(FEW) * 2 {
            self.parts.retain(|_, part| part.strong_count() > 0);
            self.used_at_cleanup = self.parts.len();
            shrink(&mut self.parts);
        }
    }
}

/// The number of entries up to which no cleanup runs. An unused entry is only a digest, without the text.
const FEW: usize = 32;
