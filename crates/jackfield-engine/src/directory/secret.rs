//! The secrets of keys: random, shown once, and stored as a digest.

use std::fmt;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::EntryName;

use super::DirectoryError;
use crate::master_keys::random;

/// How every secret begins, so that people and scanners of secrets recognise it.
pub const KEY_PREFIX: &str = "jk_";

/// A new secret, which is nowhere else. Its debug form does not show it.
pub struct NewSecret(String);

impl NewSecret {
    /// 256 random bits in hexadecimal, after [`KEY_PREFIX`].
    pub(crate) fn new() -> Result<Self, DirectoryError> {
        let random = Digest::from_bytes(random()?);
        Ok(Self(format!("{KEY_PREFIX}{random}")))
    }

    /// The secret, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its digest, by which it is found.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewSecret(..)")
    }
}

/// A new id of a key: `k` and 12 random hexadecimal digits.
pub(crate) fn key_id() -> Result<EntryName, DirectoryError> {
    let random: [u8; 6] = random()?;
    let digits = random.iter().map(|byte| format!("{byte:02x}"));
    let id = std::iter::once("k".to_owned()).chain(digits);
    let id: String = id.collect();
    Ok(EntryName::parse(&id)?)
}
