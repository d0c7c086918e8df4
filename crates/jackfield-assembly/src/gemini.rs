//! The factory of providers of the kinds `gemini` and `gemini-vertex`.

mod vertex;

use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::Upstream;
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_provider_gemini::upstream::upstream;

use crate::factory::{ProviderFactory, ProviderSettings};
use crate::preferred::GEMINI_KEYS;
use crate::quirks;

pub(crate) use self::vertex::{VERTEX, VertexFactory};

/// Builds models behind the Gemini API.
pub(crate) struct GeminiFactory;

impl ProviderFactory for GeminiFactory {
    fn key_variable(&self) -> Option<&str> {
        GEMINI_KEYS.first().copied()
    }

    fn further_key_variables(&self) -> &[&str] {
        GEMINI_KEYS.get(1..).unwrap_or_default()
    }

    fn key_page(&self) -> Option<&str> {
        Some("https://aistudio.google.com/apikey")
    }

    fn options(&self) -> &[&str] {
        &["quirks", "tools"]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let config = configure(&settings)?;
        Ok(Arc::new(Gemini::new(config, settings.transport)?))
    }

    fn is_own_api(&self, _settings: &ProviderSettings) -> bool {
        true
    }

    fn upstream(&self, settings: &ProviderSettings) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        let config = configure(settings)?;
        let upstream = upstream(&config, settings.transport.clone())?;
        Ok(Some(Arc::new(upstream)))
    }
}

/// The configuration with these settings.
fn configure(settings: &ProviderSettings) -> Result<GeminiConfig, BoxError> {
    let base_url = settings.base_url.as_deref();
    let mut config = GeminiConfig::new(base_url.unwrap_or(GeminiConfig::BASE_URL))?;
    config.endpoints.clone_from(&settings.endpoints.by_name);
    common(&mut config, settings)?;
    Ok(config)
}

/// Sets what both kinds have.
fn common(config: &mut GeminiConfig, settings: &ProviderSettings) -> Result<(), BoxError> {
    config.key.clone_from(&settings.key);
    config.missing_key.clone_from(&settings.missing_key);
    if let Some(table) = settings.options.get("quirks") {
        config.profile = quirks::over(config.profile.clone(), table)?;
    }
    if let Some(tools) = settings.options.get("tools") {
        config.tools = tools.as_bool().ok_or("tools is true or false")?;
    }
    Ok(())
}
