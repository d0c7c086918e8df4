//! The API itself: requests of clients are sent to it unchanged.

use http::header::CONTENT_TYPE;
use jackfield_provider_kit::transport::Transport;
use jackfield_provider_kit::upstream::{Endpoint, HttpUpstream, UpstreamSettings};

use crate::config::{GeminiConfig, InvalidConfig, own_key_header};

/// The upstream of the configured server; sends nothing yet.
///
/// It serves the methods of models, below `/v1beta/models` and `/v1/models`, and the configured further
/// [endpoints](GeminiConfig::endpoints). The configured key replaces the client's.
///
/// # Errors
///
/// [`InvalidConfig`] if the key is not valid in a header.
pub fn upstream(
    config: &GeminiConfig,
    transport: Transport,
) -> Result<HttpUpstream, InvalidConfig> {
    let mut headers = config.headers()?;
    headers.remove(CONTENT_TYPE);
    let mut endpoints = ENDPOINTS.map(|path| Endpoint::new(path, path)).to_vec();
    for path in &config.endpoints {
        if !endpoints.iter().any(|endpoint| endpoint.path == **path) {
            endpoints.push(Endpoint::new(path.to_string(), path.to_string()));
        }
    }
    let mut settings = UpstreamSettings::new(config.base_url.clone(), endpoints);
    settings.headers = headers;
    settings.key.clone_from(&config.key);
    settings.key_header = Some(own_key_header());
    settings.missing_key.clone_from(&config.missing_key);
    Ok(HttpUpstream::new(settings, transport))
}

/// The endpoints, whose paths are those below the base URL.
const ENDPOINTS: [&str; 2] = ["/v1beta/models/*", "/v1/models/*"];
