//! What is configured of a web API as a tool.

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

/// A web API as a tool, as it is configured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolConfig {
    /// How parameters go into the body.
    pub body: BodyForm,
    /// What it does and when to use it, for the model.
    pub description: Arc<str>,
    /// For people: one character.
    pub icon: Option<Arc<str>>,
    /// Whether each request bears `Idempotency-Key`, the same for every try at one call.
    pub idempotency_key: bool,
    /// Whether twice the same is the same as once.
    pub idempotent: bool,
    /// The method.
    pub method: Method,
    /// Its own name.
    pub name: Arc<str>,
    /// What the model may choose, in the order in which it is told.
    pub parameters: Vec<Parameter>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Which part of a JSON answer is the outcome, as a JSON Pointer (RFC 6901).
    pub result: Option<Arc<str>>,
    /// How long one call may take, if that is not the turn's limit.
    pub timeout: Option<Duration>,
    /// For people: its name in words.
    pub title: Option<Arc<str>>,
    /// The address.
    pub url: Template,
}

impl ToolConfig {
    /// A GET of this address; nothing is known of its effects.
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

/// One thing that the model may choose.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name for the model.
    pub name: Arc<str>,
    /// Where it goes; by the template and the method if nothing is said.
    pub part: Option<ParameterPlace>,
    /// Whether it has to be given; what stands in the path always has to, others by default need not.
    pub required: Option<bool>,
    /// Its JSON Schema. Where the model says nothing, the schema's `default` is sent.
    pub schema: Map<String, Value>,
    /// Its name in the query, the headers or the body, if that is another one.
    pub wire: Option<Arc<str>>,
}

impl Parameter {
    /// A parameter that goes where the template and the method say.
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

/// A part of a request that a parameter can go into.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParameterPlace {
    /// A field of the body.
    Body,
    /// A header.
    Header,
    /// The path, where the template names it.
    Path,
    /// The query, where the template names it or else behind what stands there.
    Query,
}

/// How parameters go into the body.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BodyForm {
    /// As the fields of a form, `application/x-www-form-urlencoded`.
    Form,
    /// As the fields of a JSON object.
    #[default]
    Json,
}

/// A header that every request of a tool bears.
#[derive(Clone)]
pub struct Header {
    pub(crate) name: HeaderName,
    /// What in it nobody may read.
    pub(crate) secrets: Vec<Secret>,
    pub(crate) value: HeaderValue,
}

impl Header {
    /// A header, and what in its value is secret: these texts are taken out of every answer.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with it; never with the value in it.
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

/// A text as the value of a header; `None` where servers would read something else.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    let fits = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\t');
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| text.chars().all(fits))
}

/// The name of a header that can be configured.
///
/// # Errors
///
/// It is none, or it is of the message itself and not for anybody to choose.
pub fn header_name(name: &str) -> Result<HeaderName, String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{name}` is no name of a header"))?;
    let own = OWN.contains(&parsed) || parsed.as_str().starts_with("proxy-");
    if own || parsed == "keep-alive" {
        return Err(format!("`{parsed}` is set by the request itself"));
    }
    Ok(parsed)
}

/// Headers that frame the message, or follow from the request.
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
