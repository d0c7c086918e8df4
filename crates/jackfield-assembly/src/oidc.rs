//! Where people sign in to the page, `[serve.oidc]`.

use std::sync::Arc;

use jackfield_domain::directory::EntryName;
use jackfield_engine::ServerTools;
use jackfield_oidc::{OidcClient, OidcSettings};
use jackfield_ports::credential::Credential;
use jackfield_ports::identity_provider::IdentityProvider;
use jackfield_provider_kit::guarded::GuardedSettings;

use crate::key_source::{self, KeySource};
use crate::place::{ConfigProblem, ValueSource};
use crate::surroundings::Environment;

/// A provider of OpenID Connect, and what people who sign in there may do.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OidcConfig {
    /// The users that see everything and change the directory.
    pub admins: Vec<EntryName>,
    /// The claim whose value is the name of a user.
    pub claim: Arc<str>,
    /// The id of the gateway at the provider.
    pub client_id: Arc<str>,
    /// The source of the gateway's secret there; [`KeySource::None`] for a public client.
    pub client_secret: KeySource,
    /// The address of the provider.
    pub issuer: Arc<str>,
    /// What people call the provider.
    pub label: Arc<str>,
    /// The models, routes and assistants that they may name, as patterns; `None` for all.
    pub models: Option<Vec<Arc<str>>>,
    /// Where it is configured.
    pub place: ValueSource,
    /// What is asked for, beside `openid`.
    pub scopes: Vec<Arc<str>>,
    /// The server tools that they may use; by default, those of the gateway.
    pub tools: Option<ServerTools>,
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
        let client = client.map_err(|error| self.problem(error.to_string()))?;
        Ok(Arc::new(client))
    }

    /// The gateway's secret at the provider; `None` for a public client.
    fn secret(&self, environment: &Environment) -> Result<Option<Credential>, ConfigProblem> {
        if self.client_secret == KeySource::None {
            return Ok(None);
        }
        let text = key_source::read_source(&self.client_secret, NOT_IN_KEYRING, environment);
        let text =
            text.map_err(|why| self.problem(format!("the secret of [serve.oidc]: {why}")))?;
        match text.trim() {
            "" => Err(self.problem("the secret of [serve.oidc] is empty".to_owned())),
            secret => Ok(Some(Credential::new(secret))),
        }
    }

    fn problem(&self, why: String) -> ConfigProblem {
        ConfigProblem::new(self.place.clone(), why)
    }
}

/// The secret is never in the keyring.
const NOT_IN_KEYRING: (&str, &str) = ("", "");
