//! A secret in plain text, on its way to where it is used.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

/// A secret such as the key of a person at a provider. It is wiped from memory when the last copy is dropped; it has no
/// stored form, and cannot be printed.
#[derive(Clone)]
pub struct Credential(SecretString);

impl Credential {
    /// Takes a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The secret itself, only for sending or encrypting it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
