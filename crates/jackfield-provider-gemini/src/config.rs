//! The configuration of Gemini.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use thiserror::Error;

pub use jackfield_dialect_gemini::options::{Profile, ThinkingControl};

/// Settings of one server with the Gemini API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GeminiConfig {
    /// The base URL of the API, without its version.
    pub base_url: BaseUrl,
    /// Further endpoints that requests of clients are sent to unchanged, such as `/v1beta/files`; with `/*` at its end,
    /// all paths below.
    pub endpoints: Vec<Arc<str>>,
    /// The key.
    pub key: Option<Secret>,
    /// The reason why a required key is missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// The capabilities of the models.
    pub profile: ByModel<Profile>,
    /// Whether the models support tools.
    pub tools: bool,
}

/// Invalid settings.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// The base URL is invalid.
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    /// The key is invalid.
    #[error(transparent)]
    Key(#[from] InvalidSecret),
}

impl GeminiConfig {
    /// The vendor's own base URL.
    pub const BASE_URL: &'static str = "https://generativelanguage.googleapis.com";

    /// Settings for a server, with defaults for the rest. `/v1beta` at the end of the URL is left out.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig::BaseUrl`] if the URL is invalid.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        let base_url = base_url.trim().trim_end_matches('/');
        let base_url = base_url.strip_suffix("/v1beta").unwrap_or(base_url);
        Ok(Self {
            base_url: BaseUrl::parse(base_url)?,
            endpoints: Vec::new(),
            key: None,
            missing_key: None,
            profile: ByModel::new(Profile::of),
            tools: true,
        })
    }

    /// The headers of every request.
    pub(crate) fn headers(&self) -> Result<HeaderMap, InvalidConfig> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(KEY, key.header_value("")?);
        }
        Ok(headers)
    }
}

/// The header for the key.
const KEY: &str = "x-goog-api-key";
