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
pub(crate) struct ClaudeFactory(pub(crate) &'static ClaudePreset);

impl ProviderFactory for ClaudeFactory {
    fn key_variable(&self) -> Option<&str> {
        Some(self.0.key_variable)
    }

    fn key_page(&self) -> Option<&str> {
        Some(self.0.key_page)
    }

    fn options(&self) -> &[&str] {
        &["betas", "key_header", "quirks", "tools", "version"]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let config = configure(self.0, &settings)?;
        Ok(Arc::new(Claude::new(config, settings.transport)?))
    }

    fn is_own_api(&self, _settings: &ProviderSettings) -> bool {
        self.0.base_url.is_some()
    }

    fn upstream(&self, settings: &ProviderSettings) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        let config = configure(self.0, settings)?;
        let upstream = upstream(&config, settings.transport.clone())?;
        Ok(Some(Arc::new(upstream)))
    }
}

/// The configuration with these settings.
fn configure(preset: &ClaudePreset, settings: &ProviderSettings) -> Result<ClaudeConfig, BoxError> {
    let base_url = settings.base_url.as_deref().or(preset.base_url);
    let base_url = base_url.ok_or_else(|| {
        format!(
            "base_url is not set: that of the kind `{}` is such as `{}`",
            preset.kind, preset.example
        )
    })?;
    let mut config = ClaudeConfig::new(base_url)?;
    config.cache = settings.cache;
    config.key_header = preset.key_header;
    config.provider = preset.provider.into();
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

/// The presets of one kind of server with Claude Messages.
#[derive(Debug)]
pub(crate) struct ClaudePreset {
    /// Its address; `None` if it depends on the account.
    base_url: Option<&'static str>,
    /// An address of this kind.
    example: &'static str,
    /// The default header for the key.
    key_header: KeyHeader,
    key_page: &'static str,
    /// The environment variable of its key.
    key_variable: &'static str,
    pub(crate) kind: &'static str,
    /// The value of `gen_ai.provider.name`.
    provider: &'static str,
}

/// Claude at Anthropic, and at the clouds that speak Claude Messages themselves: addresses, variables and headers are
/// those of the vendor's SDKs (`@anthropic-ai/bedrock-sdk` 1.1.3, its client for Mantle, and
/// `@anthropic-ai/foundry-sdk` 1.1.1; 2026-11).
pub(crate) const CLAUDE_PRESETS: &[ClaudePreset] = &[
    ClaudePreset {
        base_url: Some(ClaudeConfig::BASE_URL),
        example: ClaudeConfig::BASE_URL,
        key_header: KeyHeader::ApiKey,
        key_page: "https://platform.claude.com/settings/keys",
        key_variable: CLAUDE_KEY,
        kind: "claude",
        provider: "anthropic",
    },
    ClaudePreset {
        base_url: None,
        example: "https://bedrock-mantle.us-east-1.api.aws/anthropic",
        key_header: KeyHeader::Bearer,
        key_page: "https://console.aws.amazon.com/bedrock",
        key_variable: "AWS_BEARER_TOKEN_BEDROCK",
        kind: "claude-bedrock",
        provider: "aws.bedrock",
    },
    ClaudePreset {
        base_url: None,
        example: "https://my-resource.services.ai.azure.com/anthropic",
        key_header: KeyHeader::ApiKey,
        key_page: "https://ai.azure.com",
        key_variable: "ANTHROPIC_FOUNDRY_API_KEY",
        kind: "claude-foundry",
        provider: "anthropic",
    },
];
