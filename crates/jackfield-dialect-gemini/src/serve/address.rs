//! The address of a request: its model and its method.

use std::fmt;

use percent_encoding::percent_decode_str;

/// What the path and the query of a request name.
#[derive(Debug, Eq, PartialEq)]
pub struct Address {
    pub method: Method,
    /// The model, which may have slashes in its name.
    pub model: String,
    /// What stands before the model.
    models: &'static str,
}

/// A method of a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
/// `streamGenerateContent` is two: they differ in the form of the reply.
pub enum Method {
    /// `countTokens`.
    Count,
    /// `streamGenerateContent` as events.
    Events,
    /// `generateContent`.
    Generate,
    /// `streamGenerateContent` as a list in JSON.
    List,
}

impl Address {
    /// The parts of an address such as `/v1beta/models/MODEL:streamGenerateContent?alt=sse`.
    #[must_use]
    pub fn parse(address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let models = MODELS.iter().find(|models| path.starts_with(**models))?;
        let rest = path.strip_prefix(models)?;
        let (model, method) = rest.rsplit_once(':')?;
        let mut pairs = query.split('&');
        let is_events = pairs.any(|pair| matches!(pair, "alt=sse" | "$alt=sse" | "%24alt=sse"));
        let method = match method {
            "countTokens" => Method::Count,
            "generateContent" => Method::Generate,
            "streamGenerateContent" if is_events => Method::Events,
            "streamGenerateContent" => Method::List,
            _ => return None,
        };
        let model = percent_decode_str(model).decode_utf8().ok()?;
        let model = model.into_owned();
        (!model.is_empty()).then_some(Self {
            method,
            model,
            models,
        })
    }

    /// The path of the same method of this model.
    #[must_use]
    pub fn path_of(&self, model: &str) -> String {
        format!("{}{model}:{}", self.models, self.method.name())
    }
}

/// The model and the method, in one form for all ways to write them.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.method {
            Method::Events => "?alt=sse",
            Method::Count | Method::Generate | Method::List => "",
        };
        write!(f, "{}:{}{form}", self.model, self.method.name())
    }
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Count => "countTokens",
            Self::Events | Self::List => "streamGenerateContent",
            Self::Generate => "generateContent",
        }
    }
}

/// The paths of the models, by the version of the API.
const MODELS: [&str; 2] = ["/v1beta/models/", "/v1/models/"];
