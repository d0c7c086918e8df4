//! The API itself: requests of clients are sent to it unchanged.

use http::header::CONTENT_TYPE;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::transport::Transport;
use jackfield_provider_kit::upstream::{self, HttpUpstream, UpstreamSettings};

use crate::config::{Endpoint, InvalidConfig, OpenAiConfig};

/// The upstream of the configured server; sends nothing yet.
///
/// It serves the [endpoints](OpenAiConfig::endpoints) of the configuration, that of its [API](OpenAiConfig::api), what is
/// below that of Responses, and the configured [further ones](OpenAiConfig::further). The configured key, organization
/// and project replace the client's.
///
/// # Errors
///
/// [`InvalidConfig`] if the key, the organization or the project is not valid in a header.
pub fn upstream(
    config: &OpenAiConfig,
    transport: Transport,
) -> Result<HttpUpstream, InvalidConfig> {
    let served = |endpoint: &Endpoint| {
        config.endpoints.contains(endpoint) || *endpoint == Endpoint::of(config.api)
    };
    let endpoints = Endpoint::ALL.iter().filter(|endpoint| served(endpoint));
    let endpoints =
        endpoints.map(|endpoint| upstream::Endpoint::new(endpoint.path(), endpoint.resource()));
    let mut endpoints: Vec<upstream::Endpoint> = endpoints.collect();
    if served(&Endpoint::Responses) {
        // The responses that the server keeps.
        endpoints.push(upstream::Endpoint::new("/v1/responses/*", "/responses/*"));
    }
    for path in &config.further {
        // The base URL has a path of its own in place of the version.
        let Some(resource) = path.strip_prefix("/v1") else {
            continue;
        };
        if !endpoints.iter().any(|endpoint| endpoint.path == **path) {
            endpoints.push(upstream::Endpoint::new(
                path.to_string(),
                resource.to_owned(),
            ));
        }
    }
    let mut settings = UpstreamSettings::new(config.base_url.clone(), endpoints);
    settings.headers = config.headers()?;
    settings.headers.remove(CONTENT_TYPE);
    settings.key.clone_from(&config.key);
    settings.key_header = Some(config.own_key_header());
    settings.missing_key.clone_from(&config.missing_key);
    settings.refused_fields = config.refused_fields.clone();
    let profile = config.profile.clone();
    settings.states_cost = ByModel::new(move |model| profile.get(model).usage_cost);
    let profile = config.profile.clone();
    settings.untaken_fields = ByModel::new(move |model| profile.get(model).untaken_fields());
    Ok(HttpUpstream::new(settings, transport))
}
