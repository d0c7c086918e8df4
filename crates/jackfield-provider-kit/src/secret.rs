//! Secrets: keys that no log, error or `Debug` may show.

use std::fmt;

use http::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

/// A key or token. It is wiped from memory when the last copy is dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

/// A secret that cannot be sent in a header.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidSecret {
    /// It is empty.
    #[error("the key is empty")]
    Empty,
    /// It contains white space, control characters or non-ASCII characters.
    #[error("the key has characters in it that no key has, such as a space or a line break")]
    Unsendable,
}

impl Secret {
    /// Creates a secret, without surrounding white space, such as a file's last line break.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(SecretString::from(text.trim()))
    }

    /// The secret itself, only for sending and never for storing.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The secret as a header value, after a prefix such as `Bearer `; marked as sensitive.
    ///
    /// # Errors
    ///
    /// [`InvalidSecret`] if no header can hold it.
    pub fn header_value(&self, prefix: &str) -> Result<HeaderValue, InvalidSecret> {
        let secret = self.expose();
        if secret.is_empty() {
            return Err(InvalidSecret::Empty);
        }
        if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidSecret::Unsendable);
        }
        let value = HeaderValue::from_str(&format!("{prefix}{secret}"));
        let mut value = value.map_err(|_| InvalidSecret::Unsendable)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Removes the secret from a text, as servers often quote a wrong key in their errors.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        match self.expose() {
            "" => text.to_owned(),
            secret => text.replace(secret, REDACTED),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

const REDACTED: &str = "[redacted]";
