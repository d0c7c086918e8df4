//! The API itself: requests of clients are sent to it unchanged.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use jackfield_provider_kit::transport::Transport;
use jackfield_provider_kit::upstream::{Endpoint, HttpUpstream, UpstreamSettings};

use crate::config::{BETA, ClaudeConfig, InvalidConfig, VERSION};

/// The upstream of the configured server; sends nothing yet.
///
/// It serves `/v1/messages`, `/v1/messages/count_tokens` and the configured further
/// [endpoints](ClaudeConfig::endpoints). The configured key replaces the client's, and the
/// configured betas are added to the client's. The version is the client's, else the configured one, else that of a
/// model with an unknown name.
///
/// # Errors
///
/// [`InvalidConfig`] if the key, a beta or the version is not valid in a header.
pub fn upstream(
    config: &ClaudeConfig,
    transport: Transport,
) -> Result<HttpUpstream, InvalidConfig> {
    let mut headers = config.headers()?;
    headers.remove(CONTENT_TYPE);
    let default = HeaderValue::from_static(config.profile.default_value().api_version);
    let version = headers.remove(VERSION).unwrap_or(default);
    let mut lists = HeaderMap::new();
    if let Some(betas) = headers.remove(BETA) {
        lists.insert(BETA, betas);
    }
    let mut endpoints = ENDPOINTS.map(|path| Endpoint::new(path, path)).to_vec();
    for path in &config.endpoints {
        if !endpoints.iter().any(|endpoint| endpoint.path == **path) {
            endpoints.push(Endpoint::new(path.to_string(), path.to_string()));
        }
    }
    let mut settings = UpstreamSettings::new(config.base_url.clone(), endpoints);
    settings.defaults.insert(VERSION, version);
    settings.headers = headers;
    settings.key.clone_from(&config.key);
    settings.key_header = Some(config.own_key_header());
    settings.lists = lists;
    settings.missing_key.clone_from(&config.missing_key);
    Ok(HttpUpstream::new(settings, transport))
}

/// The endpoints, whose paths are those below the base URL.
const ENDPOINTS: [&str; 2] = ["/v1/messages", "/v1/messages/count_tokens"];
