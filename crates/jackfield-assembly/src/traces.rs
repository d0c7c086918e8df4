//! Where traces of turns are sent, `[serve.traces]`.

use std::sync::Arc;

use http::Uri;

use crate::place::ValueSource;

/// Where traces of turns are sent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TracesConfig {
    /// The address of a collector for OTLP over HTTP, to which `/v1/traces` is added; `None` sends nothing.
    pub endpoint: Option<Arc<str>>,
    /// The environment variable with the headers of each request, as `name=value,name=value`, and where it is named.
    pub headers_env: Option<(Arc<str>, ValueSource)>,
    /// The name of this service; `jackfield` by default.
    pub service: Option<Arc<str>>,
}

/// The address for traces below the base address of a collector.
pub(crate) fn address(base: &str) -> Result<Uri, String> {
    let base = base.trim_end_matches('/');
    let uri: Result<Uri, _> = format!("{base}/v1/traces").parse();
    let uri = uri.ok().filter(|uri| {
        let has_user = uri
            .authority()
            .is_some_and(|one| one.as_str().contains('@'));
        matches!(uri.scheme_str(), Some("http" | "https")) && !has_user && uri.query().is_none()
    });
    uri.ok_or_else(|| {
        "the address of a collector is one such as \"http://127.0.0.1:4318\", without a user or a query; \
         a key goes into the variable of `headers_env`"
            .to_owned()
    })
}
