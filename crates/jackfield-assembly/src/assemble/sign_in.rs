//! The identity provider that the configuration names.

use std::sync::Arc;

use jackfield_oidc::{OidcClient, OidcSettings};
use jackfield_ports::credential::Credential;
use jackfield_ports::identity_provider::IdentityProvider;

use super::network;
use crate::config::Config;
use crate::key_source;
use crate::key_source::KeySource;
use crate::place::{ConfigError, ConfigProblem};
use crate::surroundings::Environment;

impl Config {
    /// The provider at which people sign in to the page, if one is configured. It is asked when a person signs in. Blocks
    /// on the disk.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the secret cannot be read, or the address cannot be used.
    pub fn identity_provider(
        &self,
        environment: &Environment,
    ) -> Result<Option<Arc<dyn IdentityProvider>>, ConfigError> {
        let Some(oidc) = &self.serve.oidc else {
            return Ok(None);
        };
        let problem = |why: String| ConfigProblem::new(oidc.place.clone(), why);
        let client_secret = if oidc.client_secret == KeySource::None {
            None
        } else {
            let text = key_source::read_source(&oidc.client_secret, NOT_IN_KEYRING, environment);
            let text = text.map_err(|why| problem(format!("the secret of [serve.oidc]: {why}")))?;
            let secret = text.trim();
            if secret.is_empty() {
                let why = "the secret of [serve.oidc] is empty".to_owned();
                return Err(problem(why).into());
            }
            Some(Credential::new(secret))
        };
        let settings = OidcSettings {
            claim: Arc::clone(&oidc.claim),
            client_id: Arc::clone(&oidc.client_id),
            client_secret,
            issuer: Arc::clone(&oidc.issuer),
            scopes: oidc.scopes.clone(),
        };
        let client = OidcClient::new(settings, network::guarded(self));
        let client = client.map_err(|error| problem(error.to_string()))?;
        Ok(Some(Arc::new(client)))
    }
}

/// The secret is never in the keyring.
const NOT_IN_KEYRING: (&str, &str) = ("", "");
