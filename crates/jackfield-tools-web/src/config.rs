//! The configuration of a web API as a tool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderName, HeaderValue, Method};
use jackfield_provider_kit::secret::Secret;
use serde_json::{Map, Value};

use crate::template::Template;

/// The configuration of a web API as a tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolConfig {
    /// The form of parameters in the body.
    pub body: BodyForm,
    /// The tool's purpose and use, for the model.
    pub description: Arc<str>,
    /// An icon for people: one character.
    pub icon: Option<Arc<str>>,
    /// Whether each request has an `Idempotency-Key`, equal for all attempts at one call.
    pub idempotency_key: bool,
    /// Whether repeated calls have the effect of one.
    pub idempotent: bool,
    pub method: Method,
    pub name: Arc<str>,
    /// The parameters that the model chooses, in the order of the schema.
    pub parameters: Vec<Parameter>,
    /// Whether calls have no effect.
    pub read_only: bool,
    /// The part of a JSON response that is the result, as a JSON Pointer (RFC 6901).
    pub result: Option<Arc<str>>,
    /// The time limit of a call, if it differs from the turn's.
    pub timeout: Option<Duration>,
    pub title: Option<Arc<str>>,
    pub url: Template,
}

impl ToolConfig {
    /// A GET request to this URL, whose effects are unknown.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, url: Template) -> Self {
        Self {
            body: BodyForm::Json,
            description: description.into(),
            icon: None,
            idempotency_key: false,
            idempotent: false,
            method: Method::GET,
            name: name.into(),
            parameters: Vec::new(),
            read_only: false,
            result: None,
            timeout: None,
            title: None,
            url,
        }
    }
}

/// A parameter that the model chooses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name for the model.
    pub name: Arc<str>,
    /// Its place in the request; by default from the template and the method.
    pub part: Option<ParameterPlace>,
    /// Whether it is required; path parameters always are, others are optional by default.
    pub required: Option<bool>,
    /// Its JSON Schema. If the model omits the parameter, the schema's `default` is sent.
    pub schema: Map<String, Value>,
    /// Its name in the query, the headers or the body, if that differs.
    pub wire: Option<Arc<str>>,
}

impl Parameter {
    /// A parameter whose place follows from the template and the method.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, schema: Map<String, Value>) -> Self {
        Self {
            name: name.into(),
            part: None,
            required: None,
            schema,
            wire: None,
        }
    }
}

/// The place of a parameter in a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParameterPlace {
    /// A field of the body.
    Body,
    Header,
    /// The path, at the parameter's place in the template.
    Path,
    /// The query, at the parameter's place in the template, or appended.
    Query,
}

/// The form of parameters in the body.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BodyForm {
    /// The fields of a form, `application/x-www-form-urlencoded`.
    Form,
    /// The fields of a JSON object.
    #[default]
    Json,
}

/// A header of every request of a tool.
#[derive(Clone)]
pub struct Header {
    pub(crate) name: HeaderName,
    /// The secrets in its value.
    pub(crate) secrets: Vec<Secret>,
    pub(crate) value: HeaderValue,
}

impl Header {
    /// A header, and the secrets in its value: these are redacted from every result.
    ///
    /// # Errors
    ///
    /// A sentence about the error, without the value.
    pub fn new(
        name: HeaderName,
        value: &str,
        secrets: impl IntoIterator<Item = Secret>,
    ) -> Result<Self, &'static str> {
        let mut value = header_value(value.trim()).ok_or(
            "its value has characters that no header has, such as a line break or a letter beyond ASCII",
        )?;
        value.set_sensitive(true);
        Ok(Self {
            name,
            secrets: secrets.into_iter().collect(),
            value,
        })
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({}: ..)", self.name)
    }
}

/// A text as a header value; `None` if servers would read it differently.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    let fits = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\t');
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| text.chars().all(fits))
}

/// Parses the name of a header that may be configured.
///
/// # Errors
///
/// If it is invalid, or a header of the message itself, which may not be configured.
pub fn header_name(name: &str) -> Result<HeaderName, String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{name}` is no name of a header"))?;
    let own = OWN.contains(&parsed) || parsed.as_str().starts_with("proxy-");
    if own || parsed == "keep-alive" {
        return Err(format!("`{parsed}` is set by the request itself"));
    }
    Ok(parsed)
}

/// Headers that frame the message, or that follow from the request.
const OWN: &[HeaderName] = &[
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
