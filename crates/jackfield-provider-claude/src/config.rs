//! The configuration of Claude.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue};
use jackfield_domain::settings::CacheMode;
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::key_header;
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use thiserror::Error;

pub use jackfield_dialect_claude::options::Profile;

/// Settings of one server with the Claude Messages API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClaudeConfig {
    /// The base URL of the API, without `/v1`.
    pub base_url: BaseUrl,
    /// The values of the `anthropic-beta` header.
    pub betas: Vec<String>,
    /// Which cache points requests have where the turn's settings do not say so.
    pub cache: CacheMode,
    /// Further endpoints that requests of clients are sent to unchanged, such as `/v1/files`; with `/*` at its end, a
    /// path stands for all below it. None by default.
    pub endpoints: Vec<Arc<str>>,
    /// The key; self-hosted servers need none.
    pub key: Option<Secret>,
    pub key_header: KeyHeader,
    /// The reason why a required key is missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// The capabilities of the models.
    pub profile: ByModel<Profile>,
    /// The value of `gen_ai.provider.name`.
    pub provider: Cow<'static, str>,
    /// Whether the models support tools; some on self-hosted servers do not.
    pub tools: bool,
    /// The value of the `anthropic-version` header; `None` is the version that fits the model.
    pub version: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeyHeader {
    /// `x-api-key`, which every server supports.
    #[default]
    ApiKey,
    /// `authorization`, which gateways and subscriptions require.
    Bearer,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    /// A beta or the version has characters that are not valid in a header.
    #[error("{setting} cannot be sent in a header")]
    Header {
        setting: &'static str,
        #[source]
        source: InvalidHeaderValue,
    },
    #[error(transparent)]
    Key(#[from] InvalidSecret),
}

impl ClaudeConfig {
    /// The vendor's own base URL.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";

    /// Settings for a server, with defaults for the rest.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig::BaseUrl`] if the URL is invalid.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        Ok(Self {
            base_url: BaseUrl::parse(base_url)?,
            betas: Vec::new(),
            cache: CacheMode::default(),
            endpoints: Vec::new(),
            key: None,
            key_header: KeyHeader::default(),
            missing_key: None,
            profile: ByModel::new(Profile::of),
            provider: Cow::Borrowed("anthropic"),
            tools: true,
            version: None,
        })
    }

    /// How the server takes the key of a person.
    pub(crate) fn own_key_header(&self) -> key_header::KeyHeader {
        let (name, prefix) = match self.key_header {
            KeyHeader::ApiKey => (HeaderName::from_static("x-api-key"), ""),
            KeyHeader::Bearer => (AUTHORIZATION, "Bearer "),
        };
        key_header::KeyHeader::new(name, prefix)
    }

    /// The headers of every request, except for the version.
    pub(crate) fn headers(&self) -> Result<HeaderMap, InvalidConfig> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if !self.betas.is_empty() {
            let betas = header("betas", &self.betas.join(","))?;
            headers.insert(BETA, betas);
        }
        if let Some(key) = &self.key {
            match self.key_header {
                KeyHeader::ApiKey => headers.insert("x-api-key", key.header_value("")?),
                KeyHeader::Bearer => headers.insert(AUTHORIZATION, key.header_value("Bearer ")?),
            };
        }
        if let Some(version) = &self.version {
            headers.insert(VERSION, header("version", version)?);
        }
        Ok(headers)
    }
}

fn header(setting: &'static str, text: &str) -> Result<HeaderValue, InvalidConfig> {
    HeaderValue::from_str(text).map_err(|source| InvalidConfig::Header { setting, source })
}

pub(crate) const BETA: &str = "anthropic-beta";
/// The header for the version of the API.
pub(crate) const VERSION: &str = "anthropic-version";
