//! The factories of providers with an OpenAI dialect: OpenAI itself, and compatible servers.

use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::Upstream;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::text_tools::ToolMode;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, Endpoint, OpenAiConfig};
use jackfield_provider_openai::profile::Profile;
use jackfield_provider_openai::upstream::upstream;

use crate::factory::{EndpointSettings, ProviderFactory, ProviderSettings};
use crate::presets::{OLLAMA, Preset};
use crate::quirks;
use jackfield_engine::near::did_you_mean;

/// Builds models behind servers of one kind.
pub(crate) struct OpenAiFactory(pub(crate) &'static Preset);

impl ProviderFactory for OpenAiFactory {
    fn key_variable(&self) -> Option<&str> {
        self.0.key_variable
    }

    fn key_page(&self) -> Option<&str> {
        self.0.key_page
    }

    fn options(&self) -> &[&str] {
        &[
            "api",
            "organization",
            "path",
            "profile",
            "project",
            "quirks",
            "tools",
        ]
    }

    fn tool_mode(&self) -> ToolMode {
        // A server on one's own machine runs any model, whatever its template knows.
        let is_local = self.0.key_variable.is_none() && self.0.base_url.is_some();
        if is_local {
            ToolMode::Auto
        } else {
            ToolMode::Native
        }
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let config = configure(self.0, &settings)?;
        Ok(Arc::new(OpenAi::new(config, settings.transport)?))
    }

    fn is_own_api(&self, settings: &ProviderSettings) -> bool {
        let profile = settings.options.get("profile");
        let profile = profile.map_or(Some(self.0.profile), |profile| profile.as_str());
        profile == Some("openai") && !settings.options.contains_key("quirks")
    }

    fn upstream(&self, settings: &ProviderSettings) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        let config = configure(self.0, settings)?;
        let upstream = upstream(&config, settings.transport.clone())?;
        Ok(Some(Arc::new(upstream)))
    }
}

/// The configuration of a server of this kind with these settings.
fn configure(preset: &Preset, settings: &ProviderSettings) -> Result<OpenAiConfig, BoxError> {
    let text = |name: &str| match settings.options.get(name) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("{name} is a text in quotes")),
        },
    };
    let base_url = settings.base_url.as_deref().or(preset.base_url);
    let base_url = base_url.ok_or_else(|| {
        format!(
            "base_url is not set: the kind `{}` has no address of its own",
            preset.kind
        )
    })?;
    let path = text("path")?;
    let mut config = OpenAiConfig::with_path(base_url, path.as_deref().unwrap_or(preset.path))?;
    let api = match text("api")? {
        // The API in OpenAI's form beside Ollama's own.
        Some(api) if api == "native" && preset.kind == OLLAMA => None,
        api => api,
    };
    config.api = match api.as_deref().unwrap_or(preset.api) {
        "chat" => Api::ChatCompletions,
        "responses" => Api::Responses,
        _ => return Err("api is \"responses\" or \"chat\"".into()),
    };
    config.cache = settings.cache;
    config.key.clone_from(&settings.key);
    config.missing_key.clone_from(&settings.missing_key);
    config.refused_fields = settings.refused_fields.clone();
    config.organization = text("organization")?;
    config.project = text("project")?;
    let profile = profile(text("profile")?.as_deref().unwrap_or(preset.profile))?;
    config.endpoints = profile.endpoints.to_vec();
    let EndpointSettings { by_model, by_name } = &settings.endpoints;
    config.further = by_model.iter().chain(by_name).cloned().collect();
    config.profile = ByModel::new(profile.of);
    if let Some(table) = settings.options.get("quirks") {
        config.profile = quirks::over(config.profile, table)?;
    }
    config.provider = match preset.provider {
        Some(name) => name.into(),
        None => settings.name.to_string().into(),
    };
    if let Some(tools) = settings.options.get("tools") {
        config.tools = tools.as_bool().ok_or("tools is true or false")?;
    }
    Ok(config)
}

/// The profile of such servers.
fn profile(name: &str) -> Result<&'static ServerProfile, String> {
    let found = PROFILES.iter().find(|known| known.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        let hint = did_you_mean(name, &names);
        format!("there is no profile `{name}`{hint}")
    })
}

/// What servers with this profile accept.
struct ServerProfile {
    /// Their endpoints, beside that of the chosen API.
    endpoints: &'static [Endpoint],
    name: &'static str,
    /// The profile of a model, by its name.
    of: fn(&str) -> Profile,
}

/// The profiles. Which endpoints beside chat a compatible server has was not checked against its documentation.
const PROFILES: &[ServerProfile] = &[
    profile_of("cerebras", CHAT, |_| Profile::CEREBRAS),
    profile_of("compatible", &[], |_| Profile::COMPATIBLE),
    profile_of("deepseek", CHAT, |_| Profile::DEEPSEEK),
    profile_of("fireworks", COMMON, |_| Profile::FIREWORKS),
    profile_of("groq", COMMON, |_| Profile::GROQ),
    profile_of("llama-cpp", COMMON, |_| Profile::LLAMA_CPP),
    profile_of("lm-studio", COMMON, |_| Profile::LM_STUDIO),
    profile_of("mistral", CHAT, |_| Profile::MISTRAL),
    profile_of("ollama", COMMON, |_| Profile::OLLAMA),
    profile_of("openai", Endpoint::ALL, Profile::openai),
    profile_of("openrouter", COMMON, |_| Profile::OPENROUTER),
    profile_of("sglang", CHAT, |_| Profile::SGLANG),
    profile_of("together", COMMON, |_| Profile::TOGETHER),
    profile_of("vllm", COMMON, |_| Profile::VLLM),
    profile_of("xai", COMMON, |_| Profile::XAI),
];

const fn profile_of(
    name: &'static str,
    endpoints: &'static [Endpoint],
    of: fn(&str) -> Profile,
) -> ServerProfile {
    ServerProfile {
        endpoints,
        name,
        of,
    }
}

/// The endpoint of servers that may serve nothing else.
const CHAT: &[Endpoint] = &[Endpoint::ChatCompletions];

/// The endpoints of servers that serve Responses, too.
const COMMON: &[Endpoint] = &[Endpoint::ChatCompletions, Endpoint::Responses];
