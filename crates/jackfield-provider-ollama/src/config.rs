//! The configuration of Ollama.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use serde_json::Value;
use thiserror::Error;

/// Settings of one server with Ollama's own API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OllamaConfig {
    /// The base URL of the API, without `/api`.
    pub base_url: BaseUrl,
    /// What every request has, unless an extension sets the same.
    pub defaults: Defaults,
    /// The key; a server on one's own machine needs none.
    pub key: Option<Secret>,
    /// The reason why a required key is missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// Whether the models support tools.
    pub tools: bool,
}

/// What every request to a server has.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Defaults {
    /// How long a model stays in memory after a request: seconds, or a duration such as `"30m"`; the server's default
    /// without it.
    pub keep_alive: Option<Value>,
    /// The size of the context in tokens; the server's default without it.
    pub num_ctx: Option<u32>,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    #[error(transparent)]
    Key(#[from] InvalidSecret),
}

impl OllamaConfig {
    /// The address of a server on this machine.
    pub const BASE_URL: &'static str = "http://127.0.0.1:11434";

    /// Settings for a server, with defaults for the rest. `/api` and `/v1` at the end of the URL are left out, as
    /// those are paths of its two APIs.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig::BaseUrl`] if the URL is invalid.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        let base_url = base_url.trim().trim_end_matches('/');
        let base_url = base_url
            .strip_suffix("/api")
            .or_else(|| base_url.strip_suffix("/v1"))
            .unwrap_or(base_url);
        Ok(Self {
            base_url: BaseUrl::parse(base_url)?,
            defaults: Defaults::default(),
            key: None,
            missing_key: None,
            tools: true,
        })
    }

    /// The headers of every request.
    pub(crate) fn headers(&self) -> Result<HeaderMap, InvalidConfig> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.header_value("Bearer ")?);
        }
        Ok(headers)
    }
}
