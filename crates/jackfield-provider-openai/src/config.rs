//! The configuration of OpenAI, or of a compatible server.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue};
use jackfield_domain::settings::CacheMode;
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::key_header::KeyHeader;
use jackfield_provider_kit::refused_fields::RefusedFields;
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use thiserror::Error;

pub use jackfield_dialect_openai::profile::Profile;

/// Settings of one server with one of OpenAI's APIs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiConfig {
    pub api: Api,
    /// The base URL, used unchanged: `/responses` or `/chat/completions` is appended.
    pub base_url: BaseUrl,
    /// Which requests have a key of the conversation where the turn's settings do not say so.
    pub cache: CacheMode,
    /// The endpoints of the server that requests of clients are sent to unchanged, beside that of
    /// [`api`](Self::api); all by default.
    pub endpoints: Vec<Endpoint>,
    /// Further endpoints that requests of clients are sent to unchanged, by the paths of OpenAI's API, such as
    /// `/v1/embeddings`; with `/*` at its end, a path stands for all below it. None by default.
    pub further: Vec<Arc<str>>,
    /// The key; self-hosted servers need none.
    pub key: Option<Secret>,
    /// The reason why a required key is missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// The organization to charge, for keys of several (`OpenAI-Organization`).
    pub organization: Option<String>,
    /// The capabilities of the models.
    pub profile: ByModel<Profile>,
    /// The project to charge, for keys of several (`OpenAI-Project`).
    pub project: Option<String>,
    /// The provider's name in `gen_ai.provider.name`.
    pub provider: Cow<'static, str>,
    /// The fields that the server has refused, of those that are added to requests; shared by what uses clones.
    pub refused_fields: RefusedFields,
    /// Whether the models support tools; some on self-hosted servers do not.
    pub tools: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Api {
    /// Chat Completions, which nearly all compatible servers support.
    ChatCompletions,
    /// Responses, which OpenAI's own models need for tools.
    #[default]
    Responses,
}

/// An endpoint of OpenAI's for messages, which compatible servers need not have.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    ChatCompletions,
    /// `/v1/responses`.
    Responses,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    /// The base URL is that of one resource.
    #[error("base_url ends in `{0}`: give the address without it")]
    Endpoint(&'static str),
    /// The organization or the project has characters that are not valid in a header.
    #[error("{setting} cannot be sent in a header")]
    Header {
        setting: &'static str,
        #[source]
        source: InvalidHeaderValue,
    },
    #[error(transparent)]
    Key(#[from] InvalidSecret),
}

impl Api {
    /// The path of its resource below the base URL.
    pub(crate) const fn path(self) -> &'static str {
        Endpoint::of(self).resource()
    }
}

impl Endpoint {
    pub const ALL: &'static [Self] = &[Self::ChatCompletions, Self::Responses];

    /// The endpoint of an API.
    #[must_use]
    pub const fn of(api: Api) -> Self {
        match api {
            Api::ChatCompletions => Self::ChatCompletions,
            Api::Responses => Self::Responses,
        }
    }

    /// The path by which clients name it.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
        }
    }

    /// Its path below the base URL, which has a path of its own.
    pub(crate) const fn resource(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
        }
    }
}

impl OpenAiConfig {
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";

    /// The default path of a base URL.
    pub const PATH: &'static str = "/v1";

    /// Settings for a server, with OpenAI's own for the rest.
    ///
    /// A base URL without a path gets [`PATH`](Self::PATH), which nearly all servers use; one with a path is used
    /// unchanged: `http://localhost:8000` and `http://localhost:8000/v1` are equal, and `https://host/openai/v1`
    /// stays as it is. For a server with its API at the root, set [`base_url`](Self::base_url).
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the URL is invalid, or not that of an API.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        Self::with_path(base_url, Self::PATH)
    }

    /// The same, with this default path.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the URL is invalid, or not that of an API.
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
            endpoints: Endpoint::ALL.to_vec(),
            further: Vec::new(),
            key: None,
            missing_key: None,
            organization: None,
            cache: CacheMode::default(),
            profile: ByModel::new(Profile::openai),
            project: None,
            provider: Cow::Borrowed("openai"),
            refused_fields: RefusedFields::default(),
            tools: true,
        })
    }

    /// How the server takes the key of a person, which has an account of its own.
    pub(crate) fn own_key_header(&self) -> KeyHeader {
        let account = ["openai-organization", "openai-project"];
        KeyHeader {
            account: account.map(HeaderName::from_static).to_vec(),
            ..KeyHeader::new(AUTHORIZATION, "Bearer ")
        }
    }

    /// The headers of every request.
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
