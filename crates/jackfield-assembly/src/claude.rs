//! The factory of providers of the kind `claude`.

use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::Upstream;
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::{ClaudeConfig, KeyHeader};
use jackfield_provider_claude::upstream::upstream;
use serde_json::Value;

use crate::factory::{ProviderFactory, ProviderSettings};
use crate::preferred::CLAUDE_KEY;
use crate::quirks;

/// Builds models behind the Claude Messages API.
pub(crate) struct ClaudeFactory;

impl ProviderFactory for ClaudeFactory {
    fn key_variable(&self) -> Option<&str> {
        Some(CLAUDE_KEY)
    }

    fn key_page(&self) -> Option<&str> {
        Some("https://platform.claude.com/settings/keys")
    }

    fn options(&self) -> &[&str] {
        &["betas", "key_header", "quirks", "tools", "version"]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let config = configure(&settings)?;
        Ok(Arc::new(Claude::new(config, settings.transport)?))
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
fn configure(settings: &ProviderSettings) -> Result<ClaudeConfig, BoxError> {
    let mut config = ClaudeConfig::new(
        settings
            .base_url
            .as_deref()
            .unwrap_or(ClaudeConfig::BASE_URL),
    )?;
    config.endpoints.clone_from(&settings.endpoints.by_name);
    config.key.clone_from(&settings.key);
    config.missing_key.clone_from(&settings.missing_key);
    for (name, value) in &settings.options {
        match &**name {
            "betas" => config.betas = texts(value).ok_or("betas is a list of texts")?,
            "key_header" => {
                config.key_header = match value.as_str() {
                    Some("x-api-key") => KeyHeader::ApiKey,
                    Some("bearer") => KeyHeader::Bearer,
                    _ => return Err("key_header is \"x-api-key\" or \"bearer\"".into()),
                }
            }
            "quirks" => config.profile = quirks::over(config.profile, value)?,
            "tools" => config.tools = value.as_bool().ok_or("tools is true or false")?,
            "version" => {
                let version = value
                    .as_str()
                    .ok_or("version is a text such as \"2023-06-01\"")?;
                config.version = Some(version.to_owned());
            }
            // The registry refuses unknown options before.
            _ => {}
        }
    }
    Ok(config)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let texts = value.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}
