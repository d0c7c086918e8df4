//! Where Claude is, and how it is asked.

use http::header::{AUTHORIZATION, CONTENT_TYPE, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue};
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use thiserror::Error;

pub use jackfield_dialect_claude::options::Profile;

/// Settings of one server that speaks Claude Messages.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClaudeConfig {
    /// Where the API is, without `/v1`.
    pub base_url: BaseUrl,
    /// What `anthropic-beta` names.
    pub betas: Vec<String>,
    /// The key; servers of one's own need none.
    pub key: Option<Secret>,
    /// Where the key is put.
    pub key_header: KeyHeader,
    /// Why there is no key although one is needed, in a sentence; the model says so when it is asked.
    pub missing_key: Option<String>,
    /// What the models take.
    pub profile: ByModel<Profile>,
    /// Whether the models behind it call tools; some behind servers of one's own do not.
    pub tools: bool,
    /// What `anthropic-version` says; `None` is the version that fits the model.
    pub version: Option<String>,
}

/// Where a key is put.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeyHeader {
    /// Into `x-api-key`, which every server knows.
    #[default]
    ApiKey,
    /// Into `authorization`, as gateways and subscriptions want it.
    Bearer,
}

/// Settings that cannot be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// The address.
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    /// A beta or the version has characters in it that no header can hold.
    #[error("{setting} cannot be sent in a header")]
    Header {
        /// Which of them.
        setting: &'static str,
        /// Why.
        #[source]
        source: InvalidHeaderValue,
    },
    /// The key.
    #[error(transparent)]
    Key(#[from] InvalidSecret),
}

impl ClaudeConfig {
    /// The vendor's own address.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";

    /// Settings for a server, with defaults for the rest.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig::BaseUrl`] if that is no address.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        Ok(Self {
            base_url: BaseUrl::parse(base_url)?,
            betas: Vec::new(),
            key: None,
            key_header: KeyHeader::default(),
            missing_key: None,
            profile: ByModel::new(Profile::of),
            tools: true,
            version: None,
        })
    }

    /// The headers that every request has, but for the version.
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

/// The header that names betas.
pub(crate) const BETA: &str = "anthropic-beta";
/// The header that says which version of the API is spoken.
pub(crate) const VERSION: &str = "anthropic-version";
