//! Where OpenAI is, or a server like it, and how it is asked.

use std::borrow::Cow;

use http::header::{AUTHORIZATION, CONTENT_TYPE, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue};
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use thiserror::Error;

pub use jackfield_dialect_openai::profile::Profile;

/// Settings of one server that speaks a language of OpenAI's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// Which of the two languages is spoken.
    pub api: Api,
    /// Where the API is, as it is: `/responses` or `/chat/completions` comes right behind it.
    pub base_url: BaseUrl,
    /// The key; servers of one's own need none.
    pub key: Option<Secret>,
    /// Why there is no key although one is needed, in a sentence; the model says so when it is asked.
    pub missing_key: Option<String>,
    /// The organization that pays, for keys of several (`OpenAI-Organization`).
    pub organization: Option<String>,
    /// What the models take.
    pub profile: ByModel<Profile>,
    /// The project that pays, for keys of several (`OpenAI-Project`).
    pub project: Option<String>,
    /// Whose server it is, as `gen_ai.provider.name` has it.
    pub provider: Cow<'static, str>,
    /// Whether the models behind it call tools; some behind servers of one's own do not.
    pub tools: bool,
}

/// A language of OpenAI's.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Api {
    /// Chat Completions, which nearly all compatible servers speak.
    ChatCompletions,
    /// Responses, which OpenAI's own models want for tools.
    #[default]
    Responses,
}

/// Settings that cannot be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// The address.
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    /// The address is that of one resource.
    #[error("base_url ends in `{0}`: give the address without it")]
    Endpoint(&'static str),
    /// The organization or the project has characters in it that no header can hold.
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

impl Api {
    /// The path of its resource below the base URL.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
        }
    }
}

impl OpenAiConfig {
    /// OpenAI's own address.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";

    /// The path of an address that names none.
    pub const PATH: &'static str = "/v1";

    /// Settings for a server, with OpenAI's own for the rest.
    ///
    /// An address without a path gets [`PATH`](Self::PATH), as nearly all servers have it; one with a
    /// path is taken as it is: `http://localhost:8000`, `http://localhost:8000/v1` and
    /// `https://host/openai/v1` are all what they look like. The address of a server that has its API
    /// right at its root is set in [`base_url`](Self::base_url).
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if that is no address, or not that of an API.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        Self::with_path(base_url, Self::PATH)
    }

    /// The same, with this path for an address that names none.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if that is no address, or not that of an API.
    pub fn with_path(base_url: &str, path: &str) -> Result<Self, InvalidConfig> {
        let base_url = BaseUrl::parse(base_url)?.or_path(path);
        for api in [Api::ChatCompletions, Api::Responses] {
            if base_url.path().ends_with(api.path()) {
                return Err(InvalidConfig::Endpoint(api.path()));
            }
        }
        Ok(Self {
            api: Api::default(),
            base_url,
            key: None,
            missing_key: None,
            organization: None,
            profile: ByModel::new(Profile::openai),
            project: None,
            provider: Cow::Borrowed("openai"),
            tools: true,
        })
    }

    /// The headers that every request has.
    pub(crate) fn headers(&self) -> Result<HeaderMap, InvalidConfig> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.header_value("Bearer ")?);
        }
        for (name, setting, value) in [
            ("openai-organization", "organization", &self.organization),
            ("openai-project", "project", &self.project),
        ] {
            if let Some(text) = value {
                let value = HeaderValue::from_str(text)
                    .map_err(|source| InvalidConfig::Header { setting, source })?;
                headers.insert(name, value);
            }
        }
        Ok(headers)
    }
}
