//! Where traces, metrics and the log are sent, `[serve.otlp]`.

use std::sync::Arc;

use http::Uri;

use crate::place::ValueSource;

/// Where traces, metrics and the log are sent.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OtlpConfig {
    /// The address of a collector for OTLP over HTTP, to which `/v1/traces` and the like are added; `None` sends nothing.
    pub endpoint: Option<Arc<str>>,
    /// The environment variable with the headers of each request, as `name=value,name=value`, and where it is named.
    pub headers_env: Option<(Arc<str>, ValueSource)>,
    /// Whether the log is sent.
    pub logs: bool,
    /// Whether metrics are sent.
    pub metrics: bool,
    /// The name of this service; `jackfield` by default.
    pub service: Option<Arc<str>>,
    /// Whether traces of turns are sent.
    pub traces: bool,
}

impl Default for OtlpConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers_env: None,
            logs: false,
            metrics: false,
            service: None,
            traces: true,
        }
    }
}

/// Checks the address of a collector.
pub(crate) fn check_address(base: &str) -> Result<(), String> {
    let uri = base.parse::<Uri>().ok().filter(|uri| {
        let has_user = uri
            .authority()
            .is_some_and(|one| one.as_str().contains('@'));
        matches!(uri.scheme_str(), Some("http" | "https")) && !has_user && uri.query().is_none()
    });
    uri.map(drop).ok_or_else(|| {
        "the address of a collector is one such as \"http://127.0.0.1:4318\", without a user or a query; \
         a key goes into the variable of `headers_env`"
            .to_owned()
    })
}
