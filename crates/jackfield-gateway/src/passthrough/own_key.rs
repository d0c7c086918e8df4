//! The key of a person at the provider of a request.

use std::sync::Arc;

use jackfield_domain::failure::ModelFailure;
use jackfield_engine::Engine;
use jackfield_ports::credential::Credential;

/// Whose key at a provider a request is made with, if that person has one.
pub(super) struct OwnKey {
    pub(super) engine: Engine,
    pub(super) principal: Arc<str>,
    pub(super) provider: Arc<str>,
}

impl OwnKey {
    /// The key; `None` for the gateway's.
    pub(super) async fn find(&self) -> Result<Option<Credential>, ModelFailure> {
        let (principal, provider) = (&self.principal, &self.provider);
        self.engine.own_credential(principal, provider).await
    }
}
