//! The address of a request: its model and its method.

use std::fmt;

use percent_encoding::percent_decode_str;

/// What the path and the query of a request name.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Address {
    pub(super) method: Method,
    /// The model, which may have slashes in its name.
    pub(super) model: String,
}

/// A method of a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Method {
    Count,
    /// `streamGenerateContent` as events.
    Events,
    Generate,
    /// `streamGenerateContent` as a list in JSON.
    List,
}

impl Address {
    /// The parts of an address such as `/v1beta/models/MODEL:streamGenerateContent?alt=sse`.
    pub(super) fn parse(address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let rest = MODELS.iter().find_map(|models| path.strip_prefix(models))?;
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
        (!model.is_empty()).then_some(Self { method, model })
    }
}

/// The model and the method, in one form for all ways to write them.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self.method {
            Method::Count => "countTokens",
            Method::Events => "streamGenerateContent?alt=sse",
            Method::Generate => "generateContent",
            Method::List => "streamGenerateContent",
        };
        write!(f, "{}:{method}", self.model)
    }
}

/// The paths of the models, by the version of the API.
const MODELS: [&str; 2] = ["/v1beta/models/", "/v1/models/"];
