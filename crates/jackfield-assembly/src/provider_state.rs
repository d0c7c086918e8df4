//! The providers of an assembly: their keys, and their own APIs.

use std::sync::Arc;

use jackfield_ports::upstream::Upstream;

/// The state of a provider.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProviderState {
    /// Whether it is at its vendor's own address, where only models of this vendor are.
    pub at_vendor: bool,
    /// Whether a file configures it. Some providers exist without configuration.
    pub configured: bool,
    /// Its dialect.
    pub dialect: Arc<str>,
    /// Its address, without path, user and password.
    pub endpoint: Arc<str>,
    /// The state of its key.
    pub key: KeyState,
    /// Its kind: a name of the registry.
    pub kind: Arc<str>,
}

/// The state of a provider's key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeyState {
    /// Present and valid: the environment variable, the file or the keyring that holds it.
    Found(String),
    /// Required, but missing or not valid as a header value.
    Missing(MissingKey),
    /// Not required.
    NotNeeded,
}

/// A required key that is missing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MissingKey {
    /// The page where a person gets one, if known.
    pub page: Option<String>,
    /// The environment variable that is expected to hold it, if there is one.
    pub variable: Option<Arc<str>>,
    /// The reason, in one sentence.
    pub reason: String,
}

/// The upstream of a provider.
#[derive(Clone, Debug)]
pub struct ProviderUpstream {
    /// Whether requests are passed through to it.
    pub is_passthrough: bool,
    /// The upstream.
    pub upstream: Arc<dyn Upstream>,
}
