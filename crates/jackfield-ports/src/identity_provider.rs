//! The port to an identity provider: where a person signs in elsewhere, and who the person is.

use std::fmt;

use async_trait::async_trait;
use thiserror::Error;

/// A provider at which people sign in with a browser.
///
/// # Contract
///
/// - A sign-in MUST have random values of its own, which no one can guess: `state`, `nonce` and `verifier`. The browser
///   keeps them, so another process may finish it.
/// - [`finish`](Self::finish) MUST refuse an answer that is not to this sign-in, and a proof of the identity that is not
///   from the provider, not for this client, not for this sign-in, or over.
/// - What it asks of the provider MUST be bounded in size and time, and MUST NOT be repeated.
/// - A name MUST be one that the provider vouches for: an address of mail that it has not verified is none.
/// - Secrets MUST NOT reach `Debug`, errors or logs.
#[async_trait]
pub trait IdentityProvider: fmt::Debug + Send + Sync {
    /// Prepares a sign-in whose answer the browser brings to the address `redirect`.
    ///
    /// # Errors
    ///
    /// [`IdentityError`] if the provider cannot be used now.
    async fn begin(&self, redirect: &str) -> Result<BegunSignIn, IdentityError>;

    /// Who signed in. `redirect` is the address with which the sign-in began, and `answer` the query with which the
    /// provider sent the browser back there.
    ///
    /// # Errors
    ///
    /// [`IdentityError`] if no person signed in, or it is not proved who did.
    async fn finish(
        &self,
        secrets: &SignInSecrets,
        redirect: &str,
        answer: &str,
    ) -> Result<Identity, IdentityError>;
}

/// A sign-in that waits for the person.
#[derive(Clone, Eq, PartialEq)]
pub struct BegunSignIn {
    /// What the browser has to keep, and to bring back with the answer.
    pub secrets: SignInSecrets,
    /// The address of the provider for the browser.
    pub url: String,
}

impl fmt::Debug for BegunSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BegunSignIn").finish_non_exhaustive()
    }
}

/// The random values of a sign-in, of letters, digits, `-` and `_`.
#[derive(Clone, Eq, PartialEq)]
pub struct SignInSecrets {
    /// What the proof of the identity has to repeat.
    pub nonce: String,
    /// What the answer has to repeat.
    pub state: String,
    /// The secret by which the provider knows who began (RFC 7636).
    pub verifier: String,
}

impl SignInSecrets {
    /// The values that [`Display`](fmt::Display) wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let mut values = text.split('.');
        let mut next = || {
            let value = values.next().filter(|value| !value.is_empty())?;
            value.bytes().all(is_letter).then(|| value.to_owned())
        };
        let secrets = Self {
            nonce: next()?,
            state: next()?,
            verifier: next()?,
        };
        values.next().is_none().then_some(secrets)
    }
}

/// The value of a cookie.
impl fmt::Display for SignInSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.nonce, self.state, self.verifier)
    }
}

impl fmt::Debug for SignInSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInSecrets").finish_non_exhaustive()
    }
}

/// A person, as the provider knows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// The name by which the gateway knows the person.
    pub name: String,
    /// The provider's own name for the person, which never changes.
    pub subject: String,
}

/// Why it is not known who signed in; the text is for the log, and has no secret.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum IdentityError {
    /// The answer, or what proves the identity, is not to be trusted.
    #[error("{0}")]
    Invalid(String),
    /// The provider says nothing by which the gateway could know the person.
    #[error("{0}")]
    Nameless(String),
    /// The provider, or the person there, refused.
    #[error("{0}")]
    Refused(String),
    /// The provider cannot be reached, or does not answer as it should.
    #[error("{0}")]
    Unavailable(String),
}
