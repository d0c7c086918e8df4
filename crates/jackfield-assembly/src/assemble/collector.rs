//! The collector of OpenTelemetry data that the configuration names.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use jackfield_provider_kit::transport::Transport;

use super::network;
use crate::config::Config;
use crate::place::{ConfigError, ConfigProblem, ValueSource};
use crate::surroundings::Environment;

/// A collector, and how to reach it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OtlpCollector {
    /// Its address, to which `/v1/traces` and the like are added.
    pub endpoint: Arc<str>,
    /// The headers of each request, which are marked as sensitive.
    pub headers: HeaderMap,
    /// The name of this service.
    pub service: Arc<str>,
    /// The HTTP transport, with the proxy of the configuration.
    pub transport: Transport,
}

impl Config {
    /// The collector, if one is configured.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the variable with the headers is missing or cannot be read.
    pub fn otlp_collector(
        &self,
        environment: &Environment,
    ) -> Result<Option<OtlpCollector>, ConfigError> {
        let otlp = &self.serve.otlp;
        let Some(endpoint) = otlp.endpoint.clone() else {
            return Ok(None);
        };
        let headers = match &otlp.headers_env {
            Some((name, place)) => headers(name, place, environment)?,
            None => HeaderMap::new(),
        };
        let service = otlp.service.clone().unwrap_or_else(|| SERVICE.into());
        Ok(Some(OtlpCollector {
            endpoint,
            headers,
            service,
            transport: network::transport(self)?.with_url_key("serve.otlp.endpoint"),
        }))
    }
}

/// The headers in an environment variable: `name=value`, separated by commas, as in `OTEL_EXPORTER_OTLP_HEADERS`.
fn headers(
    name: &str,
    place: &ValueSource,
    environment: &Environment,
) -> Result<HeaderMap, ConfigProblem> {
    let problem = |message: String| ConfigProblem::new(place.clone(), message);
    let text = match environment.get(name) {
        Some(Ok(text)) => text,
        Some(Err(_)) => return Err(problem(format!("{name} is not UTF-8"))),
        None => {
            let help = format!("set {name} where `jackfield serve` is started");
            return Err(problem(format!("{name} is not set")).with_help(help));
        }
    };
    let mut headers = HeaderMap::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let parsed = pair.split_once('=').and_then(|(name, value)| {
            let name: HeaderName = name.trim().parse().ok()?;
            let mut value: HeaderValue = value.trim().parse().ok()?;
            value.set_sensitive(true);
            Some((name, value))
        });
        let Some((name, value)) = parsed else {
            // The value may be a secret.
            let message = format!("{name} has no headers of the form name=value,name=value");
            return Err(problem(message));
        };
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The name of this service, unless it is configured.
const SERVICE: &str = "jackfield";
