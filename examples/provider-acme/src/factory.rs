//! How a provider of the kind `acme` is made from a configuration.

use std::sync::Arc;

use jackfield_assembly::{ProviderFactory, ProviderSettings};
use jackfield_ports::chat_model::{BoxError, ChatModel};

use crate::client::Acme;

/// Makes models of the kind `acme`.
#[derive(Debug)]
pub struct AcmeFactory;

impl ProviderFactory for AcmeFactory {
    fn key_variable(&self) -> Option<&str> {
        Some("ACME_API_KEY")
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let base_url = settings.base_url.as_deref();
        let base_url = base_url.unwrap_or("https://api.acme.example");
        let (key, why) = (settings.key, settings.missing_key);
        Ok(Arc::new(Acme::new(base_url, key, why, settings.transport)?))
    }
}
