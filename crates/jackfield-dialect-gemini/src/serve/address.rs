//! The address of a request: its model and its method.

use percent_encoding::percent_decode_str;

/// What the path of a request names.
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
    Generate,
    Stream,
}

impl Address {
    /// The parts of a path such as `/v1beta/models/MODEL:generateContent`.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let rest = path.strip_prefix(MODELS)?;
        let (model, method) = rest.rsplit_once(':')?;
        let method = match method {
            "countTokens" => Method::Count,
            "generateContent" => Method::Generate,
            "streamGenerateContent" => Method::Stream,
            _ => return None,
        };
        let model = percent_decode_str(model).decode_utf8().ok()?;
        let model = model.into_owned();
        (!model.is_empty()).then_some(Self { method, model })
    }
}

/// The path of the models.
const MODELS: &str = "/v1beta/models/";
