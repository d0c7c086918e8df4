//! How a provider of the kind `brook` is made from a configuration.

use std::sync::Arc;

use jackfield_assembly::{ProviderFactory, ProviderSettings};
use jackfield_ports::chat_model::{BoxError, ChatModel};
use provider_brook::{BASE_URL, BrookModel};

/// Makes models of the kind `brook`.
#[derive(Debug)]
pub(crate) struct BrookFactory;

impl ProviderFactory for BrookFactory {
    fn key_variable(&self) -> Option<&str> {
        Some("BROOK_API_KEY")
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let base_url = settings.base_url.as_deref().unwrap_or(BASE_URL);
        let (key, missing_key) = (settings.key, settings.missing_key);
        let model = BrookModel::new(base_url, key, missing_key, settings.transport)?;
        Ok(Arc::new(model))
    }
}
