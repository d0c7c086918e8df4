//! The configuration of Gemini.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl, encode_part};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::key_header::KeyHeader;
use jackfield_provider_kit::secret::{InvalidSecret, Secret};
use jackfield_provider_kit::tokens::Tokens;
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
    pub key: Option<Secret>,
    /// The reason why a required key is missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// The capabilities of the models.
    pub profile: ByModel<Profile>,
    /// The tokens that are sent in place of a key.
    pub tokens: Option<Arc<Tokens>>,
    /// Whether the models support tools.
    pub tools: bool,
    /// The place at Vertex AI; `None` for the Gemini API.
    pub vertex: Option<VertexPlace>,
}

/// A place at Vertex AI.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct VertexPlace {
    /// The project and the location, such as `europe-west4`; `None` with a key that names its project ("express
    /// mode").
    pub place: Option<(String, String)>,
    /// The project that pays, if it is another.
    pub quota_project: Option<String>,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    #[error(transparent)]
    Key(#[from] InvalidSecret),
    /// The location is not the name of one.
    #[error("location is the name of one, such as `europe-west4`, `eu` or `global`")]
    Location,
    /// The project is not the id of one.
    #[error("project is the id or the number of one, such as `my-project-1`")]
    Project,
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
            tokens: None,
            tools: true,
            vertex: None,
        })
    }

    /// Settings for Vertex AI, with defaults for the rest: for a project and a location, or for a key that names its
    /// project. The address follows from the location, unless there is a base URL.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if project, location or base URL is not one.
    pub fn at_vertex(
        place: Option<(&str, &str)>,
        base_url: Option<&str>,
    ) -> Result<Self, InvalidConfig> {
        if let Some((project, location)) = place {
            // An id of an older domain has a colon and dots, such as `example.com:my-project`.
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
            if project.is_empty() || !project.chars().all(is_part) {
                return Err(InvalidConfig::Project);
            }
            let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if location.is_empty() || !location.chars().all(is_part) {
                return Err(InvalidConfig::Location);
            }
        }
        // The hosts are those of `google-genai` 3.6.1 (2026-11).
        let host = match place.map_or("global", |(_, location)| location) {
            "global" => "aiplatform.googleapis.com".to_owned(),
            location @ ("eu" | "us") => format!("aiplatform.{location}.rep.googleapis.com"),
            location => format!("{location}-aiplatform.googleapis.com"),
        };
        let host = format!("https://{host}");
        let mut config = Self::new(base_url.unwrap_or(&host))?;
        config.vertex = Some(VertexPlace {
            place: place.map(|(project, location)| (project.to_owned(), location.to_owned())),
            quota_project: None,
        });
        Ok(config)
    }

    /// The path of the models below the base URL.
    pub(crate) fn models(&self) -> String {
        match &self.vertex {
            None => "/v1beta/models".to_owned(),
            Some(VertexPlace { place: None, .. }) => "/v1beta1/publishers/google/models".to_owned(),
            Some(VertexPlace {
                place: Some((project, location)),
                ..
            }) => {
                let project = encode_part(project);
                format!("/v1beta1/projects/{project}/locations/{location}/publishers/google/models")
            }
        }
    }

    /// The headers of every request.
    pub(crate) fn headers(&self) -> Result<HeaderMap, InvalidConfig> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(KEY, key.header_value("")?);
        }
        let vertex = self.vertex.as_ref();
        if let Some(project) = vertex.and_then(|vertex| vertex.quota_project.as_deref()) {
            let project = HeaderValue::from_str(project).map_err(|_| InvalidConfig::Project)?;
            headers.insert(QUOTA_PROJECT, project);
        }
        Ok(headers)
    }
}

/// The header for the key.
const KEY: &str = "x-goog-api-key";
/// The header for the project that pays.
const QUOTA_PROJECT: &str = "x-goog-user-project";

/// How the server takes the key of a person.
pub(crate) fn own_key_header() -> KeyHeader {
    KeyHeader::new(HeaderName::from_static(KEY), "")
}
