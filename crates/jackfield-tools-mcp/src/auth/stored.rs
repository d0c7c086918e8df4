//! The sign-in at a server as it is kept between runs.

use std::any::Any;
use std::collections::HashSet;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Where the sign-in at one server is kept: one text, which contains secrets.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Waits for the lock between processes, which is held until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// Another process does not release it, or it cannot be made.
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>>;

    /// The text; `None` if there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    async fn load(&self) -> io::Result<Option<String>>;

    /// Replaces the text, or creates it for this user alone.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    async fn store(&self, text: &str) -> io::Result<()>;

    /// Removes the text; `false` if there was none.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    async fn remove(&self) -> io::Result<bool>;
}

/// A sign-in. The form outlives the process, so later versions must still read it.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct SignIn {
    pub(super) client: RegisteredClient,
    /// The version of this form.
    pub(super) format: u64,
    /// The authorization server that all of this is from.
    pub(super) issuer: String,
    /// The resource that the tokens are for (RFC 8707).
    pub(super) resource: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) token_endpoint: String,
    /// `None` once the authorization server has refused them.
    pub(super) tokens: Option<Tokens>,
    /// The scope that was asked for, and what the server has demanded since.
    pub(super) wanted_scope: Option<String>,
}

/// The client as the authorization server knows it.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct RegisteredClient {
    pub(super) auth_method: ClientAuthMethod,
    pub(super) id: String,
    pub(super) origin: ClientOrigin,
    pub(super) redirect_uri: String,
    /// The scope that it was registered with, if it was with one: it may ask for no other.
    #[serde(default)]
    pub(super) scope: Option<String>,
    pub(super) secret: Option<String>,
}

/// Where the id of a client is from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientOrigin {
    Configured,
    /// It is the address of a document about the client.
    Document,
    /// Dynamic registration (RFC 7591).
    Registered,
}

/// How the client proves its identity to the token endpoint (RFC 7591, section 2).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum ClientAuthMethod {
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl ClientAuthMethod {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Basic => "client_secret_basic",
            Self::None => "none",
            Self::Post => "client_secret_post",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        let all = [Self::Basic, Self::None, Self::Post];
        all.into_iter().find(|method| method.name() == name)
    }
}

#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Tokens {
    pub(super) access: String,
    /// When the access token ends, in seconds since 1970, if that is known.
    pub(super) expires_at: Option<u64>,
    /// When it was issued, in seconds since 1970.
    pub(super) issued_at: u64,
    pub(super) refresh: Option<String>,
    /// The scope that was granted, if it was named.
    pub(super) scope: Option<String>,
}

impl Tokens {
    /// Whether the access token has ended, or is about to.
    pub(super) fn is_stale(&self, now: u64) -> bool {
        is_stale(self.issued_at, self.expires_at, now)
    }
}

/// Whether a token that was issued and ends at these times has ended, or is about to. One with a short life is used for
/// nine tenths of it.
#[must_use]
pub fn is_stale(issued_at: u64, expires_at: Option<u64>, now: u64) -> bool {
    expires_at.is_some_and(|ends| {
        let margin = (ends.saturating_sub(issued_at) / 10).min(MARGIN.as_secs());
        now >= ends.saturating_sub(margin)
    })
}

impl SignIn {
    /// Reads a stored sign-in.
    ///
    /// # Errors
    ///
    /// It is damaged, or of a later version.
    pub(super) fn read(text: &str) -> io::Result<Self> {
        let read: Self = serde_json::from_str(text)
            // The error may quote a token.
            .map_err(|error| {
                let (line, column) = (error.line(), error.column());
                io::Error::other(format!("it is damaged at line {line}, column {column}"))
            })?;
        if read.format > FORMAT {
            return Err(io::Error::other("a newer Jackfield has written it"));
        }
        Ok(read)
    }

    pub(super) fn to_text(&self) -> io::Result<String> {
        serde_json::to_string(self).map_err(io::Error::from)
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The scopes of both, each once, in order: 200 at most, and 8 KiB of text.
#[must_use]
pub fn union(first: Option<&str>, second: Option<&str>) -> Option<String> {
    let given = [first, second].into_iter().flatten();
    let (mut seen, mut scopes) = (HashSet::new(), String::new());
    for scope in given.flat_map(str::split_ascii_whitespace) {
        if seen.len() < MAX_SCOPES && scopes.len() + scope.len() < MAX_SCOPE && seen.insert(scope) {
            if !scopes.is_empty() {
                scopes.push(' ');
            }
            scopes.push_str(scope);
        }
    }
    (!scopes.is_empty()).then_some(scopes)
}

/// The most scopes of a sign-in.
const MAX_SCOPES: usize = 200;
/// The longest text of all scopes of a sign-in, in bytes.
const MAX_SCOPE: usize = 8 << 10;
/// The version of the stored form.
pub(super) const FORMAT: u64 = 1;
/// How long before its end an access token is renewed, at most.
const MARGIN: Duration = Duration::from_secs(60);
