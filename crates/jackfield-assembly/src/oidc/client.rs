//! The client of the provider of OpenID Connect.

use std::sync::Arc;

use jackfield_oidc::{OidcClient, OidcSettings};
use jackfield_ports::credential::Credential;
use jackfield_ports::identity_provider::IdentityProvider;
use jackfield_provider_kit::guarded::GuardedSettings;

use super::OidcConfig;
use crate::key_source::{self, KeySource};
use crate::place::ConfigProblem;
use crate::surroundings::Environment;

/// Checks the address of a provider.
pub(crate) fn check_issuer(issuer: &str) -> Result<(), String> {
    let checked = jackfield_oidc::check_issuer(issuer);
    checked.map(|_| ()).map_err(|error| error.to_string())
}

impl OidcConfig {
    /// The provider. Blocks on the disk.
    pub(crate) fn provider(
        &self,
        network: GuardedSettings,
        environment: &Environment,
    ) -> Result<Arc<dyn IdentityProvider>, ConfigProblem> {
        let settings = OidcSettings {
            claim: Arc::clone(&self.claim),
            client_id: Arc::clone(&self.client_id),
            client_secret: self.secret(environment)?,
            issuer: Arc::clone(&self.issuer),
            scopes: self.scopes.clone(),
        };
        let client = OidcClient::new(settings, network);
        let client =
            client.map_err(|error| ConfigProblem::new(self.place.clone(), error.to_string()))?;
        Ok(Arc::new(client))
    }

    /// The gateway's secret at the provider; `None` for a public client.
    fn secret(&self, environment: &Environment) -> Result<Option<Credential>, ConfigProblem> {
        if self.client_secret == KeySource::None {
            return Ok(None);
        }
        let text = key_source::read_source(&self.client_secret, NOT_IN_KEYRING, environment);
        let problem = |why: String| ConfigProblem::new(self.place.clone(), why).with_help(SECRET);
        let text = text.map_err(|why| problem(format!("the secret of [serve.oidc]: {why}")))?;
        match text.trim() {
            "" => Err(problem("the secret of [serve.oidc] is empty".to_owned())),
            secret => Ok(Some(Credential::new(secret))),
        }
    }
}

/// Help for a secret that is missing.
const SECRET: &str =
    "`client_secret_env` or `client_secret_file` under [serve.oidc] says where the secret is";
/// The secret is never in the keyring.
const NOT_IN_KEYRING: (&str, &str) = ("", "");
