//! The factory of providers of the kind `ollama`: over its own API, or over the one in OpenAI's form.

use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::Upstream;
use jackfield_provider_kit::text_tools::ToolMode;
use jackfield_provider_ollama::client::Ollama;
use jackfield_provider_ollama::config::OllamaConfig;

use crate::factory::{ProviderFactory, ProviderSettings};
use crate::openai::OpenAiFactory;

/// Builds models behind Ollama; within it is the factory for its API in OpenAI's form.
pub(crate) struct OllamaFactory(pub(crate) OpenAiFactory);

impl ProviderFactory for OllamaFactory {
    fn options(&self) -> &[&str] {
        &[
            "api",
            "keep_alive",
            "num_ctx",
            "organization",
            "path",
            "profile",
            "project",
            "quirks",
            "tools",
        ]
    }

    fn tool_mode(&self) -> ToolMode {
        self.0.tool_mode()
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        if is_native(&settings) {
            let config = configure(&settings)?;
            return Ok(Arc::new(Ollama::new(config, settings.transport)?));
        }
        refuse(&settings, NATIVE_ONLY, "native")?;
        self.0.build(settings)
    }

    /// The requests of clients are in OpenAI's form, whatever the models are asked in.
    fn upstream(&self, settings: &ProviderSettings) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        self.0.upstream(settings)
    }
}

fn is_native(settings: &ProviderSettings) -> bool {
    let api = settings.options.get("api");
    api.is_none_or(|api| api == "native")
}

/// The configuration with these settings.
fn configure(settings: &ProviderSettings) -> Result<OllamaConfig, BoxError> {
    refuse(settings, OPENAI_ONLY, "chat")?;
    let base_url = settings.base_url.as_deref();
    let mut config = OllamaConfig::new(base_url.unwrap_or(OllamaConfig::BASE_URL))?;
    config.key.clone_from(&settings.key);
    config.missing_key.clone_from(&settings.missing_key);
    for (name, value) in &settings.options {
        match &**name {
            "keep_alive" => {
                if !(value.is_number() || value.is_string()) {
                    return Err(
                        "keep_alive is a number of seconds, or a text such as \"30m\"".into(),
                    );
                }
                config.defaults.keep_alive = Some(value.clone());
            }
            "num_ctx" => {
                let tokens = value.as_u64().and_then(|tokens| i32::try_from(tokens).ok());
                let tokens = tokens.filter(|tokens| *tokens > 0);
                let tokens = tokens.ok_or("num_ctx is a number of tokens, such as 16384")?;
                config.defaults.num_ctx = Some(tokens.unsigned_abs());
            }
            "tools" => config.tools = value.as_bool().ok_or("tools is true or false")?,
            // The registry refuses unknown options before.
            _ => {}
        }
    }
    Ok(config)
}

/// Refuses options that this API has no place for; `api` is the one that has.
fn refuse(settings: &ProviderSettings, options: &[&str], api: &str) -> Result<(), BoxError> {
    let mut set = options.iter();
    match set.find(|name| settings.options.contains_key(**name)) {
        Some(name) => Err(format!("{name} is for `api = \"{api}\"`").into()),
        None => Ok(()),
    }
}

/// Options of the API in OpenAI's form.
const OPENAI_ONLY: &[&str] = &["organization", "path", "profile", "project", "quirks"];
/// Options of Ollama's own API.
const NATIVE_ONLY: &[&str] = &["keep_alive", "num_ctx"];
