//! The transport of all providers, and help for addresses.

use std::error::Error as _;

use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_provider_kit::transport::{Transport, TransportError, TransportSettings};

use crate::config::Config;
use crate::place::{ConfigProblem, Origin};

/// Help for an invalid address. The address is not repeated, as it may contain a secret.
pub(super) fn address_help(base_url: &str) -> Option<&'static str> {
    match BaseUrl::parse(base_url) {
        Ok(_) => None,
        Err(InvalidBaseUrl::UserInfo) => Some(
            "take the user and the password out of `base_url`, and say where the key is \
             with `api_key_env` or `api_key_file`; then change the password, if another person may have seen it",
        ),
        Err(_) => Some("set `base_url` to an address such as \"https://models.example.com\""),
    }
}

/// The HTTP transport of all providers.
pub(super) fn transport(config: &Config) -> Result<Transport, ConfigProblem> {
    let mut settings = TransportSettings::default();
    // As a safety net below the engine's own limit, this timeout has to be longer.
    settings.read_idle = settings
        .read_idle
        .max(config.options.limits.model_idle.saturating_mul(2))
        .max(config.serve.limits.whole_reply.saturating_mul(2));
    if let Some(timeout) = config.network.connect_timeout {
        settings.connect_timeout = timeout;
    }
    let proxy = config.network.proxy.as_ref();
    settings.proxy = proxy.map(|(proxy, _)| proxy.to_string());
    Transport::new(settings).map_err(|error| unreachable(config, &error))
}

/// The settings of guarded clients, which reach public addresses only.
pub(super) fn guarded(config: &Config) -> GuardedSettings {
    let mut settings = GuardedSettings::default();
    if let Some(timeout) = config.network.connect_timeout {
        settings.connect_timeout = timeout;
    }
    let proxy = config.network.proxy.as_ref();
    settings.proxy = proxy.map(|(proxy, _)| proxy.to_string());
    settings
}

/// The problem of an invalid network configuration.
pub(super) fn unreachable(config: &Config, error: &TransportError) -> ConfigProblem {
    let proxy = config.network.proxy.as_ref();
    let place = proxy.map_or_else(|| Origin::Default.into(), |(_, place)| place.clone());
    let cause = error.source().map(|cause| format!(": {cause}"));
    ConfigProblem::new(place, format!("{error}{}", cause.unwrap_or_default()))
}
