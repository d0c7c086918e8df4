//! What stands for the client in a build without the feature `oidc`.

use std::sync::Arc;

use jackfield_ports::identity_provider::IdentityProvider;
use jackfield_provider_kit::guarded::GuardedSettings;

use super::OidcConfig;
use crate::features;
use crate::place::ConfigProblem;
use crate::surroundings::Environment;

/// Takes any address: nothing is asked there.
pub(crate) const fn check_issuer(_issuer: &str) -> Result<(), String> {
    Ok(())
}

impl OidcConfig {
    /// Says that `[serve.oidc]` cannot be used.
    pub(crate) fn provider(
        &self,
        _network: GuardedSettings,
        _environment: &Environment,
    ) -> Result<Arc<dyn IdentityProvider>, ConfigProblem> {
        Err(features::left_out("oidc", self.place.clone()))
    }
}
