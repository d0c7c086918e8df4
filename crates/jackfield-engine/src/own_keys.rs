//! The keys of people at providers: which a turn uses, and how they are opened.

use std::sync::Arc;

use jackfield_domain::caller::Caller;
use jackfield_domain::directory::{EntryKind, EntryName, user_of_principal};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::credential::Credential;

use crate::directory::PROVIDER_KEY;
use crate::error::{EngineError, chain};
use crate::state::{Engine, EngineState};

impl Engine {
    /// The own key of a principal at a provider; `None` if it has none there, so that the gateway's is used.
    ///
    /// # Errors
    ///
    /// The failure of a call that is not made: the key is there, and cannot be read or opened.
    pub async fn own_credential(
        &self,
        principal: &str,
        provider: &str,
    ) -> Result<Option<Credential>, ModelFailure> {
        self.shared.own_credential(principal, provider).await
    }

    /// Whether keys of people are taken for a provider.
    #[must_use]
    pub fn takes_own_keys(&self, provider: &str) -> bool {
        let model = self.shared.models.get(provider);
        model.is_some_and(|model| model.takes_credentials())
    }

    /// The providers at which the principal of a turn has a key of its own.
    pub(crate) async fn own_keys(
        &self,
        caller: Option<&Caller>,
    ) -> Result<Vec<Arc<str>>, EngineError> {
        let user = caller.and_then(|caller| user_of_principal(&caller.principal));
        let (Some(user), true) = (user, self.has_master_key()) else {
            return Ok(Vec::new());
        };
        let Some(directory) = self.directory() else {
            return Ok(Vec::new());
        };
        let keys = directory.entries_of_user(EntryKind::ProviderKey, &user);
        let keys = keys.await?.into_iter().filter_map(|change| {
            let key = change.entry.into_provider_key()?;
            (!key.is_removed).then_some(key.provider)
        });
        Ok(keys.collect())
    }
}

impl EngineState {
    /// As [`Engine::own_credential`].
    pub(crate) async fn own_credential(
        &self,
        principal: &str,
        provider: &str,
    ) -> Result<Option<Credential>, ModelFailure> {
        let Some(user) = user_of_principal(principal).filter(|_| self.master_keys.is_some()) else {
            return Ok(None);
        };
        let entry = EntryName::of_user(&user, provider);
        let found = self.secret(EntryKind::ProviderKey, &entry, PROVIDER_KEY);
        found.await.map_err(|error| {
            let error = chain(&error);
            tracing::error!(%user, provider, %error, "the key of a user cannot be opened");
            let message = format!("your own key at `{provider}` cannot be opened now");
            ModelFailure::new(
                ModelFailureKind::Unauthenticated,
                Phase::BeforeSend,
                message,
            )
        })
    }
}

/// The failure of a call with an own key, of a provider whose requests cannot take one.
pub(crate) fn takes_no_keys(provider: &str) -> ModelFailure {
    let message = format!("requests to `{provider}` cannot be made with a key of your own");
    ModelFailure::new(ModelFailureKind::Unsupported, Phase::BeforeSend, message)
}
